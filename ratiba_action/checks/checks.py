"""Exact assertions over a transcript: what each turn expects and may take, and the scenario's failure rules.

Replies may hold hostile text. It ends up in ``Check.got`` as clipped data and is never interpreted here.
"""

from dataclasses import replace

from ratiba_action.checks.captured_replies import check_replies
from ratiba_action.checks.failure_rules import REFUSE, check_rule
from ratiba_action.checks.row_checks import ROWS
from ratiba_action.checks.turn_checks import DetectLanguage, check_turn
from ratiba_action.checks.turn_limits import check_limits
from ratiba_action.model.conversation import Transcript
from ratiba_action.model.measurement import Check
from ratiba_action.model.scenario import Scenario
from ratiba_action.util.patterns import SearchTime


def check_transcript(
    scenario: Scenario,
    transcript: Transcript,
    detect_language: DetectLanguage | None = None,
    time: SearchTime | None = None,
) -> tuple[Check, ...]:
    """Every expectation of the turns, captured reply, limit and failure rule, held or not, in this order.

    A turn that the conversation never reached fails each of its expectations.

    Args:
        scenario: what must hold.
        transcript: what happened.
        detect_language: ISO 639 code of a text's language, None where it cannot be told; None where no turn expects a
            language.
        time: for the patterns of all rules together; None for a limit of each search by itself.

    Raises:
        ConfigurationError: a turn expects a language and there is no detector, or a pattern takes too long.
    """
    checks: list[Check] = []
    for number, turn in enumerate(scenario.turns, 1):
        exchange = transcript.exchanges[number - 1] if number <= len(transcript.exchanges) else None
        reply = exchange.reply if exchange is not None else None
        checks += check_turn(number, turn, reply, scenario.now.tzinfo, detect_language)
    checks += check_replies(scenario, transcript)
    checks += check_limits(scenario, transcript)
    for rule in scenario.rules:
        checks += check_rule(rule, transcript, time)
    return tuple(checks)


_OF_CODE = frozenset({"state", "payment", "tools", "event", "transitions", ROWS})
_RULES_OF_CODE = frozenset({"must_call_tool", "must_not_call_tool", "must_emit", "must_not_emit"})
_SOME = frozenset({"must_contain", "regex_must_match", "must_call_tool", "must_emit"})
"""Rules that one turn can satisfy for good; every other one can be broken for good."""


def check_so_far(
    scenario: Scenario,
    transcript: Transcript,
    detect_language: DetectLanguage | None = None,
    time: SearchTime | None = None,
) -> tuple[Check, ...]:
    """What is known of a conversation that ended early: of each turn that was completed, and rules that are decided.

    Args:
        scenario: what must hold.
        transcript: the completed turns.
        detect_language: see ``check_transcript``.
        time: see ``check_transcript``.

    Raises:
        ConfigurationError: see ``check_transcript``.
    """
    reached = len(transcript.exchanges)
    known = replace(
        scenario,
        turns=scenario.turns[:reached],
        replies=scenario.replies[:reached],
        rules=tuple(rule for rule in scenario.rules if rule.type != REFUSE or _is_reached(rule.value, reached)),
    )
    found = check_transcript(known, transcript, detect_language, time)
    return tuple(
        check
        for check in found
        if check.kind != "rule" or check.what == REFUSE or check.passed == (check.what in _SOME)
    )


def is_of_code(check: Check) -> bool:
    """Whether a check looks at what the code did (tools, states, payments, events, rows), never at a model's text."""
    return check.kind in _OF_CODE or (check.kind == "rule" and check.what in _RULES_OF_CODE)


def _is_reached(turn: object, reached: int) -> bool:
    return isinstance(turn, int) and turn <= reached
