"""``ratiba dataset run`` as a process: items of a server in, conversations held, an experiment with scores back."""

import json
from typing import Any

import pytest

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from ratiba_action.main import run
from ratiba_action.observability.traces.datasets import dataset_item_id
from tests.support.langfuse_clients import langfuse_api
from tests.support.langfuse_server import LangfuseState, Mode, langfuse_server
from tests.support.small_repository import Ended, SmallRepository

INTENTS = """\
id: intents
language: fr
system_type: classifier
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
cases: intents.jsonl
turns:
  - user: 'reply {"output": {"label": "${answer}", "confidence": 0.9}}'
    expect: {label: "${intent}"}
"""


def rows(*answers: tuple[str, str]) -> str:
    """A row for each pair of expected and given label."""
    return "".join(
        json.dumps({"id": f"c{number}", "intent": intent, "answer": answer}) + "\n"
        for number, (intent, answer) in enumerate(answers)
    )


def keys(host: str, state: LangfuseState) -> dict[str, str]:
    return state.environment(host)


_SECONDS = 360
"""For three runs one after the other."""


def run_dataset(small: SmallRepository, *options: str, **variables: str) -> Ended:
    arguments = ["dataset", "run", "--report-dir", str(small.report), *options]
    assert small.forks is not None
    done = small.forks.run(arguments, small.folder, small.environment | variables, _SECONDS)
    return Ended(done.returncode, done.stdout + done.stderr, small.report)


def scores_of(state: LangfuseState, name: str) -> list[Any]:
    return [one for one in state.scores.values() if one["name"] == name]


def test_a_dataset_is_held_its_gates_decide_and_the_run_is_an_experiment_with_scores(small: SmallRepository) -> None:
    small.write("scenarios/intents.yaml", INTENTS)
    small.write("scenarios/intents.jsonl", rows(("A", "A"), ("A", "A"), ("B", "B"), ("B", "A")))
    small.scenario("holds", "say hello")
    small.commit()
    state = LangfuseState()
    with langfuse_server(state) as host:
        environment = keys(host, state)
        assert run(["dataset", "push", "--repo", str(small.folder)], dict(environment)) == 0
        made_there = {**state.items[dataset_item_id("ratiba", "intents__c0")], "id": "made-there", "metadata": {}}
        state.items["made-there"] = {**made_there, "sourceTraceId": "f" * 32}
        # What is held is what the server says, not what lies in the checkout.
        small.write("scenarios/intents.jsonl", rows(("A", "B")))
        small.commit()
        failed = run_dataset(small, **environment)
        passed = run_dataset(small, "--gate", "macro_f1=0.7", "--threshold", "answer_accuracy=0", **environment)
    assert failed.code == 1, failed.printed
    assert "macro_f1 0.7619 is below 0.8" in failed.printed
    assert passed.code == 0, passed.printed
    assert passed.results["report"]["name"] == "ratiba-dataset"
    assert [path.name for path in small.folder.iterdir() if path.name.startswith(".ratiba-dataset")] == []
    assert state.secret_key not in failed.printed + passed.printed
    held = {span.attributes["langfuse.experiment.item.id"] for span in state.spans}
    wanted = {dataset_item_id("ratiba", f"intents__c{number}") for number in range(4)}
    assert held == wanted | {dataset_item_id("ratiba", "holds"), "made-there"}
    dataset = state.datasets["ratiba"]["id"]
    assert {span.attributes["langfuse.experiment.dataset.id"] for span in state.spans} == {dataset}
    assert sorted(one["value"] for one in scores_of(state, "correct")) == [0, 0, *[1] * 10]
    assert {one["value"] for one in scores_of(state, "confidence")} == {0.9}
    experiments = {span.attributes["langfuse.experiment.id"] for span in state.spans}
    aggregate = {(one["datasetRunId"], one["value"]) for one in scores_of(state, "passed")}
    assert {value for _, value in aggregate} == {0, 1}
    assert {name for name, _ in aggregate} == experiments
    for name in ("macro_f1", "weighted_f1", "accuracy"):
        assert len(scores_of(state, name)) == 2


