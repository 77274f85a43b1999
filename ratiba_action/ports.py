"""What the gate needs of the world, as protocols. Adapters implement them; ``composition`` wires them together.

Fakes that implement each port are in ``tests.support``; one contract suite per port runs on fake and real
(``tests/conformance``).
"""

from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ratiba_action.errors import RatibaError
from ratiba_action.model.conversation import (
    AnsweredCalls,
    CustomerEnding,
    Exchange,
    JournaledAnswer,
    Party,
    Reply,
    ReportedUsage,
    Reservation,
    Usage,
)
from ratiba_action.model.event import Event
from ratiba_action.model.measurement import Answer, Case, Question, ScenarioResult, Score
from ratiba_action.model.model_request import ModelAnswer, ModelRequest, PaidAnswer, PaidRequest, ToolPrices
from ratiba_action.model.plan import Arm, Tenant, Trial
from ratiba_action.model.scenario import Scenario, SimulatedUser, Turn
from ratiba_action.model.values import JsonObject, Usd


class Session(Protocol):
    """One conversation with the system under test."""

    async def send(self, turn: Turn) -> Reply:
        """Deliver the customer's message or the event, and wait for the whole reply.

        Raises:
            WorkerError: the system raised, hung, ended or answered outside the protocol.
            RecordingError: the system asked for a model answer that no recording holds.
            BudgetError: one of the system's model calls was refused.
        """
        ...

    @property
    def reported_usage(self) -> Sequence[ReportedUsage]:
        """The model calls that bypass the gateway, as the last reply reports them; empty where it reports none."""
        ...

    async def close(self) -> None:
        """End the conversation; may be called twice."""
        ...


class SystemUnderTest(Protocol):
    """The conversational system of one arm."""

    async def start(self) -> None:
        """Make ready to open sessions: set up, preload.

        Raises:
            WorkerError: the system's interpreter or adapter cannot be started.
        """
        ...

    async def migrate(self, dsn: str) -> None:
        """Create the system's tables in the schema that ``dsn`` points at."""
        ...

    async def open(self, scenario: Scenario, tenant: Tenant, environment: Mapping[str, str]) -> Session:
        """Start a conversation in a tenant, with a few more environment variables (gateway addresses and token)."""
        ...

    async def close(self) -> None:
        """End every process that was started; may be called twice."""
        ...


class RunningContainer(Protocol):
    """A container that was started; made by ``Pod.run``."""

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""
        ...

    async def wait(self, seconds: float) -> int | None:
        """Wait for its end at most that long; its exit code, None while it runs."""
        ...

    async def output(self) -> str:
        """What it printed last."""
        ...


class Pod(Protocol):
    """The containers of one conversation: one network that holds nothing but them and one end of a relay.

    Attributes:
        reader: what the relay sends.
        writer: to the relay.
    """

    reader: StreamReader
    writer: StreamWriter

    async def run(
        self, image: str, environment: Mapping[str, str], command: Sequence[str] = (), *, secrets: Collection[str] = ()
    ) -> RunningContainer:
        """Start one more container, which has this environment and what its image sets, and no more.

        Args:
            command: instead of the image's own.
            secrets: names of variables whose values stand on no command line.

        Raises:
            WorkerError: it cannot be started.
        """
        ...

    async def output(self) -> str:
        """What the relay, or who started it, printed; the reason if it never listened."""
        ...

    async def end(self) -> None:
        """End and remove every container of it; may be called twice."""
        ...


class ContainerEngine(Protocol):
    """Builds images, and starts containers without privileges and without a network."""

    async def prepare(self) -> None:
        """Have what a pod needs, and remove what gates left that were killed.

        Raises:
            WorkerError: the engine cannot be used.
        """
        ...

    async def build(self, folder: Path, dockerfile: str, seconds: float) -> str:
        """Build an image; returns its name.

        Args:
            folder: the build's context.
            dockerfile: path below it.

        Raises:
            ImageError: it cannot be built; says its last lines.
            WorkerError: the engine cannot be used.
        """
        ...

    async def pull(self, image: str) -> None:
        """Make sure that an image is there.

        Raises:
            WorkerError: it cannot be had.
        """
        ...

    async def open_pod(self, listening: Collection[int], targets: Collection[int]) -> Pod:
        """Start a relay in a network of its own.

        Args:
            listening: ports at which the containers reach the relay's other end.
            targets: ports of the containers that the other end may name.

        Raises:
            WorkerError: it cannot be started.
        """
        ...

    async def discard(self, image: str) -> None:
        """Remove an image that was built; never raises."""
        ...


class TeamTests(Protocol):
    """Runs tests of the repository's own, out of the gate's reach."""

    async def open_test(
        self,
        scenario: Scenario,
        tenant: Tenant,
        environment: Mapping[str, str],
        judge: Callable[[Any], Awaitable[JsonObject]],
    ) -> Session:
        """Start a process for a test; its questions to the judge are untrusted."""
        ...


class CustomCode(Protocol):
    """Runs rules and metrics that lie in the repository under test, out of the gate's reach."""

    async def run(
        self, address: str, evidence: JsonObject, judge: Callable[[Any], Awaitable[JsonObject]] | None = None
    ) -> Any:
        """Call ``module:attribute`` with plain data, and return its answer as plain data.

        A class is made without arguments; what has a method ``measure`` is asked by it, anything else is called.

        Args:
            address: ``module:attribute``.
            judge: answers the questions that the code asks; they are untrusted. What it raises ends the code and is
                raised here. None for code that may not call a judge.

        Raises:
            WorkerError: it cannot be imported, raised, hung, ended, or its answer is no JSON.
        """
        ...

    async def describe(self, address: str) -> JsonObject:
        """Which code a metric is: ``code``, a digest of its files, and ``deepeval``, a version or None; untrusted.

        Raises:
            WorkerError: it cannot be imported, hung or ended.
        """
        ...


class TenantProvisioner(Protocol):
    """Fresh tenants on one PostgreSQL server."""

    async def start(self) -> None:
        """Connect, check the rights that will be needed, and sweep what crashed runs left behind.

        Raises:
            DatabaseError: the server cannot be reached or lacks a right; says which and how to grant it.
        """
        ...

    async def prepare(self, arm: Arm, migrate: Callable[[str], Awaitable[None]]) -> None:
        """Build the arm's template schema once: ``migrate`` is given a connection string for it."""
        ...

    def provision(self, scenario_id: str, arm: Arm, trial: int = 0) -> AbstractAsyncContextManager[Tenant]:
        """A fresh tenant cloned from the arm's template; dropped on every way out.

        Raises:
            DatabaseError: the server refused or went away.
        """
        ...

    async def read(self, tenant: Tenant, queries: Mapping[str, str]) -> Mapping[str, tuple[JsonObject, ...]]:
        """Rows of each named query, read in the tenant's schema by its own role, read-only."""
        ...

    async def close(self) -> None:
        """Drop every schema and role of this run and end the server if it was started here; may be called twice."""
        ...


class Judge(Protocol):
    """A model that answers questions about a conversation. Instructions are ours; the transcript is quoted data."""

    @property
    def model(self) -> str:
        """Identifier of the judge's model, with its version."""
        ...

    async def answer(self, question: Question) -> Answer:
        """Answer one question in the shape that it asks for.

        Raises:
            JudgeError: the answer is out of range, not parsable, empty or of another shape.
            RecordingError: replaying, and no recording fits.
            BudgetError: the call was refused.
        """
        ...


class Metric(Protocol):
    """One way to measure a conversation; a fresh instance per case."""

    name: str
    version: str
    judged: bool

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case.

        Raises:
            JudgeError: a judge answered outside its contract.
            RecordingError: replaying, and no recording fits.
            BudgetError: a judge's call was refused.
        """
        ...


@runtime_checkable
class CodeMetric(Metric, Protocol):
    """A metric of ours that runs what a model wrote; only out of the gate's reach."""

    def with_code(self, code: CustomCode) -> Metric:
        """The same metric, with somebody to run it."""
        ...


class CustomerSimulator(Protocol):
    """Plays the customer of a scenario."""

    async def next_message(
        self, trial: Trial, user: SimulatedUser, exchanges: Sequence[Exchange], ordinal: int
    ) -> str | CustomerEnding:
        """What the customer writes next, or why they write no more.

        Args:
            ordinal: number of this message, from 0.

        Raises:
            RecordingError: replaying, and no recording fits.
            ProviderError: the model gave no usable answer.
            BudgetError: the call was refused.
        """
        ...


class JudgedMetric(Metric, Protocol):
    """A metric that calls a judge."""

    def evidence(self, case: Case) -> str:
        """SHA-256 of exactly what the judge is shown of a case: the same evidence may have the same score."""
        ...


class ModelAccess(Protocol):
    """One scenario's way to its models: an address and a token, for as long as the conversation lasts."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that point the providers' SDKs at the gateway."""
        ...

    @property
    def problems(self) -> Sequence[RatibaError]:
        """Requests that could not be answered, whatever the system made of that."""
        ...

    @property
    def stale(self) -> RatibaError | None:
        """Why a recorded answer to another request stands in, from the first such answer on; None where each fits."""
        ...

    @property
    def models(self) -> Sequence[str]:
        """Models that were asked so far."""
        ...

    @property
    def calls(self) -> AnsweredCalls:
        """The calls that were answered so far."""
        ...

    def close(self) -> None:
        """Void the token; may be called twice."""
        ...


