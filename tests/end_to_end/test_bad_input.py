"""What goes wrong is named with its remedy, has its exit code, and leaves a comment in a job."""

import json
import signal
import sys
from pathlib import Path

import pytest

from tests.support.eventually import eventually
from tests.support.pull_request_events import pull_request_event
from tests.support.small_repository import SmallRepository

IN_A_JOB = {"GITHUB_ACTIONS": "true"}


def test_a_good_run_passes(small: SmallRepository) -> None:
    small.scenario("talks", "say hello", "say bye")
    ended = small.gate()
    assert ended.code == 0, ended.printed
    assert ended.outputs["passed"] == 1


@pytest.mark.parametrize("event", ["pull_request", "pull_request_review", "merge_group"])
def test_a_change_whose_event_cannot_be_read_is_not_measured_without_its_base(
    local: SmallRepository, event: str
) -> None:
    local.scenario("talks", "say hello")
    local.commit()
    missing = str(local.report.parent / "no-event.json")
    ended = local.gate(**IN_A_JOB, GITHUB_EVENT_NAME=event, GITHUB_EVENT_PATH=missing, RATIBA_LLM="replay")
    assert (ended.code, ended.outputs["conclusion"]) == (3, "incomplete"), ended.printed
    assert "This change cannot be compared with its base: the event" in ended.comment


@pytest.mark.parametrize("budget", ["-1", "NaN", "20 USD"])
def test_a_budget_that_is_no_amount_is_named_with_its_value(local: SmallRepository, budget: str) -> None:
    ended = local.gate(RATIBA_EVAL_BUDGET_USD=budget, **IN_A_JOB)
    assert ended.code == 2
    assert f"RATIBA_EVAL_BUDGET_USD): {budget!r} is not allowed" in ended.printed
    assert "Traceback" not in ended.printed
    assert ended.outputs["exit_code"] == 2
    assert "## Misconfigured" in ended.comment


@pytest.mark.parametrize("folder", [".", "..", ".git", "/"])
def test_a_report_folder_that_would_overwrite_something_is_refused(local: SmallRepository, folder: str) -> None:
    local.scenario("talks", "say hello")
    before = sorted(local.folder.parent.iterdir())
    ended = local.gate("--report-dir", folder)
    assert ended.code == 2, ended.printed
    assert f"report-dir (RATIBA_REPORT_DIR): {folder!r} is not allowed" in ended.printed
    assert sorted(local.folder.parent.iterdir()) == before
    assert not (local.folder / "results.json").exists()


@pytest.mark.parametrize("address", ["postgresql://u:{}@[half/db", "mysql://u:{}@h/d", "postgresql://u:{}@h:port/d"])
def test_a_database_url_that_cannot_be_read_is_the_users_mistake_and_is_not_repeated(
    small: SmallRepository, address: str
) -> None:
    small.scenario("talks", "say hello")
    ended = small.gate(RATIBA_DATABASE_URL=address.format("planted-password"))
    assert ended.code == 2, ended.printed
    assert "Write it as postgresql://user:password@host:port/database." in ended.printed
    assert "planted-password" not in ended.printed


def test_a_gate_that_is_to_record_is_refused_before_anything_is_paid_and_says_what_records(
    local: SmallRepository,
) -> None:
    local.scenario("talks", "say hello")
    ended = local.gate("--llm", "record", RATIBA_OPENAI_API_KEY="sk-planted-0123456789", **IN_A_JOB)
    assert ended.code == 2, ended.printed
    assert "'record' is not allowed: give auto, replay or live." in ended.printed
    assert "run: ratiba record" in ended.printed
    assert ended.outputs["spent_usd"] == "0"


def test_a_live_run_without_a_key_measures_nothing_and_blocks(local: SmallRepository) -> None:
    local.scenario("talks", "say hello")
    ended = local.gate("--llm", "live")
    assert ended.code == 3, ended.printed
    assert (ended.outputs["conclusion"], ended.outputs["passed"]) == ("incomplete", 0)
    assert "RATIBA_ANTHROPIC_API_KEY" in ended.comment.replace("\\", "")


def test_a_wrong_deadline_of_the_environment_is_named(local: SmallRepository) -> None:
    ended = local.gate(RATIBA_DEADLINE="soon")
    assert (ended.code, "RATIBA_DEADLINE: 'soon' is not allowed" in ended.printed) == (2, True)


