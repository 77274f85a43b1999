"""A suite in four shards and their merge: the verdict, the counts, the money and the comment of one run."""

import asyncio
import io
import json
import re
import zipfile
from fractions import Fraction
from pathlib import Path

from ratiba_action.model.comparison import Rules
from ratiba_action.model.verdict import Conclusion
from tests.end_to_end.test_confirming import NAMES, changed, comparison_of, measured
from tests.support.github_server import GithubState, github_server
from tests.support.github_state import Artifact, Run
from tests.support.live_repository import LiveRepository, outcomes, report_of
from tests.support.shard_notes import SHARES, without_shares
from tests.support.small_repository import Ended, SmallRepository
from tests.support.sql import fetch


def merge(machine: LiveRepository, *words: Path | str) -> Ended:
    return machine.small.ended("merge", *map(str, words))


def shards_events(merged: Ended) -> list[str]:
    """The lines of the merged log that are of the shards' runs."""
    lines = (merged.report / "events.jsonl").read_text().splitlines()
    own = json.loads(lines[0])["run"]
    return [line for line in lines if json.loads(line)["run"] != own]


def timeless(comment: str) -> str:
    """The comment without how long anything took."""
    return re.sub(r"\d+(\.\d+)?( s\b| \|$)", "#", without_shares(comment), flags=re.MULTILINE)


async def test_four_shards_and_their_merge_are_one_run(live: LiveRepository, tmp_path: Path) -> None:
    for number in range(6):
        live.scenario(f"greets_{number}", f"Hello, I am guest {number}")
    live.small.scenario("is_wrong", "Hello", expect="ELSEWHERE")
    whole = await live.elsewhere(tmp_path / "whole").gate()
    paid_for_one = live.models.bill.total
    machines = [live.elsewhere(tmp_path / f"shard-{number}") for number in range(1, 5)]
    parts = await asyncio.gather(
        *(machine.gate("--shard", f"{number}/4") for number, machine in enumerate(machines, 1))
    )
    assert [part.code for part in parts] == [0, 0, 0, 0], "a shard decides nothing"
    assert all("## Shard" in part.comment and part.outputs["conclusion"] == "incomplete" for part in parts)
    assert [part.outputs["budget_usd"].rstrip("0").rstrip(".") for part in parts] == ["5"] * 4
    paid_for_shards = live.models.bill.total - paid_for_one
    folders = [part.report for part in reversed(parts)]
    merged = await asyncio.to_thread(merge, live.elsewhere(tmp_path / "merged"), *folders)
    assert (merged.code, whole.code) == (1, 1), merged.printed
    assert live.models.bill.total == paid_for_one + paid_for_shards, "nothing was run again"
    assert Fraction(merged.outputs["spent_usd"]) == paid_for_shards == paid_for_one
    compared = {"conclusion", "passed", "failed", "errored", "not_run", "spent_usd", "budget_usd", "mode"}
    assert {name: merged.outputs[name] for name in compared} == {name: whole.outputs[name] for name in compared}
    assert SHARES in merged.comment
    assert timeless(merged.comment) == timeless(whole.comment)
    assert report_of(merged).cross_checking == report_of(whole).cross_checking
    assert outcomes(merged).keys() == outcomes(whole).keys()
    events = (merged.report / "events.jsonl").read_text()
    assert events.count('"conversation_ended"') == (whole.report / "events.jsonl").read_text().count(
        '"conversation_ended"'
    )

    for folder in folders:
        with (folder / "events.jsonl").open("a") as file:
            file.write("torn" * 1_000_000)  # large reports are read by a second process
    large = await asyncio.to_thread(merge, live.elsewhere(tmp_path / "large"), *folders)
    assert (large.code, timeless(large.comment)) == (merged.code, timeless(merged.comment)), large.printed
    assert shards_events(large) == shards_events(merged) != []

    without = await asyncio.to_thread(merge, live.elsewhere(tmp_path / "without"), *folders[1:])
    assert (without.code, without.outputs["conclusion"]) == (1, "failed"), "the third shard has the scenario that fails"
    assert "left no report" in without.comment
    unknown = live.elsewhere(tmp_path / "unknown")
    unmeasured = await asyncio.to_thread(merge, unknown, folders[0], *folders[2:])
    assert (unmeasured.code, unmeasured.outputs["conclusion"]) == (3, "incomplete")
    other = live.elsewhere(tmp_path / "other")
    live.scenario("greets_5", "Hello, I am somebody else")
    after = await asyncio.to_thread(merge, other, *folders)
    assert after.code == 3, after.printed
    assert "Shard 1/4 is of another run: its suite is" in after.comment
    assert "Traceback" not in without.printed + after.printed


