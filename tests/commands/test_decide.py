import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.cli import build_parser
from ratiba_action.commands.decide import read_request
from tests.support.command_run import CommandRun
from tests.support.git_repository import GitRepository
from tests.support.pull_request_events import pull_request_event

Environment = dict[str, str]
Decide = Callable[..., dict[str, Any]]


@pytest.fixture
def base(repository: GitRepository) -> str:
    return repository.commit({"app.py": "1", "uv.lock": 'version = 1\n[[package]]\nname = "a"\nversion = "1.0"\n'})


@pytest.fixture
def decide(repository: GitRepository, ratiba: CommandRun) -> Decide:
    """Decide in the repository; returns what is printed as JSON."""

    def decided(*options: str, **variables: str) -> dict[str, Any]:
        given, found = ("--repo", str(repository.folder), *options), repository.environment | variables
        printed: dict[str, Any] = ratiba.json("decide", *given, environment=found)
        return printed

    return decided


def pull_request(
    repository: GitRepository, base: str, files: dict[str, str | bytes | None], tmp_path: Path
) -> list[str]:
    repository.git("checkout", "--quiet", "-b", "feature", base)
    head = repository.commit(files)
    event = tmp_path / "event.json"
    event.write_text(json.dumps(pull_request_event(base, head, files=len(files))))
    return ["--event", str(event), "--event-name", "pull_request"]


def test_the_json_has_the_shape_of_the_contract(
    repository: GitRepository, base: str, tmp_path: Path, decide: Decide
) -> None:
    lock = 'version = 1\n[[package]]\nname = "a"\nversion = "2.0"\n'
    options = pull_request(repository, base, {"uv.lock": lock, "README.md": "1"}, tmp_path)

    assert decide(*options) == {
        "mode": "blocking",
        "reasons": [
            {"path": "uv.lock", "rule": "dependencies", "mode": "blocking", "why": "a: major change, 1.0 to 2.0"},
            {"path": "uv.lock", "rule": "uv.lock", "mode": "advisory", "why": "matches the rule 'advisory uv.lock'"},
            {"path": "README.md", "rule": "*.md", "mode": "skip", "why": "matches the rule 'skip *.md'"},
        ],
        "dependencies": [{"package": "a", "from": "1.0", "to": "2.0", "change": "major", "file": "uv.lock"}],
    }


def test_the_environment_of_a_workflow_gives_the_defaults(
    repository: GitRepository, base: str, tmp_path: Path, ratiba: CommandRun
) -> None:
    _, event, _, name = pull_request(repository, base, {"README.md": "1"}, tmp_path)
    run_environment = {
        **repository.environment,
        "GITHUB_EVENT_PATH": event,
        "GITHUB_EVENT_NAME": name,
        "GITHUB_WORKSPACE": str(repository.folder),
        "RATIBA_RULES": "advisory *.md",
        "RATIBA_MODE": "",
    }

    assert ratiba.json("decide", environment=run_environment)["mode"] == "advisory"


def test_the_name_of_an_event_is_distinguished_from_its_payload(
    repository: GitRepository, base: str, tmp_path: Path, decide: Decide
) -> None:
    options = pull_request(repository, base, {"README.md": "1"}, tmp_path)[:2]

    assert decide(*options)["mode"] == "skip"


def test_text_for_people_names_the_pull_request_and_the_reasons(
    repository: GitRepository, base: str, tmp_path: Path, ratiba: CommandRun
) -> None:
    options = pull_request(repository, base, {"app.py": "2"}, tmp_path)

    assert ratiba("decide", "--repo", str(repository.folder), *options, environment=repository.environment) == (
        "Mode: advisory\nPull request 7 by wanjiku: Warmer greeting\n"
        "- advisory: app.py: matches the rule 'advisory *.py'\n"
    )


@pytest.mark.parametrize("content", [None, "{", "[]", "\x00", '{"pull_request": {}}', "[" * 100_000])
@pytest.mark.usefixtures("base")
def test_an_event_that_cannot_be_read_is_blocking(
    tmp_path: Path,
    content: str | None,
    decide: Decide,
) -> None:
    event = tmp_path / "event.json"
    if content is not None:
        event.write_text(content)

    decided = decide("--event", str(event), "--event-name", "pull_request")

    assert decided["mode"] == "blocking"
    assert decided["reasons"][0]["rule"] == "doubt"


@pytest.mark.usefixtures("base")
def test_a_payload_without_a_known_event_is_blocking(tmp_path: Path, decide: Decide) -> None:
    (tmp_path / "event.json").write_text("{}")

    decided = decide("--event", str(tmp_path / "event.json"))

    assert decided["mode"] == "blocking"


