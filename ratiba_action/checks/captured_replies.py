"""The replies of a captured conversation, compared with those that came when its messages were sent again."""

import unicodedata
from collections.abc import Iterator

from ratiba_action.model.conversation import Transcript
from ratiba_action.model.measurement import Check
from ratiba_action.model.scenario import Scenario
from ratiba_action.util.clipping import clip
from ratiba_action.util.words import stream_safe

_SHOWN_BEFORE = 40


def check_replies(scenario: Scenario, transcript: Transcript) -> Iterator[Check]:
    """One check for each captured reply: the same text, but for white space and Unicode's spelling (NFKC).

    An empty captured reply is none: an event may have brought no answer.
    """
    for number, captured in enumerate(scenario.replies, 1):
        if not captured:
            continue
        reached = number <= len(transcript.exchanges)
        got = transcript.exchanges[number - 1].reply.text if reached else ""
        one, other = _normal(captured), _normal(got)
        start = max(0, _first_difference(one, other) - _SHOWN_BEFORE)
        line = scenario.turns[number - 1].line if number <= len(scenario.turns) else 0
        yield Check(
            "reply",
            number,
            "the captured reply",
            clip(one[start:]),
            clip(other[start:]) if reached else "(turn not reached)",
            passed=reached and one == other,
            line=line,
        )


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", stream_safe(text)).split())


def _first_difference(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
