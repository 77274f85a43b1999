import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.commands.validate import run
from ratiba_action.llm.recordings.lines import JudgeRecording, ModelRecording
from ratiba_action.llm.recordings.writer import render_recordings
from tests.support.command_run import CommandRun

KEY = "planted-key-of-openai"
USAGE = {"input_tokens": 1, "output_tokens": 1}
MODELS = "system: {adapter: 'shop.adapter:Adapter'}\n"
CONFIGURATION = "system: {adapter: 'shop.adapter:Adapter', price_per_turn_usd: 0}\n"
SCENARIO = """\
id: talks
language: fr
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
turns: [{user: hello, expect: {state: GREETED}}]
"""


def write(folder: Path, **files: str) -> None:
    (folder / "shop").mkdir(exist_ok=True)
    (folder / "shop/adapter.py").write_text("class Adapter: ...\n")
    names = {"configuration": ".github/ratiba.yml", "scenario": "scenarios/talks.yaml"}
    for key, content in files.items():
        path = folder / names.get(key, f"scenarios/recordings/{key}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def recorded(text: str, asked: str = "hello") -> str:
    response = {"content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1}}
    key = asked.encode().hex().ljust(64, "0")
    line = ModelRecording(key, 0, "live", "anthropic", "claude", asked, "0" * 12, response)
    return render_recordings([line]).decode()


def test_a_good_repository_has_no_mistake(folder: Path, command: CommandRun) -> None:
    write(folder, configuration=CONFIGURATION, scenario=SCENARIO)
    assert command("validate") == "1 scenario, 1 turn: no mistake found.\n"


def test_phrases_of_refusals_do_not_know_the_language_of_a_scenario(folder: Path, command: CommandRun) -> None:
    rule = "rules:\n  - {type: must_refuse, value: {judge: false}}\n"
    write(folder, configuration=CONFIGURATION, scenario=SCENARIO + rule)
    printed = command("validate")
    assert (
        "scenarios/talks.yaml:7: must_refuse without a judge looks for Swahili and English phrases, and the "
        "scenario's language is fr" in printed
    )
    assert "let a judge decide: {type: must_refuse}" in printed
    write(folder, scenario=SCENARIO.replace("language: fr", "language: sw") + rule)
    assert "must_refuse" not in command("validate")


@pytest.mark.parametrize(
    ("reply", "warned"), [("Sorry, I can't help with that.", False), ("Ask the one whom it belongs to.", True)]
)
def test_a_reply_that_only_a_judge_can_decide_about_is_named_before_a_run_without_a_key(
    folder: Path, reply: str, command: CommandRun, *, warned: bool
) -> None:
    scenario = f"""id: talks
language: fr
layer: replay
turns:
  - {{user: Her number?, reply: "{reply}"}}
rules:
  - {{type: must_refuse, value: 1}}
"""
    write(folder, configuration=CONFIGURATION, scenario=scenario)
    printed = command("validate")
    assert ("scenarios/talks.yaml:7: must_refuse calls the judge where phrases are not sure" in printed) is warned
    assert ("Run: ratiba record --scenario talks --accept" in printed) is warned
    assert ("{type: must_refuse, value: {judge: false, turn: 1}}" in printed) is warned


def test_a_repository_without_a_configuration_is_asked_to_begin_with_init(folder: Path, command: CommandRun) -> None:
    write(folder, scenario=SCENARIO)
    assert ".github/ratiba.yml: there is no such file. Run: ratiba init" in command("validate", code=2)


def test_the_nine_rules_are_read_as_the_evaluation_harness_writes_them(folder: Path, command: CommandRun) -> None:
    rules = [
        {"type": "must_contain", "value": "30-day return policy"},
        {"type": "must_not_contain", "value": "I don't know"},
        {"type": "must_call_tool", "tool": "drug_lookup"},
        {"type": "must_not_call_tool", "tool": "delete_user"},
        {"type": "regex_must_match", "pattern": "\\d+ mg"},
        {"type": "regex_must_not_match", "pattern": "password|secret"},
        {"type": "max_hallucination_risk", "threshold": 0.7},
        {"type": "must_refuse"},
        {"type": "custom", "plugin": "my_app.DrugDosageCheck"},
    ]
    (folder / "my_app.py").write_text("class DrugDosageCheck: ...\n")
    write(folder, configuration=CONFIGURATION, scenario=SCENARIO + f"rules: {json.dumps(rules)}\n")
    command("validate")
    write(folder, scenario=SCENARIO + 'rules: [{"type": "must_call_tool", "function": "drug_lookup"}]\n')
    command("validate", code=2)
    text = "talks.yaml:6: rules.0: the rule must_call_tool has no key 'function'; it has `tool` or `value`"
    assert text in command.out + command.err


def test_this_projects_own_repository_has_no_mistake_and_nothing_to_warn_of(command: CommandRun) -> None:
    command("validate", "--repo", str(Path(__file__).parents[2]))
    assert "warning" not in command.out + command.err
    assert command.out.endswith("no mistake found.\n")


def test_a_metric_of_a_system_type_that_scenarios_have_no_truth_for_is_reported(
    folder: Path, command: CommandRun
) -> None:
    write(folder, configuration=CONFIGURATION + "metrics: {chatbot: [{metric: RougeLMetric, threshold: 0.5}]}\n")
    write(folder, scenario=SCENARIO)
    assert command("validate").splitlines()[0] == (
        "warning: .github/ratiba.yml: metrics.chatbot: 1 of 1 scenario does not have the expected values for"
        " RougeLMetric, so it is not added: talks"
    )


def test_mistakes_of_configuration_scenarios_and_recordings_are_reported_together(
    folder: Path, command: CommandRun
) -> None:
    write(folder, configuration="system: {adaptr: x}\n", scenario=SCENARIO + "vertcal: spa\n", talks="{}\n")
    output = command("validate", code=2).splitlines()
    assert {line.split(":")[0] for line in output} == {
        ".github/ratiba.yml",
        "scenarios/recordings/talks.jsonl",
        "scenarios/talks.yaml",
    }
    assert output == sorted(output)


def test_a_recording_that_holds_a_person_or_a_secret_is_a_mistake_and_is_not_repeated(
    folder: Path, command: CommandRun
) -> None:
    text = "Piga 0700 000 001. Mwingine ni 0799 888 777, amina@example.com"
    write(
        folder,
        configuration=CONFIGURATION,
        scenario=SCENARIO,
        talks=recorded(text) + recorded(f"key {KEY}", asked="again"),
        gone=recorded("Piga +254 700 000 001"),
    )
    output = command("validate", code=2, environment={"RATIBA_OPENAI_API_KEY": KEY})
    problems = [line.rpartition("recordings/")[2] for line in output.splitlines() if "warning" not in line]
    assert problems == [
        "gone.jsonl:1: response.content[0].text: a phone number (+254***001) must not be recorded",
        "talks.jsonl:1: response.content[0].text: a phone number (+254***777) must not be recorded",
        "talks.jsonl:1: response.content[0].text: an e-mail address (a***@***) must not be recorded",
        "talks.jsonl:2: response.content[0].text: a secret of this run (***) must not be recorded",
    ]
    assert not any(planted in output for planted in ("0799", "amina@", KEY))


def test_what_a_pattern_asks_for_is_reported_in_words(folder: Path, command: CommandRun) -> None:
    wrong = SCENARIO.replace("id: talks", "id: Talks").replace("language: fr", "language: french")
    write(folder, configuration=CONFIGURATION, scenario=wrong)
    output = command("validate", code=2)
    assert "id: 'Talks' is not allowed: give lower-case letters, digits, _ and -" in output
    assert "language: 'french' is not allowed: give an ISO 639 code such as en or sw, or mixed" in output


def test_what_a_scenario_declares_its_recording_may_hold(folder: Path, command: CommandRun) -> None:
    write(folder, configuration=CONFIGURATION, scenario=SCENARIO, talks=recorded("Piga 0700 000 001"))
    command("validate")


def test_a_recording_that_no_scenario_uses_is_a_warning(folder: Path, command: CommandRun) -> None:
    write(folder, configuration=CONFIGURATION, scenario=SCENARIO, gone="")
    assert "warning: scenarios/recordings/gone.jsonl: no scenario has this id" in command("validate")


def test_for_programs_the_same_is_json(folder: Path, command: CommandRun) -> None:
    write(folder, configuration=CONFIGURATION, scenario=SCENARIO.replace("fr", "French"))
    output: dict[str, Any] = command.json("validate", code=2)
    assert output["scenarios"] is None
    assert [(one["path"], one["line"]) for one in output["problems"]] == [("scenarios/talks.yaml", 2)]


TWELVE = """\
id: Talks Loud
language: Swahili
layer: silver
now: 2026-04-25
vertcal: spa
customer: {name: Amina}
turns:
  - user: hello
    expect: {state: 7}
  - {event: {rail: mpesa}}
  - expect: {output: {value: 1, ignore: ["items["]}}
rules:
  - {type: must_contain_not, value: a}
  - {type: regex_must_match, value: "(a"}
assertions:
  - {metric: NoSuchMetric, threshold: 1.0}
"""


def test_twelve_different_mistakes_of_one_file_are_twelve_messages_each_with_its_line(
    folder: Path, command: CommandRun
) -> None:
    write(folder, configuration=CONFIGURATION, scenario=TWELVE)
    problems = command.json("validate", code=2)["problems"]
    assert [one["line"] for one in problems] == [1, 2, 3, 4, 5, 6, 9, 10, 11, 13, 14, 16]
    assert len({one["message"] for one in problems}) == 12


QUIET = """\
id: talks
language: fr
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
"""


@pytest.mark.parametrize(
    ("rest", "line", "message"),
    [
        ("turns: [{user: hello}]\n", 1, "it asserts nothing"),
        (
            "touches: [prompts/*.md]\nturns: [{user: hello, expect: {state: A}}]\n",
            1,
            "touches: no file matches 'prompts/*.md'",
        ),
        (
            "quarantine: {reason: flaky, owner: amina, until: 2026-01-31}\nturns: [{user: a, expect: {state: A}}]\n",
            1,
            "its quarantine ended on 2026-01-31, so it counts again",
        ),
        (
            "turns: [{user: a, expect: {documents: [x]}}]\nassertions: [{metric: MrrMetric, threshold: 0.5}]\n",
            1,
            "MrrMetric is made for rag, search, and system_type is chatbot",
        ),
        (
            "turns: [{user: a, expect: {tools: [{name: book, args: {at: 2026-10-30T14:00}}]}}]\n",
            5,
            "2026-10-30T14:00:00 is 2026-10-30T14:00+03:00 or 2026-10-30T14:00+02:00: name the time zone in `now`",
        ),
        (
            "turns: [{user: a, expect: {contains: A}}]\n",
            5,
            "contains: 'A' is found inside other words too; to find it as a whole word, write `contains_word`",
        ),
        ("turns: [{user: a, expect: {contains_any: [yes, 5%]}}]\n", 5, "contains_any: '5%' is found inside"),
        ("turns: [{user: a, expect: {not_contains: [' A']}}]\n", 5, "not_contains: ' A' is found inside"),
        (
            "turns: [{user: a}]\nrules:\n  - {type: must_not_contain, value: [ai]}\n",
            7,
            "must_not_contain: 'ai' is found inside other words too",
        ),
    ],
)
def test_what_is_allowed_and_probably_not_meant_is_a_warning(
    folder: Path, rest: str, line: int, message: str, command: CommandRun
) -> None:
    write(folder, configuration=CONFIGURATION, scenario=QUIET + rest)
    assert command("validate").startswith(f"warning: scenarios/talks.yaml:{line}: {message}")


def test_a_metric_that_compares_with_a_default_is_a_warning(folder: Path, command: CommandRun) -> None:
    measured = (
        "turns: [{user: hello, expect: {state: A}}]\n"
        "assertions: [{metric: BookingSlotConsistencyMetric, threshold: 1}, "
        "{metric: MpesaPaymentSafetyMetric, threshold: 1}]\n"
    )
    write(folder, configuration=CONFIGURATION, scenario="id: talks\nlanguage: fr\n" + measured)
    output = command("validate")
    assert "BookingSlotConsistencyMetric compares with `now` and `customer`, which the scenario does not give" in output
    assert "MpesaPaymentSafetyMetric compares with `customer`, which the scenario does not give" in output
    write(folder, configuration=CONFIGURATION, scenario=QUIET + measured)
    assert "compares with" not in command("validate")


def test_what_is_meant_is_no_warning(folder: Path, command: CommandRun) -> None:
    rest = "touches: [scenarios/*.yaml]\n"
    rest += "turns: [{user: hello, expect: {answer: Karibu, contains: [KES, '(A)', €, 谢谢], contains_word: A}}]\n"
    rest += "quarantine: {reason: flaky, owner: amina, until: 9999-12-31}\n"
    rest += "assertions: [{metric: RougeLMetric, threshold: 0.5}]\n"
    write(folder, configuration=CONFIGURATION, scenario=QUIET + rest)
    assert command("validate") == "1 scenario, 1 turn: no mistake found.\n"


def test_a_grade_that_no_metric_of_the_scenario_asks_for_is_a_warning(folder: Path, command: CommandRun) -> None:
    grade = JudgeRecording("0" * 64, 0, "live", "english_fluency:1.0.0", "judge", "1" * 64, 0.9, "good", USAGE)
    write(folder, configuration=CONFIGURATION, scenario=SCENARIO, talks=render_recordings([grade]).decode())
    output = command("validate")
    assert "warning: scenarios/recordings/talks.jsonl:1: it is never used: the scenario does not use" in output


GRADED = SCENARIO.replace("language: fr", "language: en")


def test_a_judged_metric_without_a_recorded_grade_is_a_warning(folder: Path, command: CommandRun) -> None:
    write(folder, configuration=CONFIGURATION, scenario=GRADED, talks=recorded("Karibu"))
    assert command("validate").startswith(
        "warning: scenarios/talks.yaml:1: no score of EnglishFluencyMetric is recorded for talks, so a run without"
        " an API key is incomplete. Run: ratiba record --scenario talks --accept\n"
    )


def test_cases_without_a_recorded_grade_are_one_warning(folder: Path, command: CommandRun) -> None:
    write(folder, configuration=CONFIGURATION, scenario=GRADED.replace("hello", '"${said}"') + "cases: talks.jsonl\n")
    (folder / "scenarios/talks.jsonl").write_text('{"id": "a", "said": "hello"}\n{"id": "b", "said": "habari"}\n')
    output = command("validate")
    assert output.count("warning") == 1
    assert "is recorded for 2 of the cases of talks" in output


def test_a_judged_metric_with_a_grade_is_no_warning(folder: Path, command: CommandRun) -> None:
    grade = JudgeRecording("0" * 64, 0, "live", "english_fluency:2.0.0", "judge", "1" * 64, 0.9, "good", USAGE)
    write(folder, configuration=CONFIGURATION, scenario=GRADED, talks=render_recordings([grade]).decode())
    assert "warning" not in command("validate")


def test_a_judge_of_two_levels_is_noted_with_the_drop_that_it_can_show(folder: Path, command: CommandRun) -> None:
    scores = [1.0, 0.0] * 5
    for number, score in enumerate(scores):
        grade = JudgeRecording("0" * 64, 0, "live", "english_fluency:2.0.0", "judge", "1" * 64, score, "good", USAGE)
        name = f"talks_{number}"
        write(folder, configuration=CONFIGURATION, **{name: render_recordings([grade]).decode()})
        (folder / f"scenarios/{name}.yaml").write_text(GRADED.replace("id: talks", f"id: {name}"))
    output = command("validate")
    assert "note: .github/ratiba.yml: EnglishFluencyMetric was 0 or 1 in all 10 recorded scores. With 10 sc" in output
    assert "with judge.samples: 3" in output


def test_a_grade_of_an_earlier_rubric_is_a_warning_and_no_grade(folder: Path, command: CommandRun) -> None:
    grade = JudgeRecording("0" * 64, 0, "live", "english_fluency:1.0.0", "judge", "1" * 64, 0.9, "good", USAGE)
    write(folder, configuration=CONFIGURATION, scenario=GRADED, talks=render_recordings([grade]).decode())
    printed = command("validate")
    assert "does not use 'english_fluency:1.0.0', but 'english_fluency:2.0.0'; run: ratiba record --scen" in printed
    assert "no score of EnglishFluencyMetric is recorded for talks" in printed


def test_the_answers_of_a_model_beside_a_script_are_a_warning(folder: Path, command: CommandRun) -> None:
    scripted = SCENARIO + "layer: fsm\nscript: [{text: Bonjour}]\n"
    write(folder, configuration=CONFIGURATION, scenario=scripted, talks=recorded("Bonjour"))
    assert "talks.jsonl:1: it is never used: the scenario has a mocked model" in command("validate")


@pytest.mark.parametrize("name", ["scenario", "configuration"])
def test_the_schema_is_printed_for_editors(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Namespace(schema=name), {}) == 0
    assert json.loads(capsys.readouterr().out)["$schema"].startswith("https://json-schema.org/")


@pytest.mark.parametrize(
    ("configuration", "scenario", "message"),
    [
        ("", ("language: fr", "langauge: fr"), "talks.yaml:2: langauge: unknown key; did you mean 'language'?"),
        ("", ("state: GREETED", "stat: G"), "talks.yaml:5: turns.0.expect.stat: unknown key; did you mean 'state'?"),
        (
            "",
            ("turns:", "assertions: [{metric: RougLMetric, threshold: 0.5}]\nturns:"),
            "talks.yaml:5: unknown metric 'RougLMetric'; did you mean 'RougeLMetric'?",
        ),
        (
            "",
            ("turns:", "rules: [{type: must_contian, value: a}]\nturns:"),
            "talks.yaml:5: unknown rule type 'must_contian'; did you mean 'must_contain' or 'must_not_contain'?",
        ),
        (
            "system: {adaptor: 'shop.adapter:Adapter'}\n",
            ("", ""),
            ".github/ratiba.yml:1: system.adaptor: unknown key; did you mean 'adapter'?",
        ),
        (
            f"{CONFIGURATION}suite: {{metric_thresholds: {{RougLMetric: 0.5}}}}\n",
            ("", ""),
            "suite.metric_thresholds.RougLMetric: no scenario is measured by it; did you mean 'RougeLMetric'?",
        ),
    ],
)
def test_a_mistyped_name_is_one_message_that_proposes_the_nearest(
    configuration: str, scenario: tuple[str, str], message: str, folder: Path, command: CommandRun
) -> None:
    write(folder, configuration=configuration or CONFIGURATION, scenario=SCENARIO.replace(*scenario))
    (line,) = command("validate", code=2).splitlines()
    assert line.endswith(message)


ADVISORY = (
    "warning: scenarios: no scenario is tagged smoke, has touches or is recorded, so an advisory run (a change to code "
    "alone) {what}. Tag one smoke, or run: ratiba record"
)


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ("", "measures nothing"),
        ("critical: true\n", "runs only the critical scenarios"),
        ("tags: [smoke]\n", ""),
        ("touches: [shop/]\n", ""),
        ("layer: fsm\nscript: []\n", ""),
    ],
)
def test_a_suite_of_which_an_advisory_run_selects_nothing_is_reported_once(
    folder: Path, more: str, what: str, command: CommandRun
) -> None:
    write(folder, configuration=MODELS, scenario=SCENARIO + more)
    (folder / "scenarios/other.yaml").write_text(SCENARIO.replace("talks", "other") + more)
    output = [line for line in command("validate").splitlines() if "advisory run" in line]
    assert output == ([ADVISORY.format(what=what)] if what else [])
    write(folder, talks=recorded("Karibu"))
    assert "advisory run" not in command("validate")
