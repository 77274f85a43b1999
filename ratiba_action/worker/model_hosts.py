"""Hosts of models that a system reaches by itself, past the gateway, as an audit hook of Python sees them.

A client that does not read the gateway's address from its environment looks its provider's own host up. Where that host
cannot be reached, the first attempt ends the turn with what to do, before the client's retries; where it can, the call
goes on and is reported. See ``docs/decisions/0123``.
"""

from __future__ import annotations

import re
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_HOSTS, _MAX_NAME = 50, 200
SECONDS = 5.0
"""Within which a host has to be reached."""
_OPENAI = (
    "api.openai.com", "eu.api.openai.com", "us.api.openai.com", "api.cerebras.ai", "api.deepinfra.com",
    "api.deepseek.com", "api.fireworks.ai", "api.groq.com", "api.mistral.ai", "api.perplexity.ai", "api.together.ai",
    "api.together.xyz", "api.x.ai", "codestral.mistral.ai", "integrate.api.nvidia.com", "models.github.ai",
    "openrouter.ai", "router.huggingface.co",
)  # fmt: skip
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "host.docker.internal"})
_OLLAMA_PORT = 11434
_OLLAMA = f":{_OLLAMA_PORT}"
_KINDS = (
    (re.compile("|".join(map(re.escape, _OPENAI))), "openai"),
    (re.compile(r"api\.anthropic\.com"), "anthropic"),
    (re.compile(r"generativelanguage\.googleapis\.com"), "gemini"),
    (re.compile(r"[\w-]+\.(?:openai|services\.ai)\.azure\.com"), "azure"),
    (re.compile(r"bedrock-runtime(?:-fips)?\.[\w-]+\.amazonaws\.com"), "bedrock"),
    (re.compile(r"api\.cohere\.(?:com|ai)|(?:[\w-]+-)?aiplatform\.googleapis\.com"), "none"),
)
_INSTEAD = {
    "openai": (
        "OPENAI_BASE_URL",
        '{argument}=os.environ["OPENAI_BASE_URL"]{change}, api_key=os.environ["OPENAI_API_KEY"]',
    ),
    "anthropic": (
        "ANTHROPIC_BASE_URL",
        '{argument}=os.environ["ANTHROPIC_BASE_URL"], api_key=os.environ["ANTHROPIC_API_KEY"]',
    ),
    "gemini": (
        "GOOGLE_GEMINI_BASE_URL",
        'the address os.environ["GOOGLE_GEMINI_BASE_URL"] and the key os.environ["GEMINI_API_KEY"]',
    ),
    "azure": (
        "OPENAI_BASE_URL",
        'azure_endpoint=os.environ["OPENAI_BASE_URL"].removesuffix("/v1"), api_key=os.environ["OPENAI_API_KEY"]',
    ),
    "bedrock": (
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        'endpoint_url=os.environ["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"]',
    ),
}
"""By format: the variable with the gateway's address, and what to give a client that does not read it."""
_WITHOUT_VERSION = '.removesuffix("/v1")'
_LIBRARIES = (
    ("llama_index", "", "LlamaIndex", "api_base", ""),
    ("litellm", "", "LiteLLM", "api_base", ""),
    ("groq", "api.groq.com", "Groq's client", "base_url", _WITHOUT_VERSION),
    ("together", "api.together.", "Together's client", "base_url", _WITHOUT_VERSION),
    ("mistralai", "mistral.ai", "Mistral's client", "server_url", _WITHOUT_VERSION),
)
"""Module, a part of the hosts that it is for, name, argument for the address, and what is done to that."""
_BUILT_IN = ("openai.com", "anthropic.com")
_MEANT = "If the call is to bypass the gateway, set `system.price_per_turn_usd`."


class ModelHostError(BaseException):
    """A host of models that cannot be reached. No ``Exception``: clients retry those, for minutes."""