async def test_an_alarm_of_shards_is_confirmed_by_their_merge_on_both_sides(
    live: LiveRepository, tmp_path: Path
) -> None:
    file = tmp_path / "earlier.json"
    await changed(live, file)
    before = live.models.bill.total
    options = ("--baseline", str(file), "--no-deepeval-cache", "--mode", "blocking")
    machines = [live.elsewhere(tmp_path / f"shard-{number}") for number in (1, 2)]
    parts = [await machine.gate(*options, "--shard", f"{number}/2") for number, machine in enumerate(machines, 1)]
    assert [part.code for part in parts] == [0, 0], parts[0].printed
    assert sorted(measured(parts[0]) + measured(parts[1])) == [(name, 0) for name in NAMES]
    merged = await asyncio.to_thread(
        merge, live.elsewhere(tmp_path / "merged"), *(part.report for part in parts), *options
    )
    report = report_of(merged)
    assert (merged.code, report.verdict.conclusion) == (1, Conclusion.FAILED), merged.printed
    assert comparison_of(merged).mean_fell
    assert measured(merged) == [(name, number) for name in NAMES for number in range(1 + Rules().confirming_trials)]
    assert Fraction(merged.outputs["spent_usd"]) == live.models.bill.total - before
    assert report.spending.by_party["baseline"] > 0

    paid, results = live.models.bill.total, parts[1].report / "results.json"
    content = json.loads(results.read_text())
    content["report"]["shard"]["attempt"] = 3  # each attempt before it may have spent half of the budget
    results.write_text(json.dumps(content))
    lost = await asyncio.to_thread(merge, live.elsewhere(tmp_path / "lost"), *(part.report for part in parts), *options)
    assert live.models.bill.total == paid, "nothing is left for a confirmation"
    assert lost.outputs["conclusion"] != "passed", lost.printed
    assert measured(lost) == [(name, 0) for name in NAMES]
    assert "\\$20.00 is set aside of what the merge may spend" in lost.comment
    assert "from \\$20.00 to" in lost.comment


async def test_a_merge_that_is_run_again_counts_what_the_one_before_has_paid(
    live: LiveRepository, tmp_path: Path
) -> None:
    file = tmp_path / "earlier.json"
    await changed(live, file)
    base, head = (live.git.git("rev-parse", name).strip() for name in ("main", "change"))
    live.small.environment.update(live.pull_request(base, head))
    before, state = live.models.bill.total, GithubState()
    options = ("--baseline", str(file), "--no-deepeval-cache", "--mode", "blocking")
    machines = [live.elsewhere(tmp_path / f"shard-{number}") for number in (1, 2)]
    parts = [await machine.gate(*options, "--shard", f"{number}/2") for number, machine in enumerate(machines, 1)]
    merges: list[Ended] = []
    with github_server(state) as address:
        for attempt in (1, 2, 3):
            machine = live.elsewhere(tmp_path / f"merged-{attempt}")
            machine.small.environment.update(
                GITHUB_RUN_ATTEMPT=str(attempt), GITHUB_API_URL=address, RATIBA_GITHUB_TOKEN="ghs_planted"
            )
            merges.append(await asyncio.to_thread(merge, machine, *(part.report for part in parts), *options))
            kept = packed_results(merges[-1])
            state.kept = [Artifact(attempt, "ratiba-report", Run(1001, "a" * 40, "pull_request"), kept)]
            assert Fraction(merges[-1].outputs["spent_usd"]) == live.models.bill.total - before, merges[-1].printed
    assert [merged.code for merged in merges] == [1, 1, 1]
    assert "Attempt 1 of the merge itself cost" not in merges[0].comment
    for earlier in (1, 2):
        assert f"Attempt {earlier} of the merge itself cost \\$" in merges[2].comment
    assert measured(merges[2]) == measured(merges[0]), "the results of the shards are there once"


