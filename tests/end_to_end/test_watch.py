"""The gate beside an editor: after each save the scenarios that depend on it, and what changed in them."""

import asyncio
import json
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.support.gate_forks import StartedGate
from tests.support.live_repository import LiveRepository
from tests.support.small_repository import SmallRepository

_SECONDS = 90


@dataclass
class Watching:
    """A ``ratiba gate --watch`` that runs, and what it prints.

    Args:
        seen: characters of each of its outputs that were looked at.
        ended: whether it was.
    """

    gate: StartedGate
    seen: dict[str, int] = field(default_factory=lambda: {"stdout": 0, "stderr": 0})
    ended: bool = False

    def until(self, pattern: str) -> str:
        """What is printed up to a line that has the pattern."""

        def found() -> str:
            for name, start in self.seen.items():
                printed = self.gate.printed(name)[start:]
                line = re.search(rf"^.*(?:{pattern}).*\n", printed, re.MULTILINE)
                if line is not None:
                    self.seen[name] += line.end()
                    return printed[: line.end()]
            return ""

        try:
            return eventually(found, _SECONDS)
        except AssertionError:
            printed = [self.gate.printed(name)[start:] for name, start in self.seen.items()]
            raise AssertionError(f"no line has {pattern!r} in:\n{''.join(printed)}") from None

    def end(self) -> int:
        """Its exit code after Ctrl-C."""
        self.gate.send_signal(signal.SIGINT)
        self.ended = True
        return self.gate.wait(_SECONDS).returncode


@contextmanager
def watching(small: SmallRepository, *options: str) -> Iterator[Watching]:
    watch = Watching(small.start("--watch", *options))
    try:
        yield watch
    finally:
        if not watch.ended:
            watch.gate.kill()
            watch.gate.wait()


@pytest.fixture
def two(small: SmallRepository) -> SmallRepository:
    small.scenario("one", "say hello")
    small.scenario("two", "say hello")
    for name in ("one", "two"):
        small.write(f"prompts/{name}.md", "Be brief.\n")
        path = small.folder / f"scenarios/{name}.yaml"
        path.write_text(path.read_text() + f"touches: [prompts/{name}.md]\n")
    small.commit()
    return small


def test_a_save_runs_what_depends_on_it_and_prints_what_changed(two: SmallRepository) -> None:
    with watching(two) as watch:
        assert "one:" not in watch.until(r"2 scenarios in .* 2 of 2 pass\.")
        scenario = (two.folder / "scenarios/one.yaml").read_text()
        two.write("scenarios/one.yaml", scenario.replace("SAID", "SILENT"))
        printed = watch.until(r"1 scenario in .* 1 of 2 pass\.")
        assert "scenarios/one.yaml:" in printed
        assert "  one: passed → failed: Turn 1: state after the turn: expected SILENT, got SAID" in printed
        assert "two:" not in printed
        two.write("prompts/two.md", "Be very brief.\n")
        assert watch.until(r"1 scenario in .* 1 of 2 pass\.").splitlines()[-2:-1] == ["prompts/two.md:"]
        two.write("scenarios/one.yaml", scenario)
        assert "  one: failed → passed\n" in watch.until(r"1 scenario in .* 2 of 2 pass\.")
        two.write("notes.txt", "nothing")
        watch.until("no scenario depends on it")
        assert watch.end() == 0


def test_a_mistake_is_reported_and_the_next_save_goes_on(two: SmallRepository) -> None:
    with watching(two, "--scenario", "one") as watch:
        watch.until(r"1 scenario in .* 1 of 1 pass\.")
        scenario = (two.folder / "scenarios/one.yaml").read_text()
        two.write("scenarios/one.yaml", scenario + "colour: red\n")
        watch.until(r"scenarios/one.yaml:\d+: colour")
        two.write("scenarios/one.yaml", scenario)
        watch.until(r"1 scenario in .* 1 of 1 pass\.")
        two.write("prompts/two.md", "Be very brief.\n")
        watch.until("no scenario depends on it")


