"""Planted keys and identifiers, searched for in everything that a live run leaves behind."""

from pathlib import Path

import pytest

from ratiba_action.testing.github_server import GithubState, github_server
from ratiba_action.testing.live_repository import KEY, LiveRepository
from ratiba_action.testing.small_repository import Ended

TOKEN = "planted-github-token"
PASSWORD = "planted-database-password"
PLANTED = {
    "phone": ("+254 722 345 678", "0722345678", "+254722345678"),
    "email": ("amina.juma@example.com",),
}
SPOKEN = f"Amina is at {PLANTED['phone'][0]}, also 0722345678, and writes from {PLANTED['email'][0]}. Key: {KEY}"


async def run(live: LiveRepository, tmp_path: Path) -> tuple[Ended, dict[str, str]]:
    """A live run in which everybody says what must not be said; every text that it leaves, by its name."""
    base = live.git.commit({})
    live.scenario("tells", f"My number is {PLANTED['phone'][0]}, my mail {PLANTED['email'][0]}, my key {KEY}")
    head = live.git.commit({})
    live.talk.text = SPOKEN
    live.talk.reason = SPOKEN
    summary, outputs = tmp_path / "summary.md", tmp_path / "outputs"
    state = GithubState(heads={7: head})
    with github_server(state) as address:
        ended = await live.gate(
            **live.pull_request(base, head),
            GITHUB_API_URL=address,
            GITHUB_STEP_SUMMARY=str(summary),
            GITHUB_OUTPUT=str(outputs),
            GITHUB_ACTIONS="true",
            RATIBA_GITHUB_TOKEN=TOKEN,
        )
    artifacts = {path.name: path.read_text() for path in sorted(live.small.report.iterdir())}
    (comment,) = state.comments
    # The runner reads this command to hide the value, and never shows it.
    log = "\n".join(line for line in ended.printed.splitlines() if not line.startswith("::add-mask::"))
    said = {"log": log, "posted comment": comment["body"], "statuses": str(state.statuses)}
    return ended, {**artifacts, **said, "summary": summary.read_text(), "outputs": outputs.read_text()}


@pytest.fixture
async def texts(live: LiveRepository, tmp_path: Path) -> dict[str, str]:
    ended, found = await run(live, tmp_path)
    assert ended.code == 0, ended.printed
    assert {"comment.md", "report.html", "results.json", "results.csv", "junit.xml"} <= set(found)
    assert "Amina is at" in found["results.json"], "the conversation is there"
    return found


def holding(texts: dict[str, str], *values: str) -> list[str]:
    """Names of the texts that hold one of some values, in any spacing."""
    return [
        f"{name}: {value}"
        for name, text in texts.items()
        for value in values
        if value in text or value.replace(" ", "") in text.replace(" ", "")
    ]


async def test_no_key_phone_number_or_mail_address_is_in_anything_that_a_run_leaves(texts: dict[str, str]) -> None:
    assert holding(texts, KEY, TOKEN) == []
    assert holding(texts, *PLANTED["phone"], *PLANTED["email"]) == []
