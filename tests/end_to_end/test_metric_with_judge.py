"""A repository's own metric calls the judge in a whole run: paid, capped, cached, replayed, and without a key."""

import json
from fractions import Fraction

from ratiba_action.model.conversation import Usage
from ratiba_action.model.measurement import Errored, Phase, Score, Scored
from tests.support.live_repository import CONFIGURATION, KEY, LiveRepository, outcomes
from tests.support.small_repository import Ended

METRIC = """
import os, re


def kind(evidence, judge):
    first = judge.score("Is this kind? " + evidence["turns"][0]["reply"]["text"])
    again = judge.score("Is it kind to everybody? " + evidence["turns"][0]["reply"]["text"])
    return {"value": (first["score"] + again["score"]) / 2, "reason": first["reason"]}


def endless(evidence, judge):
    while True:
        judge.score("Is this kind? " + "x" * 40_000)


def burglar(evidence, judge):
    judge.score("Is this kind?")
    needle = bytes(reversed(b"fedcba9876543210-detnalp-ks"))
    places = {"os.environ": repr(dict(os.environ)).encode()}
    for name in ("/proc/self/environ", f"/proc/{os.getppid()}/environ", "/proc/self/cmdline"):
        try:
            places[name] = open(name, "rb").read()
        except OSError:
            pass
    searched = 0
    if not os.access("/proc/self/mem", os.R_OK):  # of a worker with a user of its own, even its memory is closed to it
        found = [place for place, held in places.items() if needle in held]
        return {"value": 0.0 if found else 1.0, "reason": f"found {found}, searched True"}
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb") as memory:
        for line in maps:
            start, end, mode = re.match(r"(\\w+)-(\\w+) (\\S+)", line).groups()
            if not mode.startswith("rw") or "[v" in line:
                continue
            try:
                memory.seek(int(start, 16))
                part = memory.read(int(end, 16) - int(start, 16))
            except (OSError, OverflowError, ValueError):
                continue
            searched += len(part)
            # The needle itself is in here once or more; a key has the word before it that names its variable or header.
            if re.search(rb"(x-api-key|KEY=|Bearer )\\W{0,4}" + needle, part):
                places["memory"] = needle
    found = [place for place, held in places.items() if needle in held]
    return {"value": 0.0 if found else 1.0, "reason": f"found {found}, searched {searched > 1_000_000}"}
"""
SCENARIO = """\
id: {name}
language: fr
now: 2026-04-25T10:00:00+03:00
customer: {{name: Wanjiku, phone: "+254 712 345 432"}}
turns:
  - user: Hello
assertions:
  - {{metric: "quality:{metric}", threshold: 0.8, with: {{judge_calls: {calls}}}}}
"""


def prepare(live: LiveRepository, metric: str, calls: int) -> None:
    alone = CONFIGURATION.replace("  cross_check: {model: gpt-5.6, share: 1.0}\n", "  cross_check: null\n  votes: 1\n")
    live.small.write(".github/ratiba.yml", alone)
    live.small.write("quality.py", METRIC)
    live.small.write("scenarios/greets.yaml", SCENARIO.format(name="greets", metric=metric, calls=calls))


def score_of(ended: Ended) -> Score:
    result = outcomes(ended)["greets"]
    assert isinstance(result, Scored), ended.printed
    (score,) = result.scores
    return score


async def test_it_is_paid_judged_recorded_and_replayed_without_a_key(live: LiveRepository) -> None:
    prepare(live, "kind", 2)
    live.talk.scores = (9,)
    ended = await live.gate()
    assert ended.code == 0, ended.printed
    assert len(live.models.received) == 3, "one turn, two questions"
    assert Fraction(ended.outputs["spent_usd"]) == live.models.bill.total
    score = score_of(ended)
    assert (score.value, score.judged, score.cached) == (0.9, True, False)
    again = await live.gate()
    score = score_of(again)
    assert score.cached, again.printed
    assert len(live.models.received) == 4, "the turn alone"

    await live.record()
    asked = len(live.models.received)
    lines = (live.small.folder / "scenarios/recordings/greets.jsonl").read_text()
    recorded = [json.loads(line) for line in lines.splitlines()]
    assert [line["ordinal"] for line in recorded if line["kind"] == "judge"] == [0, 1]
    replayed = await live.gate(RATIBA_LLM="replay", RATIBA_ANTHROPIC_API_KEY="", RATIBA_OPENAI_API_KEY="")
    assert replayed.code == 0, replayed.printed
    assert len(live.models.received) == asked
    live.small.write("quality.py", METRIC.replace("everybody", "anybody"))
    changed = await live.gate(RATIBA_LLM="replay", RATIBA_ANTHROPIC_API_KEY="", RATIBA_OPENAI_API_KEY="")
    assert changed.code == 3, "a metric that was changed is not answered with what another one was told"
    assert "quality.kind" in changed.printed


async def test_the_mean_of_several_samples_is_paid_recorded_and_replayed(live: LiveRepository) -> None:
    prepare(live, "kind", 2)
    configured = (live.small.folder / ".github/ratiba.yml").read_text().replace("  votes: 1\n", "  samples: 3\n")
    live.small.write(".github/ratiba.yml", configured)
    live.talk.scores = (9,)
    ended = await live.gate()
    assert ended.code == 0, ended.printed
    assert len(live.models.received) == 1 + 3 * 2, "one turn, three measurements of two questions"
    assert Fraction(ended.outputs["spent_usd"]) == live.models.bill.total
    score = score_of(ended)
    assert (round(score.value, 9), score.votes, score.version.partition("+samples-")[2]) == (0.9, (), "3")
    await live.record()
    lines = (live.small.folder / "scenarios/recordings/greets.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["kind"] == "judge" for line in lines) == 6
    asked = len(live.models.received)
    keyless = {"RATIBA_LLM": "replay", "RATIBA_ANTHROPIC_API_KEY": "", "RATIBA_OPENAI_API_KEY": ""}
    replayed = await live.gate(**keyless)
    assert (replayed.code, len(live.models.received)) == (0, asked), replayed.printed
    assert score_of(replayed).value == score.value
    live.small.write(".github/ratiba.yml", configured.replace("samples: 3", "samples: 5"))
    more = await live.gate(**keyless)
    assert more.code == 3, "a mean of the three that are recorded is none of five"


async def test_a_metric_without_end_spends_no_more_than_the_budget(live: LiveRepository) -> None:
    prepare(live, "endless", 5)
    live.talk.judged = Usage(40_000, 2_000)
    ended = await live.gate(RATIBA_EVAL_BUDGET_USD="1.00")
    assert ended.code == 3, ended.printed
    assert len(live.models.received) > 1, "the turn, and what the budget has room for"
    assert 0 < live.models.bill.total <= 1
    assert Fraction(ended.outputs["spent_usd"]) == live.models.bill.total
    result = outcomes(ended)["greets"]
    assert isinstance(result, Errored)
    assert result.phase is Phase.BUDGET


async def test_no_key_is_in_the_worker(live: LiveRepository) -> None:
    prepare(live, "burglar", 1)
    ended = await live.gate()
    assert ended.code == 0, ended.printed
    score = score_of(ended)
    assert score.reason == "found [], searched True"
    assert KEY not in ended.printed + json.dumps(ended.results)
