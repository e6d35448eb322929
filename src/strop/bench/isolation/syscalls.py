"""The system calls that foreign code is refused, as data.

Numbers: Linux 6.15, arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h (aarch64 uses the
generic table). ``None``: that architecture never had the call. What has a gentle way to fall back is answered "no such
call" (ENOSYS), what a program should know it may not do is answered "not permitted" (EPERM).
"""

from __future__ import annotations

from collections.abc import Mapping
from errno import ENOSYS, EPERM

ARCHITECTURES = ("x86_64", "aarch64")

# AUDIT_ARCH_* (include/uapi/linux/audit.h): the filter first checks that the call came through this entry.
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000  # x86-64's second table, for 32-bit pointers: refused whole

LATEST = 467  # open_tree_attr, Linux 6.15: whatever came later wasn't looked at, so it doesn't exist here

# group: (answer, {call: (number on x86_64, number on aarch64)})
Numbers = dict[str, tuple[int | None, int | None]]
REFUSED: dict[str, tuple[int, Numbers]] = {
    "looks into or steers another process": (
        EPERM,
        {
            "ptrace": (101, 117),
            "process_vm_readv": (310, 270),
            "process_vm_writev": (311, 271),
            "process_madvise": (440, 440),
            "process_mrelease": (448, 448),
            "kcmp": (312, 272),
            "pidfd_getfd": (438, 438),
            "pidfd_send_signal": (424, 424),
            "move_pages": (279, 239),
            "migrate_pages": (256, 238),
        },
    ),
    "leaves the process group, which is what gets killed": (
        EPERM,
        {"setsid": (112, 157), "setpgid": (109, 154)},
    ),
    "makes or joins a namespace, changes mounts": (
        EPERM,
        {
            "unshare": (272, 97),
            "setns": (308, 268),
            "mount": (165, 40),
            "umount2": (166, 39),
            "pivot_root": (155, 41),
            "chroot": (161, 51),
            "open_tree": (428, 428),
            "move_mount": (429, 429),
            "fsopen": (430, 430),
            "fsconfig": (431, 431),
            "fsmount": (432, 432),
            "fspick": (433, 433),
            "mount_setattr": (442, 442),
            "open_tree_attr": (467, 467),
            "statmount": (457, 457),
            "listmount": (458, 458),
        },
    ),
    "opens a file around its path": (
        EPERM,
        {"name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "fanotify_init": (300, 262)},
    ),
    "memory and messages that outlive the process": (
        EPERM,
        {"shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180)},
    ),
    "kernel machinery with a long record of holes": (
        ENOSYS,
        {
            "bpf": (321, 280),
            "perf_event_open": (298, 241),
            "userfaultfd": (323, 282),
            "io_uring_setup": (425, 425),
            "io_uring_enter": (426, 426),
            "io_uring_register": (427, 427),
            "add_key": (248, 217),
            "request_key": (249, 218),
            "keyctl": (250, 219),
            "modify_ldt": (154, None),
            "vmsplice": (278, 75),
            "lookup_dcookie": (212, 18),
            "nfsservctl": (180, 42),
            "uselib": (134, None),
            "_sysctl": (156, None),
            "create_module": (174, None),
            "get_kernel_syms": (177, None),
            "query_module": (178, None),
        },
    ),
    "its arguments lie in memory, where a filter can't see them": (ENOSYS, {"clone3": (435, 435)}),
    "another filter, or one that answers in our place": (EPERM, {"seccomp": (317, 277)}),
    "the machine's own state": (
        EPERM,
        {
            "kexec_load": (246, 104),
            "kexec_file_load": (320, 294),
            "reboot": (169, 142),
            "init_module": (175, 105),
            "finit_module": (313, 273),
            "delete_module": (176, 106),
            "swapon": (167, 224),
            "swapoff": (168, 225),
            "acct": (163, 89),
            "quotactl": (179, 60),
            "quotactl_fd": (443, 443),
            "syslog": (103, 116),
            "sethostname": (170, 161),
            "setdomainname": (171, 162),
            "settimeofday": (164, 170),
            "clock_settime": (227, 112),
            "clock_adjtime": (305, 266),
            "adjtimex": (159, 171),
            "iopl": (172, None),
            "ioperm": (173, None),
            "vhangup": (153, 58),
        },
    ),
}

# Calls that are refused by what they are asked to do: number on x86_64, number on aarch64, argument looked at.
CLONE = (56, 220, 0)
NAMESPACES = 0x7E020080  # CLONE_NEW{TIME,NS,CGROUP,UTS,IPC,USER,PID,NET}
SOCKET = (41, 198, 0)
INTERNET = (2, 10, 16)  # AF_INET, AF_INET6, and AF_NETLINK, with which the C library lists the interfaces
IOCTL = (16, 29, 1)
TYPES_FOR_OTHERS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: put words into a terminal's mouth
FCNTL = (72, 25, 1)
SIGNALS_BY_FILE = (8, 10, 15)  # F_SETOWN, F_SETSIG, F_SETOWN_EX: a signal to any process, through a file
PRLIMIT = (302, 261, 0)

# Refused, but for oneself, where nothing else keeps signals and scheduling inside (see seccomp.program).
SIGNALS = {"kill": (62, 129), "tgkill": (234, 131), "tkill": (200, 130)}
QUEUED_SIGNALS = {"rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240)}
SCHEDULING = {
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
}
OTHERS_PRIORITY = {"setpriority": (141, 140), "ioprio_set": (251, 30)}

# What a kernel that is being timed may call (see seccomp.timed): number on x86_64, number on aarch64. Memory of its own
# and its end; all else is refused and ends the process. Numbers as above.
TIMED_ALLOWED: Numbers = {
    **{"brk": (12, 214), "munmap": (11, 215), "exit_group": (231, 94)},
    "getrandom": (318, 278),  # malloc asks once for a key of its own
}
TIMED_ABSENT: Numbers = {"mremap": (25, 216), "madvise": (28, 233)}  # realloc copies, malloc keeps its pages
MMAP = (9, 222)  # argument 2: protection, 3: flags
PROT_EXEC, MAP_ANONYMOUS = 4, 0x20
SIGSTOP = 19

# Names for what a refused kernel wanted, besides those above.
OTHERS: Numbers = {
    **{"read": (0, 63), "write": (1, 64), "open": (2, None), "openat": (257, 56), "close": (3, 57), "fstat": (5, 80)},
    **{"newfstatat": (262, 79), "statx": (332, 291), "writev": (20, 66), "sendfile": (40, 71), "dup": (32, 23)},
    **{"dup2": (33, None), "dup3": (292, 24), "pipe": (22, None), "pipe2": (293, 59), "mprotect": (10, 226)},
    **{"fork": (57, None), "vfork": (58, None), "clone": (56, 220), "execve": (59, 221), "execveat": (322, 281)},
    **{"rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "sigaltstack": (131, 132), "alarm": (37, None)},
    **{"setitimer": (38, 103), "timer_create": (222, 107), "timerfd_create": (283, 85), "pause": (34, None)},
    **{"nanosleep": (35, 101), "clock_nanosleep": (230, 115), "sched_yield": (24, 124), "futex": (202, 98)},
    **{"poll": (7, None), "ppoll": (271, 73), "select": (23, None), "pselect6": (270, 72), "epoll_wait": (232, None)},
    **{"clock_gettime": (228, 113), "gettimeofday": (96, 169), "getpid": (39, 172), "gettid": (186, 178)},
    **{"getppid": (110, 173), "prctl": (157, 167), "arch_prctl": (158, None)},
    **{"memfd_create": (319, 279), "eventfd2": (290, 19), "shmat": (30, 196), "exit": (60, 93)},
    **{"mmap": MMAP, "socket": SOCKET[:2], "ioctl": IOCTL[:2], "fcntl": FCNTL[:2], "prlimit64": PRLIMIT[:2]},
    **{"getpriority": (140, 141), "sched_getaffinity": (204, 123), "pkey_mprotect": (329, 288), "unlink": (87, None)},
    **{"wait4": (61, 260), "waitid": (247, 95), "msync": (26, 227), "mlock": (149, 228), "lseek": (8, 62)},
}


def name(number: int, architecture: str) -> str:
    """What the call with this number is called: its name, or "number N".

    >>> name(101, "x86_64"), name(999, "x86_64")
    ('ptrace', 'number 999')
    """
    column = ARCHITECTURES.index(architecture)
    tables: list[Mapping[str, tuple[int | None, int | None]]] = [calls for _, calls in REFUSED.values()]
    tables += [SIGNALS, QUEUED_SIGNALS, SCHEDULING, OTHERS_PRIORITY, TIMED_ABSENT, OTHERS]
    return next((each for table in tables for each, at in table.items() if at[column] == number), f"number {number}")
