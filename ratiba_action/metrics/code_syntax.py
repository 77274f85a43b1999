"""Can the code in the replies be parsed? It is read, never run."""

import json
from collections.abc import Callable, Mapping
from typing import Literal

from pydantic import Field

from ratiba_action.metrics.python_source import MAX_CHARACTERS, TOO_DEEP, code_blocks, parse_python
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.text import clip
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"

_MAX_LEVELS = 200
_SHOWN = 3


class CodeSyntaxMetric:
    """Implements ``Metric`` without a judge: the share of the code blocks of all replies that can be parsed.

    A conversation without a block of the language scores 0: code was asked for and none came.
    """

    name = "CodeSyntaxMetric"
    version = __version__
    judged = False

    class Parameters(StrictModel):
        """What the scenario may tell it."""

        language: Literal["python", "json", "yaml"] = Field(default="python", description="python, json or yaml")

    def __init__(self, parameters: Parameters) -> None:
        self._language = parameters.language

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score every block of every reply."""
        wrong = [
            (number, _problem(block, self._language))
            for number, exchange in enumerate(case.transcript.exchanges, 1)
            for block in code_blocks(exchange.reply.text, self._language)
        ]
        problems = [f"turn {number}: {clip(problem)}" for number, problem in wrong if problem]
        value = 1 - len(problems) / len(wrong) if wrong else 0.0
        reason = "; ".join(problems[:_SHOWN]) or f"{len(wrong)} blocks of {self._language} can be parsed"
        if not wrong:
            reason = f"no reply holds a block of {self._language}"
        return Score(self.name, self.version, value, threshold, judged=False, reason=reason)


def _problem(block: str, language: str) -> str:
    """What is wrong with a block, empty when nothing is."""
    if len(block) > MAX_CHARACTERS:
        return f"{len(block):,} characters; at most {MAX_CHARACTERS:,} are parsed"
    try:
        _PARSERS[language](block)
    except ValueError as error:
        return str(error) or type(error).__name__
    except (RecursionError, MemoryError):
        return TOO_DEEP
    return ""


def _yaml(block: str) -> None:
    import yaml  # not needed for the others

    depth = 0
    try:
        for event in yaml.parse(block, Loader=yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_LEVELS:
                raise ValueError(f"nested more than {_MAX_LEVELS} levels deep")
        for _ in yaml.compose_all(block, Loader=yaml.CSafeLoader):
            pass
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


_PARSERS: Mapping[str, Callable[[str], object]] = {"python": parse_python, "json": json.loads, "yaml": _yaml}
