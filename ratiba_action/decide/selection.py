"""Which mode a change asks for."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ratiba_action.decide.dependencies.files import DependencyFileKind, FileChange, KindTable, blocks, compare_file
from ratiba_action.decide.observed_files import ObservedFiles
from ratiba_action.decide.plain_yaml import Node, YamlDoubt, read_yaml_or_doubt
from ratiba_action.decide.protection import Guard, Protection, Reader
from ratiba_action.decide.rules import RuleBook
from ratiba_action.errors import GitError, InfrastructureError
from ratiba_action.model.change import (
    NAMED_BY_SYSTEM,
    ChangedFiles,
    DependencyChange,
    Mode,
    ModeDecision,
    Reason,
    Rule,
)
from ratiba_action.util.gitignore import PatternList
from ratiba_action.util.links import Links

_KINDS = re.compile(
    r".+\.(?:md|markdown|rst|adoc|asciidoc|txt|html?|css|svg|png|jpe?g|gif|webp|avif|ico|bmp|pdf|cff|puml|drawio|mmd"
    r"|woff2?|ttf|otf|mp4|webm)"
    r"|(?:licen[cs]e|copying|notice|authors|contributors|copyright|codeowners|readme|changelog|history)"
    r"(?:-[a-z0-9]+(?:-[0-9.]+)?)?",
    re.IGNORECASE | re.DOTALL,
)


def why_code(path: str, *, executable: bool, content: bytes | None) -> str | None:
    """Why a file is no documentation, None when it is.

    Args:
        executable: its mode says that it may be run.
        content: its beginning, None when it is not there.
    """
    name = path.rpartition("/")[2]
    if not _KINDS.fullmatch(name):
        return "its name is not that of a document"
    if executable:
        return "it is executable"
    if content is not None and content.startswith(b"#!"):
        return "it begins with the line of a script ('#!')"
    return None


_ITEM = re.compile(r"[A-Za-z0-9@][A-Za-z0-9@/._-]*")


def read_narrowing(configuration: Node) -> frozenset[str] | None:
    """The packages that the block ``dependencies`` names; None when there is no such block.

    Raises:
        YamlDoubt: the block holds anything but names, so that it narrows nothing.
    """
    block = configuration.entries().get("dependencies")
    if block is None:
        return None
    names = block.texts() if isinstance(block.value, list) else []
    for name in names:
        if not _ITEM.fullmatch(name):
            raise block.doubt(f"{name!r} in 'dependencies' is not the name of a package")
    if not names:
        raise block.doubt("'dependencies' is no list with the names of packages")
    return frozenset(re.sub(r"[-_.]+", "-", name).lower() for name in names)


def counts(package: str, narrowing: frozenset[str] | None) -> bool:
    """Whether a package's bumps count; every package does where nothing is narrowed."""
    return narrowing is None or re.sub(r"[-_.]+", "-", package).lower() in narrowing


_NO_RULE = "no rule"
_MAX_COMPARED = 100
"""Files with texts for models that are looked into; a change to more of them is one of prompts."""


def decide_mode(
    changed: ChangedFiles,
    rules: Sequence[Rule],
    *,
    reader: Reader,
    protection: Protection,
    links: Links | None = None,
    floors: Sequence[Rule] = (),
    floor: Mode | None = None,
    floor_why: str = "",
    doubts: Sequence[str] = (),
    observed: ObservedFiles | None = None,
) -> ModeDecision:
    """The strictest mode that any changed file asks for, with a reason for each file.

    Args:
        rules: the rules that hold, in order.
        reader: contents of files at base and head.
        protection: files that decide about the gate itself.
        links: of base and head; None for none.
        floors: what files ask for at least, whatever the rules say of them.
        floor: the mode never falls below it.
        floor_why: what asked for it; empty for the mode input.
        doubts: why something about the decision is uncertain; each makes it blocking.
        observed: what the base's scenarios were seen to read; None for nothing.
    """
    observed = ObservedFiles() if observed is None else observed
    collected = _PathReasons(rules, reader, protection, links or Links(), floors=floors, observed=observed)
    reasons = [Reason("", "doubt", Mode.BLOCKING, why) for why in (*doubts, *filter(None, [changed.doubt]))]
    reasons += collected.of_broken_links(changed.paths)
    reasons += [reason for path in dict.fromkeys(changed.paths) for reason in collected.of(path)]
    if not changed.paths and not reasons:
        reasons.append(Reason("", "nothing changed", Mode.SKIP, "no file differs from the base"))
    reasons += [Reason("", "dependencies", Mode.ADVISORY, note) for note in collected.notes]
    # Without an observation a file is what the rules say, as in a repository that has none.
    reasons += [Reason("", "observed", Mode.SKIP, problem) for problem in observed.problems]
    if floor is not None:
        reasons.append(Reason("", "mode", floor, floor_why or f"the mode input asks for at least {floor}"))
    ordered = [reason for mode in reversed(Mode) for reason in reasons if reason.mode is mode]
    return ModeDecision(ordered[0].mode, tuple(ordered), tuple(collected.dependencies))


