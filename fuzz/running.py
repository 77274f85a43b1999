"""Runs cases one after another; as a program, those whose seeds stand on its standard input."""

import faulthandler
import json
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

from fuzz.case import BrokenInvariantError, Case
from fuzz.kinds import KINDS, kind_of
from fuzz.services import Services

SECONDS = 240
"""Time after which a case counts as hanging."""


class Outcome(TypedDict):
    """How a case ended."""

    seed: int
    kind: str
    seconds: float
    broken: str
    figures: dict[str, float]


class HangingError(Exception):
    """A case did not end."""


def run_seeds(seeds: Sequence[int]) -> Iterator[Outcome]:
    """Run the cases of these seeds."""
    signal.signal(signal.SIGALRM, _stop)
    # What the cases share, a database server among it, is ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="ratiba-fuzz-", ignore_cleanup_errors=True) as name:
        top = Path(name)
        top.chmod(0o755)
        with Services(top) as services:
            for seed in seeds:
                folder = top / f"case-{seed}"
                folder.mkdir()
                yield _run(Case(seed, folder, services))
                shutil.rmtree(folder, ignore_errors=True)


def _stop(*_: object) -> None:
    raise HangingError(f"(g) the case did not end within {SECONDS} s")


def _run(case: Case) -> Outcome:
    kind, broken, started = kind_of(case.seed), "", time.monotonic()
    signal.alarm(SECONDS)
    try:
        KINDS[kind].run(case)
    except (BrokenInvariantError, HangingError) as error:
        broken = f"{case.note}: {error}" if case.note else str(error)
    except Exception:  # noqa: BLE001 - a defect of the campaign is shown as one, and the other cases go on
        broken = f"the campaign itself failed: {traceback.format_exc()}"
    finally:
        signal.alarm(0)
    seconds = round(time.monotonic() - started, 3)
    return Outcome(seed=case.seed, kind=kind, seconds=seconds, broken=broken, figures=case.figures)


if __name__ == "__main__":
    faulthandler.enable()
    for outcome in run_seeds(json.loads(sys.stdin.read())):
        sys.stdout.write(json.dumps(outcome) + "\n")
        sys.stdout.flush()
