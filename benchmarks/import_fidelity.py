"""Whether an imported promptfoo suite means the same: promptfoo and the gate on one corpus, verdict by verdict.

Run ``python -m benchmarks.import_fidelity FOLDER/node_modules`` (see ``benchmarks/promptfoo_runs.py``). With
``--write FILE`` it keeps promptfoo's verdicts, with which ``tests/commands/test_promptfoo_verdicts.py`` compares the
import; ``--kept FILE`` takes them instead of a run. ``--judged`` compares assertions of judges instead, and ``--speed
N`` the time of a suite of N tests.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.import_items import count_lost
from benchmarks.promptfoo_corpus import MODEL, PROMPT, Files, configurations
from benchmarks.promptfoo_runs import (
    TEST,
    Verdicts,
    by_test,
    environment,
    gate_results,
    has_passed,
    run_promptfoo,
    run_ratiba,
    stand_in,
)

_LATENCY = 0.1
"""Seconds before each answer of the suite whose time is measured."""
_JUDGES = "judge: {provider: openai, model: gpt-5.6, cross_check: null}\n"


@dataclass(slots=True)
class Imported:
    """What the import made of a corpus.

    Args:
        verdicts: of the gate.
        findings: of each configuration.
        errors: why a scenario has no verdict, by test.
    """

    verdicts: Verdicts = field(default_factory=dict)
    findings: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


def gate_verdicts(corpus: Mapping[str, Files], folder: Path, variables: Mapping[str, str], more: str = "") -> Imported:
    """Import each configuration into one repository, and run the gate once.

    Args:
        more: lines for the gate's configuration.
    """
    found = Imported()
    for name in corpus:
        (config,) = (folder / name).glob("promptfooconfig.*")
        path = str(config.relative_to(folder))
        words = ["import", "promptfoo", path, "--prefix", name[:24], "--map", "input=reply", "--json"]
        done = run_ratiba(words, folder, variables)
        if done.returncode not in {0, 2} or not done.stdout:
            raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
        found.findings[name] = json.loads(done.stdout)["findings"]
    configuration = folder / ".github/ratiba.yml"
    setup = f"system:\n  setup: [ln, -s, {(folder / 'node_modules').resolve()}, node_modules]\n"
    configuration.write_text(configuration.read_text().replace("system:\n", setup, 1) + more)
    started = time.monotonic()
    done = run_ratiba(["gate", "--llm", "live", "--mode", "blocking"], folder, variables)
    found.seconds = time.monotonic() - started
    results = gate_results(folder)
    if not results:
        raise RuntimeError(f"gate: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    found.verdicts = by_test((each["trial"]["scenario"]["id"], has_passed(each)) for each in results)
    named = [(TEST.findall(each["trial"]["scenario"]["id"])[-1], each) for each in results]
    found.errors = {name: each.get("message", "") for name, each in named if each["outcome"] != "scored"}
    return found


def _places(place: Path, address: str) -> tuple[Path, dict[str, str]]:
    """The folder of a repository, and the variables of a home folder beside it."""
    (place / "home").mkdir()
    return place / "repository", environment(address, place / "home")


def write_corpus(corpus: Mapping[str, Files], folder: Path, modules: Path) -> None:
    """A repository with each configuration in a folder of its own, and promptfoo's packages."""
    for name, files in corpus.items():
        for path, content in files.items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(content)
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    (folder / ".gitignore").write_text("node_modules\nratiba-report\nout.json\n")
    (folder / "node_modules").symlink_to(modules)


def _groups(corpus: Mapping[str, Files]) -> Iterator[dict[str, Files]]:
    """Configurations that one repository of the gate can have: those with tools have another system."""
    tools = {name: files for name, files in corpus.items() if '"tools"' in files.get("promptfooconfig.json", "")}
    yield {name: files for name, files in corpus.items() if name not in tools}
    if tools:
        yield tools


def compare(modules: Path, corpus: Mapping[str, Files], kept: Verdicts | None, more: str) -> tuple[Verdicts, Imported]:
    """The verdicts of promptfoo, and what the import and the gate make of the same files."""
    theirs, ours = dict(kept or {}), Imported()
    for group in _groups(corpus):
        with tempfile.TemporaryDirectory() as name, stand_in() as address:
            folder, variables = _places(Path(name), address)
            write_corpus(group, folder, modules)
            for each in group if kept is None else ():
                theirs |= run_promptfoo(modules, folder / each, variables)
                sys.stderr.write(f"{each}\n")
            found = gate_verdicts(group, folder, variables, more)
            ours.verdicts = {**ours.verdicts, **found.verdicts}
            ours.findings |= found.findings
            ours.errors |= found.errors
    return theirs, ours