async def test_neither_a_shard_nor_a_merge_guesses_how_the_suite_was_divided(
    live: LiveRepository, tmp_path: Path
) -> None:
    for name in NAMES:
        live.scenario(name, f"Hello from {name}")
    await live.record()
    base = live.git.commit({"prompts/asks.md": "Be friendly."})
    live.small.environment.update(
        live.pull_request(base, live.git.commit({"prompts/thanks.md": "Be brief."})),
        RATIBA_GITHUB_TOKEN="ghs_planted",
        RATIBA_LLM="replay",
    )
    state = GithubState()
    with github_server(state) as address:
        live.small.environment["GITHUB_API_URL"] = address
        machines = [live.elsewhere(tmp_path / f"shard-{number}") for number in (1, 2)]
        parts = [await machine.gate("--shard", f"{number}/2") for number, machine in enumerate(machines, 1)]
        assert [part.code for part in parts] == [0, 0], parts[0].printed
        state.failure = (502, "Server Error")
        shard = await live.gate("--shard", "1/2")
        merged = await asyncio.to_thread(merge, live.elsewhere(tmp_path / "merged"), *(part.report for part in parts))
    for ended, problem in ((shard, "The suite could not be divided"), (merged, "The shards could not be merged")):
        assert ended.code == 3, ended.printed
        assert problem in ended.printed
        assert "Re-run failed jobs" in ended.printed


def packed_results(ended: Ended) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.write(ended.report / "results.json", "results.json")
    return written.getvalue()


async def test_shards_of_a_pull_request_with_a_ledger_share_one_budget_and_never_pass_it(
    live: LiveRepository, tmp_path: Path, ledger_url: str
) -> None:
    for number in range(8):
        live.scenario(f"greets_{number}", f"Hello, I am guest {number}")
    base = live.git.commit({})
    head = live.git.commit({"prompts/unused.md": "Be friendly."})
    shared = live.pull_request(base, head) | {"RATIBA_LEDGER_URL": ledger_url, "RATIBA_EVAL_BUDGET_USD": "0.30"}
    machines = [live.elsewhere(tmp_path / f"shard-{number}") for number in (1, 2)]
    parts = await asyncio.gather(
        *(machine.gate("--shard", f"{number}/2", **shared) for number, machine in enumerate(machines, 1))
    )
    assert [part.code for part in parts] == [0, 0], parts[0].printed
    bill = live.models.bill.total
    assert 0 < bill <= Fraction("0.30")
    assert [part.outputs["budget_usd"] for part in parts] == ["0.30", "0.30"], "each may use what the other leaves"
    machine = live.elsewhere(tmp_path / "merged")
    folders = [str(part.report) for part in parts]
    merged = await asyncio.to_thread(lambda: machine.small.ended("merge", *folders, **shared))
    assert (merged.code, merged.outputs["conclusion"]) == (3, "incomplete"), merged.printed
    assert Fraction(merged.outputs["spent_usd"]) == bill == live.models.bill.total
    assert merged.outputs["not_run"] > 0
    assert "share of the budget" not in merged.comment
    assert ledger_url not in "".join(ended.printed + ended.comment for ended in (*parts, merged))
    kept = await fetch(ledger_url, "SELECT sum(spent_usd), count(*) FROM ratiba_history.run")
    assert [(Fraction(spent), runs) for spent, runs in kept] == [(bill, 1)], "shards are no runs of the history"


def test_labels_that_masking_would_change_are_never_scored_by_a_merge(small: SmallRepository, tmp_path: Path) -> None:
    small.write(
        "scenarios/codes.yaml",
        "id: codes\nlanguage: en\nsystem_type: classifier\ncases: codes.jsonl\n"
        'turns:\n  - user: ${message}\n    expect: {label: "${code}"}\n'
        "gates:\n  - {metric: accuracy, at_least: 0.9}\n",
    )
    rows = [
        {"id": name, "code": code, "message": f"reply {json.dumps({'output': {'label': '902814'}})}"}
        for name, code in (("one", "851712"), ("two", "851713"))
    ]
    small.write("scenarios/codes.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    small.commit()
    shard, mode = str(tmp_path / "shard"), ("--mode", "blocking", "--baseline", "none")
    whole = small.gate(*mode)
    assert (whole.code, whole.outputs["conclusion"]) == (1, "failed"), whole.printed
    ended = small.ended("gate", *mode, "--shard", "1/1", "--report-dir", shard)
    assert ended.code == 3, ended.printed
    assert "Masking would change labels or documents of " in ended.printed, ended.printed
    merged = small.ended("merge", *mode, shard)
    assert (merged.code, merged.outputs["conclusion"]) == (3, "incomplete"), merged.printed
    assert "Run this suite without shards." in merged.comment