def test_an_unknown_mode_is_named(local: SmallRepository) -> None:
    ended = local.gate("--mode", "lenient")
    assert ended.code == 2
    assert "'lenient' is not allowed: give auto, advisory or blocking" in ended.printed


@pytest.mark.parametrize("content", [None, b"{", b"[]", b"\xff"])
def test_an_event_that_cannot_be_read_makes_the_run_blocking(local: SmallRepository, content: bytes | None) -> None:
    local.scenario("talks", "say hello")
    event = local.folder.parent / "event.json"
    if content is not None:
        event.write_bytes(content)
    ended = local.gate(GITHUB_EVENT_PATH=str(event), GITHUB_EVENT_NAME="pull_request", **IN_A_JOB)
    assert ended.outputs["mode"] == "blocking"
    assert "event" in ended.comment


@pytest.mark.parametrize(
    "options",
    [
        ("--mode", "blockin"),
        ("--rules", "blockng prompts/"),
        ("--event", "nope.json"),
        ("--baseline", "nope.json"),
        ("--baseline-out", "nowhere/results.json"),
        ("--config", "nope.yml"),
        ("--scenarios", "nope"),
        ("--openai-base-url", "models.example"),
    ],
    ids=lambda options: str(options[0]),
)
def test_a_wrong_option_leaves_the_last_report_as_it_is(local: SmallRepository, options: tuple[str, str]) -> None:
    (local.report).mkdir()
    last = local.report / "results.json"
    last.write_text("the last run's")
    local.scenario("talks", "say hello")
    ended = local.gate(*options)
    named = options[1].split()[0] in ended.printed
    assert (ended.code, named, "Traceback" in ended.printed) == (2, True, False), ended.printed
    assert [path.name for path in local.report.iterdir()] == ["results.json"]
    assert last.read_text() == "the last run's"


@pytest.mark.parametrize("adapter", ["assistnt:Adapter", "small_system:Adaptr"])
@pytest.mark.parametrize("database", ["true", "false"])
def test_an_adapter_that_is_not_there_is_a_mistake_of_the_configuration(
    small: SmallRepository, adapter: str, database: str
) -> None:
    small.scenario("talks", "say hello")
    small.write(".github/ratiba.yml", f"system: {{adapter: '{adapter}', database: {database}}}\n")
    ended = small.gate("--mode", "blocking")
    assert ended.code == 2, ended.printed
    assert "The system's adapter cannot be loaded: " in ended.printed
    assert "Correct `system.adapter`" in ended.printed


@pytest.mark.parametrize("line", ["import no_such_module", "def open(", "1 / 0", "raise SystemExit(0)"])
def test_an_adapter_that_raises_while_it_is_loaded_is_never_a_green_run(small: SmallRepository, line: str) -> None:
    small.scenario("talks", "say hello")
    system = small.folder / "adapter.py"
    system.write_text(f"{line}\n{system.read_text()}")
    ended = small.gate("--mode", "advisory")
    assert ended.code == 2, ended.printed
    assert "The system's adapter cannot be loaded: " in ended.printed
    assert "adapter.py" in ended.printed


def test_without_git_everything_runs(local: SmallRepository, tmp_path: Path) -> None:
    local.scenario("talks", "say hello")
    (local.folder / ".git").rename(tmp_path / "elsewhere")
    ended = local.gate()
    assert ended.code == 0, ended.printed
    assert ended.outputs["mode"] == "blocking"


def test_all_mistakes_in_scenarios_are_reported_and_stand_in_the_comment(local: SmallRepository) -> None:
    local.scenario("good", "say hello")
    local.write("scenarios/bad.yaml", "id: Bad Id\nlanguage: sw\n")
    local.write("scenarios/worse.yaml", b"\xff")
    ended = local.gate(**IN_A_JOB)
    assert ended.code == 2
    assert "scenarios/bad.yaml:1:" in ended.printed
    assert "scenarios/worse.yaml:1:" in ended.printed
    assert "scenarios/worse.yaml" in ended.comment


def test_a_missing_configuration_is_named(local: SmallRepository) -> None:
    local.scenario("good", "say hello")
    (local.folder / ".github/ratiba.yml").unlink()
    ended = local.gate()
    assert ended.code == 2
    assert ".github/ratiba.yml" in ended.printed


