"""Promotes conversations that customers disliked: read, masked, compared with what is there, and written one by one."""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ratiba_action.errors import SuiteError, UsageError
from ratiba_action.observability.langfuse_asking import Deadline, LangfuseAccess, LangfuseError
from ratiba_action.observability.langfuse_server import LangfuseServer, connected
from ratiba_action.privacy.masking import Redactor
from ratiba_action.production.candidate import (
    Candidate,
    KnownScenarios,
    Review,
    candidate_file,
    is_there,
    make_candidate,
    path_of,
)
from ratiba_action.production.conversation import ProductionConversation, read_conversation
from ratiba_action.production.feedback import Feedback, feedback_since, observations_of
from ratiba_action.production.tenants import TenantFacts, known_names, why_blocked
from ratiba_action.util.locked_folder import write_new_files


@dataclass(slots=True)
class PromotionLog:
    """The scores that were dealt with, one a line in a file; a line is written when its scenario has been.

    Args:
        path: of the file.
        done: ids of the scores.
    """

    path: Path
    done: set[str] = field(default_factory=set)

    def add(self, score_id: str, outcome: str, scenario: str) -> None:
        """Remember a score.

        Args:
            score_id: of the feedback.
            outcome: ``written`` or ``duplicate``.
            scenario: id or path of the scenario that stands for it.

        Raises:
            UsageError: the file cannot be written.
        """
        line = json.dumps({"score": score_id, "outcome": outcome, "scenario": scenario}, ensure_ascii=True)
        try:
            with self.path.open("ab") as file:
                file.write(f"{line}\n".encode("ascii"))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _unusable(self.path, error) from error
        self.done.add(score_id)


