"""Whether an imported promptfoo suite means the same: promptfoo and the gate on one configuration, verdict by verdict.

Both ask one stand-in for OpenAI, which replies what the prompt says between ``<<<`` and ``>>>``. promptfoo is installed
apart from this project: ``npm install --prefix FOLDER promptfoo@0.121.20``. Run:
``python -m benchmarks.import_fidelity FOLDER/node_modules/.bin/promptfoo``. ``--write FILE`` keeps promptfoo's
verdicts, with which ``tests/commands/test_promptfoo_verdicts.py`` compares the import.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

REPLIES = ("In Paris.", "open at 9 in paris", '{"a": 1}', "In Rome it is 10")
VARIABLES = {"topic": "geo", "city": "Paris"}
FILES = {
    "check.js": "module.exports = (output, context) => output.includes(context.vars.city);\n"
    "module.exports.strict = (output) => ({ pass: output.length < 12, score: 1, reason: 'length' });\n",
    "check.py": "def get_assert(output, context):\n    return len(output) > 10\n\n\n"
    "def other(output, context):\n    return {'pass': context['vars']['city'] in output, 'score': 1, 'reason': 'x'}\n",
}


def _assertions() -> Iterator[dict[str, Any]]:
    texts: dict[str, list[Any]] = {
        "contains": ["Paris", "{{city}}"],
        "icontains": ["paris"],
        "contains-all": [["Paris", "9"], "Paris, ."],
        "icontains-all": [["PARIS", "in"]],
        "contains-any": [["Rome", "open"], "Rome, open"],
        "icontains-any": ["ROME, OPEN"],
        "starts-with": ["In"],
        "regex": ["^In \\w+", "\\d+"],
        "equals": ["In Paris.", {"a": 1}],
        "is-json": [None],
        "contains-json": [None],
        "levenshtein": ["In Paris!"],
    }
    refused: dict[str, list[Any]] = {"not-contains-any": [["Rome", "open"]], "not-icontains-any": ["ROME, 9"]}
    negated = ("contains", "icontains", "contains-all", "icontains-all", "starts-with", "regex", "is-json")
    refused |= {f"not-{name}": texts[name][:1] for name in (*negated, "contains-json", "levenshtein")}
    for kind, values in (texts | refused | {"not-equals": ["In Paris."]}).items():
        yield from ({"type": kind, **({} if value is None else {"value": value})} for value in values)
    yield {"type": "word-count", "value": {"max": 2}}
    javascript = (
        *("output.length > 8", "output.length > 8;", "output.length / 20", "const n = output.length; n % 2 === 0"),
        *("const n = output.length;\nreturn n % 2 === 0;", "({pass: output.includes('P'), score: 0.3, reason: 'x'})"),
        *("context.vars.topic === 'geo' && output.includes(context.vars.city)", "JSON.parse(output).a === 1"),
        *("file://check.js", "file://check.js:strict", "({score: 1, reason: 'x'})", "'true'", "null"),
    )
    python = (
        *("len(output) > 8", "import json\nreturn {'pass': 'P' in output, 'score': 0.5, 'reason': 'r'}", "'true'"),
        *("file://check.py", "file://check.py:other", "{'pass': True, 'score': 0.3, 'reason': 'x'}", "0", "None"),
    )
    for language, codes in (("javascript", javascript), ("python", python)):
        for code in codes:
            yield {"type": language, "value": code}
        yield {"type": f"not-{language}", "value": codes[0]}
        yield from ({"type": language, "value": value, "threshold": 0.5} for value in ("0.4", codes[5]))


def configuration() -> dict[str, Any]:
    """One test for each assertion and reply."""
    pairs = [(wanted, reply) for wanted in _assertions() for reply in REPLIES]
    tests = [
        {"description": f"t{number:04}", "vars": VARIABLES | {"reply": reply}, "assert": [wanted]}
        for number, (wanted, reply) in enumerate(pairs)
    ]
    prompt = "Topic {{topic}}. <<<{{reply}}>>>"
    return {"prompts": [prompt], "providers": ["openai:chat:gpt-4.1-mini"], "tests": tests}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        found = re.search("<<<(.*)>>>", asked["messages"][-1]["content"], re.DOTALL)
        message = {"role": "assistant", "content": found[1] if found else ""}
        answer = {
            "id": "stand-in",
            "object": "chat.completion",
            "created": 1,
            "model": asked["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
        }
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def stand_in() -> Iterator[str]:
    """The address of a server that speaks as OpenAI does."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def promptfoo_verdicts(program: str, folder: Path, environment: Mapping[str, str]) -> dict[str, bool]:
    """Whether each test passed, by its description."""
    command = [program, "eval", "-c", "promptfooconfig.json", "-o", "out.json", "--no-cache", "--no-table"]
    subprocess.run(command, cwd=folder, env=dict(environment), check=False, capture_output=True)
    results = json.loads((folder / "out.json").read_text())["results"]["results"]
    return {result["testCase"]["description"]: result["success"] for result in results}