class _Floors:
    """What files ask for at least; a pattern that cannot be read must not hide its files."""

    def __init__(self, floors: Sequence[Rule]) -> None:
        self._floors: list[tuple[Rule, PatternList | None]] = []
        for rule in floors:
            try:
                self._floors.append((rule, PatternList([rule.pattern])))
            except ValueError:
                self._floors.append((rule, None))

    def of(self, path: str, name: str) -> list[Reason]:
        return [
            Reason(path, "named", rule.mode, f"{rule.why or NAMED_BY_SYSTEM} ({rule.pattern})")
            for rule, patterns in self._floors
            if patterns is None or patterns.match(name)
        ]


class _PathReasons:
    """Says why one file after another asks for its mode; collects the dependency changes on its way."""

    def __init__(
        self,
        rules: Sequence[Rule],
        reader: Reader,
        protection: Protection,
        links: Links,
        *,
        floors: Sequence[Rule],
        observed: ObservedFiles,
    ) -> None:
        self._rules = RuleBook(rules)
        self._reader = reader
        self._guard = Guard(protection, reader)
        self._links = links
        self._floors = _Floors(floors)
        self._observed = observed
        self._compared = 0
        self._kinds = KindTable()
        self._config = protection.config
        self._narrowing: list[frozenset[str] | None] = []
        self.dependencies: list[DependencyChange] = []
        self.notes: list[str] = []

    def of(self, path: str) -> list[Reason]:
        """Why this file asks for what; the strictest of them is the file's mode."""
        reasons = self._of_name(path, path)
        try:
            others = self._links.names(path)
        except ValueError as error:
            return [*reasons, Reason(path, "doubt", Mode.BLOCKING, str(error))]
        if not others:
            return reasons
        strictest = max(reason.mode.rank for reason in reasons)
        for name in others:
            found = self._of_name(path, name)
            what = f"as {name.removesuffix('/.')}, through a symbolic link"
            # A file that no rule knows under another name is known by its own.
            reasons += [
                replace(reason, why=f"{reason.why} {what}")
                for reason in found
                if reason.mode.rank > strictest and reason.rule != _NO_RULE
            ]
        return reasons

    def _of_name(self, path: str, name: str) -> list[Reason]:
        """What rules and floors say of a file under one of its names, and what was observed where that is stricter."""
        reasons = [*self._under(name, path), *self._floors.of(path, name)]
        strictest = max([reason.mode.rank for reason in reasons])
        if strictest == Mode.BLOCKING.rank or not self._observed:
            return reasons
        seen = self._observed.why(path, name, is_new=self._is_new, may_change_text=self._may_change_text)
        return [*reasons, seen] if seen is not None and seen.mode.rank > strictest else reasons

    def _is_new(self, path: str) -> bool:
        try:
            return self._reader("base", path) is None
        except InfrastructureError:
            return True

    def _may_change_text(self, path: str) -> bool:
        from ratiba_action.decide.sent_texts import may_change_sent_text

        self._compared += 1
        if self._compared > _MAX_COMPARED:
            return True
        try:
            return may_change_sent_text(path, self._reader("base", path), self._reader("head", path))
        except InfrastructureError:
            return True

    def of_broken_links(self, changed: Iterable[str]) -> Iterable[Reason]:
        """A changed link that leads nowhere in the repository, and a prompt that does, cannot be followed."""
        paths = set(changed)
        for link, why in self._links.broken.items():
            named = link in paths
            if named or any(self._is_blocking(name) for name in (link, f"{link}/.")):
                why_unknown = f"the symbolic link {link!r} {why}, so it is not known what changed behind it"
                yield Reason(link if named else "", "doubt", Mode.BLOCKING, why_unknown)

    def _is_blocking(self, name: str) -> bool:
        rule = self._rules.rule_for(name)
        modes = [rule.mode] if rule is not None else []
        return Mode.BLOCKING in [*modes, *(reason.mode for reason in self._floors.of(name, name))]

    def _under(self, name: str, path: str) -> list[Reason]:
        """Why a file asks for what under one of its names."""
        protected = self._guard.why(name)
        kind = self._kinds.kind_of(name)
        reasons = [Reason(path, "protected", Mode.BLOCKING, f"{protected} changed")] if protected else []
        ruled = self._by_rule(name, path)
        if kind is None:
            return reasons or [ruled or _unmatched(path)]
        change = self._compare(kind, path)
        reasons += self._by_dependencies(kind, path, change)
        if ruled is not None:
            reasons.append(ruled)
        elif change.rest and not protected:
            reasons.append(_unmatched(path))
        return reasons

    def _by_rule(self, name: str, path: str) -> Reason | None:
        rule = self._rules.rule_for(name)
        if rule is None:
            return None
        if rule.built_in and self._links.submodule(path):
            doubt = "it is a submodule, and what changed in it is not known; a rule of your own may name it"
            return Reason(path, "doubt", Mode.BLOCKING, doubt)
        if not (rule.built_in and rule.mode is Mode.SKIP):
            return Reason(path, rule.pattern, rule.mode, f"matches the rule '{rule.mode} {rule.pattern}'")
        why = self._why_code(path)
        if why is None:
            return Reason(path, rule.pattern, rule.mode, f"matches the rule '{rule.mode} {rule.pattern}'")
        other = self._rules.rule_for(name, document=False)
        but = f"it is no documentation, as {why}"
        if other is None:
            return Reason(path, _NO_RULE, Mode.BLOCKING, f"no rule matches this file; {but}")
        return Reason(path, other.pattern, other.mode, f"matches the rule '{other.mode} {other.pattern}'; {but}")

    def _why_code(self, path: str) -> str | None:
        """Why a changed file is no documentation at one of its sides; None when it is at both."""
        executable = self._links.executable(path)
        for side in ("base", "head"):
            try:
                content = self._reader(side, path)
            except GitError:
                return "git could not read it"
            except InfrastructureError:
                content = None  # another side, or the file's name, must do
            why = why_code(path, executable=executable, content=content)
            if why is not None:
                return why
        return None

    def _compare(self, kind: DependencyFileKind, path: str) -> FileChange:
        try:
            before, after = self._reader("base", path), self._reader("head", path)
        except InfrastructureError as error:
            return FileChange(problem=f"it cannot be read: {error.problem}")
        return compare_file(kind, path, before, after)

    def _by_dependencies(self, kind: DependencyFileKind, path: str, change: FileChange) -> Iterable[Reason]:
        if change.problem:
            self.dependencies.append(DependencyChange("*", None, None, "unreadable", path))
            yield Reason(path, "dependencies", Mode.BLOCKING, change.problem)
        for dependency in change.changes:
            self.dependencies.append(dependency)
            counted = counts(dependency.package, self._narrowed())
            mode = Mode.BLOCKING if blocks(dependency, lock=kind.lock, counted=counted) else Mode.ADVISORY
            yield Reason(path, "dependencies", mode, _sentence(dependency, counted=counted))

    def _narrowed(self) -> frozenset[str] | None:
        """The packages that count by the configuration of the base; read once."""
        if not self._narrowing:
            self._narrowing.append(None)
            try:
                content = self._reader("base", self._config)
                if content is not None:
                    self._narrowing[0] = read_narrowing(read_yaml_or_doubt(self._config, content))
            except (InfrastructureError, YamlDoubt) as error:
                self.notes.append(f"every package counts, as {self._config!r} cannot narrow them: {error}")
        return self._narrowing[0]


def _unmatched(path: str) -> Reason:
    return Reason(path, _NO_RULE, Mode.BLOCKING, "no rule matches this file")


def _sentence(change: DependencyChange, *, counted: bool) -> str:
    versions = f"{change.before or 'nothing'} to {change.after or 'nothing'}"
    suffix = "" if counted else ", not one of the packages that count"
    return f"{change.package}: {change.change} change, {versions}{suffix}"
