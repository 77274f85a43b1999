"""Promotion stops where nobody has decided yet what identifies a person."""

import pytest

from ratiba_action.errors import ConfigurationError
from ratiba_action.production.tenants import ensure_masking_rules


def is_refused(vertical: str) -> bool:
    try:
        ensure_masking_rules(vertical)
    except ConfigurationError:
        return True
    return False


@pytest.mark.parametrize("vertical", ["spa", "salon", "barbershop", " Spa "])
def test_the_floor_is_enough_for(vertical: str) -> None:
    assert not is_refused(vertical)


@pytest.mark.parametrize(
    ("vertical", "missing"),
    [
        ("dental", "teeth and dental records"),
        ("physio", "injuries and exercises"),
        ("medical", "medical histories"),
        ("Medical", "results and images"),
        ("legal", "what a client confides"),
    ],
)
def test_rules_that_are_missing_are_named_and_end_the_command(vertical: str, missing: str) -> None:
    with pytest.raises(ConfigurationError, match=missing) as raised:
        ensure_masking_rules(vertical)
    assert repr(vertical) in raised.value.problem
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("vertical", ["", "veterinary", "spa dental", "dental\n", "sp\N{CYRILLIC SMALL LETTER A}"])
def test_every_other_vertical_is_refused_too(vertical: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot become scenarios"):
        ensure_masking_rules(vertical)
