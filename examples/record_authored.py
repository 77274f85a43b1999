"""Write the recordings of the example system from answers written by hand.

Each ``authored/<scenario>.yaml`` says what the models answer, turn by turn, and what a judge says of the whole.
The example system is driven through every scenario, its real requests get those answers in order, and what
went over the wire becomes the scenario's recording with ``source: authored``. Nothing here is a live answer.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from demo import BUNDLED, CONTENTS, PROJECT, build_pull_request, copy

from ratiba_action.composition import open_system, open_tenants
from ratiba_action.configuration import read_configuration
from ratiba_action.core.budget import Ledger
from ratiba_action.core.cache_key import metric_version
from ratiba_action.core.canonical import transcript_digest
from ratiba_action.core.failure_rules import validate_rule
from ratiba_action.core.language_metrics import attach_language_metrics
from ratiba_action.core.masking import Redactor
from ratiba_action.core.model.measurement import Scored
from ratiba_action.core.model.plan import Arm, Plan, Trial
from ratiba_action.core.model.scenario import Assertion, Scenario
from ratiba_action.gateway.script import Step
from ratiba_action.gateway.scripted_answers import ScriptedAnswers
from ratiba_action.gateway.server import Gateway
from ratiba_action.judging.replay_judge import judge_recording_key
from ratiba_action.metrics.registry import is_judged, load_metric, metric_problems
from ratiba_action.ports import Metric
from ratiba_action.recordings.lines import JudgeRecording, Recording
from ratiba_action.recordings.writer import render_recordings, write_recordings
from ratiba_action.reporting.terminal import make_progress
from ratiba_action.runner import Bench, run_plan
from ratiba_action.suite.load import load_suite, read_scenario_files
from ratiba_action.workshop import Workshop

AUTHORED = PROJECT / "examples" / "authored"
CONSUMER = PROJECT / "examples" / "consumer"
NOTHING_UNDERSTOOD = dict.fromkeys(("intent", "service", "start", "rail", "phone", "reason"))
JUDGE_USAGE = {"input_tokens": 1_200, "output_tokens": 90}


@dataclass(frozen=True, slots=True)
class Recorded:
    """One scenario's recording and how it went."""

    scenario: Scenario
    lines: Sequence[Recording]


def main() -> int:
    """Record the scenarios as they are, then each bundled pull request, then the consumer's repository."""
    with tempfile.TemporaryDirectory(prefix="ratiba-record-") as folder:
        scratch = Path(folder)
        scratch.chmod(0o711)  # the users of database and worker pass through
        base = scratch / "base"
        for name in CONTENTS:
            copy(PROJECT / name, base / name)
        usual = asyncio.run(record(base, "", scratch))
        for recorded in usual:
            write_recordings(PROJECT / "scenarios" / "recordings" / f"{recorded.scenario.id}.jsonl", recorded.lines)
        known = {recorded.scenario.id: render_recordings(recorded.lines) for recorded in usual}
        for bundle in sorted(path.parent for path in BUNDLED.glob("*/pull_request.yaml")):
            record_pull_request(bundle, known, scratch)
        copy(CONSUMER, scratch / "consumer")
        for recorded in asyncio.run(record(scratch / "consumer", "", scratch, AUTHORED / "consumer")):
            write_recordings(CONSUMER / "scenarios" / "recordings" / f"{recorded.scenario.id}.jsonl", recorded.lines)
    return 0


def record_pull_request(bundle: Path, known: Mapping[str, bytes], scratch: Path) -> None:
    """Keep the recordings that a bundled pull request changes."""
    target = bundle / "recordings"
    for path in target.glob("*.jsonl"):
        path.unlink()
    repository = scratch / bundle.name
    build_pull_request(bundle, repository)
    if not any(repository.joinpath("examples").rglob("prompts/*.md")):
        return
    for recorded in asyncio.run(record(repository, bundle.name, scratch)):
        if render_recordings(recorded.lines) != known.get(recorded.scenario.id):
            write_recordings(target / f"{recorded.scenario.id}.jsonl", recorded.lines)


