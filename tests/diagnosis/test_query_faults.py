"""Faults of SQL: each condition, boundary and connective, and nothing that PostgreSQL would refuse."""

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.diagnosis.query_faults import is_query, query_faults


def faults(text: str) -> list[str]:
    return [f"{fault.before} -> {fault.after}" for fault in query_faults(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "UPDATE slots SET n = n - 1 WHERE id = %s AND n > 0 RETURNING id",
            [
                "AND -> OR",
                "= -> <>",
                "> -> >=",
                "id = %s -> (id = %s OR TRUE)",
                "n > 0 -> (n > 0 OR TRUE)",
            ],
        ),
        ("DELETE FROM t WHERE done", ["done -> (done OR TRUE)"]),
        (
            "select a from t where x or (y and not z) order by a",
            [
                "or -> AND",
                "x -> (x AND FALSE)",
                "(y and not z) -> ((y and not z) AND FALSE)",
                "and -> OR",
                "y -> (y OR TRUE)",
                "not z -> (not z OR TRUE)",
            ],
        ),
        (
            "SELECT a FROM t WHERE day BETWEEN %s AND %s",
            ["day BETWEEN %s AND %s -> (day BETWEEN %s AND %s OR TRUE)"],
        ),
        ("INSERT INTO t (a) VALUES (%s) ON CONFLICT (a) DO NOTHING", []),
        ("SELECT DISTINCT ON (a) b FROM t", []),
        ("SELECT data->>'a' FROM t WHERE data->>'b' IS NULL", ["data->>'b' IS NULL -> (data->>'b' IS NULL OR TRUE)"]),
        (
            "MERGE INTO a USING b ON a.id IS b.id WHEN NOT MATCHED THEN DELETE",
            ["a.id IS b.id -> (a.id IS b.id OR TRUE)"],
        ),
        ("SELECT CASE WHEN a THEN 1 END FROM t", ["a -> (a OR TRUE)"]),
        (
            "SELECT a FROM t WHERE b = 'x AND y < 1' -- AND c",
            ["= -> <>", "b = 'x AND y < 1' -> (b = 'x AND y < 1' OR TRUE)"],
        ),
    ],
)
def test_each_condition_boundary_and_connective_is_a_fault(text: str, expected: list[str]) -> None:
    assert faults(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-- of a day\nSELECT 1 FROM t", True),
        ("with x as (select 1) delete from t", True),
        ("Select the best slot for the customer", False),
        ("Update us by phone", False),
        ("SELECT", False),
        ("", False),
    ],
)
def test_a_query_is_no_prose(text: str, *, expected: bool) -> None:
    assert is_query(text) is expected


VOCABULARY = (
    *("SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "BETWEEN", "ON", "CASE", "WHEN", "THEN", "END", "EXISTS"),
    *("(", ")", "=", "<", "'x'", "%s", "a.b", ",", ";", "\0"),
)


@given(st.lists(st.sampled_from(VOCABULARY), max_size=25))
def test_any_text_keeps_its_places_of_parameters_and_inserted_values(words: list[str]) -> None:
    text = " ".join(words)
    found = list(query_faults(text))
    assert len({fault.text for fault in found}) == len(found)
    for fault in found:
        assert fault.text != text
        assert text[fault.position :].startswith(fault.before)
        assert (fault.text.count("%s"), fault.text.count("\0")) == (text.count("%s"), text.count("\0"))


@pytest.mark.processes
@pytest.mark.parametrize(
    "text",
    [
        "UPDATE slots SET free = free - 1 WHERE id = %s AND free > 0 AND (day < %s OR NOT kept) RETURNING id",
        """SELECT s.id FROM slots s JOIN slots o ON o.id = s.id AND o.free >= %s WHERE s.day BETWEEN %s AND now()
        AND NOT EXISTS (SELECT 1 FROM slots WHERE free <> s.free OR kept) ORDER BY s.day DESC LIMIT 1""",
        """SELECT count(*) FILTER (WHERE kept), CASE WHEN free > %s AND kept THEN 1 ELSE 2 END FROM slots
        GROUP BY kept, free HAVING count(*) > %s""",
        "INSERT INTO slots (id, free) VALUES (%s, 1) ON CONFLICT (id) DO UPDATE SET free = %s WHERE slots.free < 3",
        "WITH old AS (DELETE FROM slots WHERE day < %s RETURNING id) SELECT id FROM old WHERE id = %s",
    ],
)
async def test_postgresql_reads_each_of_them_with_the_same_parameters(text: str, database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute("CREATE TABLE slots (id int PRIMARY KEY, free int, day timestamptz, kept bool)")
        found = list(query_faults(text))
        assert found
        for fault in found:
            await connection.execute(f"EXPLAIN {fault.text}".encode(), [None] * text.count("%s"))
