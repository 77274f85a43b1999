"""Small faults of SQL in a program's texts: a condition is dropped, a boundary or a connective is another one.

An emptied query fails in every scenario that runs it, and says nothing about its conditions. The faults of a clause are
those of Tuya, Suárez-Cabal and de la Riva, "Mutating database queries" (Information and Software Technology 49(4),
2007): logical connectors, relational operators and conditions that always hold.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

_QUERY = re.compile(
    r"\s*(?:--[^\n]*\n\s*)*(?:select|insert|update|delete|merge|with)\b(?=.*\s\S)", re.IGNORECASE | re.DOTALL
)
_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\$.*?\$\$)
    |(?P<place>%\(\w+\)s|%[sbt]|:\w+|\$\d+)
    |(?P<word>[^\W\d]\w*)
    |(?P<operator>[-+*/<>=~!@#&|^?]+)
    |(?P<bracket>[()[\];])
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_CONDITION = frozenset({"where", "having", "on", "when"})
_END = re.compile(
    "where|having|on|when|then|group|order|limit|offset|fetch|for|returning|union|except|intersect|window|join|inner|"
    "left|right|full|cross|natural|lateral|do|set|values|using"
)
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
    """Whether a text is a statement of SQL that reads or writes rows."""
    return _QUERY.match(text) is not None and any(token.word in {"from", "into", "set"} for token in _tokens(text))


def query_faults(text: str) -> Iterator[QueryFault]:
    """Each condition that always holds, each boundary and each ``AND`` or ``OR`` that is the other one.

    Places of parameters stay, so that a fault is never found by their number.

    Args:
        text: of one statement; what stands for an inserted value is any character outside SQL.
    """
    found = (fault for clause in _clauses(_tokens(text)) for fault in _faults(text, clause))
    yield from {fault.text: fault for fault in found}.values()


def _faults(text: str, clause: Sequence[_Token]) -> Iterator[QueryFault]:
    """Those of a condition, and of the conditions in its brackets."""
    level = min(token.depth for token in clause)
    connectives = [number for number, token in enumerate(clause) if token.depth == level and _connects(clause, number)]
    for number in connectives:
        yield _replaced(text, clause[number], _CONNECTIVES[clause[number].word])
    for token in clause:
        if token.kind == "operator" and token.text in _BOUNDARIES:
            yield _replaced(text, token, _BOUNDARIES[token.text])
    for before, after in pairwise([-1, *connectives, len(clause)]):
        term = clause[before + 1 : after]
        if not term:
            continue
        by_or = any(0 <= side < len(clause) and clause[side].word == "or" for side in (before, after))
        yield _without(text, term, "AND FALSE" if by_or else "OR TRUE")
        inside = [token for token in term if token.depth > level]
        if any(token.word in _CONNECTIVES for token in inside) and not any(each.word == "select" for each in inside):
            yield from _faults(text, inside)


def _tokens(text: str) -> list[_Token]:
    found, depth = list[_Token](), 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        depth -= kind == "bracket" and match[0] in ")]"
        if kind != "space":
            found.append(_Token(kind, match[0], match.start(), depth))
        depth += kind == "bracket" and match[0] in "(["
    return found


def _clauses(tokens: Sequence[_Token]) -> Iterator[list[_Token]]:
    """The tokens of each condition: from its word to the next word of that depth that ends it."""
    for number, token in enumerate(tokens):
        around = {each.word for each in tokens[max(number - 1, 0) : number + 3]}
        if token.word not in _CONDITION or around & {"conflict", "distinct", "matched"}:
            continue
        clause = list[_Token]()
        cases = 0
        for following in tokens[number + 1 :]:
            cases += (following.word == "case") - (following.word == "end")
            ends = following.depth == token.depth and _END.fullmatch(following.word) and not cases
            if ends or following.depth < token.depth or following.text == ";" or cases < 0:
                break
            clause.append(following)
        if clause:
            yield clause


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
