"""JMESPath expressions of a configuration: compiled when it is loaded, with bounded cost.

Both the expression and the answer come from the change, so neither may cost unbounded work. JMESPath has no loops and
no access to parents; what remains is copying, as in ``[@, @][] | [@, @][]``. How often an expression can copy its input
follows from its structure, and is bounded.
"""

import json
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

MOST_CHARACTERS = 500
MOST_COPIES = 32
_ESCAPING = 8
"""Growth factor of ``to_string``, which escapes nested strings again."""
_SUMS = frozenset({"multi_select_list", "multi_select_dict"})


class ExpressionError(ValueError):
    """An expression is invalid, or does not fit its input."""


class Expression:
    """A compiled expression.

    Args:
        text: JMESPath, at most 500 characters.

    Raises:
        ExpressionError: it is not valid, or could repeat its input too often.
    """

    def __init__(self, text: str) -> None:
        if len(text) > MOST_CHARACTERS:
            raise ExpressionError(f"a JMESPath of {len(text):,} characters; at most {MOST_CHARACTERS:,} are allowed")
        try:
            self._compiled = jmespath.compile(text)
            copies = _copies(self._compiled.parsed)
        except (JMESPathError, ValueError, TypeError, RecursionError) as problem:
            # JMESPath shows the position on further lines.
            raise ExpressionError(f"{text!r} is not a JMESPath: {_first_line(problem)}") from None
        if copies > MOST_COPIES:
            raise ExpressionError(f"{text!r} can repeat its input more than {MOST_COPIES} times; write it shorter")
        self.text = text

    def search(self, data: Any) -> Any:
        """The result of the expression on decoded JSON, as JSON; None if it finds nothing.

        Raises:
            ExpressionError: a function of it does not fit the data.
        """
        try:
            found = self._compiled.search(data)
            # A copy without shared parts, and nothing but JSON.
            return json.loads(json.dumps(found, allow_nan=False))
        except (JMESPathError, ArithmeticError, AttributeError, LookupError, RecursionError) as problem:
            raise ExpressionError(f"{self.text!r} does not fit the data: {_first_line(problem)}") from None
        except (TypeError, ValueError) as problem:
            raise ExpressionError(f"{self.text!r} does not give JSON: {_first_line(problem)}") from None


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip() or type(problem).__name__).splitlines()[0][:200]


def _copies(node: Mapping[str, Any]) -> int:
    """The maximum number of copies of its input that a part of an expression can give."""
    counts = [_copies(child) for child in node.get("children", ()) if isinstance(child, dict)]
    kind = node["type"]
    if kind in _SUMS:
        return max(sum(counts), 1)
    if kind == "function_expression":
        return max(sum(counts), math.prod(counts), 1) * (_ESCAPING if node["value"] == "to_string" else 1)
    combine = _COMBINED.get(kind, math.prod)
    return max(combine(counts), 1) if counts else 1


_COMBINED: Mapping[str, Callable[[list[int]], int]] = MappingProxyType(
    {"comparator": max, "and_expression": max, "or_expression": max, "not_expression": max}
)
