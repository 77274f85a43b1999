"""What a run is expected to cost, and which of its conversations the budget would hold; decides nothing."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from ratiba_action.model.conversation import ModelCall, Party
from ratiba_action.model.values import Usd
from ratiba_action.money.admission import Limit

_NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class Expected:
    """One conversation.

    Args:
        by_party: what it is expected to cost.
        most: with its dearest call at its upper bound, which must be free for it to start.
    """

    scenario_id: str
    by_party: Mapping[Party, Usd]
    most: Usd

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
        as_needed: models are asked only where no recording fits.
        system_known: False when nothing tells what the system's own calls cost.
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
        """What all conversations are expected to cost."""
        return sum((one.cost for one in self.conversations), _NOTHING)

    @property
    def most(self) -> Usd:
        """The same with the dearest call of all at its upper bound: with so much, none has to be left out."""
        return self.cost + max((one.most - one.cost for one in self.conversations), default=_NOTHING)

    @property
    def by_party(self) -> Mapping[Party, Usd]:
        """What each party is expected to cost."""
        found: dict[Party, Usd] = {}
        for one in self.conversations:
            for party, usd in one.by_party.items():
                found[party] = found.get(party, _NOTHING) + usd
        return found

    @property
    def left_out(self) -> tuple[str, ...]:
        """Conversations that would not be begun, one after the other as what is left goes down."""
        spent, missing = _NOTHING, []
        for one in self.conversations:
            if spent + one.most > self.binding.left:
                missing.append(one.scenario_id)
            else:
                spent += one.cost
        return tuple(missing)


def with_refused(one: Expected, upper: Usd | None) -> Expected:
    """The conversation with room for a call that was refused, whatever else was expected of it.

    Args:
        one: what is still expected.
        upper: the most that the call could have cost; None where none was refused.
    """
    return replace(one, most=max(one.most, one.cost + (upper or _NOTHING)))


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
    for one in conversations:
        by_party: dict[Party, Usd] = {}
        for party, usd in one.by_party.items():
            used = min(usd, paid[one.scenario_id, party])
            paid[one.scenario_id, party] -= used
            by_party[party] = usd - used
        cost = sum(by_party.values(), _NOTHING)
        rest.append(Expected(one.scenario_id, by_party, cost + one.most - one.cost if cost else _NOTHING))
    return tuple(rest)