def _report(theirs: Verdicts, ours: Imported, corpus: Mapping[str, Files]) -> int:
    """Print the figures; 1 if a verdict differs."""
    place = {test: name for name, files in corpus.items() for test in TEST.findall("".join(files.values()))}
    different = [test for test, verdict in theirs.items() if ours.verdicts.get(test) != verdict]
    for test in different:
        error = ours.errors.get(test, "")
        sys.stdout.write(
            f"{place.get(test)} {test}: promptfoo {theirs[test]}, gate {ours.verdicts.get(test)} {error[:300]}\n"
        )
    asserted = [
        finding for found in ours.findings.values() for finding in found if finding["what"].startswith("assert ")
    ]
    left = [finding for finding in asserted if finding["outcome"] == "manual"]
    for finding in left:
        sys.stdout.write(f"left to a person: {finding['file']}:{finding['line']}: {finding['result']}\n")
    written = len(set(ours.verdicts) & set(theirs))
    sys.stdout.write(
        f"{len(corpus)} configurations; {written} of {len(theirs)} tests written; "
        f"{len(asserted) - len(left)} of {len(asserted)} assertions run; {len(different)} verdicts differ\n"
    )
    items, lost = count_lost()
    sys.stdout.write("".join(f"lost: {each}\n" for each in lost))
    sys.stdout.write(f"{items} items of configurations of all shapes; {len(lost)} neither written nor reported\n")
    return 1 if different or lost else 0


def speed(modules: Path, tests: int) -> int:
    """Print the time of promptfoo and of the gate on one suite, four calls at a time, each of which takes 0.1 s."""
    suite = [
        {
            "description": f"t{number:04}",
            "vars": {"topic": str(number), "reply": f"Order {number} is on its way"},
            "assert": [
                {"type": "icontains", "value": f"order {number}"},
                {"type": "not-contains", "value": "sorry"},
                *([{"type": "javascript", "value": "output.length > 5"}] if number % 5 == 0 else []),
            ],
        }
        for number in range(tests)
    ]
    written = json.dumps({"prompts": [PROMPT], "providers": [MODEL], "tests": suite})
    with tempfile.TemporaryDirectory() as name, stand_in(_LATENCY) as address:
        folder, variables = _places(Path(name), address)
        write_corpus({"speed": {"promptfooconfig.json": written}}, folder, modules)
        started, before = time.monotonic(), _processor_seconds()
        theirs = run_promptfoo(modules, folder / "speed", variables)
        between, middle = time.monotonic(), _processor_seconds()
        ours = gate_verdicts({"speed": {}}, folder, variables)
    used, theirs_used = _processor_seconds() - middle, middle - before
    same = ours.verdicts == theirs
    sys.stdout.write(
        f"{tests} tests: promptfoo {between - started:.1f} s, gate {ours.seconds:.1f} s, "
        f"{ours.seconds / (between - started):.2f} times; of the processor {theirs_used:.1f} s and, with the import, "
        f"{used:.1f} s; load {os.getloadavg()[0]:.1f}; the same verdicts: {same}\n"
    )
    return 0 if same else 1


def _processor_seconds() -> float:
    """Time of the processor that all programs had that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def main() -> int:
    """Run both; 1 if a verdict differs."""
    parser = argparse.ArgumentParser(description="Compare an imported suite with promptfoo itself.")
    parser.add_argument("modules", type=Path, help="folder node_modules, installed apart")
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep promptfoo's verdicts in this file")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="take promptfoo's verdicts from this file")
    parser.add_argument("--only", default="", metavar="PATTERN", help="configurations whose name it matches")
    parser.add_argument("--judged", action="store_true", help="compare assertions that a judge scores instead")
    parser.add_argument("--speed", type=int, metavar="TESTS", help="compare the time of so many tests instead")
    arguments = parser.parse_args()
    modules = arguments.modules.resolve()
    if arguments.speed:
        return speed(modules, arguments.speed)
    all_of = configurations(judges=arguments.judged)
    corpus = {name: files for name, files in all_of.items() if re.search(arguments.only, name)}
    kept = json.loads(arguments.kept.read_text()) if arguments.kept else None
    if kept is not None:
        named = set(TEST.findall(json.dumps(corpus)))
        kept = {test: verdict for test, verdict in kept.items() if test in named}
    theirs, ours = compare(modules, corpus, kept, _JUDGES if arguments.judged else "")
    if arguments.write is not None:
        lines = ",\n".join(f"{json.dumps(test)}: {json.dumps(verdict)}" for test, verdict in theirs.items())
        arguments.write.write_text(f"{{\n{lines}\n}}\n")
    return _report(theirs, ours, corpus)


if __name__ == "__main__":
    sys.exit(main())
