"""Which rules and metrics of a repository run as the change has them, and which as its base has them."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ratiba_action.config.system_block import SystemBlock
from ratiba_action.decide.contents import Contents
from ratiba_action.decide.read import Change
from ratiba_action.model.change import ChangedFiles, Subject
from ratiba_action.model.scenario import Assertion, Expectation, FailureRule, Suite, Turn
from ratiba_action.run.base_commit import BaseCommit
from ratiba_action.run.judging_base import JudgingCode, judging_code
from ratiba_action.run.self_reported import critical_problems
from ratiba_action.settings.settings import read_settings
from ratiba_action.util.git import Git
from tests.support.git_repository import GitRepository
from tests.support.sample_report import sample_scenario

SYSTEM = SystemBlock(adapter="app:App", setup=["make"])
RULES = (FailureRule("custom", ["own.rules:polite"]), FailureRule("must_contain", "own.words:word"))
SUITE = Suite(
    (
        replace(
            sample_scenario("a"),
            assertions=(Assertion("own.tone:Tone", 0.5), Assertion("BookingSlotConsistencyMetric", 1.0)),
            rules=RULES,
        ),
    ),
    "",
)
FILES = {
    "own/__init__.py": "",
    "own/tone.py": "from own import deep\n",
    "own/deep.py": "",
    "own/rules.py": "",
    "own/words.py": "",
    "app.py": "",
}


def found(
    folder: Path,
    change: Mapping[str, str],
    *,
    root: str = ".",
    system: SystemBlock | None = SYSTEM,
    suite: Suite = SUITE,
    base_suite: Suite = SUITE,
) -> JudgingCode:
    """Whose code judges a change."""
    repository = GitRepository(folder)
    prefix = "" if root == "." else f"{root}/"
    base = repository.commit({f"{prefix}{name}": content for name, content in FILES.items()})
    head = repository.commit(dict(change)) if change else base
    git = Git(folder, {"PATH": os.environ["PATH"]})
    files = ChangedFiles(tuple(change), base=base, head=head)
    with Contents(git, base, head) as contents:
        commit = BaseCommit(read_settings({}, {}), Change(files, Subject(), git=git), contents)
        before = system and system.model_copy(update={"root": root})
        return judging_code(commit, before, SYSTEM.model_copy(update={"root": root}), suite, base_suite)


def named(judging: JudgingCode) -> list[str]:
    """What the notes are about."""
    return [note.split()[0] for note in judging.notes]


@pytest.mark.parametrize(
    ("root", "path", "own"),
    [
        (".", "own/tone.py", ["own.tone:Tone"]),
        ("systems/spa", "systems/spa/own/rules.py", ["own.rules:polite"]),
        (".", "own/__init__.py", ["own.rules:polite", "own.tone:Tone"]),
        (".", "own/tone/__init__.py", ["own.tone:Tone"]),
        (".", "own/deep.py", ["own.tone:Tone"]),
        ("systems/spa", "own/tone.py", []),
        (".", "own/words.py", []),
        (".", "docs/tone.py", []),
        (".", "requirements.txt", []),
        (".", "refused.txt", []),
    ],
)
def test_what_the_change_edits_or_imports_edited_is_its_own_and_named(
    tmp_path: Path, root: str, path: str, own: list[str]
) -> None:
    judging = found(tmp_path, {path: "# edited"}, root=root)
    assert judging.base is not None
    assert (sorted(judging.base.own), named(judging), list(judging.edited)) == (own, own, own)


@pytest.mark.parametrize(
    ("before", "after", "reported"),
    [
        ('__version__ = "1.0.0"', '__version__ = "1.0.0"  # a rule changed', True),
        ('__version__: Final = "1.0.0"', '__version__ = "1.1.0"', False),
        ("", '__version__ = "1.0.0"', False),
        ("", "# no version", False),
    ],
)
def test_a_metric_that_is_edited_without_another_version_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, *, reported: bool
) -> None:
    monkeypatch.setitem(FILES, "own/deep.py", before)
    notes = found(tmp_path, {"own/deep.py": after}).notes
    wanted = "own/deep.py is edited by this change, and its `__version__` is 1.0.0 as before"
    assert any(note.startswith(wanted) for note in notes) is reported


def test_what_the_base_does_not_name_is_the_changes_own(tmp_path: Path) -> None:
    without = Suite((replace(SUITE.scenarios[0], rules=()),), "")
    judging = found(tmp_path, {"app.py": "# edited"}, base_suite=without)
    assert judging.base is not None
    assert (sorted(judging.base.own), named(judging)) == (["own.rules:polite"], ["own.rules:polite"])
    assert judging.edited == ()


@pytest.mark.parametrize("system", [None, SYSTEM], ids=["no configuration", "no change"])
def test_without_a_base_to_judge_by_the_checkouts_own_code_does(tmp_path: Path, system: SystemBlock | None) -> None:
    assert found(tmp_path, {} if system else {"own/tone.py": "# edited"}, system=system).base is None


IMPORTING = {"own/rules.py": "import app\n"}


def test_code_of_the_change_that_imports_its_system_is_self_reported(tmp_path: Path) -> None:
    assert found(tmp_path / "edited", IMPORTING).with_system == {"own.rules:polite"}
    assert found(tmp_path / "no base", IMPORTING, system=None).with_system == {"own.rules:polite"}


def test_code_of_the_base_is_not_whatever_it_imports(tmp_path: Path) -> None:
    assert found(tmp_path, {"app.py": "# edited"}).with_system == frozenset()


def test_a_critical_scenario_needs_an_assertion_of_the_gates_own_beside_it(tmp_path: Path) -> None:
    rules = (FailureRule("custom", ["own.rules:polite"]),)
    alone = replace(SUITE.scenarios[0], critical=True, rules=rules, assertions=(), turns=(Turn("Habari"),))
    judging = found(tmp_path, IMPORTING)
    (problem,) = critical_problems(Suite((alone,), ""), judging)
    assert "own.rules:polite imports the system, so its answer is self-reported" in problem.message
    for proved in (
        replace(alone, critical=False),
        replace(alone, rules=(*rules, RULES[1])),
        replace(alone, turns=(Turn("Habari", expect=Expectation(state="SAID")),)),
        replace(alone, assertions=(Assertion("BookingSlotConsistencyMetric", 1.0),)),
    ):
        assert critical_problems(Suite((proved,), ""), judging) == ()
    assert critical_problems(Suite((alone,), ""), JudgingCode()) == (), "the base's code is no claim of the change"
