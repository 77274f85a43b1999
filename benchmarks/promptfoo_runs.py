"""promptfoo, an import and the gate as programs, against one stand-in for models, and the verdicts of both.

promptfoo is installed apart from this project: copy ``benchmarks/promptfoo/package.json`` to a folder and run
``npm install`` there. ``FOLDER/node_modules`` is what the benchmarks are given.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TEST = re.compile(r"t\d{4}")
"""The number of a test, which its description and the id of its scenario have."""
Verdicts = Mapping[str, list[bool]]
"""Whether each result of a test passed, sorted, by the test's number."""
_CALL = re.compile(r"CALL (\w+) (\{.*\})", re.DOTALL)
_CUT = "CUT "
_JUDGE = re.compile(r"JSON|Y or N|\"Y\" or \"N\"|category")
"""Stands in what a judge is asked, and in no prompt of an example."""
_GOOD, _FAIR, _BAD, _ENOUGH = 0.9, 0.6, 0.2, 0.5


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    delay = 0.0

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        time.sleep(self.delay)
        content = json.dumps(_answer(self.path, asked)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _answer(path: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    if path == "/chat":
        return {"reply": f"{asked['message']} from {asked['place']}"}
    texts = [_text(message.get("content")) for message in asked["messages"]]
    reason, message = _reply("\n".join([_text(asked.get("system")), *texts]).strip(), texts[-1], asked["model"])
    if path.endswith("/messages"):
        return {
            "id": "stand-in",
            "type": "message",
            "role": "assistant",
            "model": asked["model"],
            "usage": {"input_tokens": 20, "output_tokens": 5},
            "content": [{"type": "text", "text": message["content"]}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
        }
    return {
        "id": "stand-in",
        "object": "chat.completion",
        "created": 1,
        "model": asked["model"],
        "choices": [{"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
    }


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def _reply(text: str, last: str, model: str) -> tuple[str, dict[str, Any]]:
    if text.startswith("Topic"):
        return answer_of(text)
    if _JUDGE.search(text):
        return "stop", {"content": judgement(text)}
    return answer_of(text) if "<<<" in text else ("stop", {"content": f"{model}: {last}"})


def answer_of(text: str) -> tuple[str, dict[str, Any]]:
    """Why an answer ended, and its message: what stands between ``<<<`` and ``>>>``, or the call of a tool there."""
    found = re.search("<<<(.*)>>>", text, re.DOTALL)
    reply = found[1] if found else ""
    if call := _CALL.fullmatch(reply):
        calls = [{"id": "call_1", "type": "function", "function": {"name": call[1], "arguments": call[2]}}]
        return "tool_calls", {"content": None, "tool_calls": calls}
    if reply.startswith(_CUT):
        return "length", {"content": reply.removeprefix(_CUT)}
    return "stop", {"content": reply}


def judgement(text: str) -> str:
    """What a judge answers, in the form that it is asked for; it likes GOOD, and FAIR less."""
    score = _GOOD if "GOOD" in text else _FAIR if "FAIR" in text else _BAD
    passed = score > _ENOUGH
    if "Y or N" in text or '"Y" or "N"' in text:
        return "Y" if passed else "N"
    if "category" in text:
        return json.dumps({"category": "C" if passed else "D", "reason": "stand-in"})
    if '"steps"' in text and '"score"' not in text:
        return json.dumps({"steps": ["look at the reply"]})
    in_ten = "0 to 10" in text or "0-10" in text or "10" in text
    return json.dumps({"reason": "stand-in", "pass": passed, "score": score * 10 if in_ten else score})


@contextmanager
def stand_in(delay: float = 0.0) -> Iterator[str]:
    """The address of a server that speaks as OpenAI, as Anthropic and, at ``/chat``, as a shop.

    Args:
        delay: seconds before each answer.
    """
    handler = type("_Delayed", (_Handler,), {"delay": delay})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def environment(address: str, home: Path) -> dict[str, str]:
    """The variables of all programs: keys of no provider, and the stand-in's address."""
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_API_KEY": "none",
        "OPENAI_BASE_URL": f"{address}/v1",
        "ANTHROPIC_BASE_URL": address,
        "RATIBA_OPENAI_API_KEY": "none",
        "RATIBA_ANTHROPIC_API_KEY": "none",
        "RATIBA_OPENAI_BASE_URL": f"{address}/v1",
        "RATIBA_ANTHROPIC_BASE_URL": address,
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "true",
        "PROMPTFOO_CONFIG_DIR": str(home),
    }


def run_promptfoo(modules: Path, folder: Path, variables: Mapping[str, str], *more: str) -> Verdicts:
    """What promptfoo says of the configuration in a folder.

    Args:
        modules: folder ``node_modules`` that has promptfoo.
        more: further options of ``promptfoo eval``.

    Raises:
        RuntimeError: it ended without results; says what it printed.
    """
    (config,) = folder.glob("promptfooconfig.*")
    words = [str(modules / ".bin/promptfoo"), "eval", "-c", config.name, "-o", "out.json"]
    words += ["--no-cache", "--no-table", "--no-progress-bar", *more]
    done = subprocess.run(words, cwd=folder, env=dict(variables), check=False, capture_output=True, text=True)
    try:
        results = json.loads((folder / "out.json").read_text())["results"]["results"]
    except OSError:
        raise RuntimeError(f"{folder.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}") from None
    return by_test((each["testCase"]["description"], each["success"]) for each in results)


def run_ratiba(words: Sequence[str], folder: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """A command of this project in a folder."""
    command = [sys.executable, "-m", "ratiba_action", *words]
    return subprocess.run(command, cwd=folder, env=dict(variables), check=False, capture_output=True, text=True)


def gate_results(folder: Path) -> Sequence[Mapping[str, Any]]:
    """The results of the gate's last run in a folder; none if it wrote none."""
    path = folder / "ratiba-report/results.json"
    results: list[Mapping[str, Any]] = json.loads(path.read_text())["report"]["results"] if path.is_file() else []
    return results


def by_test(pairs: Iterable[tuple[str, bool]]) -> Verdicts:
    """Verdicts by the numbers in the names of tests."""
    found: dict[str, list[bool]] = {}
    for name, passed in pairs:
        found.setdefault(TEST.findall(name)[-1], []).append(passed)
    return {name: sorted(each) for name, each in sorted(found.items())}


def has_passed(result: Mapping[str, Any]) -> bool:
    """Whether each score and each assertion of a result passed."""
    scores = all(score["value"] is not None and score["value"] >= score["threshold"] for score in result["scores"])
    return result["outcome"] == "scored" and scores and all(check["passed"] for check in result["checks"])
