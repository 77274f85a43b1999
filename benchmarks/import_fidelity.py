"""Whether an imported promptfoo suite means the same: promptfoo and the gate on one corpus, verdict by verdict.

Both call one stand-in for OpenAI, which replies what the prompt says between ``<<<`` and ``>>>``. promptfoo is
installed apart from this project: copy ``benchmarks/promptfoo/package.json`` to a folder, run ``npm install`` there,
then ``python -m benchmarks.import_fidelity FOLDER/node_modules``. ``--write FILE`` keeps promptfoo's verdicts, with
which ``tests/commands/test_promptfoo_verdicts.py`` compares the import; ``--kept FILE`` takes them instead of a run.
``--judged`` compares assertions of judges instead, and ``--speed N`` the time of a suite of N tests.
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
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.import_items import count_lost
from benchmarks.promptfoo_corpus import MODEL, PROMPT, Files, configurations

_TEST = re.compile(r"t\d{4}")
_CALL = re.compile(r"CALL (\w+) (\{.*\})", re.DOTALL)
_CUT = "CUT "
_JUDGES = "judge: {provider: openai, model: gpt-5.6, cross_check: null}\n"
_GOOD, _FAIR, _BAD, _ENOUGH = 0.9, 0.6, 0.2, 0.5


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    delay = 0.0

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        time.sleep(self.delay)
        text = "\n".join(_text(message.get("content")) for message in asked["messages"])
        reason, message = answer_of(text) if text.startswith("Topic") else ("stop", {"content": _judgement(text)})
        answer = {
            "id": "stand-in",
            "object": "chat.completion",
            "created": 1,
            "model": asked["model"],
            "choices": [{"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}],
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


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def answer_of(text: str) -> tuple[str, dict[str, Any]]:
    """Why an answer ended, and its message."""
    found = re.search("<<<(.*)>>>", text, re.DOTALL)
    reply = found[1] if found else ""
    if call := _CALL.fullmatch(reply):
        calls = [{"id": "call_1", "type": "function", "function": {"name": call[1], "arguments": call[2]}}]
        return "tool_calls", {"content": None, "tool_calls": calls}
    if reply.startswith(_CUT):
        return "length", {"content": reply.removeprefix(_CUT)}
    return "stop", {"content": reply}


def _judgement(text: str) -> str:
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
    """The address of a server that speaks as OpenAI does.

    Args:
        delay: seconds before each answer.
    """
    handler = type("_Delayed", (_Handler,), {"delay": delay})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


Verdicts = Mapping[str, list[bool]]
"""Whether each result of a test passed, sorted, by the test's number."""


def promptfoo_verdicts(program: Path, folder: Path, environment: Mapping[str, str]) -> Verdicts:
    """What promptfoo says of the configuration in a folder."""
    (config,) = folder.glob("promptfooconfig.*")
    command = [
        str(program),
        "eval",
        "-c",
        config.name,
        "-o",
        "out.json",
        "--no-cache",
        "--no-table",
        "--no-progress-bar",
    ]
    done = subprocess.run(command, cwd=folder, env=dict(environment), check=False, capture_output=True, text=True)
    try:
        results = json.loads((folder / "out.json").read_text())["results"]["results"]
    except OSError:
        raise RuntimeError(f"{folder.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}") from None
    return _by_test((each["testCase"]["description"], each["success"]) for each in results)


def _by_test(pairs: Any) -> Verdicts:
    found: dict[str, list[bool]] = {}
    for name, passed in pairs:
        found.setdefault(name, []).append(passed)
    return {name: sorted(each) for name, each in sorted(found.items())}


@dataclass(slots=True)
class Imported:
    """What the import made of a corpus.

    Args:
        verdicts: of the gate.
        findings: of each configuration.
        errors: why a scenario has no verdict, by test.
    """

    verdicts: Verdicts = field(default_factory=dict)
    findings: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


