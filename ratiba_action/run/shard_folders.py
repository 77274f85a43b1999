"""The report folders of shards, read as what somebody else may have written, by a second process where that is much."""

import contextlib
import errno
import gc
import io
import json
import os
import pickle
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Self, TextIO, TypeVar, TypeVarTuple

from ratiba_action.errors import ConfigurationError, UsageError
from ratiba_action.model.codec import field_names
from ratiba_action.model.event import LoggedEvent
from ratiba_action.model.verdict import Report, ShardReport
from ratiba_action.money.pricing import is_exact_usd, show_usd
from ratiba_action.observability.event_file import FILE
from ratiba_action.observability.event_lines import event_line, read_events
from ratiba_action.observability.event_masking import EventMask, mask_for
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.results_file import RESULTS
from ratiba_action.reporting.results_json import read_results, results_in_folder
from ratiba_action.settings.input_values import MAX_SHARDS

_Given = TypeVarTuple("_Given")
_T = TypeVar("_T")

MAX_FOLDERS = 2_000
"""Reports that are merged at most: several attempts of 256 shards."""
_NAMED = 5
_MAX_EVENT_BYTES = 64 << 20
"""Of the events of one shard."""
_MUCH = 8 << 20
"""Bytes of all reports together, read and masked in 0.7 s; a second process takes 0.2 s to start."""
SECONDS = 300.0
"""For an answer of a second process: the largest report takes some seconds, all events of a run some minutes."""
_ENDING = 5.0
"""Seconds for a second process that was killed to be gone."""
_MORE_SHARDS = "Divide the suite among more shards: a report of fewer scenarios is smaller. Then run all of them again."


@dataclass(frozen=True, slots=True, eq=False)
class FoundShard:
    """One folder that is to be merged.

    Args:
        report: None where it cannot be used.
        problem: why it cannot; empty where it can.
        remedy: what ends this, where to run the shard again would not.
    """

    place: str
    report: Report | None
    problem: str = ""
    remedy: str = ""

    @property
    def of(self) -> ShardReport:
        """What the report says of its shard.

        Raises:
            ValueError: there is no report.
        """
        if self.report is None or self.report.shard is None:
            raise ValueError(f"{self.place!r} is no report of a shard")
        return self.report.shard

    @property
    def whole(self) -> Report:
        """The report.

        Raises:
            ValueError: there is none.
        """
        if self.report is None:
            raise ValueError(f"{self.place!r} has no report")
        return self.report

    @property
    def name(self) -> str:
        """The shard in words."""
        return f"shard {self.of.shard}"


def report_folders(named: Iterable[str]) -> tuple[Path, ...]:
    """The report folder of each shard.

    Args:
        named: report folders, or folders with report folders directly in them; written by somebody who is not trusted.

    Raises:
        UsageError: there are more than any run has.
    """
    found: list[Path] = []
    for folder in map(Path, named):
        below: Sequence[Path] = ()
        with contextlib.suppress(OSError):  # whoever reads it says what is wrong
            below = _folders_in(folder) if folder.is_dir() and not results_in_folder(folder).exists() else ()
        found += below or (folder,)
        if len(found) > MAX_FOLDERS:
            raise UsageError(f"There are more than {MAX_FOLDERS:,} reports.", "Merge those of one run.")
    return tuple(found)


def _folders_in(folder: Path) -> Sequence[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())[: MAX_FOLDERS + 1]


def read_shard(folder: Path) -> FoundShard:
    """The report of a shard; one that cannot be read is a problem, and ends nothing."""
    place = str(folder)
    try:
        report = read_results(results_in_folder(folder), exact=True)
    except ConfigurationError as error:
        too_large = isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EFBIG
        problem = error.problem if folder.is_dir() else "there is no such folder."
        return FoundShard(place, None, problem, _MORE_SHARDS if too_large else "")
    except Exception as error:  # noqa: BLE001 - whatever somebody wrote into it, a file ends no run
        return FoundShard(place, None, f"{RESULTS} could not be read: {type(error).__name__}.")
    problem = (
        f"{RESULTS} is of a whole run, not of a shard." if report.shard is None else _impossible_shard(report.shard)
    )
    return FoundShard(place, None if problem else report, problem)


