"""Whatever a system does while it runs, the repository's own rules and metrics judge it as they were written."""

from pathlib import Path

import pytest

from ratiba_action.worker import landlock
from tests.support.judging_attacks import ATTACKS, JUDGES, was_forged, write_attack
from tests.support.small_repository import SmallRepository


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_running_system_cannot_change_what_judges_it(small: SmallRepository, attack: str) -> None:
    write_attack(small, [attack], str(small.folder))
    ended = small.gate()
    assert ended.code == 1, ended.printed
    assert not was_forged(ended.results)
    assert (small.folder / "judges" / "tone.py").read_text() == JUDGES


PLANTS = """\
import os
from pathlib import Path

class Adapter:
    def open(self, context):
        return self

    def send(self, message):
        kept = []
        for name in message.split():
            try:
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_text("{}")
                kept.append(name)
            except OSError:
                pass
        return {"text": " ".join(kept) or "nothing", "state": "PLANTED" if kept else "REFUSED"}
"""


@pytest.mark.skipif(not landlock.version(), reason="needs a kernel with Landlock")
@pytest.mark.parametrize("there", [False, True])
def test_a_run_without_judges_plants_no_scores_and_no_answers_for_a_later_one(
    small: SmallRepository, tmp_path: Path, *, there: bool
) -> None:
    cache, state = tmp_path / "cache", tmp_path / "state"
    kept = (
        cache / "ratiba/deepeval-cache/forged.json",
        small.folder / ".deepeval-cache/forged.json",
        state / "ratiba/journals/forged.journal",
    )
    for place in kept if there else ():
        place.parent.mkdir(parents=True)
    small.write(".github/ratiba.yml", "system: {adapter: 'adapter:Adapter', database: false}\n")
    small.write("adapter.py", PLANTS)
    small.scenario("plants", " ".join(map(str, kept)), expect="REFUSED")
    ended = small.gate("--llm", "replay", XDG_CACHE_HOME=str(cache), XDG_STATE_HOME=str(state))
    assert ended.code == 0, ended.printed
    assert not any(map(Path.exists, kept))
