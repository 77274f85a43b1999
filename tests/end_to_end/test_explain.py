"""``ratiba explain``: the lines of a change that make scenarios fail, without a key and without a model."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.small_repository import SmallRepository

RULES = """\
def first(text):
    return text


def second(text):
    return text


def third(text):
    return text


def fourth(text):
    return text
"""
GUILTY = '    return text.replace("Bonjour", "Adieu")'


@pytest.fixture
def changed(small: SmallRepository) -> SmallRepository:
    """The system of ``prepared`` in a gate that is a process of its own."""
    return prepared(small)


@pytest.fixture
def here(local: SmallRepository) -> SmallRepository:
    """The same in a gate of the test's own process."""
    return prepared(local)


def prepared(small: SmallRepository) -> SmallRepository:
    """A system whose four rules are applied to what it says, and a scenario that the base passes."""
    adapter = (small.folder / "adapter.py").read_text()
    small.write("rules.py", RULES)
    text = "rules.fourth(rules.third(rules.second(rules.first(text))))"
    adapter = adapter.replace('return {"text": text,', f'return {{"text": {text},')
    small.write("adapter.py", adapter.replace("import json\n", "import json\nimport rules\n"))
    small.write(
        "scenarios/greeting.yaml",
        "id: greeting\nlanguage: fr\nturns:\n  - user: say Bonjour\n    expect: {state: SAID}\n"
        "rules:\n  - {type: must_contain, value: Bonjour}\n"
        'now: 2026-04-25T10:00:00+03:00\ncustomer: {name: Amina, phone: "+254 700 000 001"}\n',
    )
    small.commit()
    return small


def edited(**bodies: str) -> str:
    """The rules with other bodies, by name."""
    text = RULES
    for name, body in bodies.items():
        text = text.replace(f"def {name}(text):\n    return text\n", f"def {name}(text):\n{body}\n")
    return text


def explain(small: SmallRepository, *options: str) -> tuple[int, Any, str]:
    ended = small.ended("explain", "--json", *options)
    found, _ = json.JSONDecoder().raw_decode(ended.printed)
    return ended.code, found, ended.printed


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts}


def test_the_guilty_line_is_named_and_the_harmless_ones_are_not(changed: SmallRepository) -> None:
    harmless = "    # harmless\n    return text"
    changed.write("rules.py", edited(first=harmless, second=harmless, third=GUILTY, fourth=harmless))
    assert changed.gate("--baseline", "none", "--mode", "blocking").code == 1
    ended = changed.ended("explain")
    assert ended.code == 0, ended.printed
    assert "makes greeting fail; the other 3 changed parts do not." in ended.printed
    assert "  rules.py:12\n    - return text\n    + return text.replace" in ended.printed
    assert "USD 0.0000 of 20.00" in ended.printed


def test_the_gate_names_the_line_in_the_comment_the_results_the_page_and_an_annotation(
    here: SmallRepository,
) -> None:
    hostile = '    # <img src=x> @everyone ::error::owned\n    return text.replace("Bonjour", "Adieu")'
    here.write("rules.py", edited(first="    # harmless\n    return text", third=hostile))
    ended = here.gate("--mode", "blocking", GITHUB_ACTIONS="true")
    assert (ended.code, ended.outputs["conclusion"]) == (1, "failed"), ended.printed
    line = next(text for text in ended.comment.splitlines() if text.startswith("**Which line did it:**"))
    assert "`rules.py` lines 11 to 12 (" in line
    assert "makes greeting fail; the other 1 changed part does not." in line
    assert not any(word in line for word in ("<img", "@everyone", "::error"))
    assert "::error file=rules.py,line=11,title=Ratiba%3A greeting::rules.py lines 11 to 12" in ended.printed
    assert "\n::error::owned" not in ended.printed
    explanation = ended.results["report"]["explanation"]
    assert explanation["scenarios"]["greeting"]["finding"] == "found"
    assert [part["path"] for part in explanation["parts"]] == ["rules.py", "rules.py"]
    page = (ended.report / "report.html").read_text()
    assert '<div class="cause"><p><code>rules.py:11</code>' in page
    assert "<img" not in page


def test_a_drop_of_scores_that_fails_no_assertion_has_a_line_as_well(here: SmallRepository) -> None:
    here.write(
        "scenarios/greeting.yaml",
        "id: greeting\nlanguage: fr\nturns:\n  - user: say Bonjour\n    expect: {key_phrases: [Bonjour]}\n"
        "assertions:\n  - {metric: KeyPhraseMetric, threshold: 0.0}\n"
        'now: 2026-04-25T10:00:00+03:00\ncustomer: {name: Amina, phone: "+254 700 000 001"}\n',
    )
    here.commit()
    here.write("rules.py", edited(first="    # harmless\n    return text", third=GUILTY))
    ended = here.gate("--mode", "blocking")
    assert (ended.code, ended.outputs["conclusion"]) == (1, "failed"), ended.printed
    line = next(text for text in ended.comment.splitlines() if text.startswith("**Which line did it:**"))
    assert "makes greeting fail; the other 1 changed part does not." in line


