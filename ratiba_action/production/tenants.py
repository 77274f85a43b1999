"""Whose conversations may become scenarios, and the people whom their texts may name."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ratiba_action.errors import ConfigurationError
from ratiba_action.privacy.verticals import ensure_masking_rules
from ratiba_action.production.conversation import ProductionConversation


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
