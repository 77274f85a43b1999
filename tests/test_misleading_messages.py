"""What messages say about the cause and the remedy, where an obvious wording would mislead."""

import json
import re
from pathlib import Path

import pytest

from ratiba_action.llm.endpoints import FORMATS
from ratiba_action.llm.providers.answers import Refused, read_answer
from ratiba_action.main import main
from ratiba_action.model.attribution import ChangedPart
from ratiba_action.model.change import Mode
from ratiba_action.model.verdict import Conclusion, Evidence, Limits, Verdict
from ratiba_action.reporting.wording import place_of
from ratiba_action.systems.dialogue import describe_unusable
from ratiba_action.verdict.decision import next_step
from tests.support.sample_report import sample_check, sample_score, sample_scored
from tests.test_messages import snapshots

JUDGED = sample_scored("kind", scores=(sample_score(0.1),), critical=True)
BROKEN = sample_scored("broken", checks=(sample_check(passed=False),))


def failed(*results: object) -> Verdict:
    verdict = next_step(Evidence(Mode.BLOCKING, results, Limits(), no_further="no more"))  # type: ignore[arg-type]
    assert isinstance(verdict, Verdict)
    assert verdict.conclusion is Conclusion.FAILED
    return verdict


def test_a_failure_by_a_judge_is_not_called_deterministic() -> None:
    verdict = failed(JUDGED)
    assert verdict.reason == "The scenario failed by the judged score of a critical scenario: kind."
    assert "what the judge says" in verdict.action
    both = failed(JUDGED, BROKEN)
    assert "2 of 2 scenarios failed a deterministic assertion or the judged score of a critical scenario" in both.reason


@pytest.mark.parametrize("same", ["word " * 30, "x" * 90 + " ", "", "first line\nsecond line\n" * 3])
def test_two_quotes_of_a_change_never_read_the_same(same: str) -> None:
    shown = place_of(ChangedPart("prompts/a.md", 3, f"{same}before and more\n", f"{same}after and more\n"))
    before, _, after = shown.partition(" → ")
    assert "before" in before
    assert "after" in after


@pytest.mark.parametrize(
    ("status", "error", "none_left"),
    [
        (400, {"type": "invalid_request_error", "message": "Your credit balance is too low to access the API."}, True),
        (403, {"type": "billing_error", "message": "Billing"}, True),
        (402, {"message": "Insufficient Balance"}, True),
        (429, {"code": "insufficient_quota", "message": "You exceeded your current quota"}, True),
        (400, {"type": "invalid_request_error", "message": "max_tokens: must be positive"}, False),
        (429, {"message": "Rate limit reached"}, False),
    ],
)
def test_an_account_without_credit_is_recognised(status: int, error: dict[str, str], *, none_left: bool) -> None:
    refused = read_answer(status, {}, json.dumps({"error": error}), FORMATS["openai"].own_error)
    assert isinstance(refused, Refused)
    assert refused.no_credit is none_left


def test_words_that_are_too_long_to_show_do_not_read_the_same_either() -> None:
    shown = place_of(ChangedPart("a.md", 1, "x" * 200 + "a\n", "x" * 200 + "b\n"))
    assert "“201 characters” → “201 characters, other ones from character 201”" in shown


def test_a_server_that_is_down_is_described_without_a_class_of_the_gate() -> None:
    error = {"type": "ratiba_worker.http_call.AnswerError", "message": "POST http://127.0.0.1:9/ failed: refused"}
    assert describe_unusable(error, ()) == "POST http://127.0.0.1:9/ failed: refused"
    assert not describe_unusable({**error, "place": "a.py:3"}, ())
    assert not describe_unusable({"type": "ValueError", "message": "x"}, ())


def test_no_article_stands_before_a_phrase_that_has_its_own() -> None:
    every = "\n".join(snapshots().values())
    assert not re.search(r"\ban? \{(?!')[^}]*\b(?:kinds?|people|what|who|shown)\b", every)


def test_a_command_in_a_sub_folder_finds_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    assert main(["init", "--yes"]) == 0
    assert (tmp_path / ".github/ratiba.yml").is_file()
    assert not (tmp_path / "sub/.github").exists()
    assert main(["validate"]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("value", ["42", "4.2", "true", "[42]"])
def test_a_number_instead_of_a_text_is_to_be_written_in_quotes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios/n.yaml").write_text(
        f"id: n\nlanguage: fr\nturns:\n  - user: hi\n    expect: {{contains: {value}}}\n"
    )
    assert main(["validate", "--repo", str(tmp_path)]) == 2
    assert "write it in quotes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("tags: smoke", "'smoke' is not allowed: input should be a list: write [smoke]"),
        ("assertions: [{metric: GEval}]", "GEval: with.criterion: missing; it must be given"),
        ("assertions: [{metric: GEval, with: {criterium: Kind}}]", "did you mean 'criterion'?"),
    ],
)
def test_a_value_of_another_shape_is_answered_in_the_words_of_a_scenario(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, says: str
) -> None:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios/n.yaml").write_text(f"id: n\nlanguage: fr\n{line}\nturns:\n  - user: hi\n")
    assert main(["validate", "--repo", str(tmp_path)]) == 2
    assert says in capsys.readouterr().out
