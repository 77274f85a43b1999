"""The failure rules of a scenario: which there are, what is wrong with one, and whether one holds.

``max_hallucination_risk``, ``must_refuse`` with a judge and ``custom`` are no text checks: the first two become
assertions on a judged metric when the file is read, the third is decided by the repository's own code. ``must_refuse``
alone is decided here where the reply is surely a refusal, else by a judge: whoever has one calls it about what
``is_undecided``; for all others it fails. Rules about requests are decided where requests pass
(``request_checks.py``), since no transcript holds them.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from ratiba_action.checks.conversation_events import happenings
from ratiba_action.checks.custom_code import is_address
from ratiba_action.checks.refusal_phrases import LOOKED_FOR, refusal_of_turn
from ratiba_action.checks.request_checks import REQUEST_RULES
from ratiba_action.checks.sure_refusals import is_sure_refusal
from ratiba_action.checks.turn_checks import around, calls_words, pattern_finder
from ratiba_action.model.conversation import Transcript
from ratiba_action.model.event import Event
from ratiba_action.model.measurement import Check, Score
from ratiba_action.model.scenario import FailureRule
from ratiba_action.util.comparable import comparable, has_text, has_word
from ratiba_action.util.patterns import SearchTime, compile_pattern, pattern_problem
from ratiba_action.util.text import clip, did_you_mean, in_quotes

_FINDERS: Mapping[str, Callable[[str, str], bool]] = {
    "must_contain": has_text,
    "must_not_contain": has_text,
    "must_contain_word": has_word,
    "must_not_contain_word": has_word,
}
_PATTERN_RULES = ("regex_must_match", "regex_must_not_match")
_TEXT_RULES = (*_FINDERS, *_PATTERN_RULES)
_CALL_RULES = ("must_call_tool", "must_not_call_tool")
_EVENT_RULES = ("must_emit", "must_not_emit")
EMITTED = ("hand_off", "payment", "state_transition", "tool_call")
"""Types of ``events.jsonl`` that a conversation may be held to."""
REFUSE, RISK, CUSTOM = "must_refuse", "max_hallucination_risk", "custom"
RULE_TYPES = (*_TEXT_RULES, *_CALL_RULES, *_EVENT_RULES, *REQUEST_RULES, REFUSE, RISK, CUSTOM)

_OTHER_KEYS: Mapping[str, str] = {
    **dict.fromkeys(_CALL_RULES, "tool"),
    **dict.fromkeys(_PATTERN_RULES, "pattern"),
    RISK: "threshold",
    CUSTOM: "plugin",
}
"""The key that a type of rule has besides ``value``, as the evaluation harness of the project's sources writes it."""

LIST = "docs/rules.md#refusals"
"""The page with the sentences that are sure refusals."""
_MAX_TURNS = 250
_MAX_WHY, _MAX_GOT = 100, 300
"""Characters of why no judge could be asked, and of what a rule got with that."""
_TIE = 0.5
"""The mean of as many yes as no, where several answers make one score: that is no yes."""


