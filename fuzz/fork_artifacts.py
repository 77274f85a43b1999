"""A fork's artifact, spoilt in every field, is posted by the second workflow as harmless text or not at all."""

import json
import random
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from markdown_it import MarkdownIt

from fuzz.case import Case, texts_below
from fuzz.in_process import run_command
from ratiba_action.reporting.results_json import render_results
from ratiba_action.reporting.summary import summarise
from tests.support.github_server import GithubState, Pull, github_server
from tests.support.pull_request_events import workflow_run_event
from tests.support.sample_report import sample_report

HEAD = "a" * 40
AUTOLINK = re.compile(r"(?:https?://|ftp://|mailto:|www\.)[^\s\u200b]*|[\w.]+@[\w.]+")
MENTION = re.compile(r"(?<![\w/`])@[A-Za-z0-9][A-Za-z0-9-]*(?:/[\w-]+)?")


def post_hostile_artifact(case: Case) -> None:
    """``ratiba report --workflow-run`` with a ``results.json`` that a fork made up."""
    state = GithubState(pulls={7: Pull(head=HEAD, head_repository="other/assistant")})
    results, event = case.folder / "results.json", case.folder / "event.json"
    event.write_text(json.dumps(workflow_run_event(HEAD)))
    results.write_bytes(_artifact(case))
    with github_server(state) as address:
        environment = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": address,
            "GITHUB_EVENT_NAME": "workflow_run",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_OUTPUT": str(case.folder / "outputs"),
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_STEP_SUMMARY": str(case.folder / "summary.md"),
            "RATIBA_GITHUB_TOKEN": case.secrets["github"],
        }
        ended = run_command(["report", "--workflow-run", "--results", str(results)], environment)
    texts = {name: text for name, text in texts_below(case.folder, "files").items() if "summary" in name}
    texts |= {f"comment {number}": comment["body"] for number, comment in enumerate(state.comments)}
    case.require("f", f"it ended with {ended.code}: {ended.printed[-500:]}", holds=ended.code == 0)
    case.require_no_defect(ended.printed)
    case.require_harmless_log(ended.printed)
    case.require_no_secret({"log": ended.printed, **texts})
    case.require("d", f"{len(state.comments)} comments: {ended.printed[-500:]}", holds=len(state.comments) <= 1)
    for name, text in texts.items():
        require_dead(case, name, text)


def _artifact(case: Case) -> bytes:
    report: Any = json.loads(render_results(summarise(sample_report())))
    report["report"]["subject"]["head"] = HEAD
    rng = case.rng
    places = list(_places(report))
    for holder, key in rng.sample(places, min(rng.choice((1, 1, 2, 3, 8)), len(places))):
        holder[key] = _spoilt(rng, holder[key], case.nonce)
    subject = report["report"].get("subject") if isinstance(report.get("report"), dict) else None
    if isinstance(subject, dict):
        subject["head"] = HEAD  # else it is about another commit, and nothing is posted
    text = json.dumps(report)
    if rng.random() < 0.05:
        text = rng.choice(
            (text[:-5], text + text, text.replace("1", "1e999"), "[" * 99_999, text.replace(":", "::", 9))
        )
    return text.encode("utf-8", "surrogatepass")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value that could hold something else."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from _places(inner)


def _spoilt(rng: random.Random, value: Any, nonce: str) -> Any:
    text = hostile_text(rng, nonce)
    if isinstance(value, str) and rng.random() < 0.7:
        return rng.choice((text, f"{value}{text}", f"{text}{value}", f"{value}\n\n{text}", value + "0" * 5000))
    return rng.choice((
        text, None, True, -1, 10**400, "1E+999999", 0.1, [], {}, [text], {text: text}, [[[[text]]]], "NaN", "\ud800",
    ))  # fmt: skip


class _Tags(HTMLParser):
    """The tags and comments of HTML; text between them is what a reader sees."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep it with its attributes."""
        self.found.append(f"{tag} {attrs}")

    def handle_comment(self, data: str) -> None:
        """Keep it."""
        self.found.append(data)


def hostile_text(rng: random.Random, nonce: str) -> str:
    """Text that wants to be a link, an image, a mention, HTML, a table cell or a command."""
    parts = (
        f"[{nonce}](https://{nonce}.example)", f"![x](https://{nonce}.example/i.png)", f"<https://{nonce}.example>",
        f"https://{nonce}.example/x", f"www.{nonce}.example", f"@{nonce}", f"@{nonce}/team", f"<img src=//{nonce}.example>",
        f"[x][{nonce}]\n\n[{nonce}]: https://{nonce}.example", f"<a href='https://{nonce}.example'>x</a>", "</details>",
        f"\n::error::{nonce}\n", f"##[set-output name=x;]{nonce}", "\n```\n", "`" * 7, "|", "\n\n# Passed\n\n", "<!--", "-->",
        f"<!-- ratiba-eval-gate name=ratiba head=x run=9 attempt=9 {nonce} -->", "&#64;" + nonce, "\u202e", "\0", "\x1b[2J",
        f"\\[{nonce}](https://{nonce}.example)", "\u0301" * 50, "<script>", "$$x$$", "#123", "GH-1", "\ufdd0\uffff",
        f"{nonce}@example.com", f"[^1]\n\n[^1]: {nonce}", f"ftp://{nonce}.example", f"mailto:x@{nonce}.example",
    )  # fmt: skip
    return "".join(rng.sample(parts, rng.randint(1, 4)))


def require_dead(case: Case, name: str, text: str) -> None:
    """What a fork wrote makes no link, image, mention or HTML."""
    tokens = MarkdownIt("gfm-like", {"html": True, "linkify": False}).parse(text)
    inner = [child for token in tokens for child in token.children or ()]
    for token in inner:
        if token.type in {"image", "link_open"}:
            message = f"{name} has a live {token.type}: {token.attrs}"
            case.require("e", message, holds=case.nonce not in str(token.attrs))
    html = "".join(part.content for part in (*tokens, *inner) if part.type in {"html_block", "html_inline"})
    tags = _Tags()
    tags.feed(html)
    for tag in tags.found:
        case.require("e", f"{name} has the live tag {tag!r}", holds=case.nonce not in tag and "script" not in tag)
    plain = "".join(part.content for part in inner if part.type == "text")
    for found in MENTION.findall(plain):
        case.require("e", f"{name} mentions {found!r}", holds=case.nonce not in found)
    for found in AUTOLINK.findall(plain):
        case.require("e", f"{name} has the bare link {found!r}", holds=case.nonce not in found)
    for line in text.splitlines():
        message = f"{name} has a second marker: {line[:200]}"
        case.require("e", message, holds=not (line.startswith("<!-- ratiba-eval-gate name") and case.nonce in line))
