"""A bot with a Dockerfile and no Python goes through the action: each side in containers of its own, without a key."""

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.llm.scripted_answers import Step
from tests.support.act import TOKEN, Act
from tests.support.act_run import ActRun
from tests.support.consumer_repository import WORKFLOW, ConsumerRepository, Repositories
from tests.support.eventually import eventually
from tests.support.github_server import GithubState, github_server
from tests.support.hosted_runner import HostedRunner
from tests.support.model_servers import ModelServer
from tests.support.node_bot import EXAMPLE, TOTAL, left_over
from tests.support.served_models import served_models
from tests.support.workflow_for_act import Adjustments

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("alone_with_system_containers")]
WORKFLOWS = Path(__file__).parents[2] / "examples" / "consumer"
SERVER = "server.js"


def node_bot(repositories: Repositories, more: Mapping[str, str | None] | None = None) -> ConsumerRepository:
    """The example's repository with the workflow, and other files over it; None removes one."""
    files = {
        ".github/ratiba.yml": (EXAMPLE / ".github" / "container.yml").read_text(),
        WORKFLOW: (WORKFLOWS / WORKFLOW).read_text(),
    }
    return repositories.made_of(EXAMPLE, {**files, **(more or {})})


def evaluated(act: Act, repository: ConsumerRepository, adjustments: Adjustments | None = None) -> tuple[ActRun, str]:
    """A run for the proposed change, and the comment that it wrote."""
    github = GithubState(heads={7: repository.head})
    with github_server(github) as api:
        run = act.run(repository, "pull_request", repository.pull_request_event(), api, adjustments=adjustments)
    assert left_over() == []
    return run, "".join(str(comment["body"]) for comment in github.comments)


def test_a_regression_is_red_with_its_scenario(act: Act, repositories: Repositories) -> None:
    repository = node_bot(repositories)
    repository.propose({SERVER: repository.text(SERVER).replace(TOTAL, "const total = PRICES[order.item];")})
    run, comment = evaluated(act, repository)
    assert run.outputs["conclusion"] == "failed", run.printed
    assert "Newly failing: `order_bread` (critical)." in comment, comment


def test_a_harmless_change_is_green(act: Act, repositories: Repositories) -> None:
    repository = node_bot(repositories)
    text = repository.text(SERVER).replace(TOTAL, TOTAL.replace("total", "sum")).replace("KES ${total}", "KES ${sum}")
    repository.propose({SERVER: text})
    run, comment = evaluated(act, repository)
    assert (run.outputs["conclusion"], run.outputs["passed"]) == ("passed", "2"), run.printed
    assert "Nothing proves which code answered" not in comment


