"""Which layers are asked for, and what happens where one is missing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from strop.bench import foreign
from strop.bench.isolation import bubblewrap, landlock, layers
from strop.errors import BadOption, BadSandbox

BARE = layers.Sandbox(layers.ALWAYS, {"landlock": "switched off", "seccomp": "not built in"}, {})


def test_probe_names_every_layer_once() -> None:
    found = layers.probe()
    assert set(layers.ALWAYS) <= set(found.layers) <= set(layers.PURPOSES)
    rows = found.to_json()["layers"]
    assert [row["layer"] for row in rows] == list(layers.PURPOSES)  # type: ignore[index, attr-defined]
    for layer in set(layers.PURPOSES) - set(found.layers):
        assert found.missing.get(layer) or found.notes.get(layer), f"nothing says why {layer} is off"
    json.dumps(found.to_json(), allow_nan=False)


def test_none_asks_for_no_layer_and_says_so() -> None:
    assert layers.choose("none") == ()
    assert foreign.run_foreign(["true"], sandbox="none").layers == layers.ALWAYS


def test_unknown_word() -> None:
    with pytest.raises(BadOption, match="sandbox"):
        layers.choose("maybe")


def test_required_where_a_layer_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "probe", lambda: BARE)
    with pytest.raises(BadSandbox, match="no-new-privs") as caught:
        foreign.run_foreign(["true"], sandbox="required")
    assert caught.value.exit_code == 3
    assert foreign.run_foreign(["true"], sandbox="auto").layers == layers.ALWAYS


@pytest.mark.parametrize("files", ["landlock", "bubblewrap"])
def test_required_takes_either_wall_around_files(files: str) -> None:
    assert layers.Sandbox((*layers.ALWAYS, "no-new-privs", "seccomp", files), {}, {}).lacks() is None


def test_a_layer_that_fails_at_launch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    if not landlock.version():
        pytest.skip("the kernel has no Landlock")
    monkeypatch.setattr(bubblewrap, "find", lambda: "/bin/false")
    claimed = layers.Sandbox((*layers.ALWAYS, "bubblewrap"), {}, {})
    monkeypatch.setattr(layers, "probe", lambda: claimed)
    result = foreign.run_foreign(["true"])
    assert result.verdict == "not_run"
    assert "could not be started" in result.detail


def test_probe_without_a_working_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "find", lambda: "/bin/false")
    found = layers.probe.__wrapped__()
    assert "bubblewrap" not in found.layers
    assert found.missing["bubblewrap"]
    assert set(layers.ALWAYS) <= set(found.layers)


def test_the_launcher_imports_the_standard_library_only() -> None:
    code = (
        "import sys; sys.path.append(sys.argv[1]); import strop.bench.isolation.launch;"
        "print(sorted({m.split('.')[0] for m in sys.modules} - set(sys.stdlib_module_names) - {'__main__', 'strop'}))"
    )
    line = [sys.executable, "-I", "-S", "-B", "-c", code, str(foreign.Path(foreign.__file__).parents[2])]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_rights_of_old_and_new_kernels() -> None:
    assert landlock.handled(1) == 2**13 - 1
    assert landlock.handled(3) & landlock.TRUNCATE
    assert landlock.handled(99) == landlock.handled(5)
