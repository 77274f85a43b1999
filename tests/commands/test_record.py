"""``ratiba record``: what is kept, what waits, what is refused, and what is never written."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.cli import build_parser
from ratiba_action.commands.record import record
from ratiba_action.errors import ConfigurationError, InfrastructureError, PublishError, SuiteError, UsageError
from ratiba_action.llm.recordings.folder import read_reads
from ratiba_action.llm.recordings.lines import ModelRecording, Recording
from ratiba_action.llm.recordings.reader import read_recordings
from ratiba_action.llm.recordings.writer import write_recordings
from ratiba_action.model.reads import Reads
from tests.support.git_repository import GitRepository
from tests.support.recorder import FakeRecorder
from tests.support.sample_report import sample_check

CONFIGURATION = "system: {adapter: 'shop.adapter:Adapter'}\n"
SCENARIO = """\
id: {name}
language: fr
tags: [{tag}]
now: 2026-04-25T10:00:00+03:00
customer: {{name: Amina, phone: "+254 700 000 001"}}
turns: [{{user: hello}}]
"""
KEY = "sk-ant-planted-0123456789"


def line(text: str, asked: str = "hello") -> ModelRecording:
    response = {"id": "msg_1", "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1}}
    key = asked.encode().hex().ljust(64, "0")[:64]
    return ModelRecording(key, 0, "live", "anthropic", "claude-sonnet-5-5", asked, "0" * 12, response)


@dataclass
class Shop:
    """A repository with two scenarios, and the command in it."""

    folder: Path
    report: Path
    environment: dict[str, str]

    def path(self, name: str) -> Path:
        return self.folder / "scenarios" / "recordings" / f"{name}.jsonl"

    def before(self, name: str, *lines: Recording) -> bytes:
        write_recordings(self.path(name), lines)
        return self.path(name).read_bytes()

    def record(self, recorder: FakeRecorder, *options: str, **variables: str) -> int:
        given = ["record", "--repo", str(self.folder), "--report-dir", str(self.report), *options]
        arguments = build_parser(given).parse_args(given)
        return record(arguments, {**self.environment, "RATIBA_ANTHROPIC_API_KEY": KEY, **variables}, recorder)

    def files(self) -> list[str]:
        recordings = [*self.folder.joinpath("scenarios").rglob("*"), *self.report.rglob("*")]
        names = (path.name for path in recordings if path.is_file() and path.suffix != ".yaml")
        return sorted(name for name in names if name != ".gitignore")


def recorded_models(path: Path) -> list[ModelRecording]:
    return [one for one in read_recordings(path) if isinstance(one, ModelRecording)]


@pytest.fixture
def shop(repository: GitRepository, tmp_path: Path) -> Shop:
    repository.commit(
        {
            ".github/ratiba.yml": CONFIGURATION,
            "scenarios/first.yaml": SCENARIO.format(name="first", tag="smoke"),
            "scenarios/second.yaml": SCENARIO.format(name="second", tag="rest"),
        }
    )
    return Shop(repository.folder, tmp_path / "report", repository.environment)


def test_new_recordings_are_written_and_shown(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    recorder = FakeRecorder({"first": [line("Karibu")], "second": [line("Sawa")]})
    assert shop.record(recorder) == 0
    assert read_recordings(shop.path("first")) == (line("Karibu"),)
    assert read_recordings(shop.path("second")) == (line("Sawa"),)
    output = capsys.readouterr().out
    assert "first: new: 1 added" in output
    assert "    + said: Karibu" in output
    assert "USD 1.25 of 20.00" in output
    assert "Written: first.jsonl" in output


def test_only_the_chosen_scenarios_are_recorded_and_models_are_really_asked(shop: Shop) -> None:
    recorder = FakeRecorder({"first": [line("Karibu")], "second": [line("Sawa")]})
    assert shop.record(recorder, "--tag", "smoke", "--concurrency", "2", "--deadline", "60") == 0
    assert shop.files() == ["first.jsonl"]
    (run,) = recorder.runs
    assert (run.settings.llm, run.concurrency, run.seconds) == ("record", 2, 60.0)
    with pytest.raises(UsageError, match="no scenario 'third'"):
        shop.record(recorder, "--scenario", "third")


def test_answers_of_a_program_that_stands_in_for_a_model_are_marked_as_written_by_hand(shop: Shop) -> None:
    assert shop.record(FakeRecorder({"first": [line("Karibu")]}), "--scenario", "first", "--authored") == 0
    assert [one.source for one in recorded_models(shop.path("first"))] == ["authored"]
    with pytest.raises(UsageError, match="--reads records no answer"):
        shop.record(FakeRecorder(), "--authored", "--reads")


def test_an_existing_recording_that_differs_waits_for_accept(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    before = shop.before("first", line("Karibu"))
    recorder = FakeRecorder({"first": [line("Karibu tena")], "second": [line("Sawa")]})
    assert shop.record(recorder) == 1
    assert shop.path("first").read_bytes() == before
    assert read_recordings(shop.path("second")) == (line("Sawa"),)
    output = capsys.readouterr().out
    assert "first: changed: 1 changed" in output
    assert "    - said: Karibu\n" in output
    assert "    + said: Karibu tena\n" in output
    assert "--accept" in output


def test_what_recording_is_expected_to_cost_is_said_before_anything_is_asked(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.before("first", line("Karibu"))
    shop.record(FakeRecorder({}), "--scenario", "first", "--budget-usd", "0.0001")
    output = capsys.readouterr().out.splitlines()
    assert output[0].startswith("Models are called with the key in ")
    assert output[1] == "The budget of this run (USD 0.0001) should cover 0 of 1 scenario; it may not cover first."
    assert output[2].startswith("Expected to cost USD ")


def test_what_waits_in_the_repository_is_no_change_to_it(shop: Shop, repository: GitRepository) -> None:
    shop.before("first", line("Karibu"))
    inside = replace(shop, report=shop.folder / "ratiba-report")
    before = repository.git("status", "--porcelain", "--untracked-files=all")
    assert inside.record(FakeRecorder({"first": [line("Karibu tena")]}), "--scenario", "first") == 1
    assert (inside.report / "recordings/first.jsonl").exists()
    assert repository.git("status", "--porcelain", "--untracked-files=all") == before


def test_a_report_folder_that_cannot_be_made_is_named(shop: Shop) -> None:
    shop.before("first", line("Karibu"))
    (shop.folder / "file").touch()
    beside = replace(shop, report=shop.folder / "file/report")
    with pytest.raises(PublishError, match="could not be made: Not a directory"):
        beside.record(FakeRecorder({"first": [line("Karibu tena")]}), "--scenario", "first")


@pytest.mark.processes
def test_what_waits_can_be_accepted_without_paying_again(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.before("first", line("Karibu"))
    shop.record(FakeRecorder({"first": [line("Karibu tena")]}), "--scenario", "first")
    (command,) = [output for output in capsys.readouterr().out.splitlines() if output.startswith("  cp ")]
    subprocess.run(command, shell=True, check=True)  # noqa: S602 - a person pastes it into a shell
    assert read_recordings(shop.path("first")) == (line("Karibu tena"),)


def test_accept_replaces_what_differs(shop: Shop) -> None:
    shop.before("first", line("Karibu"))
    recorder = FakeRecorder({"first": [line("Karibu tena")], "second": [line("Sawa")]})
    assert shop.record(recorder, "--accept") == 0
    assert read_recordings(shop.path("first")) == (line("Karibu tena"),)
    assert shop.files() == ["first.jsonl", "second.jsonl"]


def test_the_same_answers_change_no_file(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    before = shop.before("first", line("Karibu"))
    again = line("Karibu")
    again = ModelRecording(**{**_fields(again), "response": {**again.response, "id": "msg_2"}})
    assert shop.record(FakeRecorder({"first": [again]}), "--scenario", "first") == 0
    assert shop.path("first").read_bytes() == before
    assert "first: unchanged: the same answers" in capsys.readouterr().out


def test_an_identifier_that_the_scenario_does_not_declare_refuses_the_whole_run(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    before = shop.before("second", line("Sawa"))
    lines = {"first": [line("Nipigie 0799 888 777 au amina@example.com")], "second": [line("Sawa sana")]}
    assert shop.record(FakeRecorder(lines), "--accept") == 1
    assert shop.files() == ["second.jsonl"]
    assert shop.path("second").read_bytes() == before
    output = capsys.readouterr().out
    assert "first.jsonl line 1, response.content[0].text: a phone number (+254***777)" in output
    assert "first.jsonl line 1, response.content[0].text: an e-mail address (a***@***)" in output
    assert "Nothing was written" in output
    assert "0799" not in output
    assert "amina@" not in output


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("planted", [KEY, "tr0ub4dor", "ghs_0123456789abcdef", "sk-ant-api03-AbCdEfGh1234"])
def test_a_secret_refuses_the_run_and_stands_in_no_file_and_no_output(
    shop: Shop, capsys: pytest.CaptureFixture[str], planted: str, *, as_json: bool
) -> None:
    recorder = FakeRecorder({"first": [line("Karibu", asked=planted)]}, broken={"second": f"said {KEY}"})
    database = "postgresql://gate:tr0ub4dor@db/gate"
    assert shop.record(recorder, *(["--json"] if as_json else []), RATIBA_DATABASE_URL=database) == 1
    assert shop.files() == []
    printed = capsys.readouterr()
    assert "line 1, asked" in printed.out
    assert planted not in printed.out + printed.err
    assert KEY not in printed.out + printed.err


def test_a_conversation_that_broke_off_is_never_written(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    before = shop.before("first", line("Karibu"))
    recorder = FakeRecorder({"first": [line("Haya")], "second": [line("Sawa")]}, broken={"first": "it hung"})
    assert shop.record(recorder, "--accept") == 3
    assert shop.path("first").read_bytes() == before
    assert read_recordings(shop.path("second")) == (line("Sawa"),)
    assert "first: not recorded: system error: it hung" in capsys.readouterr().out


def test_several_trials_stand_in_one_file_one_after_the_other(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.before("first", line("Karibu"))
    recorder = FakeRecorder({"first": [line("Karibu"), replace(line("Karibu tena"), trial=1)]})
    assert shop.record(recorder, "--scenario", "first", "--trials", "2", "--accept") == 0
    assert [one.trial for one in recorded_models(shop.path("first"))] == [0, 1]
    (run,) = recorder.runs
    assert run.trials == 2
    output = capsys.readouterr().out
    assert "first: changed: 1 added" in output
    assert "answer of claude-sonnet-5-5 to 'hello' in trial 2" in output


def test_a_conversation_of_which_one_trial_broke_off_is_not_written(shop: Shop) -> None:
    recorder = FakeRecorder({"first": [line("Karibu")]}, broken={"first": "it hung"}, broken_in=1)
    assert shop.record(recorder, "--scenario", "first", "--trials", "2") == 3
    assert shop.files() == []


def test_a_scenario_whose_deterministic_assertions_fail_is_not_recorded_even_with_accept(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    before = shop.before("first", line("Karibu"))
    recorder = FakeRecorder({"first": [line("Haya")], "second": [line("Sawa")]}, failing=frozenset({"first"}))
    assert shop.record(recorder, "--accept") == 1
    assert shop.path("first").read_bytes() == before
    assert read_recordings(shop.path("second")) == (line("Sawa"),)
    output = capsys.readouterr().out
    check = sample_check(passed=False)
    assert f"first: not recorded: turn {check.turn}: {check.what}: expected {check.expected}, got {check.got}" in output
    assert "Fix the code, or change the scenario if the new behaviour is right." in output


def test_answers_that_could_not_be_read_back_are_not_written(shop: Shop) -> None:
    before = shop.before("first", line("Karibu"))
    recorder = FakeRecorder({"first": [line("Haya")], "second": [line("Sawa"), line("Sawa sana")]})
    with pytest.raises(SuiteError, match=r"second\.jsonl:2: the same model key"):
        shop.record(recorder, "--accept")
    assert shop.path("first").read_bytes() == before
    assert shop.files() == ["first.jsonl"]


def test_a_broken_recording_is_reported_before_anything_is_spent(shop: Shop) -> None:
    shop.path("first").parent.mkdir()
    shop.path("first").write_text("{}\n")
    recorder = FakeRecorder()
    with pytest.raises(SuiteError, match=r"first\.jsonl:1"):
        shop.record(recorder)
    assert recorder.runs == []


def test_without_a_key_nothing_is_started(shop: Shop) -> None:
    recorder = FakeRecorder()
    with pytest.raises(InfrastructureError, match="there is no key to call a model with"):
        shop.record(recorder, RATIBA_ANTHROPIC_API_KEY="")
    assert recorder.runs == []


REFUSES = f"{SCENARIO}rules: [{{{{type: must_refuse}}}}]\n"


def test_without_a_key_a_suite_runs_in_which_only_a_refusal_may_need_a_judge(
    shop: Shop, repository: GitRepository
) -> None:
    free = {".github/ratiba.yml": "system: {adapter: 'shop.adapter:Adapter', price_per_turn_usd: 0}\n"}
    scenarios = {f"scenarios/{name}.yaml": REFUSES.format(name=name, tag="smoke") for name in ("first", "second")}
    repository.commit(free | scenarios)
    before = shop.before("first", line("Karibu"))
    sure, unsure = FakeRecorder(), FakeRecorder(broken={"second": "phrases are not sure"})
    assert shop.record(sure, RATIBA_ANTHROPIC_API_KEY="") == 0
    assert shop.record(unsure, "--accept", RATIBA_ANTHROPIC_API_KEY="") == 3
    assert [run.settings.llm for run in sure.runs + unsure.runs] == ["replay", "replay"]
    assert (shop.path("first").read_bytes(), shop.path("second").exists()) == (before, False)
    shop.record(sure)
    assert sure.runs[-1].settings.llm == "record"
    judged = REFUSES.format(name="first", tag="smoke") + "assertions: [{metric: CoherenceMetric, threshold: 0.7}]\n"
    for edited in ({".github/ratiba.yml": CONFIGURATION}, {**free, "scenarios/first.yaml": judged}):
        repository.commit(edited)
        with pytest.raises(InfrastructureError, match="there is no key to call a model with"):
            shop.record(sure, RATIBA_ANTHROPIC_API_KEY="")


@pytest.mark.parametrize(
    "options",
    [
        ["--concurrency", "0"],
        ["--trials", "0"],
        ["--trials", "51"],
        ["--deadline", "soon"],
        ["--repo", "/nowhere/at/all"],
    ],
)
def test_a_wrong_option_is_a_mistake_of_the_command_line(shop: Shop, options: Sequence[str]) -> None:
    with pytest.raises(UsageError, match=options[1]):
        shop.record(FakeRecorder(), *options)


def test_a_wrong_input_is_reported_before_anything_is_spent(shop: Shop) -> None:
    recorder = FakeRecorder()
    with pytest.raises(ConfigurationError, match="budget-usd"):
        shop.record(recorder, "--budget-usd", "much")
    assert recorder.runs == []


def test_for_programs_the_outcome_is_json(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.before("first", line("Karibu"))
    recorder = FakeRecorder({"first": [line("Karibu tena")]}, broken={"second": "it hung"})
    assert shop.record(recorder, "--json") == 1
    output: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert output["spent_usd"] == "1.25"
    first, second = output["recordings"]
    assert (first["scenario"], first["outcome"], first["changed"], first["written"]) == ("first", "changed", 1, False)
    assert Path(first["waiting"]).read_bytes().endswith(b"\n")
    assert (second["outcome"], second["reason"], second["waiting"]) == ("unfinished", "system error: it hung", None)


def test_what_a_model_says_is_no_command_of_a_workflow_and_no_control_of_a_terminal(
    shop: Shop, repository: GitRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "ok\n::error::planted\n##[error]planted\x1b[2J\u202e"
    recorder = FakeRecorder({"first": [line(text)]}, broken={"second": "\n::error::planted"})
    scheduled = {"GITHUB_EVENT_NAME": "schedule", "GITHUB_SHA": repository.git("rev-parse", "HEAD")}
    shop.record(recorder, GITHUB_ACTIONS="true", **scheduled)
    output = capsys.readouterr().out
    assert f"::add-mask::{KEY}" in output
    stopped, _, rest = output.partition("::stop-commands::")
    token = rest.splitlines()[0]
    shown = rest[: rest.index(f"::{token}::")]
    assert "::error::" not in stopped
    assert "::error::planted" in shown
    assert not any(one in shown for one in ("##[", "\x1b", "\u202e"))
    assert not any(one.lstrip().startswith("::") for one in shown.splitlines())


@pytest.mark.processes
def test_as_a_process_it_ends_with_3_without_a_key(shop: Shop) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ratiba_action", "record", "--repo", str(shop.folder)],
        env=shop.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.startswith("ratiba: Recording calls models, and there is no key to call a model with")
    assert "Without a key, mock the model: give the scenario `layer: fsm`" in done.stderr
    assert shop.files() == []


def _fields(recording: ModelRecording) -> dict[str, Any]:
    return {name: getattr(recording, name) for name in recording.__slots__}


def test_a_variant_has_recordings_of_its_own(shop: Shop) -> None:
    variants = "  variants: {mini: {environment: {MODEL: gpt-5-mini}}}\n"
    shop.folder.joinpath(".github/ratiba.yml").write_text("system:\n  adapter: shop.adapter:Adapter\n" + variants)
    recorder = FakeRecorder({"first": [line("Karibu")]})
    before = shop.before("first", line("Sawa"))
    assert shop.record(recorder, "--scenario", "first", "--variant", "mini") == 0
    assert read_recordings(shop.path("mini/first")) == (line("Karibu"),)
    assert shop.path("first").read_bytes() == before
    with pytest.raises(UsageError, match="no variant 'tiny'"):
        shop.record(recorder, "--scenario", "first", "--variant", "tiny")


OWN = """\
system: {adapter: 'shop.adapter:Adapter'}
providers: {vllm: {api: openai, base_url: 'http://127.0.0.1:9/v1', key: VLLM_KEY}}
prices: {llama: {free: true}}
simulator: {provider: vllm, model: llama}
"""


def test_on_a_laptop_a_provider_that_the_branch_brings_is_recorded_with(shop: Shop) -> None:
    (shop.folder / ".github/ratiba.yml").write_text(OWN)
    recorder = FakeRecorder({"first": [line("Karibu")]})
    own_key_only = {"RATIBA_ANTHROPIC_API_KEY": "", "VLLM_KEY": "planted"}
    assert shop.record(recorder, "--scenario", "first", **own_key_only) == 0
    (run,) = recorder.runs
    assert set(run.configuration.providers) == {"vllm"}
    assert (run.configuration.simulator.provider, set(run.configuration.prices)) == ("vllm", {"llama"})
    assert set(run.keys) == {"vllm"}
    shop.record(recorder, "--scenario", "first", **own_key_only, CI="true")
    assert not recorder.runs[-1].configuration.providers, "in CI the base's apply"
    assert not recorder.runs[-1].keys


READ = Reads(("agent.py", "knowledge/"), {"knowledge/returns.md": "turn 1"})


def reads_of(shop: Shop, name: str = "first") -> Reads | None:
    return read_reads(shop.path(name).parent, [name]).get(name)


def test_what_a_scenario_reads_is_recorded_with_its_answers(shop: Shop) -> None:
    assert shop.record(FakeRecorder({"first": [line("Karibu")]}, reads={"first": READ}), "--scenario", "first") == 0
    assert (reads_of(shop), read_recordings(shop.path("first"))) == (READ, (line("Karibu"),))


def test_other_reads_are_saved_without_accept_and_are_no_change_of_an_answer(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    before = shop.before("first", line("Karibu"))
    recorder = FakeRecorder({"first": [line("Karibu")]}, reads={"first": READ})
    assert shop.record(recorder, "--scenario", "first") == 0
    assert shop.path("first").read_bytes().partition(b"\n")[2] == before
    assert "first: unchanged: the same answers; reads differ\n" in capsys.readouterr().out
    written = shop.path("first").read_bytes()
    assert shop.record(recorder, "--scenario", "first") == 0
    assert shop.path("first").read_bytes() == written
    assert "reads differ" not in capsys.readouterr().out


def test_what_could_not_be_observed_stays_as_it_was_recorded(shop: Shop) -> None:
    shop.record(FakeRecorder({"first": [line("Karibu")]}, reads={"first": READ}), "--scenario", "first")
    changed = FakeRecorder({"first": [line("Karibu tena")]})
    assert shop.record(changed, "--scenario", "first", "--accept") == 0
    assert (reads_of(shop), read_recordings(shop.path("first"))) == (READ, (line("Karibu tena"),))


def test_answers_that_wait_for_accept_keep_the_file_with_its_reads(shop: Shop) -> None:
    before = shop.before("first", line("Karibu"))
    recorder = FakeRecorder({"first": [line("Karibu tena")]}, reads={"first": READ})
    assert shop.record(recorder, "--scenario", "first") == 1
    assert shop.path("first").read_bytes() == before
    assert read_reads(shop.report / "recordings", ["first"]) == {"first": READ}


def test_reads_alone_are_recorded_without_a_model_and_without_a_key(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    before = shop.before("first", line("Karibu"))
    recorder = FakeRecorder({"first": [line("never")]}, reads={"first": READ})
    assert shop.record(recorder, "--scenario", "first", "--reads", RATIBA_ANTHROPIC_API_KEY="") == 0
    assert recorder.runs[0].llm == "replay"
    assert reads_of(shop) == READ
    assert shop.path("first").read_bytes().endswith(before)
    assert "first: unchanged: the same answers; reads differ" in capsys.readouterr().out


def test_reads_are_not_recorded_of_a_scenario_that_fails(shop: Shop) -> None:
    before = shop.before("first", line("Karibu"))
    recorder = FakeRecorder(failing=frozenset({"first"}), reads={"first": READ})
    assert shop.record(recorder, "--scenario", "first", "--reads") == 1
    assert shop.path("first").read_bytes() == before