CANARY = "a-word-that-is-to-be-found"
PROBE = """
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { lookup } from "node:dns/promises";
import { createConnection } from "node:net";
import { networkInterfaces } from "node:os";

const words = WORDS.map((word) => [...word].reverse().join(""));
const holds = (text) => words.some((word) => text.includes(word));
const read = (path) => { try { return readFileSync(path, "latin1"); } catch { return ""; } };
const reaches = (port, host) => new Promise((done) => {
  const socket = createConnection({ port, host });
  const end = (answer) => { socket.destroy(); done(answer); };
  socket.setTimeout(2000, () => end(false)).on("connect", () => end(true)).on("error", () => end(false));
});
const resolves = (name) => lookup(name).then(() => true, () => false);
function files(folder, depth = 0) {
  let names = [];
  try { names = readdirSync(folder); } catch { return []; }
  return names.flatMap((name) => {
    const path = `${folder}/${name}`;
    let status;
    try { status = statSync(path); } catch { return []; }
    if (status.isDirectory()) return depth < 6 ? files(path, depth + 1) : [];
    return status.isFile() && status.size < 1 << 20 && holds(read(path)) ? [path] : [];
  });
}
export async function probe() {
  const status = Object.fromEntries(read("/proc/self/status").split("\\n").map((line) => line.split(":\\t")));
  const processes = readdirSync("/proc").filter((name) => /^\\d+$/.test(name));
  let killed = [];
  for (const each of processes.filter((id) => Number(id) !== process.pid))
    try { process.kill(Number(each), "SIGKILL"); killed.push(each); } catch { }
  const outside = [];
  for (const host of HOSTS) for (const port of [22, 53, 80, 443]) if (await reaches(port, host)) outside.push(host);
  const ports = [];
  for (const port of PORTS) if (await reaches(port, "127.0.0.1")) ports.push(port);
  const all = ["/bot", "/etc", "/home", "/root", "/run", "/tmp", "/var", "/opt"].flatMap((place) => files(place));
  const canary = all.filter((path) => path.endsWith("canary.md"));
  const gateway = new URL(process.env.OPENAI_BASE_URL);
  const found = {
    environment: Object.entries(process.env).flat().filter((each) => holds(each) || /^(GITHUB|RATIBA)_/.test(each)),
    processes: processes.filter((id) => holds(read(`/proc/${id}/environ`) + read(`/proc/${id}/cmdline`))),
    files: all.filter((path) => !canary.includes(path)),
    sockets: ["/var/run/docker.sock", "/run/ratiba-engine/socket", "/home/ratiba/socket"].filter(existsSync),
    metadata: (await reaches(80, "169.254.169.254")) ? ["reached"] : [],
    names: (await resolves("example.com")) || (await resolves("host.docker.internal")) ? ["resolved"] : [],
    outside,
    ports,
    interfaces: Object.keys(networkInterfaces()).filter((name) => name !== "lo"),
    mounts: read("/proc/self/mountinfo").split("\\n").map((line) => line.split(" ")[4] ?? "").filter(
      (place) => !/^(|\\/|\\/(proc|sys|dev)(\\/.*)?|\\/etc\\/(hostname|hosts|resolv\\.conf))$/.test(place)),
    capabilities: ["CapEff", "CapPrm", "CapBnd"].filter((name) => Number(`0x${status[name]}`) !== 0),
    privileges: status.NoNewPrivs.trim() === "1" ? [] : ["can be gained"],
    memory: Number(read("/sys/fs/cgroup/memory.max")) > 4 * 2 ** 30 ? ["unlimited"] : [],
    killed,
  };
  const wrong = Object.entries(found).filter(([, each]) => each.length > 0);
  // What it shall find, so that a probe that sees nothing is none.
  const sees = {
    canary: canary.join() === "/bot/prompts/canary.md",
    others: processes.length > 1,
    gateway: await reaches(Number(gateway.port), gateway.hostname),
  };
  const closed = wrong.length === 0 && Object.values(sees).every(Boolean);
  return { text: JSON.stringify({ wrong, sees }), state: closed ? "CLOSED" : "OPEN" };
}
"""


def test_its_container_finds_no_key_no_token_and_no_other_host(act: Act, repositories: Repositories) -> None:
    word = f"PLANTED{secrets.token_hex(8)}"
    key = f"sk-{word}"
    with served_models(ModelServer(lambda _: Step("openai", text='{"say": "Yes!"}'), key)) as models:
        given: dict[str, Any] = {
            "WORDS": [each[::-1] for each in (word, TOKEN, CANARY)],
            "HOSTS": ["1.1.1.1", "172.17.0.1", *addresses()],
            "PORTS": [int(models.url.rpartition(":")[2]), 22, 2375],
        }
        text, scenario = ((EXAMPLE / name).read_text() for name in (SERVER, "scenarios/order_cake.yaml"))
        chat = 'return { text: say, state: "TALKING", calls: [] };'
        assert chat in text
        files = {
            SERVER: 'import { probe } from "./probe.js";\n'
            + text.replace(chat, "return { ...(await probe()), calls: [] };"),
            "probe.js": "".join(f"const {name} = {json.dumps(value)};\n" for name, value in given.items()) + PROBE,
            "Dockerfile": (EXAMPLE / "Dockerfile").read_text().replace("server.js ./", "server.js probe.js ./"),
            "prompts/canary.md": CANARY,
            "scenarios/order_cake.yaml": scenario.partition("turns:")[0]
            + "turns:\n  - user: Look\n    expect: {state: CLOSED}\n",
            "scenarios/order_bread.yaml": None,
            "scenarios/recordings/order_bread.jsonl": None,
            "scenarios/recordings/order_cake.jsonl": None,
        }
        repository = node_bot(repositories, files)
        repository.propose({"prompts/baker.md": repository.text("prompts/baker.md") + "Be kind.\n"})
        live = {"llm": "live", "openai-api-key": key, "openai-base-url": f"{models.url}/v1"}
        run, _ = evaluated(act, repository, Adjustments(inputs=live))
    results = run.files()["ratiba-report/results.json"].decode()
    assert (run.outputs["conclusion"], run.outputs["passed"]) == ("passed", "1"), results + run.printed
    assert models.received, "the gateway used the key"
    assert word not in results