def test_a_database_that_refuses_makes_the_run_incomplete(small: SmallRepository) -> None:
    small.scenario("talks", "say hello")
    ended = small.gate(RATIBA_DATABASE_URL="postgresql://ratiba:planted-password@127.0.0.1:1/ratiba")
    assert ended.code == 3
    assert "127.0.0.1" in ended.printed
    assert "planted-password" not in ended.printed + ended.comment
    assert ended.outputs["conclusion"] == "incomplete"


def test_one_bad_conversation_never_touches_the_others(small: SmallRepository) -> None:
    small.write(".github/ratiba.yml", "system: {adapter: 'adapter:Adapter', turn_timeout_seconds: 10}\n")
    small.scenario("exits", "exit 3")
    small.scenario("floods", "answer_bytes 10000000")
    small.scenario("hangs", "hang 600")
    small.scenario("lists", "answer_list x")
    small.scenario("prints", "print garbage")
    small.scenario("raises", "raise the-reason")
    small.scenario("talks", "say hello", "say bye")
    ended = small.gate()
    assert ended.code == 1, ended.printed
    assert [ended.outputs[kind] for kind in ("passed", "failed", "errored")] == [2, 1, 4]
    for text in ("the-reason", "hangs", "10,000,0", "exit"):
        assert text in (small.report / "results.json").read_text(), text


def test_a_broken_check_fails_the_run_and_says_what_was_expected(local: SmallRepository) -> None:
    local.scenario("talks", "say hello", expect="BOOKED")
    ended = local.gate()
    assert ended.code == 1
    assert "BOOKED" in ended.comment


def test_a_trial_period_does_not_block_and_says_so(local: SmallRepository) -> None:
    local.scenario("talks", "say hello", expect="BOOKED")
    ended = local.gate("--enforce", "false")
    assert ended.code == 0
    assert ended.outputs["conclusion"] == "failed"
    assert "trial" in ended.comment.lower()


def test_what_was_asked_for_and_does_not_exist_is_named(local: SmallRepository) -> None:
    local.scenario("talks", "say hello")
    ended = local.gate("--scenario", "sings")
    assert ended.code == 2
    assert "There is no scenario 'sings'" in ended.printed


def test_what_does_not_exist_is_named_though_nothing_changed(local: SmallRepository) -> None:
    local.scenario("talks", "say hello")
    local.commit()
    assert local.gate("--scenarios", "scenarios").code == 0
    ended = local.gate("--scenarios", "scenarois")
    assert ended.code == 2
    assert "scenarois: there is no such folder. did you mean 'scenarios'?" in ended.printed
    ended = local.gate("--variant", "nope")
    assert ended.code == 2
    assert "There is no variant 'nope'" in ended.printed


def test_a_conversation_that_is_asked_for_decides_though_nothing_changed(local: SmallRepository) -> None:
    local.scenario("talks", "say hello", expect="BOOKED")
    local.commit()
    assert local.gate().code == 0
    ended = local.gate("--scenario", "talks")
    assert ended.code == 1
    assert ended.outputs["conclusion"] == "failed"


def test_a_broken_check_fails_the_run_though_a_judge_recording_is_missing(small: SmallRepository) -> None:
    small.scenario("talks", "say hello", expect="BOOKED")
    scenario = small.folder / "scenarios/talks.yaml"
    scenario.write_text(scenario.read_text().replace("language: fr", "language: en"))
    ended = small.gate()
    assert ended.code == 1
    assert "BOOKED" in ended.comment
    assert "### Could not be measured" in ended.comment


def test_a_pattern_that_never_ends_is_refused_before_anything_runs(local: SmallRepository) -> None:
    local.scenario("talks", f"say {'a' * 60}!")
    scenario = local.folder / "scenarios/talks.yaml"
    scenario.write_text(scenario.read_text() + "rules:\n  - {type: regex_must_not_match, value: '(a|aa)+$'}\n")
    ended = local.gate()
    assert ended.code == 2
    assert "repetition" in ended.printed


@pytest.mark.parametrize("root", ["../outside", "/usr", "linked"])
def test_the_system_lies_inside_the_repository(local: SmallRepository, tmp_path: Path, root: str) -> None:
    local.scenario("talks", "say hello")
    (tmp_path / "outside").mkdir()
    (local.folder / "linked").symlink_to(tmp_path / "outside")
    local.write(".github/ratiba.yml", f"system: {{adapter: 'adapter:Adapter', root: {root}}}\n")
    ended = local.gate()
    assert ended.code == 2
    assert "root" in ended.printed


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "HOME"])
def test_the_configuration_cannot_set_what_the_gate_itself_relies_on(local: SmallRepository, name: str) -> None:
    local.scenario("talks", "say hello")
    local.write(".github/ratiba.yml", f"system: {{adapter: 'adapter:Adapter', environment: {{{name}: x}}}}\n")
    ended = local.gate()
    assert ended.code == 2
    assert f"{name} cannot be set here" in ended.printed


