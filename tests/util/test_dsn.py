"""Whatever libpq takes for a password is found."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ratiba_action.util.dsn import is_refused, passwords_in

PASSWORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(PASSWORDS)
def test_the_password_of_a_url_is_found(password: str) -> None:
    assert password in passwords_in(f"postgresql://role:{quote(password, safe='')}@host:5432/db?sslmode=require")


@given(PASSWORDS)
def test_the_password_of_keywords_is_found(password: str) -> None:
    dsn = make_conninfo(user="role", password=password, host="db")
    assert conninfo_to_dict(dsn)["password"] in passwords_in(dsn)


@pytest.mark.parametrize(
    "dsn",
    [
        "postgres://u:hun#ter?2@h/db",
        "postgresql://u:hun#ter?2@h,[::1]:5433/db",
        "postgresql://h/db?user=u&password=hun%23ter%3F2&sslmode=prefer",
        "host=h password = hun#ter?2 dbname=db",
        "password='hun#ter?2'host=h",
        r"password='hun\#ter?2",
    ],
)
def test_every_spelling_is_found(dsn: str) -> None:
    assert "hun#ter?2" in passwords_in(dsn)


def test_the_longest_comes_first_so_that_no_part_of_it_is_left() -> None:
    assert passwords_in("postgresql://u:a%20b@h/db") == ("a%20b", "a b")


@pytest.mark.parametrize("dsn", ["", "postgresql://localhost/db", "postgresql://u:@h/db", "host=h user=u"])
def test_a_string_without_a_password_has_none(dsn: str) -> None:
    assert passwords_in(dsn) == ()


@pytest.mark.parametrize(
    ("message", "refused"),
    [
        ('connection to server at "127.0.0.1", port 1 failed: Connection refused', True),
        ('FATAL:  password authentication failed for user "u"', True),
        ('FATAL:  database "absent" does not exist', True),
        ('could not translate host name "nowhere" to address: Name or service not known', True),
        ("failed to resolve host 'nowhere': [Errno -2] Name or service not known", True),
        ("failed to resolve host 'db': [Errno -3] Temporary failure in name resolution", False),
        ('connection to server at "db", port 80 failed: received invalid response to SSL negotiation: H', True),
        ("connection failed: server does not support SSL, but SSL was required", True),
        ('root certificate file "/nope" does not exist', True),
        ('connection to server on socket "/x/.s.PGSQL.5432" failed: No such file or directory', True),
        ("could not translate host name: Temporary failure in name resolution", False),
        ("FATAL:  the database system is starting up", False),
        ("FATAL:  sorry, too many clients already", False),
        ("FATAL:  the database system is shutting down", False),
        ("connection timeout expired", False),
        ("- host: 'a', port: 1: Connection refused\n- host: 'b', port: 1: connection timeout expired", False),
        ("server closed the connection unexpectedly", False),
    ],
)
def test_a_refusal_is_distinguished_from_a_server_that_may_answer(message: str, refused: bool) -> None:  # noqa: FBT001 - a table
    assert is_refused(message) is refused
