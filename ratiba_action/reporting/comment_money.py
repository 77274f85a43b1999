"""Money and judges of a run, as the comment shows them; each is Markdown, or empty when there is nothing to say."""

from collections.abc import Mapping, Sequence

from ratiba_action.model.data_set import ClassScores, DataSetScores
from ratiba_action.model.values import Usd
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.comment_sections import code_html
from ratiba_action.reporting.data_set_words import LowCase, about, low_cases, status, value
from ratiba_action.reporting.judge_facts import judge_facts
from ratiba_action.reporting.markdown import code, folded, inline, table
from ratiba_action.reporting.money_facts import Fact, has_paid, money_facts, month_note, parts
from ratiba_action.reporting.wording import dollars, number, plural

_ROWS = 50
_ASKED = 80


def data_sets(report: Report, *, tables: bool = True) -> str:
    """One block a data set; empty without one.

    Args:
        report: what to tell.
        tables: whether to add the folded tables of classes and of the lowest cases.
    """
    blocks = [_block(one) + (_tables(one, report) if tables else "") for one in report.data_sets]
    return "\n\n".join(["### Cases", *blocks]) if blocks else ""


def _block(scores: DataSetScores) -> str:
    parts = [f"**{code(scores.id)}** · {code(scores.path)} · {about(scores)}"]
    if scores.gates:
        rows = [
            (code(one.gate.metric), value(one), number(one.gate.at_least), status(scores, one)) for one in scores.gates
        ]
        parts.append(table(("gate", "value:", "at least:", "result"), rows))
    gated = {one.gate.metric for one in scores.gates}
    others = [f"{inline(name)} {number(found)}" for name, found in scores.values.items() if name not in gated]
    parts += [f"Besides: {', '.join(others)}." if gated else f"{', '.join(others)}."] if others else []
    return "\n\n".join(parts)


def _tables(scores: DataSetScores, report: Report) -> str:
    low = low_cases(scores, report.results)
    parts = [_classes(scores)] if scores.classes else []
    parts += [_lowest(scores, low)] if low else []
    return "".join(f"\n\n{part}" for part in parts)


def _lowest(scores: DataSetScores, low: Sequence[LowCase]) -> str:
    rows = [(code(one.name), inline(one.asked, _ASKED), inline(one.told)) for one in low[:_ROWS]]
    body = table(("case", "asked", "scored"), rows) + _more(len(low))
    return folded(f"{plural(len(low), 'case')} of {code_html(scores.id)} below 1, the lowest first", body)


def _more(total: int) -> str:
    return f"\n\n{total - _ROWS} more in the report." if total > _ROWS else ""


def _classes(scores: DataSetScores) -> str:
    lowest_first = sorted(scores.classes, key=lambda one: (one.f1, one.label))
    header = ("class", "precision:", "recall:", "F1:", "expected:", "given:")
    body = table(header, [_class_row(one) for one in lowest_first[:_ROWS]])
    body += _more(len(lowest_first))
    return folded(f"Classes of {code_html(scores.id)}, the lowest F1 first", body)


def _class_row(one: ClassScores) -> tuple[str, ...]:
    figures = (number(one.precision), number(one.recall), number(one.f1))
    return (code(one.label), *figures, str(one.support), str(one.given))


_TOLD = 1_000
_PARTS = 20


def money(report: Report) -> str:
    """What was spent, of which cap, by whom and on what; nothing for a run that asked no model."""
    facts = money_facts(report)
    if not facts:
        return ""
    rows = _rows(facts)
    if has_paid(report):
        paid = [("by party", report.spending.by_party), ("by model", report.spending.by_model)]
        rows[1:1] = [(what, _parts(amounts)) for what, amounts in paid if any(amounts.values())]
    note = month_note(report)
    return f"### Money\n\n{table(('what', 'how much'), rows)}" + (f"\n\n{note}" if note else "")


def judges(report: Report) -> str:
    """Who judged, how far the second judge agrees, what was voted on; nothing for a run that paid nothing."""
    facts = judge_facts(report)
    return f"### Judges\n\n{table(('what', 'how it went'), _rows(facts))}" if facts else ""


def _parts(amounts: Mapping[str, Usd]) -> str:
    paid = parts(amounts)
    told = [f"{inline(part.name, 100)} {dollars(part.usd)} ({part.share:.0%})" for part in paid[:_PARTS]]
    return " · ".join(told) + (f" and {len(paid) - _PARTS} more" if len(paid) > _PARTS else "")


def _rows(facts: Sequence[Fact]) -> list[tuple[str, str]]:
    return [
        (inline(fact.what), " ".join(part for part in (inline(fact.told, _TOLD), fact.bar, fact.after) if part))
        for fact in facts
    ]
