"""Whose production conversations may become scenarios, and the people whom their texts may name.

For which lines of business the masking floor is enough: ``seeds/000`` §4. It covers spas, salons and barbershops
fully; health and law need rules that nobody has written yet, so their conversations must not become scenarios.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import Field

from ratiba_action.errors import ConfigurationError, FileProblem, SuiteError, UsageError
from ratiba_action.production.conversation import ProductionConversation
from ratiba_action.util.strict_yaml import read_yaml
from ratiba_action.util.validation import StrictModel, validate

FLOOR_IS_ENOUGH = frozenset({"barbershop", "salon", "spa"})
"""Verticals whose conversations hold nothing that the floor does not know."""

_HEALTH = ("complaints and diagnoses", "treatments and prescriptions", "results and images", "names of insurers")
_MISSING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "dental": ("teeth and dental records", *_HEALTH),
        "physio": ("injuries and exercises", *_HEALTH),
        "medical": ("medical histories", *_HEALTH),
        "legal": ("case numbers and courts", "parties and witnesses", "offences and charges", "what a client confides"),
    }
)


def ensure_masking_rules(vertical: str) -> None:
    """Refuse a vertical for which masking rules are missing; call it before anything is read or written.

    Args:
        vertical: of the tenant; case and surrounding space make no difference.

    Raises:
        ConfigurationError: rules are missing, and which; or the vertical is empty or not known.
    """
    known = vertical.strip().casefold()
    if known in FLOOR_IS_ENOUGH:
        return
    if known in _MISSING:
        raise ConfigurationError(
            f"Conversations of the vertical {vertical!r} cannot become scenarios: masking rules are missing for "
            f"{'; '.join(_MISSING[known])}.",
            "Nothing was written. The rules have to be decided and written first; docs/masking.md says where.",
        )
    raise ConfigurationError(
        f"Conversations of the vertical {vertical!r:.60} cannot become scenarios: what identifies people "
        "there is not known.",
        f"Name one of {', '.join(sorted(FLOOR_IS_ENOUGH))}, for which the masking floor is enough.",
    )


@dataclass(frozen=True, slots=True)
class TenantFacts:
    """What is known of a tenant besides its traces.

    Args:
        vertical: line of business; empty where only its traces tell it.
        names: the identity table; None where there is none, which is not the same as one that lists nobody.
        language: of conversations whose trace tells none.
        promote: False leaves the tenant out, without a complaint.
    """

    vertical: str = ""
    names: tuple[str, ...] | None = field(default=None, repr=False)
    language: str = ""
    promote: bool = True


def why_blocked(conversation: ProductionConversation, tenants: Mapping[str, TenantFacts]) -> str:
    """Why a conversation must not become a scenario; empty when it may.

    Every vertical that is told has to be allowed, by the file of tenants and by the traces: where they differ, the
    stricter holds.

    Args:
        conversation: as it was in production.
        tenants: by id.
    """
    if not conversation.tenant:
        return "Its traces name no tenant_id, or several, so that it is not known what must be masked."
    facts = tenants.get(conversation.tenant, TenantFacts())
    verticals = sorted({*conversation.verticals, *([facts.vertical] if facts.vertical else [])})
    if not verticals:
        return (
            "Neither the trace nor the file of tenants names a vertical, so that it is not known what must be masked."
        )
    for vertical in verticals:
        try:
            ensure_masking_rules(vertical)
        except ConfigurationError as error:
            return str(error)
    if facts.names is None and not conversation.names:
        return (
            "There is no identity table: neither the trace has a customer_name nor the file of tenants has 'names', so "
            "that names of customers would stay. An empty list says that the texts name nobody."
        )
    return ""


def known_names(conversation: ProductionConversation, tenants: Mapping[str, TenantFacts]) -> tuple[str, ...]:
    """The identity table of a conversation."""
    facts = tenants.get(conversation.tenant, TenantFacts())
    return tuple(sorted({*conversation.names, *(facts.names or ())}))


_Name = Annotated[str, Field(min_length=1, max_length=200)]


class TenantBlock(StrictModel):
    """One tenant."""

    vertical: str = ""
    names: list[_Name] | None = None
    language: Annotated[str, Field(pattern=r"^([a-z]{2,3}|mixed)$")] | None = None
    promote: bool = True


class TenantFile(StrictModel):
    """All tenants by id. The file names customers, so it stays outside the repository."""

    tenants: dict[_Name, TenantBlock]


def read_tenants(path: Path) -> Mapping[str, TenantFacts]:
    """The tenants of a file.

    Raises:
        UsageError: it cannot be read.
        SuiteError: it is wrong; every problem.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"The file of tenants {str(path)!r} cannot be read: {error.strerror}.", "Name it with --tenants."
        ) from error
    document, problems = read_yaml(str(path), content)
    if document is not None:
        block, problems = validate(TenantFile, document)
        if block is not None:
            return {name: _facts(one) for name, one in block.tenants.items()}
    # The values at fault are not shown: they may name people, and a log is read by many.
    message = "not what a file of tenants holds; docs/feedback.md describes it"
    raise SuiteError([FileProblem(one.path, one.line, message) for one in problems])


def tenants_outside(name: str | None, repository: Path) -> Mapping[str, TenantFacts]:
    """The tenants of a file that is kept out of the checkout where it names people; none of no file.

    Raises:
        UsageError: it cannot be read, or lies where it might be committed.
        SuiteError: it is wrong; every problem.
    """
    if name is None:
        return {}
    tenants = read_tenants(Path(name))
    if Path(name).resolve().is_relative_to(repository) and any(one.names for one in tenants.values()):
        raise UsageError(
            f"The file of tenants {name!r} names people and lies in the checkout, where it might be committed.",
            "Keep it outside.",
        )
    return tenants


def _facts(block: TenantBlock) -> TenantFacts:
    names = None if block.names is None else tuple(block.names)
    return TenantFacts(block.vertical, names, block.language or "", block.promote)
