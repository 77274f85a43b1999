"""What the fuzz campaign would miss is no evidence: every kind of broken promise is planted here, and found."""

import base64
import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.case import BrokenInvariantError, Case
from fuzz.event_keys import decoded
from fuzz.fork_artifacts import require_dead
from fuzz.gate_fork_server import Fault
from fuzz.kinds import KINDS, kind_of
from fuzz.regression import Ended, require_not_better
from fuzz.services import Services
from tests.support.runner_log import effective_commands


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(1, tmp_path, Services(tmp_path))


def names(printed: str) -> list[str]:
    return [command.name for command in effective_commands(printed)]


@pytest.mark.parametrize(
    "line",
    ["::error::x", "  ::error::x", "\u2003::error::x", "text ##[error]x", "::ERROR title=a::x", "a\r::error::x"],
)
def test_a_runner_takes_both_syntaxes_as_its_source_says(line: str) -> None:
    assert names(line) == ["error"]


@pytest.mark.parametrize("line", ["text ::error::x", "::unknown::x", "##[unknown]x", "::error:x", "# #[error]x", ""])
def test_a_runner_takes_nothing_else(line: str) -> None:
    assert names(line) == []


def test_nothing_counts_between_a_stop_and_its_token() -> None:
    assert names("::stop-commands::abc\n::error::x\n::abcd::\n##[error]x\n::abc::\n::notice::x") == [
        "stop-commands",
        "notice",
    ]


BROKEN: dict[str, Callable[[Case], None]] = {
    "a secret in a file": lambda case: case.require_no_secret({"f": f"x{case.secrets['openai']}x"}),
    "a secret told backwards": lambda case: case.require_no_secret({"f": case.secrets["openai"][8:][::-1]}),
    "another's memory": lambda case: case.require_no_secret({"f": "LOOT-MEMORY 1"}),
    "a planted command": lambda case: case.require_harmless_log(f"::error title={case.nonce}::x"),
    "a planted output": lambda case: case.require_harmless_log("x ##[set-output name=conclusion;]passed"),
    "an annotation without a title": lambda case: case.require_harmless_log("::error::x"),
    "a planted stop": lambda case: case.require_harmless_log(f"::stop-commands::{case.nonce}"),
    "a traceback": lambda case: case.require_no_defect("x\nTraceback (most recent call last):\n"),
    "a traceback of the gate": lambda case: case.require_no_defect(
        'Traceback (most recent call last):\n  File "/opt/ratiba/app/ratiba_action/gate.py", line 1, in run\n'
    ),
    "a link": lambda case: require_dead(case, "comment", f"[x](https://{case.nonce}.example)"),
    "a bare link": lambda case: require_dead(case, "comment", f"see https://{case.nonce}.example"),
    "an image": lambda case: require_dead(case, "comment", f"![x](https://{case.nonce}.example)"),
    "a mention": lambda case: require_dead(case, "comment", f"thanks @{case.nonce}/team"),
    "a key in base64": lambda case: case.require_no_secret(
        {"f": decoded("Basic " + base64.b64encode(case.secrets["openai"].encode()).decode())}
    ),
    "HTML": lambda case: require_dead(case, "comment", f"<img src=//{case.nonce}.example>"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_promise_is_found(case: Case, what: str) -> None:
    with pytest.raises(BrokenInvariantError):
        BROKEN[what](case)


FAILED = Ended(1, "", "failed")


@pytest.mark.parametrize(
    "better",
    [
        Ended(0, "", "passed"), Ended(0, "", "inconclusive"), Ended(0, "", "skipped"), Ended(0, "", "incomplete"),
        Ended(0, "", ""), Ended(1, "", "passed"), Ended(3, "", "inconclusive"),
    ],
)  # fmt: skip
def test_a_verdict_that_a_change_made_better_is_found(case: Case, better: Ended) -> None:
    with pytest.raises(BrokenInvariantError, match=r"\(h\) failed became"):
        require_not_better(case, FAILED, better)


@pytest.mark.parametrize("ended", [FAILED, Ended(3, "", "incomplete"), Ended(2, "", "incomplete"), Ended(-9, "", "")])
def test_a_verdict_that_is_no_better_breaks_nothing(case: Case, ended: Ended) -> None:
    require_not_better(case, FAILED, ended)


def test_a_regression_that_passes_by_itself_proves_nothing(case: Case) -> None:
    with pytest.raises(BrokenInvariantError, match="the honest regression is 'passed'"):
        require_not_better(case, Ended(0, "", "passed"), FAILED)


def test_operations_of_a_gate_fail_from_the_chosen_one_on() -> None:
    fault = Fault({"events": ["os.mkdir"], "number": 2, "most": 1, "how": errno.ENOSPC}, os.getpid())
    fault("os.mkdir", ("/a",))
    fault("os.rmdir", ("/a",))
    with pytest.raises(OSError, match="No space left"):
        fault("os.mkdir", ("/b",))
    fault("os.mkdir", ("/c",))


def test_the_gates_own_log_breaks_nothing(case: Case) -> None:
    # Each raises BrokenInvariantError on what it finds, as the tests above show.
    own = f"::add-mask::{case.secrets['openai']}\n::stop-commands::0a1b\n{case.nonce} ::error::x\n::0a1b::\n"
    case.require_harmless_log(f"{own}::error title=Ratiba::x")
    case.require_no_secret({"log": own})
    case.require_no_defect("All 3 scenarios passed.")
    case.require_no_defect(
        '  Traceback (most recent call last):\n    File "adapter.py", line 62, in send\n  ValueError: x'
    )


def test_a_seed_is_one_case_for_ever() -> None:
    assert [kind_of(seed) for seed in range(8)] == [kind_of(seed) for seed in range(8)]
    assert abs(sum(kind.share for kind in KINDS.values()) - 1) < 1e-9


def test_ten_thousand_cases_have_five_hundred_in_the_container() -> None:
    kinds = [kind_of(seed) for seed in range(10_000)]
    assert sum(KINDS[kind].docker for kind in kinds) >= 500