def gate_verdicts(
    corpus: Mapping[str, Files], folder: Path, environment: Mapping[str, str], more: str = ""
) -> Imported:
    """Import each configuration into one repository, and run the gate once.

    Args:
        more: lines for the gate's configuration.
    """
    ratiba, found = [sys.executable, "-m", "ratiba_action"], Imported()
    for name in corpus:
        (config,) = (folder / name).glob("promptfooconfig.*")
        path = str(config.relative_to(folder))
        words = ["import", "promptfoo", path, "--prefix", name[:24], "--map", "input=reply", "--json"]
        done = subprocess.run([*ratiba, *words], cwd=folder, env=dict(environment), check=False, capture_output=True)
        if done.returncode not in {0, 2} or not done.stdout:
            raise RuntimeError(f"{name}: {done.stderr.decode()[-2000:]}")
        found.findings[name] = json.loads(done.stdout)["findings"]
    configuration = folder / ".github/ratiba.yml"
    setup = f"system:\n  setup: [ln, -s, {(folder / 'node_modules').resolve()}, node_modules]\n"
    configuration.write_text(configuration.read_text().replace("system:\n", setup, 1) + more)
    started = time.monotonic()
    words = ["gate", "--llm", "live", "--mode", "blocking"]
    done = subprocess.run([*ratiba, *words], cwd=folder, env=dict(environment), check=False, capture_output=True)
    found.seconds = time.monotonic() - started
    try:
        results = json.loads((folder / "ratiba-report/results.json").read_text())["report"]["results"]
    except OSError:
        raise RuntimeError(f"gate: {done.stdout.decode()[-3000:]}{done.stderr.decode()[-3000:]}") from None
    if not results:
        raise RuntimeError(f"gate: {done.stdout.decode()[-3000:]}{done.stderr.decode()[-3000:]}")
    named = [(_TEST.findall(each["trial"]["scenario"]["id"])[-1], each) for each in results]
    found.verdicts = _by_test((name, _passed(each)) for name, each in named)
    found.errors = {name: each.get("message", "") for name, each in named if each["outcome"] != "scored"}
    return found


def _passed(result: Mapping[str, Any]) -> bool:
    scores = all(score["value"] is not None and score["value"] >= score["threshold"] for score in result["scores"])
    return result["outcome"] == "scored" and scores and all(check["passed"] for check in result["checks"])


def _environment(address: str, folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": address,
        "PROMPTFOO_CONFIG_DIR": f"{folder}/.promptfoo",
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "RATIBA_OPENAI_API_KEY": "none",
        "RATIBA_OPENAI_BASE_URL": address,
    }


def write_corpus(corpus: Mapping[str, Files], folder: Path, modules: Path) -> None:
    """A repository with each configuration in a folder of its own, and promptfoo's packages."""
    for name, files in corpus.items():
        for path, content in files.items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(content)
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    (folder / ".gitignore").write_text("node_modules\n.promptfoo\nratiba-report\nout.json\n")
    (folder / "node_modules").symlink_to(modules)


def _groups(corpus: Mapping[str, Files]) -> Iterator[dict[str, Files]]:
    """Configurations that one repository of the gate can have: those with tools have another system."""
    tools = {name: files for name, files in corpus.items() if '"tools"' in files.get("promptfooconfig.json", "")}
    yield {name: files for name, files in corpus.items() if name not in tools}
    if tools:
        yield tools


def compare(modules: Path, corpus: Mapping[str, Files], kept: Verdicts | None, more: str) -> tuple[Verdicts, Imported]:
    """The verdicts of promptfoo, and what the import and the gate make of the same files."""
    theirs, ours = dict(kept or {}), Imported()
    for group in _groups(corpus):
        with tempfile.TemporaryDirectory() as name, stand_in() as address:
            folder = Path(name)
            write_corpus(group, folder, modules)
            environment = _environment(address, folder)
            for each in group if kept is None else ():
                theirs |= promptfoo_verdicts(modules / ".bin/promptfoo", folder / each, environment)
                sys.stderr.write(f"{each}\n")
            found = gate_verdicts(group, folder, environment, more)
            ours.verdicts = {**ours.verdicts, **found.verdicts}
            ours.findings |= found.findings
            ours.errors |= found.errors
    return theirs, ours


