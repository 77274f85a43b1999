"""Builds a ``Scenario`` from a validated file."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from ratiba_action.checks.failure_rules import REFUSE, RISK, is_judged_rule, may_call_judge, refusal_turn, validate_rule
from ratiba_action.model.scenario import (
    Assertion,
    Customer,
    Expectation,
    ExpectedEvent,
    ExpectedOutput,
    ExpectedReply,
    ExpectedRows,
    ExpectedTool,
    ExpectedTransition,
    FailureRule,
    Layer,
    Quarantine,
    Scenario,
    SimulatedUser,
    Turn,
    TurnLimits,
)
from ratiba_action.suite.scenario_schema import ScenarioBlock
from ratiba_action.suite.turn_schema import ExpectBlock, RowsBlock, TurnBlock
from ratiba_action.util.strict_yaml import Path, YamlDocument

FAITHFULNESS = "FaithfulnessByClaimMetric"
"""Measures the share of a reply's claims that are supported; used for ``max_hallucination_risk``."""
REFUSAL_BY_JUDGE = "RefusalByJudgeMetric"
"""Lets a judge decide whether a reply refuses; used for ``must_refuse`` with a judge."""
_REFUSES = 0.5
"""Between its two possible scores, far enough from both that no score is repeated."""


def build_scenario(block: ScenarioBlock, document: YamlDocument) -> Scenario:
    """The scenario of a file, each part with its line."""
    return Scenario(
        id=block.id,
        title=block.title or "",
        language=block.language,
        layer=block.layer,
        system_type=block.system_type,
        vertical=block.vertical,
        tags=frozenset(block.tags),
        critical=block.critical,
        now=block.now.now,
        timezone=block.now.timezone,
        touches=tuple(block.touches),
        customer=Customer(block.customer.name, block.customer.phone),
        turns=tuple(_turn(turn, index, document) for index, turn in enumerate(block.turns)),
        rules=tuple(
            FailureRule(rule.type, rule.value, document.line(("rules", index)))
            for index, rule in enumerate(block.rules)
            if not is_judged_rule(rule.type, rule.value)
        ),
        assertions=(*_assertions(block, document), *_judged_rules(block, document)),
        path=document.name,
        line=document.line(("id",)),
        script=None if block.script is None else tuple(step.model_dump() for step in block.script),
        replies=_replies(block) if block.compare != "metric" else (),
        captured=_replies(block) if block.compare == "metric" else (),
        simulated_user=None if block.simulated_user is None else SimulatedUser(**block.simulated_user.model_dump()),
        limits=TurnLimits(block.limits.seconds, block.limits.usd),
        strategy=block.strategy.strategy,
        quarantine=None if block.quarantine is None else Quarantine(**block.quarantine.model_dump()),
        provenance=block.provenance,
        rows=_rows(block.rows, document, ("rows",)),
        fluency=block.metrics.fluency,
        inputs=block.inputs,
        family=block.family or "",
        variant=block.variant or "",
    )


def _replies(block: ScenarioBlock) -> tuple[str, ...]:
    """The captured replies, one per turn."""
    return tuple(turn.reply or "" for turn in block.turns) if block.layer == Layer.REPLAY else ()


def _assertions(block: ScenarioBlock, document: YamlDocument) -> tuple[Assertion, ...]:
    return tuple(
        Assertion(
            entry.metric, entry.threshold, document.line(("assertions", index)), entry.parameters, entry.name or ""
        )
        for index, entry in enumerate(block.assertions)
    )


def _judged_rules(block: ScenarioBlock, document: YamlDocument) -> tuple[Assertion, ...]:
    """The assertions of rules with a judge."""
    return tuple(
        judged_rule(rule.type, rule.value, document.line(("rules", index)))
        for index, rule in enumerate(block.rules)
        if is_judged_rule(rule.type, rule.value) and validate_rule(rule.type, rule.value) is None
    )


def judged_rule(rule_type: str, value: Any, line: int = 0) -> Assertion:
    """The assertion of a valid rule with a judge.

    A maximum share of unsupported claims is a minimum share of supported ones, which faithfulness measures.
    """
    if rule_type == RISK:
        return Assertion(FAITHFULNESS, float(1 - Decimal(str(value))), line, of_rule=True)
    turn = refusal_turn(value)
    if turn is None:
        return Assertion(REFUSAL_BY_JUDGE, _REFUSES, line, of_rule=True)
    return Assertion(REFUSAL_BY_JUDGE, _REFUSES, line, {"turn": turn}, f"turn-{turn}", of_rule=True)


def refusal_assertions(rules: Iterable[FailureRule]) -> tuple[Assertion, ...]:
    """What a judge measures for each ``must_refuse`` that phrases may leave undecided: as with ``{judge: true}``."""
    return tuple(
        judged_rule(REFUSE, {"judge": True, "turn": refusal_turn(rule.value)}, rule.line)
        for rule in rules
        if may_call_judge(rule)
    )


def _turn(block: TurnBlock, index: int, document: YamlDocument) -> Turn:
    rows = _rows(block.expect.rows, document, ("turns", index, "expect", "rows"))
    expect = _expectation(block.expect, block.reply, rows)
    return Turn(user=block.user, event=block.event, expect=expect, line=document.line(("turns", index)))


def _rows(blocks: Sequence[RowsBlock], document: YamlDocument, path: Path) -> tuple[ExpectedRows, ...]:
    return tuple(
        ExpectedRows(
            table=block.table or "",
            query=block.query or "",
            where=block.where,
            count=block.count,
            equals=block.equals,
            line=document.line((*path, index)),
        )
        for index, block in enumerate(blocks)
    )


def _expectation(block: ExpectBlock, captured: str | None, rows: tuple[ExpectedRows, ...]) -> Expectation:
    """What a turn expects; a captured reply is the reference answer if no other is given."""
    if not block.model_fields_set:
        return Expectation(answer=captured)
    documents = dict.fromkeys(block.documents, 1.0) if isinstance(block.documents, list) else block.documents
    return Expectation(
        state=block.state,
        payment=block.payment,
        tools=None if block.tools is None else tuple(ExpectedTool(tool.name, tool.args) for tool in block.tools),
        events=tuple(ExpectedEvent(event.type, event.data) for event in block.events),
        transitions=tuple(ExpectedTransition(move.source, move.target) for move in block.transitions),
        output=_output(block),
        language=block.language,
        reply=_reply(block),
        rows=rows,
        answer=block.answer if block.answer is not None else captured,
        key_phrases=tuple(block.key_phrases),
        documents=documents,
        label=block.label,
        labels=None if block.labels is None else tuple(block.labels),
        refusal=block.refusal,
    )


def _reply(block: ExpectBlock) -> ExpectedReply | None:
    """What the text of the reply must be like; None where nothing is expected of it."""
    expected = ExpectedReply(
        contains=tuple(block.contains or ()),
        contains_any=tuple(block.contains_any or ()),
        not_contains=tuple(block.not_contains or ()),
        contains_word=tuple(block.contains_word or ()),
        contains_any_word=tuple(block.contains_any_word or ()),
        not_contains_word=tuple(block.not_contains_word or ()),
        matches=tuple(block.matches or ()),
        equals=block.equals,
        json=block.json_values,
        max_words=block.max_words,
    )
    return None if expected == ExpectedReply() else expected


def _output(block: ExpectBlock) -> ExpectedOutput | None:
    if block.output is None:
        return None
    wanted = block.output
    return ExpectedOutput(wanted.value, tuple(wanted.ignore), wanted.ignore_whitespace, wanted.ignore_order)
