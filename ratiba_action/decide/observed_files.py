"""What the base's recordings say that scenarios read and send to models: a change to it is never milder than that."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from ratiba_action.model.change import Mode, Reason
from ratiba_action.model.reads import FileReaders, ReadMap, Reads, above_of, folded

_SHOWN, _MAX_LISTED, _MAX_NAMED = 40, 200, 8
RULE = "observed"


class ObservedFiles:
    """Says what the system was seen to do with a file. Without observations it says nothing.

    Args:
        observations: of the base's scenarios, by id.
        problems: recordings whose first line is broken; they count as without one.
    """

    def __init__(self, observations: Mapping[str, Reads] | None = None, problems: Iterable[str] = ()) -> None:
        self.problems = tuple(problems)
        self.by_scenario = dict(sorted((observations or {}).items()))
        self._sent: dict[str, list[tuple[str, str]]] = {}
        self._read: dict[str, str] = {}
        self._above: dict[str, str] = {}
        self._whole_above: dict[str, str | None] = {}
        for name, observation in self.by_scenario.items():
            for path, turn in observation.sent.items():
                self._sent.setdefault(path, []).append((name, turn))
        for name, observation in reversed(self.by_scenario.items()):  # the first one that reads a file is named
            self._read |= dict.fromkeys((*observation.files, *observation.sent), name)
        whole = [path for path in self._read if path.endswith("/")]
        self._whole = {path.removeprefix("./").rstrip("/"): self._read.pop(path) for path in whole}
        for path in (*self._read, *self._whole):
            for folder in above_of(path):
                if folder in self._above:
                    break
                self._above[folder] = path
        self._folders_sent = {folder: path for path in self._sent for folder in above_of(path)}

    def __bool__(self) -> bool:
        return bool(self._read or self._whole)

    def of(self, scenario: str) -> Reads | None:
        """What was seen of one scenario; None where nothing was."""
        return self.by_scenario.get(scenario)

    def read_map(self, paths: Iterable[str] = ()) -> ReadMap:
        """Which scenarios read which files, and what of the given ones nothing reads.

        Args:
            paths: of the system's files; those that are read, too.
        """
        readers: dict[str, list[str]] = {}
        for name, observation in self.by_scenario.items():
            for path in dict.fromkeys((*observation.files, *observation.sent)):
                readers.setdefault(path, []).append(name)
        listed = tuple(
            FileReaders(path, path in self._sent, tuple(names[:_MAX_NAMED]), max(0, len(names) - _MAX_NAMED))
            for path, names in sorted(readers.items())[:_MAX_LISTED]
        )
        every = tuple(paths)
        unread = folded((path for path in every if not self._is_read(path)), every)
        more = max(0, len(unread) - _MAX_LISTED)
        return ReadMap(listed, max(0, len(readers) - _MAX_LISTED), unread[:_MAX_LISTED], more)

    def _is_read(self, path: str) -> bool:
        return path in self._read or any(folder in self._whole for folder in above_of(path))

    def described(self) -> Iterator[str]:
        """A line for each file that is read, with the scenarios that read it; none without observations."""
        found = self.read_map()
        yield from ["What scenarios read, and of which a model is sent a text (*):"] if found.files else []
        for file in found.files:
            more = f" and {file.more} more" if file.more else ""
            yield f"- {file.path}{'*' if file.sent else ''}: {', '.join(file.scenarios)}{more}"
        if found.more_files:
            yield f"and {found.more_files} more files"

    def why(
        self, path: str, name: str, *, is_new: Callable[[str], bool], may_change_text: Callable[[str], bool]
    ) -> Reason | None:
        """Why a changed file is a prompt or is read; None for one that no scenario was seen to read.

        Args:
            name: the same, or another name of it that a symbolic link gives it.
            is_new: whether the base has no such file.
            may_change_text: whether the change to a file may change a text of it that is sent.
        """
        if name in self._sent and may_change_text(path):
            return Reason(path, RULE, Mode.BLOCKING, f"its text reached the model in {_where(self._sent[name])}")
        # What was a folder of files that are read, or a repository of its own that holds them.
        inside = self._folders_sent.get(name)
        if inside is not None:
            why = f"a text below it reached the model in {_where(self._sent[inside])}"
            return Reason(path, RULE, Mode.BLOCKING, why)
        folder = self._in_folder(name.rpartition("/")[0]) if self._whole and name else None
        if folder is not None and name not in self._sent:
            return self._in_whole(path, folder, is_new)
        if scenario := self._read.get(name) or self._scenario_above(name):
            return Reason(path, RULE, Mode.ADVISORY, f"the system reads it in `{scenario}`")
        return None

    def _in_folder(self, parent: str) -> str | None:
        """The nearest folder, from this one upwards, of which everything is read."""
        if parent not in self._whole_above:
            each = (folder for folder in (parent, *above_of(parent)) if folder in self._whole)
            self._whole_above[parent] = next(each, None)
        return self._whole_above[parent]

    def _in_whole(self, path: str, folder: str, is_new: Callable[[str], bool]) -> Reason:
        sent = self._folders_sent.get(folder)
        if sent is not None and is_new(path):
            why = f"it is new in {folder or '.'}/, of which a text reached the model in {_where(self._sent[sent])}"
            return Reason(path, RULE, Mode.BLOCKING, why)
        why = f"the system reads all of {folder or '.'}/ in `{self._whole[folder]}`"
        return Reason(path, RULE, Mode.ADVISORY, why)

    def _scenario_above(self, name: str) -> str | None:
        """The scenario that reads something below what was a folder."""
        path = self._above.get(name)
        return self._whole.get(name) if path is None else self._read.get(path) or self._whole[path]


def _where(sent: list[tuple[str, str]]) -> str:
    scenario, turn = sent[0]
    when = "before the first turn" if turn == "start" else turn[:_SHOWN]
    others = len(sent) - 1
    more = f" and {others} more scenario{'s' if others > 1 else ''}" if others else ""
    return f"`{scenario}`, {when}{more}"
