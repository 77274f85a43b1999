"""Whatever libpq takes for a password is found."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ratiba_action.util.dsn import passwords_in

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
