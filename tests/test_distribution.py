"""The wheel, built and installed as a user's tools do it, and what it says of itself."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

PROJECT = Path(__file__).parents[1]


def run(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)


def tracked() -> set[str]:
    """Files of the project that git knows, or would add."""
    listed = run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], PROJECT, {"PATH": os.environ["PATH"]}
    )
    return {name for name in listed.stdout.splitlines() if (PROJECT / name).is_file()}


@dataclass(frozen=True)
class Installed:
    """The wheel, and an environment whose only copy of the gate comes from it."""

    wheel: Path
    bin: Path
    environment: Mapping[str, str]

    @property
    def metadata(self) -> Message:
        with ZipFile(self.wheel) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
            return message_from_bytes(archive.read(name))

    def ratiba(self, folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
        return run([str(self.bin / "ratiba"), *words], folder, self.environment)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("distribution")
    source, target = folder / "source", folder / "environment"
    for name in tracked():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PROJECT / name, source / name)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "NO_COLOR": "1"}
    build = "from setuptools import build_meta; print(build_meta.build_wheel('.'))"
    built = run([sys.executable, "-c", build], source, environment)
    assert built.returncode == 0, built.stderr
    wheel = source / built.stdout.splitlines()[-1]
    venv.create(target, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(target)}))
    # The dependencies are those of this environment; a folder that is named here runs no file of the editable gate.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = [sys.executable, "-m", "pip", "--python", str(target / "bin/python")]
    done = run([*install, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], folder, environment)
    assert done.returncode == 0, done.stderr
    return Installed(wheel, target / "bin", environment)


@pytest.mark.processes
def test_the_wheel_has_every_file_of_the_package_and_nothing_else(installed: Installed) -> None:
    with ZipFile(installed.wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == {name for name in tracked() if name.startswith("ratiba_action/")}


@pytest.mark.processes
def test_its_metadata_is_complete(installed: Installed) -> None:
    metadata = installed.metadata
    assert (metadata["Name"], metadata["License-Expression"]) == ("ratiba-eval-gate", "Apache-2.0")
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Summary"]
    assert metadata["Author"] == "Ratiba"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert {*metadata.get_all("Provides-Extra", [])} == {*declared["optional-dependencies"]}


@pytest.mark.processes
def test_the_installed_gate_sets_a_repository_up_and_validates_it(installed: Installed, tmp_path: Path) -> None:
    where = run(
        [str(installed.bin / "python"), "-c", "import ratiba_action; print(ratiba_action.__file__)"],
        tmp_path,
        installed.environment,
    )
    assert where.stdout.startswith(str(installed.bin.parent)), where.stdout + where.stderr
    run(["git", "init", "--quiet"], tmp_path, installed.environment)
    begun = installed.ratiba(tmp_path, "init", "--yes")
    assert begun.returncode == 0, begun.stderr
    hook = hook_of_pre_commit()
    done = run([str(installed.bin / "ratiba"), *hook["entry"].split()[1:]], tmp_path, installed.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "scenarios/first_conversation.yaml").write_text("id: [\n")
    done = run([str(installed.bin / "ratiba"), *hook["entry"].split()[1:]], tmp_path, installed.environment)
    assert done.returncode != 0


def hook_of_pre_commit() -> dict[str, Any]:
    (hook,) = yaml.safe_load((PROJECT / ".pre-commit-hooks.yaml").read_text())
    assert isinstance(hook, dict)
    return hook


def test_the_hook_of_pre_commit_is_the_one_that_the_documentation_names() -> None:
    hook = hook_of_pre_commit()
    assert (hook["language"], hook["pass_filenames"], hook["always_run"]) == ("python", False, True)
    assert hook["entry"] == "ratiba validate"
    page = (PROJECT / "docs/laptop.md").read_text()
    assert f"- id: {hook['id']}\n" in page


def test_the_action_names_its_author_and_describes_itself() -> None:
    action = yaml.safe_load((PROJECT / "action.yml").read_text())
    assert (action["name"], action["author"]) == ("Ratiba Eval Gate", "Ratiba")
    assert len(action["description"]) <= 125  # the Marketplace cuts what is longer


def test_no_text_installs_the_gate_by_its_name_alone() -> None:
    """The name is registered on no index: whoever registers it would be installed."""
    files = [
        PROJECT / "README.md",
        *(PROJECT / "docs").glob("*.md"),
        *(PROJECT / "examples").rglob("*.y*ml"),
        *(PROJECT / "ratiba_action").rglob("*.py"),
    ]
    by_name = re.compile(r"install (?:--[\w-]+ )*[\"'`]*ratiba-eval-gate(?:\[[\w,{}]+\])?(?! @|[\w\[-])", re.IGNORECASE)
    assert [str(path) for path in files if by_name.search(path.read_text("utf-8"))] == []
