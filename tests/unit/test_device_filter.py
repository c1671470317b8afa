"""The program that closes devices answers as the kernel's machine carries it out (adr/0350)."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable

from gridengine.files.device_files import DeviceNumber
from gridengine.files.device_filter import program, refusal

OTHERS = [DeviceNumber("c", 195, 1), DeviceNumber("c", 195, 2), DeviceNumber("b", 8, 0)]
READ, MAKE = 2 << 16, 1 << 16


def answer(closed: Iterable[DeviceNumber], kind: int, major: int, minor: int, access: int = READ) -> int:
    """Carry the program out: 0 to refuse. Source: linux/bpf.h bpf_cgroup_dev_ctx."""
    code, context = program(closed), struct.pack("=III", access | kind, major, minor)
    registers, position = [-1] * 5, 0
    while True:
        operation, pair, offset, value = struct.unpack_from("=BBhi", code, position * 8)
        target, source = pair & 15, pair >> 4
        position += 1
        match operation:
            case 0x61:
                assert source == 1
                registers[target] = struct.unpack_from("=I", context, offset)[0]
            case 0x54:
                registers[target] &= value
            case 0x55:
                position += offset if registers[target] != value else 0
            case 0xB7:
                registers[target] = value
            case 0x95:
                return registers[0]


def test_the_listed_devices_are_refused_for_each_access_and_no_others() -> None:
    block, character = 1, 2
    for access in (READ, MAKE):
        assert [answer(OTHERS, character, 195, minor, access) for minor in (0, 1, 2, 3)] == [1, 0, 0, 1]
    assert [answer(OTHERS, kind, 8, 0) for kind in (block, character)] == [0, 1]
    assert answer([], character, 195, 1) == 1


def test_a_missing_right_is_named_by_its_capabilities() -> None:
    """The type of the program needs CAP_NET_ADMIN beside CAP_BPF. Source: kernel/bpf/syscall.c, is_net_admin_prog_type."""
    denied, unknown = (refusal(OSError(number, os.strerror(number))) for number in (errno.EPERM, errno.ENOSYS))
    assert "(bpf: Operation not permitted; it takes CAP_SYS_ADMIN, or CAP_BPF and CAP_NET_ADMIN)" in denied
    assert "(bpf: Function not implemented)" in unknown
