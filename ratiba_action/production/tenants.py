"""Which tenants' conversations may become scenarios, and the names to mask in them.

The masking floor is sufficient for spas, salons and barbershops. Health and law need rules that
do not exist yet, so their conversations must not become scenarios.
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

FLOOR_SUFFICES = frozenset({"barbershop", "salon", "spa"})
"""Verticals for which the masking floor is sufficient."""

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
    """Refuse a vertical without sufficient masking rules; call this before anything is read or written.

    Args:
        vertical: of the tenant; case and surrounding space are ignored.

    Raises:
        ConfigurationError: rules are missing (says which), or the vertical is empty or unknown.
    """
    known = vertical.strip().casefold()
    if known in FLOOR_SUFFICES:
        return
    if known in _MISSING:
        raise ConfigurationError(
            f"Conversations of the vertical {vertical!r} cannot become scenarios: masking rules are missing for "
            f"{'; '.join(_MISSING[known])}.",
            "Nothing was written. Masking rules for this vertical must be written first.",
        )
    raise ConfigurationError(
        f"Conversations of the vertical {vertical!r:.60} cannot become scenarios: it is unknown what identifies "
        "people in them.",
        f"Supported verticals: {', '.join(sorted(FLOOR_SUFFICES))}.",
    )


@dataclass(frozen=True, slots=True)
class TenantFacts:
    """Facts about a tenant that its traces lack.

    Args:
        vertical: line of business; empty if only its traces name it.
        names: the identity table; None if there is none, which differs from an empty one.
        language: of conversations whose trace names none.
        promote: False silently leaves the tenant out.
    """

    vertical: str = ""
    names: tuple[str, ...] | None = field(default=None, repr=False)
    language: str = ""
    promote: bool = True


def why_blocked(conversation: ProductionConversation, tenants: Mapping[str, TenantFacts]) -> str:
    """Why a conversation must not become a scenario; empty if it may.

    Every vertical that the tenants file or the traces name must be allowed.

    Args:
        tenants: by id.
    """
    if not conversation.tenant:
        return "Its traces name no tenant_id, or several, so it is unknown what must be masked."
    facts = tenants.get(conversation.tenant, TenantFacts())
    verticals = sorted({*conversation.verticals, *([facts.vertical] if facts.vertical else [])})
    if not verticals:
        return "Neither the trace nor the tenants file names a vertical, so it is unknown what must be masked."
    for vertical in verticals:
        try:
            ensure_masking_rules(vertical)
        except ConfigurationError as error:
            return str(error)
    if facts.names is None and not conversation.names:
        return (
            "There is no identity table: the trace has no customer_name and the tenants file no 'names', so names of "
            "customers would not be masked. If the conversations contain no names, use an empty list."
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
    """All tenants by id. The file names customers, so keep it outside the repository."""

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
            f"The tenants file {str(path)!r} cannot be read: {error.strerror}.", "Give its path with --tenants."
        ) from error
    document, problems = read_yaml(str(path), content)
    if document is not None:
        block, problems = validate(TenantFile, document)
        if block is not None:
            return {name: _facts(problem) for name, problem in block.tenants.items()}
    # Invalid values are not shown: they may name people, and logs have many readers.
    message = "invalid; each id below `tenants` has vertical, names (a list), language (such as sw) and promote"
    raise SuiteError([FileProblem(problem.path, problem.line, message) for problem in problems])


def tenants_outside(name: str | None, repository: Path) -> Mapping[str, TenantFacts]:
    """The tenants of a file, which must be outside the checkout if it names people; empty without a file.

    Raises:
        UsageError: it cannot be read, or is in the checkout, where it might be committed.
        SuiteError: it is wrong; every problem.
    """
    if name is None:
        return {}
    tenants = read_tenants(Path(name))
    if Path(name).resolve().is_relative_to(repository) and any(facts.names for facts in tenants.values()):
        raise UsageError(
            f"The tenants file {name!r} names people and is in the checkout, where it might be committed.",
            "Move it outside the checkout.",
        )
    return tenants


def _facts(block: TenantBlock) -> TenantFacts:
    names = None if block.names is None else tuple(block.names)
    return TenantFacts(block.vertical, names, block.language or "", block.promote)