def test_small_drops_that_fail_a_threshold_over_cases_have_the_line_of_the_largest(here: SmallRepository) -> None:
    rows = [{"id": name, "message": f"say un deux trois {name} Bonjour"} for name in ("one", "two")]
    here.write("scenarios/rows.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    here.write(
        "scenarios/greeting.yaml",
        "id: greeting\nlanguage: fr\ncases: rows.jsonl\nturns:\n  - user: ${message}\n"
        "    expect: {key_phrases: [un, deux, trois, un deux, Bonjour]}\n"
        "assertions:\n  - {metric: KeyPhraseMetric, threshold: 0.0}\n"
        "gates:\n  - {metric: KeyPhraseMetric, at_least: 0.95}\n"
        'now: 2026-04-25T10:00:00+03:00\ncustomer: {name: Amina, phone: "+254 700 000 001"}\n',
    )
    here.commit()
    here.write("rules.py", edited(first="    # harmless\n    return text", third=GUILTY))
    ended = here.gate("--mode", "blocking")
    assert (ended.code, ended.outputs["conclusion"]) == (1, "failed"), ended.printed
    line = next(text for text in ended.comment.splitlines() if text.startswith("**Which line did it:**"))
    assert "`rules.py` line 1" in line
    assert "makes greeting__one fail; the other 1 changed part does not." in line.replace("\\", "")


def test_a_merge_looks_for_the_line_with_all_of_its_shards_only(changed: SmallRepository, tmp_path: Path) -> None:
    changed.scenario("other", "say Hello")
    changed.commit()
    changed.write("rules.py", edited(third=GUILTY))
    folders = [str(tmp_path / f"shard-{number}") for number in (1, 2)]
    for number, folder in enumerate(folders, 1):
        ended = changed.ended("gate", "--mode", "blocking", "--shard", f"{number}/2", "--report-dir", folder)
        assert ended.code == 0, ended.printed
    for given, explained in ((folders, True), (folders[:1], False)):
        ended = changed.ended("merge", "--mode", "blocking", *given)
        assert (ended.code, ended.outputs["conclusion"]) == (1, "failed"), ended.printed
        assert ("Which line did it" in ended.comment) is explained
    changed.write("rules.py", edited(third=GUILTY, first="    # another edit\n    return text"))
    ended = changed.ended("merge", "--mode", "blocking", *folders)
    assert (ended.code, ended.outputs["conclusion"]) == (3, "incomplete"), ended.printed
    assert "its commit is" in ended.printed


def test_the_bases_configuration_decides_whether_the_gate_looks_for_the_line(here: SmallRepository) -> None:
    configuration = (here.folder / ".github/ratiba.yml").read_text()
    here.write(".github/ratiba.yml", f"{configuration}attribution: {{enabled: false}}\n")
    here.commit()
    here.write(".github/ratiba.yml", f"{configuration}attribution: {{budget_usd: 900, max_steps: 500}}\n")
    here.write("rules.py", edited(third=GUILTY))
    ended = here.gate("--mode", "blocking")
    assert ended.code == 1
    assert ended.results["report"]["explanation"] is None
    assert "attribution.enabled false (this change: true)" in " ".join(ended.results["report"]["notes"])


