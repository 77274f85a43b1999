"""The filter as the kernel runs it, for machines that the tests do not run on too."""

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.worker import seccomp

POLICY = seccomp.Policy(seccomp.NOTIFY, seccomp.NOTIFY, signals_scoped=True, protected=(1, 77, -77))
MACHINES = list(seccomp.ARCHITECTURES)
REFUSED, ABSENT = seccomp.refuse(), seccomp.refuse(errno.ENOSYS)


def decide(
    machine: str,
    number: int,
    *arguments: int,
    architecture: int | None = None,
    policy: seccomp.Policy = POLICY,
) -> int:
    """The action that a filter ends with, by the rules of classic BPF."""
    program = seccomp.program(machine, policy)
    wide = [value & (1 << 64) - 1 for value in (*arguments, *[0] * 6)][:6]
    chosen = seccomp.ARCHITECTURES[machine] if architecture is None else architecture
    data = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, chosen, 0, *wide)
    at = held = 0
    while True:
        code, yes, no, value = program[at]
        at += 1
        if code == seccomp.RETURN:
            return value
        if code == seccomp.LOAD:
            (held,) = struct.unpack_from("=I", data, value)
            continue
        if code == seccomp.AND:
            held &= value
            continue
        compared = {
            seccomp.JUMP_EQUAL: held == value,
            seccomp.JUMP_NOT_BELOW: held >= value,
            seccomp.JUMP_ANY_BIT: bool(held & value),
        }
        at += yes if compared[code] else no


@pytest.mark.parametrize(
    ("machine", "number", "arguments", "action"),
    [
        ("aarch64", 63, (0, 0, 10), seccomp.ALLOW),  # read
        ("aarch64", 53, (-100, 4096, 0o600), seccomp.NOTIFY),  # fchmodat
        ("aarch64", 117, (16, 5), REFUSED),  # ptrace
        ("aarch64", 425, (), REFUSED),  # io_uring_setup
        ("aarch64", 220, (0x11,), seccomp.ALLOW),  # clone
        ("aarch64", 220, (0x11 | 0x10000000,), REFUSED),  # in a user namespace
        ("aarch64", 435, (), ABSENT),  # clone3
        ("aarch64", 5, (), seccomp.refuse(errno.EOPNOTSUPP)),  # setxattr
        ("aarch64", 261, (0, 3), seccomp.ALLOW),  # prlimit64
        ("aarch64", 261, (5, 3), seccomp.NOTIFY),
        ("aarch64", 140, (0, 0, 5), seccomp.ALLOW),  # setpriority of itself
        ("aarch64", 140, (0, 9, 5), seccomp.NOTIFY),
        ("aarch64", 140, (1, 0, 5), seccomp.ALLOW),  # of its group
        ("aarch64", 140, (1, 9, 5), REFUSED),
        ("aarch64", 140, (2, 0, 5), REFUSED),  # of its user
        ("aarch64", 30, (1, 0, 5), seccomp.ALLOW),  # ioprio_set
        ("aarch64", 30, (3, 0, 5), REFUSED),
        ("aarch64", 129, (-1, 9), REFUSED),  # kill
        ("aarch64", 129, (-77, 9), REFUSED),
        ("aarch64", 129, (78, 9), seccomp.ALLOW),
        ("aarch64", 29, (0, 0x5401), seccomp.ALLOW),  # ioctl TCGETS
        ("aarch64", 29, (0, 0x40086602), REFUSED),  # FS_IOC_SETFLAGS
        ("aarch64", 29, (0, 0x80086601), seccomp.ALLOW),  # FS_IOC_GETFLAGS
        ("aarch64", 29, (0, 0x40806685), REFUSED),  # FS_IOC_ENABLE_VERITY
        ("x86_64", 16, (0, 0x800C6613), REFUSED),  # FS_IOC_SET_ENCRYPTION_POLICY
        ("x86_64", 16, (0, 0xC0406618), REFUSED),  # FS_IOC_REMOVE_ENCRYPTION_KEY
        ("x86_64", 16, (0, 0x40049409), seccomp.ALLOW),  # FICLONE
        ("x86_64", 16, (0, 0x5000940F), REFUSED),  # BTRFS_IOC_SNAP_DESTROY
        ("x86_64", 16, (0, 0x5421), seccomp.ALLOW),  # FIONBIO
        ("x86_64", 16, (0, 0x540C), REFUSED),  # TIOCEXCL
        ("aarch64", 0x40000000 + 63, (), seccomp.ALLOW),  # no x32 there: the kernel knows no such call
        ("x86_64", 0x40000000, (), ABSENT),
        ("x86_64", -1, (), ABSENT),
        ("x86_64", 90, (), seccomp.NOTIFY),  # chmod
        ("x86_64", 132, (), seccomp.NOTIFY),  # utime
    ],
)
def test_the_filter_of_each_machine(machine: str, number: int, arguments: tuple[int, ...], action: int) -> None:
    assert decide(machine, number, *arguments) == action


@pytest.mark.parametrize("machine", MACHINES)
@given(number=st.integers(0, 0xFFFFFFFF), arguments=st.lists(st.integers(0, (1 << 64) - 1), max_size=6))
def test_every_call_ends_with_an_action_and_none_of_another_architecture_goes_on(
    machine: str, number: int, arguments: list[int]
) -> None:
    known = {seccomp.ALLOW, seccomp.NOTIFY, REFUSED, ABSENT, seccomp.refuse(errno.EOPNOTSUPP)}
    assert decide(machine, number, *arguments) in known
    assert decide(machine, number, *arguments, architecture=0x40000003) == seccomp.KILL_PROCESS


@pytest.mark.parametrize("machine", MACHINES)
def test_no_number_stands_for_two_calls(machine: str) -> None:
    index = MACHINES.index(machine)
    tables = (seccomp.MODES_AND_TIMES, seccomp.ATTRIBUTES, seccomp.OF_A_PROCESS, seccomp.PRIORITY, seccomp.SIGNALS)
    found = [numbers[index] for table in (*tables, seccomp.REFUSED) for numbers in table.values()]
    alone = [seccomp.CLONE, seccomp.CLONE3, seccomp.IOCTL, seccomp.FCNTL, seccomp.PIDFD_SEND_SIGNAL]
    known = [number for number in (*found, *(numbers[index] for numbers in alone)) if number is not None]
    assert len(known) == len(set(known))


@pytest.mark.parametrize(("machine", "socket", "pair"), [("x86_64", 41, 53), ("aarch64", 198, 199)])
def test_without_sockets_only_a_pair_can_be_made(machine: str, socket: int, pair: int) -> None:
    alone = POLICY._replace(sockets=REFUSED)
    for family in (1, 2, 10, 16, 40):  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_VSOCK
        assert decide(machine, socket, family, 1, policy=alone) == REFUSED
        assert decide(machine, socket, family, 1) == seccomp.ALLOW
    assert decide(machine, pair, 1, 1, policy=alone) == seccomp.ALLOW
