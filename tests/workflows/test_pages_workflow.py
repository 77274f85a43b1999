"""The workflow that publishes the documentation: its own scripts, run for the default branch and for tags."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.workflow_files import run_block

PROJECT = Path(__file__).parents[2]
WORKFLOW = (PROJECT / ".github/workflows/pages.yml").read_text("utf-8")
SITE = "site_name: A\nsite_dir: build/site\nplugins: [search, mike]\ntheme: {name: material, font: false}\n"
pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not (PROJECT / ".venv/docs/bin/mike").exists(), reason="`make docs` has not installed mike"),
]


def shell(text: str, folder: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    identity = {"GIT_CONFIG_GLOBAL": os.devnull, "PATH": os.environ["PATH"], "HOME": str(folder)}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text]
    return subprocess.run(
        command, cwd=folder, env={**identity, **variables}, capture_output=True, text=True, check=False
    )


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


class Project:
    """A repository with one page, and the runs of its workflow on checkouts of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.remote = folder, folder / "owner/name"
        git(folder, "init", "--quiet", "--bare", "--initial-branch", "main", str(self.remote))
        git(folder, "clone", "--quiet", str(self.remote), "work")
        self.work = folder / "work"
        (self.work / "docs").mkdir()
        (self.work / "mkdocs.yml").write_text(SITE)
        (self.work / ".gitignore").write_text("build\n.venv\n")
        shutil.copytree(PROJECT / ".github/scripts", self.work / ".github/scripts")

    def push(self, text: str, tag: str | None = None) -> None:
        """Commit the page with this text to the default branch, with a tag perhaps."""
        (self.work / "docs/index.md").write_text(f"# {text}\n")
        git(self.work, "add", "--all")
        git(self.work, "commit", "--quiet", "-m", text)
        git(self.work, "push", "--quiet", "origin", "HEAD:main")
        if tag:
            git(self.work, "tag", tag)
            git(self.work, "push", "--quiet", "origin", tag)

    def add(self, ref: str, kind: str) -> subprocess.CompletedProcess[str]:
        """The step that adds a version, on a fresh checkout of the ref."""
        checkout = self.folder / "checkout"
        shutil.rmtree(checkout, ignore_errors=True)
        git(self.folder, "clone", "--quiet", str(self.remote), str(checkout))
        git(checkout, "checkout", "--quiet", "--detach", ref if kind == "tag" else f"origin/{ref}")
        (checkout / ".venv").symlink_to(PROJECT / ".venv")
        variables = {"GITHUB_REF_TYPE": kind, "GITHUB_REF_NAME": ref}
        return shell(run_block(WORKFLOW, "Add this version to the others"), checkout, variables)

    def publish(self, ref: str, kind: str) -> Path:
        """Both steps of the workflow; the files that it would publish."""
        added = self.add(ref, kind)
        assert added.returncode == 0, added.stderr
        variables = {"GITHUB_SERVER_URL": self.folder.as_uri(), "GITHUB_REPOSITORY": "owner/name"}
        pushed = shell(run_block(WORKFLOW, "Push it"), self.folder / "checkout/build", variables)
        assert pushed.returncode == 0, pushed.stderr
        return self.folder / "checkout/build/pages"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_each_minor_release_keeps_its_pages_and_the_newest_is_shown_first(project: Project) -> None:
    project.push("Before any release")
    first = project.publish("main", "branch")
    assert "dev/" in (first / "index.html").read_text()
    project.push("Release one", "v1.9.0")
    project.publish("v1.9.0", "tag")
    project.push("Nearly release two", "v1.10.0-rc1")
    project.push("Release two", "v1.10.0")
    project.publish("v1.10.0", "tag")
    project.push("A repair of release one", "v1.9.1")
    project.publish("v1.9.1", "tag")
    project.push("After the releases")
    pages = project.publish("main", "branch")
    titles = {entry["title"]: entry["aliases"] for entry in json.loads((pages / "versions.json").read_text())}
    assert titles == {"dev": [], "1.10.0": ["latest"], "1.9.1": []}
    assert "latest/" in (pages / "index.html").read_text()
    shown = {name: (pages / name / "index.html").read_text() for name in ("dev", "latest", "1.10", "1.9")}
    assert {name: text.partition("<h1")[2].partition(">")[2].partition("<")[0] for name, text in shown.items()} == {
        "dev": "After the releases",
        "latest": "Release two",
        "1.10": "Release two",
        "1.9": "A repair of release one",
    }
    assert git(project.remote, "log", "--format=%s", "gh-pages").count("\n") > 4


@pytest.mark.parametrize("tag", ["v1.2", "v1.2.0-rc1", "verdict"])
def test_a_tag_that_is_no_version_is_not_published(project: Project, tag: str) -> None:
    project.push("Release", tag)
    refused = project.add(tag, "tag")
    assert (refused.returncode, "three numbers" in refused.stdout) == (2, True)
    assert "gh-pages" not in git(project.remote, "branch")