@pytest.mark.usefixtures("base")
def test_wrong_rules_are_blocking_and_every_line_is_named(decide: Decide) -> None:
    decided = decide("--rules", "block *\nskip\nadvisory *")

    assert decided["mode"] == "blocking"
    assert "line 1" in decided["reasons"][0]["why"]
    assert "line 2" in decided["reasons"][0]["why"]


@pytest.mark.usefixtures("base")
def test_rules_come_from_a_file_which_is_then_protected(repository: GitRepository, decide: Decide) -> None:
    repository.commit({".github/gate.rules": "skip *"})
    repository.write({"app.py": "2"})
    assert decide("--rules", "@.github/gate.rules")["mode"] == "skip"

    repository.write({".github/gate.rules": "skip * # mine"})
    assert decide("--rules", "@.github/gate.rules")["mode"] == "blocking"


@pytest.mark.parametrize("content", [None, b"\xff"])
@pytest.mark.usefixtures("base")
def test_a_rules_file_that_cannot_be_read_is_blocking(
    repository: GitRepository, content: bytes | None, decide: Decide
) -> None:
    if content is not None:
        repository.commit({"gate.rules": content})

    decided = decide("--rules", "@gate.rules")

    assert decided["mode"] == "blocking"
    assert "gate.rules" in decided["reasons"][0]["why"]


@pytest.mark.usefixtures("base")
def test_no_word_of_a_file_behind_a_link_stands_in_a_message_about_the_rules(
    repository: GitRepository, tmp_path: Path, decide: Decide
) -> None:
    (tmp_path / "token").write_text("zebra quokka\n")
    (repository.folder / "gate.rules").symlink_to(tmp_path / "token")
    for name in ("gate.rules", str(repository.folder / "gate.rules")):
        decided = decide("--rules", f"@{name}")
        assert decided["mode"] == "blocking"
        assert "zebra" not in str(decided)
        assert "symbolic link" in str(decided)


@pytest.mark.usefixtures("base")
def test_protected_paths_hold_when_they_are_absolute_or_not_tidy(repository: GitRepository, decide: Decide) -> None:
    repository.write({"ci/gate.yml": "1"})
    rules = ["--rules", "skip *"]

    assert decide(*rules, "--config", "ci/../ci/./gate.yml")["mode"] == "blocking"
    absolute = str(repository.folder / "ci")
    assert decide(*rules, "--scenarios", absolute)["mode"] == "blocking"
    assert decide(*rules)["mode"] == "skip"


@pytest.mark.usefixtures("base")
def test_scenarios_behind_a_link_are_protected_where_they_are(repository: GitRepository, decide: Decide) -> None:
    (repository.folder / "scenarios").symlink_to("evals")
    repository.commit({"evals/a.yaml": "1"})
    repository.write({"evals/a.yaml": "2"})

    assert decide("--rules", "skip *")["mode"] == "blocking"


@pytest.mark.usefixtures("base")
def test_a_link_that_leads_to_itself_still_gives_a_mode(repository: GitRepository, decide: Decide) -> None:
    (repository.folder / "scenarios").symlink_to("scenarios")

    assert decide("--rules", "skip *")["mode"] == "blocking"


@pytest.mark.usefixtures("base")
def test_a_protected_file_is_called_what_it_is(repository: GitRepository, decide: Decide) -> None:
    repository.write({".github/ratiba.yml": "judge: {}", "scenarios/a.yaml": "1"})

    assert [reason["why"] for reason in decide()["reasons"]] == [
        "the gate's configuration changed",
        "the gate's scenarios and recordings changed",
    ]


@pytest.mark.parametrize(
    "named",
    [
        ("{prompt: {file: assistant.md, model: m}}", "assistant.md"),
        ("{root: app, prompts: [notes/*.md]}", "app/notes/tone.md"),
        ("{prompt: {file: a.md}, variants: {mini: {prompt: {file: docs/short.md}}}}", "docs/short.md"),
        ("{replay: {transcripts: docs/kept}}", "docs/kept/a.jsonl"),
    ],
)
def test_what_the_configuration_calls_a_prompt_or_a_captured_reply_is_never_documentation(
    named: tuple[str, str],
    repository: GitRepository,
    tmp_path: Path,
    decide: Decide,
) -> None:
    system, path = named
    base = repository.commit({".github/ratiba.yml": f"system: {system}\n", path: "before", "docs/guide.md": "before"})

    guide = pull_request(repository, base, {"docs/guide.md": "after"}, tmp_path)
    assert decide(*guide)["mode"] == "skip"

    repository.git("checkout", "--quiet", base)
    repository.git("branch", "--quiet", "-D", "feature")
    edited = pull_request(repository, base, {path: "after"}, tmp_path)
    assert decide(*edited)["mode"] == "blocking"


