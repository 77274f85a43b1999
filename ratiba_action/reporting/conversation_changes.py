"""What changed in words: base and head of a conversation turn by turn, with the words that differ."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import Any, Literal

from ratiba_action.model.comparison import ComparedTurn, Comparison, OutcomeChange
from ratiba_action.model.conversation import ToolCall

Kind = Literal["same", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Some words of a text, and whether both sides have them."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was said or done in a turn, on both sides.

    Args:
        what: ``customer``, ``event``, ``assistant``, ``tool``, ``result``, ``state``, ``payment`` or ``answer``.
        base: as the base has it; None if it has nothing of the kind.
    """

    what: str
    base: tuple[Piece, ...] | None
    head: tuple[Piece, ...] | None

    @property
    def same(self) -> bool:
        """Whether both sides have the same."""
        return self.base == self.head


@dataclass(frozen=True, slots=True)
class TurnChange:
    """One turn in which something differs, or several equal ones.

    Args:
        first: number of the turn, from 1.
        last: number of the last one; more than ``first`` only for equal turns.
        lines: what was said and done; empty for equal turns.
    """

    first: int
    last: int
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationChange:
    """A conversation on base and head.

    Args:
        direction: ``newly failing``, ``newly passing``, ``still failing`` or ``still passing``.
        flipped: whether its outcome changed.
        turns: in order; empty if nothing was said on either side.
        whole: whether tool calls, states and messages are known besides the replies.
        omitted: how many further turns there are.
    """

    scenario_id: str
    direction: str
    flipped: bool
    turns: tuple[TurnChange, ...]
    whole: bool
    omitted: int = 0

    @property
    def differs(self) -> bool:
        """Whether any turn differs."""
        return any(turn.lines for turn in self.turns)


_TOKEN = re.compile(r"\d+(?:[.,:/T-]\d+)*(?!\w)|\w+(?:['\u2019-]\w+)*|\s+|.", re.DOTALL)
"""A number or time such as ``3,500`` or ``2026-06-12T08:00``, a word such as ``ng'ombe``, spaces, or any character."""

_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?\n]+\s*|\Z)")

_MAX_MATCHES = 4_000
"""Pairs of equal tokens of both sides; the time of difflib grows with them, and faster where a text repeats itself."""

_MIN_SHARED = 0.2
"""Share of the words that must be the same; with less, alternating single words would be unreadable."""


def word_diff(base: str, head: str) -> tuple[Piece, ...]:
    """Both texts as pieces: what is kept and removed gives the base, what is kept and added gives the head.

    Between what both texts begin and end with, texts that are too long for words are compared by sentences.
    """
    ours, theirs = _TOKEN.findall(base), _TOKEN.findall(head)
    start, end = _ends(ours, theirs)
    before, after = ours[:start], ours[len(ours) - end :]
    middle = _middle(ours[start : len(ours) - end], theirs[start : len(theirs) - end])
    found = [("same", "".join(before)), *middle, ("same", "".join(after))]
    if _shared_words(found) < _MIN_SHARED:
        found = [("removed", base), ("added", head)]
    return _joined(found)


_Found = list[tuple[Kind, str]]


def _ends(base: Sequence[str], head: Sequence[str]) -> tuple[int, int]:
    """How many tokens both begin with, and how many of the others both end with."""
    start = _shared(zip(base, head, strict=False))
    return start, _shared(zip(reversed(base[start:]), reversed(head[start:]), strict=False))


def _shared(pairs: Iterable[tuple[str, str]]) -> int:
    count = 0
    for ours, theirs in pairs:
        if ours != theirs:
            break
        count += 1
    return count


def _middle(base: Sequence[str], head: Sequence[str]) -> _Found:
    """By words; by sentences where these are too many to compare; as a whole where those are."""
    for ours, theirs in ((base, head), (_sentences(base), _sentences(head))):
        if _matches(ours, theirs) <= _MAX_MATCHES:
            return _compared(ours, theirs)
    return [("removed", "".join(base)), ("added", "".join(head))]


def _sentences(tokens: Sequence[str]) -> list[str]:
    return [sentence for sentence in _SENTENCE.findall("".join(tokens)) if sentence]


def _matches(base: Sequence[str], head: Sequence[str]) -> int:
    ours, theirs = Counter(base), Counter(head)
    return sum(count * theirs[token] for token, count in ours.items() if not token.isspace())


def _compared(base: Sequence[str], head: Sequence[str]) -> _Found:
    found: _Found = []
    # White space is junk: it must not hold unrelated words together.
    for tag, low, high, start, end in SequenceMatcher(str.isspace, base, head, autojunk=False).get_opcodes():
        if tag == "equal":
            kept = "".join(base[low:high])
            # A space between two changes would tear each into single words.
            found += [("same", kept)] if kept.strip() else [("removed", kept), ("added", kept)]
        else:
            found += [("removed", "".join(base[low:high])), ("added", "".join(head[start:end]))]
    return found


