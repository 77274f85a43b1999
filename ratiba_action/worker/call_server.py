"""Does for untrusted code, in its guardian, what the filter of ``seccomp.py`` does not let it do itself.

A call for a file is never let through: the guardian reads the arguments once, opens what they name, asks the kernel
where that lies, and changes what it has opened, so nothing can be exchanged in between (``seccomp_unotify(2)``). What
Landlock lets the code write to, it may change; everything else is refused. A call that names a process is let through
where it is one of the caller's own threads: its arguments are numbers, which nobody can change.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import select
import struct
from typing import TYPE_CHECKING, NamedTuple

from . import seccomp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# linux/seccomp.h: struct seccomp_notif, struct seccomp_notif_resp, and the numbers of their calls.
NOTIFICATION, ANSWER = struct.Struct("=QII iIQ 6Q"), struct.Struct("=QqiI")
RECEIVE, SEND, IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
GO_ON = 1
AT_FDCWD = -100
NO_FOLLOW, EMPTY_PATH = 0x100, 0x1000
LONGEST_PATH, CHUNK = 4096, 256
MICROSECONDS = 1_000_000
TIMES = struct.Struct("=4q")
OWN = ("/proc/self/", "/proc/thread-self/")


class Call(NamedTuple):
    """A call that waits for its answer.

    Args:
        arguments: six unsigned numbers.
    """

    id: int
    thread: int
    name: str
    arguments: tuple[int, ...]

    def signed(self, index: int) -> int:
        """An argument as the ``int`` that it is."""
        return int(ctypes.c_int(self.arguments[index] & 0xFFFFFFFF).value)

    def memory(self, address: int, size: int) -> bytes:
        """What stands at an address of the caller; less than asked for at the end of a mapping.

        Raises:
            OSError: nothing is there, or it cannot be read.
        """
        try:
            memory = os.open(f"/proc/{self.thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except PermissionError:
            raise OSError(errno.EPERM, "") from None
        try:
            return os.pread(memory, size, address)
        except (OSError, OverflowError):
            raise OSError(errno.EFAULT, "") from None
        finally:
            os.close(memory)

    def path(self, index: int) -> bytes:
        """The path that an argument points to.

        Raises:
            OSError: it cannot be read, or is too long.
        """
        address, found = self.arguments[index], b""
        while len(found) < LONGEST_PATH:
            chunk = self.memory(address + len(found), CHUNK)
            found += chunk
            if b"\0" in chunk:
                return found[: found.index(b"\0")]
            if not chunk:
                raise OSError(errno.EFAULT, "")
        raise OSError(errno.ENAMETOOLONG, "")


class CallServer:
    """Answers the calls of one listener.

    Args:
        listener: of ``seccomp.install``; closed when the code has ended.
        writable: absolute paths that the code may write to, each with all below it.
    """

    def __init__(self, listener: int, writable: Iterable[str]) -> None:
        self.listener = listener
        self._writable = frozenset(os.fsencode(path) for path in writable)
        self._names = seccomp.call_names()
        self._memory = _device_of_memory()
        self._libc = ctypes.CDLL(None, use_errno=True)

    def serve(self) -> bool:
        """Answer the call that waits; False when there will be no more."""
        poll = select.poll()
        poll.register(self.listener, select.POLLIN)
        if any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0)):
            return False
        request = bytearray(NOTIFICATION.size)
        try:
            fcntl.ioctl(self.listener, RECEIVE, request)
        except OSError:  # the caller has been killed meanwhile
            return True
        id_, thread, _, number, _, _, *arguments = NOTIFICATION.unpack(request)
        result, flags = self._answer(Call(id_, thread, self._names.get(number, ""), tuple(arguments)))
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.listener, SEND, ANSWER.pack(id_, 0, result, flags))
        return True

    def _answer(self, call: Call) -> tuple[int, int]:
        """The negative error number or 0, and the answer's flags."""
        try:
            if call.name in seccomp.MODES_AND_TIMES:
                self._change(call)
                return 0, 0
            return (0, GO_ON) if _names_own_thread(call) else (-errno.EPERM, 0)
        except OSError as problem:
            return -(problem.errno or errno.EPERM), 0

    def _change(self, call: Call) -> None:
        change = _CHANGES[call.name](call)
        opened = _open(call, change.target)
        try:
            # The number may be another process's by now, and then this was its folder or descriptor.
            fcntl.ioctl(self.listener, IS_VALID, struct.pack("=Q", call.id))
            own = b"/proc/self/fd/%d" % opened
            # Memory that has no name is reached by a descriptor alone, and the caller holds only its own.
            unnamed = change.target.path is None and os.fstat(opened).st_dev == self._memory
            if not unnamed and not self._may_write(os.readlink(own)):  # noqa: PTH115 - bytes, of any name
                raise PermissionError(errno.EPERM, "")
            if change.make(self._libc, own) != 0:
                raise OSError(ctypes.get_errno(), "")
        finally:
            os.close(opened)

    def _may_write(self, path: bytes) -> bool:
        """Whether a path, as the kernel has it of an open file, lies where the code may write."""
        while path.startswith(b"/"):
            if path in self._writable:
                return True
            path = path.rpartition(b"/")[0] or (b"/" if path != b"/" else b"")
        return False


def _device_of_memory() -> int | None:
    """The device on which all that ``memfd_create`` makes lies; None where that call is not known."""
    try:
        memory = os.memfd_create("")
    except (AttributeError, OSError):
        return None
    try:
        return os.fstat(memory).st_dev
    finally:
        os.close(memory)


def _names_own_thread(call: Call) -> bool:
    """Whether the process that a call names is its caller's, or one of that one's threads."""
    named = call.signed(1 if call.name in seccomp.PRIORITY else 0)
    return os.path.isdir(f"/proc/{call.thread}/task/{named}")  # noqa: PTH112 - a few calls a millisecond


