"""Listed names are found as people write them, and words that only resemble them stay."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.privacy.masking import Redactor
from ratiba_action.privacy.name_table import NameTable
from ratiba_action.privacy.plain_text import plain_text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Bi. Fatuma na Bw. Otieno", "Bi. <name> na Bw. <name>"),
        ("FATUMA, fatuma, Fatuma's, Fatumas, Fatumani", "<name>, <name>, <name>'s, <name>s, <name>ni"),
        ("Grace W. Njuguna", "<name>"),
        ("NJUGUNA, GRACE", "<name>, <name>"),
        ("lilian.auma/LilianAuma/lilian_auma", "<name>/<name>/<name>"),
        ("Wanjirũ na Wanjiru\N{COMBINING TILDE}", "<name> na <name>"),
        (r"Wanjir\u0169 na Wanjir%C5%A9", "<name> na <name>"),
        ("Ng\N{RIGHT SINGLE QUOTATION MARK}endo, Ng`endo, Ngendo", "<name>, <name>, <name>"),
        ("Fat\N{ZERO WIDTH SPACE}uma", "<name>"),
        ("mpigie fatuma@example.com", "mpigie f***@***"),
    ],
)
def test_a_listed_name_is_found_in_any_spelling(text: str, masked: str) -> None:
    table = ["Bi. Fatuma Bakari", "Otieno Ouma", "Grace Wangari Njuguna", "Lilian Auma", "Wanjirũ", "Ng'endo"]
    assert Redactor(names=table).text(text) == masked


SURE = ("Otieno", "Wanjiku", "Mwangi", "Achieng")
ENCLITICS = ("je", "ni", "ko", "po", "mo", "pi", "ye", "ee", "tu", "wangu", "wake", "s")
APOSTROPHE = st.sampled_from("'\u2019\u2018\u02bc`")


@given(
    st.sampled_from(SURE),
    st.sampled_from(["", "kwa", "wa", "na", "akina", "kwa-", "wa-", "Kwa ", "(", "“"]),
    st.one_of(
        st.sampled_from(["", *ENCLITICS]),
        st.sampled_from(ENCLITICS).map("-{}".format),
        st.builds("{}{}".format, APOSTROPHE, st.sampled_from(["s", "d", "ll", "ve", "re", "m"])),
        st.just("s'"),
    ),
    st.sampled_from([str.lower, str.upper, str.title, str]),
    st.sampled_from(["", "?", ", karibu", " alikuja"]),
)
def test_a_name_is_found_with_all_that_is_written_together_with_it(
    name: str, before: str, after: str, case: Callable[[str], str], rest: str
) -> None:
    whole = case(f"{before}{name}{after}")
    shown = Redactor(names=["Bi. Otieno Wanjiku", "Mwangi Achieng"]).text(whole + rest)
    assert shown == f"{whole[: len(before)]}<name>{whole[len(before) + len(name) :]}{rest}"


@pytest.mark.parametrize(
    "text",
    [
        "alipo, Alipo, aliko, alimo, anapo, Anapo, natumaini, nashukuru, wapenda, napenda, kwaheri, Kenpo",
        "otienojema, wanjikux, Otienokuja, xotieno, mwaotieno, kenll, Otienod, otienore, kwaken, nali",
    ],
)
def test_a_word_that_is_no_name_with_a_known_ending_stays(text: str) -> None:
    names = ["Ali", "Ana", "Ken", "Otieno", "Wanjiku", "Tumaini", "Shukuru", "Penda Heri"]
    assert Redactor(names=names).text(text) == text


def test_a_name_that_is_called_out_is_found() -> None:
    assert Redactor(names=["Otieno"]).text("Otienooo! OTIENOOOO! otieno-ee") == "<name>! <name>! <name>-ee"


@pytest.mark.parametrize(
    "text",
    [
        "Kenya, market, benki, Jumamosi, salicylic, wanjikuu",
        "i said it with joy; the roses, a grace period, neema ya Mungu",
        "Bi harusi na bwana harusi, mama mkwe, W. na G.",
        "",
    ],
)
def test_words_that_hold_or_are_a_name_stay(text: str) -> None:
    names = ["Ken", "Mark", "Ben", "Juma", "Ali", "Wanjiku", "Said Joy", "Neema Rose", "Grace W. Omar", "Bw. Mama"]
    assert Redactor(names=names).text(text) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Neema alikuja", "<name> alikuja"),
        ("bi. neema alikuja", "bi. <name> alikuja"),
        ("neema kazungu alikuja", "<name> alikuja"),
        ("neema ya Kazungu", "neema ya <name>"),
    ],
)
def test_a_name_that_is_a_word_too_counts_with_a_capital_a_title_or_a_second_name(text: str, masked: str) -> None:
    assert Redactor(names=["Neema Kazungu"]).text(text) == masked


def test_without_a_table_names_stay() -> None:
    assert Redactor().text("Fatuma") == Redactor(names=["", " ", "W."]).text("Fatuma") == "Fatuma"


def test_a_person_who_is_called_name_leaves_the_masks_alone() -> None:
    redactor = Redactor(names=["Name Otieno"])
    assert redactor.text(redactor.text("Otieno na Name")) == "<name> na <name>"


_NAMES = ("Bi. Fatuma Bakari", "Ng'endo", "Wanjirũ", "Juma")
_PIECES = st.sampled_from(
    [
        *("Fatuma", "fatuma", "BAKARI", "Ng'endo", "ng`endo", "Wanjiru", "Wanjiru\N{COMBINING TILDE}", "juma", "Mama "),
        *("Fat", "uma", "'", "`", "\\u0046", "%46", "&#70;", "atuma", "ni", "s", "-", " ", ".", "x", "Kenya"),
    ]
)


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_a_text_that_the_quick_look_rules_out_holds_no_name(text: str) -> None:
    table = NameTable(_NAMES)
    if not table.may_be_in(text):
        assert not list(table.find(plain_text(text).read))


def test_the_quick_look_rules_out_a_text_without_any_part_of_a_name() -> None:
    assert not NameTable(_NAMES).may_be_in("Karibu! Tuna nafasi kesho saa tatu.")
    assert NameTable(_NAMES).may_be_in("Karibu Fatuma!")


def test_a_table_of_many_names_finds_them_too() -> None:
    table = [f"Mteja{chr(65 + number)}x" for number in range(26)]
    assert Redactor(names=table).text("Habari MtejaZx na MtejaAx") == "Habari <name> na <name>"
