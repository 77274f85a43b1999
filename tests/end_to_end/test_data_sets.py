"""A data set from its file to the comment: its cases are held, its gates decide, a change cannot lower them."""

import json

from tests.support.small_repository import SmallRepository

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
gates:
  - {metric: accuracy, at_least: 0.75}
  - {metric: min_class_f1, at_least: 0.60}
"""
ANSWERS = [("ANSWER", "ANSWER"), ("ANSWER", "ANSWER"), ("BOOKING", "BOOKING"), ("BOOKING", "ANSWER")]


def rows(*answers: tuple[str, str]) -> str:
    """A row for each pair of expected and given label."""
    return "".join(
        json.dumps({"id": f"c{number}", "intent": intent, "answer": answer}) + "\n"
        for number, (intent, answer) in enumerate(answers)
    )


def committed(local: SmallRepository) -> SmallRepository:
    """The repository with a data set whose gates are passed."""
    local.write("scenarios/intents.yaml", INTENTS)
    local.write("scenarios/intents.jsonl", rows(*ANSWERS))
    local.commit()
    return local


def test_a_wrong_case_does_not_fail_a_data_set_whose_gates_are_passed(local: SmallRepository) -> None:
    ended = committed(local).gate("--mode", "blocking")
    assert ended.code == 0, ended.printed
    (scores,) = ended.results["report"]["data_sets"]
    assert (scores["cases"], scores["measured"], scores["values"]["accuracy"]) == (4, 4, 0.75)
    assert [gate["status"] for gate in scores["gates"]] == ["passed", "passed"]
    assert "| `min_class_f1` | 0.6667 | 0.60 | passed |" in ended.comment


def test_a_gate_that_fails_fails_the_run_and_a_change_cannot_lower_it(local: SmallRepository) -> None:
    repository = committed(local)
    repository.write("scenarios/intents.yaml", INTENTS.replace("0.75", "0.10").replace("0.60", "0.10"))
    repository.write("scenarios/intents.jsonl", rows(*ANSWERS[:3], ("BOOKING", "ANSWER"), ("BOOKING", "ANSWER")))
    ended = repository.gate()
    assert ended.code == 1, ended.printed
    assert ended.outputs["mode"] == "blocking"
    # Of BOOKING one of three is found and none is invented: F1 is 2 of 4.
    reason = (
        "2 thresholds of cases failed: intents: accuracy 0.6 is below 0.75; intents: min_class_f1 0.5 is below 0.6."
    )
    assert reason in ended.comment.replace("\\", "")
    assert "the threshold of accuracy stays 0.75; this change sets 0.10." in ended.comment
    assert "| `accuracy` | 0.60 | 0.75 | failed |" in ended.comment
    assert 'name="intents: min_class_f1" classname="gate"' in (ended.report / "junit.xml").read_text()
    assert "intents,,,,,failed,gate,,accuracy,0.7500,0.6000,false" in (ended.report / "results.csv").read_text()
    assert "min_class_f1" in (ended.report / "report.html").read_text()


def test_gates_of_the_configuration_hold_for_a_data_set_and_a_change_cannot_lower_them(local: SmallRepository) -> None:
    local.write("scenarios/intents.yaml", INTENTS.partition("gates:")[0])
    local.write("scenarios/intents.jsonl", rows(*ANSWERS))
    config = (local.folder / ".github/ratiba.yml").read_text()
    local.write(".github/ratiba.yml", config + "suite: {gates: {accuracy: 0.9}}\n")
    local.commit()
    local.write(".github/ratiba.yml", config + "suite: {gates: {accuracy: 0.1}}\n")
    ended = local.gate()
    assert ended.code == 1, ended.printed
    assert "| `accuracy` | 0.75 | 0.90 | failed |" in ended.comment
    assert "suite.gates.accuracy 0.9 (this change: 0.1)" in ended.comment.replace("\\", "")


def test_two_runs_side_by_side_show_a_threshold_that_only_the_configuration_has(local: SmallRepository) -> None:
    measured = INTENTS.partition("gates:")[0] + "assertions: [{metric: LabelMetric, threshold: 0}]\n"
    local.write("scenarios/intents.yaml", measured)
    local.write("scenarios/intents.jsonl", rows(*ANSWERS))
    config = (local.folder / ".github/ratiba.yml").read_text()
    local.write(
        ".github/ratiba.yml", config + "suite: {gates: {accuracy: 0.7}, metric_thresholds: {LabelMetric: 0.6}}\n"
    )
    local.commit()
    assert local.gate("--mode", "blocking").code == 0
    other = local.folder.parent / "other.json"
    results = json.loads((local.report / "results.json").read_text())
    results["report"]["data_sets"][0]["gates"][0]["gate"]["at_least"] = 0.5
    other.write_text(json.dumps(results))
    compared = [str(local.report), str(other)]
    shown = local.run(["compare", *compared], local.folder, local.environment).stdout
    (row,) = [line for line in shown.splitlines() if line.startswith("| LabelMetric")]
    assert row.endswith("| accuracy 0.70, mean 0.60 / accuracy 0.50, mean 0.60 |"), shown
    first, _ = json.loads(local.run(["compare", "--json", *compared], local.folder, local.environment).stdout)["runs"]
    assert first["gates"] == [{"data_set": "intents", "metric": "accuracy", "at_least": 0.7}]
    assert first["mean_thresholds"] == {"LabelMetric": 0.6}


def test_a_change_to_the_rows_alone_is_blocking(local: SmallRepository) -> None:
    repository = committed(local)
    repository.write("scenarios/intents.jsonl", rows(*ANSWERS, ("BOOKING", "BOOKING")))
    ended = repository.gate()
    assert ended.outputs["mode"] == "blocking"
    assert ended.outputs["passed"] == 5


def test_a_data_set_may_be_asked_for_by_its_name_and_one_of_its_cases_decides_no_gate(local: SmallRepository) -> None:
    repository = committed(local)
    assert repository.gate("--scenario", "intents").outputs["passed"] == 4
    ended = repository.gate("--scenario", "intents__c3")
    assert ended.code == 0, ended.printed
    assert "not decided, 1 of 4 cases selected" in ended.comment


def test_a_classifier_that_always_says_the_same_passes_no_gate_and_no_table_says_that_all_pass(
    local: SmallRepository,
) -> None:
    local.write(".github/ratiba.yml", "system: {adapter: 'adapter:Adapter'}\nsuite: {gates: standard}\n")
    local.write(
        "scenarios/intents.yaml",
        "id: intents\nlanguage: fr\nsystem_type: classifier\nnow: 2026-04-25T10:00:00+03:00\n"
        'customer: {name: Amina, phone: "+254 700 000 001"}\ncases: intents.jsonl\nturns:\n'
        '  - user: \'reply {"output": {"label": "CHAOS"}}\'\n    expect: {label: "${intent}"}\n',
    )
    local.write("scenarios/intents.jsonl", "".join(f'{{"id": "c{n}", "intent": "{"AB"[n % 2]}"}}\n' for n in range(6)))
    ended = local.gate("--mode", "blocking")
    assert ended.code == 1, ended.printed
    assert "macro_f1 0 is below 0.8" in ended.comment
    assert "answer_accuracy" not in ended.comment
    assert "6 of 6" not in ended.comment.split("###")[0]
    assert "6 of 6" not in ended.comment.split("<summary>Metrics<")[1].split("</details>")[0]
    assert "macro_f1 0.80" in ended.comment.split("<summary>Metrics<")[1]
