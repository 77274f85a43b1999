"""Which mode a change asks for."""

from collections.abc import Iterable, Sequence

from ratiba_action.core.dependencies.files import FileChange, Kind, KindTable, blocks, compare_file
from ratiba_action.core.dependencies.narrowing import counts, read_narrowing
from ratiba_action.core.gitignore import PatternList
from ratiba_action.core.model.change import ChangedFiles, DependencyChange, Mode, ModeDecision, Reason, Rule
from ratiba_action.core.protection import Guard, Protection, Reader
from ratiba_action.core.rules import RuleBook
from ratiba_action.errors import InfrastructureError


def decide_mode(
    changed: ChangedFiles,
    rules: Sequence[Rule],
    *,
    reader: Reader,
    protection: Protection,
    floors: Sequence[Rule] = (),
    floor: Mode | None = None,
    floor_why: str = "",
    doubts: Sequence[str] = (),
) -> ModeDecision:
    """The strictest mode that any changed file asks for, with a reason for each file.

    Args:
        changed: what the change touches.
        rules: the rules that hold, in order.
        reader: contents of files at base and head.
        protection: files that decide about the gate itself.
        floors: what files ask for at least, whatever the rules say of them.
        floor: the mode never falls below it.
        floor_why: what asked for it; empty for the mode input.
        doubts: why something about the decision is uncertain; each makes it blocking.
    """
    collected = _PathReasons(rules, reader, protection)
    reasons = [Reason("", "doubt", Mode.BLOCKING, why) for why in (*doubts, *filter(None, [changed.doubt]))]
    reasons += [reason for path in dict.fromkeys(changed.paths) for reason in collected.of(path)]
    reasons += _by_floors(changed.paths, floors)
    if not changed.paths and not reasons:
        reasons.append(Reason("", "nothing changed", Mode.SKIP, "no file differs from the base"))
    reasons += [Reason("", "dependencies", Mode.ADVISORY, note) for note in collected.notes]
    if floor is not None:
        reasons.append(Reason("", "mode", floor, floor_why or f"the mode input asks for at least {floor}"))
    ordered = [reason for mode in reversed(Mode) for reason in reasons if reason.mode is mode]
    return ModeDecision(ordered[0].mode, tuple(ordered), tuple(collected.dependencies))


def _by_floors(paths: Iterable[str], floors: Sequence[Rule]) -> Iterable[Reason]:
    for rule in floors:
        why = f"the system or a scenario names it ({rule.pattern})"
        try:
            patterns = PatternList([rule.pattern])
            named = [path for path in paths if patterns.match(path)]
        except ValueError:
            named = list(paths)  # a pattern that cannot be read must not hide its files
        yield from (Reason(path, "named", rule.mode, why) for path in named)


class _PathReasons:
    """Says why one file after another asks for its mode; collects the dependency changes on its way."""

    def __init__(self, rules: Sequence[Rule], reader: Reader, protection: Protection) -> None:
        self._rules = RuleBook(rules)
        self._reader = reader
        self._guard = Guard(protection, reader)
        self._kinds = KindTable()
        self._config = protection.config
        self._narrowing: list[frozenset[str] | None] = []
        self.dependencies: list[DependencyChange] = []
        self.notes: list[str] = []

    def of(self, path: str) -> list[Reason]:
        """Why this file asks for what; the strictest of them is the file's mode."""
        protected = self._guard.why(path)
        kind = self._kinds.kind_of(path)
        reasons = [Reason(path, "protected", Mode.BLOCKING, f"{protected} changed")] if protected else []
        ruled = self._by_rule(path)
        if kind is None:
            return reasons or [ruled or _unmatched(path)]
        change = self._compare(kind, path)
        reasons += self._by_dependencies(kind, path, change)
        if ruled is not None:
            reasons.append(ruled)
        elif change.rest and not protected:
            reasons.append(_unmatched(path))
        return reasons

    def _by_rule(self, path: str) -> Reason | None:
        rule = self._rules.rule_for(path)
        if rule is None:
            return None
        return Reason(path, rule.pattern, rule.mode, f"matches the rule '{rule.mode} {rule.pattern}'")

    def _compare(self, kind: Kind, path: str) -> FileChange:
        try:
            before, after = self._reader("base", path), self._reader("head", path)
        except InfrastructureError as error:
            return FileChange(problem=f"it cannot be read: {error.problem}")
        return compare_file(kind, path, before, after)

    def _by_dependencies(self, kind: Kind, path: str, change: FileChange) -> Iterable[Reason]:
        if change.problem:
            self.dependencies.append(DependencyChange("*", None, None, "unreadable", path))
            yield Reason(path, "dependencies", Mode.BLOCKING, change.problem)
        for one in change.changes:
            self.dependencies.append(one)
            counted = counts(one.package, self._narrowed())
            mode = Mode.BLOCKING if blocks(one, lock=kind.lock, counted=counted) else Mode.ADVISORY
            yield Reason(path, "dependencies", mode, _sentence(one, counted=counted))

    def _narrowed(self) -> frozenset[str] | None:
        """The packages that count by the configuration of the base; read once."""
        if not self._narrowing:
            self._narrowing.append(None)
            try:
                content = self._reader("base", self._config)
                self._narrowing[0] = read_narrowing(content.decode("utf-8")) if content is not None else None
            except (InfrastructureError, ValueError) as error:
                self.notes.append(f"every package counts, as {self._config!r} cannot narrow them: {error}")
        return self._narrowing[0]


def _unmatched(path: str) -> Reason:
    return Reason(path, "no rule", Mode.BLOCKING, "no rule matches this file")


def _sentence(change: DependencyChange, *, counted: bool) -> str:
    versions = f"{change.before or 'nothing'} to {change.after or 'nothing'}"
    suffix = "" if counted else ", not one of the packages that count"
    return f"{change.package}: {change.change} change, {versions}{suffix}"