def _joined(found: Iterable[tuple[Kind, str]]) -> tuple[Piece, ...]:
    """The pieces in order, neighbours of a kind as one, what was removed before what was added."""
    pieces: list[Piece] = []
    for same, group in groupby(filter(lambda piece: piece[1], found), key=lambda piece: piece[0] == "same"):
        texts = list(group)
        kinds: tuple[Kind, ...] = ("same",) if same else ("removed", "added")
        for kind in kinds:
            text = "".join(text for of, text in texts if of == kind)
            pieces += [Piece(kind, text)] if text else []
    return tuple(pieces)


def _shared_words(found: _Found) -> float:
    """The share of the longer side's visible characters that both sides have; 1 where that has none."""
    sizes = {"same": 0, "removed": 0, "added": 0}
    for kind, text in found:
        sizes[kind] += sum(map(len, text.split()))
    whole = sizes["same"] + max(sizes["removed"], sizes["added"])
    return sizes["same"] / whole if whole else 1.0


_MAX_TURNS = 30
_LONG = 600
_AROUND = 120
_MAX_CHANGED = 2_000
_MAX_LINES = 100


def sides(base: str | None, head: str | None) -> tuple[tuple[Piece, ...] | None, tuple[Piece, ...] | None]:
    """Both sides of a text, each with its own pieces; long ones are shortened, which they say.

    Args:
        base: a text; None if there is none.
    """
    if base is None or head is None:
        alone = [None if text is None else _shortened((Piece(kind, text),)) for text, kind in _kinds(base, head)]
        return alone[0], alone[1]
    if base == head:
        return (same := _shortened(_pieces("same", base))), same
    pieces = _shortened(word_diff(base, head))
    return tuple(piece for piece in pieces if piece.kind != "added"), tuple(
        piece for piece in pieces if piece.kind != "removed"
    )


def _kinds(base: str | None, head: str | None) -> tuple[tuple[str | None, Kind], tuple[str | None, Kind]]:
    return (base, "removed"), (head, "added")


def _pieces(kind: Kind, text: str) -> tuple[Piece, ...]:
    return (Piece(kind, text),) if text else ()


