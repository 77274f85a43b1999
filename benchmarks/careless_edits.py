"""Does the gate stop a careless edit, and let a harmless one pass? Run: ``python -m benchmarks.careless_edits``.

Each edit of five examples goes through ``ratiba gate --mode blocking --llm replay``, in a repository of its own, with
recorded answers and mocked models only. A careless edit is stopped if the run failed, or if it is incomplete and the
comment names the edited line; of a prompt, the file. Prints the tables of decisions 0194, 0203 and 0205; exits 1 if an
edit ended otherwise than it should.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
BOOKING = "examples/booking_assistant/booking_assistant"
MADE_BY = {
    **{f"GIT_{who}_NAME": "Careless edits" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "edits@example.invalid" for who in ("AUTHOR", "COMMITTER")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of one file.

    Args:
        example: folder of ``examples/``.
        file: below the example's folder.
        old: text that stands there once.
        new: what stands there then.
        says: what changed, in a few words.
        harmless: no user would notice it.
    """

    example: str
    file: str
    old: str
    new: str
    says: str
    harmless: bool = False

    @property
    def path(self) -> Path:
        """Of the edited file in this project."""
        return PROJECT / "examples" / self.example / self.file


def _booking(file: str, old: str, new: str, says: str, *, harmless: bool = False) -> Edit:
    return Edit("booking_assistant", f"booking_assistant/{file}", old, new, says, harmless)


def _router(file: str, old: str, new: str, says: str, *, harmless: bool = False) -> Edit:
    return Edit("intent_router", file, old, new, says, harmless)


def _rules(file: str, old: str, new: str, says: str, *, harmless: bool = False) -> Edit:
    return Edit("rag_answerer", file, old, new, says, harmless)


def _shop(file: str, old: str, new: str, says: str, *, harmless: bool = False) -> Edit:
    return Edit("search_engine", file, old, new, says, harmless)


def _parcels(file: str, old: str, new: str, says: str, *, harmless: bool = False) -> Edit:
    return Edit("tool_agent", file, old, new, says, harmless)


