"""Limits of a query process: memory, processor time, files, rights.

Owns the kernel limits of a process that was forked for one query. Called only in that process, by `query_process`.
Source: setrlimit(2), landlock(7), proc(5); adr/0177.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import resource
import signal
import struct
from contextlib import suppress
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
#: system calls of landlock(7), the same on every architecture, and rights of files and TCP by version of its interface
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF, _VERSION, _PATH_BENEATH = 444, 445, 446, 1, 1
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_TCP_RIGHTS, _TCP_VERSION = 3, 4
_O_PATH = 0o10000000
_NICENESS = 5
_NOBODY_UID = 65534
_MIB = 2**20
_MIN_MEMORY, _MAX_MEMORY, _MEMORY_DIVISOR = 256 * _MIB, 1024 * _MIB, 16


def max_query_memory() -> int:
    """Bytes of memory that a query may use: a sixteenth of the host's memory, from 256 MiB to 1 GiB."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(_MIN_MEMORY, min(_MAX_MEMORY, total // _MEMORY_DIVISOR))


def max_query_disk(directory: str) -> int:
    """Bytes of temporary files that a query may write: an eighth of the free space, at most 1 GiB."""
    free = os.statvfs(directory)
    return int(min(1024 * _MIB, free.f_bavail * free.f_frsize // 8))


def limit_resources(memory: int, disk: int, cpu_s: int) -> None:
    """Limit the growth of this process: bytes of memory and of files, and seconds of processor time.

    The process ends with its parent. When memory is short, the kernel kills it first.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    address_space = pages * os.sysconf("SC_PAGE_SIZE") + memory
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + cpu_s + 1
    for limit, value in (
        (resource.RLIMIT_AS, address_space),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, disk),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(limit)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (value, value))
    os.nice(_NICENESS)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def close_descriptors(keep: set[int]) -> None:
    """Close inherited descriptors: connections of other users would stay open while this process lives."""
    null_device = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null_device, number)
    kept = sorted({-1, 0, 1, 2, *keep})
    for before, after in zip(kept, [*kept[1:], 2**20], strict=True):
        if after - before > 1:  # an empty range would mean all descriptors
            os.closerange(before + 1, after)


def drop_privileges() -> None:
    """Never gain rights by started programs. As root: become the user nobody, with the current directory as root directory."""
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.geteuid() != 0:
        return
    try:
        account = pwd.getpwnam("nobody")
        user, group = account.pw_uid, account.pw_gid
    except KeyError:
        user = group = _NOBODY_UID
    os.chown(".", user, group)
    os.chroot(".")
    os.chdir("/")
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)


def confine_to_directory() -> None:
    """Deny all files outside the current directory, and all TCP ports.

    On a kernel without landlock(7) only the other limits apply.
    """
    version = _libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    if version < 1:
        return
    files = sum(rights for since, rights in _FILE_RIGHTS.items() if since <= version)
    attributes = struct.pack("QQ", files, _TCP_RIGHTS if version >= _TCP_VERSION else 0)
    ruleset = _libc.syscall(_CREATE_RULESET, attributes, len(attributes) if version >= _TCP_VERSION else 8, 0)
    if ruleset < 0:
        return
    directory = os.open(".", _O_PATH | os.O_CLOEXEC)
    _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", files, directory), 0)
    _libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(directory)
    os.close(ruleset)