def _report(theirs: Verdicts, ours: Imported, corpus: Mapping[str, Files]) -> int:
    """Print the figures; 1 if a verdict differs."""
    place = {test: name for name, files in corpus.items() for test in _TEST.findall("".join(files.values()))}
    different = [test for test, verdict in theirs.items() if ours.verdicts.get(test) != verdict]
    for test in different:
        error = ours.errors.get(test, "")
        sys.stdout.write(
            f"{place.get(test)} {test}: promptfoo {theirs[test]}, gate {ours.verdicts.get(test)} {error[:300]}\n"
        )
    asserted = [
        finding for found in ours.findings.values() for finding in found if finding["what"].startswith("assert ")
    ]
    left = [finding for finding in asserted if finding["outcome"] == "manual"]
    for finding in left:
        sys.stdout.write(f"left to a person: {finding['file']}:{finding['line']}: {finding['result']}\n")
    written = len(set(ours.verdicts) & set(theirs))
    sys.stdout.write(
        f"{len(corpus)} configurations; {written} of {len(theirs)} tests written; "
        f"{len(asserted) - len(left)} of {len(asserted)} assertions run; {len(different)} verdicts differ\n"
    )
    items, lost = count_lost()
    sys.stdout.write("".join(f"lost: {each}\n" for each in lost))
    sys.stdout.write(f"{items} items of configurations of all shapes; {len(lost)} neither written nor reported\n")
    return 1 if different or lost else 0


def speed(modules: Path, tests: int) -> int:
    """Print the time of promptfoo and of the gate on one suite, four calls at a time, each of which takes 50 ms."""
    suite = [
        {
            "description": f"t{number:04}",
            "vars": {"topic": str(number), "reply": f"Order {number} is on its way"},
            "assert": [
                {"type": "icontains", "value": f"order {number}"},
                {"type": "not-contains", "value": "sorry"},
                *([{"type": "javascript", "value": "output.length > 5"}] if number % 5 == 0 else []),
            ],
        }
        for number in range(tests)
    ]
    written = json.dumps({"prompts": [PROMPT], "providers": [MODEL], "tests": suite})
    with tempfile.TemporaryDirectory() as name, stand_in(0.05) as address:
        folder = Path(name)
        write_corpus({"speed": {"promptfooconfig.json": written}}, folder, modules)
        environment = _environment(address, folder)
        started = time.monotonic()
        theirs = promptfoo_verdicts(modules / ".bin/promptfoo", folder / "speed", environment)
        between = time.monotonic()
        ours = gate_verdicts({"speed": {}}, folder, environment)
    same = ours.verdicts == theirs
    sys.stdout.write(
        f"{tests} tests: promptfoo {between - started:.1f} s, gate {ours.seconds:.1f} s, "
        f"{ours.seconds / (between - started):.2f} times; load {os.getloadavg()[0]:.1f}; the same verdicts: {same}\n"
    )
    return 0 if same else 1


def main() -> int:
    """Run both; 1 if a verdict differs."""
    parser = argparse.ArgumentParser(description="Compare an imported suite with promptfoo itself.")
    parser.add_argument("modules", type=Path, help="folder node_modules, installed apart")
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep promptfoo's verdicts in this file")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="take promptfoo's verdicts from this file")
    parser.add_argument("--only", default="", metavar="PATTERN", help="configurations whose name it matches")
    parser.add_argument("--judged", action="store_true", help="compare assertions that a judge scores instead")
    parser.add_argument("--speed", type=int, metavar="TESTS", help="compare the time of so many tests instead")
    arguments = parser.parse_args()
    modules = arguments.modules.resolve()
    if arguments.speed:
        return speed(modules, arguments.speed)
    all_of = configurations(judges=arguments.judged)
    corpus = {name: files for name, files in all_of.items() if re.search(arguments.only, name)}
    kept = json.loads(arguments.kept.read_text()) if arguments.kept else None
    if kept is not None:
        named = set(_TEST.findall(json.dumps(corpus)))
        kept = {test: verdict for test, verdict in kept.items() if test in named}
    theirs, ours = compare(modules, corpus, kept, _JUDGES if arguments.judged else "")
    if arguments.write is not None:
        lines = ",\n".join(f"{json.dumps(test)}: {json.dumps(verdict)}" for test, verdict in theirs.items())
        arguments.write.write_text(f"{{\n{lines}\n}}\n")
    return _report(theirs, ours, corpus)


if __name__ == "__main__":
    sys.exit(main())
