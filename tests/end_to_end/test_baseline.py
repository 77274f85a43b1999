"""A baseline that was named, in replay: what is the same is compared exactly, and what is not gives no number."""

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.model.comparison import Comparison, Tier
from tests.support.live_repository import LiveRepository, report_of
from tests.support.small_repository import Ended

NAMES = ("asks", "greets")
METRIC = "EnglishFluencyMetric"


async def recorded(live: LiveRepository) -> None:
    for name in NAMES:
        live.scenario(name, f"Hello from {name}")
    await live.record()


async def earlier_run(live: LiveRepository, path: Path) -> dict[str, Any]:
    """Leave the results of a run, and give them as a test may change them."""
    await recorded(live)
    ended = await live.gate("--baseline-out", str(path), RATIBA_LLM="replay")
    assert ended.code == 0, ended.printed
    return content_of(path)


def content_of(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def comparison_of(ended: Ended) -> Comparison:
    found = report_of(ended).verdict.comparison
    assert found is not None, ended.printed
    return found


async def test_the_same_answers_are_unchanged_exactly_and_a_broken_file_is_refused(
    live: LiveRepository, tmp_path: Path
) -> None:
    file = tmp_path / "earlier.json"
    await earlier_run(live, file)
    same = await live.gate("--baseline", str(file), RATIBA_LLM="replay")
    found, facts = comparison_of(same), report_of(same).baseline
    assert same.code == 0, same.printed
    assert (found.exact, found.difference, found.tier) == (True, 0.0, Tier.WITHIN_NOISE)
    assert [one.scenario_id for one in found.scenarios] == list(NAMES)
    assert "**No change.**" in same.comment
    assert facts is not None
    assert (facts.source, facts.stale) == (str(file), False)

    file.write_text(file.read_text()[:-100])
    broken = await live.gate("--baseline", str(file), RATIBA_LLM="replay")
    assert broken.code == 2, broken.printed
    assert "baseline (RATIBA_BASELINE): " in broken.printed
    assert "earlier.json" in broken.printed
    assert "Traceback" not in broken.printed


@pytest.mark.parametrize("name", ["merged.json", "merged.json.gz"])
async def test_the_merged_results_of_a_large_run_are_a_baseline(
    live: LiveRepository, tmp_path: Path, name: str
) -> None:
    content = await earlier_run(live, tmp_path / "earlier.json")
    results = content["report"]["results"]
    for number in range(24):
        (result,) = copy.deepcopy(results[:1])
        result["trial"]["scenario"]["id"] = result["transcript"]["scenario_id"] = f"asks_{number}"
        result["transcript"]["exchanges"][0]["reply"]["text"] = "A long text. " * 80_000
        results.append(result)
    text = json.dumps(content).encode()
    assert len(text) > 20_000_000
    file = tmp_path / name
    file.write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)
    ended = await live.gate("--baseline", str(file), RATIBA_LLM="replay")
    found = comparison_of(ended)
    assert ended.code == 0, ended.printed
    assert (found.exact, found.difference, found.tier) == (True, 0.0, Tier.WITHIN_NOISE)
    assert [one.scenario_id for one in found.scenarios] == list(NAMES)


def judged_by_another(report: dict[str, Any]) -> None:
    report["judge_model"] = "claude-opus-4"


def of_another_scenario(report: dict[str, Any]) -> None:
    report["scenario_digests"] = dict.fromkeys(report["scenario_digests"], "0" * 64)


def of_another_version(report: dict[str, Any]) -> None:
    for result in report["results"]:
        for score in result["scores"]:
            score["version"] = "0.9.0"


UNLIKE: tuple[tuple[Callable[[dict[str, Any]], None], str, str], ...] = (
    (judged_by_another, METRIC, "its judge is claude-opus-5-5 here and was claude-opus-4 on the base"),
    (of_another_scenario, "", "the scenario is another one than the base's"),
    (of_another_version, METRIC, "and was 0.9.0 on the base"),
)


async def test_another_judge_scenario_or_version_is_not_comparable_and_never_a_delta(
    live: LiveRepository, tmp_path: Path
) -> None:
    content = await earlier_run(live, tmp_path / "earlier.json")
    for change, metric, why in UNLIKE:
        changed = copy.deepcopy(content)
        change(changed["report"])
        file = tmp_path / f"{change.__name__}.json"
        file.write_text(json.dumps(changed))
        ended = await live.gate("--baseline", str(file), RATIBA_LLM="replay")
        found = comparison_of(ended)
        assert ended.code == 0, ended.printed
        assert (found.tier, found.scenarios, found.difference) == (Tier.NOT_COMPARABLE, (), None)
        assert [(one.scenario_id, one.metric) for one in found.not_comparable] == [(name, metric) for name in NAMES]
        assert all(why in one.reason for one in found.not_comparable), found.not_comparable
        assert "not comparable" in ended.comment.lower()
        assert "| all scenarios |" not in ended.comment


async def test_a_baseline_of_none_compares_with_nothing_and_holds_no_base(live: LiveRepository) -> None:
    await recorded(live)
    base = live.git.commit({})
    head = live.git.commit({"prompts/unused.md": "Nobody reads this."})
    ended = await live.gate("--baseline", "none", **live.pull_request(base, head), RATIBA_LLM="replay")
    report = report_of(ended)
    assert ended.code == 0, ended.printed
    assert (report.verdict.comparison, report.baseline) == (None, None)
    assert {one.trial.arm.name for one in report.results} == {"head"}
    assert "asks.base" not in ended.printed
    assert "Compared with the base" not in ended.comment
