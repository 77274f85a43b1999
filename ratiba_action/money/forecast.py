"""What a run is expected to cost, which scenarios the budget covers, and what to do when it is used up."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal

from ratiba_action.model.conversation import ModelCall, Party, Usage
from ratiba_action.model.values import Usd
from ratiba_action.money.budget import Limit, ModelCosts
from ratiba_action.money.pricing import show_usd, to_cents
from ratiba_action.util.text import plural

_BYTES_PER_TOKEN = 4
_OVERHEAD_TOKENS = 2_300
_MIN_OUTPUT = 1_024
_NOTHING = Decimal(0)
UNKNOWN = Usage(6_000, 1_000)
"""A call of which no recording has the size."""

Bound = Callable[[int, int], Usd]
"""The most that a call with so many tokens of input and output can cost."""


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """One call that a conversation is expected to make.

    Args:
        cost: what it costs, by its recorded or a usual size.
        recorded: whether a recording has its size.
        learned: whether other calls to its model do.
    """

    model: str
    cost: Usd
    reserved: Usd
    recorded: bool
    learned: bool = False

    def after(self, costs: ModelCosts | None) -> "ExpectedCall":
        """The same call after others to its model: none is taken to be dearer, and one of no known size is as usual.

        Args:
            costs: of the calls so far; None where too few were made.
        """
        if costs is None:
            return self
        cost = min(self.cost, costs.dearest) if self.recorded else costs.mean
        return replace(self, cost=cost, reserved=min(self.reserved, costs.dearest), learned=True)


def expected_call(model: str, usage: Usage | None, price: Callable[[Usage], Usd], bound: Bound) -> ExpectedCall:
    """A call of this size: its input is set aside by bytes, its output by its limit.

    Args:
        usage: its recorded tokens; None where no recording has them.
        price: of tokens of the model.
    """
    tokens = usage or UNKNOWN
    prompt_tokens = tokens.input_tokens + tokens.cache_read_tokens + tokens.cache_write_tokens
    max_input, max_output = (
        prompt_tokens * _BYTES_PER_TOKEN + _OVERHEAD_TOKENS,
        max(tokens.output_tokens, _MIN_OUTPUT),
    )
    return ExpectedCall(model, price(tokens), bound(max_input, max_output), usage is not None)


def envelope(calls: Sequence[ExpectedCall]) -> Usd:
    """The money without which a conversation could stand still: all of its calls, and the dearest at its bound.

    Calls come one after the other, so that at any moment the earlier ones have cost about what they did when they
    were recorded, and the next one is reserved at the most that it can cost.
    """
    expected = sum((call.cost for call in calls), _NOTHING)
    gap = max((call.reserved - call.cost for call in calls), default=_NOTHING)
    return expected + max(gap, _NOTHING)


@dataclass(frozen=True, slots=True)
class Expected:
    """One conversation.

    Args:
        maximum: with its dearest call at its upper bound, which must be free for it to start.
    """

    scenario_id: str
    by_party: Mapping[Party, Usd]
    maximum: Usd

    @property
    def cost(self) -> Usd:
        """What it is expected to cost, over all parties."""
        return sum(self.by_party.values(), _NOTHING)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run is expected to cost, all parties but the cross-check, which takes what is left.

    Args:
        limits: every cap that the run is under, with what is gone of it.
        conversations: in the order in which they are begun.
        as_needed: models are called only where no recording fits.
        system_known: False when nothing says what the system's own calls cost.
    """

    limits: tuple[Limit, ...]
    conversations: tuple[Expected, ...]
    as_needed: bool = False
    system_known: bool = True

    @property
    def binding(self) -> Limit:
        """The cap with the least left, which the run meets first."""
        return min(self.limits, key=lambda limit: limit.left)

    @property
    def cost(self) -> Usd:
        """What all scenarios are expected to cost."""
        return sum((conversation.cost for conversation in self.conversations), _NOTHING)

    @property
    def maximum(self) -> Usd:
        """The same with the dearest call of all at its upper bound: with so much, none has to be left out."""
        return self.cost + max(
            (conversation.maximum - conversation.cost for conversation in self.conversations), default=_NOTHING
        )

    @property
    def by_party(self) -> Mapping[Party, Usd]:
        """What each party is expected to cost."""
        found: dict[Party, Usd] = {}
        for conversation in self.conversations:
            for party, usd in conversation.by_party.items():
                found[party] = found.get(party, _NOTHING) + usd
        return found

    @property
    def left_out(self) -> tuple[str, ...]:
        """Conversations that would not be begun, one after the other as what is left goes down."""
        spent, missing = _NOTHING, []
        for conversation in self.conversations:
            if spent + conversation.maximum > self.binding.left:
                missing.append(conversation.scenario_id)
            else:
                spent += conversation.cost
        return tuple(missing)


