"""Parses Python that came out of a model, within bounds; it is never run."""

import ast
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

MOST_CHARACTERS = 100_000
TOO_DEEP = "nested too deep to be parsed"


def parse_python(source: str) -> ast.Module:
    """The tree of a source.

    Raises:
        ValueError: it is too long, nested too deep, or no Python; a ``SyntaxError`` becomes one too.
    """
    if len(source) > MOST_CHARACTERS:
        msg = f"{len(source):,} characters; at most {MOST_CHARACTERS:,} are parsed"
        raise ValueError(msg)
    try:
        with quiet_source():
            return ast.parse(source)
    except SyntaxError as error:
        raise ValueError(str(error) or type(error).__name__) from error
    except (RecursionError, MemoryError) as error:
        raise ValueError(TOO_DEEP) from error


@contextmanager
def quiet_source() -> Iterator[None]:
    """Python's own warnings about the source, such as of its escapes, are kept back: they are not what is asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield
