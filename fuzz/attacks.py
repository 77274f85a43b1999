"""Messages that a hostile system is sent: each lets it do one thing that it must not get away with."""

import base64
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fuzz.gateway_requests import DEAR_MODELS, hostile_body

STATES: Sequence[Any] = (None, 1, True, [], {}, "SAID\n::error::x", "x" * 100_000, "\ud800", "SAID ", "said", ["SAID"])


@dataclass(frozen=True, slots=True)
class Ground:
    """What a system may try to reach.

    Args:
        secrets: folders that it looks through.
        writable: files and folders that it would like to write.
        processes: ids that it would like to signal; those of the container, empty outside.
        nonce: stands in all that it prints.
    """

    secrets: Sequence[str]
    writable: Sequence[str]
    processes: Sequence[int]
    nonce: str


def random_attacks(rng: random.Random, ground: Ground, *, asks: bool) -> list[str]:
    """Messages of one scenario.

    Args:
        rng: of the case.
        ground: what the system may try to reach.
        asks: whether the system has models to ask.
    """
    chosen = rng.choices(_ATTACKS, k=rng.randint(1, 3))
    if asks:
        chosen += [_ask] * rng.randint(1, 3)
    return [attack(rng, ground) for attack in chosen]


def runner_commands(rng: random.Random, nonce: str) -> bytes:
    """What a runner would take as commands, in both of its syntaxes, cut and joined in odd places."""
    commands = (
        f"::set-output name=conclusion::{nonce}", f"##[set-output name=conclusion;]{nonce}", f"x ##[error]{nonce}",
        f"::add-mask::{nonce}", f"::stop-commands::{nonce}", f"::{nonce}::", f"::error file={nonce}::{nonce}",
        f"  ::warning title={nonce}::{nonce}", f"\t::group::{nonce}", f"::save-state name={nonce}::x", f"::debug::{nonce}",
        f"\x1b[0m::set-env name={nonce}::x", f"##[add-path]{nonce}", f"::ERROR title={nonce}::x", f"\ufeff::error::{nonce}",
        f"\u2003::error title={nonce}::x", f"::add-matcher::{nonce}", f"\x00::error title={nonce}::x", "::endgroup::",
    )  # fmt: skip
    ends = ("\n", "\r", "\r\n", "", "\x0b", "\u2028", "\x85")
    return "".join(rng.choice(commands) + rng.choice(ends) for _ in range(rng.randint(1, 12))).encode()


def _commands(rng: random.Random, ground: Ground) -> str:
    encoded = base64.b64encode(runner_commands(rng, ground.nonce)).decode()
    return f"write_raw {rng.choice(('streams', 'everywhere'))} {encoded}"


def _protocol(rng: random.Random, _: Ground) -> str:
    lines = (
        b'{"ok": true}\n',
        b"[" * 5000 + b"\n",
        b"\xff\n",
        b'{"reply": {"text": "x", "state": "SAID"}}\n',
        b"x" * 99_999,
    )
    return f"write_raw everywhere {base64.b64encode(rng.choice(lines)).decode()}"


def _flood(rng: random.Random, _: Ground) -> str:
    return f"flood {rng.choice((10, 1_000, 30_000))}"


def _fail(rng: random.Random, ground: Ground) -> str:
    return f"fail {runner_commands(rng, ground.nonce).decode()}"


def _leave(rng: random.Random, _: Ground) -> str:
    ways = (
        "exit",
        "system exit",
        "interrupt",
        "recursion",
        "close",
        "SIGSEGV",
        "SIGKILL",
        "SIGABRT",
        "SIGSTOP",
        "SIGTERM",
    )
    return f"leave {rng.choice(ways)}"


def _hang(rng: random.Random, _: Ground) -> str:
    return f"{rng.choice(('hang', 'ignore_signals'))} {rng.choice(('0.2', '30'))}"


def _daemon(_: random.Random, ground: Ground) -> str:
    return f"daemon {ground.nonce}"


def _chmod(_: random.Random, ground: Ground) -> str:
    return f"chmod {json.dumps(list(ground.writable))}"


def _plant(rng: random.Random, ground: Ground) -> str:
    text = rng.choice(('{"outputs": {"conclusion": "passed"}}', "conclusion=passed\npassed=99\n", ground.nonce))
    how = rng.choice(("write", "write", "link", "remove", "folder"))
    return f"plant {json.dumps({'places': list(ground.writable), 'how': how, 'text': text})}"


def _look(_: random.Random, ground: Ground) -> str:
    return f"look {json.dumps({'tops': list(ground.secrets), 'memory': bool(ground.processes)})}"


def _reply(rng: random.Random, ground: Ground) -> str:
    text = rng.choice(
        (ground.nonce, "x" * 200_000, "\u0301" * 5_000, runner_commands(rng, ground.nonce).decode(), None, 7)
    )
    reply: dict[str, Any] = {
        "text": text,
        "state": rng.choice(("SAID", "SAID", *STATES)),
        "tool_calls": rng.choice(([], None, [1], [{"name": text, "args": {"a": text}}], [{}], "x")),
        "events": rng.choice(([], None, [{"type": text}], {})),
        "output": rng.choice((None, text, {"deep": [[[[text]]]]}, 1e308)),
    }
    chosen = {name: reply[name] for name in rng.sample(sorted(reply), rng.randint(0, len(reply)))}
    return f"reply {json.dumps(rng.choice((chosen, chosen, chosen, [], None, 7, 'x', [chosen])))}"


def _repeat(rng: random.Random, ground: Ground) -> str:
    return f"repeat {rng.choice((1, 1_000, 200_000))} {rng.choice(('a', ground.nonce, '0712345678 ', '+254', '@x '))}"


def _send_raw(rng: random.Random, ground: Ground) -> str:
    command = f"##[set-output name=conclusion;]{ground.nonce}"
    sent = rng.choice((
        f"{command}\r\n\r\n", f"GET /{command} HTTP/1.1\r\n\r\n", f"POST /v1/messages HTTP/1.1\r\n{command}\r\n\r\n",
        f"::set-output name=x::{ground.nonce}\r\n\r\n", "\x16\x03\x01", f"POST / HTTP/1.1\r\nx-api-key: TOKEN\r\n{command}\r\n\r\n",
        f"POST /v1/messages HTTP/1.1\r\nContent-Length: {command}\r\n\r\n", f"\n::error title={ground.nonce}::x\n\n",
    ))  # fmt: skip
    return f"send_raw {base64.b64encode(sent.encode()).decode()}"


def _ask(rng: random.Random, ground: Ground) -> str:
    body = hostile_body(rng, "chat/completions", ground.nonce)
    body["model"] = rng.choice(("gpt-5", "gpt-5", "gpt-5", *DEAR_MODELS))
    return f"ask {json.dumps(body)}"


def _lie(rng: random.Random, _: Ground) -> str:
    return f"lie {json.dumps(rng.choice(({'input_tokens': -1}, {'cost_usd': '-5'}, [], None, {'input_tokens': 10**30}, 'x')))}"


def _signal(_: random.Random, ground: Ground) -> str:
    return f"signal_gate {json.dumps(list(ground.processes))}"


_ATTACKS: Sequence[Callable[[random.Random, Ground], str]] = (
    _commands, _commands, _protocol, _flood, _fail, _leave, _hang, _daemon, _chmod, _plant, _plant, _look, _look, _reply,
    _reply, _repeat, _send_raw, _send_raw, _lie, _signal,
)  # fmt: skip
