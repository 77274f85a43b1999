"""What is read from a phone number, with the library and without it."""

import subprocess
import sys

import pytest

from ratiba_action.privacy.identifiers import find_identifiers, mask_identifiers
from ratiba_action.privacy.phone_numbers import read_phone


@pytest.mark.parametrize(
    ("written", "country", "digits"),
    [
        ("0712 345 432", "254", "254712345432"),
        ("O712345432", "254", "254712345432"),
        ("254 0712 345 432", "254", "254712345432"),
        ("+254 (0) 112 345 432", "254", "254112345432"),
        ("020 271 4583", "254", "254202714583"),
        ("+44 (0)20 7946 0958", "44", "442079460958"),
        ("0049 1512 3456 789", "49", "4915123456789"),
        ("+1 (415) 555-0172", "1", "14155550172"),
        ("+999 123 4567", "", "9991234567"),
    ],
)
def test_a_number_is_reported_with_its_country(written: str, country: str, digits: str) -> None:
    assert read_phone(written) == (country, digits)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("sifuri saba kumi na mbili, tatu nne tano, nne tatu mbili", "+254***432"),
        ("zero seven double two triple five one eight nine", "+254***189"),
        ("07 tatu nne tano sita saba nane tisa moja", "+254***891"),
        ("mbili tatu nne tano sita saba nane", "***"),
        ("0712 halafu 345 halafu 432", "+254***432"),
        ("0712, 345, 432", "+254***432"),
        ("0712,345,432", "+254***432"),
        ("0712;345;432", "+254***432"),
        ("+254712345432,+254722345678", "+254***432,+254***678"),
        ("0712&nbsp;345&#160;432", "+254***432"),
        ("wako watu saba, nane au tisa; saa moja", "wako watu saba, nane au tisa; saa moja"),
        ("1,500\n2,800\n3,200", "1,500\n2,800\n3,200"),
    ],
)
def test_a_number_that_is_said_piece_by_piece_is_found(text: str, masked: str) -> None:
    assert mask_identifiers(text) == masked


def test_the_library_finds_what_no_pattern_knows() -> None:
    (found,) = find_identifiers("ofisi: (0)20-386 4512 x14")
    assert (found.kind, found.shown) == ("a phone number", "+254***512")


ALONE = """
import sys
sys.modules["phonenumbers"] = None
from ratiba_action.privacy.masking import Redactor
print(Redactor().text("piga +254 712 345 432, 0712345432 au +44 7700 900418, KES 2,500"))
"""
LAZY = """
import sys
from ratiba_action.privacy.masking import Redactor
Redactor(names=["Ali"]).text("Habari ya asubuhi, KES 250000 tarehe 2026-04-25")
print("phonenumbers" in sys.modules)
"""


def printed(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.processes
def test_without_the_library_numbers_are_masked_all_the_same() -> None:
    assert printed(ALONE) == "piga +254***432, +254***432 au +***418, KES 2,500"


@pytest.mark.processes
def test_the_library_is_not_loaded_for_a_text_without_a_number() -> None:
    assert printed(LAZY) == "False"
