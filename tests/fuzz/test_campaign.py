"""The command of the fuzz campaign: what it prints, and that a seed replays its case."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.kinds import kind_of

pytestmark = pytest.mark.processes

PROJECT = Path(__file__).parents[2]


def fuzz(*options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "fuzz", *options]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False, timeout=120)


def test_a_small_campaign_without_processes_is_clean_and_prints_its_seeds_and_a_table() -> None:
    done = fuzz("--cases", "60", "--from-seed", "4", "--only", "provider", "--only", "artifact", "--jobs", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Seeds 4 to 63, " in done.stdout
    assert re.search(r"^\| provider \| [1-9]\d* \| 0 \|", done.stdout, re.MULTILINE)
    assert re.search(r"^\| all \| [1-9]\d* \| 0 \|", done.stdout, re.MULTILINE)


def test_one_seed_is_one_case() -> None:
    seed = next(seed for seed in range(100) if kind_of(seed) == "provider")
    done = fuzz("--seed", str(seed), "--jobs", "1", "--verbose")
    assert f"1 of 1: seed {seed}, provider was clean" in done.stdout, done.stdout + done.stderr
