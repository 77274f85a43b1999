"""What the base's recordings say that a system reads decides about a change, and nothing of the change does."""

import json
from pathlib import Path

import pytest

from ratiba_action.decide.deciding import DecideRequest, decide
from ratiba_action.model.change import Mode, ModeDecision
from tests.support.git_repository import GitRepository

READS = {"files": ["agent.py", "knowledge/"], "kind": "reads", "sent": {"knowledge/returns.md": "turn 1"}}
ANSWER = json.dumps({"asked": "reads?", "kind": "model", "response": {"text": '"reads"'}}) + "\n"
RECORDING = "scenarios/recordings/returns.jsonl"


def line(**fields: object) -> str:
    return json.dumps({**READS, **fields}, separators=(",", ":"), sort_keys=True) + "\n"


@pytest.fixture
def shop(repository: GitRepository) -> GitRepository:
    """A service that answers from a folder of documents, on the base; the work tree is the change."""
    repository.commit({
        "agent.py": "SYSTEM = 'Be kind.'\n",
        "knowledge/returns.md": "Refund within 14 days.\n",
        "knowledge/shipping.md": "On Mondays.\n",
        "README.md": "# Shop\n",
        RECORDING: line() + ANSWER,
    })  # fmt: skip
    return repository


def decided(
    repository: GitRepository, environment: dict[str, str], *, rules: str = "", scenarios: str = "scenarios"
) -> ModeDecision:
    return decide(DecideRequest(repository.folder, rules=rules, scenarios=scenarios), environment).decision


def why(decision: ModeDecision, path: str) -> str:
    return next(reason.why for reason in decision.reasons if (reason.path, reason.rule) == (path, "observed"))


def test_a_text_that_reached_a_model_is_a_prompt_and_the_reason_says_where(
    shop: GitRepository, environment: dict[str, str]
) -> None:
    shop.write({"knowledge/returns.md": "Refund within 40 days.\n"})

    decision = decided(shop, environment)

    assert decision.mode is Mode.BLOCKING
    assert why(decision, "knowledge/returns.md") == "its text reached the model in `returns`, turn 1"


def test_it_is_one_on_a_pull_request_too_whatever_the_change_does_to_its_recordings(
    shop: GitRepository, environment: dict[str, str]
) -> None:
    shop.git("checkout", "--quiet", "-b", "feature")
    shop.commit({"knowledge/returns.md": None, RECORDING: None})

    decision = decided(shop, environment, rules="skip knowledge/")

    assert why(decision, "knowledge/returns.md") == "its text reached the model in `returns`, turn 1"


def test_recordings_that_only_the_change_has_say_nothing(repository: GitRepository) -> None:
    repository.commit({"knowledge/returns.md": "a\n"})
    repository.write({"knowledge/returns.md": "b\n", RECORDING: line()})

    assert [reason for reason in decided(repository, repository.environment).reasons if reason.rule == "observed"] == []


@pytest.mark.parametrize(
    ("change", "mode", "reason"),
    [
        ({"knowledge/shipping.md": "On Fridays.\n"}, Mode.ADVISORY, "the system reads all of knowledge/ in `returns`"),
        (
            {"knowledge/warranty.md": "Two years.\n"},
            Mode.BLOCKING,
            "it is new in knowledge/, of which a text reached the model in `returns`, turn 1",
        ),
        ({"knowledge/shipping.md": None}, Mode.ADVISORY, "the system reads all of knowledge/ in `returns`"),
        ({"knowledge/returns.md": None}, Mode.BLOCKING, "its text reached the model in `returns`, turn 1"),
        ({"agent.py": "SYSTEM = 'Be kind.'\nA = 1\n"}, Mode.ADVISORY, "the system reads it in `returns`"),
    ],
)
def test_a_file_of_a_folder_that_is_read_whole_is_never_skipped(
    shop: GitRepository, environment: dict[str, str], change: dict[str, str | None], mode: Mode, reason: str
) -> None:
    shop.write(change)

    decision = decided(shop, environment, rules="skip knowledge/ *.md *.py")

    assert decision.mode is mode
    assert why(decision, next(iter(change))) == reason


def test_a_renamed_document_is_the_prompt_that_it_was(shop: GitRepository, environment: dict[str, str]) -> None:
    shop.write({"knowledge/returns.md": None, "docs/returns.md": "Refund within 14 days.\n"})

    assert decided(shop, environment).mode is Mode.BLOCKING


def test_a_document_behind_a_link_is_the_prompt_that_the_link_is(
    shop: GitRepository, environment: dict[str, str]
) -> None:
    shop.write({"docs/returns.md": "Refund within 14 days.\n", "knowledge/returns.md": None})
    (shop.folder / "knowledge/returns.md").symlink_to("../docs/returns.md")
    shop.commit({})
    shop.write({"docs/returns.md": "Refund within 40 days.\n"})

    assert decided(shop, environment).mode is Mode.BLOCKING


def test_what_no_scenario_reads_is_what_the_rules_say(shop: GitRepository, environment: dict[str, str]) -> None:
    shop.write({"README.md": "# Our shop\n"})

    assert decided(shop, environment).mode is Mode.SKIP


def test_recordings_are_those_of_the_configured_folder(repository: GitRepository) -> None:
    repository.commit({"knowledge/a.md": "a\n", "ci/eval/recordings/a.jsonl": line(files=["knowledge/"], sent={})})
    repository.write({"knowledge/a.md": "b\n"})

    assert decided(repository, repository.environment).mode is Mode.SKIP
    assert decided(repository, repository.environment, scenarios="ci/eval").mode is Mode.ADVISORY


@pytest.mark.parametrize(
    "broken",
    [
        '{"files":["knowledge/"',
        '{"files":["knowledge/"]}\n',
        line(files="knowledge/"),
        line(files=[1]),
        line(sent=[]),
        line(sent={"a": 1}),
        "[" * 100_000,
        '["reads"]\n',
        "\x00\xff\n",
        "\n",
    ],
)
def test_a_broken_line_is_named_and_counts_as_none(
    shop: GitRepository, environment: dict[str, str], broken: str
) -> None:
    shop.commit({RECORDING: broken})
    shop.write({"README.md": "# Our shop\n"})

    decision = decided(shop, environment)

    assert decision.mode is Mode.SKIP
    assert next(reason.why for reason in decision.reasons if reason.rule == "observed").startswith(
        f"what 'returns' reads is not known: line 1 of '{RECORDING}' is broken ("
    )


@pytest.mark.parametrize("content", ["", ANSWER, ANSWER + line()])
def test_a_recording_without_observation_is_none_and_no_mistake(
    shop: GitRepository, environment: dict[str, str], content: str
) -> None:
    shop.commit({RECORDING: content})
    shop.write({"knowledge/returns.md": "Refund within 40 days.\n"})

    assert {reason.rule for reason in decided(shop, environment).reasons} == {"*.md"}


def test_a_recording_that_is_not_in_the_clone_is_a_doubt(
    shop: GitRepository, environment: dict[str, str], tmp_path: Path
) -> None:
    blob = shop.git("rev-parse", f"HEAD:{RECORDING}")
    (shop.folder / ".git/objects" / blob[:2] / blob[2:]).rename(tmp_path / "blob")
    shop.write({"README.md": "# Our shop\n"})

    decision = decided(shop, environment)

    assert decision.mode is Mode.BLOCKING
    assert decision.reasons[0].why.startswith("what the scenarios read is not known: ")
