"""Exact assertions over a transcript: what each turn expects and may take, and the scenario's failure rules.

Replies may hold hostile text. It ends up in ``Check.got`` as clipped data and is never interpreted here.

What each turn may take: seconds and money.

Seconds count only where no recording or script answered one of the turn's model calls: a replayed answer comes at
once, whatever the model would have taken. Where a limit cannot be measured the check says so; it never passes for one
that held.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_CEILING

from ratiba_action.checks.failure_rules import REFUSE, check_rule, is_undecided, refusal_turn
from ratiba_action.checks.request_checks import REQUEST_RULES
from ratiba_action.checks.row_checks import ROWS
from ratiba_action.checks.turn_checks import DetectLanguage, check_turn, whole_text
from ratiba_action.model.conversation import Exchange, Transcript
from ratiba_action.model.measurement import Check, NotRun, ScenarioResult
from ratiba_action.model.note import Caveat
from ratiba_action.model.scenario import FailureRule, Scenario
from ratiba_action.money.pricing import show_usd
from ratiba_action.util.instants import clock_of
from ratiba_action.util.patterns import SearchTime
from ratiba_action.util.text import clip, cut_near


def check_limits(scenario: Scenario, transcript: Transcript) -> Iterator[Check]:
    """One check for each limit of the scenario and each turn that was reached."""
    seconds, usd = scenario.limits.seconds, scenario.limits.usd
    for number, exchange in enumerate(transcript.exchanges, 1):
        line = exchange.turn.line
        if seconds is not None:
            got, in_time = _seconds(exchange, seconds)
            yield _check(number, "seconds of the turn", f"at most {seconds:g} s", got, passed=in_time, line=line)
        if usd is not None:
            unknown = "not measured: the answers have no price"
            got = show_usd(exchange.usd, ROUND_CEILING) if exchange.usd is not None else unknown
            in_budget = exchange.usd <= usd if exchange.usd is not None else None
            yield _check(
                number, "estimated cost of the turn", f"at most {show_usd(usd)}", got, passed=in_budget, line=line
            )


def limits_not_measured(results: Iterable[ScenarioResult]) -> tuple[str, ...]:
    """One note where limits could not be measured, so that nobody takes them for held; nothing where all were."""
    checks = [check for result in results if not isinstance(result, NotRun) for check in result.checks]
    count = sum(not check.measured and check.kind == "limit" for check in checks)
    what = "limit of a turn was" if count == 1 else "limits of turns were"
    return (Caveat(f"{count} {what} not measured: recordings or scripts answered."),) if count else ()


def _seconds(exchange: Exchange, maximum: float) -> tuple[str, bool | None]:
    if exchange.replayed:
        return "not measured: a recording or a script answered", None
    return f"{exchange.seconds:.2f} s", exchange.seconds <= maximum


def _check(turn: int, what: str, expected: str, got: str, *, passed: bool | None, line: int) -> Check:
    return Check("limit", turn, what, expected, got, passed=passed is not False, line=line, measured=passed is not None)


_SHOWN_BEFORE = 40
MAX_SHOWN = 1_000
"""Characters of why a test failed."""


def check_replies(scenario: Scenario, transcript: Transcript) -> Iterator[Check]:
    """One check for each captured reply: the same text as it is compared; case counts.

    An empty captured reply is none: an event may have brought no answer.
    """
    for number, captured in enumerate(scenario.replies, 1):
        if not captured:
            continue
        reached = number <= len(transcript.exchanges)
        got = transcript.exchanges[number - 1].reply.text if reached else ""
        first, second = whole_text(captured), whole_text(got)
        differs = _first_difference(first, second)
        starts = [cut_near(text, max(0, differs - _SHOWN_BEFORE), differs) for text in (first, second)]
        line = scenario.turns[number - 1].line if number <= len(scenario.turns) else 0
        yield Check(
            "reply",
            number,
            "the captured reply",
            clip(first[starts[0] :]),
            clip(second[starts[1] :]) if reached else "(turn not reached)",
            passed=reached and first == second,
            line=line,
        )


def _first_difference(first: str, second: str) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(first), len(second)))


def check_transcript(
    scenario: Scenario,
    transcript: Transcript,
    detect_language: DetectLanguage | None = None,
    time: SearchTime | None = None,
) -> tuple[Check, ...]:
    """Every expectation of the turns, captured reply, limit and failure rule, held or not, in this order.

    A turn that the conversation never reached fails each of its expectations.

    Args:
        detect_language: ISO 639 code of a text's language, None where it cannot be known; None where no turn expects a
            language.
        time: for the patterns of all turns and rules together; None for a limit of each search by itself.

    Raises:
        ConfigurationError: a turn expects a language and there is no detector, or a pattern takes too long.
    """
    if scenario.test is not None:
        return _check_test(scenario, transcript)
    checks: list[Check] = []
    for number, turn in enumerate(scenario.turns, 1):
        exchange = transcript.exchanges[number - 1] if number <= len(transcript.exchanges) else None
        reply = exchange.reply if exchange is not None else None
        checks += check_turn(number, turn, reply, clock_of(scenario), detect_language, time=time)
    checks += check_replies(scenario, transcript)
    checks += check_limits(scenario, transcript)
    for rule in scenario.rules:
        checks += check_rule(rule, transcript, time)
    return tuple(checks)


def _check_test(scenario: Scenario, transcript: Transcript) -> tuple[Check, ...]:
    """One check for each set of parameters of a test; what the worker says of it is untrusted."""
    checks: list[Check] = []
    for exchange in transcript.exchanges:
        output = exchange.reply.output
        cases = output.get("cases") if isinstance(output, Mapping) else None
        for case in cases if isinstance(cases, list) and cases else [None]:
            fields = case if isinstance(case, Mapping) else {}
            name, outcome, message = (str(fields.get(key, "")) for key in ("name", "outcome", "message"))
            got = ": ".join(filter(None, (outcome or "no result", message)))
            checks.append(
                Check(
                    "test",
                    0,
                    f"pytest {clip(name)}".rstrip(),
                    "passed",
                    "passed" if outcome == "passed" else clip(got, MAX_SHOWN),
                    passed=outcome == "passed",
                    line=scenario.line,
                )
            )
    return tuple(checks)


_OF_CODE = frozenset({"state", "payment", "tools", "event", "transitions", ROWS})
_RULES_OF_CODE = frozenset({"must_call_tool", "must_not_call_tool", "must_emit", "must_not_emit", *REQUEST_RULES})
_SOME = frozenset({"must_contain", "must_contain_word", "regex_must_match", "must_call_tool", "must_emit"})
"""Rules that one turn can satisfy for good; every other one can be broken for good."""


def check_so_far(
    scenario: Scenario,
    transcript: Transcript,
    detect_language: DetectLanguage | None = None,
    time: SearchTime | None = None,
) -> tuple[Check, ...]:
    """What is known of a conversation that ended early: of each turn that was completed, and rules that are decided.

    Args:
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
        rules=tuple(rule for rule in scenario.rules if rule.type != REFUSE or _is_decided(rule, transcript)),
    )
    found = check_transcript(known, transcript, detect_language, time)
    return tuple(
        check
        for check in found
        if check.kind != "rule" or check.what == REFUSE or check.passed == (check.what in _SOME)
    )


def is_of_code(check: Check) -> bool:
    """Whether a check looks at what the code did, such as tool calls, rows and requests, never at a model's text."""
    return check.kind in _OF_CODE or (check.kind == "rule" and check.what in _RULES_OF_CODE)


def _is_decided(rule: FailureRule, transcript: Transcript) -> bool:
    """Whether the turn that must refuse was reached, and no judge has to decide about it."""
    turn = refusal_turn(rule.value)
    return turn is not None and turn <= len(transcript.exchanges) and not is_undecided(rule, transcript)
