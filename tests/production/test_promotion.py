"""Promotion against a stand-in for Langfuse: what is written, what is not, and how it goes on after a break."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("langfuse", reason="needs the extra 'langfuse'")

from ratiba_action.main import run
from tests.support.langfuse_server import LangfuseState, Mode, langfuse_server
from tests.support.production_project import SPA, ProductionProject

DENTAL = {**SPA, "tenant_id": "smile_dental", "vertical": "dental"}
OTHER = {"tenant_id": "salon_kilimani", "language": "sw"}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ProductionProject]:
    state = LangfuseState(retry_after=0)
    with langfuse_server(state) as url:
        yield ProductionProject(state, url, tmp_path / "home")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "scenarios").mkdir(parents=True)
    return folder


@pytest.fixture
def promote(project: ProductionProject, checkout: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def promoted(*options: str) -> tuple[int, dict[str, Any], str]:
        words = ["promote", "--json", "--repo", str(checkout), *options]
        code = run(words, project.environment)
        printed = capsys.readouterr()
        return code, json.loads(printed.out) if printed.out else {}, printed.err

    return promoted


def files(checkout: Path) -> list[str]:
    return sorted(path.relative_to(checkout).as_posix() for path in checkout.rglob("*") if path.is_file())


def test_a_liked_conversation_an_old_one_and_one_of_another_score_stay_where_they_are(
    project: ProductionProject, promote: Any, checkout: Path
) -> None:
    project.dislike(project.converse("Nzuri"), "thumbs_up")
    project.dislike(project.converse("Niambie"), "comment")
    project.dislike(project.converse("Zamani"), seconds_ago=8 * 86_400)
    assert promote("--since", "7d") == (
        0,
        {
            "dry_run": False,
            "negative": 0,
            "written": [],
            "duplicates": [],
            "blocked": [],
            "unusable": [],
            "left_out": 0,
            "left": 0,
            "problem": "",
        },
        "",
    )
    assert files(checkout) == []


def test_every_page_is_read_and_the_same_words_are_one_candidate(project: ProductionProject, promote: Any) -> None:
    first, second = project.converse("Habari"), project.converse("Kwaheri")
    for number in range(120):
        project.dislike(first, seconds_ago=100 + number)
    project.dislike(second, seconds_ago=9_000)
    project.dislike(project.converse("  habari "), seconds_ago=50)
    code, output, _ = promote()
    assert (code, output["negative"], len(output["written"]), len(output["duplicates"])) == (0, 122, 2, 120)
    pages = [one for one in project.state.received if "/v3/scores?" in one.path and one.method == "GET"]
    assert len(pages) == 2


def test_a_dry_run_writes_and_remembers_nothing(project: ProductionProject, promote: Any, checkout: Path) -> None:
    project.dislike(project.converse("Habari"))
    _, output, _ = promote("--dry-run")
    assert files(checkout) == []
    assert promote()[1]["written"] == output["written"]
    assert files(checkout) == output["written"]


def test_nothing_is_promoted_twice_even_when_its_file_is_gone(
    project: ProductionProject, promote: Any, checkout: Path
) -> None:
    project.dislike(project.converse("Habari"))
    (path,) = promote()[1]["written"]
    assert promote()[1]["written"] == []
    (checkout / path).unlink()
    # Somebody has refused it.
    code, output, _ = promote()
    assert (code, output["negative"], output["written"]) == (0, 1, [])


def test_what_stands_in_the_suite_is_known_without_the_state(
    project: ProductionProject, promote: Any, checkout: Path, tmp_path: Path
) -> None:
    project.dislike(project.converse("Habari"))
    (path,) = promote()[1]["written"]
    # Completed, renamed and put elsewhere by a person, with other words: its provenance is left.
    text = (checkout / path).read_text("utf-8").replace("user: Habari", "user: Hujambo")
    (checkout / path).unlink()
    moved = checkout / "scenarios" / "spa" / "greeting.yaml"
    moved.parent.mkdir()
    moved.write_text(re.sub("^id: .*", "id: greeting", text, flags=re.MULTILINE), "utf-8")
    output = promote("--state", str(tmp_path / "new"))[1]
    assert (output["written"], output["duplicates"]) == ([], ["scenarios/spa/greeting.yaml"])


def test_a_file_of_the_same_name_is_never_changed(project: ProductionProject, promote: Any, checkout: Path) -> None:
    project.dislike(project.converse("Habari"))
    (path,) = promote("--dry-run")[1]["written"]
    theirs = (
        "id: theirs\nlanguage: fr\nnow: 2026-05-04T08:15:00+03:00\nturns: [{user: Bonjour}]\n"
        'customer: {name: Amina, phone: "+254 700 000 101"}\n'
    )
    (checkout / path).parent.mkdir()
    (checkout / path).write_text(theirs)
    assert promote()[1]["duplicates"] == [path]
    assert (checkout / path).read_text() == theirs


@pytest.mark.parametrize("mode", [Mode.FAILING, Mode.BUSY])
def test_a_run_that_breaks_off_keeps_what_it_has_and_the_next_goes_on(
    project: ProductionProject, promote: Any, checkout: Path, mode: Mode
) -> None:
    for number in range(3):
        project.dislike(project.converse(f"Habari {number}"), seconds_ago=1_000 - number)
    project.state.mode = mode
    # One page of scores and one trace are answered, then nothing is.
    project.state.upcoming = [Mode.HEALTHY] * 2
    code, output, complaint = promote()
    assert (code, len(output["written"])) == (3, 1)
    assert str(output["problem"]) in complaint
    before = {name: (checkout / name).read_bytes() for name in files(checkout)}
    project.state.mode = Mode.HEALTHY
    asked = len(project.state.received)
    code, output, _ = promote()
    assert (code, len(output["written"]), output["duplicates"]) == (0, 2, [])
    assert len(project.state.received) - asked == 3  # the scores, and two traces: the first is not read again
    assert {name: (checkout / name).read_bytes() for name in before} == before


def test_a_server_that_is_busy_for_a_moment_is_asked_again(project: ProductionProject, promote: Any) -> None:
    project.dislike(project.converse("Habari"))
    project.state.upcoming = [Mode.BUSY, Mode.HEALTHY, Mode.FAILING, Mode.HEALTHY]
    code, output, _ = promote()
    assert (code, len(output["written"])) == (0, 1)


def test_a_server_that_never_answers_is_left_at_the_deadline(project: ProductionProject, promote: Any) -> None:
    project.state.mode = Mode.BLACK_HOLE
    code, output, _ = promote("--seconds", "0.5")
    assert (code, output["written"]) == (3, [])
    assert output["problem"]


@pytest.mark.parametrize("vertical", ["dental", "physio", "medical", "legal"])
def test_a_tenant_of_health_or_law_writes_nothing_and_says_why(
    project: ProductionProject, promote: Any, checkout: Path, vertical: str
) -> None:
    project.dislike(project.converse("Jino linauma", facts={**DENTAL, "vertical": vertical}))
    code, output, complaint = promote()
    assert (code, output["written"], files(checkout)) == (2, [], [])
    assert output["blocked"][0]["tenant"] == "smile_dental"
    assert f"{vertical!r}" in complaint
    assert "masking rules are missing for" in complaint


def test_a_blocked_tenant_blocks_itself_and_not_its_neighbours(
    project: ProductionProject, promote: Any, tmp_path: Path
) -> None:
    project.dislike(project.converse("Jino linauma", facts=DENTAL))
    project.dislike(project.converse("Habari"))
    code, output, _ = promote()
    assert (code, len(output["written"])) == (2, 1)
    # Said once that it is to be left out, it complains no more.
    (tmp_path / "tenants.yaml").write_text("tenants: {smile_dental: {promote: false}}\n")
    code, output, complaint = promote("--tenants", str(tmp_path / "tenants.yaml"))
    assert (code, output["left_out"], complaint) == (0, 1, "")


def test_names_of_the_file_of_tenants_are_masked(
    project: ProductionProject, promote: Any, checkout: Path, tmp_path: Path
) -> None:
    project.dislike(project.converse("Mimi ni Achieng, Otieno ananijua", facts=OTHER))
    code, _, complaint = promote()
    assert (code, "vertical" in complaint, files(checkout)) == (2, True, [])
    tenants = "tenants: {salon_kilimani: {vertical: salon, names: [Achieng Odhiambo, Otieno]}}\n"
    (tmp_path / "tenants.yaml").write_text(tenants)
    (path,) = promote("--tenants", str(tmp_path / "tenants.yaml"))[1]["written"]
    scenario = yaml.safe_load((checkout / path).read_text("utf-8"))
    assert scenario["turns"] == [{"user": "Mimi ni <name>, <name> ananijua"}]
    assert scenario["vertical"] == "salon"


def test_many_names_in_a_trace_are_all_masked_though_a_server_cuts_long_metadata(
    project: ProductionProject, promote: Any, checkout: Path
) -> None:
    names = [f"{one} {other}" for one in ("Wanjiku", "Otieno", "Chebet") for other in ("Kamau", "Odhiambo", "Kiptoo")]
    names += ["Nyambura Wairimu", "Auma Adhiambo", "Jelagat Cherono", "Mwikali Mutua"]
    assert len(json.dumps(names)) > 200
    facts = {"tenant_id": "spa_westlands", "vertical": "spa", "customer_names": names}
    project.dislike(project.converse("Mimi ni Mwikali Mutua", facts=facts))
    (path,) = promote()[1]["written"]
    assert yaml.safe_load((checkout / path).read_text("utf-8"))["turns"] == [{"user": "Mimi ni <name>"}]


@pytest.mark.parametrize("content", [{}, [], {"data": [{"id": 1}], "meta": {}}], ids=["empty", "a list", "half"])
def test_an_answer_that_is_not_of_langfuse_is_reported(
    project: ProductionProject, promote: Any, content: object
) -> None:
    project.state.instead = content
    code, output, _ = promote()
    assert (code, output["problem"]) == (3, "its answer is not one of Langfuse's")


def test_no_more_are_written_than_were_asked_for_the_oldest_first(
    project: ProductionProject, promote: Any, checkout: Path
) -> None:
    for number in range(3):
        project.dislike(project.converse(f"Habari {number}"), seconds_ago=1_000 - number)
    output = promote("--max", "2")[1]
    assert (len(output["written"]), output["left"]) == (2, 1)
    texts = [yaml.safe_load((checkout / name).read_text("utf-8"))["turns"][0]["user"] for name in output["written"]]
    assert texts == ["Habari 0", "Habari 1"]
    assert len(promote()[1]["written"]) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x" * 20_001, "turns.0.user"),
        ("ufunguo ni ghp_0123456789abcdef0123456789abcdef0123", "the conversation contains a GitHub token"),
        ("   ", "It has no readable turn"),
        ('{"event": {"amount": 5}}', "an event needs a 'type'"),
    ],
    ids=["too long", "a credential", "silence", "a bad event"],
)
def test_what_cannot_be_a_scenario_is_reported_and_the_others_are_written(
    project: ProductionProject, promote: Any, checkout: Path, text: str, why: str
) -> None:
    trace = project.converse(text)
    project.dislike(trace)
    project.dislike(project.converse("Habari"))
    code, output, _ = promote()
    assert (code, files(checkout)) == (0, output["written"])
    assert len(output["written"]) == 1
    assert output["unusable"][0]["trace"] == trace
    assert why in output["unusable"][0]["why"]


def test_a_score_on_a_session_takes_all_of_its_traces(project: ProductionProject, promote: Any, checkout: Path) -> None:
    traces = [project.converse(expected, session="254712345678") for expected in ("Habari", "Kesho saa nane")]
    project.dislike("254712345678", subject="session")
    (path,) = promote()[1]["written"]
    text = (checkout / path).read_text("utf-8")
    scenario = yaml.safe_load(text)
    assert [turn["user"] for turn in scenario["turns"]] == ["Habari", "Kesho saa nane"]
    assert scenario["provenance"]["trace"] == traces[0]
    assert "712345678" not in text


def test_a_trace_that_is_not_there_is_reported(project: ProductionProject, promote: Any) -> None:
    project.dislike("3f9c" * 8)
    assert promote()[1]["unusable"] == [{"trace": "3f9c" * 8, "why": "Langfuse has no observation of this trace."}]


def test_hostile_words_become_plain_text_of_a_file_that_is_accepted(
    project: ProductionProject, promote: Any, checkout: Path
) -> None:
    hostile = "]}\n- &a !!python/object/apply:os.system ['id'] *a # ${{ secrets.X }} \u202e\x07 ::set-output::"
    project.dislike(project.converse(hostile))
    (path,) = promote()[1]["written"]
    scenario = yaml.safe_load((checkout / path).read_text("utf-8"))
    assert scenario["turns"] == [{"user": hostile.strip()}]


def test_a_suite_with_a_mistake_is_not_added_to(project: ProductionProject, promote: Any, checkout: Path) -> None:
    project.dislike(project.converse("Habari"))
    (checkout / "scenarios" / "a.yaml").write_text("id: A\n")
    code, _, complaint = promote()
    assert (code, files(checkout)) == (2, ["scenarios/a.yaml"])
    assert "scenarios/a.yaml:1" in complaint
