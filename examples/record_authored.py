"""Write the recordings of the example system from answers written by hand.

Each ``authored/<scenario>.yaml`` says what the models answer, turn by turn, and what a judge says of the whole.
The example system is driven through every scenario, its real requests get those answers in order, and what
went over the wire becomes the scenario's recording with ``source: authored``. Nothing here is a live answer.
A folder of ``authored/`` is for the example of its name; a scenario that scripts its model needs no answers.
Where answers are written for several ``trials``, the scenario is driven once for each. ``customer`` is what a
simulated customer writes, message by message, until the goal is reached.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from authored_judge import AuthoredJudge
from demo import BUNDLED, EXAMPLES, PROJECT, build_pull_request, copy_system

from ratiba_action.checks.failure_rules import is_undecided, may_call_judge, validate_rule
from ratiba_action.config.configuration import Configuration, read_configuration
from ratiba_action.config.metrics_block import attach_metrics
from ratiba_action.decide.deciding import DecideRequest, decide
from ratiba_action.llm.recordings.lines import JudgeRecording, ModelRecording, Recording
from ratiba_action.llm.recordings.writer import render_recordings, write_all, write_recordings
from ratiba_action.llm.scripted_answers import Step
from ratiba_action.llm.server import Gateway
from ratiba_action.metrics.registry import is_judged, load_metric, metric_problems
from ratiba_action.model.conversation import ToolCall
from ratiba_action.model.measurement import Case, Scored
from ratiba_action.model.plan import Arm, Plan, Selection, Trial
from ratiba_action.model.reads import Reads
from ratiba_action.model.scenario import Assertion, Scenario, Suite
from ratiba_action.ports import Metric
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.terminal import make_progress
from ratiba_action.run.arm_start import watch_reads
from ratiba_action.run.inputs import ArmInputs, RunInputs, RunLog
from ratiba_action.run.runner import run_plan
from ratiba_action.run.services import Arms, ArmServices, RunServices
from ratiba_action.run.simulated_customer import SimulatedCustomer
from ratiba_action.run.tenants import open_tenants
from ratiba_action.settings.settings import read_settings
from ratiba_action.suite.building import refusal_assertions
from ratiba_action.suite.load import load_suite, read_scenario_files
from ratiba_action.systems.choose import choose_system
from ratiba_action.systems.workplace import Surroundings
from tests.support.deepeval_settings import configure_deepeval
from tests.support.scripted_answers import ScriptedAnswers

AUTHORED = EXAMPLES / "authored"
NOTHING_UNDERSTOOD = dict.fromkeys(("intent", "service", "start", "rail", "phone", "reason"))


@dataclass(frozen=True, slots=True)
class Recorded:
    """One scenario's recording and how it went."""

    scenario: Scenario
    lines: Sequence[Recording]
    reads: Reads | None


def main() -> int:
    """Record each system as it is, then each bundled pull request."""
    with tempfile.TemporaryDirectory(prefix="ratiba-record-") as folder:
        scratch = Path(folder)
        scratch.chmod(0o711)  # the users of database and worker pass through
        configure_deepeval(os.environ, scratch / "deepeval")
        examples = sorted(path.name for path in AUTHORED.iterdir() if path.is_dir())
        known = {example: record_system(example, scratch) for example in ("", *examples)}
        for bundle in sorted(path.parent for path in BUNDLED.glob("*/pull_request.yaml")):
            record_pull_request(bundle, known, scratch)
    return 0


def record_system(example: str, scratch: Path) -> dict[str, bytes]:
    """Write the recordings of an example, or of this project's own suite, and return them by scenario."""
    repository = scratch / (example or "base")
    copy_system(example, repository)
    target = (EXAMPLES / example if example else PROJECT) / "scenarios" / "recordings"
    found = asyncio.run(record(repository, "", scratch, AUTHORED / example))
    for recorded in found:
        target.mkdir(exist_ok=True)
        path = target / f"{recorded.scenario.id}.jsonl"
        write_all({path: recorded.lines}, {path: recorded.reads} if recorded.reads is not None else {})
    return {recorded.scenario.id: render_recordings(recorded.lines) for recorded in found}


