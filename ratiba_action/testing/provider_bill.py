"""What the stand-ins for the providers charge: the oracle that our own books are held against."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from ratiba_action.core.model.conversation import Usage
from ratiba_action.core.pricing import ModelRates


@dataclass(frozen=True, slots=True)
class Charge:
    """One answer that was generated, whether or not it arrived."""

    model: str
    usage: Usage
    usd: Fraction


@dataclass(slots=True)
class Bill:
    """The charges of a provider, never rounded.

    Args:
        rates: prices by model; a model without any is charged at the ``other`` ones.
    """

    rates: Mapping[str, ModelRates] = field(default_factory=dict)
    other: ModelRates | None = None
    charges: list[Charge] = field(default_factory=list)

    @property
    def total(self) -> Fraction:
        """US dollars."""
        return sum((charge.usd for charge in self.charges), Fraction(0))

    def charge(self, model: str, usage: Usage) -> None:
        """Charge for an answer."""
        rates = self.rates.get(model, self.other)
        usd = Fraction(0) if rates is None else _price(rates, usage)
        self.charges.append(Charge(model, usage, usd))


def _price(rates: ModelRates, usage: Usage) -> Fraction:
    dollars = (
        Fraction(rates.input_per_million) * usage.input_tokens
        + Fraction(rates.output_per_million) * usage.output_tokens
        + Fraction(rates.cache_read_per_million) * usage.cache_read_tokens
        + Fraction(rates.cache_write_per_million) * usage.cache_write_tokens
    )
    return dollars / 1_000_000