@contextlib.contextmanager
def promotion_log(path: Path) -> Iterator[PromotionLog]:
    """The log of what was promoted, locked by this process until the block ends.

    It lies outside the workspace, so that an interrupted run goes on and nothing is promoted twice.

    Raises:
        UsageError: another process holds it, or it cannot be read or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unusable(path, error) from error
    with os.fdopen(descriptor, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                f"Another promotion holds {str(path)!r}.", "Wait for its end, or name another file with --state."
            ) from error
        content = file.read()
        if content and not content.endswith(b"\n"):
            # The end of a run that was killed while it wrote: its line is dropped.
            content = content[: content.rfind(b"\n") + 1]
            file.truncate(len(content))
        yield PromotionLog(path, _read(path, content))


def _read(path: Path, content: bytes) -> set[str]:
    done: set[str] = set()
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            done.add(str(json.loads(line)["score"]))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"Line {number} of {str(path)!r} is no line of a promotion.", "Name the right file with --state."
            ) from error
    return done


def _unusable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{str(path)!r} cannot be used: {error.strerror}.", "Name another file with --state.")


@dataclass(frozen=True, slots=True)
class PromotionRequest:
    """What is asked for.

    Args:
        repository: the checkout.
        folder: of the scenarios in it.
        since: aware; feedback from then on.
        until: aware; and before then.
        tenants: by id.
        review: of the candidates.
        most: candidates that are written at most.
        dry_run: write nothing.
    """

    repository: Path
    folder: str
    since: datetime
    until: datetime
    tenants: Mapping[str, TenantFacts]
    redactor: Redactor
    review: Review
    most: int
    dry_run: bool = False


@dataclass(slots=True)
class Promotion:
    """What came of it.

    Args:
        negative: how many thumbs-down there were, those of earlier runs included.
        written: paths, or with ``dry_run`` those that would have been.
        duplicates: the scenario that stands for each conversation that was there already.
        blocked: by tenant, why none of its conversations may be promoted.
        unusable: by trace or session, why no scenario can be made of it.
        left_out: conversations of tenants that are not to be promoted.
        left: thumbs-down that wait for another run, since there are as many candidates as were asked for.
        problem: why the server could not be read to its end; empty when it was.
    """

    negative: int = 0
    written: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    blocked: dict[str, str] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)
    left_out: int = 0
    left: int = 0
    problem: str = ""


def promote(access: LangfuseAccess, request: PromotionRequest, known: KnownScenarios, log: PromotionLog) -> Promotion:
    """Write a candidate for each conversation that a customer disliked, the oldest first.

    A tenant that must not be promoted blocks itself, not its neighbours. A server that fails ends the promotion; what
    was written stays, and the next one goes on behind it.

    Args:
        access: to the project of the production system.
        request: what is asked for.
        known: the suite as it is; grows.
        log: what earlier runs dealt with; grows, but for a dry run.

    Raises:
        UsageError: a file cannot be written.
    """
    came = Promotion()
    try:
        with connected(access, Deadline.after(access.seconds)) as server:
            everything = feedback_since(server, request.since, request.until)
            negative = sorted((one for one in everything if one.negative), key=lambda one: (one.at, one.score_id))
            came.negative = len(negative)
            _promote_all(
                server, [one for one in negative if one.score_id not in log.done], _Work(request, known, log, came)
            )
    except LangfuseError as error:
        came.problem = str(error)
    return came


def _promote_all(server: LangfuseServer, waiting: Iterable[Feedback], work: "_Work") -> None:
    for feedback in waiting:
        if twin := work.known.by_trace.get(feedback.subject_id):
            work.duplicate(feedback, twin)
        elif len(work.came.written) >= work.request.most:
            work.came.left += 1
        else:
            work.promote(feedback, read_conversation(observations_of(server, feedback)))


@dataclass(frozen=True, slots=True)
class _Work:
    request: PromotionRequest
    known: KnownScenarios
    log: PromotionLog
    came: Promotion

    def promote(self, feedback: Feedback, conversation: ProductionConversation | None) -> None:
        """Deal with one feedback."""
        shown = self.request.redactor.text
        if conversation is None:
            self.came.unusable[shown(feedback.subject_id)] = f"There is no observation of this {feedback.subject}."
            return
        tenants = self.request.tenants
        if not tenants.get(conversation.tenant, TenantFacts()).promote:
            self.came.left_out += 1
        elif reason := why_blocked(conversation, tenants):
            self.came.blocked.setdefault(shown(conversation.tenant), reason)
        elif not conversation.turns:
            self.came.unusable[shown(conversation.trace_ids[0])] = (
                "No turn of it can be read; docs/feedback.md says what is."
            )
        else:
            self._write(feedback, self._candidate(feedback, conversation), conversation.trace_ids[0])

    def duplicate(self, feedback: Feedback, twin: str) -> None:
        """A scenario stands for it already."""
        self.came.duplicates.append(twin)
        self._remember(feedback, "duplicate", twin)

    def _candidate(self, feedback: Feedback, conversation: ProductionConversation) -> Candidate:
        request = self.request
        facts = request.tenants.get(conversation.tenant, TenantFacts())
        redactor = request.redactor.knowing(known_names(conversation, request.tenants))
        return make_candidate(conversation, feedback, facts, redactor, request.review)

    def _write(self, feedback: Feedback, candidate: Candidate, trace: str) -> None:
        path = path_of(candidate, self.request.folder)
        twin = self.known.stands_for(candidate) or (path if is_there(self.request.repository, path) else "")
        if twin:
            self.duplicate(feedback, twin)
            return
        try:
            content = candidate_file(candidate, path)
        except SuiteError as error:
            shown = self.request.redactor.text
            self.came.unusable[shown(trace)] = shown(str(error))
            return
        if not self.request.dry_run:
            write_new_files(self.request.repository, content)
        self.known.add(candidate, path)
        self.came.written.append(path)
        self._remember(feedback, "written", path)

    def _remember(self, feedback: Feedback, outcome: str, path: str) -> None:
        if not self.request.dry_run:
            self.log.add(feedback.score_id, outcome, path)
