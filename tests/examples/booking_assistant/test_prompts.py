import os
import subprocess
from pathlib import Path

import pytest
from booking_assistant.prompts import PromptLibrary, canary_bucket, load_prompt
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.run.arms import prompt_blobs, prompt_versions
from ratiba_action.util.git import Git


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def prompt(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    path = tmp_path / "greeter.md"
    path.write_text("Greet.", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "one")
    return path


def library(folder: Path, aliases: str) -> PromptLibrary:
    for name in ("calm.md", "bold.md"):
        (folder / name).write_text(name, encoding="utf-8")
    (folder / "aliases.yaml").write_text(aliases, encoding="utf-8")
    return PromptLibrary(folder)


def test_a_version_is_the_commit_that_last_touched_the_prompt(prompt: Path) -> None:
    touched = git(prompt.parent, "rev-parse", "--short=7", "HEAD")
    git(prompt.parent, "commit", "--quiet", "--allow-empty", "-m", "two")
    assert load_prompt(prompt).version == f"greeter@{touched}"


def test_a_dirty_prompt_has_the_version_of_its_content(prompt: Path) -> None:
    committed = load_prompt(prompt).version
    prompt.write_text("Greet warmly.", encoding="utf-8")
    dirty = load_prompt(prompt).version
    assert dirty == f"greeter@{git(prompt.parent, 'hash-object', 'greeter.md')[:12]}"
    assert dirty != committed


def test_a_shallow_clone_has_the_version_of_the_content(prompt: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    git(prompt.parent, "commit", "--quiet", "--allow-empty", "-m", "two")
    target = tmp_path_factory.mktemp("clone")
    git(target, "clone", "--quiet", "--depth=1", prompt.parent.as_uri(), "shallow")
    version = load_prompt(target / "shallow" / "greeter.md").version
    assert version == f"greeter@{git(target / 'shallow', 'rev-parse', 'HEAD:greeter.md')[:12]}"


def test_production_and_the_gate_agree_on_version_and_text(
    prompt: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    git(prompt.parent, "commit", "--quiet", "--allow-empty", "-m", "two")
    target = tmp_path_factory.mktemp("clone")
    git(target, "clone", "--quiet", "--depth=1", prompt.parent.as_uri(), "shallow")
    for folder in (prompt.parent, target / "shallow"):
        ours = load_prompt(folder / "greeter.md")
        assert prompt_versions(folder, "", ["*.md"], Git(folder, os.environ)) == (ours.version,)
        assert prompt_blobs(folder, "", ["*.md"]) == (ours.blob,)
    prompt.write_text("Greet warmly.", encoding="utf-8")
    dirty = load_prompt(prompt)
    assert prompt_versions(prompt.parent, "", ["*.md"], Git(prompt.parent, os.environ)) == (dirty.version,)
    assert prompt_blobs(prompt.parent, "", ["*.md"]) == (dirty.blob,)


def test_without_git_the_version_depends_on_the_content_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for folder in ("a", "b"):
        (tmp_path / folder / "greeter.md").write_text("Greet.", encoding="utf-8")
    assert load_prompt(tmp_path / "a" / "greeter.md") == load_prompt(tmp_path / "b" / "greeter.md")


@given(st.uuids().map(str), st.uuids().map(str))
def test_a_bucket_is_stable_and_between_0_and_99(tenant_id: str, conversation_id: str) -> None:
    bucket = canary_bucket(tenant_id, conversation_id)
    assert bucket == canary_bucket(tenant_id, conversation_id)
    assert 0 <= bucket < 100


@pytest.mark.parametrize(("percentage", "expected"), [(0, {"calm"}), (100, {"bold"}), (50, {"calm", "bold"})])
def test_a_canary_gets_its_share_of_conversations(tmp_path: Path, percentage: int, expected: set[str]) -> None:
    prompts = library(
        tmp_path, f'greeter: {{"@stable": calm.md, "@canary": {{prompt: bold.md, percentage: {percentage}}}}}'
    )
    assert {prompts.resolve("greeter", "tenant", str(number)).name for number in range(200)} == expected


@pytest.mark.parametrize(
    "alias", ["{}", "calm.md", '{"@stable": calm.md, "@canary": {prompt: bold.md, percentage: 101}}']
)
def test_a_wrong_alias_is_refused_with_the_role_it_belongs_to(tmp_path: Path, alias: str) -> None:
    with pytest.raises(ValueError, match="greeter"):
        library(tmp_path, f"greeter: {alias}")