async def record(repository: Path, pull_request: str, scratch: Path, folder: Path = AUTHORED) -> list[Recorded]:
    """Drive every scenario of a checkout with its authored answers, which lie in this folder."""
    suite = load_suite(read_scenario_files(repository, "scenarios"), metric_problems, validate_rule)
    authored = {
        scenario.id: read_authored(folder / f"{scenario.id}.yaml", pull_request) for scenario in suite.scenarios
    }
    answers = ScriptedAnswers({name: steps(described) for name, described in authored.items()})
    configuration_file = ".github/ratiba.yml"
    workshop = Workshop(
        environment=dict(os.environ),
        scratch=scratch,
        cache=None,
        database_url="",
        configuration=read_configuration(configuration_file, (repository / configuration_file).read_bytes()),
        ledger=Ledger(Decimal(0)),
        progress=make_progress(sys.stderr, os.environ, Redactor(())),
        warn=warn,
    )
    arm = Arm("head", str(repository))
    gateway = Gateway(answers)
    await gateway.start()
    system = open_system(workshop, arm)
    try:
        await system.start()
        async with open_tenants(workshop) as tenants:
            await tenants.prepare(arm, system.migrate)
            bench = Bench({"head": system}, tenants, gateway, _metric, {}, {}, workshop.progress)
            trials = tuple(Trial(replace(scenario, assertions=()), arm) for scenario in suite.scenarios)
            results = await run_plan(Plan(trials), bench)
    finally:
        await system.close()
        await gateway.close()
    scenarios = {scenario.id: scenario for scenario in suite.scenarios}
    recorded: list[Recorded] = []
    for result in results:
        name = result.trial.scenario.id
        if not isinstance(result, Scored):
            sys.exit(f"{name} could not be recorded: {result}")
        if answers.unused(name):
            sys.exit(f"{name}: {answers.unused(name)} authored answers were not asked for")
        judged = grades(scenarios[name], authored[name], transcript_digest(result.transcript), workshop)
        recorded.append(Recorded(scenarios[name], [*answers.recordings(name), *judged]))
    return recorded


def warn(text: str) -> None:
    """Say what whoever records should know."""
    sys.stderr.write(f"warning: {text}\n")


def read_authored(path: Path, pull_request: str) -> dict[str, Any]:
    """Answers and grades of one scenario, with those that a bundled pull request replaces."""
    described: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    changed = dict(described.get("pull_requests", {}).get(pull_request, {}))
    described["grades"] = {**described.get("grades", {}), **changed.pop("grades", {})}
    for number, turn in changed.items():
        described["turns"][number - 1] = turn
    return described


def steps(described: Mapping[str, Any]) -> list[Step]:
    """The model answers of a scenario, in the order that the system asks for them."""
    answered: list[Step] = []
    for turn in described["turns"]:
        if turn.get("understand") is not None:
            answered.append(Step("openai", data={**NOTHING_UNDERSTOOD, **turn["understand"]}))
        if turn.get("reply") is not None:
            answered.append(Step("anthropic", text=turn["reply"]))
        if turn.get("openai") is not None:
            answered.append(Step("openai", data=turn["openai"]))
    return answered


def grades(
    scenario: Scenario, described: Mapping[str, Any], transcript: str, workshop: Workshop
) -> list[JudgeRecording]:
    """The judge's answers of a scenario, one for each judged metric."""
    model = workshop.configuration.judge.model
    lines: list[JudgeRecording] = []
    for assertion in attach_language_metrics(scenario):
        if not is_judged(assertion.metric):
            continue
        asked = load_metric(assertion.metric, _NoJudge(model), assertion.parameters)
        metric = metric_version(asked.name, asked.version.partition("+")[0])
        grade = described["grades"][assertion.metric]
        lines.append(
            JudgeRecording(
                key=judge_recording_key(metric, model, transcript, 0),
                ordinal=0,
                source="authored",
                metric=metric,
                model=model,
                transcript=transcript,
                score=grade["score"],
                reason=grade["reason"],
                usage=JUDGE_USAGE,
            )
        )
    return lines


def _metric(assertion: Assertion) -> Metric:
    return load_metric(assertion.metric)


@dataclass(frozen=True, slots=True)
class _NoJudge:
    """Lets a metric tell its name and version; never asked."""

    model: str

    async def answer(self, question: Any) -> Any:
        """Refuse."""
        raise AssertionError(question)


if __name__ == "__main__":
    sys.exit(main())
