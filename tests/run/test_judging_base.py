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
from ratiba_action.model.scenario import Assertion, FailureRule, Suite
from ratiba_action.run.base_commit import BaseCommit
from ratiba_action.run.judging_base import JudgingBase, judging_base
from ratiba_action.settings.settings import Settings
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
    base_suite: Suite = SUITE,
) -> tuple[JudgingBase | None, list[str]]:
    """Whose code judges a change, and the notes about it."""
    repository = GitRepository(folder, os.environ["PATH"])
    prefix = "" if root == "." else f"{root}/"
    base = repository.commit({f"{prefix}{name}": content for name, content in FILES.items()})
    head = repository.commit(dict(change)) if change else base
    git = Git(folder, {"PATH": os.environ["PATH"]})
    files = ChangedFiles(tuple(change), base=base, head=head)
    with Contents(git, base, head) as contents:
        commit = BaseCommit(Settings(), Change(files, Subject(), git=git), contents)
        system = system and system.model_copy(update={"root": root})
        judging, notes = judging_base(commit, system, SUITE, base_suite, root)
        return judging, [note.split()[0] for note in notes]


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
    judging, named = found(tmp_path, {path: "# edited"}, root=root)
    assert judging is not None
    assert (sorted(judging.own), named) == (own, own)


def test_what_the_base_does_not_name_is_the_changes_own(tmp_path: Path) -> None:
    without = Suite((replace(SUITE.scenarios[0], rules=()),), "")
    judging, named = found(tmp_path, {"app.py": "# edited"}, base_suite=without)
    assert judging is not None
    assert (judging.own, named) == ({"own.rules:polite"}, ["own.rules:polite"])


@pytest.mark.parametrize("system", [None, SYSTEM], ids=["no configuration", "no change"])
def test_without_a_base_to_judge_by_the_checkouts_own_code_does(tmp_path: Path, system: SystemBlock | None) -> None:
    judging, _ = found(tmp_path, {} if system else {"own/tone.py": "# edited"}, system=system)
    assert judging is None
