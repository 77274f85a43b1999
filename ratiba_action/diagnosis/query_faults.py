"""Small faults of SQL in a program's texts: a condition is dropped, a boundary or a connective is another one.

An emptied query fails in every scenario that runs it, and says nothing about its conditions. The faults of a clause are
those of Tuya, Suárez-Cabal and de la Riva, "Mutating database queries" (Information and Software Technology 49(4),
2007): logical connectors, relational operators and conditions that always hold.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

_QUERY = re.compile(
    r"\s*(?:--[^\n]*\n\s*)*(?:select|insert|update|delete|merge|with)\b(?=.*\s\S)", re.IGNORECASE | re.DOTALL
)
INSERTED = "\0"
"""What stands for an inserted value in the text of an f-string."""
_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\$.*?\$\$)
    |(?P<sentence>(?<=[^\W\d])[.!?](?=\s|\Z))
    |(?P<place>%\(\w+\)s|%[sbt]|:\w+|\$\d+|\?)
    |(?P<value>\0|\{\w*\})
    |(?P<name>(?<=\.)[^\W\d]\w*|(?:left|right)(?=\s*\()|distinct\s+on\b)
    |(?P<upsert>on\s+(?:conflict(?=\s*\(|\s+(?:on|do)\b)|(?:constraint|duplicate)\b))
    |(?P<word>[^\W\d]\w*)
    |(?P<operator>[-+*/<>=~!@#&|^]*[*/<>=~!@#&|^]|[-+])
    |(?P<bracket>[()[\]])
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""A name is a word that is no keyword where it stands. The sign of a number is no part of the operator before it."""
_CLOSING = {"(": ")", "[": "]", "case": "end"}
_CONDITION = frozenset({"where", "having", "on", "when"})
_END = re.compile(
    "where|having|on|when|then|group|order|limit|offset|fetch|for|returning|union|except|intersect|window|join|inner|"
    "left|right|full|cross|natural|set|select|as"
)
_COMPARING = frozenset({"is", "in", "like", "ilike", "similar", "between", "exists", "not", "case"})
_BEFORE_OPERAND = _COMPARING | {"and", "or", "any", "all", "from", "to", "zone", "when", "then", "else"}
_BOUNDARIES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "=": "<>", "<>": "=", "!=": "="}
_CONNECTIVES = {"and": "OR", "or": "AND"}


class QueryFault(NamedTuple):
    """One small fault of a query.

    Args:
        position: of the first character that it changes.
        before: the part that it is about.
        after: what stands there instead.
        text: the whole query with it.
    """

    position: int
    before: str
    after: str
    text: str


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    begin: int
    depth: int

    @property
    def word(self) -> str:
        return self.text.lower() if self.kind == "word" else ""


def is_query(text: str) -> bool:
    """Whether a text is a statement of SQL that reads or writes rows, and no sentence."""
    tokens = _tokens(text) if _QUERY.match(text) else []
    return any(token.word in {"from", "into", "set"} for token in tokens) and not any(
        token.kind == "sentence" for token in tokens
    )


def query_faults(text: str) -> Iterator[QueryFault]:
    """Each condition that always holds, each boundary and each ``AND`` or ``OR`` that is the other one.

    Places of parameters stay, so that a fault is never found by their number.

    Args:
        text: of one statement; ``INSERTED`` or a name in braces stands for an inserted value.
    """
    found = (fault for clause in _clauses(_tokens(text)) for fault in _faults(text, clause))
    yield from {fault.text: fault for fault in found}.values()