def _impossible_shard(shard: ShardReport) -> str:
    """What no shard of any run says of itself; empty where there is nothing of that kind."""
    if shard.shard.count > MAX_SHARDS:
        return f"it is of {shard.shard.count:,} shards, more than {MAX_SHARDS}."
    if shard.attempt < 1:
        return f"it is of attempt {shard.attempt}."
    if not all(1 <= attempt < shard.attempt for attempt in shard.resumed):
        return f"it is of attempt {shard.attempt}, and goes on with attempts {list(shard.resumed)[:_NAMED]}."
    amounts = [shard.carried, *(amount for call in shard.calls for amount in (call.cost, call.list_price))]
    if not all(map(is_exact_usd, amounts)):
        return f"{RESULTS} has an amount with more than 12 digits after the point."
    if shard.carried > sum(call.cost for call in shard.calls):
        return f"{RESULTS} says that {show_usd(shard.carried)} came from earlier attempts, more than its calls cost."
    return ""


class ShardFolders:
    """The report folders of the shards of one run; their reading begins at once.

    A second process of this program reads large reports while this one reads the suite, and masks their events while
    this one decides: one interpreter makes use of one processor only.

    Args:
        folders: ``report_folders``.
        seconds: without an answer after which the second process is taken for lost.
    """

    def __init__(self, folders: Sequence[Path], seconds: float = SECONDS) -> None:
        self._events: BinaryIO | None = None
        self._problem = ""
        self._beside: _SideProcess | None = None
        try:
            self._events = tempfile.TemporaryFile()  # noqa: SIM115 - closed when this is left
        except OSError as error:
            self._problem = _no_room(error)
        if sum(map(_size, folders)) >= _MUCH:
            with contextlib.suppress(OSError):
                self._beside = _SideProcess([] if self._events is None else [self._events.fileno()], seconds)
        self._reports = [self._begin(read_shard, folder) for folder in folders]
        self._places: Sequence[str] = ()
        self._masked: Callable[[], tuple[str, ...]] = tuple

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._events is not None:
            self._events.close()
        if self._beside is not None:
            self._beside.close()

    def read(self) -> tuple[FoundShard, ...]:
        """The report of each shard. Waits until all are read; to be called once."""
        found = tuple(report() for report in self._reports)
        self._places = [shard.place for shard in found if shard.report is not None]
        return found

    def begin_events(self, redactor: Redactor, customers: Mapping[str, str]) -> None:
        """Begin to mask the events of the shards whose reports could be read.

        Args:
            customers: full name of the customer by scenario.
        """
        if self._events is not None:
            work = self._events.fileno(), self._places, redactor, customers
            self._masked = self._begin(write_masked_events, *work)

    def add_events(self, path: Path) -> tuple[str, ...]:
        """Add the masked events to a file; each stays an event of its own run.

        Returns:
            What could not be read or written, in words.
        """
        if not self._places:
            return ()
        if self._events is None:
            return (self._problem,)
        problems = self._masked()
        self._events.seek(0)
        try:
            with path.open("ab") as file:
                shutil.copyfileobj(self._events, file)
        except OSError as error:
            cause = error.strerror or error
            problems += (f"Not all events of the shards could be added to {str(path)!r}: {cause}.",)
        return problems

    def _begin(self, work: Callable[[*_Given], _T], *given: *_Given) -> Callable[[], _T]:
        if self._beside is None:
            return partial(work, *given)
        return self._beside.begin(work, *given)


def _size(folder: Path) -> int:
    size = 0
    with contextlib.suppress(OSError):  # whoever reads it says what is wrong
        size += results_in_folder(folder).lstat().st_size
        size += (folder / FILE).lstat().st_size
    return size


def write_masked_events(
    target: int, folders: Sequence[str], redactor: Redactor, customers: Mapping[str, str]
) -> tuple[str, ...]:
    """Write the events of shards without any secret or identifier.

    Args:
        target: descriptor of a file; what is in it is replaced.
        folders: report folders, written by somebody who is not trusted.
        customers: full name of the customer by scenario.

    Returns:
        What could not be read or written, in words.
    """
    mask = mask_for(redactor, customers)
    problems: list[str] = []
    whole = 0
    try:
        with open(target, "w", encoding="ascii", closefd=False) as file:
            file.seek(0)
            file.truncate()
            for name in folders:
                problems += _write_masked(file, Path(name) / FILE, mask)
                file.flush()
                whole = os.lseek(target, 0, os.SEEK_CUR)
    except OSError as error:
        problems.append(_no_room(error))
        os.ftruncate(target, whole)  # no line is left torn
    return tuple(problems)


