"""What a run says of people is masked in every file, and its own figures are masked in none."""

import json
import re

from tests.support.live_repository import LiveRepository
from tests.support.small_repository import CONFIGURATION, SmallRepository

SPELLINGS = "Wanjiku, WANJIKU KAMAU, Wanjiku's, wanjiku.kamau, WanjikuKamau, Wanjikuni, Ka\u0301mau"
SCENARIO = """\
id: {name}
language: fr
now: 2026-04-25T10:00:00+03:00
customer: {{name: Wanjiku Kamau, phone: "+254 700 000 001"}}
turns:
  - user: {message}
    expect: {{state: SAID, tools: [{{name: book, args: {{by: Wanjiku}}}}]}}
rules:
  - {{type: must_not_contain, value: Wanjiku}}
"""


def test_the_customer_of_a_scenario_is_named_in_no_file_of_the_report(small: SmallRepository) -> None:
    reply = {
        "text": SPELLINGS,
        "state": SPELLINGS,
        "tool_calls": [{"name": "book", "args": {"by": SPELLINGS, SPELLINGS: [SPELLINGS]}, "output": SPELLINGS}],
        "events": [{"type": "handoff", "data": {"reason": SPELLINGS}}],
        "documents": [{"id": "of-Wanjiku", "text": SPELLINGS}],
        "output": {"for": SPELLINGS},
    }
    rows = "SELECT 'Wanjiku Kamau' AS name"
    small.write(".github/ratiba.yml", CONFIGURATION.format(timeout=20) + f"  people: {rows}\n")
    for name, message in (("replies", f"reply {json.dumps(reply)}"), ("raises", f"raise {SPELLINGS}")):
        small.write(f"scenarios/{name}.yaml", SCENARIO.format(name=name, message=json.dumps(message)))
    ended = small.gate()
    assert ended.code == 1, ended.printed
    for path in (file for file in ended.report.iterdir() if file.is_file()):
        text = path.read_text(encoding="utf-8").casefold()
        found = re.findall(r".{0,30}(?:wanjiku|kamau).{0,30}", text)
        assert not found, f"{path.name}: {found[:3]}"
    assert "wanjiku" not in ended.printed.casefold()


def test_a_key_of_somebody_else_is_in_no_file_and_a_note_tells_that_there_was_one(local: SmallRepository) -> None:
    keys = ["ghp_" + "a1" * 18, "sk-proj-" + "0712345432" * 5, "AKIA" + "A2" * 8]
    reply = {"text": keys[0], "tool_calls": [{"name": "book", "args": {}, "output": keys[1]}]}
    for name, message in (("replies", f"reply {json.dumps(reply)}"), ("raises", f"raise {keys[2]}")):
        local.scenario(name, message)
    ended = local.gate()
    for path in (file for file in ended.report.iterdir() if file.is_file()):
        text = path.read_text(encoding="utf-8")
        assert not any(key[8:] in text or key in text for key in keys), path.name
        assert "***432" not in text, "no part of a key is shown as a phone number"
    assert not any(key in ended.printed for key in keys)
    notes = " ".join(ended.results["report"]["notes"])
    for kind, scenario in (("a GitHub token", "replies"), ("an API key", "replies"), ("a cloud key", "raises")):
        assert f"A reply or error contained what looks like {kind}, which is masked: {scenario}." in notes
    assert "what looks like a GitHub token" in ended.comment


async def test_amounts_are_rounded_for_people_and_exact_for_programs_and_masked_for_nobody(
    live: LiveRepository,
) -> None:
    for number in range(4):
        live.scenario(f"greets_{number}", f"Hello, I am guest {number}")
    await live.record()
    ended = await live.gate(RATIBA_EVAL_BUDGET_USD="0.0006463")
    assert ended.outputs["budget_usd"] == "0.0006463"
    shown = ""
    for name in ("comment.md", "report.html", "junit.xml", "results.csv", "ratiba.sarif", "events.jsonl"):
        text = (ended.report / name).read_text(encoding="utf-8")
        assert not re.search(r"\$[\d.]*\*|\d\.\*\*\*|USD \*", text), name
        shown += text
    assert re.search(r"of a cap of \$0\.0006[^\d]|left of \$0\.0006[^\d]", shown), shown[:3_000]
