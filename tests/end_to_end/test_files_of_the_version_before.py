"""What the version before wrote is read as it is: configuration, scenario, recording, results, ledger and journal."""

import json
from decimal import Decimal
from pathlib import Path

import psycopg

from ratiba_action.model.conversation import Usage
from ratiba_action.money.journal import resume_journal
from tests.support.live_repository import LiveRepository, report_of
from tests.support.small_repository import SmallRepository

FILES = Path(__file__).parent / "earlier_version"


def bring(live: LiveRepository) -> None:
    """A repository as the version before left it; its system is the one of every live test here.

    Its English scores were given for the audience that docs/upgrading.md says to add.
    """
    style = "metrics: {fluency: {audience: customers of a small business in Kenya}}\n"
    live.small.write(".github/ratiba.yml", (FILES / "ratiba.yml").read_text() + style)
    live.small.write("scenarios/greets.yaml", (FILES / "greets.yaml").read_text())
    live.small.write("scenarios/recordings/greets.jsonl", (FILES / "greets.jsonl").read_text())


async def test_configuration_scenario_and_recording_pass_without_a_model(live: LiveRepository) -> None:
    bring(live)
    ended = await live.gate(RATIBA_LLM="replay")
    assert ended.code == 0, ended.printed
    report = report_of(ended)
    assert (report.spending.live_calls, report.spending.replayed_calls) == (0, 2)
    assert not live.models.received


async def test_results_are_a_baseline_that_the_same_run_equals(live: LiveRepository) -> None:
    bring(live)
    ended = await live.gate("--baseline", str(FILES / "results.json"), RATIBA_LLM="replay")
    assert ended.code == 0, ended.printed
    compared = report_of(ended).verdict.comparison
    assert compared is not None
    assert [(one.scenario_id, one.base, one.head) for one in compared.scenarios] == [("greets", 0.9, 0.9)]
    assert "**No change.**" in ended.comment


async def test_a_ledger_still_counts_what_the_month_has_spent(live: LiveRepository, ledger_url: str) -> None:
    with psycopg.connect(ledger_url) as connection:
        connection.execute((FILES / "ledger.sql").read_bytes())
    bring(live)
    spent = {"RATIBA_LEDGER_URL": ledger_url, "RATIBA_EVAL_MONTHLY_BUDGET_USD": "0.0150"}
    ended = await live.gate(**spent)
    assert ended.code == 3, ended.printed
    assert not live.models.received
    (shared,) = report_of(ended).shared_spending
    assert (shared.spent, shared.cap) == (Decimal("0.0140"), Decimal("0.0150"))


def test_a_journal_still_holds_what_a_killed_run_paid_and_reserved(tmp_path: Path) -> None:
    path = tmp_path / "state/run.jsonl"
    path.parent.mkdir(mode=0o700)
    path.write_bytes((FILES / "journal.jsonl").read_bytes())
    path.chmod(0o600)
    begun = json.loads(path.read_text().partition("\n")[0])
    journal = resume_journal(path, begun["identity"], tmp_path / "workspace")
    journal.close()
    assert journal.state.admitted == {"head/greets/0"}
    paid, open_call = journal.state.calls
    assert (paid.cost, paid.usage) == (Decimal("0.002"), Usage(500, 100))
    assert (open_call.cost, [one.number for one in journal.state.open]) == (Decimal("0.10977"), [2])


def test_a_head_with_the_new_names_is_no_other_configuration_than_its_base_and_the_old_ones_are_noted(
    local: SmallRepository,
) -> None:
    local.scenario("greeting", "say hello")
    configuration = (local.folder / ".github/ratiba.yml").read_text()
    local.write(".github/ratiba.yml", configuration + "comparison: {least_margin: 0.05, fewest_scenarios: 12}\n")
    local.commit()
    local.write(".github/ratiba.yml", configuration + "comparison: {min_margin: 0.05, min_scenarios: 12}\n")
    renamed = local.gate("--mode", "blocking")
    assert (renamed.code, "this change: " in renamed.comment, "new names" in renamed.comment) == (0, False, False)
    local.write(".github/ratiba.yml", configuration + "comparison: {least_margin: 0.05, fewest_scenarios: 12}\n")
    former = local.gate("--mode", "blocking")
    assert former.code == 0
    assert "comparison.least_margin is now min_margin" in former.comment.replace("\\", "")
