"""A reply cut into sentences, each to be verified alone. The same reply always gives the same sentences."""

import re

_SHORT = r"(?:Dr|Mr|Mrs|Ms|Prof|No|Na|Bi|Bw|Tel|KSh|Ksh|KES|approx|e\.g|i\.e|vs|etc|n\.k)"
_END = re.compile(r"(?<=[.!?…])\s+(?=[^a-z\s])|\n+")
_ABBREVIATED = re.compile(rf"\b{_SHORT}\.$")
_BULLET = re.compile(r"^\s*(?:[-*•\N{EN DASH}]|\d{1,2}[.)])\s+")
_WORD = re.compile(r"[^\W_]")


def split_claims(text: str) -> tuple[str, ...]:
    """The sentences of a text that may claim something: no questions, and none without a letter or digit.

    A sentence ends at a full stop, exclamation mark, question mark or ellipsis before white space and no small
    letter, and at the end of a line. Numbers such as 3.5 and common abbreviations do not end one.
    """
    sentences: list[str] = []
    for piece in _END.split(text):
        if sentences and _ABBREVIATED.search(sentences[-1]):
            sentences[-1] = f"{sentences[-1]} {piece.strip()}"
        else:
            sentences.append(_BULLET.sub("", piece).strip())
    return tuple(one for one in sentences if _WORD.search(one) and not one.rstrip("\"')]").endswith("?"))