def test_a_run_of_a_watch_ends_as_a_run_of_its_own_would(two: SmallRepository) -> None:
    adapter = (two.folder / "adapter.py").read_text()
    configuration = (two.folder / ".github/ratiba.yml").read_text()
    scenario = (two.folder / "scenarios/one.yaml").read_text()
    two.write("scenarios/one.yaml", scenario.replace("prompts/one.md", "adapter.py"))
    with watching(two, "--scenario", "one") as watch:
        watch.until(r"1 scenario in .* 1 of 1 pass\.")
        for name, text in (
            ("adapter.py", adapter.replace('"SAID"', '"SPOKEN"')),
            ("adapter.py", adapter.replace("NOT NULL)", "NOT NULL); INSERT INTO notes (text) VALUES ('migrated')")),
            (".github/ratiba.yml", configuration.replace("system:", "system:\n  environment: {TONE: brief}", 1)),
            ("adapter.py", adapter),
        ):
            two.write(name, text)
            watch.until(r"1 scenario in .* of 1 pass\.")
            watched = json.loads((two.report / "results.json").read_text())
            fresh = two.gate("--scenario", "one", "--mode", "blocking", "--baseline", "none").results
            assert outcome(watched) == outcome(fresh), name


def outcome(results: Mapping[str, Any]) -> Any:
    """How a run ended, and what was said, without what differs between any two runs."""
    report = results["report"]
    trials = [
        (each["trial"]["scenario"]["id"], each.get("phase"), each.get("message"), replies_and_rows(each))
        for each in report["results"]
    ]
    return report["verdict"]["conclusion"], report["verdict"]["reason"], trials


def replies_and_rows(result: dict[str, Any]) -> Any:
    transcript = result["transcript"]
    return [exchange["reply"] for exchange in transcript["exchanges"]], transcript["rows"]


def test_a_scenario_that_is_removed_is_forgotten(two: SmallRepository) -> None:
    with watching(two) as watch:
        watch.until(r"2 scenarios in .* 2 of 2 pass\.")
        (two.folder / "scenarios/two.yaml").unlink()
        watch.until("no scenario depends on it")
        two.write("prompts/one.md", "Be very brief.\n")
        watch.until(r"1 scenario in .* 1 of 1 pass\.")


def test_tests_of_the_repository_run_again_too(two: SmallRepository) -> None:
    configuration = (two.folder / ".github/ratiba.yml").read_text()
    two.write(".github/ratiba.yml", configuration + "tests: [evals]\n")
    two.write("evals/test_greeting.py", "def test_greeting():\n    assert True\n")
    two.commit()
    with watching(two, "--scenario", "evals_test_greeting__test_greeting") as watch:
        watch.until(r"1 scenario in .* 1 of 1 pass\.")
        two.write("evals/test_greeting.py", "def test_greeting():\n    assert not True\n")
        assert "passed → failed" in watch.until(r"1 scenario in .* 0 of 1 pass\.")


async def test_all_runs_share_one_budget_and_replay_when_it_is_spent(live: LiveRepository) -> None:
    live.scenario("greets", "Hello")
    live.small.write("prompts/greets.md", "Be friendly.\n")
    live.small.commit()
    small = live.small
    with watching(small, "--budget-usd", "1") as watch:
        printed = await asyncio.to_thread(watch.until, r"1 of 1 pass\.")
        first = Decimal(str(live.models.bill.total.numerator)) / live.models.bill.total.denominator
        assert f"USD {first:.4f}" in printed
        small.write("prompts/greets.md", "Be very friendly.\n")
        await asyncio.to_thread(watch.until, r"1 of 1 pass\.")
        left = json.loads((small.report / "results.json").read_text())["report"]["spending"]["cap"]
        assert Decimal(left) == 1 - first


@pytest.mark.parametrize("option", ["--dry-run", "--json", "--variants", "--resume", "--failed"])
def test_what_does_not_go_with_it_is_refused(small: SmallRepository, option: str) -> None:
    ended = small.gate("--watch", option)
    assert (ended.code, f"--watch does not take {option}" in ended.printed) == (2, True)


def test_a_job_in_ci_does_not_watch(small: SmallRepository) -> None:
    ended = small.gate("--watch", CI="true")
    assert (ended.code, "not for a job in CI" in ended.printed) == (2, True)