CARELESS = (
    _booking(
        "settlement.py", "callback.amount_kes != asked_kes", "callback.amount_kes < asked_kes", "overpaid is paid"
    ),
    _booking("settlement.py", "WHERE receipt = %s", "WHERE receipt <> %s", "receipts of others count as used"),
    _booking("clock.py", '"Africa/Nairobi"', '"Africa/Lagos"', "another time zone"),
    _booking("tools/check_availability.py", "begin <= desk.clock.now()", "begin < desk.clock.now()", "now is bookable"),
    _booking("tools/check_availability.py", "or end > datetime", "or begin > datetime", "ends after closing time"),
    _booking(
        "booking_actions.py", '{**turn.booking, "start": start}', "{**turn.booking}", "a moved booking's old time"
    ),
    _booking("phone_number.py", "[17]\\d{8}", "7\\d{8}", "numbers with 01 are refused"),
    _booking("handoff.py", "_LAST_MESSAGES = 4", "_LAST_MESSAGES = 1", "one message for the colleague"),
    _router("router.py", "in REDIRECTS:", 'in ("SUPPORT", "OFFTOPIC"):', "jobs and press are answered"),
    _router("router.py", '"booking" if "propose_demo"', '"booking" if "share_pricing"', "prices lead to a demo"),
    _router("intents.py", "message.lower()", "message", "capitals are not understood"),
    _router("intents.py", 'return "OFFTOPIC", 0.2', 'return "LEARN", 0.2', "nonsense is a question"),
    _router("skills.py", "any(word in text", "all(word in text", "hardly any skill"),
    _router("skills.py", "text = message.lower()", "text = message", "skills need small letters"),
    _rules("answerer.py", "MAX_DOCUMENTS = 3", "MAX_DOCUMENTS = 1", "one document"),
    _rules("retrieval.py", '.removesuffix("s")', "", "plurals are other words"),
    _rules("retrieval.py", "(-pair[1], pair[0])", "(pair[1], pair[0])", "the worst documents first"),
    _rules("retrieval.py", "if score > 0", "if score >= 0", "documents without a word in common"),
    _rules("answerer.py", "[{name}] {rules[name]}", "{rules[name]}", "no names of documents"),
    _rules("retrieval.py", "weight / length for", "weight for", "long documents win"),
    _shop("search.py", "{product['title']} {product['text']}", "{product['title']}", "only titles are searched"),
    _shop("bm25.py", "(-pair[1], pair[0])", "(pair[1], pair[0])", "the worst products first"),
    _shop("bm25.py", "text.lower()", "text", "capitals are other words"),
    _shop("bm25.py", "self._rarity(word) * count[word]", "count[word]", "common words weigh as much"),
    _shop("search.py", '", ".join(titles[name] for', '", ".join(name for', "ids instead of titles"),
    _parcels("tools.py", 'parcel.get("owner") != self._phone', "not parcel", "anybody's parcel"),
    _parcels("tools.py", 'parcel["day"] = args["day"]', "pass", "nothing is moved"),
    _parcels("agent.py", '"find_parcel": "FOUND"', '"find_parcel": "MOVED"', "found is moved"),
    _parcels("agent.py", "if after != self._state:", "if after == self._state:", "states never change"),
    _parcels("agent.py", "MAX_STEPS = 5", "MAX_STEPS = 1", "gives up after one tool"),
)
UNSEEN = (
    _booking("fsm.py", "Action.DROP_CHANGE,", "Action.APPLY_CHANGE,", "a declined change is applied"),
    _booking("tools/create_booking.py", 'minutes=offer["minutes"]', 'minutes=offer["minutes"] // 2', "half as long"),
    _router("router.py", "KES 2,500", "KES 250", "another price"),
    _router("router.py", 'if "collect_email" in', 'if "collect_email" not in', "asks for the email of the others"),
    _rules("retrieval.py", "words(question)", "words(question)[:3]", "three words of the question"),
    _rules("retrieval.py", "len(documents) / number", "number / len(documents)", "common words weigh most"),
    _shop("bm25.py", "count.total() / self._mean_length", "self._mean_length / count.total()", "long texts win"),
    _shop("search.py", ".splitlines()", ".splitlines()[1:]", "the first product is lost"),
    _parcels("agent.py", 'else "WAITING"', "else self._state", "not found is still found"),
    _parcels("tools.py", '"day": parcel["day"]}', '"day": args.get("day", "")}', "the day that was asked for"),
)
"""Written after the scenarios, by somebody who had written and read none of them, and not chosen by how they end."""
UNSEEN_AGAIN = (
    _booking("settlement.py", "Settlement(Outcome.DUPLICATE, before)", "Settlement(outcome, before)", "twice counts"),
    _booking(
        "responding.py",
        '_COURTESY["en" if language == "en" else "sw"]',
        '_COURTESY.get(language, _COURTESY["en"])',
        "mixed is English",
    ),
    _booking(
        "tools/reschedule_booking.py", "errors.ExclusionViolation", "errors.UniqueViolation", "a clash is an error"
    ),
    _router("intents.py", "votes[best] / total", "votes[best] // total", "confidence is rounded down"),
    _router("router.py", 'night.", *endings]', 'night.", *endings[:1]]', "one ending"),
    _router(
        "router.py",
        'if state["classified"]["label"] in REDIRECTS:',
        'if state["classified"]["label"] in REDIRECTS and not state["classified"]["labels"]:',
        "a skill wins over a redirect",
    ),
    _rules("prompts/answerer.md", " Never guess a price.", "", "prices may be guessed"),
    _rules("house_rules/cancellation.md", "24 hours", "2 hours", "free until 2 hours before"),
    _rules("answerer.py", 'if block.type == "text")', 'if block.type == "text")[:160]', "replies are cut"),
    _shop("bm25.py", 're.findall(r"\\w+", text.lower())', "text.lower().split()", "words keep their commas"),
    _shop("bm25.py", "if score > 0", "if score > 1", "weak matches are dropped"),
    _shop("search.py", ' or "Nothing found."', "", "nothing found is nothing said"),
    _parcels("tools.py", '["code", "day"]', '["code"]', "a day is optional"),
    _parcels("tools.py", '.get(args["code"], {})', '[args["code"]]', "an unknown code is an error"),
    _parcels("agent.py", 'self._state = "WAITING"', 'self._state = "FOUND"', "begins as found"),
)
"""Fifteen of other kinds, written likewise after `UNSEEN` had been answered with scenarios."""

