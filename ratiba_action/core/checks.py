"""Exact assertions over a transcript: what each turn expects and may take, and the scenario's failure rules.

Replies may hold hostile text. It ends up in ``Check.got`` as clipped data and is never interpreted here.
"""

from ratiba_action.core.captured_replies import check_replies
from ratiba_action.core.failure_rules import check_rule
from ratiba_action.core.model.conversation import Transcript
from ratiba_action.core.model.measurement import Check
from ratiba_action.core.model.scenario import Scenario
from ratiba_action.core.patterns import SearchTime
from ratiba_action.core.turn_checks import DetectLanguage, check_turn
from ratiba_action.core.turn_limits import check_limits


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