def _faults(text: str, clause: Sequence[_Token]) -> Iterator[QueryFault]:
    """Those of a condition, and of the conditions in its brackets; none of what is prose."""
    level = clause[0].depth
    connectives = [
        number for number in range(len(clause)) if clause[number].depth == level and _connects(clause, number)
    ]
    terms = [(clause[before + 1 : after], before, after) for before, after in pairwise([-1, *connectives, len(clause)])]
    if any(
        sum(token.depth == level and token.kind == "word" for token in term) > 1 and not _compares(term)
        for term, *_ in terms
    ):
        return
    for number in connectives:
        yield _replaced(text, clause[number], _CONNECTIVES[clause[number].word])
    for token in clause:
        if token.kind == "operator" and token.text in _BOUNDARIES:
            yield _replaced(text, token, _BOUNDARIES[token.text])
    for whole, before, after in terms:
        if term := _without_appended(whole):
            by_or = any(0 <= side < len(clause) and clause[side].word == "or" for side in (before, after))
            yield _without(text, term, "AND FALSE" if by_or else "OR TRUE")
        for deeper, tokens in groupby(whole, lambda token: token.depth > level):
            inside = list(tokens)
            own = [number for number, token in enumerate(inside) if token.depth == inside[0].depth]
            if deeper and any(_connects(inside, number) for number in own) and not any(_ends(inside[n]) for n in own):
                yield from _faults(text, inside)


def _compares(term: Sequence[_Token]) -> bool:
    return any(token.kind == "operator" or token.word in _COMPARING for token in term)


def _without_appended(term: Sequence[_Token]) -> Sequence[_Token]:
    """A condition up to an inserted value that may be the next clause; nothing where that may be its operator."""
    for number, (before, token) in enumerate(pairwise(term), start=1):
        apart = before.kind not in {"word", "name"} or before.begin + len(before.text) < token.begin
        operand = before.kind not in {"operator", "sentence"} and before.text not in {"(", "[", ",", "."}
        if token.kind == "value" and apart and operand and before.word not in _BEFORE_OPERAND:
            complete = number == len(term) - 1 or _compares(term[:number])
            return term[:number] if complete else ()
    return term


def _tokens(text: str) -> list[_Token]:
    found, opened = list[_Token](), list[str]()
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        mark = match[0].lower() if kind in {"word", "bracket"} else ""
        if opened and mark == opened[-1]:
            opened.pop()
        if kind != "space":
            found.append(_Token(kind, match[0], match.start(), len(opened)))
        if mark in _CLOSING:
            opened.append(_CLOSING[mark])
    return found


def _clauses(tokens: Sequence[_Token]) -> Iterator[list[_Token]]:
    """The tokens of each condition: from its word to the next word of that depth that ends it."""
    of_index = False
    for number, token in enumerate(tokens):
        of_index = token.kind == "upsert" or (of_index and token.word != "do")
        if token.word not in _CONDITION or of_index or (token.word == "when" and not _is_searched(tokens, number)):
            continue
        clause = list[_Token]()
        for following in tokens[number + 1 :]:
            if following.depth < token.depth or (following.depth == token.depth and _ends(following)):
                break
            clause.append(following)
        if clause:
            yield clause


def _ends(token: _Token) -> bool:
    """Whether a condition ends before a token of its depth."""
    return token.text in {",", ";"} or token.kind == "upsert" or _END.fullmatch(token.word) is not None


def _is_searched(tokens: Sequence[_Token], number: int) -> bool:
    """Whether a ``WHEN`` has a condition: not one of ``MERGE``, nor the value of a ``CASE status WHEN``."""
    opening = next((each for each in reversed(range(number)) if tokens[each].depth < tokens[number].depth), 0)
    return tokens[opening].word == "case" and tokens[opening + 1].word == "when"


def _connects(clause: Sequence[_Token], number: int) -> bool:
    """Whether a word is a connective, and not the ``AND`` of a ``BETWEEN``."""
    token = clause[number]
    if token.word not in _CONNECTIVES:
        return False
    earlier = [each.word for each in clause[:number] if each.depth == token.depth and each.word in {"and", "between"}]
    return token.word == "or" or not earlier or earlier[-1] != "between"


def _replaced(text: str, token: _Token, after: str) -> QueryFault:
    end = token.begin + len(token.text)
    return QueryFault(token.begin, token.text, after, text[: token.begin] + after + text[end:])


def _without(text: str, term: Sequence[_Token], added: str) -> QueryFault:
    begin, end = term[0].begin, term[-1].begin + len(term[-1].text)
    found = f"({text[begin:end]} {added})"
    return QueryFault(begin, text[begin:end], found, text[:begin] + found + text[end:])
