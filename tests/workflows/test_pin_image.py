"""The release writes the image's digest into action.yml, and refuses what is none."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
DIGEST = "sha256:" + "0123456789abcdef" * 4
REFERENCE = f"registry.example/owner/ratiba-eval-gate@{DIGEST}"


@pytest.fixture
def action(tmp_path: Path) -> Path:
    path = tmp_path / "action.yml"
    path.write_bytes((PROJECT / "action.yml").read_bytes())
    return path


def pin(action: Path, *reference: str) -> subprocess.CompletedProcess[str]:
    script = PROJECT / ".github" / "scripts" / "pin_image.py"
    command = [sys.executable, "-I", str(script), str(action), *reference]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_digest_becomes_the_default_of_the_image_and_nothing_else_changes(action: Path) -> None:
    before = yaml.safe_load(action.read_text("utf-8"))
    assert pin(action, REFERENCE).returncode == 0
    after = yaml.safe_load(action.read_text("utf-8"))
    assert after["inputs"]["image"].pop("default") == REFERENCE
    before["inputs"]["image"].pop("default")
    assert after == before


def test_a_digest_is_replaced_by_a_newer_one_and_read_back(action: Path) -> None:
    newer = REFERENCE.replace("0123", "4567")
    pin(action, REFERENCE)
    pin(action, newer)
    assert pin(action).stdout == newer + "\n"


@pytest.mark.parametrize(
    "wrong", ["", "registry.example/owner/name:1.2.0", f"name@{DIGEST[:-1]}", f'a"b@{DIGEST}', f"{REFERENCE}\n"]
)
def test_a_reference_without_a_whole_digest_is_refused_and_nothing_is_written(action: Path, wrong: str) -> None:
    before = action.read_bytes()
    done = pin(action, wrong)
    assert (done.returncode, action.read_bytes()) == (2, before)
    assert "no image by digest" in done.stderr


def test_an_action_that_is_not_pinned_is_no_release(action: Path) -> None:
    action.write_text('inputs:\n  image:\n    description: its image\n    default: ""\n')
    assert pin(action).returncode == 2


def test_the_action_builds_its_image_or_names_it_by_digest(action: Path) -> None:
    default = yaml.safe_load(action.read_text("utf-8"))["inputs"]["image"]["default"]
    assert default == "" or pin(action).stdout == f"{default}\n"


def test_an_action_without_the_input_is_refused(action: Path) -> None:
    action.write_text("name: other\ninputs:\n  mode:\n    default: auto\n")
    done = pin(action, REFERENCE)
    assert done.returncode == 2
    assert "has 0 inputs 'image'" in done.stderr