def test_a_misspelt_variable_is_said(local: SmallRepository) -> None:
    local.scenario("talks", "say hello")
    assert "The variable RATIBA_BUDGET_USD is set, but no input reads it." in local.gate(RATIBA_BUDGET_USD="5").comment


def test_a_refused_amount_says_the_limit_in_words_that_masking_keeps(local: SmallRepository) -> None:
    local.scenario("talks", "say hello")
    ended = local.gate("--budget-usd", "9999999")
    assert ended.code == 2
    assert "from 0 to 1 million" in ended.printed


def test_a_lowered_threshold_and_pass_rate_are_not_obeyed_and_said(local: SmallRepository) -> None:
    local.scenario("talks", "say hello")
    strict = (local.folder / ".github/ratiba.yml").read_text() + "pass_rate: 0.9\n"
    local.write(".github/ratiba.yml", strict)
    local.commit()
    local.write(".github/ratiba.yml", strict.replace("0.9", "0.1"))
    ended = local.gate()
    assert "pass_rate 0.9 (this change: 0.1)" in ended.comment.replace("\\", "")
    assert ended.results["report"]["limits"]["pass_rate"] == 0.9


def test_pull_request_target_is_refused(local: SmallRepository, tmp_path: Path) -> None:
    local.scenario("talks", "say hello")
    base = local.commit()
    event = tmp_path / "event.json"
    event.write_text(json.dumps(pull_request_event(base, base)))
    ended = local.gate("--event", str(event), "--event-name", "pull_request_target")
    assert ended.code == 2
    assert "pull_request_target" in ended.printed


def test_a_run_that_is_cancelled_while_it_starts_reports_too(small: SmallRepository, meeting_place: Path) -> None:
    small.scenario("talks", "say hello")
    begun = meeting_place / "begun"
    small.write("slow.py", f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(600)\n")
    small.write(
        ".github/ratiba.yml",
        f"system: {{adapter: 'adapter:Adapter', setup: [{sys.executable}, slow.py]}}\n",
    )
    process = small.start()
    eventually(begun.exists)
    process.send_signal(signal.SIGTERM)
    done = process.wait()
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "SIGTERM" in (small.report / "comment.md").read_text()


def test_a_cancelled_run_reports_what_it_measured(small: SmallRepository, meeting_place: Path) -> None:
    small.scenario("a_talks", "say hello")
    small.scenario("b_waits", f"signal {meeting_place}")
    process = small.start("--concurrency", "1")
    eventually(lambda: list(meeting_place.glob("begun-*")))
    process.send_signal(signal.SIGTERM)
    done = process.wait()
    assert done.returncode == 3, done.stderr
    comment = (small.report / "comment.md").read_text()
    assert "cancelled by SIGTERM" in comment
    assert json.loads((small.report / "results.json").read_text())["outputs"]["passed"] == 1


def test_a_mistyped_scenario_or_tag_is_proposed(local: SmallRepository) -> None:
    local.scenario("order_shipped", "say hello")
    ended = local.gate("--scenario", "order_shiped")
    assert ended.code == 2
    assert "There is no scenario 'order_shiped'. Did you mean 'order_shipped'?" in ended.printed
    ended = local.gate("--scenario", "zebra")
    assert "There is no scenario 'zebra'. The scenarios are: order_shipped." in ended.printed


def test_what_this_version_cannot_do_is_not_offered(local: SmallRepository) -> None:
    shown = local.run(["gate", "--help"], local.folder, local.environment).stdout
    assert "auto, replay or live" in " ".join(shown.split())
    local.scenario("talks", "say hello")
    refused = local.gate("--shard", "9/8")
    assert refused.code == 2
    assert "shard (RATIBA_SHARD): '9/8' is not allowed" in refused.printed
    unusable = local.run(["gate", "--shard", "1/8", "--failed"], local.folder, local.environment)
    assert unusable.returncode == 2
    assert "--failed cannot be used with shards" in unusable.stderr
