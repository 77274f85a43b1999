"""Which files mutants are made of, and what is known of them from earlier runs; runs are in ``test_mutate``."""

from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.diagnosis.mutated_files import MutatedFiles, read_files
from ratiba_action.diagnosis.mutation_runs import KnownResults, measure
from ratiba_action.diagnosis.mutation_score import Fate, MutantResult
from ratiba_action.errors import SuiteError, UsageError
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.conversation import Reply
from ratiba_action.money.budget import Ledger
from ratiba_action.run.inputs import RunInputs, RunLog
from tests.diagnosis.test_partial_runs import no_session
from tests.support.in_process_gate import InProcessGate
from tests.support.progress import RecordedProgress
from tests.support.sample_report import sample_scenario

SHOP = """\
LIMIT = 500


def dear(price):
    if price > LIMIT:
        return 1
    return 0
"""


def inputs_of(folder: Path) -> RunInputs:
    """A run of a system in a folder that is no repository."""
    (folder / "scenarios").mkdir(exist_ok=True)
    scenarios = (sample_scenario("booking", assertions=()),)
    run = InProcessGate(folder=folder, scenarios=scenarios, head={"booking": [Reply("yes")]}).inputs()
    change = run.decided.change
    decided = replace(run.decided, change=replace(change, files=replace(change.files, head=None)))
    return replace(
        run, decided=decided, environment={**run.environment, "XDG_CACHE_HOME": str(folder.parent / "cache")}
    )


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "shop.py").write_text(
        "LIMIT = 500\n\n\ndef dear(price):\n    if price > LIMIT:\n        return 1\n    return 0\n"
    )
    return folder


def test_without_names_every_python_file_is_taken_and_what_is_none_is_noted(shop: Path) -> None:
    (shop / "broken.py").write_text("def (\n")
    files = read_files(inputs_of(shop), ())
    assert list(files.texts) == ["shop.py"]
    assert {mutant.line for mutant in files.mutants} >= {1, 5}
    (note,) = files.notes
    assert note.startswith("broken.py:1: is not Python that can be read")
    assert not files.named


def test_every_named_file_that_cannot_be_used_is_a_problem_and_all_are_named_at_once(shop: Path) -> None:
    (shop / "binary.md").write_bytes(b"\xff\x00")
    with pytest.raises(SuiteError) as refused:
        read_files(inputs_of(shop), ["binary.md", "../elsewhere.md", "missing.md"])
    message = str(refused.value)
    for each in (
        "binary.md: is not a text",
        "../elsewhere.md: is outside the system",
        "missing.md: there is no such file",
    ):
        assert each in message


def test_nothing_to_make_mutants_of_is_a_usage_error(shop: Path) -> None:
    (shop / "shop.py").unlink()
    with pytest.raises(UsageError, match="no prompt and no Python file"):
        read_files(inputs_of(shop), ())


def test_a_result_is_known_for_exactly_the_same_files(shop: Path) -> None:
    inputs = inputs_of(shop)
    first, second, *_ = read_files(inputs, ()).mutants
    known = KnownResults(inputs, fresh=False)
    known.keep(MutantResult(first, Fate.KILLED, ("booking",)))
    known.keep(MutantResult(second, Fate.NOT_MEASURED, ()))
    known.close()
    again = KnownResults(inputs, fresh=False)
    found = again.get(first)
    assert found is not None
    assert (found.fate, found.killed_by) == (Fate.KILLED, ("booking",))
    assert again.get(second) is None, "a further run can tell more"
    again.close()
    (shop / "shop.py").write_text((shop / "shop.py").read_text() + "\n")
    other = KnownResults(inputs, fresh=False)
    assert other.get(first) is None
    other.close()


@pytest.mark.parametrize("llm", [Llm.LIVE, Llm.RECORD])
def test_mutants_are_compared_with_recorded_answers_only(shop: Path, llm: Llm) -> None:
    inputs = inputs_of(shop)
    settings = replace(inputs.settings, llm=llm)
    with pytest.raises(UsageError, match=llm.value):
        measure(
            replace(inputs, settings=settings),
            MutatedFiles({}, ()),
            RunLog(RecordedProgress()),
            Ledger(inputs.settings.budget_usd),
            open_session=no_session,
            maximum=1,
            progress=lambda _: None,
        )
