"""Two commands, ``ratiba import promptfoo .`` and ``ratiba gate --llm live``, beside ``promptfoo eval``.

Each example of ``benchmarks/promptfoo_examples.py`` is a new git repository, with an empty home folder. Run
``python -m benchmarks.import_examples FOLDER/node_modules`` (see ``benchmarks/import_fidelity.py``); ``--write FILE``
keeps promptfoo's verdicts, with which ``tests/end_to_end/test_promptfoo_examples.py`` compares the gate's.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.promptfoo_examples import EXAMPLES, SERVER, Files

Verdicts = Mapping[str, list[bool]]
"""Whether each result of a test passed, sorted, by the test's number."""
_TEST = re.compile(r"t\d{4}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
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
    content = asked["messages"][-1]["content"]
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    reply = f"{asked['model']}: {text}"
    if path.endswith("/messages"):
        usage = {"input_tokens": 20, "output_tokens": 5}
        return {
            "id": "stand-in",
            "type": "message",
            "role": "assistant",
            "model": asked["model"],
            "usage": usage,
            "content": [{"type": "text", "text": reply}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
        }
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": reply}}
    return {
        "id": "stand-in",
        "object": "chat.completion",
        "created": 1,
        "model": asked["model"],
        "choices": [choice],
        "usage": usage,
    }


@contextmanager
def stand_in() -> Iterator[str]:
    """The address of a server that speaks as OpenAI, as Anthropic and, at ``/chat``, as a shop."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def write_repository(folder: Path, files: Files, address: str, home: Path) -> None:
    """A new git repository with these files, all of them in its first commit."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content.replace(SERVER, address))
    (folder / ".gitignore").write_text("ratiba-report\nout.json\n__pycache__\n")
    person = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*person, "commit", "-qm", "Tests of promptfoo"]):
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        subprocess.run(["git", *words], cwd=folder, check=True, env=environment)


def environment(address: str, home: Path) -> dict[str, str]:
    """The variables of the two commands and of promptfoo: keys of no provider, and the stand-in's address."""
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
        "PROMPTFOO_CONFIG_DIR": str(home),
    }


def promptfoo_verdicts(program: Path, folder: Path, variables: Mapping[str, str]) -> Verdicts:
    """What promptfoo says."""
    words = [str(program), "eval", "--no-cache", "--no-table", "--no-progress-bar", "-o", "out.json"]
    done = subprocess.run(words, cwd=folder, env=dict(variables), check=False, capture_output=True, text=True)
    try:
        results = json.loads((folder / "out.json").read_text())["results"]["results"]
    except OSError:
        raise RuntimeError(f"{done.stdout[-2000:]}{done.stderr[-2000:]}") from None
    return by_test((each["testCase"]["description"], each["success"]) for each in results)


def by_test(pairs: Any) -> Verdicts:
    """Verdicts by the numbers in their names."""
    found: dict[str, list[bool]] = {}
    for name, passed in pairs:
        found.setdefault(_TEST.findall(name)[-1], []).append(passed)
    return {name: sorted(each) for name, each in sorted(found.items())}


def run_two_commands(folder: Path, variables: Mapping[str, str]) -> tuple[Verdicts, int, str]:
    """The verdicts of the gate, its exit code, and what both commands printed."""
    ratiba, printed = [sys.executable, "-m", "ratiba_action"], ""
    for words in (["import", "promptfoo", "."], ["gate", "--llm", "live"]):
        done = subprocess.run(
            [*ratiba, *words], cwd=folder, env=dict(variables), check=False, capture_output=True, text=True
        )
        printed += done.stdout + done.stderr
    path = folder / "ratiba-report/results.json"
    if not path.is_file():
        return {}, done.returncode, printed
    results = json.loads(path.read_text())["report"]["results"]
    turns = ((each, turn) for each in results for turn in each["trial"]["scenario"]["turns"])
    return by_test((each["trial"]["scenario"]["id"], _passed(each)) for each, _ in turns), done.returncode, printed


def _passed(result: Mapping[str, Any]) -> bool:
    if result["outcome"] != "scored":
        return False
    scores = all(score["value"] is not None and score["value"] >= score["threshold"] for score in result["scores"])
    return scores and all(check["passed"] for check in result["checks"])


def main() -> int:
    """Run both; 1 if a verdict differs."""
    parser = argparse.ArgumentParser(description="Compare two commands with promptfoo eval.")
    parser.add_argument("modules", type=Path, help="folder node_modules, installed apart")
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep promptfoo's verdicts in this file")
    parser.add_argument("--only", default="", metavar="PATTERN", help="examples whose name it matches")
    parser.add_argument("--show", action="store_true", help="print what the commands print")
    arguments = parser.parse_args()
    program, wrong, kept = arguments.modules.resolve() / ".bin/promptfoo", 0, {}
    for name, files in EXAMPLES.items():
        if not re.search(arguments.only, name):
            continue
        with tempfile.TemporaryDirectory() as place, stand_in() as address:
            home, folder = Path(place) / "home", Path(place) / "repository"
            home.mkdir()
            write_repository(folder, files, address, home)
            variables = environment(address, home)
            kept[name] = promptfoo_verdicts(program, folder, variables)
            ours, code, printed = run_two_commands(folder, variables)
        passed = all(all(each) for each in kept[name].values())
        same = ours == kept[name] and code == (0 if passed else 1)
        wrong += not same
        sys.stdout.write(f"{name}: {'the same' if same else f'promptfoo {kept[name]}, gate {ours}, exit {code}'}\n")
        sys.stdout.write(printed if arguments.show or not same else "")
    if arguments.write is not None:
        arguments.write.write_text(json.dumps(kept, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
