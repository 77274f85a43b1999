"""What does a linter find in the Python of the replies? By pyflakes, which reads the code and never runs it."""

from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.python_source import TOO_DEEP, code_blocks, parse_python, quiet_source
from ratiba_action.metrics.turn_scores import TurnValue, mean_of_turns
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.text import clip
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"

Name = Annotated[str, Field(pattern=r"^[^\W\d]\w*$", max_length=200)]
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _LintFinding:
    line: int
    words: str


class CodeLintMetric:
    """Implements ``Metric`` without a judge: the share of the lines of code that pyflakes has nothing to say about.

    A line counts once, however much is found in it, and blank lines and comments count for nothing: so the value is
    from 0 to 1, and longer code does not score lower for being long. The value of a conversation is the mean over the
    replies with code; the blocks of one reply are read as one file, since the later ones use what the earlier ones
    define. Code that cannot be parsed scores 0, and so does a conversation without any: code was asked for and none
    came.

    Args:
        parameters: names that the code may use without defining them.
    """

    name = "CodeLintMetric"
    judged = False

    class Parameters(StrictModel):
        """What the scenario may tell it."""

        defined: Annotated[
            list[Name], Field(max_length=1_000, description="names that the code may use without defining them")
        ] = Field(default_factory=list)

    def __init__(self, parameters: Parameters) -> None:
        self._defined = frozenset(parameters.defined)
        self.version = f"{__version__}+pyflakes-{version('pyflakes')}"

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score the code of every reply that holds some."""
        values = [
            self._value(number, source)
            for number, exchange in enumerate(case.transcript.exchanges, 1)
            if _lines(source := "\n\n".join(code_blocks(exchange.reply.text, "python")))
        ]
        if not values:
            reason = "no reply holds any code of python"
            return Score(self.name, self.version, 0.0, threshold, judged=False, reason=reason)
        return mean_of_turns(self.name, self.version, threshold, values, "")

    def _value(self, turn: int, source: str) -> TurnValue:
        try:
            findings = _findings(source, self._defined)
        except ValueError as error:
            return TurnValue(turn, 0.0, f"cannot be parsed: {clip(str(error))}")
        lines, wrong = _lines(source), len({finding.line for finding in findings})
        listed = "; ".join(f"line {finding.line}: {clip(finding.words)}" for finding in findings[:_SHOWN])
        more = f"; {len(findings) - _SHOWN} more" if len(findings) > _SHOWN else ""
        return TurnValue(turn, max(0.0, 1 - wrong / lines), listed + more or "no finding")


def _lines(source: str) -> int:
    """Lines of code: neither blank nor a comment alone."""
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in source.splitlines())


def _findings(source: str, defined: frozenset[str]) -> list[_LintFinding]:
    """What pyflakes finds, in order of lines."""
    from pyflakes.checker import Checker  # only when it measures

    tree = parse_python(source)
    try:
        # It parses annotations that are written as strings, so that these may warn too.
        with quiet_source():
            messages = Checker(tree, builtins=defined, withDoctest=False).messages
    except (RecursionError, MemoryError) as error:
        raise ValueError(TOO_DEEP) from error
    found = [_LintFinding(message.lineno, str(message.message % message.message_args)) for message in messages]
    return sorted(found, key=lambda finding: finding.line)