def with_refused(conversation: Expected, upper: Usd | None) -> Expected:
    """The conversation with room for a call that was refused, whatever else was expected of it.

    Args:
        upper: the most that the call could have cost; None where none was refused.
    """
    return replace(conversation, maximum=max(conversation.maximum, conversation.cost + (upper or _NOTHING)))


def without_paid(conversations: Sequence[Expected], calls: Iterable[ModelCall]) -> tuple[Expected, ...]:
    """What is still expected of conversations when some of their calls are paid for.

    Args:
        conversations: as they are expected to cost from their beginning.
        calls: of any conversation; those of the cross-check are not part of what is expected.
    """
    paid: defaultdict[tuple[str, Party], Usd] = defaultdict(Decimal)
    for call in calls:
        paid[call.scenario_id, call.party] += call.cost
    rest: list[Expected] = []
    for conversation in conversations:
        by_party: dict[Party, Usd] = {}
        for party, usd in conversation.by_party.items():
            used = min(usd, paid[conversation.scenario_id, party])
            paid[conversation.scenario_id, party] -= used
            by_party[party] = usd - used
        cost = sum(by_party.values(), _NOTHING)
        rest.append(
            Expected(
                conversation.scenario_id,
                by_party,
                cost + conversation.maximum - conversation.cost if cost else _NOTHING,
            )
        )
    return tuple(rest)


_CENT = Decimal("0.01")


def way_out(rest: Forecast) -> str | None:
    """Which cap to raise, what it is, and about how much the rest would have needed; None without a rest.

    Args:
        rest: the conversations that were not run to their end for want of money, and what their caps have left.
    """
    count = len(rest.conversations)
    if not rest.maximum:
        return None
    # What was reserved for other calls then may be free by now: room for both is enough in any case.
    short = [limit for limit in rest.limits if limit.left < rest.maximum]
    short = short or [replace(rest.binding, spent=rest.binding.cap)]
    caps = {limit.setting: limit.cap * limit.shares for limit in short}
    raises = [_raise(setting, cap, _enough(setting, short, rest.maximum)) for setting, cap in caps.items()]
    named = [next(limit for limit in rest.limits if limit.name == short_limit.name) for short_limit in short]
    left = ", ".join(
        f"{limit.name} has {show_usd(limit.left.quantize(_CENT, rounding=ROUND_FLOOR))} left" for limit in named
    )
    needed = f"need{'s' if count == 1 else ''} about {show_usd(to_cents(rest.maximum))}"
    return f"Raise {' and '.join(raises)}, or select fewer scenarios: {left}, and {plural(count, 'scenario')} {needed}."


def _enough(setting: str, short: Sequence[Limit], needed: Usd) -> Usd:
    """The cap that would have held everything."""
    return to_cents(
        max((limit.cap - limit.left + needed) * limit.shares for limit in short if limit.setting == setting)
    )


def _raise(setting: str, cap: Usd, minimum: Usd) -> str:
    variable = f"RATIBA_EVAL_{setting.upper().replace('-', '_')}"
    return f"{setting} ({variable}) from {show_usd(cap)} to about {show_usd(minimum)}"
