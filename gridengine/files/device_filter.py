"""The device filter of a cgroup of version 2: a program of the kernel (eBPF) that refuses to open some devices.

Owns the few instructions of the program and the two calls of bpf(2), without a compiler or a library. The kernel asks the program
when a process in the cgroup, root or not, opens or makes a device file, under any path; the answer 0 is EPERM. The program
lives as long as the cgroup. Programs of the cgroups above, as of systemd's DeviceAllow=, are asked too: each may refuse. Called
by the shepherd, and by the execd, which probes. Source: adr/0350; linux/bpf.h, the kernel's Documentation/bpf/standardization.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gridengine.files.device_files import DeviceNumber

#: number of bpf(2); machines of the other byte order have another form of instructions
_SYSCALLS = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "ppc64le": 361}
_PROG_LOAD, _PROG_ATTACH = 5, 8
_CGROUP_DEVICE_PROGRAM, _CGROUP_DEVICE, _ALLOW_MULTI = 15, 6, 2  # the last: beside programs that are there
#: operations: load a word; and with / compare with a constant; set a register; return
_LOAD, _AND, _JUMP_UNLESS_EQUAL, _SET, _RETURN = 0x61, 0x54, 0x55, 0xB7, 0x95
_ANSWER, _CONTEXT, _KIND, _MAJOR, _MINOR = range(5)  # registers; the kernel passes the context in 1, and takes the answer from 0
_KINDS = {"b": 1, "c": 2}
#: of a daemon that loads the program
CAPABILITIES = "CAP_SYS_ADMIN, or CAP_BPF and CAP_NET_ADMIN"
_KIND_MASK = 0xFFFF  # the upper half of the context's first word is the kind of access


def program(closed: Iterable[DeviceNumber]) -> bytes:
    """The instructions: 0 for one of the devices, else 1."""
    code = [
        _instruction(_LOAD, _KIND, _CONTEXT, offset=0),
        _instruction(_AND, _KIND, value=_KIND_MASK),
        _instruction(_LOAD, _MAJOR, _CONTEXT, offset=4),
        _instruction(_LOAD, _MINOR, _CONTEXT, offset=8),
    ]
    for device in sorted(closed):
        code += [  # a jump's offset counts from the instruction after it: to the next device
            _instruction(_JUMP_UNLESS_EQUAL, _KIND, offset=4, value=_KINDS[device.kind]),
            _instruction(_JUMP_UNLESS_EQUAL, _MAJOR, offset=3, value=device.major),
            _instruction(_JUMP_UNLESS_EQUAL, _MINOR, offset=2, value=device.minor),
            _instruction(_SET, _ANSWER, value=0),
            _instruction(_RETURN),
        ]
    return b"".join((*code, _instruction(_SET, _ANSWER, value=1), _instruction(_RETURN)))


def attach(cgroups: Iterable[Path], closed: Iterable[DeviceNumber]) -> None:
    """Close these devices to all processes that are or come into these cgroups, and into those below. Raises OSError."""
    loaded = _load(program(closed))
    try:
        for cgroup in cgroups:
            directory = os.open(cgroup, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _bpf(_PROG_ATTACH, struct.pack("=4I", directory, loaded, _CGROUP_DEVICE, _ALLOW_MULTI))
            finally:
                os.close(directory)
    finally:
        os.close(loaded)


def obstacle() -> str:
    """The reason for which this process cannot load a filter, "" for none."""
    try:
        os.close(_load(program(())))
    except OSError as error:
        return refusal(error)
    return ""


def refusal(error: OSError) -> str:
    """The sentence about an error of bpf(2), with the capabilities that a missing right is about."""
    rights = f"; it takes {CAPABILITIES}" if error.errno == errno.EPERM else ""
    return f"the kernel takes no device filter of this daemon (bpf: {error.strerror}{rights})"


def _instruction(operation: int, target: int = 0, source: int = 0, offset: int = 0, value: int = 0) -> bytes:
    return struct.pack("=BBhi", operation, target | source << 4, offset, value)


def _load(code: bytes) -> int:
    """The descriptor of the program, which the kernel has verified. Raises OSError."""
    instructions, license_text = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"GPL")
    fields = _CGROUP_DEVICE_PROGRAM, len(code) // 8, ctypes.addressof(instructions), ctypes.addressof(license_text), 0, 0, 0, 0, 0
    with _unlimited_locked_memory():
        return _bpf(_PROG_LOAD, struct.pack("=IIQQIIQII", *fields))


def _bpf(command: int, attributes: bytes) -> int:
    """The result of bpf(2). A descriptor closes on exec. Raises OSError."""
    number = _SYSCALLS.get(os.uname().machine) if ctypes.sizeof(ctypes.c_void_p) == 8 else None
    if number is None:
        raise OSError(0, f"not known for {os.uname().machine}")
    call = ctypes.CDLL(None, use_errno=True).syscall
    result = int(call(number, command, ctypes.create_string_buffer(attributes, len(attributes)), len(attributes)))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@contextmanager
def _unlimited_locked_memory() -> Iterator[None]:
    """Kernels before 5.11 count a page of locked memory for each program, and limit the sum for root, too."""
    limits = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    unlimited = resource.RLIM_INFINITY
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (unlimited, unlimited))
    try:
        yield
    finally:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_MEMLOCK, limits)