def _open(call: Call, target: CallTarget) -> int:
    """What a call names, opened without any right but to name it."""
    path, place = target.path, target.place
    process = f"/proc/{call.thread}"
    if path is None:
        try:
            return os.open(f"{process}/fd/{place}", os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            raise OSError(errno.EBADF, "") from None
    for prefix in OWN:
        if path.startswith(prefix.encode()):
            path = os.fsencode(process) + b"/" + path[len(prefix) :]
    if path.startswith(b"/dev/fd/"):
        path = os.fsencode(process) + path[4:]
    flags = os.O_PATH | os.O_CLOEXEC | (0 if target.follow else os.O_NOFOLLOW)
    if path.startswith(b"/"):
        return os.open(path, flags)
    start = f"{process}/cwd" if place == AT_FDCWD else f"{process}/fd/{place}"
    try:
        folder = os.open(start, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        raise OSError(errno.EBADF, "") from None
    try:
        return os.open(path, flags, dir_fd=folder)
    finally:
        os.close(folder)


class CallTarget(NamedTuple):
    """What a call names.

    Args:
        place: descriptor of the caller's that the path starts from, or ``AT_FDCWD``.
        path: None for the descriptor itself.
        follow: a link at the path's end.
    """

    place: int
    path: bytes | None = None
    follow: bool = True


class CallEffect(NamedTuple):
    """What a call is to do.

    Args:
        target: what it is done to.
        make: changes what was opened; 0 or -1, as the C library.
    """

    target: CallTarget
    make: Callable[[ctypes.CDLL, bytes], int]


def _named(call: Call, *, place: int = AT_FDCWD, path: int = 0, flags: int = 0) -> CallTarget:
    """A path argument under the flags of the ``…at`` calls; an empty path may stand for the descriptor."""
    found = call.path(path)
    if not found:
        if not flags & EMPTY_PATH:
            raise OSError(errno.ENOENT, "")
        # The current folder, where that is what the descriptor says.
        return CallTarget(place, b"." if place == AT_FDCWD else None)
    return CallTarget(place, found, not flags & NO_FOLLOW)


def _mode(call: Call, index: int) -> Callable[[ctypes.CDLL, bytes], int]:
    mode = call.arguments[index] & 0o7777
    return lambda libc, path: int(libc.chmod(path, mode))


def _owner(call: Call, index: int) -> Callable[[ctypes.CDLL, bytes], int]:
    owner, group = (call.arguments[place] & 0xFFFFFFFF for place in (index, index + 1))
    return lambda libc, path: int(libc.chown(path, owner, group))


def _times(call: Call, index: int, form: str) -> Callable[[ctypes.CDLL, bytes], int]:
    """Access and modification times; ``form`` is the structure: utimbuf, timeval or timespec."""
    address, times = call.arguments[index], None
    if address:
        size = 16 if form == "utimbuf" else 32
        found = call.memory(address, size)
        if len(found) < size:
            raise OSError(errno.EFAULT, "")
        times = _timespec(found, form)
    return lambda libc, path: int(libc.utimensat(AT_FDCWD, path, times, 0))


def _timespec(found: bytes, form: str) -> bytes:
    if form == "utimbuf":
        accessed, modified = struct.unpack("=2q", found)
        return TIMES.pack(accessed, 0, modified, 0)
    if form == "timespec":
        return found
    accessed, first, modified, second = TIMES.unpack(found)
    if not (0 <= first < MICROSECONDS and 0 <= second < MICROSECONDS):
        raise OSError(errno.EINVAL, "")
    return TIMES.pack(accessed, first * 1000, modified, second * 1000)


def _at_or_open(call: Call, flags: int = 0) -> CallTarget:
    """As ``_named``, for the calls whose path may be missing altogether."""
    place = call.signed(0)
    return _named(call, place=place, path=1, flags=flags) if call.arguments[1] else CallTarget(place)


def _length(call: Call) -> Callable[[ctypes.CDLL, bytes], int]:
    length = ctypes.c_long(ctypes.c_int64(call.arguments[1]).value)
    return lambda libc, path: int(libc.truncate(path, length))


_CHANGES: dict[str, Callable[[Call], CallEffect]] = {
    "chmod": lambda call: CallEffect(_named(call), _mode(call, 1)),
    "fchmod": lambda call: CallEffect(CallTarget(call.signed(0)), _mode(call, 1)),
    "fchmodat": lambda call: CallEffect(_named(call, place=call.signed(0), path=1), _mode(call, 2)),
    "fchmodat2": lambda call: CallEffect(
        _named(call, place=call.signed(0), path=1, flags=call.signed(3)),
        _mode(call, 2),
    ),
    "chown": lambda call: CallEffect(_named(call), _owner(call, 1)),
    "lchown": lambda call: CallEffect(_named(call, flags=NO_FOLLOW), _owner(call, 1)),
    "fchown": lambda call: CallEffect(CallTarget(call.signed(0)), _owner(call, 1)),
    "fchownat": lambda call: CallEffect(
        _named(call, place=call.signed(0), path=1, flags=call.signed(4)),
        _owner(call, 2),
    ),
    "utime": lambda call: CallEffect(_named(call), _times(call, 1, "utimbuf")),
    "utimes": lambda call: CallEffect(_named(call), _times(call, 1, "timeval")),
    "futimesat": lambda call: CallEffect(_at_or_open(call), _times(call, 2, "timeval")),
    "utimensat": lambda call: CallEffect(_at_or_open(call, call.signed(3)), _times(call, 2, "timespec")),
    "truncate": lambda call: CallEffect(_named(call), _length(call)),
}
