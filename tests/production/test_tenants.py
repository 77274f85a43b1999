"""Whose conversations may become scenarios."""

from datetime import UTC, datetime
from typing import Any

import pytest

from ratiba_action.production.conversation import ProductionConversation
from ratiba_action.production.tenants import TenantFacts, known_names, why_blocked


def conversation(**fields: Any) -> ProductionConversation:
    reported: dict[str, Any] = {
        "trace_ids": ("t1",),
        "turns": (),
        "started": datetime(2026, 11, 20, tzinfo=UTC),
        "tenant": "a",
        "verticals": frozenset({"spa"}),
        "names": frozenset({"Amina"}),
    }
    return ProductionConversation(**(reported | fields))


def test_a_spa_with_a_named_customer_may_be_promoted() -> None:
    assert why_blocked(conversation(), {}) == ""


@pytest.mark.parametrize("vertical", ["dental", "physio", "medical", "legal", " Dental "])
def test_health_and_law_are_blocked_and_the_missing_rules_are_named(vertical: str) -> None:
    reason = why_blocked(conversation(verticals=frozenset({vertical})), {})
    assert vertical in reason
    assert "masking rules are missing for" in reason


@pytest.mark.parametrize(
    ("reported", "facts"),
    [
        ({"verticals": frozenset({"spa", "dental"})}, TenantFacts("spa")),
        ({"verticals": frozenset({"dental"})}, TenantFacts("spa")),
        ({"verticals": frozenset({"spa"})}, TenantFacts("dental")),
        ({"verticals": frozenset()}, TenantFacts("dental")),
    ],
    ids=["two in the trace", "the trace", "the file", "the file alone"],
)
def test_one_vertical_without_rules_is_enough_wherever_it_is_reported(
    reported: dict[str, Any], facts: TenantFacts
) -> None:
    assert "'dental'" in why_blocked(conversation(**reported), {"a": facts})


def test_no_vertical_at_all_is_no_permission() -> None:
    assert "names a vertical" in why_blocked(conversation(verticals=frozenset()), {})
    assert why_blocked(conversation(verticals=frozenset()), {"a": TenantFacts("spa")}) == ""


def test_a_trace_without_a_tenant_is_blocked() -> None:
    assert "no tenant_id, or several" in why_blocked(conversation(tenant=""), {"": TenantFacts("spa", ())})


def test_without_an_identity_table_names_would_stay() -> None:
    nameless = conversation(names=frozenset())
    assert "no identity table" in why_blocked(nameless, {"a": TenantFacts("spa")})
    assert why_blocked(nameless, {"a": TenantFacts("spa", ())}) == ""


def test_the_names_of_the_file_and_of_the_trace_count() -> None:
    assert known_names(conversation(), {"a": TenantFacts("spa", ("Otieno",))}) == ("Amina", "Otieno")
