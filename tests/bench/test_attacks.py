"""Programs that mean harm, each run for real: what they try is refused, and the verdict says how they ended.

Each runs behind everything that works here, and again without bubblewrap, so that no layer hides behind another. Where
the layer that must hold isn't there (a container without seccomp, an old kernel), the test is skipped and says so.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from strop.bench.foreign import ForeignResult, Limits, python_paths, run_foreign
from strop.bench.isolation import layers
from strop.bench.isolation.limits import MIB

SHORT = Limits(wall_s=3, cpu_s=3, memory_bytes=256 * MIB, file_bytes=4 * MIB, output_bytes=100_000, processes=8)


@pytest.fixture(params=["everything", "without bubblewrap"], autouse=True)
def walls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The layers of this test."""
    found = layers.probe()
    if request.param != "everything":
        if "bubblewrap" not in found.layers:
            pytest.skip("bubblewrap doesn't work here: nothing to leave out")
        kept = tuple(layer for layer in found.layers if layer != "bubblewrap")
        found = layers.Sandbox(kept, found.missing, found.notes)
        monkeypatch.setattr(layers, "probe", lambda: found)
    return found.layers


def needs(walls: tuple[str, ...], *choices: str) -> None:
    if not set(choices) & set(walls):
        pytest.skip(f"{' or '.join(choices)} doesn't work here")


def attack(code: str, *arguments: str, limits: Limits = SHORT) -> ForeignResult:
    line = [sys.executable, "-I", "-S", "-c", code, *arguments]
    return run_foreign(line, readable=python_paths(), limits=limits)


def compiled(source: str, *arguments: str, limits: Limits = SHORT) -> ForeignResult:
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    files = {"attack.c": source.encode()}
    line = ["gcc", "-O1", "-pthread", "-o", "attack", "attack.c"]
    built = run_foreign(line, files=files, collect=["attack"])
    assert built.verdict == "ok", built.stderr.decode()
    return run_foreign(["./attack", *arguments], files=dict(built.files), limits=limits)