def test_a_dataset_without_our_template_runs_by_a_mapping_and_from_files_that_were_pulled(
    small: SmallRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    state = LangfuseState()
    mapping = ["router", "--map", "input=input.question", "--map", "label=expectedOutput.route", "--language", "fr"]
    with langfuse_server(state) as host:
        environment = keys(host, state)
        with langfuse_api(state, host) as api:
            api.datasets.create(name="router")
            for number, (expected, given) in enumerate([("A", "A"), ("A", "A"), ("B", "B"), ("B", "A")]):
                question = f'reply {{"output": {{"label": "{given}", "confidence": 0.9}}}}'
                api.dataset_items.create(
                    dataset_name="router",
                    id=f"cm-{number}",
                    input={"question": question},
                    expected_output={"route": expected},
                )
            api.dataset_items.create(dataset_name="router", id="cm-odd", input={"text": "?"}, expected_output={})
        ran = run_dataset(small, *mapping, "--threshold", "macro_f1=0.7", **environment)
        pull = ["dataset", "pull", *mapping, "--repo", str(small.folder)]
        pulled = [run([*pull, *more], dict(environment)) for more in ([], ["--accept"], ["--accept"])]
    assert ran.code == 0, ran.printed
    assert "item cm-odd: test → not mapped: there is nothing at input.question" in ran.printed
    items = {span.attributes["langfuse.experiment.item.id"] for span in state.spans}
    assert items == {f"cm-{number}" for number in range(4)}
    assert [round(one["value"], 4) for one in scores_of(state, "macro_f1")] == [0.7333]
    assert pulled == [1, 0, 0]
    assert "router: no change" in capsys.readouterr().out.split("written: ")[-1]
    assert run(["validate", "--repo", str(small.folder)], {}) == 0
    small.commit()
    gated = small.gate("--mode", "blocking")
    assert gated.code == 1, gated.printed
    assert "router_label_labelmetric: macro_f1 0.7333 is below 0.8" in gated.comment.replace("\\", "")


SKILLS = """\
id: skills
language: fr
system_type: classifier
cases: skills.jsonl
turns:
  - user: 'reply {"output": {"labels": ["${given}"]}}'
    expect: {labels: "${skills}"}
gates: [{metric: skill_recall, at_least: 0.90}]
"""
ANSWERS = """\
id: answers
language: fr
cases: answers.jsonl
turns:
  - user: "${message}"
    expect: {key_phrases: ["${says}"]}
assertions: [{metric: KeyPhraseMetric, threshold: 0.0}]
gates: [{metric: KeyPhraseMetric, at_least: 0.70}]
"""


def test_three_files_of_cases_run_together_against_their_own_thresholds_each_on_a_dataset_of_its_own(
    small: SmallRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    small.write("scenarios/intents.yaml", INTENTS + "gates: [{metric: macro_f1, at_least: 0.70}]\n")
    small.write("scenarios/intents.jsonl", rows(("A", "A"), ("A", "A"), ("B", "B"), ("B", "A")))
    small.write("scenarios/skills.yaml", SKILLS)
    small.write("scenarios/skills.jsonl", '{"id": "demo", "skills": ["demo"], "given": "price"}\n')
    small.write("scenarios/answers.yaml", ANSWERS)
    small.write("scenarios/answers.jsonl", '{"id": "hello", "message": "say hello", "says": "hello"}\n')
    small.scenario("holds", "say hello")
    small.commit()
    state = LangfuseState()
    push = ["dataset", "push", "--repo", str(small.folder)]
    with langfuse_server(state) as host:
        environment = keys(host, state)
        assert [run([*push, "--each"], dict(environment)) for _ in range(2)] == [0, 0]
        output = capsys.readouterr().out
        assert run([*push, "--only", "skills", "--dataset", "skill-selector"], dict(environment)) == 0
        assert run([*push, "--only", "holds", "--dataset", "holds"], dict(environment)) == 2
        ended = small.gate("--mode", "blocking", **environment, RATIBA_LANGFUSE_SECONDS="60")
        comment, report = ended.comment.replace("\\", ""), ended.results["report"]
        passed = run_dataset(small, "ratiba/intents", **environment)
    assert set(state.datasets) == {"ratiba", "ratiba/intents", "ratiba/skills", "ratiba/answers", "skill-selector"}
    assert "ratiba/intents: 0 created, 0 updated, 4 unchanged" in output
    names = {values["id"]: name for name, values in state.datasets.items()}
    kept = {item["id"]: names[item["datasetId"]] for item in state.items.values()}
    assert kept[dataset_item_id("ratiba/intents", "intents__c0")] == "ratiba/intents"
    assert kept[dataset_item_id("ratiba", "holds")] == "ratiba"
    assert sorted(kept.values()).count("ratiba") == 1
    assert "skill_recall 0 is below 0.9" in comment
    assert (ended.code, passed.code) == (1, 0), ended.printed + passed.printed
    reported_gates = {
        (cases["id"], gate["gate"]["metric"]): gate["status"]
        for cases in report["data_sets"]
        for gate in cases["gates"]
    }
    assert reported_gates == {
        ("answers", "KeyPhraseMetric"): "passed",
        ("intents", "macro_f1"): "passed",
        ("skills", "skill_recall"): "failed",
    }
    for span in state.spans:
        dataset = names[str(span.attributes["langfuse.experiment.dataset.id"])]
        assert kept[str(span.attributes["langfuse.experiment.item.id"])] == dataset
    assert {span.attributes["langfuse.experiment.dataset.id"] for span in state.spans} == {
        state.datasets[name]["id"] for name in ("ratiba", "ratiba/intents", "ratiba/skills", "ratiba/answers")
    }


def visitor(text: str, **output: Any) -> dict[str, Any]:
    """An item's input, which the small system answers as it is told to."""
    return {"message": "reply " + json.dumps({"text": text, "output": output}), "history": []}


def fill_targets(state: LangfuseState, host: str) -> None:
    """The three datasets, as people make them in Langfuse; one of four answers is wrong."""
    datasets: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {
        "intent-classifier": [
            (visitor("", label=intent, confidence=0.9), {"intent": intent}) for intent in ("LEARN", "LEARN", "SUPPORT")
        ],
        "skill-selector": [(visitor("", labels=["demo"]), {"skills": ["demo"]})],
        "main-dataset": [
            (visitor(text), {"answer": "Plans start at 20 euros"})
            for text in (*["Plans start at 20 euros"] * 3, "No idea")
        ],
    }
    with langfuse_api(state, host) as api:
        for name, items in datasets.items():
            api.datasets.create(name=name)
            for number, (given, expected) in enumerate(items):
                item = f"{name}-{number}"
                api.dataset_items.create(dataset_name=name, id=item, input=given, expected_output=expected)


def test_evaluations_run_by_name_and_answer_accuracy_decides_the_one_from_end_to_end(small: SmallRepository) -> None:
    state = LangfuseState()
    with langfuse_server(state) as host:
        environment = keys(host, state)
        missing = run_dataset(small, "all", **environment)
        fill_targets(state, host)
        options = ("--language", "fr", "--metric", "RougeLMetric=0.5")
        passed = run_dataset(small, "e2e-api", *options, **environment)
        asked = run_dataset(small, "e2e-api", *options, "--threshold", "answer_accuracy=0.8", **environment)
        by_map = ("--dataset", "main-dataset", "--map", "input=input.message", "--map", "answer=expectedOutput.answer")
        plain = run_dataset(small, *by_map, *options, **environment)
        skills = run_dataset(small, "skill-selector", **environment)
    assert missing.code == 2
    assert "Langfuse has no dataset 'intent-classifier'" in missing.printed
    assert passed.code == 0, passed.printed
    assert "1 of 4 scenarios is a case that fails, of which only the share decides" in passed.printed
    assert next(one["value"] for one in scores_of(state, "answer_accuracy")) == 0.75
    assert (asked.code, "answer_accuracy 0.75 is below 0.8" in asked.printed) == (1, True), asked.printed
    assert plain.code == 1, "a dataset that is no target keeps the stricter reading"
    assert skills.code == 0, skills.printed
    (scores,) = skills.results["report"]["data_sets"]
    assert {"macro_f1", "weighted_f1", "skill_recall"} <= set(scores["values"])


def test_all_evaluations_run_one_after_the_other_each_with_its_report(small: SmallRepository) -> None:
    state = LangfuseState()
    with langfuse_server(state) as host:
        environment = keys(host, state)
        fill_targets(state, host)
        configuration = (small.folder / ".github/ratiba.yml").read_text()
        small.write(".github/ratiba.yml", configuration + "metrics: {fluency: false}\n")
        small.commit()
        refused = run_dataset(small, "all", "--threshold", "macro_f1=0.9", **environment)
        ended = run_dataset(small, "all", "--budget-usd", "3", **environment)
    assert refused.code == 2
    assert "--threshold is about one dataset, and all runs 3" in refused.printed
    results = {
        folder.name: json.loads((folder / "results.json").read_text())
        for folder in small.report.iterdir()
        if folder.is_dir()
    }
    assert set(results) == {"intent-classifier", "skill-selector", "e2e-api"}
    codes = {name: found["outputs"]["exit_code"] for name, found in results.items()}
    assert (codes["intent-classifier"], codes["skill-selector"]) == (0, 0), ended.printed
    # AnswerCorrectnessMetric needs a judge, and there is none here.
    assert (codes["e2e-api"], ended.code) == (3, 3), ended.printed


def test_a_dataset_of_a_server_that_fails_holds_nothing(small: SmallRepository) -> None:
    state = LangfuseState(mode=Mode.FAILING)
    with langfuse_server(state) as host:
        ended = run_dataset(small, "--seconds", "60", **keys(host, state))
    assert ended.code == 3
    assert "The request to Langfuse failed: it answered with status 500" in ended.printed
    assert not (small.report / "results.json").exists()