def record_pull_request(bundle: Path, known: Mapping[str, Mapping[str, bytes]], scratch: Path) -> None:
    """Keep the recordings that a bundled pull request changes."""
    target = bundle / "recordings"
    for path in target.glob("*.jsonl"):
        path.unlink()
    repository = scratch / f"pull-request-{bundle.name}"
    build_pull_request(bundle, repository)
    example = yaml.safe_load((bundle / "pull_request.yaml").read_text(encoding="utf-8")).get("system", "")
    for recorded in asyncio.run(record(repository, bundle.name, scratch, AUTHORED / example)):
        if render_recordings(recorded.lines) != known[example].get(recorded.scenario.id):
            target.mkdir(exist_ok=True)
            write_recordings(target / f"{recorded.scenario.id}.jsonl", recorded.lines)


async def record(repository: Path, pull_request: str, scratch: Path, folder: Path) -> list[Recorded]:
    """Drive every scenario of a checkout with its authored answers, which lie in this folder, trial by trial."""
    suite = load_suite(read_scenario_files(repository, "scenarios"), metric_problems, validate_rule)
    asking = [scenario for scenario in suite.scenarios if scenario.script is None]
    authored = {scenario.id: read_authored(folder / f"{scenario.id}.yaml", pull_request) for scenario in asking}
    models: dict[str, list[Recording]] = {scenario.id: [] for scenario in asking}
    judges: dict[str, list[Recording]] = {scenario.id: [] for scenario in asking}
    reads: dict[str, Reads] = {}
    for number in range(max(len(trials) for trials in authored.values())):
        scenarios = [scenario for scenario in asking if number < len(authored[scenario.id])]
        described = {scenario.id: authored[scenario.id][number] for scenario in scenarios}
        found, seen = await drive(repository, scenarios, described, number, scratch)
        reads = {**seen, **reads}
        for name, (answered, judged) in found.items():
            models[name] += answered
            judges[name] += judged
    return [
        Recorded(scenario, [*models[scenario.id], *judges[scenario.id]], reads.get(scenario.id)) for scenario in asking
    ]


async def drive(
    repository: Path, asking: Sequence[Scenario], authored: Mapping[str, Any], number: int, scratch: Path
) -> tuple[dict[str, tuple[list[ModelRecording], list[JudgeRecording]]], Mapping[str, Reads]]:
    """Hold one trial of each scenario; the answers of models and judges by scenario, and what each has read."""
    answers = ScriptedAnswers({name: steps(described) for name, described in authored.items()})
    written = ScriptedAnswers({name: customer_steps(described) for name, described in authored.items()})
    configuration_file = ".github/ratiba.yml"
    configuration = read_configuration(configuration_file, (repository / configuration_file).read_bytes())
    decided = decide(DecideRequest(repository), os.environ)
    inputs = RunInputs(
        settings=read_settings({"RATIBA_LLM": "replay"}, {}),
        decided=decided,
        repository=repository,
        environment=dict(os.environ),
        configuration=configuration,
        suite=Suite(tuple(asking), ""),
        selection=Selection(decided.decision, tuple(asking)),
    )
    arm = ArmInputs(Arm("head", str(repository)), configuration, asking)
    log = RunLog(make_progress(sys.stderr, os.environ, Redactor(())))
    gateway = Gateway(answers)
    await gateway.start()
    system = choose_system(configuration.system, Surroundings(repository, os.environ, scratch))
    try:
        await system.start()
        async with open_tenants(inputs, log) as tenants:
            await tenants.prepare(arm.arm, system.migrate)
            await watch_reads(system, log)
            customer = SimulatedCustomer(written, configuration.simulator)
            arms = Arms({"head": ArmServices(arm.arm, system)})
            services = RunServices(arms, tenants, gateway, _metric, log, simulator=customer)
            trials = tuple(Trial(without_judge(scenario), arm.arm, number) for scenario in asking)
            results = await run_plan(Plan(trials), services)
            reads = services.reads.observed(inputs, arms["head"])
    finally:
        await system.close()
        await gateway.close()
        for note in log.warnings:
            warn(note)
    scenarios = {scenario.id: scenario for scenario in asking}
    recorded: dict[str, tuple[list[ModelRecording], list[JudgeRecording]]] = {}
    for result in results:
        name = result.trial.scenario.id
        if not isinstance(result, Scored):
            sys.exit(f"{name} could not be recorded: {result}")
        if unused := answers.unused(name) + written.unused(name):
            sys.exit(f"{name}: {unused} authored answers were not asked for")
        case = Case(scenarios[name], result.transcript)
        judged = await grades(case, authored[name]["grades"], configuration)
        answered = [*answers.recordings(name), *written.recordings(name)]
        recorded[name] = ([replace(line, trial=number) for line in answered], judged)
    return recorded, reads