def _write_masked(file: TextIO, source: Path, mask: EventMask) -> Iterator[str]:
    """Write the events of one shard; yields what is wrong with them."""
    try:
        found = source.stat(follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX_EVENT_BYTES:
            yield (
                f"The events {str(source)!r} were not added: they are no file of at most {_MAX_EVENT_BYTES:,} bytes."
            )
            return
        events = read_events(source).events
    except (OSError, ConfigurationError) as error:
        cause = error.strerror if isinstance(error, OSError) and error.strerror else error
        yield f"The events {str(source)!r} could not be added: {cause}"
        return
    file.writelines(
        f"{event_line(LoggedEvent(each.run, each.sequence, each.at, mask.event(each.event)))}\n" for each in events
    )


def _no_room(error: OSError) -> str:
    cause = error.strerror or error
    return f"Not all events of the shards could be added: the folder for temporary files cannot be used: {cause}."


_START = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from ratiba_action.settings.environment import protect_process
protect_process()
from ratiba_action.run.shard_folders import serve
serve()
"""


class _SideProcess:
    """A process that does pieces of work in the order in which they were begun.

    It is protected as this one is before it is sent a secret, gets no signal of a terminal, and ends when this one
    does. What fails there, or is lost with it, is done again here, where errors are handled.

    Args:
        files: descriptors that its work uses.
        seconds: without an answer after which it is taken for lost.
    """

    def __init__(self, files: Sequence[int], seconds: float) -> None:
        # Not pipes: others of the same user can open those of a process under /proc while it starts, but no socket.
        near, far = socket.socketpair()
        with far:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-c", _START, json.dumps(sys.path)],
                    stdin=far.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={"LC_ALL": "C.UTF-8"},
                    pass_fds=files,
                    process_group=0,
                )
            except OSError:
                near.close()
                raise
        near.settimeout(seconds)
        self._requests, self._answers = near.makefile("wb"), near.makefile("rb")
        near.close()
        self._lost = False

    def begin(self, work: Callable[[*_Given], _T], *given: *_Given) -> Callable[[], _T]:
        """Begin a piece of work; what it needs and returns can be pickled.

        Returns:
            What waits for its answer: to be called once, in the order of the pieces.
        """
        with self._losing():
            pickle.dump((work, given), self._requests)
            self._requests.flush()

        def answer() -> _T:
            if not self._lost:
                with self._losing():
                    done, found = pickle.load(self._answers)  # noqa: S301 - written by our own code
                    if done:
                        return found  # type: ignore[no-any-return]
            return work(*given)

        return answer

    @contextlib.contextmanager
    def _losing(self) -> Iterator[None]:
        """Within, what shows that the process is lost ends it: none of its answers can be trusted to be the next."""
        try:
            yield
        except (OSError, EOFError, pickle.UnpicklingError):
            self._lost = True
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_ENDING)  # it may still write to the files of its work

    def close(self) -> None:
        """End it; what it has not answered is lost."""
        self._process.kill()
        self._process.wait()
        for stream in (self._requests, self._answers):
            with contextlib.suppress(OSError):
                stream.close()


class _Pickler(pickle.Pickler):
    """Has dataclasses made of their fields again, which takes half the time of what they do themselves."""

    def reducer_override(self, value: Any) -> Any:
        """How a value is made again; see ``pickle``."""
        kind: Any = type(value)
        names = field_names(kind)
        return (kind, tuple(getattr(value, name) for name in names)) if names else NotImplemented


def _pickled(value: Any) -> bytes:
    written = io.BytesIO()
    _Pickler(written, pickle.HIGHEST_PROTOCOL).dump(value)
    return written.getvalue()


def serve() -> None:
    """Be the second process: answer what standard input asks for until it ends."""
    gc.disable()  # nearly all that it makes lives until it is asked for
    requests, answers = os.fdopen(0, "rb"), os.fdopen(os.dup(0), "wb")

    def write(answer: bytes) -> None:
        answers.write(answer)
        answers.flush()

    def work(piece: Callable[..., Any], given: Sequence[Any]) -> None:
        try:
            answer = _pickled((True, piece(*given)))
        except Exception:  # noqa: BLE001 - it is done again where errors are handled
            answer = _pickled((False, None))
        writer.submit(write, answer)

    # The requests are read, and the answers written, while it works: neither side waits for the other.
    with ThreadPoolExecutor(1) as worker, ThreadPoolExecutor(1) as writer:
        try:
            while True:
                worker.submit(work, *pickle.load(requests))  # noqa: S301 - written by our own code
        finally:
            os._exit(0)  # whatever is left to do: nobody waits for it
