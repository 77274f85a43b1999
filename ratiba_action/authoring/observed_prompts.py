"""What the names of files do not say and recordings do: prompts in code, and documents that a system reads."""

import ast
import glob
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ratiba_action.config.configuration import Configuration
from ratiba_action.decide.plain_yaml import Node, YamlDoubt, read_yaml_or_doubt
from ratiba_action.decide.protection import Protection
from ratiba_action.decide.rules import default_rules, parse_rules
from ratiba_action.decide.selection import decide_mode
from ratiba_action.decide.system_paths import read_system_paths, read_touches
from ratiba_action.errors import ConfigurationError
from ratiba_action.model.change import ChangedFiles, Mode, Rule
from ratiba_action.model.reads import Reads
from ratiba_action.settings.settings import Settings
from ratiba_action.util.folder_tree import paths_below
from ratiba_action.util.locked_folder import read_plain_file

_MIN_WORDS = 4
_LARGEST = 500_000


@dataclass(frozen=True, slots=True)
class ObservedPrompt:
    """A file that no rule calls a prompt, and of which a text reached a model, or that a scenario reads.

    Args:
        line: of the text; 0 where it is not known which.
        mode: what a change of the file asks for by its name.
        place: scenario and turn of the first request with a text of it; of one that is only read, the scenario.
        sent: whether a text of it reached a model.
        constant: the name of its only text of several words; empty where there are others.
    """

    path: str
    line: int
    mode: Mode
    place: str
    sent: bool
    constant: str = ""

    def __str__(self) -> str:
        if not self.sent:
            return f"is read in {self.place}, and by its path it is documentation: no change of it is skipped"
        what = f"its constant `{self.constant}`" if self.constant else "its text"
        other = "other documentation is skipped" if self.mode is Mode.SKIP else "other code is advisory"
        return f"{what} reaches a model in {self.place}, so a change of it blocks, although {other}; nothing to do"


def observed_prompts(observed: Mapping[str, Reads], repository: Path, settings: Settings) -> tuple[ObservedPrompt, ...]:
    """Prompts in code, and what is sent or read of documentation, in order of their paths.

    Args:
        observed: what recordings say, by scenario.
        settings: paths of the files, and rules.
    """
    rules = _rules(settings)
    floors = _floors(repository, settings.config, read_system_paths)
    below = paths_below(repository / settings.scenarios)
    files = [path.relative_to(repository).as_posix() for path in below if path.suffix in (".yaml", ".yml")]
    touched = tuple(floor for file in files for floor in _floors(repository, file, read_touches))
    protection = Protection(settings.config, settings.scenarios)
    sent: dict[str, str] = {}
    read: dict[str, str] = {}
    for name, reads in sorted(observed.items()):
        for path, turn in reads.sent.items():
            sent.setdefault(path, f"`{name}`, {turn}")
        for path in reads.files:
            read.setdefault(path, f"`{name}`")
    found = []
    for path in sorted(sent.keys() | read.keys()):
        content = _content(repository, path)
        if content is None:
            continue  # a folder, or gone since it was recorded
        named = floors if path in sent else (*floors, *touched)
        mode = _mode_by_name(path, content, rules, protection, named)
        if path in sent and mode is not Mode.BLOCKING:
            constant, line = only_text(content) if path.endswith(".py") else ("", 0)
            found.append(ObservedPrompt(path, line, mode, sent[path], sent=True, constant=constant))
        elif path not in sent and mode is Mode.SKIP:
            found.append(ObservedPrompt(path, 0, mode, read[path], sent=False))
    return tuple(found)


def _mode_by_name(
    path: str, content: bytes, rules: Sequence[Rule], protection: Protection, floors: Sequence[Rule]
) -> Mode:
    def read(_: str, name: str) -> bytes | None:
        return content if name == path else None

    return decide_mode(ChangedFiles((path,)), rules, reader=read, protection=protection, floors=floors).mode


def _rules(settings: Settings) -> tuple[Rule, ...]:
    try:
        return parse_rules(settings.rules) if settings.rules and not settings.rules.startswith("@") else default_rules()
    except ConfigurationError:  # the gate refuses them
        return default_rules()


def _floors(repository: Path, file: str, read: Callable[[Node], tuple[Rule, ...]]) -> tuple[Rule, ...]:
    try:
        return read(read_yaml_or_doubt(file, read_plain_file(repository, file)))
    except (OSError, YamlDoubt):  # said elsewhere
        return ()


def _content(repository: Path, path: str) -> bytes | None:
    try:
        return None if path.endswith("/") else read_plain_file(repository, path, _LARGEST)
    except OSError:
        return None


def only_text(source: bytes) -> tuple[str, int]:
    """Name and line of the assignment that holds every text of several words; empty and 0 where none does."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "", 0
    owners = {
        id(inner): node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for inner in ast.walk(node)
    }
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
        and len(node.value.split()) >= _MIN_WORDS
    ]  # fmt: skip
    found = {id(owners.get(id(node))): owners.get(id(node)) for node in texts}
    owner = next(iter(found.values()), None) if len(found) == 1 else None
    if owner is None:
        return "", 0
    target = owner.targets[0] if isinstance(owner, ast.Assign) else owner.target
    return (target.id, owner.lineno) if isinstance(target, ast.Name) else ("", 0)


def proposed_steps(
    found: Iterable[ObservedPrompt], observed: Mapping[str, Reads], configuration: Configuration, config: str
) -> Iterator[str]:
    """What to add to the files, so that a change is decided alike where nothing was recorded yet."""
    root = configuration.system.root
    below = "" if root in ("", ".") else f"{root.removeprefix('./').rstrip('/')}/"
    patterns: dict[str, list[ObservedPrompt]] = {}
    for prompt in found:
        if prompt.sent and prompt.path.startswith(below):
            patterns.setdefault(_pattern(prompt, below), []).append(prompt)
        elif not prompt.sent:
            names = ", ".join(name for name, reads in sorted(observed.items()) if reads.covers(prompt.path))
            yield f"Add `touches: [{prompt.path}]` to {names}: the system reads this document."
    if not patterns:
        return
    listed = ", ".join(map(_quoted, (*configuration.system.prompts, *patterns)))
    why = "; ".join(f"{pattern} sends {_sent(prompts[0])}" for pattern, prompts in patterns.items())
    then = "Then every change of such a file blocks, a comment too, also where nothing is recorded."
    yield f"In {config}, set `prompts: [{listed}]` in the block `system`: {why}. {then}"


def _quoted(pattern: str) -> str:
    return pattern if re.fullmatch(r"[\w./-]+", pattern) else json.dumps(pattern)


def _sent(prompt: ObservedPrompt) -> str:
    what = f"its constant `{prompt.constant}`" if prompt.constant else "a text of its own"
    return f"{what} to a model ({prompt.place})"


def _pattern(prompt: ObservedPrompt, below: str) -> str:
    """Documents of one kind in one folder are one pattern."""
    path = PurePosixPath(prompt.path.removeprefix(below))
    if prompt.mode is Mode.SKIP and len(path.parts) > 1:
        return f"{glob.escape(str(path.parent))}/*{path.suffix}"
    return glob.escape(str(path))
