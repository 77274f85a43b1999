import os
from pathlib import Path

from ratiba_action.run.arms import prompt_versions
from ratiba_action.util.git import Git
from tests.support.git_repository import GitRepository

PATTERNS = ("prompts/*.md",)
# printf 'Be kind.' | sha256sum, printf 'Be brief.' | sha256sum
KIND, BRIEF = "5499befb38db", "213c22ed7234"


def repository(folder: Path) -> GitRepository:
    made = GitRepository(folder, os.environ["PATH"])
    made.commit({"app/prompts/greet.md": "Be kind.", "app/prompts/pay.md": "Be brief.", "app/prompts/x.txt": "no"})
    return made


def versions(folder: Path) -> tuple[str, ...]:
    git = Git(folder, os.environ) if (folder / ".git").exists() else None
    return prompt_versions(folder, "app", PATTERNS, git)


def test_a_version_is_the_last_commit_that_touched_the_prompt(tmp_path: Path) -> None:
    made = repository(tmp_path)
    first = made.git("rev-parse", "--short", "HEAD")
    made.commit({"app/prompts/pay.md": "Be quick."})
    second = made.git("rev-parse", "--short", "HEAD")
    made.commit({"other": "file"})
    assert versions(tmp_path) == (f"greet@{first}", f"pay@{second}")


def test_a_dirty_tree_is_versioned_by_content(tmp_path: Path) -> None:
    made = repository(tmp_path)
    made.write({"app/prompts/pay.md": "Be quick."})
    assert versions(tmp_path)[0] == f"greet@{KIND}"
    assert versions(tmp_path)[1] != f"pay@{BRIEF}"


def test_a_shallow_clone_is_versioned_by_content(tmp_path: Path) -> None:
    made = repository(tmp_path / "origin")
    made.commit({"other": "file"})
    made.git("clone", "--quiet", "--depth", "1", f"file://{tmp_path / 'origin'}", str(tmp_path / "clone"))
    assert versions(tmp_path / "clone") == (f"greet@{KIND}", f"pay@{BRIEF}")


def test_without_git_a_prompt_is_versioned_by_content(tmp_path: Path) -> None:
    (tmp_path / "app/prompts").mkdir(parents=True)
    (tmp_path / "app/prompts/greet.md").write_text("Be kind.")
    assert versions(tmp_path) == (f"greet@{KIND}",)


def test_a_pattern_that_matches_nothing_gives_nothing(tmp_path: Path) -> None:
    repository(tmp_path)
    assert prompt_versions(tmp_path, "app", ("absent/*.md",), Git(tmp_path, os.environ)) == ()