HARMLESS = (
    _booking("clock.py", "_MINUTE = ", "# As ISO 8601.\n_MINUTE = ", "a comment", harmless=True),
    _booking(
        "phone_number.py", "if match else None", "if match is not None else None", "the same condition", harmless=True
    ),
    _booking("settlement.py", "row is not None", "not (row is None)", "the same condition", harmless=True),
    _booking("handoff.py", "_LAST_MESSAGES = 4", "_LAST_MESSAGES = 2 + 2", "the same number", harmless=True),
    _router("router.py", '"""Say who can help."""', '"""Say who helps."""', "a docstring", harmless=True),
    _router("intents.py", "if total == 0:", "if not total:", "the same condition", harmless=True),
    _router(
        "skills.py",
        "any(word in text for word in words)",
        "any(map(text.count, words))",
        "the same words",
        harmless=True,
    ),
    _router("intents.py", "key=lambda intent: votes[intent]", "key=votes.__getitem__", "the same key", harmless=True),
    _rules(
        "retrieval.py",
        "number * self._rarity.get(word, 0.0)",
        "self._rarity.get(word, 0.0) * number",
        "factors",
        harmless=True,
    ),
    _rules("answerer.py", '"""What the model says.', '"""What the model answers.', "a docstring", harmless=True),
    _rules("retrieval.py", "scores.items(), key", "list(scores.items()), key", "a copy", harmless=True),
    _rules("answerer.py", "MAX_DOCUMENTS = 3", "MAX_DOCUMENTS = 3  # of five", "a comment", harmless=True),
    _shop("bm25.py", "long = 1 - B + B *", "long = (1 - B) + B *", "brackets", harmless=True),
    _shop("search.py", 'or "Nothing found."', "or 'Nothing found.'", "other quotes", harmless=True),
    _shop("bm25.py", "if score > 0]", "if 0 < score]", "the same condition", harmless=True),
    _shop("search.py", "found = index.search(message)", "found = list(index.search(message))", "a copy", harmless=True),
    _parcels("agent.py", "MAX_STEPS = 5", "MAX_STEPS = 6", "one step more", harmless=True),
    _parcels(
        "tools.py",
        "parcel = self._parcels.get(args",
        "parcel = dict.get(self._parcels, args",
        "the same call",
        harmless=True,
    ),
    _parcels("agent.py", "self._client.close()", "self._client.close()  # its connections", "a comment", harmless=True),
    _parcels(
        "tools.py", '"""The parcels of one customer.', '"""The parcels of a customer.', "a docstring", harmless=True
    ),
)


def ended(edit: Edit, repository: Path) -> tuple[str, bool]:
    """How the gate ends with an edit, and whether its comment names the edited file's line.

    Args:
        edit: to make.
        repository: folder to make the repository in.
    """
    _copy(edit, repository)
    _git(repository, "init", "--quiet", "--initial-branch=main")
    _git(repository, "add", "--all", "--force")
    _git(repository, "commit", "--quiet", "-m", "The example as it is")
    below = f"examples/{edit.example}/{edit.file}" if edit.example == "booking_assistant" else edit.file
    path = repository / below
    path.write_text(path.read_text("utf-8").replace(edit.old, edit.new), "utf-8")
    report = repository.parent / f"{repository.name}-report"
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "RATIBA_", "GIT_"))
    }
    command = [sys.executable, "-m", "ratiba_action", "gate", "--mode", "blocking", "--llm", "replay"]
    run = [*command, "--report-dir", str(report)]
    done = subprocess.run(run, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    if not (report / "results.json").is_file():
        return f"exit code {done.returncode}: {done.stderr[-300:]}", False
    results: dict[str, Any] = json.loads((report / "results.json").read_text("utf-8"))
    comment = (report / "comment.md").read_text("utf-8")
    cause = [line for line in comment.splitlines() if "Which line did it" in line]
    named = any(Path(below).name in line for line in cause)
    # Of a prompt, any edit leaves its scenarios without an answer: its file is the cause.
    named |= not below.endswith(".py") and f"his change edits {below}" in comment.replace("\\", "")
    return str(results["outputs"]["conclusion"]), named


def is_right(edit: Edit, conclusion: str, *, named: bool) -> bool:
    """Whether the gate ended as it should: a harmless edit is not stopped, another one is red or named."""
    if edit.harmless:
        return conclusion in {"passed", "inconclusive"}
    return conclusion == "failed" or (conclusion == "incomplete" and named)


def _copy(edit: Edit, repository: Path) -> None:
    sys.path.insert(0, str(PROJECT / "examples"))
    from demo import copy_system  # of examples/, which is no package

    copy_system("" if edit.example == "booking_assistant" else edit.example, repository)


def _git(repository: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=repository, env=os.environ | MADE_BY, check=True)


def main() -> int:
    """Print how each edit ended; exit 1 if one ended otherwise than it should."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--example", help="only edits of this example")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th edit")
    arguments = parser.parse_args()
    every = (*CARELESS, *UNSEEN, *UNSEEN_AGAIN, *HARMLESS)
    edits = [edit for edit in every if arguments.example in (None, edit.example)][:: arguments.every]
    print("| example | file | edit | kind | ended | line named |\n|---|---|---|---|---|---|")
    wrong = 0
    for number, edit in enumerate(edits):
        with tempfile.TemporaryDirectory(prefix="ratiba-edit-") as scratch:
            conclusion, named = ended(edit, Path(scratch) / f"edit-{number}")
        kind, shown = "harmless" if edit.harmless else "careless", "yes" if named else "no"
        print(
            f"| {edit.example} | {Path(edit.file).name} | {edit.says} | {kind} | {conclusion} | {shown} |", flush=True
        )
        wrong += not is_right(edit, conclusion, named=named)
    print(f"\n{len(edits) - wrong} of {len(edits)} as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