def test_what_goes_wrong_is_a_note_and_the_verdict_stays(here: SmallRepository) -> None:
    here.write("model.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    here.commit()
    here.write("model.bin", "of the change")
    here.write("rules.py", edited(third=GUILTY))
    ended = here.gate("--mode", "blocking")
    assert (ended.code, ended.outputs["conclusion"]) == (1, "failed")
    assert any("Which lines make scenarios fail is not known" in note for note in ended.results["report"]["notes"])


def test_a_run_that_passes_is_not_run_again(here: SmallRepository) -> None:
    here.write("rules.py", edited(third="    # harmless\n    return text"))
    ended = here.gate("--mode", "blocking")
    assert (ended.code, ended.results["report"]["explanation"]) == (0, None)


def test_lines_that_fail_only_together_are_named_together(here: SmallRepository) -> None:
    here.write(
        "rules.py",
        edited(
            first='    return text + " "',
            second="    # harmless\n    return text",
            fourth='    return text.replace("Bonjour ", "Adieu")',
        ),
    )
    code, found, printed = explain(here, "--scenario", "greeting")
    assert code == 0, printed
    cause = found["scenarios"]["greeting"]
    assert (cause["finding"], [part["line"] for part in cause["parts"]]) == ("found", [2, 15])


def test_a_part_that_does_not_build_alone_is_never_called_the_cause(here: SmallRepository) -> None:
    # The new name is used in one file and defined in another: neither part runs without the other.
    here.write("rules.py", RULES + "\n\ndef fifth(text):\n" + GUILTY + "\n")
    adapter = (here.folder / "adapter.py").read_text()
    here.write("adapter.py", adapter.replace("rules.fourth(", "rules.fifth("))
    code, found, printed = explain(here, "--scenario", "greeting")
    cause = found["scenarios"]["greeting"]
    assert {part["file"] for part in cause["parts"]} == {"adapter.py", "rules.py"}, printed
    assert (code, cause["finding"]) == (3, "one_of")


def test_a_change_of_the_scenario_alone_has_no_guilty_line(here: SmallRepository) -> None:
    scenario = here.folder / "scenarios/greeting.yaml"
    scenario.write_text(scenario.read_text().replace("value: Bonjour", "value: Bonsoir"))
    ended = here.ended("explain", "--scenario", "greeting")
    assert ended.code != 0
    assert "No file of the system under test differs from the base" in ended.printed


def test_a_folder_in_the_place_of_a_file_is_a_combination_that_does_not_fit(here: SmallRepository) -> None:
    here.write("data", "a file")
    here.commit()
    (here.folder / "data").unlink()
    here.write("data/more.txt", "a file in a folder")
    here.write("rules.py", edited(third=GUILTY))
    code, found, printed = explain(here, "--scenario", "greeting")
    cause = found["scenarios"]["greeting"]
    assert (code, cause["finding"]) == (0, "found"), printed
    assert [part["file"] for part in cause["parts"]] == ["rules.py"]


def test_a_scenario_that_passes_has_no_cause(here: SmallRepository) -> None:
    here.write("rules.py", edited(first="    # harmless\n    return text"))
    code, found, _ = explain(here, "--scenario", "greeting")
    assert (code, found["scenarios"], found["runs"]) == (0, {}, 0)


def test_what_a_system_writes_reaches_neither_the_working_tree_nor_another_combination(
    changed: SmallRepository,
) -> None:
    spoilt = 'import pathlib\n\nif pathlib.Path("spoilt.txt").exists():\n    raise RuntimeError("spoilt")\n\n\n'
    changed.write("rules.py", spoilt + RULES)
    changed.commit()
    guilty = f'    pathlib.Path("spoilt.txt").write_text(text)\n{GUILTY}'
    changed.write("rules.py", spoilt + edited(first="    # harmless\n    return text", third=guilty))
    before = contents(changed.folder)
    code, found, printed = explain(changed, "--scenario", "greeting")
    assert contents(changed.folder) == before
    cause = found["scenarios"]["greeting"]
    assert (code, cause["finding"], len(cause["parts"])) == (0, "found", 1), printed
    assert "write_text" in cause["parts"][0]["added"][0]


def test_a_folder_that_became_a_link_shows_and_gives_the_system_nothing_of_what_it_leads_to(
    changed: SmallRepository,
) -> None:
    """Such as the checkout's own ``.git``, which holds the token that the checkout kept."""
    reading = '    import pathlib\n    if pathlib.Path("settings/config").read_text() != "plain":\n'
    spoiling = f'{reading}        text = text.replace("Bonjour", "Adieu")\n    return text'
    changed.write("rules.py", edited(fourth=spoiling))
    changed.write("settings/config", "plain")
    changed.commit()
    shutil.rmtree(changed.folder / "settings")
    (changed.folder / "settings").symlink_to(".git")
    code, _, printed = explain(changed, "--scenario", "greeting")
    assert code == 0
    assert "settings/config" in printed
    assert "repositoryformatversion" not in printed


@pytest.mark.parametrize("runs", ["0", "501", "many", "-1"])
def test_a_number_of_runs_out_of_its_range_is_a_usage_error(here: SmallRepository, runs: str) -> None:
    ended = here.ended("explain", f"--runs={runs}")
    assert ended.code == 2
    assert "a whole number from 1 to 500" in ended.printed


def test_without_a_last_run_the_command_that_makes_one_is_said(here: SmallRepository) -> None:
    ended = here.ended("explain")
    assert ended.code == 2
    assert "ratiba gate" in ended.printed


def test_a_failure_that_the_base_shows_too_is_not_searched_for(here: SmallRepository) -> None:
    scenario = here.folder / "scenarios/greeting.yaml"
    scenario.write_text(scenario.read_text().replace("value: Bonjour", "value: Bonsoir"))
    here.commit()
    here.write("rules.py", edited(third="    # harmless\n    return text"))
    ended = here.gate("--mode", "blocking")
    assert (ended.code, ended.outputs["conclusion"]) == (1, "failed"), ended.printed
    assert "No line of the change makes greeting fail: the base fails as well. Known from the results" in ended.comment
    assert ended.results["report"]["explanation"]["runs"] == 0