def without_judge(scenario: Scenario) -> Scenario:
    """The scenario without what a judge may be called about: its answers are written down afterwards."""
    rules = tuple(rule for rule in scenario.rules if not may_call_judge(rule))
    return replace(scenario, assertions=(), rules=rules)


def warn(text: str) -> None:
    """Say what whoever records should know."""
    sys.stderr.write(f"warning: {text}\n")


def read_authored(path: Path, pull_request: str) -> list[dict[str, Any]]:
    """Answers and grades of one scenario, trial by trial, with those that a bundled pull request replaces."""
    described: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    changed = dict(described.get("pull_requests", {}).get(pull_request, {}))
    if "trials" in described:
        trials: list[dict[str, Any]] = {**described, **changed}["trials"]
        return trials
    described["grades"] = {**described.get("grades", {}), **changed.pop("grades", {})}
    for number, turn in changed.items():
        described["turns"][number - 1] = turn
    return [described]


def steps(described: Mapping[str, Any]) -> list[Step]:
    """The model answers of a scenario, in the order that the system asks for them."""
    answered: list[Step] = []
    for turn in described["turns"]:
        if turn.get("understand") is not None:
            answered.append(Step("openai", data={**NOTHING_UNDERSTOOD, **turn["understand"]}))
        if turn.get("reply") is not None:
            answered.append(Step("anthropic", text=turn["reply"]))
        if turn.get("calls") is not None:
            calls = tuple(ToolCall(call["name"], call["args"]) for call in turn["calls"])
            answered.append(Step("anthropic", tools=calls))
        if turn.get("openai") is not None:
            answered.append(Step("openai", data=turn["openai"]))
    return answered


def customer_steps(described: Mapping[str, Any]) -> list[Step]:
    """What a simulated customer answers: each message, and then that the goal is reached."""
    messages = described.get("customer", [])
    answers = [{"message": message, "goal_reached": False} for message in messages]
    return [
        Step("anthropic", data=answer)
        for answer in [*answers, *([{"message": "", "goal_reached": True}] if answers else [])]
    ]


async def grades(case: Case, described: Mapping[str, Any], configuration: Configuration) -> list[JudgeRecording]:
    """The judge's answers to what each judged metric of a scenario asks: a grade, or a list of answers."""
    lines: list[JudgeRecording] = []
    of_rules = refusal_assertions(rule for rule in case.scenario.rules if is_undecided(rule, case.transcript))
    for assertion in (*attach_metrics(case.scenario, configuration.metrics), *of_rules):
        if is_judged(assertion.metric):
            answers = described.get(assertion.metric, [])
            judge = AuthoredJudge(
                case.scenario.id, configuration.judge.model, answers if isinstance(answers, list) else [answers]
            )
            await load_metric(assertion.metric, judge, assertion.parameters).measure(case, assertion.threshold)
            lines += judge.recordings()
    return lines


def _metric(assertion: Assertion) -> Metric:
    return load_metric(assertion.metric)


if __name__ == "__main__":
    sys.exit(main())