@pytest.mark.usefixtures("base")
def test_the_mode_option_only_makes_it_stricter(repository: GitRepository, decide: Decide) -> None:
    repository.write({"prompts/a.md": "1"})
    assert decide("--mode", "advisory")["mode"] == "blocking"

    repository.write({"prompts/a.md": None})
    assert decide("--mode", "blocking")["mode"] == "blocking"
    assert decide("--mode", "auto")["mode"] == "skip"


@pytest.mark.parametrize("mode", ["skip", "BLOCKING", "off"])
@pytest.mark.usefixtures("base")
def test_an_unknown_mode_is_a_misuse(repository: GitRepository, mode: str, ratiba: CommandRun) -> None:
    ratiba("decide", "--repo", str(repository.folder), "--mode", mode, code=2, environment=repository.environment)
    assert ratiba.err.startswith(f"ratiba: The mode is {mode!r}")
    assert ratiba.out == ""


def test_a_folder_that_is_no_repository_is_blocking(
    environment: Environment, tmp_path: Path, ratiba: CommandRun
) -> None:
    assert ratiba.json("decide", "--repo", str(tmp_path / "nowhere"), environment=environment)["mode"] == "blocking"


@pytest.mark.usefixtures("base")
def test_outputs_of_the_step_are_written_between_random_delimiters(
    repository: GitRepository,
    tmp_path: Path,
    decide: Decide,
) -> None:
    output = tmp_path / "output"
    output.write_text("before=1\n")
    repository.write({"app.py": "2"})

    decided = decide(GITHUB_OUTPUT=str(output))

    pattern = r"before=1\nmode<<(ratiba_[0-9a-f]{32})\nadvisory\n\1\nreasons<<(ratiba_[0-9a-f]{32})\n(.*)\n\2\n"
    found = re.fullmatch(pattern, output.read_text())
    assert found is not None
    assert found[1] != found[2]
    assert json.loads(found[3]) == decided["reasons"]


@pytest.mark.usefixtures("base")
def test_an_output_for_the_next_step_names_a_changed_configuration(
    repository: GitRepository,
    tmp_path: Path,
    decide: Decide,
) -> None:
    for changed in ("app.py", ".github/ratiba.yml"):
        output = tmp_path / Path(changed).name
        repository.write({changed: "system: {}\n"})
        decide(GITHUB_OUTPUT=str(output))
    assert "config-changed" not in (tmp_path / "app.py").read_text()
    assert "config-changed<<" in (tmp_path / "ratiba.yml").read_text()


@pytest.mark.usefixtures("base")
def test_outputs_that_cannot_be_written_are_only_a_warning(
    repository: GitRepository, tmp_path: Path, ratiba: CommandRun
) -> None:
    ratiba(
        "decide",
        "--repo",
        str(repository.folder),
        environment={**repository.environment, "GITHUB_OUTPUT": str(tmp_path)},
    )
    assert ratiba.out.startswith("Mode: ")
    assert "could not be written" in ratiba.err


@pytest.mark.usefixtures("base")
def test_hostile_names_are_printed_harmlessly(repository: GitRepository, ratiba: CommandRun) -> None:
    name = "::error::x\n##[error]\x1b[31m\u202e.py"
    repository.write({"a" + name: "1"})

    text = ratiba("decide", "--repo", str(repository.folder), environment=repository.environment)
    assert len(text.splitlines()) == 2
    assert not {"\x1b", "\u202e"} & set(text)
    assert "##[" not in text


@pytest.mark.usefixtures("base")
def test_a_name_that_is_not_utf8_is_printed_as_escapes(repository: GitRepository, decide: Decide) -> None:
    (repository.folder / b"a\xff.py".decode("utf-8", "surrogateescape")).write_text("1")

    assert decide()["reasons"][0]["path"] == "a\\xff.py"


def test_an_option_comes_before_the_environment() -> None:
    arguments = build_parser(["decide"]).parse_args(["decide", "--config", "a.yml"])

    request = read_request(
        arguments, {"RATIBA_CONFIG": "b.yml", "RATIBA_SCENARIOS": "evals", "RATIBA_PULL_REQUEST": "7"}
    )

    assert (request.config, request.scenarios, request.pull_request) == ("a.yml", "evals", "7")


def test_an_event_option_does_not_take_the_name_of_the_surrounding_run() -> None:
    arguments = build_parser(["decide"]).parse_args(["decide", "--event", "e.json"])

    assert read_request(arguments, {"GITHUB_EVENT_NAME": "push"}).event_name == ""
