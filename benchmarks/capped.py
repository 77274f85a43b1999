"""How much of a budget stays unspent when it is too small. Run: ``python -m benchmarks.capped``.

The conversations of ``side_by_side``, of which nothing is recorded, with budgets for a part of them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.bare_loop import AT_ONCE, KEY
from benchmarks.provider_stand_in import stand_in
from benchmarks.side_by_side import LATENCY, write_repository

PROJECT = Path(__file__).resolve().parents[1]
BUDGETS = ("0.50", "1.00", "5.00")


def main() -> int:
    """Print a row for each budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000, help="conversations")
    count = parser.parse_args().count
    print(f"{count} judged cases\n| budget | spent | unspent | cases judged | s |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, stand_in(LATENCY) as url:
        write_repository(Path(folder, "repository"), count)
        for budget in BUDGETS:
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": folder,
                "PYTHONPATH": str(PROJECT),
                "RATIBA_ANTHROPIC_API_KEY": KEY,
                "RATIBA_ANTHROPIC_BASE_URL": url,
                "RATIBA_EVAL_BUDGET_USD": budget,
            }
            report, began = Path(folder, f"report-{budget}"), time.perf_counter()
            command = [sys.executable, "-m", "ratiba_action", "gate", "--mode", "blocking", "--llm", "live"]
            command += ["--no-deepeval-cache", "--concurrency", str(AT_ONCE), "--report-dir", str(report)]
            subprocess.run(command, cwd=Path(folder, "repository"), env=environment, capture_output=True, check=False)
            outputs = json.loads((report / "results.json").read_text())["outputs"]
            unspent = 1 - float(outputs["spent_usd"]) / float(budget)
            spent, seconds = outputs["spent_usd"], time.perf_counter() - began
            print(f"| {budget} | {spent} | {unspent:.1%} | {outputs['passed']} | {seconds:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