def _shortened(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The pieces, with the middle of long unchanged parts and the end of long changed ones left out."""
    return tuple(replace(piece, text=_short(piece)) for piece in pieces)


def _short(piece: Piece) -> str:
    text = piece.text
    if piece.kind != "same":
        omitted = len(text) - _MAX_CHANGED
        return text if omitted <= 0 else f"{text[:_MAX_CHANGED]} … ({omitted:,} more characters)"
    omitted = len(text) - 2 * _AROUND
    return text if len(text) <= _LONG else f"{text[:_AROUND]} … ({omitted:,} equal characters) … {text[-_AROUND:]}"


MAX_SHOWN = 50
"""Conversations that are shown turn by turn."""


def describe_changes(found: Comparison) -> tuple[ConversationChange, ...]:
    """What changed in words: newly failing and newly passing scenarios, then others whose conversation changed.

    Args:
        found: masked; what is cut here is masked already.
    """
    flips = (describe_change(change, flipped=True) for change in found.flips[:MAX_SHOWN])
    others = (describe_change(change, flipped=False) for change in found.changed[:MAX_SHOWN])
    # Of a base that was stored masked, a conversation may differ by its masks alone.
    return (*flips, *(change for change in others if change.differs))[:MAX_SHOWN]


def describe_change(change: OutcomeChange, *, flipped: bool) -> ConversationChange:
    """The conversation turn by turn; equal turns that follow each other are one entry.

    Args:
        change: masked; what is cut here is masked already.
        flipped: whether its outcome changed.
    """
    ended = "passing" if change.passes else "failing"
    whole = bool(change.base_turns or change.head_turns)
    base, head = (
        list(zip_longest(replies, of_turns))
        for replies, of_turns in (
            (change.base_replies, change.base_turns),
            (change.head_replies, change.head_turns),
        )
    )
    turns: list[TurnChange] = []
    for number, (ours, theirs) in enumerate(zip_longest(base, head), 1):
        if number > _MAX_TURNS:
            break
        if ours != theirs:
            turns.append(TurnChange(number, number, tuple(_lines(ours, theirs))))
        elif turns and not turns[-1].lines:
            turns[-1] = replace(turns[-1], last=number)
        else:
            turns.append(TurnChange(number, number))
    omitted = max(len(base), len(head)) - _MAX_TURNS
    direction = f"{'newly' if flipped else 'still'} {ended}"
    return ConversationChange(change.scenario_id, direction, flipped, tuple(turns), whole, max(omitted, 0))


_Turn = tuple[str | None, ComparedTurn | None] | None


def _lines(base: _Turn, head: _Turn) -> Iterator[Line]:
    (our_reply, ours), (their_reply, theirs) = base or (None, None), head or (None, None)
    # Where one side ended before this turn, the customer's words are no difference.
    asked = [turn for turn in (ours, theirs) if turn is not None]
    ours, theirs = ours or ComparedTurn(), theirs or ComparedTurn()
    if asked:
        yield from _line("customer", asked[0].user, asked[-1].user)
        yield from _line("event", _json_or_none(asked[0].event), _json_or_none(asked[-1].event))
    calls = [line for pair in aligned_calls(ours.tool_calls, theirs.tool_calls) for line in _call_lines(*pair)]
    yield from calls[:_MAX_LINES]
    if len(calls) > _MAX_LINES:
        yield from _line("tool", more := f"{len(calls) - _MAX_LINES} more lines", more)
    yield from _line("assistant", our_reply, their_reply)
    yield from _line("state", ours.state, theirs.state)
    yield from _line("payment", ours.payment, theirs.payment)
    yield from _line("answer", _json_or_none(ours.output), _json_or_none(theirs.output))


def _line(what: str, base: str | None, head: str | None) -> Iterator[Line]:
    if base is not None or head is not None:
        yield Line(what, *sides(base, head))


def _call_lines(base: ToolCall | None, head: ToolCall | None) -> Iterator[Line]:
    if base is None or head is None:
        yield from _line("tool", _call(base), _call(head))
        return
    names = list(dict.fromkeys([*base.args, *head.args]))
    ours, theirs = _call_pieces(base, head, names), _call_pieces(head, base, names)
    yield Line("tool", _marked(ours, "removed"), _marked(theirs, "added"))
    if base.output != head.output:
        yield from _line("result", _json(base.output), _json(head.output))


def aligned_calls(base: Sequence[ToolCall], head: Sequence[ToolCall]) -> list[tuple[ToolCall | None, ToolCall | None]]:
    """The calls of a turn side by side: equal names in equal order are pairs, the others stand alone."""
    names = [call.name for call in base], [call.name for call in head]
    if _matches(*names) > _MAX_MATCHES:
        return list(zip_longest(base, head))
    found: list[tuple[ToolCall | None, ToolCall | None]] = []
    for tag, low, high, start, end in SequenceMatcher(None, *names, autojunk=False).get_opcodes():
        if tag == "equal":
            found += zip(base[low:high], head[start:end], strict=True)
        else:
            found += [*((call, None) for call in base[low:high]), *((None, call) for call in head[start:end])]
    return found


def _call(call: ToolCall | None) -> str | None:
    if call is None:
        return None
    return f"{call.name}({', '.join(f'{name}={_json(value)}' for name, value in call.args.items())})"


def _call_pieces(call: ToolCall, other: ToolCall, names: Sequence[str]) -> Iterator[tuple[bool, str]]:
    """A call as texts, each with whether the other side has it too; arguments in the given order."""
    yield True, f"{call.name}("
    for number, name in enumerate(name for name in names if name in call.args):
        known = name in other.args
        yield True, ", " if number else ""
        yield known, f"{name}="
        yield known and other.args[name] == call.args[name], _json(call.args[name])
    yield True, ")"


def _marked(found: Iterable[tuple[bool, str]], kind: Kind) -> tuple[Piece, ...]:
    grouped = ((same, "".join(text for _, text in group)) for same, group in groupby(found, key=lambda part: part[0]))
    return _shortened([Piece("same" if same else kind, text) for same, text in grouped if text])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _json_or_none(value: Any) -> str | None:
    return None if value is None else _json(value)


_WORDS = 3
_LONGEST = 80
_ORDER = ("customer", "assistant", "answer", "event", "tool", "result", "state", "payment")


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """Where a conversation first differs; texts are not escaped, and short.

    Args:
        turn: its number, from 1.
        what: as in ``Line``.
        base: the words that differ with a few around them; empty where there are none.
    """

    turn: int
    what: str
    base: str
    head: str


def first_difference(change: ConversationChange) -> FirstDifference | None:
    """The first turn that differs; what was said in it counts before what was done.

    None if no turn differs, or one side ended before it, which the error or the assertions say.
    """
    for turn in change.turns:
        lines = [line for line in turn.lines if not line.same]
        if any(line.what == "assistant" and None in (line.base, line.head) for line in lines):
            return None
        if lines:
            line = min(lines, key=lambda line: _ORDER.index(line.what))
            return FirstDifference(turn.first, line.what, *_excerpts(_text(line.base), _text(line.head)))
    return None


def _text(pieces: Sequence[Piece] | None) -> str:
    return "".join(piece.text for piece in pieces or ())


def _excerpts(base: str, head: str) -> tuple[str, str]:
    ours, theirs = _TOKEN.findall(base), _TOKEN.findall(head)
    start, end = _ends(ours, theirs)
    return _excerpt(ours, start, end), _excerpt(theirs, start, end)


def _excerpt(tokens: Sequence[str], start: int, end: int) -> str:
    """The tokens between those that both sides have, and a few of these before and after."""
    low, high = max(0, start - 2 * _WORDS), min(len(tokens), len(tokens) - end + 2 * _WORDS)
    text = " ".join("".join(tokens[low:high]).split())
    cut = len(text) > _LONGEST
    text = text[:_LONGEST].rstrip() if cut else text
    return f"{'…' if low else ''}{text}{'…' if cut or high < len(tokens) else ''}" if text else ""
