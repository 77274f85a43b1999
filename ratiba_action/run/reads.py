"""What each scenario of the change reads, and which requests to models carried the text of a file."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ratiba_action.model.measurement import Scored
from ratiba_action.model.model_request import ModelRequest
from ratiba_action.model.note import Note
from ratiba_action.model.plan import BASE, Trial
from ratiba_action.model.reads import MAX_FILES, ReadMap, Reads, folded, turn_name
from ratiba_action.run.inputs import RunInputs
from ratiba_action.util.locked_folder import MAX_BYTES, read_plain_file
from ratiba_action.util.text import few

if TYPE_CHECKING:
    from ratiba_action.run.services import ArmServices, Measured

_MAX_CHARACTERS = 64 << 20
"""Of all texts that models were sent, and of all files that these are looked for in."""
_NAMED = 5


class ReadsOfRun:
    """Keeps what models are sent, until the run has ended; of all of it only names of files are reported."""

    def __init__(self) -> None:
        self._turns: dict[str, dict[str, int]] = {}
        self._messages: dict[str, list[str]] = {}
        self._room = _MAX_CHARACTERS

    def note_message(self, trial: Trial, message: str | None) -> None:
        """Note what the user says, before it is sent: it stands in no file of the system."""
        if message and message not in self._messages.get(trial.scenario.id, ()):
            self._messages.setdefault(trial.scenario.id, []).append(message)

    def sent(self, trial: Trial, turn: int, request: ModelRequest) -> None:
        """Note what a model is sent.

        Args:
            trial: what is sent in those of the base is passed over.
            turn: that goes on, from 1; 0 before the first one.
            request: as it came over the wire.
        """
        from ratiba_action.llm.text_sources import sent_texts

        scenario_id = trial.scenario.id
        if trial.arm.name == BASE:
            return
        for text in sent_texts(request.body, self._messages.get(scenario_id, ())):
            turns = self._turns.get(text)
            if turns is None:
                if len(text) > self._room:
                    continue
                self._room -= len(text)
                turns = self._turns[text] = {}
            turns[scenario_id] = min(turn, turns.get(scenario_id, turn))

    def observed(self, inputs: RunInputs, arm: "ArmServices | None") -> dict[str, Reads]:
        """What was observed of each scenario that ran; nothing where no file could be seen to be read.

        Args:
            arm: of the change; None where it was not started.
        """
        from ratiba_action.llm.text_sources import files_of

        system = getattr(arm.system, "reads", None) if arm is not None else None
        if system is None:  # what the gate does not start
            return {}
        system.look()
        root = inputs.repository / inputs.configuration.system.root
        prefix = system_prefix(inputs, root)
        read = {scenario.id: system.of(scenario.id) for scenario in inputs.selection.scenarios}
        if not any(read.values()):
            return {}
        # A module that nobody imports is read by the worker itself, which looks for libraries to import.
        early = {name for name in system.early if not name.endswith(".py")}
        names = {name for name in early.union(*read.values()) if not _is_own(inputs, prefix + name)}
        texts = tuple(self._turns)
        where = files_of(dict(_contents(root, sorted(names))), texts)
        everything = [prefix + name for name in system.files]
        found: dict[str, Reads] = {}
        for scenario_id, files in read.items():
            if not files:
                continue
            kept = folded((prefix + name for name in files if name in names), everything)
            turns = {name: _first(self._turns, texts, numbers, scenario_id) for name, numbers in where.items()}
            sent = {prefix + name: turn_name(turn) for name, turn in turns.items() if turn is not None}
            found[scenario_id] = Reads(kept[:MAX_FILES], dict(sorted(sent.items())[:MAX_FILES]))
        return found


def _first(
    known: Mapping[str, Mapping[str, int]], texts: Sequence[str], numbers: frozenset[int], scenario_id: str
) -> int | None:
    turns = [known[texts[number]][scenario_id] for number in numbers if scenario_id in known[texts[number]]]
    return min(turns, default=None)


def system_prefix(inputs: RunInputs, root: Path) -> str:
    """How the paths of the system's files begin in the repository."""
    git = inputs.decided.change.git
    top = (git.root if git is not None else inputs.repository).resolve()
    folder = root.resolve()
    below = folder.relative_to(top).as_posix() if folder.is_relative_to(top) else "."
    return "" if below == "." else f"{below}/"


def _is_own(inputs: RunInputs, path: str) -> bool:
    """Whether a file is the gate's and no system's: its configuration, scenarios and recordings."""
    settings = inputs.settings
    return path == settings.config or PurePosixPath(path).is_relative_to(settings.scenarios)


def _contents(root: Path, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    left = _MAX_CHARACTERS
    for name in names:
        with contextlib.suppress(OSError):  # larger than any text for people, or gone
            content = read_plain_file(root, name, min(left, MAX_BYTES))
            left -= len(content)
            yield name, content


def read_map(inputs: RunInputs) -> ReadMap | None:
    """Which files of the base its scenarios read, and which of the repository's none does; None where none is known."""
    decided = inputs.decided
    if not decided.observed:
        return None
    every = decided.links.paths if decided.links is not None else ()
    return decided.observed.read_map(path for path in every if not _is_own(inputs, path))


def notes_of_reads(inputs: RunInputs, measured: "Measured") -> tuple[str, ...]:
    """Where what the system reads is not what the recordings of the base say; one note, which no verdict depends on.

    Args:
        measured: what came of it; scenarios that did not run to their end say nothing.
    """
    ended = {result.trial.scenario.id for result in measured.own if isinstance(result, Scored)}
    recorded = inputs.decided.observed.by_scenario
    reads = {name: found for name, found in measured.reads.items() if name in ended & recorded.keys()}
    before, now = _joined(recorded[name] for name in reads), _joined(reads.values())
    parts = [
        ("reads ", [path for path in now.files if not before.covers(path)]),
        ("no longer reads ", [path for path in before.files if not now.covers(path) and not _has_below(now, path)]),
        ("now sends a model text of ", sorted(now.sent.keys() - before.sent.keys())),
        ("no longer sends a model text of ", sorted(before.sent.keys() - now.sent.keys())),
    ]
    text = "; ".join(f"{what}{few(paths, _NAMED)}" for what, paths in parts if paths)
    if not text:
        return ()
    message = f"Unlike the recordings of the base say, the system {text}."
    return (Note(message, "If that is right, run without any cost: ratiba record --reads"),)


def _joined(each: Iterable[Reads]) -> Reads:
    found = tuple(each)
    return Reads(
        tuple(sorted({path for reads in found for path in reads.files})),
        {path: turn for reads in found for path, turn in reads.sent.items()},
    )


def _has_below(reads: Reads, folder: str) -> bool:
    return folder.endswith("/") and any(path.startswith(folder) for path in reads.files)
