"""Whatever a system does while it runs, the repository's own rules and metrics judge it as they were written."""

import pytest

from tests.support.judging_attacks import ATTACKS, JUDGES, was_forged, write_attack
from tests.support.small_repository import SmallRepository


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_running_system_cannot_change_what_judges_it(small: SmallRepository, attack: str) -> None:
    write_attack(small, [attack], str(small.folder))
    ended = small.gate()
    assert ended.code == 1, ended.printed
    assert not was_forged(ended.results)
    assert (small.folder / "judges" / "tone.py").read_text() == JUDGES