def addresses() -> list[str]:
    """Addresses of this machine that are not its loopback's."""
    shown = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True)
    return shown.stdout.split()


OWNER = (4321, 4322) if os.geteuid() == 0 else (os.geteuid(), os.getegid())


@dataclass(frozen=True)
class Hanging:
    """A step that evaluates a bot that never answers."""

    runner: HostedRunner

    def programs(self) -> list[int]:
        """Processes of the runner's program for containers."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = path.read_bytes().decode(errors="replace")
                if "engine.py" in words and str(self.runner.folder) in words:
                    found.append(int(path.parts[2]))
        return found

    def volumes(self) -> set[str]:
        """The volume of the channel, while it is there."""
        made = {path.read_text().strip() for path in self.runner.folder.glob("temp/*/channel")}
        shown = subprocess.run(["docker", "volume", "ls", "--quiet"], capture_output=True, text=True, check=True)
        return made & set(shown.stdout.split())

    def gates(self) -> list[str]:
        """The gate's container, while it runs."""
        made = [path.read_text().strip() for path in self.runner.folder.glob("temp/*/container")]
        shown = subprocess.run(["docker", "ps", "--quiet", "--no-trunc"], capture_output=True, text=True, check=True)
        return [each for each in made if each in shown.stdout.split()]

    def started(self) -> bool:
        """Whether the bot's server runs."""
        words = ["docker", "ps", "--format", "{{.Command}}", "--filter", "label=ratiba.system"]
        return "node" in subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def hanging(act: Act, repositories: Repositories, tmp_path: Path) -> Hanging:
    text = (EXAMPLE / SERVER).read_text()
    chat = "const { say, order }"
    assert chat in text
    repository = node_bot(repositories, {SERVER: text.replace(chat, f"await new Promise(() => {{}});\n  {chat}")})
    repository.propose({"prompts/baker.md": repository.text("prompts/baker.md") + "Be kind.\n"})
    for path in (repository.folder, *repository.folder.rglob("*")):
        shutil.chown(path, *OWNER)
    inputs = {"image": act.image, "comment": "false", "llm": "replay"}
    return Hanging(HostedRunner(act.action, repository, tmp_path, repository.pull_request_event(), inputs))


@pytest.mark.parametrize("ends", ["the job is cancelled", "the step is killed", "the gate dies", "the program dies"])
def test_nothing_of_it_outlives_its_step_however_that_ends(hanging: Hanging, ends: str) -> None:
    with hanging.runner.start("evaluate") as process:
        eventually(hanging.started, 120)
        (program,), volumes, gates = hanging.programs(), hanging.volumes(), hanging.gates()
        assert volumes
        environment = Path(f"/proc/{program}/environ").read_bytes()
        match ends:
            case "the job is cancelled":
                process.send_signal(signal.SIGINT)
            case "the step is killed":
                process.kill()
            case "the gate dies":
                subprocess.run(["docker", "kill", *gates], capture_output=True, check=True)
            case _:
                os.kill(program, signal.SIGKILL)
        if ends != "the step is killed":  # the gate goes on then, with the step's output, until the concluding step
            process.communicate(timeout=120)
    eventually(lambda: hanging.programs() == [] and left_over(images=ends != "the program dies") == [], 60)
    assert hanging.runner.conclude().returncode == 3
    shown = subprocess.run(["docker", "volume", "ls", "--quiet"], capture_output=True, text=True, check=True)
    assert not volumes & set(shown.stdout.split())
    assert left_over() == []
    assert not any(name.startswith((b"RATIBA_", b"GITHUB_")) for name in environment.split(b"\0"))
