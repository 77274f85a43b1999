"""The first day of a team with one provider's key: every message that it reads, from the first command to the last.

The snapshots are read as the team reads them: each says what happened and what to do. No step ends with exit code 2,
which is for a wrong configuration alone.
"""

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.small_repository import Ended
from tests.support.support_team import SupportTeam

_SECTIONS = re.compile(
    r"(?sm)### (?:Metrics|Judges|Money|\d+ notes?|Compared with the base)\n.*?(?=^### |^More in |\Z)"
)
_TABLES = re.compile(
    r"[#|]|>$|> (?:\[!|#|\*\*|\d+ of \d+ scenarios? passed)|\*\*(?:`|Compared)|scenario  |"
    r"(?:results|report|junit|comment)\.\w+  |\d+ of \d+ scenarios? passed|More in |<"
    r"|```|\d+  \w|(?:first_conversation|greeting|order_\w+|two_orders)(?: \(.*\))?  |The system runs as"
    r"|note: (?:The system runs as|The gateway saw|DeepEval runs in)|run \d+: |All \d+ scenarios|$"
)
"""Lines of the comment's and the terminal's tables and sections, which tests of the reporting hold."""

with_openai = pytest.mark.parametrize("team", ["openai"], indirect=True)
with_anthropic = pytest.mark.parametrize("team", ["anthropic"], indirect=True)
"""What reads the same with either provider but for names and amounts: the other tests show those of both."""