def gate_verdicts(folder: Path, environment: Mapping[str, str]) -> dict[str, bool]:
    """Whether each imported scenario passed, by the description of its test."""
    ratiba = [sys.executable, "-m", "ratiba_action"]
    for words in (["import", "promptfoo", "promptfooconfig.json"], ["gate", "--llm", "live", "--mode", "blocking"]):
        subprocess.run([*ratiba, *words], cwd=folder, env=dict(environment), check=False, capture_output=True)
    results = json.loads((folder / "ratiba-report/results.json").read_text())["report"]["results"]
    return {each["trial"]["scenario"]["id"][-5:]: _passed(each) for each in results}


def _passed(result: Mapping[str, Any]) -> bool:
    scores = all(score["value"] is not None and score["value"] >= score["threshold"] for score in result["scores"])
    return result["outcome"] == "scored" and scores and all(check["passed"] for check in result["checks"])


def main() -> int:
    """Run both; 1 if a verdict differs."""
    parser = argparse.ArgumentParser(description="Compare an imported suite with promptfoo itself.")
    parser.add_argument("promptfoo", help="the program, installed apart")
    parser.add_argument("--write", type=Path, help="keep promptfoo's verdicts in this file")
    arguments = parser.parse_args()
    written = configuration()
    with tempfile.TemporaryDirectory() as name, stand_in() as address:
        folder = Path(name)
        for path, content in {**FILES, "promptfooconfig.json": json.dumps(written, indent=1)}.items():
            (folder / path).write_text(content)
        subprocess.run(["git", "init", "--quiet", name], check=True)
        environment = {
            **os.environ,
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": address,
            "PROMPTFOO_CONFIG_DIR": f"{name}/.promptfoo",
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "RATIBA_OPENAI_API_KEY": "none",
            "RATIBA_OPENAI_BASE_URL": address,
        }
        started = time.monotonic()
        theirs = promptfoo_verdicts(arguments.promptfoo, folder, environment)
        between = time.monotonic()
        ours = gate_verdicts(folder, environment)
        ended = time.monotonic()
    tests = {test["description"]: test for test in written["tests"]}
    different = [name for name in tests if ours.get(name) != theirs.get(name)]
    for name in different:
        sys.stdout.write(f"{tests[name]}: promptfoo {theirs.get(name)}, gate {ours.get(name)}\n")
    seconds = f"promptfoo {between - started:.1f} s, import and gate {ended - between:.1f} s"
    sys.stdout.write(f"{len(tests)} verdicts, {len(different)} differ; {seconds}\n")
    if arguments.write is not None:
        rows = [[test["assert"][0], test["vars"]["reply"], theirs[name]] for name, test in tests.items()]
        lines = ",\n".join(json.dumps(row) for row in rows)
        arguments.write.write_text(f"[\n{lines}\n]\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
