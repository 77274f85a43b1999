"""Identifiers are found however they are written, and numbers that identify nobody are left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.privacy.identifiers import find_identifiers, is_declared, mask_identifiers

SEPARATORS = st.sampled_from(["", " ", "-", ".", "  ", "\N{NO-BREAK SPACE}", "\N{NON-BREAKING HYPHEN}", "\N{EN DASH}"])
SUBSCRIBERS = st.from_regex(r"[17][0-9]{8}", fullmatch=True)
PREFIXES = st.sampled_from(["0", "254", "+254", "00254", "+254 (0)", "(0"])
WORDS = st.sampled_from(["", "Nipigie kwa ", "simu:", '"phone":"', "namba", "(", "Tel "])
AFTER = st.sampled_from(["", ".", " tafadhali", '"}', ")", ", asante"])


def spread(digits: str, separators: list[str]) -> str:
    """Digits with separators after the second, fifth and eighth."""
    parts = [digits[:2], digits[2:5], digits[5:8], digits[8:]]
    return "".join(part + mark for part, mark in zip(parts, [*separators, ""], strict=True))


@given(WORDS, PREFIXES, SUBSCRIBERS, st.lists(SEPARATORS, min_size=3, max_size=3), AFTER)
def test_a_kenyan_number_is_found_in_any_spelling(
    before: str, prefix: str, subscriber: str, separators: list[str], after: str
) -> None:
    found = find_identifiers(f"{before}{prefix}{spread(subscriber, separators)}{after}")
    assert [(one.kind, one.value) for one in found] == [("a phone number", f"254{subscriber}")]


@given(PREFIXES, SUBSCRIBERS, st.lists(SEPARATORS, min_size=3, max_size=3))
def test_a_declared_number_is_known_again_in_any_spelling(prefix: str, subscriber: str, separators: list[str]) -> None:
    declared = find_identifiers(f"+254{subscriber}")
    (found,) = find_identifiers(f"{prefix}{spread(subscriber, separators)}")
    assert is_declared(found, declared)


@given(SUBSCRIBERS, SUBSCRIBERS)
def test_one_number_does_not_declare_another(one: str, other: str) -> None:
    (found,) = find_identifiers(f"0{one}")
    assert is_declared(found, find_identifiers(f"0{other}")) == (one == other)


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        ("Andika kwa Amina.W+spa@example.co.ke leo", "an e-mail address", "a***@***"),
        ("amina＠example．com", "an e-mail address", "a***@***"),
        (r"amina\u0040example.com", "an e-mail address", "a***@***"),
        ("+44 20 7946 0958", "a phone number", "+44***958"),
        ("ofisi: 020 123 4567", "a phone number", "+254***567"),
        ("٠٧١٢٣٤٥٤٣٢", "a phone number", "+254***432"),
        ("07\N{ZERO WIDTH SPACE}12345432", "a phone number", "+254***432"),
        ("KRA A012345678Z", "a tax number", "***78Z"),
        ("Kitambulisho 33445566", "a long number", "***566"),
        ("ID33445566", "a long number", "***566"),
        ("33.445.566", "a long number", "***566"),
        ("kadi 4111 1111 1111 1111", "a long number", "***111"),
        ("712345432", "a phone number", "+254***432"),
        ("booking ya 0799888777", "a phone number", "+254***777"),
        ("Paybill 247247, akaunti 33445566", "a long number", "***566"),
        ('{"id_number": 33445566}', "a long number", "***566"),
    ],
)
def test_other_identifiers_are_found_and_shown_in_part(text: str, kind: str, shown: str) -> None:
    assert [(one.kind, one.shown) for one in find_identifiers(text)] == [(kind, shown)]


@pytest.mark.parametrize(
    "text",
    [
        "Jumatatu 27 Aprili saa nne asubuhi (10:00), KES 3,500",
        '{"now":"2026-04-25T10:00","start":"2026-04-27T10:00:00+03:00"}',
        "25/04/2026, 25.4.2026, 20260425T100000",
        "KES 150000, Ksh. 1,250,000.00, 250000/=, USD 123456.78, 1 250 000 shilingi",
        "KES 150000-250000",
        '{"amount_kes": 1500000, "total_tokens": 123456, "timestamp": 1767225600}',
        "risiti ya M-Pesa ni TKL4X8Q2ZP",
        "msg_01234567890 toolu_987654321 call_12345678",
        "3f2b8c1d-1234-4567-8901-123456789012",
        "booking BK-100234, order #1234567, risiti namba 20260425",
        '{"booking_id": 1002345, "receipt":"99887766"}',
        "1500 2500 3500",
        "Lipa kwa Paybill 247247 au till number 522533",
        '{"expires_at": 1767225600, "unixtime":"1767225600"}',
        "saa 9 10 11, 2 watu, dakika 60, chumba 12",
        "0.123456 12:30:45",
        "",
    ],
)
def test_dates_amounts_receipts_and_ids_identify_nobody(text: str) -> None:
    assert find_identifiers(text) == ()


def test_an_identifier_that_was_cut_off_is_one_that_was_declared() -> None:
    declared = find_identifiers("0734 559 021, amina@example.com")
    for text in ("tuma kwa 0734559", "tuma kwa +2547345590", "kwa amina@example.co"):
        (found,) = find_identifiers(text)
        assert is_declared(found, declared, cut=True)
        assert not is_declared(found, declared, cut=False)
    (elsewhere,) = find_identifiers("tuma kwa 0734559 leo")
    assert not is_declared(elsewhere, declared, cut=True)
    (other,) = find_identifiers("tuma kwa 0735559")
    assert not is_declared(other, declared, cut=True)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    assert all(one.value for one in find_identifiers(text))


@pytest.mark.parametrize("part", ["0 ", "1-", "1 234 ", "a@", "+254 ", "a.b", "KES 1", "total_", "- ", "://:"])
def test_a_long_text_is_read_all_the_same(part: str) -> None:
    text = part * 10_000
    assert find_identifiers(f"{text}| amina@example.com")[0].kind == "an e-mail address"
    assert find_credentials(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-api03-AbCdEf123456",
        "sk-proj-AbCdEf1234567890",
        "key sk-AbCdEf1234567890.",
        "pk-lf-1234abcd-5678-efgh",
        "ghs_0123456789abcdef",
        "github_pat_11ABCDEFG0",
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-1234567890-abc",
        "Authorization: Bearer abc123def456",
        "eyJhbGciOi.eyJzdWIiOi.SflKxwRJ",
        "-----BEGIN RSA PRIVATE KEY-----",
        "postgresql://gate:hunter2@db:5432/gate",
        "redis://:hunter2@cache/0",
        "host=db password=hunter2",
        "API_KEY = abcd1234",
    ],
)
def test_a_credential_is_known_by_its_form(text: str) -> None:
    assert len(find_credentials(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Task-management and risk-assessment-of-long-projects",
        "The bearer of good news",
        "https://example.com/pay?id=3",
        "Sitawahi kuomba PIN wala password yako",
        "msg_5b74ad4f7bd0ba59e4e54a64 chatcmpl-ca46291da3a46090db295b6d",
    ],
)
def test_ordinary_text_holds_no_credential(text: str) -> None:
    assert find_credentials(text) == ()


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Call +254 722 345 678 or write to amina@example.com.", "Call +254***678 or write to a***@***"),
        ("Paid KES 15000 on 2026-04-25, receipt 123456", "Paid KES 15000 on 2026-04-25, receipt 123456"),
        ("Ni saa nane mchana – karibu", "Ni saa nane mchana – karibu"),
        (
            "bot@1.0.0 npm@11.0 actions/checkout@v4.1.0 a@2.0.0-rc.1",
            "bot@1.0.0 npm@11.0 actions/checkout@v4.1.0 a@2.0.0-rc.1",
        ),
        ("amina@192.168.0.1, amina@4you.co.ke, amina@example.com.5", "a***@***, a***@***, a***@***.5"),
    ],
)
def test_masking_a_text_leaves_what_identifies_nobody(text: str, masked: str) -> None:
    assert mask_identifiers(text).rstrip(".") == masked.rstrip(".")


@given(st.text())
def test_a_masked_text_holds_no_identifier_that_the_text_held(text: str) -> None:
    planted = f"{text} +254 722 345 678 amina@example.com"
    masked = mask_identifiers(planted)
    assert "722 345" not in masked
    assert "amina@example" not in masked


FRAGMENTS = st.sampled_from(
    [
        *("amina", "Zawadi.K", "yusuf_1", "gmail", "Yahoo", "hotmail", "aol", "proton", "live", "icloud", "outlook"),
        *("@", "(at)", "[AT]", "{@}", " at ", " kwenye ", ".", " dot ", "(dot)", " Nukta ", "com", "co.ke", "KE"),
        *(
            "sifuri",
            "saba",
            "One",
            "two",
            "thirty",
            "double",
            "na",
            "halafu",
            "7",
            "12",
            "254712",
            "0",
            "-",
            ",",
            " ",
            "\n",
        ),
        *("dotted", "mailing", "alive", "Kitengela", "deposit", "A001234567B"),
    ]
)


@given(st.lists(FRAGMENTS, max_size=24).map("".join))
def test_what_is_found_in_ascii_does_not_depend_on_a_letter_beside_it(text: str) -> None:
    """ASCII alone is looked through in a quicker way."""
    assert find_identifiers(f"\N{LATIN SMALL LETTER E WITH ACUTE} {text}") == find_identifiers(f"e {text}")
