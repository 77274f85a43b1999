import os
from pathlib import Path

from ratiba_action.run.arms import prompt_blobs, prompt_versions
from ratiba_action.util.git import Git
from tests.support.git_repository import GitRepository

PATTERNS = ("prompts/*.md",)
# printf 'Be kind.' | git hash-object --stdin, printf 'Be brief.' | git hash-object --stdin
KIND, BRIEF = "261ff3b25782", "7f10ccf3adde"


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


def test_a_shallow_clone_knows_the_commits_whose_parents_it_has(tmp_path: Path) -> None:
    made = repository(tmp_path / "origin")
    made.commit({"app/prompts/pay.md": "Be quick."})
    second = made.git("rev-parse", "--short", "HEAD")
    made.commit({"other": "file"})
    made.git("clone", "--quiet", "--depth", "3", f"file://{tmp_path / 'origin'}", str(tmp_path / "whole"))
    made.commit({"other": "file again"})
    made.git("clone", "--quiet", "--depth", "3", f"file://{tmp_path / 'origin'}", str(tmp_path / "clone"))
    greet, pay = versions(tmp_path / "whole")
    assert (greet.partition("@")[2] != KIND, pay) == (True, f"pay@{second}"), "three commits are all there are"
    # Of the clone's oldest commit nobody can say whether it touched a file: it seems to add all of them.
    assert versions(tmp_path / "clone") == (f"greet@{KIND}", f"pay@{blob(tmp_path / 'clone', 'pay')[:12]}")


def test_an_unchanged_prompt_of_a_pull_request_has_the_version_of_its_base(tmp_path: Path) -> None:
    made = repository(tmp_path / "origin")
    first = made.git("rev-parse", "--short", "HEAD")
    made.commit({"other": "file"})
    made.git("checkout", "--quiet", "-b", "feature")
    made.commit({"app/prompts/pay.md": "Be quick."})
    changed = made.git("rev-parse", "--short", "HEAD")
    made.git("checkout", "--quiet", "--detach", "main")
    made.merge("feature")
    assert versions(tmp_path / "origin") == (f"greet@{first}", f"pay@{changed}")


def blob(folder: Path, name: str) -> str:
    return Git(folder, os.environ).run("rev-parse", f"HEAD:app/prompts/{name}.md").strip()


def test_the_blob_id_is_gits_and_the_same_across_a_squash_merge(tmp_path: Path) -> None:
    made = repository(tmp_path)
    made.git("checkout", "--quiet", "-b", "feature")
    made.commit({"app/prompts/pay.md": "Be quick."})
    on_the_branch = prompt_blobs(tmp_path, "app", PATTERNS)
    assert on_the_branch == (f"greet@{blob(tmp_path, 'greet')}", f"pay@{blob(tmp_path, 'pay')}")
    version = versions(tmp_path)
    made.git("checkout", "--quiet", "main")
    made.commit({"other": "file"})
    made.commit({"app/prompts/pay.md": "Be quick."})  # what a squash merge writes
    assert prompt_blobs(tmp_path, "app", PATTERNS) == on_the_branch
    assert versions(tmp_path) != version


def test_without_git_a_prompt_is_versioned_by_content(tmp_path: Path) -> None:
    (tmp_path / "app/prompts").mkdir(parents=True)
    (tmp_path / "app/prompts/greet.md").write_text("Be kind.")
    assert versions(tmp_path) == (f"greet@{KIND}",)


def test_a_pattern_that_matches_nothing_gives_nothing(tmp_path: Path) -> None:
    repository(tmp_path)
    assert prompt_versions(tmp_path, "app", ("absent/*.md",), Git(tmp_path, os.environ)) == ()
