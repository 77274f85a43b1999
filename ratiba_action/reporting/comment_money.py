"""Money and judges of a run, as the comment shows them; each is Markdown, or empty when there is nothing to say."""

from collections.abc import Mapping, Sequence

from ratiba_action.model.values import Usd
from ratiba_action.model.verdict import Report
from ratiba_action.reporting.judge_facts import judge_facts
from ratiba_action.reporting.markdown import inline, table
from ratiba_action.reporting.money_facts import Fact, has_paid, money_facts, month_note, parts
from ratiba_action.reporting.wording import dollars

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
