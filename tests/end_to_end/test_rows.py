"""Assertions on database rows, in a whole run."""

from tests.support.small_repository import SCENARIO, SmallRepository

ADAPTER = """
import psycopg


class Adapter:
    def migrate(self, database_url):
        with psycopg.connect(database_url) as connection:
            connection.execute("CREATE TABLE notes (id serial PRIMARY KEY, text text NOT NULL, owner text)")

    def open(self, context):
        return Conversation(context)


class Conversation:
    def __init__(self, context):
        self.context = context

    def send(self, message):
        with psycopg.connect(self.context.database_url) as connection:
            connection.execute("INSERT INTO notes (text, owner) VALUES (%s, 'Amina')", (message,))
        return {"text": "noted", "state": "SAID"}
"""
ROWS = """\
  - user: milk
    expect:
      rows: [{table: notes, count: 1, equals: {text: milk}}]
  - user: bread
    expect:
      rows:
        - {table: notes, where: {text: bread}, count: 1}
        - {query: SELECT count(*) FROM notes, equals: 2}
rows:
  - {table: notes, equals: [{text: bread, owner: Amina}, {text: milk}]}
"""


def rows(small: SmallRepository, text: str = ROWS) -> None:
    small.write("adapter.py", ADAPTER)
    small.write("scenarios/notes.yaml", SCENARIO.format(name="notes", turns=text.rstrip("\n")))


def test_rows_after_a_turn_and_after_the_conversation_pass(small: SmallRepository) -> None:
    rows(small)
    ended = small.gate()
    assert ended.code == 0, ended.printed
    checks = ended.results["report"]["results"][0]["checks"]
    assert [(check["turn"], check["passed"]) for check in checks] == [(1, True), (2, True), (2, True), (0, True)]


def test_a_row_that_is_missing_fails_and_the_comment_names_turn_assertion_and_row(small: SmallRepository) -> None:
    rows(small)
    small.commit()
    small.write(
        "adapter.py", ADAPTER.replace("VALUES (%s, 'Amina')\", (message,)", "VALUES (%s, 'Amina')\", ('milk',)")
    )
    ended = small.gate("--mode", "blocking")
    assert ended.code == 1, ended.printed
    assert '| 2 | rows of notes where text="bread" after “bread” | 1 row | no rows |' in ended.comment
    assert "| all | rows of notes | 2 rows: " in ended.comment


def test_a_table_and_a_column_that_do_not_exist_fail_even_where_no_row_is_expected(small: SmallRepository) -> None:
    rows(
        small,
        """\
  - user: milk
    expect:
      rows:
        - {table: note, count: 0}
        - {table: notes, where: {txt: milk}, count: 0}
""",
    )
    ended = small.gate("--mode", "blocking")
    assert ended.code == 1, ended.printed
    assert "not read" in ended.comment
    assert 'relation "note" does not exist' in ended.comment
    assert "column found.txt does not exist" in ended.comment


def test_a_query_that_writes_changes_nothing(small: SmallRepository) -> None:
    rows(
        small,
        """\
  - user: milk
    expect:
      rows: [{query: "SELECT setval('notes_id_seq', 99)", count: 0}]
""",
    )
    ended = small.gate("--mode", "blocking")
    assert ended.code == 1, ended.printed
    assert "read-only transaction" in ended.comment


def test_mistakes_are_reported_with_their_lines(local: SmallRepository) -> None:
    rows(
        local,
        """\
  - user: milk
    expect:
      rows:
        - {table: notes, query: SELECT 1}
        - {query: DELETE FROM notes}
        - {table: notes, count: 2, equals: [{text: milk}]}
rows:
  - {table: notes, counts: 1}
""",
    )
    ended = local.run(["validate"], local.folder, local.environment)
    assert ended.returncode == 2
    output = ended.stdout
    assert "scenarios/notes.yaml:9: turns.0.expect.rows.0: give either 'table' or 'query'" in output
    assert "scenarios/notes.yaml:10: turns.0.expect.rows.1: the query does not read" in output
    assert "scenarios/notes.yaml:11: turns.0.expect.rows.2: 'count' is 2, and 'equals' lists 1" in output
    assert "scenarios/notes.yaml:13: rows.0.counts: unknown key; did you mean 'count'?" in output