class ModelGateway(Protocol):
    """The only way from the system under test to a model."""

    def open_scenario(
        self, scenario_id: str, trial: int, arm: str, *, seen: Callable[[ModelRequest], None]
    ) -> ModelAccess:
        """Give one trial of a scenario on one arm a token of its own; ``seen`` is given each request that it makes."""
        ...


class AnswerSource(Protocol):
    """Where the gateway's answers come from. A source books each call in the ledger itself."""

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """Answer one call.

        Raises:
            RecordingError: replaying, and no recording fits.
            BudgetError: the call might pass the cap.
            ConfigurationError: the model has no price.
        """
        ...


class Reservations(Protocol):
    """Reservations for live calls: each attempt is reserved before it is made, then closed exactly once.

    Closing is shielded: a caller that is cancelled meanwhile is cancelled after the amounts are recorded. What cannot
    be written when a call is closed is a warning of the run: there the call stays reserved at its upper bound.
    """

    async def reserve(
        self, party: Party, scenario_id: str, model: str, upper: Usd, *, exact: bool = False
    ) -> Reservation:
        """Set money aside for one attempt that can cost at most ``upper``.

        An upper bound that an answer of the same model has passed is not trusted again: as much as that answer cost is
        set aside, if it is more. What is ``exact`` is no bound but what the attempt costs.

        Waits while the attempt does not fit beside those in flight but may once they are closed. Cancelled or
        failed, it leaves nothing reserved.

        Raises:
            BudgetError: the attempt cannot fit any more: the cap of the run, the pull request or the month.
            LedgerError: the write-ahead journal or the shared ledger could not write it down; no call may be made.
        """
        ...

    async def settle(
        self, reservation: Reservation, usage: Usage, cost: Usd, answer: JournaledAnswer | None = None
    ) -> None:
        """Record what the attempt cost instead of its reservation, and keep its answer for a resumed run.

        Raises:
            ValueError: the reservation was closed before, or belongs to another run.
            BudgetError: the cost is not an exact amount; the reservation stays open.
        """
        ...

    async def keep(self, reservation: Reservation) -> None:
        """Count the whole reservation as spent: what became of the attempt is unknown.

        Raises:
            ValueError: the reservation was closed before, or belongs to another run.
        """
        ...

    async def release(self, reservation: Reservation) -> None:
        """Give the reservation back: the provider certainly charges nothing.

        Raises:
            ValueError: the reservation was closed before, or belongs to another run.
        """
        ...


class PaidCalls(Protocol):
    """Live model calls within the budget: bounded, reserved, retried and booked. Never streamed."""

    async def call(self, request: PaidRequest) -> PaidAnswer:
        """The provider's whole answer, or that of an earlier process of the same run, which costs nothing.

        Raises:
            BudgetError: the call does not fit into the budget any more.
            ConfigurationError: the model has no price, the provider has no key, or the most that the request can
                cost cannot be known.
            ProviderError: the provider refused, could not be reached, or its answer cannot be used; after retries.
            LedgerError: the money could not be written down.
        """
        ...


class Prices(Protocol):
    """List prices of models."""

    def require(self, models: Iterable[tuple[str, str]]) -> None:
        """Check, before anything is run, that each (model, provider) has a price.

        Raises:
            ConfigurationError: some have none; names all of them and how to give a price.
        """
        ...

    def price(self, model: str, provider: str, usage: Usage) -> Usd:
        """What a call cost.

        Raises:
            ConfigurationError: the model has no price.
        """
        ...

    def price_of_answer(self, model: str, provider: str, usage: Usage, answered_by: str) -> Usd | None:
        """What a call cost: the higher price of two models, the one asked for and the one that answered.

        Args:
            answered_by: the model that answered, as the answer names it; empty where that is ``model``, or unknown.

        Returns:
            None where another model answered, and no price is known for it.

        Raises:
            ConfigurationError: the model asked for has no price.
        """
        ...

    def upper_bound(self, model: str, provider: str, input_tokens: int, output_tokens: int) -> Usd:
        """The most that a call with at most so many tokens can cost, however its input is cached.

        Raises:
            ConfigurationError: the model has no price.
        """
        ...

    def tools(self, model: str, provider: str) -> ToolPrices:
        """What the tools cost that the provider runs while this model answers."""
        ...


