"""A change that alters what the system sends to models is one of a prompt, wherever the text of it stands."""

import json

import pytest

from ratiba_action.model.change import Mode
from tests.support.live_repository import ADAPTER, LiveRepository, report_of
from tests.support.small_repository import Ended

CONSTANT = ADAPTER.replace('"Be friendly."', '"Be friendly.\\nNever promise a refund."')
ID = CONSTANT.replace('{"role": "system", "content": self.prompt}', '{"role": "system", "content": self.prompt + SOME}')
ID = ID.replace("\n\nclass Adapter", "\nSOME = '\\\\nRequest ' + os.urandom(8).hex()\n\n\nclass Adapter")


async def recorded(live: LiveRepository, adapter: str) -> None:
    """Two recorded scenarios, one of them about the prompt that stands in the code, and one that is not recorded.

    Nothing was observed of what they read, so that the paths call every change advisory.
    """
    live.small.write("adapter.py", adapter)
    live.small.write("prompts/other.md", "Be brief.")
    for name in ("constant", "other"):
        live.small.scenario(name, "Hello")
    live.small.commit()
    await live.record()
    live.forget_reads()
    live.small.scenario("unrecorded", "Hello")
    live.small.commit()


def why(ended: Ended) -> list[str]:
    return [reason.why for reason in report_of(ended).decision.reasons if reason.rule == "changed request"]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "\\nNever promise a refund.",
            "",
            "the system prompt of `constant` changed: line 2 was removed, in adapter.py",
        ),
        (
            '"max_completion_tokens": 400',
            '"max_completion_tokens": 300',
            "the parameter max_completion_tokens of `constant` changed (400 → 300)",
        ),
    ],
)
async def test_the_run_is_blocking_and_says_what_of_the_request_changed(
    live: LiveRepository, old: str, new: str, reason: str
) -> None:
    await recorded(live, CONSTANT)
    live.small.write("adapter.py", CONSTANT.replace(old, new))
    before = len(live.models.received)

    ended = await live.gate("--llm", "auto")

    assert (ended.outputs["mode"], why(ended)[0]) == ("blocking", reason), ended.printed
    assert reason.partition("` ")[2] in ended.comment
    assert {result.trial.scenario.id for result in report_of(ended).results} == {"constant", "other", "unrecorded"}
    # What is compared costs nothing: the models were called by the blocking run alone.
    assert len(live.models.received) - before == ended.results["report"]["spending"]["live_calls"]


async def test_without_money_for_it_the_run_ends_as_an_incomplete_blocking_one(live: LiveRepository) -> None:
    await recorded(live, CONSTANT)
    live.small.write("adapter.py", CONSTANT.replace("\\nNever promise a refund.", ""))

    ended = await live.gate("--llm", "auto", "--budget-usd", "0.000001")

    assert (ended.code, ended.outputs["mode"], ended.outputs["conclusion"]) == (3, "blocking", "incomplete"), (
        ended.printed
    )
    assert ended.comment.splitlines()[2].startswith("> ## Incomplete"), ended.comment
    assert "line 2 was removed, in adapter.py" in ended.comment


@pytest.mark.parametrize(
    ("adapter", "old", "new"),
    [
        (CONSTANT, '"content": message', '"content": message.upper()'),
        (ID, "import json", "import logging, json"),
    ],
    ids=["only the message differs", "an id is new in each run"],
)
async def test_what_is_no_change_of_a_prompt_leaves_the_run_advisory(
    live: LiveRepository, adapter: str, old: str, new: str
) -> None:
    await recorded(live, adapter)
    live.small.write("adapter.py", adapter.replace(old, new))

    ended = await live.gate("--llm", "replay")

    assert (report_of(ended).decision.mode, why(ended)) == (Mode.ADVISORY, []), ended.printed


SCHEMA = ADAPTER.replace(
    "import json, os, pathlib, urllib.request", "import json, os, pathlib, urllib.request\n\nimport texts"
)
SCHEMA = SCHEMA.replace('"max_completion_tokens": 400', '"max_completion_tokens": 400, PART: texts.part()')
TEXTS = '''
from enum import Enum
from pydantic import BaseModel


class Size(Enum):
    """Large towels are for the sauna."""

    SMALL = "small"
    LARGE = "large"


class Order(BaseModel):
    size: Size
'''
AS_TOOL = """

def part():
    return [{"type": "function", "function": {"name": "order", "parameters": Order.model_json_schema()}}]
"""
AS_FORMAT = """

def part():
    schema = {"name": "order", "schema": Order.model_json_schema()}
    return {"type": "json_schema", "json_schema": schema}
"""


@pytest.mark.parametrize(
    ("part", "function", "what", "llm"),
    [
        ("tools", AS_TOOL, "the tools that `towels` gives the model changed", "replay"),
        ("response_format", AS_FORMAT, "the parameter response_format of `towels` changed", "live"),
    ],
)
async def test_a_docstring_that_a_schema_holds_makes_the_run_blocking(
    live: LiveRepository, part: str, function: str, what: str, llm: str
) -> None:
    """By its path it is advisory: most docstrings of enumerations reach nobody."""
    live.small.write("adapter.py", SCHEMA.replace("PART", f'"{part}"'))
    live.small.write("texts.py", TEXTS + function)
    live.small.scenario("towels", "Hello")
    live.small.commit()
    await live.record()
    live.small.commit()
    live.small.write("texts.py", (TEXTS + function).replace("for the sauna", "for guests of the pool"))
    by_path = live.small.run(["decide", "--json"], live.small.folder, live.small.environment)
    before = len(live.models.received)

    ended = await live.gate("--llm", llm)

    assert (json.loads(by_path.stdout)["mode"], ended.outputs["mode"]) == ("advisory", "blocking"), ended.printed
    assert why(ended)[0].startswith(what)
    assert what.partition("` ")[2] in ended.comment
    if llm == "replay":
        assert (ended.code, len(live.models.received)) == (3, before)
    else:
        assert len(live.models.received) - before == ended.results["report"]["spending"]["live_calls"] > 0