def shown(ended: Ended, team: SupportTeam) -> str:
    """Exit code and messages, without tables and what is another on each machine or in each run."""
    text = _SECTIONS.sub("", ended.printed.replace(str(team.folder), "shop"))
    text = re.sub(r"\b[0-9a-f]{7,40}\b(?=[,.])", "c0ffee0", text)
    text = re.sub(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [\d ]\d [\d:\u200b]{8,9} \d{4}\.\d+", "Mon Nov 23 08:15:00 2026", text)
    # Answers that vary make the search take more or fewer runs; what it names is the same.
    text = re.sub(r"Found by \d+ runs (.*), for USD \d+\.\d+", r"Found by N runs \1, for USD 0.00", text)
    lines = [re.sub(r"^\d+/(\d+) ", r"-/\1 ", line) for line in text.splitlines() if not _TABLES.match(line)]
    return "\n".join([f"exit {ended.code}", *_progress_sorted(lines)])


def _progress_sorted(lines: list[str]) -> list[str]:
    """Scenarios run at once, so that their order says nothing."""
    done: list[str] = []
    block: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("-/"):
            block.append(line)
            continue
        done += sorted(block)
        block = []
        done.append(line)
    return done[:-1]


def test_a_repository_without_a_configuration_is_asked_to_run_init(
    team: SupportTeam, snapshot: SnapshotAssertion
) -> None:
    for command in (("gate",), ("validate",), ("record",)):
        assert shown(team.ratiba(*command), team) == snapshot(name=command[0])
    ended = team.ratiba("init", "--yes", **team.lying_key)
    assert shown(ended, team) == snapshot(name="init")
    assert (team.folder / ".github/ratiba.yml").read_text() == snapshot(name="configuration")
    ended = team.ratiba("gate", **team.lying_key)
    assert shown(ended, team) == snapshot(name="gate after init")
    assert ended.code == 0
    assert team.models.received == ()


def test_five_scenarios_are_recorded_with_a_key_of_the_shell_that_no_other_run_spends(
    team: SupportTeam, snapshot: SnapshotAssertion
) -> None:
    team.set_up()
    assert shown(team.ratiba("validate"), team) == snapshot(name="validate before recording")
    assert shown(team.ratiba("gate", **team.lying_key), team) == snapshot(name="gate before recording")
    assert team.models.received == ()
    ended = team.ratiba("record", "--scenario", "order_shipped", **team.lying_key)
    assert shown(ended, team) == snapshot(name="record one with the key of the shell")
    assert ended.code == 0
    assert team.ratiba("record", "--accept", **team.keyed).code == 0
    ended = team.ratiba("gate")
    assert shown(ended, team) == snapshot(name="gate")
    assert ended.code == 0
    team.commit()
    assert shown(team.ratiba("gate"), team) == snapshot(name="gate on a clean main")
    ended = team.ratiba("gate", "--mode", "blocking")
    assert ended.code == 0, ended.printed


@with_openai
@pytest.mark.usefixtures("recorded")
def test_an_edited_prompt(team: SupportTeam, snapshot: SnapshotAssertion) -> None:
    team.edit("prompts/support.md", "Be brief", "Be very brief")
    team.model.manner = "Sure. "
    ended = team.ratiba("gate")
    assert shown(ended, team) == snapshot(name="gate without a key")
    assert ended.code == 3
    assert shown(team.ratiba("gate", **team.lying_key), team) == snapshot(name="gate with a key for other programs")
    ended = team.ratiba("gate", **team.keyed)
    assert shown(ended, team) == snapshot(name="gate with the key")
    assert ended.code == 0
    ended = team.ratiba("record", "--accept", "--scenario", "greeting", **team.keyed)
    assert shown(ended, team) == snapshot(name="record one")
    assert ended.code == 0
    assert team.ratiba("record", "--accept", **team.keyed).code == 0
    ended = team.ratiba("gate")
    assert shown(ended, team) == snapshot(name="gate after recording")
    assert ended.code == 0


@with_anthropic
@pytest.mark.usefixtures("recorded")
def test_a_bug_in_a_tools_arguments(team: SupportTeam, snapshot: SnapshotAssertion) -> None:
    team.edit("bot.py", 'order_status(args["order"])', 'order_status(args["order"].lower())')
    for options in ((), ("--mode", "blocking")):
        ended = team.ratiba("gate", *options)
        assert shown(ended, team) == snapshot(name=" ".join(["gate without a key", *options]))
    ended = team.ratiba("gate", "--mode", "blocking", **team.keyed)
    assert shown(ended, team) == snapshot(name="gate with the key")
    assert ended.code == 1


@with_openai
@pytest.mark.usefixtures("recorded")
def test_an_exception(team: SupportTeam, snapshot: SnapshotAssertion) -> None:
    team.edit("bot.py", "calls = []", "calls = [].missing")
    ended = team.ratiba("gate", "--mode", "blocking")
    assert shown(ended, team) == snapshot(name="gate")
    assert ended.code in {1, 3}


@pytest.mark.usefixtures("recorded")
def test_a_lost_key(team: SupportTeam, snapshot: SnapshotAssertion) -> None:
    team.edit("prompts/support.md", "Be brief", "Be very brief")
    lost = dict.fromkeys(team.keyed, "sk-revoked-0123456789")
    ended = team.ratiba("gate", **lost)
    assert shown(ended, team) == snapshot(name="gate with a revoked key")
    assert ended.code == 3
    ended = team.ratiba("gate", "--llm", "live")
    assert shown(ended, team) == snapshot(name="gate that must call models, without a key")
    assert ended.code == 3
    ended = team.ratiba("record", "--accept", **lost)
    assert shown(ended, team) == snapshot(name="record with a revoked key")
    assert ended.code == 3


@with_anthropic
@pytest.mark.usefixtures("recorded")
def test_values_that_are_new_in_each_run(team: SupportTeam, snapshot: SnapshotAssertion) -> None:
    team.edit("bot.py", 'PROMPT = (Path(__file__).parent / "prompts/support.md").read_text()', CLOCK)
    assert shown(team.ratiba("gate", "--mode", "blocking"), team) == snapshot(name="the machine's clock in the prompt")
    team.git.git("checkout", "--quiet", "bot.py")
    team.edit("bot.py", *OTHER_MODEL[team.provider])
    ended = team.ratiba("gate", "--mode", "blocking")
    assert shown(ended, team) == snapshot(name="another model")


NOW = '__import__("datetime").datetime.now().strftime("%c.%f")'
CLOCK = f'PROMPT = (Path(__file__).parent / "prompts/support.md").read_text() + {NOW}'
OTHER_MODEL = {"openai": ('"gpt-5"', '"gpt-5-mini"'), "anthropic": ('"claude-sonnet-5-5"', '"claude-haiku-4-5"')}
