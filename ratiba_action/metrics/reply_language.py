"""Is each reply in the language that it has to be in, and how much of it is switched to another one?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field, model_validator

from ratiba_action.errors import ConfigurationError
from ratiba_action.metrics.turn_scores import TurnValue, mean_of_turns
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.language_detection import LanguageDetection
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"

Code = Annotated[str, Field(pattern=r"^[a-z]{2}$", description="ISO 639-1 code")]
_READ = 20_000
"""Characters of a reply that are read; its language shows long before."""
DECIDED = "Give the conversation a reply of three words or more."


class LanguageParameters(StrictModel):
    """What a scenario may tell a metric of languages."""

    languages: Annotated[list[Code], Field(min_length=2, max_length=75)] = Field(
        default_factory=lambda: ["sw", "en"], description="all languages that a reply may be in"
    )
    language: Code | None = Field(default=None, description="expected language of replies; default: the scenario's")

    @model_validator(mode="after")
    def _language_is_known(self) -> "LanguageParameters":
        if self.language is not None and self.language not in self.languages:
            raise ValueError(f"the language {self.language!r} is not one of the languages {self.languages!r}")
        return self


@dataclass(frozen=True, slots=True)
class ReplyLanguages:
    """A reply that is long enough to tell.

    Args:
        shares: of its words, by language.
    """

    turn: int
    expected: str
    shares: Mapping[str, float]

    @property
    def share(self) -> float:
        """Share of the words in the expected language."""
        return min(1.0, self.shares.get(self.expected, 0.0))

    @property
    def described(self) -> str:
        """The shares in words."""
        return ", ".join(
            f"{code} {share:.0%}" for code, share in sorted(self.shares.items(), key=lambda pair: -pair[1])
        )


def reply_languages(metric: str, case: Case, parameters: LanguageParameters) -> Iterator[ReplyLanguages]:
    """The replies whose language can be known, in order.

    Raises:
        ConfigurationError: a reply's expected language is not known, or is none that can be distinguished.
    """
    detection = LanguageDetection(tuple(parameters.languages))
    for number, exchange in enumerate(case.transcript.exchanges, 1):
        expected = exchange.turn.expect.language or parameters.language or case.scenario.language
        if expected not in parameters.languages:
            raise ConfigurationError(
                f"{metric} cannot detect replies in {expected!r}; it detects {parameters.languages!r}.",
                "Name the languages of the replies in `with: {languages: …, language: …}`.",
            )
        shares = detection.shares(exchange.reply.text[:_READ])
        if shares:
            yield ReplyLanguages(number, expected, shares)


def undecided(case: Case, decided: int) -> str:
    """How many replies were too short to tell, in words; empty for none."""
    short = len(case.transcript.exchanges) - decided
    return f"; {short} {'reply' if short == 1 else 'replies'} too short to tell" if short else ""


class ReplyLanguageMetric:
    """Implements ``Metric`` without a judge: the share of the replies whose words are mostly in their language."""

    name = "ReplyLanguageMetric"
    version = __version__
    judged = False

    class Parameters(LanguageParameters):
        """What the scenario may tell it."""

        min_share: Annotated[
            float,
            Field(
                gt=0, le=1, allow_inf_nan=False, description="minimum share of a reply's words in the expected language"
            ),
        ] = 0.5

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score each reply that is long enough to tell."""
        values = [
            TurnValue(
                reply.turn,
                float(reply.share >= self._parameters.min_share),
                f"expected {reply.expected}: {reply.described}",
            )
            for reply in reply_languages(self.name, case, self._parameters)
        ]
        score = mean_of_turns(self.name, self.version, threshold, values, DECIDED)
        return replace(score, reason=score.reason + undecided(case, len(values)))


class CodeSwitchMetric:
    """Implements ``Metric`` without a judge: 1 less the share of a reply's words in other languages, as a mean."""

    name = "CodeSwitchMetric"
    version = __version__
    judged = False
    Parameters = LanguageParameters

    def __init__(self, parameters: LanguageParameters) -> None:
        self._parameters = parameters

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score each reply that is long enough to tell."""
        values = [
            TurnValue(reply.turn, reply.share, reply.described)
            for reply in reply_languages(self.name, case, self._parameters)
        ]
        score = mean_of_turns(self.name, self.version, threshold, values, DECIDED)
        return replace(score, reason=score.reason + undecided(case, len(values)))
