"""Any event with any payload, and a change whose configuration has keys sent to an address of its own."""

import base64
import json
import random
from collections.abc import Mapping
from typing import Any

from fuzz.case import Case
from fuzz.regression import gate_environment
from tests.support.consumer_repository import NAME, ConsumerRepository
from tests.support.git_repository import GitRepository
from tests.support.github_server import GithubState, github_server
from tests.support.receiver import Reply, receiver

EVENTS = (
    *("pull_request", "pull_request_review", "push", "merge_group", "workflow_dispatch", "schedule", "") * 4,
    "pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment", "issue_comment", "issues",
    "push", "create", "delete", "release", "merge_group", "workflow_dispatch", "workflow_run", "workflow_call", "schedule",
    "repository_dispatch", "deployment", "deployment_status", "check_run", "check_suite", "status", "fork", "watch", "gollum",
    "label", "milestone", "discussion", "discussion_comment", "registry_package", "page_build", "public", "member", "",
    "Pull_Request", "pull_request ", "push\n", "__proto__", "x" * 300, "../push", "none",
)  # fmt: skip
CI_SIGNS: tuple[Mapping[str, str], ...] = (
    *({"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "31"},) * 6, {"GITHUB_ACTIONS": "true"}, {"GITHUB_RUN_ID": "31"},
    {"CI": "true"}, {"GITLAB_CI": "true", "CI_JOB_ID": "5"}, {"GITHUB_ACTIONS": "TRUE"}, {"GITHUB_ACTIONS": "1"},
)  # fmt: skip
REPLAYED = "system:\n  replay: {}\n"
MERGED = f"{REPLAYED}judge: {{model: claude-opus-5-5, votes: 1}}\nprices:\n  claude-opus-5-5: {{input_per_million: 5, output_per_million: 25}}\n"
SCENARIO = """\
id: thanks
layer: replay
language: en
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 101"}
provenance: {source: written by hand}
turns:
  - user: Thank you
    reply: You are welcome, come back soon!
"""
MODEL = "judge-of-another-house"
NAMES = (
    "GROQ_API_KEY",
    "OPENAI_API_KEY",
    "RATIBA_OPENAI_API_KEY",
    "GITHUB_TOKEN",
    "ELSEWHERE_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
)
ZEROS = "0" * 40


def spend_under_any_event(case: Case) -> None:
    """``ratiba gate`` with keys, on any event; the address that the change wrote must receive none of them."""
    rng = case.rng
    answer = {
        "choices": [{"message": {"content": '{"score": 9, "reason": "x"}'}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1},
    }
    with receiver(usual=Reply(body=json.dumps(answer).encode())) as evil, receiver(usual=Reply(status=500)) as known:
        change = _proposed(case, evil.address, known.address)
        state = GithubState(heads={7: change.head})
        with github_server(state) as api:
            name, payload = rng.choice(EVENTS), _payload(rng, change)
            event = case.folder / "event.json"
            event.write_text(json.dumps(payload))
            sha = rng.choice((change.head, change.merged, change.base, ZEROS))
            keys = dict.fromkeys(NAMES, f"{case.secrets['anthropic']}")
            environment = gate_environment(case.folder) | keys | dict(rng.choice(CI_SIGNS)) | {
                "GITHUB_API_URL": rng.choice((api, api, "http://127.0.0.1:9")),
                "GITHUB_EVENT_NAME": name,
                "GITHUB_EVENT_PATH": str(event),
                "GITHUB_REPOSITORY": NAME,
                # GitHub starts schedules on the default branch, and no step can change the variable.
                "GITHUB_SHA": change.base if name == "schedule" else sha,
                "GITHUB_REF": rng.choice(("refs/heads/main", "refs/heads/change", "refs/pull/7/merge", "refs/tags/v1")),
                "GITHUB_WORKSPACE": str(change.folder),
                "RATIBA_ANTHROPIC_API_KEY": case.secrets["openai"],
                "RATIBA_ANTHROPIC_BASE_URL": known.address,
                "RATIBA_OPENAI_BASE_URL": f"{known.address}/v1",
                "RATIBA_COMMENT": "false",
                "RATIBA_DEADLINE": "20",
                "RATIBA_GITHUB_TOKEN": case.secrets["github"],
                "RATIBA_LLM": rng.choice(("live", "live", "auto")),
                "RATIBA_PROVIDER_KEYS": f"GROQ_API_KEY={case.secrets['checkout']}",
            }  # fmt: skip
            case.note = f"{name!r:.40} with {sorted(payload)}"
            done = case.services.forks.run(["gate"], change.folder, environment)
    case.count("gates under an event")
    case.count("requests to the change's own address", len(evil.posted))
    case.count("requests to the merged address", len(known.posted))
    sent = "\n".join(f"{post.path} {dict(post.headers)} {post.body!r}" for post in evil.posted)
    case.require_no_secret({"requests to the change's own address": sent + decoded(sent)})
    case.require_no_secret({"log": f"{done.stdout}{done.stderr}"})
    case.require_no_defect(f"{done.stdout}\n{done.stderr}")


def decoded(text: str) -> str:
    """Whatever may be base64 in a text, as text."""
    found = []
    for word in text.replace("'", " ").replace(":", " ").split():
        try:
            found.append(base64.b64decode(word, validate=True).decode(errors="replace"))
        except ValueError:
            continue
    return "\n".join(found)


def _proposed(case: Case, evil: str, known: str) -> ConsumerRepository:
    rng = case.rng
    source = case.folder / "empty"
    source.mkdir()
    base: dict[str, str | bytes | None] = {"scenarios/thanks.yaml": SCENARIO, "prompts/x.md": "x\n"}
    before = rng.choice((REPLAYED, MERGED, MERGED, MERGED, None, "broken: [", _at(rng, known), _at(rng, known)))
    if before is not None:
        base[".github/ratiba.yml"] = before
    change = ConsumerRepository(source, case.folder / "checkout", base)
    change.propose({".github/ratiba.yml": _at(rng, evil), "prompts/x.md": "y\n"})
    git = GitRepository(change.folder).git
    git("update-ref", "refs/remotes/origin/main", change.base)  # which every CI system's checkout has
    if rng.random() < 0.2:  # the change itself is checked out, not its merge
        git("checkout", "--quiet", change.head)
    return change


def _at(rng: random.Random, address: str) -> str:
    """A configuration whose judge stands at an address."""
    key = rng.choice(NAMES)
    block: dict[str, Any] = {
        "openai": {"api": "openai", "base_url": f"{address}/v1", "key": key},
        "anthropic": {"api": "anthropic", "base_url": address, "key": key},
        "azure": {"api": "azure", "base_url": address, "key": key, "deployment": "x", "api_version": "2024-10-21"},
        "gemini": {"api": "gemini", "base_url": address, "key": key},
        "bedrock": {"api": "bedrock", "region": "eu-west-1", "base_url": address},
    }[rng.choice(("openai", "openai", "anthropic", "azure", "gemini", "bedrock"))]
    if rng.random() < 0.2:
        block["gateway"] = True
    name = rng.choice(("evil", "evil", "groq", "openai", "anthropic"))
    prices = f"prices:\n  {MODEL}: {{input_per_million: 1, output_per_million: 1}}\n"
    return f"{REPLAYED}providers:\n  {name}: {json.dumps(block)}\n{_judge(name, MODEL)}{prices}"


def _judge(provider: str, model: str) -> str:
    return f"judge: {{provider: {provider}, model: {model}}}\n"


def _payload(rng: random.Random, change: ConsumerRepository) -> dict[str, Any]:
    """Parts of the payloads of many events, each perhaps missing, another's, or of the wrong type."""
    commits = (change.base, change.base, change.head, change.merged, ZEROS, "f" * 40, "", None, "main")

    def commit() -> Any:
        return rng.choice(commits)

    request = change.pull_request_event()["pull_request"]
    request |= {"base": {**request["base"], "sha": commit()}, "head": {**request["head"], "sha": commit()}}
    parts: dict[str, Any] = {
        "pull_request": rng.choice((request, request, change.pull_request_event()["pull_request"], None, [], "x")),
        "issue": {"number": 7, "pull_request": rng.choice(({}, None, {"url": "x"}))},
        "comment": {"body": "/ratiba run"},
        "review": {"state": "approved", "commit_id": commit()},
        "workflow_run": {"head_sha": commit(), "head_branch": "change", "event": rng.choice(EVENTS), "pull_requests": [request]},
        "merge_group": {"base_sha": commit(), "head_sha": commit(), "base_ref": "refs/heads/main"},
        "inputs": rng.choice(({}, {"pull-request": "7"}, {"pull_request": "7"}, None)),
        "client_payload": {"pull_request": request, "ref": "refs/heads/change"},
        "before": commit(), "after": commit(), "created": rng.choice((True, False)),
        "ref": rng.choice(("refs/heads/main", "refs/heads/change", "refs/tags/v1", "", None)),
        "schedule": "0 0 * * *", "deployment": {"sha": commit(), "ref": "main"}, "action": "created",
    }  # fmt: skip
    chosen = {name: parts[name] for name in rng.sample(sorted(parts), rng.choice((0, 1, 2, 4, len(parts))))}
    branch = rng.choice(("main", "main", "change", "", None))
    return chosen | {"repository": {"full_name": NAME, "default_branch": branch}, "number": 7}
