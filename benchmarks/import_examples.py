"""Two commands, ``ratiba import promptfoo .`` and ``ratiba gate --llm live``, beside ``promptfoo eval``.

Each one of ``benchmarks/promptfoo_examples.py`` and ``benchmarks/promptfoo_repositories.py`` is a new git repository,
with an empty home folder. Run ``python -m benchmarks.import_examples FOLDER/node_modules`` (see
``benchmarks/promptfoo_runs.py``); ``--write FILE`` keeps promptfoo's verdicts, with which
``tests/end_to_end/test_promptfoo_examples.py`` compares the gate's.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.promptfoo_examples import EXAMPLES, SERVER, Files
from benchmarks.promptfoo_repositories import DIFFERENT, REPOSITORIES, RUN_CODE
from benchmarks.promptfoo_runs import (
    Verdicts,
    by_test,
    environment,
    gate_results,
    has_passed,
    run_promptfoo,
    run_ratiba,
    stand_in,
)


def write_repository(folder: Path, files: Files, address: str, home: Path) -> None:
    """A new git repository with these files, all of them in its first commit."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content.replace(SERVER, address))
    (folder / ".gitignore").write_text("ratiba-report\nout.json\n__pycache__\n")
    person = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*person, "commit", "-qm", "Tests of promptfoo"]):
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        subprocess.run(["git", *words], cwd=folder, check=True, env=environment)


def run_two_commands(
    folder: Path, variables: Mapping[str, str], *, runs_code: bool = False
) -> tuple[Verdicts, int, str]:
    """The verdicts of the gate, its exit code, and what both commands printed.

    Args:
        runs_code: the import is given ``--run-code``.
    """
    printed, code = "", 0
    first = ["import", "promptfoo", ".", *(["--run-code"] if runs_code else [])]
    for words in (first, ["gate", "--llm", "live"]):
        done = run_ratiba(words, folder, variables)
        printed, code = printed + done.stdout + done.stderr, done.returncode
    results = gate_results(folder)
    turns = (each for each in results for _ in each["trial"]["scenario"]["turns"])
    return by_test((each["trial"]["scenario"]["id"], has_passed(each)) for each in turns), code, printed


def main() -> int:
    """Run both; 1 if a verdict differs."""
    parser = argparse.ArgumentParser(description="Compare two commands with promptfoo eval.")
    parser.add_argument("modules", type=Path, help="folder node_modules, installed apart")
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep promptfoo's verdicts in this file")
    parser.add_argument("--only", default="", metavar="PATTERN", help="examples whose name it matches")
    parser.add_argument("--show", action="store_true", help="print what the commands print")
    arguments = parser.parse_args()
    modules, wrong, kept = arguments.modules.resolve(), 0, {}
    for name, files in {**EXAMPLES, **REPOSITORIES}.items():
        if not re.search(arguments.only, name):
            continue
        with tempfile.TemporaryDirectory() as place, stand_in() as address:
            home, folder = Path(place) / "home", Path(place) / "repository"
            home.mkdir()
            write_repository(folder, files, address, home)
            variables = environment(address, home)
            try:
                kept[name] = run_promptfoo(modules, folder, variables)
            except RuntimeError as error:
                wrong += 1
                sys.stdout.write(f"{name}: {error}\n")
                continue
            ours, code, printed = run_two_commands(folder, variables, runs_code=name in RUN_CODE)
        passed = all(all(each) for each in kept[name].values())
        same = ours == kept[name] and code == (0 if passed else 1)
        reported = not same and name in DIFFERENT and DIFFERENT[name] in printed
        wrong += not same and not reported
        verdict = "the same" if same else f"promptfoo {kept[name]}, gate {ours}, exit {code}"
        verdict += f"; the report says so of {DIFFERENT[name]}" if reported else ""
        sys.stdout.write(f"{name}: {verdict}\n")
        sys.stdout.write(printed if arguments.show or not same else "")
    if arguments.write is not None:
        arguments.write.write_text(json.dumps(kept, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
