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
        (
            "SELECT a FROM t WHERE left(b, 3) = %s AND t.end > t.set",
            [
                "AND -> OR",
                "= -> <>",
                "> -> >=",
                "left(b, 3) = %s -> (left(b, 3) = %s OR TRUE)",
                "t.end > t.set -> (t.end > t.set OR TRUE)",
            ],
        ),
        (
            "SELECT a FROM conflict JOIN matched ON conflict.b IS NULL WHERE matched",
            ["conflict.b IS NULL -> (conflict.b IS NULL OR TRUE)", "matched -> (matched OR TRUE)"],
        ),
        ("SELECT CASE WHEN matched THEN 1 END FROM t", ["matched -> (matched OR TRUE)"]),
        ("SELECT CASE a WHEN 'b' THEN CASE WHEN c THEN 1 END WHEN 'd' THEN 2 END FROM t", ["c -> (c OR TRUE)"]),
        (
            "INSERT INTO t (a) SELECT b FROM s WHERE c ON CONFLICT (a) WHERE a > 0 DO UPDATE SET a = 1 WHERE t.d",
            ["c -> (c OR TRUE)", "t.d -> (t.d OR TRUE)"],
        ),
        ("INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 2", []),
        (
            "SELECT a FROM t WHERE b IS {x} AND c IS NULL {order}",
            ["AND -> OR", "b IS {x} -> (b IS {x} OR TRUE)", "c IS NULL -> (c IS NULL OR TRUE)"],
        ),
        ("SELECT a FROM t WHERE b {operator} %s", []),
        ("SELECT a FROM t WHERE b {order}", ["b -> (b OR TRUE)"]),
        ("SELECT a FROM t WHERE col_{b} IN {c}", ["col_{b} IN {c} -> (col_{b} IN {c} OR TRUE)"]),
        (
            "SELECT a FROM t WHERE b IN (SELECT c FROM u {more}) AND `{d}` IS {e}::{type}",
            [
                "AND -> OR",
                "b IN (SELECT c FROM u {more}) -> (b IN (SELECT c FROM u {more}) OR TRUE)",
                "`{d}` IS {e}::{type} -> (`{d}` IS {e}::{type} OR TRUE)",
            ],
        ),
        ("SELECT a FROM t WHERE f(b AND c, d)", ["f(b AND c, d) -> (f(b AND c, d) OR TRUE)"]),
        (
            "SELECT a FROM t WHERE a=? AND b=-1 AND c>=-2",
            [
                *("AND -> OR", "AND -> OR", "= -> <>", "= -> <>", ">= -> >"),
                *("a=? -> (a=? OR TRUE)", "b=-1 -> (b=-1 OR TRUE)", "c>=-2 -> (c>=-2 OR TRUE)"),
            ],
        ),
        ("Select a time from the list where you want to go", []),
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
        ("Select a time from the list, and say when you are ready.", False),
        ("Select a day from those where you are free! It is not booked yet", False),
        ("-- Only what is free.\nSELECT t.* FROM t WHERE a > 1.5 AND b = 'no. '", True),
        ("SELECT", False),
        ("", False),
    ],
)
def test_a_query_is_no_prose(text: str, *, expected: bool) -> None:
    assert is_query(text) is expected


VOCABULARY = (
    *("SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "BETWEEN", "ON", "CASE", "WHEN", "THEN", "END", "EXISTS"),
    *("(", ")", "=", "<", "'x'", "%s", "a.b", ",", ";", "\0"),
    *("ON CONFLICT (a)", "DO", "left(", "t.end", "-1", "?", "a.", "AS"),
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
        """SELECT s.end FROM slots s LEFT JOIN slots o ON left(o.name, 3) = '254' AND s.end > o.set
        AND o.offset = %s CROSS JOIN slots matched WHERE right(s.name, 1) <> %s AND s.when OR matched.kept""",
        """SELECT CASE name WHEN 'a' THEN CASE WHEN kept AND free > 0 THEN 1 END WHEN 'b' THEN 2 END FROM slots
        WHERE CASE WHEN kept AND free < 9 THEN free ELSE 1 END = %s AND CASE name WHEN 'c' THEN kept END""",
        """INSERT INTO slots (id, free) SELECT id, free FROM slots WHERE kept AND free=-1 ON CONFLICT (id) WHERE id > 0
        DO UPDATE SET free = %s WHERE slots.free>=-2 AND slots.id <> 3""",
        "INSERT INTO slots (id) VALUES (%s) ON CONFLICT ON CONSTRAINT slots_pkey DO UPDATE SET free=1 WHERE slots.kept",
        """SELECT id FROM slots WHERE coalesce(free = 1 AND kept, false) AND (kept OR id > 1)::text = CAST(kept AND
        free > 2 AS text) AND EXISTS (SELECT 1 FROM slots WHERE kept AND id = %s) OR (kept AND (free, id) > (1, 2))""",
        """SELECT s.id FROM slots s JOIN slots o ON s.id = o.id AND o.kept, slots t WHERE t.id = %s
        GROUP BY s.id HAVING count(*) FILTER (WHERE s.kept AND t.free > 0) > 1 AND bool_or(s.kept AND t.kept)""",
        """MERGE INTO slots s USING slots o ON s.id = o.id AND o.kept WHEN MATCHED AND s.free > 1 THEN
        UPDATE SET free = %s WHEN NOT MATCHED THEN INSERT (id) VALUES (o.id)""",
    ],
)
async def test_postgresql_reads_each_of_them_with_the_same_parameters(text: str, database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute(
            'CREATE TABLE slots (id int PRIMARY KEY, free int, day timestamptz, kept bool, name text, "end" int,'
            ' "set" int, "offset" int, "when" bool)'
        )
        found = list(query_faults(text))
        assert found
        for fault in found:
            await connection.execute(f"EXPLAIN {fault.text}".encode(), [None] * text.count("%s"))
