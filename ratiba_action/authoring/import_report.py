"""What an import did, for people: rows by kind, each with its count and its first places."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ratiba_action.authoring.imported_files import Written
from ratiba_action.authoring.imports import TEST, Import, ImportFinding, ImportOutcome
from ratiba_action.util.text import plural, printable

TITLES: Mapping[ImportOutcome, str] = {
    ImportOutcome.MAPPED: "Mapped",
    ImportOutcome.APPROXIMATED: "Approximated",
    ImportOutcome.MANUAL: "For a person",
}
_VALUE = re.compile(r"'[^']*'|`file://[^`]*`")
_MAX_ROWS = 12


@dataclass(frozen=True, slots=True)
class ReportRow:
    """What is the same of one place or several.

    Args:
        result: what it became; values that differ from place to place are left out.
        places: file and line of each, in order.
    """

    outcome: ImportOutcome
    what: str
    result: str
    places: tuple[str, ...]

    @property
    def line(self) -> str:
        """One line for a terminal."""
        more = f" and {len(self.places) - 1} more" if len(self.places) > 1 else ""
        return f"  {printable(f'{self.places[0]}{more}: {self.what} → {self.result}')}"


def in_order(found: Import) -> list[ImportFinding]:
    """The findings by file and line."""
    return sorted(found.findings, key=lambda finding: (finding.file, finding.line))


def rows_of(found: Import) -> list[ReportRow]:
    """The findings by kind: those of the same part with the same result, whatever value they name, are one row."""
    groups: dict[tuple[ImportOutcome, str, str], list[ImportFinding]] = {}
    for each in in_order(found):
        # Where each test went is what is written.
        written = each.what == TEST and each.outcome == ImportOutcome.MAPPED
        sentence = "a scenario" if written else _VALUE.sub("…", each.result)
        groups.setdefault((each.outcome, each.what, sentence), []).append(each)
    rows: list[ReportRow] = []
    for (outcome, what, sentence), findings in groups.items():
        same = len({each.result for each in findings}) == 1
        places = tuple(f"{each.file}:{each.line}" if each.line else each.file for each in findings)
        rows.append(ReportRow(outcome, what, findings[0].result if same else sentence, places))
    return rows


def finding_lines(found: Import, report: str = "") -> list[str]:
    """What became of everything, in groups by outcome.

    Args:
        report: path of the file with everything, which the most frequent rows of each group suffice beside; empty to
            show all.
    """
    lines: list[str] = []
    rows = rows_of(found)
    for outcome, title in TITLES.items():
        group = [row for row in rows if row.outcome == outcome]
        shown = _frequent(group) if report else group
        lines += [f"{title}:"] if group else []
        lines += [row.line for row in shown]
        if len(shown) < len(group):
            lines.append(f"  {plural(len(group) - len(shown), 'more kind')}: {report}")
    return lines


def _frequent(rows: Sequence[ReportRow]) -> list[ReportRow]:
    if len(rows) <= _MAX_ROWS:
        return list(rows)
    kept = sorted(rows, key=lambda row: -len(row.places))[:_MAX_ROWS]
    return [row for row in rows if row in kept]


def total_line(found: Import) -> str:
    """How many tests were imported, and how many findings there are of each outcome."""
    tests = sum(each.what == TEST and each.outcome == ImportOutcome.MAPPED for each in found.findings)
    counts = Counter(finding.outcome for finding in found.findings)
    total = ", ".join(f"{counts[outcome]} {title.lower()}" for outcome, title in TITLES.items())
    return f"{plural(tests, 'test')} imported. {total}."


def import_report(found: Import, written: Written, command: str) -> str:
    """The whole report as Markdown: what a person must do first."""
    parts = [f"# Report of `ratiba {printable(command)}`", total_line(found)]
    rows = rows_of(found)
    for outcome in reversed(ImportOutcome):
        group = sorted((row for row in rows if row.outcome == outcome), key=lambda row: -len(row.places))
        if group:
            parts += [f"## {TITLES[outcome]}", _table(group)]
    if written.conflicts:
        parts += [
            "## Changed by you and by the source",
            "These files stay as they are. This is their imported content now:",
            *(f"### `{printable(name)}`\n\n{_fenced(text)}" for name, text in written.conflicts.items()),
        ]
    return "\n\n".join(parts) + "\n"


def _table(rows: Iterable[ReportRow]) -> str:
    lines = ["| count | what | became | places |", "| --- | --- | --- | --- |"]
    for row in rows:
        cells = (str(len(row.places)), row.what, row.result, ", ".join(row.places))
        lines.append("| " + " | ".join(printable(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}yaml\n{text.rstrip()}\n{fence}"
