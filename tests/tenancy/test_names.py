"""Names fit PostgreSQL whatever a scenario is called."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from ratiba_action.tenancy.sweep import template_name, tenant_name


@given(st.text())
@example("spa_booking_swahili_happy")
@example("x" * 500)
@example("漢" * 40)
def test_a_tenant_name_is_a_plain_identifier_of_at_most_63_bytes(scenario_id: str) -> None:
    name = tenant_name(scenario_id)
    assert re.fullmatch(r"test_tenant_[a-z0-9_]*_[0-9a-f]{8}", name)
    assert len(name.encode()) <= 63


@given(st.from_regex(r"[a-z][a-z0-9_]{0,41}", fullmatch=True))
def test_a_plain_id_stands_in_its_name_unchanged(scenario_id: str) -> None:
    assert tenant_name(scenario_id).startswith(f"test_tenant_{scenario_id}_")


@given(st.text())
def test_the_same_id_gives_another_name_each_time(scenario_id: str) -> None:
    assert tenant_name(scenario_id) != tenant_name(scenario_id)


def test_a_template_name_fits_and_is_fresh() -> None:
    assert len(template_name()) <= 63
    assert template_name() != template_name()