def key_problem(rule: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    """What is wrong with the keys of a rule, or None; a type that does not exist is found by ``validate_rule``.

    Args:
        rule: as it stands in a file.
        keys: that a rule of this file may have, for any type.
    """
    kind = rule.get("type")
    if not isinstance(kind, str) or kind not in RULE_TYPES:
        return None
    other = _OTHER_KEYS.get(kind)
    right = f"`{other}` or `value`" if other else "`value`"
    wrong = [key for key in rule if key not in keys or (key in _OTHER_KEYS.values() and key != other)]
    if wrong:
        return f"the rule {kind} has no key {wrong[0]!r:.80}; it has {right}"
    if other is None or other not in rule:
        return None
    if "value" in rule:
        return f"the rule {kind} has both `{other}` and `value`; remove one of them"
    if kind == RISK and not _is_share(rule[other]):
        shown = f"threshold {rule[other]!r:.80} of rule {RISK}"
        return f"{shown} must be a number from 0 to 1, the least share of supported claims"
    return None


def rule_value(rule: Mapping[str, Any]) -> Any:
    """The value of a rule in either spelling.

    ``threshold`` is the least faithfulness, ``value`` the greatest share of unsupported claims; ``plugin`` may have a
    dot before the name of the class.

    Args:
        rule: as it stands in a file, without a ``key_problem``.
    """
    kind = rule.get("type")
    other = _OTHER_KEYS.get(kind) if isinstance(kind, str) else None
    given = None if other is None else rule.get(other)
    if given is None or "value" in rule:
        return rule.get("value")
    if kind == RISK:
        return float(1 - Decimal(str(given)))
    if kind == CUSTOM:
        return [_address(item) for item in given] if isinstance(given, list) else _address(given)
    return given


def _address(plugin: Any) -> Any:
    """``module:name`` for ``module.name``."""
    if not isinstance(plugin, str) or ":" in plugin:
        return plugin
    module, dot, name = plugin.rpartition(".")
    return f"{module}:{name}" if dot else plugin


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def validate_rule(rule_type: str, value: Any) -> str | None:
    """What is wrong with a failure rule, or None.

    Args:
        rule_type: must be one of ``RULE_TYPES``.
        value: for the text, call and request rules a non-empty string or a non-empty list of them, a regular
            expression for the ``regex_`` types, of ``EMITTED`` for the event rules; for ``must_refuse`` the number of
            a turn, None for the last one, or ``{"judge": True}`` or ``{"judge": False}`` with ``turn`` or without;
            for ``max_hallucination_risk`` a share from 0 to 1; for ``custom`` ``module:function``.
    """
    if rule_type not in RULE_TYPES:
        allowed = did_you_mean(rule_type, RULE_TYPES) or f"allowed: {', '.join(RULE_TYPES)}"
        return f"unknown rule type {rule_type!r:.80}; {allowed}"
    if rule_type == REFUSE:
        return _refusal_problem(value)
    if rule_type == RISK:
        return None if _is_share(value) else f"value {value!r:.80} of rule {RISK} must be a share from 0 to 1"
    values = value if isinstance(value, list | tuple) else [value]
    if not values or not all(isinstance(item, str) and comparable(item).strip() for item in values):
        return f"value {value!r:.200} of rule {rule_type} must be a non-empty string or a list of them"
    problems = [_wrong_value(rule_type, item) for item in values]
    return next((f"value of rule {rule_type}: {problem}" for problem in problems if problem), None)


def is_judged_rule(rule_type: str, value: Any) -> bool:
    """Whether a judge always decides a rule, so that it becomes an assertion on a judged metric."""
    return rule_type == RISK or (rule_type == REFUSE and isinstance(value, Mapping) and value.get("judge") is True)


def may_call_judge(rule: FailureRule) -> bool:
    """Whether a judge decides a rule where phrases cannot: ``must_refuse``, unless its value is ``{judge: false}``."""
    return rule.type == REFUSE and not isinstance(rule.value, Mapping)


def is_undecided(rule: FailureRule, transcript: Transcript) -> bool:
    """Whether a judge has to decide a rule about this conversation; ``check_rule`` fails it meanwhile."""
    if not may_call_judge(rule):
        return False
    reply = _reply_that_must_refuse(rule, transcript)
    return reply is not None and bool(reply.strip()) and not is_sure_refusal(reply)


def decided_by_judge(rule: FailureRule, transcript: Transcript, score: Score) -> Check:
    """The check of a rule that was undecided.

    Args:
        score: of ``RefusalByJudgeMetric`` about the reply.
    """
    number = refusal_turn(rule.value) or len(transcript.exchanges)
    unsure = refusal_of_turn(transcript, number).describe()
    # What stands before is about a score's distance from its threshold, and here there are two values.
    answer = score.reason[max(score.reason.find(f"turn {number}: "), 0) :]
    got = f"decided by the judge: {answer or f'score {score.value:g}'}. Phrases are not sure: it {unsure}"
    given = score.votes or (score.value,)
    passed = 2 * sum(vote > _TIE for vote in given) > len(given)
    return Check("rule", number, REFUSE, LOOKED_FOR, clip(got), passed=passed, line=rule.line)


def failed_without_judge(rule: FailureRule, transcript: Transcript, why: str, remedy: str) -> Check | None:
    """The check of a rule that is undecided and about which no judge can be asked: failed, or None if it may hold.

    Open phrases, which pass leaks, see refusals that the closed list does not. What even they do not take for one
    fails.

    Args:
        why: no judge can be asked.
        remedy: what helps.
    """
    number = refusal_turn(rule.value) or len(transcript.exchanges)
    found = refusal_of_turn(transcript, number)
    if found.whole:
        return None
    got = f"phrases see no refusal, and no judge could be asked ({clip(why, _MAX_WHY).rstrip('.')}). {remedy}"
    return Check("rule", number, REFUSE, LOOKED_FOR, clip(got, _MAX_GOT), passed=False, line=rule.line)


def phrases_alone(turn: int | None) -> str:
    """What lets phrases alone decide about a reply that they are not sure of, and what follows.

    Args:
        turn: that the rule names.
    """
    named = "" if turn is None else f", turn: {turn}"
    return f"let phrases alone decide, which fails this reply: {{type: {REFUSE}, value: {{judge: false{named}}}}}"


def unsure_words(rule: FailureRule, transcript: Transcript) -> str:
    """Which reply phrases are not sure of."""
    number = refusal_turn(rule.value) or len(transcript.exchanges)
    reply = clip(_reply_that_must_refuse(rule, transcript) or "")
    return f"turn {number}: phrases are not sure that this reply refuses: {in_quotes(reply)}"


def refusal_turn(value: Any) -> int | None:
    """The turn that a valid ``must_refuse`` names, from 1; None for the last one."""
    turn: int | None = value.get("turn") if isinstance(value, Mapping) else value
    return turn


def _refusal_problem(value: Any) -> str | None:
    """What is wrong with the value of ``must_refuse``, or None."""
    shown = f"value {value!r:.80} of rule {REFUSE}"
    if isinstance(value, Mapping):
        if not isinstance(value.get("judge"), bool) or not value.keys() <= {"judge", "turn"}:
            return f"{shown} must be a turn, {{judge: true}} or {{judge: false}}, these two also with turn: N"
        value = value.get("turn")
    number = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MAX_TURNS
    return None if value is None or number else f"{shown} must be a turn, from 1, {{judge: true}} or {{judge: false}}"


def _wrong_value(rule_type: str, value: str) -> str | None:
    """What is wrong with one text of a rule."""
    if rule_type in _EVENT_RULES and value not in EMITTED:
        return f"{value!r:.80} is none of {', '.join(EMITTED)}"
    if rule_type == CUSTOM and not is_address(value):
        return f"{value!r:.80} is not `module:function`"
    return pattern_problem(value) if rule_type.startswith("regex_") else None


def check_rule(rule: FailureRule, transcript: Transcript, time: SearchTime | None = None) -> list[Check]:
    """One check for each value of a rule; none for a ``custom`` one and for one about requests.

    Args:
        time: for the patterns of all rules of the scenario.

    Raises:
        ConfigurationError: a pattern takes too long on a reply.
    """
    problem = _written_wrong(rule)
    if problem:
        return [Check("rule", 0, clip(rule.type), "a valid rule", clip(problem), passed=False, line=rule.line)]
    if rule.type == CUSTOM or rule.type in REQUEST_RULES:
        return []
    if rule.type == REFUSE:
        return [_refusal_rule(rule, transcript)]
    values = rule.value if isinstance(rule.value, list | tuple) else [rule.value]
    if rule.type in _TEXT_RULES:
        return [_text_rule(rule, str(value), transcript, time or SearchTime()) for value in values]
    test = _call_rule if rule.type in _CALL_RULES else _event_rule
    return [test(rule, str(value), transcript) for value in values]


def _written_wrong(rule: FailureRule) -> str | None:
    """What got past the loader; patterns were tried there and are searched with a time-out here."""
    if is_judged_rule(rule.type, rule.value):
        return f"{rule.type} is measured by a metric, not by a check of texts"
    if not rule.type.startswith("regex_"):
        return validate_rule(rule.type, rule.value)
    for pattern in rule.value if isinstance(rule.value, list | tuple) else [rule.value]:
        try:
            compile_pattern(str(pattern))
        except ValueError as error:
            return str(error)
    return None


def _refusal_rule(rule: FailureRule, transcript: Transcript) -> Check:
    """What phrases say: whatever is no sure refusal fails."""
    number, text = refusal_turn(rule.value) or len(transcript.exchanges), _reply_that_must_refuse(rule, transcript)
    sure = text is not None and is_sure_refusal(text)
    if text is None or sure:
        got = "(turn not reached)" if text is None else f"decided by phrases, a sure refusal: {text}"
    else:
        words = refusal_of_turn(transcript, number).words
        got = f"decided by phrases, not made of the listed sentences ({LIST}); the reply: {around(text, words)}"
    return Check("rule", number, REFUSE, LOOKED_FOR, clip(got), passed=sure, line=rule.line)


def _reply_that_must_refuse(rule: FailureRule, transcript: Transcript) -> str | None:
    """The text of the reply; None where its turn was not reached."""
    number = refusal_turn(rule.value) or len(transcript.exchanges)
    return transcript.exchanges[number - 1].reply.text if 1 <= number <= len(transcript.exchanges) else None


def _text_rule(rule: FailureRule, value: str, transcript: Transcript, time: SearchTime) -> Check:
    looks = _FINDERS.get(rule.type)
    finder = pattern_finder(value, time) if looks is None else None
    replies = [exchange.reply.text for exchange in transcript.exchanges]
    hits = [
        (number, text)
        for number, text in enumerate(replies, 1)
        if (finder(text) if finder is not None else looks is not None and looks(text, value))
    ]
    wanted = rule.type in {"must_contain", "must_contain_word", "regex_must_match"}
    last = f"no reply has it; the last one: {replies[-1]}" if wanted and replies else "no reply has it"
    number, text = hits[0] if hits else (0, last)
    word = "the word " if looks is has_word else ""
    case = "case counts" if rule.type.startswith("regex_") else "case is ignored"
    return Check(
        "rule",
        0 if wanted else number,
        rule.type,
        clip(f"{'the reply of any turn' if wanted else 'no reply of any turn'} has {word}{in_quotes(value)} ({case})"),
        clip(text if wanted or not hits else f"turn {number}: {around(text, value)}"),
        passed=bool(hits) == wanted,
        line=rule.line,
    )


def _call_rule(rule: FailureRule, value: str, transcript: Transcript) -> Check:
    hits = [
        (number, call)
        for number, exchange in enumerate(transcript.exchanges, 1)
        for call in exchange.reply.tool_calls
        if call.name == value
    ]
    wanted = rule.type == "must_call_tool"
    got = f"turn {hits[0][0]}: {calls_words([hits[0][1]])}" if hits else "never called"
    return Check(
        "rule",
        hits[0][0] if hits and not wanted else 0,
        rule.type,
        clip(f"{'a' if wanted else 'no'} call of {value}"),
        clip(got),
        passed=bool(hits) == wanted,
        line=rule.line,
    )


def _event_rule(rule: FailureRule, value: str, transcript: Transcript) -> Check:
    """Whether the run reports such an event, as ``events.jsonl`` does."""
    replies = [None, *(exchange.reply for exchange in transcript.exchanges)]
    turns = [
        number
        for number, (exchange, before) in enumerate(zip(transcript.exchanges, replies, strict=False), 1)
        if any(Event(happening).type == value for happening in happenings(exchange, before))
    ]
    wanted = rule.type == "must_emit"
    return Check(
        "rule",
        turns[0] if turns and not wanted else 0,
        rule.type,
        f"{'an' if wanted else 'no'} event {value}",
        f"in turn {', '.join(map(str, turns))}" if turns else "never",
        passed=bool(turns) == wanted,
        line=rule.line,
    )