class TurnBooks(Protocol):
    """Books what turns cost whose model calls bypass the gateway."""

    @property
    def reported_calls(self) -> int:
        """How many model calls replies reported that the gateway did not see."""
        ...

    async def before(self, scenario_id: str, arm: str) -> None:
        """A turn is about to be sent on one arm.

        Raises:
            BudgetError: what it may cost might pass a cap; it must not be sent.
        """
        ...

    async def after(self, scenario_id: str, reported: Sequence[ReportedUsage], arm: str) -> Usd | None:
        """A turn was answered, and the reply reports what it used.

        Returns:
            The estimated cost of the calls of the turn that bypass the gateway; None where it is not known.

        Raises:
            BudgetError: what it cost is not known, or was more than there was.
            ConfigurationError: a judge's own model was called.
        """
        ...


class Progress(Protocol):
    """Someone who watches a run."""

    def started(self, total: int) -> None:
        """So many trials are about to run."""
        ...

    def advanced(self, result: ScenarioResult) -> None:
        """One trial has its result."""
        ...

    def finished(self) -> None:
        """No more will come."""
        ...


class EventLog(Protocol):
    """Where everything that happens in a run is written down as it happens."""

    @property
    def run(self) -> str:
        """Id of the run; a resumed one keeps it."""
        ...

    @property
    def path(self) -> Path | None:
        """File that can be read once the run has ended; None where nothing is written down."""
        ...

    def emit(self, event: Event) -> None:
        """Write an event down at once, masked. Never raises and never waits for a network: what fails is a warning."""
        ...


class CommentedChanges(Protocol):
    """Changes that people comment on: GitHub's pull requests, GitLab's merge requests.

    Objects have the shape of GitHub's JSON. Every method raises ExchangeError where the server refuses, does not answer
    in time, or answers anything that is not understood.
    """

    def pull_request(self, number: int) -> Any:
        """One pull request."""
        ...

    def comments(self, number: int) -> Iterator[Any]:
        """The comments below a pull request, oldest first."""
        ...

    def create_comment(self, number: int, body: str) -> Any:
        """Write a comment below a pull request; gives it back."""
        ...

    def edit_comment(self, comment: int, body: str) -> Any:
        """Replace a comment's text; gives the comment back."""
        ...

    def delete_comment(self, comment: int) -> None:
        """Remove a comment."""
        ...


class GithubRepository(CommentedChanges, Protocol):
    """What the gate asks GitHub about one repository, and writes there.

    Objects are GitHub's JSON as it came: whoever reads them checks their shape. Lists are read page by page, as far as
    they are used. ``github/urllib_repository.py`` needs the standard library only, ``github/pygithub_repository.py`` is
    PyGithub; token, retries, deadline and errors are those of ``GithubApi`` in both.

    Every method raises GithubError where GitHub refuses, does not answer in time, or answers anything that is not
    understood.
    """

    def repository(self) -> Any:
        """The repository itself."""
        ...

    def branch(self, name: str) -> Any:
        """One branch, with the commit that it points at."""
        ...

    def open_pull_requests(self, head: str) -> Iterator[Any]:
        """The open pull requests from a branch.

        Args:
            head: ``owner:branch``.
        """
        ...

    def changed_files(self, number: int) -> Iterator[Any]:
        """The files of a pull request."""
        ...

    def set_status(self, commit: str, *, state: str, context: str, description: str, url: str) -> None:
        """Set a status of a commit.

        Args:
            commit: its full id.
            state: ``success``, ``failure``, ``error`` or ``pending``.
            context: its name; of several statuses with one name the last one counts.
            description: at most 140 characters.
            url: where it leads; empty for nowhere.
        """
        ...

    def artifacts(self, name: str) -> Iterator[Any]:
        """The repository's artifacts of a name, newest first."""
        ...

    def artifacts_of_run(self, run: int, name: str) -> Iterator[Any]:
        """One workflow run's artifacts of a name."""
        ...

    def successful_runs(self, commit: str, branch: str, event: str) -> Iterator[Any]:
        """The workflow runs of a commit that an event started on a branch, and that succeeded."""
        ...

    def workflow_run(self, run: int) -> Any:
        """One workflow run, with what started it and where its commit comes from."""
        ...

    def comparison(self, base: str, head: str) -> Any:
        """How two commits stand to each other."""
        ...

    def last_commits(self, path: str, commit: str) -> Any:
        """The last commit up to a commit that touched a path, in a list; an empty list where none did."""
        ...

    def download_artifact(self, artifact: int) -> bytes:
        """An artifact's archive."""
        ...
