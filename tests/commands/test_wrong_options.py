"""Every option of every command, with values that cannot be right: exit code 2, and nothing is written."""

import argparse
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from ratiba_action.cli import COMMANDS
from tests.support.git_repository import GitRepository
from tests.support.in_process_repository import run_here

FILES = {
    "missing": "nope.json", "folder": "folder", "empty": "empty.json", "malformed": "malformed.json", "none": "",
}  # fmt: skip
TEXTS = {"malformed": "no such!", "none": ""}
NUMBERS = {
    "malformed": "no such!", "negative": "-1", "too large": "9" * 18, "none": "", "other digits": "\u0663",
    "underscored": "1_0",
}  # fmt: skip
OF_FILES = frozenset(
    {"FILE", "DIR", "PATH", "RESULTS", "EVENTS", "TEXT|@FILE", "--config", "--scenarios", "--baseline"}
)
"""Placeholders of options that take a file or a folder, and such options under another placeholder."""

OF_NUMBERS = frozenset({"N", "K", "P", "SECONDS", "0..1", "NUMBER"})

BEFORE_OPTIONS = {
    "gate": ("--mode", "blocking"),
    "report": ("--trends",),
    "import": ("csv", "cases.csv"),
    "compare": ("one.json", "two.json"),
    "wait": ("42",),
    "merge": ("folder", "--mode", "blocking"),
    "dataset add-trace": ("trace",),
    "calibrate": ("run",),
}

BEFORE_FILES = {"import": ("csv",), "calibrate": ("label",), "check": ("--rules", "[]")}

RIGHT = {
    "import FILE": ("folder",),  # its files are imported
    "merge DIR": ("folder",),  # what a lost shard left: incomplete, with a report that says so
    "sample FILE": ("empty",),  # nothing happened
    "decide --config": FILES,  # paths that are protected, whether they are there or not
    "decide --scenarios": FILES,
    "decide --repo": FILES,  # `ratiba decide` always prints a mode: a doubt makes it blocking
    "decide --event": FILES,
    "decide --event-name": TEXTS,
    "decide --rules": FILES,
    "decide --pull-request": NUMBERS,
    "decide --mode": ("none",),
    "doctor --repo": ("folder",),  # it says what is missing there
    "doctor --config": FILES,  # likewise
    "gate --repo": ("folder",),  # a folder below the repository stands for it
    "merge --repo": ("folder",),
    "gate --report-dir": ("malformed",),  # any name of a folder
    "merge --report-dir": ("malformed",),
    "gate --baseline-out": ("missing", "empty", "malformed"),  # a file that is written anew
    "merge --baseline-out": ("missing", "empty", "malformed"),
    "gate --shards": ("malformed",),  # what lost shards left: incomplete, with a report that says so
    "report --sealed": ("missing", "folder", "empty", "malformed"),  # what a lost container left: likewise
    "drift --samples": ("empty",),
    "view --branch": ("malformed",),  # no run is of it yet
    "view --report-dir": ("malformed",),  # any name of a folder; no run is there yet
    "view --repo": ("folder",),
}
"""Values that are right after all, or that a report has to be written about."""


def options(parser: argparse.ArgumentParser, command: str) -> Iterator[tuple[str, str, str]]:
    """Each option that takes a free value, with its command and its placeholder."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from options(below, f"{command} {name}")
        elif action.option_strings and action.nargs != 0 and action.choices is None:
            yield command, action.option_strings[0], str(action.metavar)


def wrong_values() -> Iterator[object]:
    for name, (module, _) in COMMANDS.items():
        parser = argparse.ArgumentParser()
        import_module(module).add_arguments(parser)
        for command, option, placeholder in options(parser, name):
            values = FILES if {placeholder, option} & OF_FILES else NUMBERS if placeholder in OF_NUMBERS else TEXTS
            for kind, value in values.items():
                if kind not in RIGHT.get(f"{command} {option}", ()):
                    yield pytest.param(command, f"{option}={value}", id=f"{command} {option} {kind}")


def wrong_files() -> Iterator[object]:
    for name, (module, _) in COMMANDS.items():
        parser = argparse.ArgumentParser()
        import_module(module).add_arguments(parser)
        for action in parser._actions:
            if not action.option_strings and action.metavar in OF_FILES:
                for kind, value in FILES.items():
                    if kind not in RIGHT.get(f"{name} {action.metavar}", ()):
                        yield pytest.param(name, value, id=f"{name} {action.metavar} {kind}")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wrong-options") / "checkout"
    system = "system: {adapter: 'assistant:answer', database: false, price_per_turn_usd: 0}\n"
    GitRepository(folder).commit(
        {
            ".github/ratiba.yml": system,
            "assistant.py": "def answer(text):\n    return text\n",
            "empty.json": "",
            "malformed.json": b"\xff{[",
            "folder/file": "",
        }
    )
    return folder


@pytest.mark.parametrize(("command", "option"), list(wrong_values()))
def test_a_wrong_value_is_refused_and_nothing_is_written(checkout: Path, command: str, option: str) -> None:
    assert_refused(checkout, [*command.split(), *BEFORE_OPTIONS.get(command, ()), option])


@pytest.mark.parametrize(("command", "file"), list(wrong_files()))
def test_a_wrong_file_is_refused_and_nothing_is_written(checkout: Path, command: str, file: str) -> None:
    assert_refused(checkout, [command, *BEFORE_FILES.get(command, ()), file])


@pytest.mark.parametrize(
    "command",
    [
        *(f"{command}={'x' * 5_000}" for command in ("gate --report-dir", "init --repo", "drift --baseline")),
        "generate --template=",
    ],
    ids=lambda command: command[:22],
)
def test_a_path_that_no_file_can_have_and_an_empty_name_are_refused(checkout: Path, command: str) -> None:
    assert_refused(checkout, command.split())


def assert_refused(checkout: Path, arguments: list[str]) -> None:
    before = sorted(path for path in checkout.rglob("*") if ".git/" not in str(path))
    done = run_here(arguments, checkout, {"PATH": os.environ["PATH"], "HOME": str(checkout.parent)})
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stdout + done.stderr
    assert sorted(path for path in checkout.rglob("*") if ".git/" not in str(path)) == before