class ModelHosts:
    """The hosts of models that this process has looked up."""

    def __init__(self) -> None:
        self._reached: dict[str, bool] = {}
        self._probes: set[int] = set()
        self._called: set[str] = set()

    def install(self) -> None:
        """Watch from now on. An interpreter keeps its hooks to its end."""
        look_up = self._look_up

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            if event == "socket.getaddrinfo":
                look_up(*arguments[:2])

        sys.addaudithook(hook)

    @property
    def reached(self) -> list[str]:
        """Those that could be reached, sorted."""
        return sorted(host for host, reached in self._reached.items() if reached)

    def begin(self) -> None:
        """Forget which hosts were called, for ``explain``: a request of the gate begins."""
        self._called.clear()

    def explain(self, problem: BaseException) -> str:
        """What an exception says besides where hosts were called since ``begin``; empty for nothing."""
        if isinstance(problem, ModelHostError):
            return ""
        return "".join(f" ({problem_of(host, sys.modules)})" for host in sorted(self._called))

    def _look_up(self, name: Any, port: Any) -> None:
        """Raises ``ModelHostError``, and nothing else: what a hook raises is raised where the host is looked up."""
        host = known_host(name, port)
        if host is None or threading.get_ident() in self._probes:
            return
        self._called.add(host)
        if host not in self._reached:
            self._reached[host] = self._reaches(host)
        if not self._reached[host] and not host.endswith(_OLLAMA):  # systems try whether one runs
            raise ModelHostError(f"{host} cannot be reached, and {problem_of(host, sys.modules)}")

    def _reaches(self, host: str) -> bool:
        """Whether something accepts a connection; in a thread of its own, since a name may take long to look up."""
        found: list[bool] = []

        def probe() -> None:
            self._probes.add(threading.get_ident())
            local = host.endswith(_OLLAMA)
            try:
                socket.create_connection((host.removesuffix(_OLLAMA), _OLLAMA_PORT if local else 443), SECONDS).close()
                found.append(True)
            except Exception:  # noqa: BLE001, S110 - the system may have replaced the functions of ``socket``
                pass
            finally:
                self._probes.discard(threading.get_ident())

        thread = threading.Thread(target=probe, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no thread is left: it is not known
            return True
        thread.join(SECONDS)
        return bool(found)


def known_host(name: Any, port: Any) -> str | None:
    """A host of models as messages name it, with Ollama's port; None for every other host.

    Args:
        name: as ``getaddrinfo`` is given it.
        port: the same.
    """
    host = (name.decode("ascii", "replace") if isinstance(name, bytes) else str(name or "")).lower().rstrip(".")
    if host in _LOOPBACK:
        return f"{host}{_OLLAMA}" if str(port) == str(_OLLAMA_PORT) else None
    return host if _kind(host) is not None else None


def problem_of(host: str, modules: Iterable[str] = ()) -> str:
    """What a call of a host of models means, and what to write instead.

    Args:
        host: as ``known_host`` returns it.
        modules: top-level modules that the system has imported; the libraries among them are named.
    """
    kind = _kind(host)
    called = f"the system called {host} itself, bypassing the gateway"
    if kind not in _INSTEAD:
        return f"{called}, which does not serve this host's format: call the model in OpenAI's format. {_MEANT}"
    variable, fix = _INSTEAD[kind]
    known = [row[2:] for row in _LIBRARIES if row[0] in modules and row[1] in host and "{" in fix]
    name, argument, change = known[0] if known else ("its client", "base_url", "")
    fix = fix.format(argument=argument, change=change)
    declare = "" if host.endswith(_BUILT_IN) else " and declare its provider with `gateway: true`"
    return f"{called}: {name} did not read {variable}. Pass {fix}{declare}. {_MEANT}"


def _kind(host: str) -> str | None:
    """The format that the gateway answers a host's clients in, ``none`` for no format; None for an unknown host."""
    if host.endswith(_OLLAMA):
        return "openai"
    return next((kind for pattern, kind in _KINDS if pattern.fullmatch(host)), None)


def called_hosts(answer: Any) -> set[str]:
    """The hosts of models in what a process reports, which is untrusted."""
    reported = answer[:_MAX_HOSTS] if isinstance(answer, list) else ()
    return {host for host in reported if isinstance(host, str) and len(host) <= _MAX_NAME and _kind(host) is not None}


def notes_of_called(hosts: Iterable[str]) -> list[str]:
    """What the reader of a report should know about hosts of models that a system called; for arguments see above."""
    unknown = "Such calls are neither recorded nor replayed, and their cost is not counted."
    return [f"{(text := problem_of(host))[0].upper()}{text[1:]} {unknown}" for host in sorted(hosts)]
