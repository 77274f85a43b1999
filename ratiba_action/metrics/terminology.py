"""Does the assistant say the terms of the house, and none of their rivals?"""

from typing import Annotated

from pydantic import Field

from ratiba_action.metrics.text.terminology import Catalogue, Term
from ratiba_action.metrics.turn_scores import TurnValue, mean_of_turns
from ratiba_action.model.canonical import digest
from ratiba_action.model.measurement import Case, Score
from ratiba_action.util.validation import StrictModel

__version__ = "1.0.0"

Form = Annotated[str, Field(min_length=1, max_length=200, pattern=r"[^\W_]")]


class TermBlock(StrictModel):
    """A term of the house, and what is said in its place."""

    canonical: Form
    rivals: Annotated[list[Form], Field(min_length=1, max_length=200)]
    aliases: Annotated[list[Form], Field(max_length=200)] = Field(default_factory=list)
    inflections: Annotated[list[Form], Field(max_length=200)] = Field(default_factory=list)


class CatalogueBlock(StrictModel):
    """The terms of a house in one language."""

    language: Annotated[str, Field(pattern=r"^[a-z]{2}$")]
    terms: Annotated[list[TermBlock], Field(min_length=1, max_length=1_000)]


class TerminologyMetric:
    """Implements ``Metric`` without a judge: the share of the replies that say no rival."""

    name = "TerminologyMetric"
    judged = False

    class Parameters(StrictModel):
        """What the scenario tells it."""

        catalogue: CatalogueBlock = Field(description="a file `*.terms.yaml`, named from the scenario's folder")

    def __init__(self, parameters: Parameters) -> None:
        block = parameters.catalogue
        self.version = f"{__version__}+{digest(block.model_dump())[:12]}"
        self._catalogue = Catalogue(
            block.language,
            [
                Term(term.canonical, tuple(term.rivals), tuple(term.aliases), tuple(term.inflections))
                for term in block.terms
            ],
        )

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score each reply that says anything."""
        values, customer = [], list[str]()
        for number, exchange in enumerate(case.transcript.exchanges, 1):
            customer.append(exchange.turn.user or "")
            if exchange.reply.text.strip():
                uses = self._catalogue.rivals_in(exchange.reply.text, customer)
                detail = ", ".join(f"says {use.said!r} for {use.canonical!r}" for use in uses)
                values.append(TurnValue(number, float(not uses), detail))
        return mean_of_turns(
            self.name, self.version, threshold, values, "Give the conversation a turn that the system answers."
        )
