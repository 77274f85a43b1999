"""A scenario's way to the gateway: its token, what it was answered, and the address where the gateway listens."""

import asyncio
import hmac
import secrets
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from ratiba_action.errors import ConfigurationError, RatibaError, RecordingError
from ratiba_action.llm.endpoints import FORMATS
from ratiba_action.model.conversation import AnsweredCalls, Party, Usage
from ratiba_action.model.model_request import ModelRequest
from ratiba_action.model.plan import HEAD
from ratiba_action.model.values import Usd
from ratiba_action.util.text import plural

_TOKEN_BYTES = 32


def ignore(_: ModelRequest) -> None:
    """For a scenario of which nobody looks at the requests."""


class ScenarioAccess:
    """One trial's access, from ``Gateway.open_scenario`` until ``close``; a context manager.

    Args:
        url: base address of the gateway, without a path.
        arm: name of the arm of the conversation.
        scripted: how many calls the scenario's script answers; None where it has none.
        seen: looks at each request before it is answered.
    """

    def __init__(
        self,
        url: str,
        scenario_id: str,
        trial: int,
        party: Party,
        *,
        arm: str = HEAD,
        scripted: int | None = None,
        seen: Callable[[ModelRequest], None] = ignore,
    ) -> None:
        self.scenario_id = scenario_id
        self.trial = trial
        self.party = party
        self.arm = arm
        self.seen = seen
        self._url = url
        self._token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._closed = False
        self._asked: Counter[str] = Counter()
        self._problems: list[RatibaError] = []
        self._stale: RecordingError | None = None
        self._models: set[str] = set()
        self._scripted = scripted
        self.stored = {wire.name: wire.stored(f"{scenario_id}/{trial}") for wire in FORMATS.values()}
        self._calls = AnsweredCalls()
        self._unanswered: set[asyncio.Task[object]] = set()

    @property
    def token(self) -> str:
        """The secret that stands in for an API key: 256 random bits."""
        return self._token

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that point the providers' SDKs at the gateway."""
        return gateway_environment(self._url, self._token)

    @property
    def problems(self) -> tuple[RatibaError, ...]:
        """What the gateway had to refuse, in order, whatever the system made of the HTTP error."""
        return tuple(self._problems)

    @property
    def stale(self) -> RecordingError | None:
        """Why the first answer that stands in for one that was not recorded does so; None where each one fits."""
        return self._stale

    @property
    def models(self) -> tuple[str, ...]:
        """Models that answered so far, sorted."""
        return tuple(sorted(self._models))

    @property
    def calls(self) -> AnsweredCalls:
        """The calls that were answered so far."""
        return self._calls

    @property
    def closed(self) -> bool:
        """Whether the token is refused by now."""
        return self._closed

    def admits(self, credential: str) -> bool:
        """Whether a credential is this access's token, compared in constant time; never after ``close``."""
        same = hmac.compare_digest(credential.encode("utf-8", "surrogateescape"), self._token.encode())
        return same and not self._closed

    def count_call(self, key: str) -> tuple[int, int]:
        """Count one more call: how many came before it, and how many of those had its key."""
        before = self._asked.total(), self._asked[key]
        self._asked[key] += 1
        return before

    def count_answer(self, model: str, usage: Usage, usd: Usd | None, *, replayed: bool, cut: str = "") -> None:
        """Keep what answered a call.

        Args:
            model: that answered, or would have.
            usage: tokens of the answer.
            usd: list price of the answer; None where it has none.
            replayed: no model was called for it now.
            cut: how it was cut at its output limit; empty where it was not.
        """
        self._models.add(model)
        before = self._calls
        total = before.usd + usd if before.usd is not None and usd is not None else None
        number = before.count + 1
        cuts = (*before.cuts, (number, cut)) if cut else before.cuts
        self._calls = AnsweredCalls(number, before.replayed + replayed, total, before.usage + usage, cuts)

    def note(self, problem: RatibaError) -> None:
        """Keep a problem for whoever runs the scenario."""
        self._problems.append(problem)

    def note_stale(self, problem: RecordingError) -> None:
        """Keep why a recorded answer to another request stands in from now on; the first reason stays."""
        self._stale = self._stale or problem

    def close(self) -> None:
        """Refuse the token from now on; may be called twice. A script that was not asked to its end is a problem.

        Calls without an answer are given up: nobody waits for them, and each holds one of the run's few places.
        """
        requests = self._asked.total()
        if not self._closed and self._scripted is not None and requests < self._scripted:
            asked = f"{requests} of {plural(self._scripted, 'step')}"
            problem = f"The system asked for {asked} of the script of scenario {self.scenario_id!r}."
            remedy = "Find out why the system made fewer model calls, or remove the unused steps from `script`."
            self.note(RecordingError(problem, remedy))
        self._closed = True
        for task in self._unanswered:
            task.cancel()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While the current task answers a call; ``close`` cancels it."""
        task = asyncio.current_task()
        if task is not None:
            self._unanswered.add(task)
        try:
            yield
        finally:
            if task is not None:
                self._unanswered.discard(task)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def gateway_environment(url: str, token: str) -> dict[str, str]:
    """Variables that point the providers' clients at the gateway with a token for a key."""
    return {name: value for wire in FORMATS.values() for name, value in wire.environment(url, token).items()}


LOOPBACK = "127.0.0.1"
JOB_NETWORK = "job"
"""Value of ``RATIBA_CONTAINER_NETWORK`` in a job with services; only its containers are in that network."""


def listening_host(system_url: str | None, network: str) -> str:
    """The address to bind.

    A service of the job cannot reach the loopback interface of the gate's container, so for one it is the container's
    own address in the job's network. The token of an open scenario is asked for there as everywhere.

    Args:
        system_url: of a system that runs elsewhere; None for one that the gate starts.
        network: value of ``RATIBA_CONTAINER_NETWORK``; empty outside the action.

    Raises:
        ConfigurationError: the system's host is not known in the job's network.
    """
    if system_url is None or network != JOB_NETWORK:
        return LOOPBACK
    try:
        parts = urlsplit(system_url)
        # A datagram's socket sends nothing to be connected; it only says from which address it would.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((parts.hostname or "", parts.port or 80))
            return str(probe.getsockname()[0])
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"The system's address {system_url!r} leads nowhere from the job's network: {error}.",
            "Write the service's name under `services:` and the port inside its container, such as "
            "http://booking:8000.",
        ) from error
