"""Rows are read by the tenant, unchanged, within limits, as JSON."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import DatabaseError
from ratiba_action.model.plan import Arm
from ratiba_action.tenancy.provisioner import PostgresTenantProvisioner, json_safe
from tests.support.sql import fetch, migration

HEAD = Arm("head", "/checkout")


async def test_every_type_comes_as_json(provisioner: PostgresTenantProvisioner) -> None:
    await provisioner.prepare(HEAD, migration("SELECT"))
    query = """SELECT timestamptz '2026-04-25 10:00+03' AS at, 3500.00::numeric AS kes, 0.5::numeric AS half,
        'nan'::float8 AS none, '{"a": [1, null]}'::jsonb AS briefing, true AS duplicate, NULL AS nothing,
        'b4d1e2c3-0000-4000-8000-000000000000'::uuid AS id, ARRAY[1.0] AS list, '\\x0f'::bytea AS bytes;"""
    async with provisioner.provision("types", HEAD) as tenant:
        ((row,),) = (await provisioner.read(tenant, {"row": query})).values()
    assert row == {
        "at": "2026-04-25T07:00:00+00:00",
        "kes": 3500,
        "half": "0.5",
        "none": "nan",
        "briefing": {"a": [1, None]},
        "duplicate": True,
        "nothing": None,
        "id": "b4d1e2c3-0000-4000-8000-000000000000",
        "list": [1],
        "bytes": "0f",
    }


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM absent", "absent"),
        ("DELETE FROM kept", "syntax"),
        ("SELECT 1; DELETE FROM kept", "multiple commands"),
        ("WITH gone AS (DELETE FROM kept RETURNING 1) SELECT * FROM gone", "data-modifying"),
        ("SELECT nextval('counter')", "read-only"),
        ("SELECT 1; COMMIT; DELETE FROM kept; BEGIN", "multiple commands"),
        ("SELECT generate_series(1, 2000)", "more than 1000 rows"),
    ],
)
async def test_a_query_that_is_wrong_or_writes_is_refused_by_its_name(
    provisioner: PostgresTenantProvisioner, query: str, message: str
) -> None:
    await provisioner.prepare(
        HEAD, migration("CREATE TABLE kept (id int); INSERT INTO kept VALUES (1); CREATE SEQUENCE counter")
    )
    async with provisioner.provision("reader", HEAD) as tenant:
        with pytest.raises(DatabaseError, match=message) as caught:
            await provisioner.read(tenant, {"mine": query})
        assert "'mine'" in str(caught.value)
        assert await fetch(tenant.dsn, "SELECT count(*) FROM kept") == [(1,)]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.decimals() | st.datetimes() | st.uuids(),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=5,
    )
)
def test_any_value_can_be_written_as_strict_json(value: object) -> None:
    assert json.loads(json.dumps(json_safe(value), allow_nan=False)) == json_safe(value)


@given(st.integers())
def test_whole_shillings_stay_whole(amount: int) -> None:
    assert json_safe(Decimal(amount)) == amount