def alive(mark: str) -> list[int]:
    """Processes with this word on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/etc/passwd", "/etc/shadow", "/proc/1/environ", "/proc/self/mem", "/proc/self/maps"])
def test_reads_what_it_must_not(walls: tuple[str, ...], path: str) -> None:
    needs(walls, "landlock")
    done = attack("import sys; print(open(sys.argv[1], 'rb').read(100))", path)
    assert done.verdict == "crash"
    assert done.stdout == b""
    assert b"Error" in done.stderr


def test_reads_the_parents_environment(walls: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    needs(walls, "landlock", "bubblewrap")
    done = attack(f"print(open('/proc/{os.getpid()}/environ').read())")
    assert done.verdict == "crash"
    assert done.stdout == b""


def test_reads_a_secret_beside_its_folder(walls: tuple[str, ...], tmp_path: Path) -> None:
    needs(walls, "landlock", "bubblewrap")
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    os.chmod(secret, 0o644)
    done = compiled(
        r"""
        #include <stdio.h>
        int main(int argc, char **argv) {
            char text[100] = "";
            FILE *file = fopen(argv[1], "r");
            if (file) puts(fgets(text, 100, file));
            else perror("fopen");
            return file == 0;
        }""",
        str(secret),
    )
    assert done.verdict == "crash"
    assert b"hunter2" not in done.stdout + done.stderr


def test_writes_outside_its_folder(walls: tuple[str, ...], tmp_path: Path) -> None:
    needs(walls, "landlock", "bubblewrap")
    os.chmod(tmp_path, 0o777)
    targets = [tmp_path / "x", Path("/tmp") / f"strop-attack-{uuid.uuid4().hex}", Path("/dev/shm") / uuid.uuid4().hex]
    for target in targets:
        done = attack("import sys; open(sys.argv[1], 'w').write('x')", str(target))
        assert not target.exists()
        assert done.verdict in ("crash", "ok")  # bubblewrap gives it a /tmp of its own


def test_leads_us_out_of_its_folder_by_a_link(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    code = "import os, sys; os.symlink(sys.argv[1], 'result'); os.symlink(sys.argv[2], 'folder')"
    line = [sys.executable, "-I", "-S", "-c", code, str(secret), str(tmp_path)]
    done = run_foreign(line, readable=python_paths(), collect=["result", "folder/secret"])
    assert done.verdict == "ok", done.stderr
    assert done.files == {}
    assert secret.read_text() == "hunter2"


def test_gives_us_a_pipe_to_wait_on() -> None:
    line = [sys.executable, "-I", "-S", "-c", "import os; os.mkfifo('result')"]
    assert run_foreign(line, readable=python_paths(), collect=["result"]).files == {}


# System calls ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["AF_INET", "AF_UNIX", "AF_NETLINK", "AF_INET6"])
def test_opens_a_socket(walls: tuple[str, ...], family: str) -> None:
    needs(walls, "seccomp")
    done = attack(f"import socket; socket.socket(socket.{family}, socket.SOCK_DGRAM)")
    assert done.verdict == "crash"
    assert b"PermissionError" in done.stderr


CALLS = r"""
    #define _GNU_SOURCE
    #include <errno.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/syscall.h>
    #include <sys/ptrace.h>
    #include <unistd.h>
    #define TRY(call, refused) do { errno = 0; if ((call) != -1 || errno != (refused)) \
        { printf("%s: %s\n", #call, strerror(errno)); bad++; } } while (0)
    int main(void) {
        int bad = 0;
        char word[8] = "";
        TRY(ptrace(PTRACE_TRACEME, 0, 0, 0), EPERM);
        TRY(ptrace(PTRACE_ATTACH, getppid(), 0, 0), EPERM);
        TRY(syscall(SYS_process_vm_readv, getppid(), word, 0, word, 0, 0), EPERM);
        TRY(syscall(SYS_unshare, 0x10000000), EPERM);
        TRY(syscall(SYS_clone, 0x10000000 | 17, 0, 0, 0, 0), EPERM);
        TRY(syscall(SYS_clone3, word, 8), ENOSYS);
        TRY(syscall(SYS_mount, "x", "/", "tmpfs", 0, 0), EPERM);
        TRY(syscall(SYS_bpf, 0, word, 8), ENOSYS);
        TRY(syscall(SYS_keyctl, 0), ENOSYS);
        TRY(syscall(SYS_perf_event_open, word, 0, -1, -1, 0), ENOSYS);
        TRY(syscall(323 + 0 * SYS_userfaultfd, 0), ENOSYS);
        TRY(syscall(425, 8, word), ENOSYS); /* io_uring_setup */
        TRY(syscall(SYS_kexec_load, 0, 0, 0, 0), EPERM);
        TRY(syscall(SYS_open_by_handle_at, -1, word, 0), EPERM);
        TRY(syscall(SYS_shmget, 1, 4096, 01600), EPERM);
        TRY(syscall(SYS_setsid), EPERM);
        TRY(syscall(SYS_prlimit64, getppid(), 0, 0, 0), EPERM);
        TRY(syscall(470), ENOSYS); /* later than the table */
        return bad;
    }"""


def test_makes_forbidden_system_calls(walls: tuple[str, ...]) -> None:
    needs(walls, "seccomp")
    if os.uname().machine != "x86_64":
        pytest.skip("userfaultfd has another number here")
    done = compiled(CALLS)
    assert done.verdict == "ok", done.stdout.decode()


def test_calls_through_another_table(walls: tuple[str, ...]) -> None:
    needs(walls, "seccomp")
    if os.uname().machine != "x86_64":
        pytest.skip("an x86-64 matter")
    done = compiled('int main(void) { int r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(20)); return r > 0; }')
    assert done.verdict == "crash"
    assert "SIGSYS" in done.detail or "SIGSEGV" in done.detail  # the latter where the kernel has no 32-bit calls


# Limits ---------------------------------------------------------------------------------------------------------------


def test_loops_forever() -> None:
    begin = time.monotonic()
    done = attack("while True: pass", limits=Limits(wall_s=0.5, cpu_s=30))
    assert done.verdict == "run_timeout"
    assert 0.5 <= done.wall_s < 2
    assert time.monotonic() - begin < 10


def test_sleeps_forever() -> None:
    assert run_foreign(["sleep", "1000"], limits=Limits(wall_s=0.3)).verdict == "run_timeout"


@pytest.mark.parametrize("prepare", ["", "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN);"])
def test_burns_its_cpu_time(prepare: str) -> None:
    done = attack(f"{prepare}\nwhile True: pass", limits=Limits(wall_s=30, cpu_s=1))
    assert done.verdict == "run_timeout"
    assert "CPU" in done.detail


def test_takes_two_gigabytes() -> None:
    done = compiled(
        r"""
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        int main(void) {
            char *taken = malloc(2u << 30);
            if (!taken) { perror("malloc"); return 1; }
            memset(taken, 1, 2u << 30);
            return taken[12345] != 1;
        }"""
    )
    assert done.verdict == "limit"
    assert "memory" in done.detail
    assert attack("x = bytearray(2 << 30)").verdict == "limit"


def test_prints_forever() -> None:
    done = attack("import sys\nwhile True: sys.stdout.write('x' * 4096)")
    assert done.verdict == "limit"
    assert "output" in done.detail
    assert len(done.stdout) == SHORT.output_bytes


def test_prints_forever_on_both() -> None:
    done = run_foreign(["sh", "-c", "while :; do echo out; echo err >&2; done"], limits=SHORT)
    assert done.verdict == "limit"
    assert len(done.stdout) + len(done.stderr) < 2 * SHORT.output_bytes


def test_writes_a_large_file() -> None:
    done = compiled(
        r"""
        #include <unistd.h>
        #include <fcntl.h>
        int main(void) {
            static char block[1 << 20];
            int file = open("big", O_CREAT | O_WRONLY, 0600);
            for (int i = 0; i < 100; i++) if (write(file, block, sizeof block) < 0) return 1;
            return 0;
        }"""
    )
    assert done.verdict == "limit"
    assert "file size" in done.detail


def test_writes_many_files() -> None:
    done = attack("n = 0\nwhile True:\n    n += 1\n    open(f'f{n}', 'wb').write(bytes(1 << 20))")
    assert done.verdict == "limit"
    assert "folder" in done.detail


def test_opens_many_files() -> None:
    done = attack("held = [open('/dev/null') for _ in range(10_000)]")
    assert done.verdict == "limit"
    assert "open files" in done.detail


def test_forks_without_end(walls: tuple[str, ...]) -> None:
    if os.geteuid() == 0:
        needs(walls, "user")
    word = uuid.uuid4().hex
    done = compiled(
        r"""
        #include <stdio.h>
        #include <unistd.h>
        int main(void) {
            for (int made = 0; made < 200; made++) {
                int child = fork();
                if (child == 0) pause();
                if (child < 0) { printf("%d\n", made); fflush(stdout); perror("fork"); return 1; }
            }
            return 0;
        }""",
        word,
    )
    assert done.verdict == "limit"
    assert "processes" in done.detail
    assert int(done.stdout) <= SHORT.processes
    assert alive(word) == []


def test_bomb_is_killed_whole(walls: tuple[str, ...]) -> None:
    if os.geteuid() == 0:
        needs(walls, "user")
    word = uuid.uuid4().hex
    code = """
import os, time
end = time.time() + 20
while time.time() < end:
    try: os.fork()
    except OSError: pass
"""
    done = attack(code, word, limits=Limits(wall_s=1, processes=8))
    assert done.verdict == "run_timeout"
    assert alive(word) == []


# Processes ------------------------------------------------------------------------------------------------------------


def test_kills_its_group() -> None:
    done = attack("import os; os.kill(0, 9)")
    assert (done.verdict, done.signal) == ("crash", 9)


# SIGURG stands for SIGKILL where a hole in the walls would hit others: it does nothing to those who don't listen.
BYSTANDER = """
import signal, time
signal.signal(signal.SIGURG, lambda *_: print("hit", flush=True))
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("target", ["everyone", "the parent", "a bystander"])
def test_kills_others(walls: tuple[str, ...], target: str) -> None:
    if os.geteuid() == 0:
        needs(walls, "user", "bubblewrap")
    else:
        needs(walls, "seccomp", "bubblewrap")
    bystander = subprocess.Popen([sys.executable, "-c", BYSTANDER], stdout=subprocess.PIPE)
    assert bystander.stdout is not None
    heard: list[int] = []
    before = signal.signal(signal.SIGURG, lambda number, _: heard.append(number))
    try:
        assert bystander.stdout.readline() == b"ready\n"
        pid = {"everyone": -1, "the parent": os.getpid(), "a bystander": bystander.pid}[target]
        done = attack("import os, signal, sys; os.kill(int(sys.argv[1]), signal.SIGURG)", str(pid))
        assert done.verdict in ("ok", "crash")
        time.sleep(0.1)
        assert heard == []
    finally:
        signal.signal(signal.SIGURG, before)
        bystander.kill()
        rest = bystander.stdout.read()
        bystander.stdout.close()
        bystander.wait()
    assert rest == b""


@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_leaves_a_daemon_behind(sandbox: str) -> None:
    word = uuid.uuid4().hex
    code = """
import os, time
if os.fork() == 0:
    try: os.setsid()
    except OSError: pass
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
os.wait()
print('gone')
"""
    line = [sys.executable, "-I", "-S", "-c", code, word]
    begin = time.monotonic()
    done = run_foreign(line, readable=python_paths(), limits=SHORT, sandbox=sandbox)
    assert done.verdict == "ok"
    assert done.stdout == b"gone\n"
    assert time.monotonic() - begin < 5
    deadline = time.monotonic() + 2
    while alive(word) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert alive(word) == []


def test_crashes() -> None:
    done = compiled("int main(void) { return *(volatile int *)8; }")
    assert (done.verdict, done.exit_code) == ("crash", None)
    assert "SIGSEGV" in done.detail
