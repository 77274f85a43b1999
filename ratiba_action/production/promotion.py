"""Promotes conversations that customers disliked: reads, masks, deduplicates and writes them one by one."""

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
    make_candidate,
    path_exists,
    path_of,
)
from ratiba_action.production.conversation import (
    READABLE_TURN,
    ProductionConversation,
    credentials_in,
    read_conversation,
)
from ratiba_action.production.feedback import Feedback, feedback_since, observations_of
from ratiba_action.production.tenants import TenantFacts, known_names, why_blocked
from ratiba_action.util.locked_folder import write_new_files


@dataclass(slots=True)
class PromotionLog:
    """The scores that were processed, one per line of a file; a line is written after its scenario.

    Args:
        done: ids of the scores.
    """

    path: Path
    done: set[str] = field(default_factory=set)

    def add(self, score_id: str, outcome: str, scenario: str) -> None:
        """Remember a score.

        Args:
            outcome: ``written`` or ``duplicate``.

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
    """The log of processed scores, locked by this process until the block ends.

    It is outside the workspace, so that an interrupted run can continue and nothing is promoted twice.

    Raises:
        UsageError: another process has locked it, or it cannot be read or written.
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
                f"Another promotion has locked {str(path)!r}.", "Wait until it ends, or use another file with --state."
            ) from error
        content = file.read()
        if content and not content.endswith(b"\n"):
            # A run was killed while writing: drop the incomplete line.
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
                f"Line {number} of {str(path)!r} is not a line of a promotion log.", "Give the right file with --state."
            ) from error
    return done


def _unusable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{str(path)!r} cannot be used: {error.strerror}.", "Use another file with --state.")


@dataclass(frozen=True, slots=True)
class PromotionRequest:
    """What to promote.

    Args:
        since: start of the period, with time zone.
        until: end of the period (exclusive), with time zone.
        tenants: by id.
        maximum: maximum number of candidates to write.
        timezone: of the configuration; empty without one.
    """

    repository: Path
    folder: str
    since: datetime
    until: datetime
    tenants: Mapping[str, TenantFacts]
    redactor: Redactor
    review: Review
    maximum: int
    dry_run: bool = False
    timezone: str = ""


@dataclass(slots=True)
class Promotion:
    """The result of a promotion.

    Args:
        negative: number of thumbs-down, including those of earlier runs.
        written: paths, or with ``dry_run`` those that would be written.
        duplicates: paths of existing scenarios for the same conversations.
        blocked: by tenant, why none of its conversations may be promoted.
        unusable: by trace or session, why no scenario can be made of it.
        left_out: conversations of tenants with ``promote: false``.
        left: thumbs-down left for the next run, because the maximum was reached.
        problem: why the server could not be read completely; empty if it was.
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

    A blocked tenant does not block others. If the server fails, what was written stays and the next run continues.

    Args:
        known: existing scenarios; extended.
        log: scores processed by earlier runs; extended unless it is a dry run.

    Raises:
        UsageError: a file cannot be written.
    """
    outcome = Promotion()
    try:
        with connected(access, Deadline.after(access.seconds)) as server:
            everything = feedback_since(server, request.since, request.until)
            negative = sorted(
                (feedback for feedback in everything if feedback.negative),
                key=lambda feedback: (feedback.at, feedback.score_id),
            )
            outcome.negative = len(negative)
            _promote_all(
                server,
                [feedback for feedback in negative if feedback.score_id not in log.done],
                _Work(request, known, log, outcome),
            )
    except LangfuseError as error:
        outcome.problem = str(error)
    return outcome


def _promote_all(server: LangfuseServer, waiting: Iterable[Feedback], work: "_Work") -> None:
    for feedback in waiting:
        if twin := work.known.by_trace.get(feedback.subject_id):
            work.duplicate(feedback, twin)
        elif len(work.outcome.written) >= work.request.maximum:
            work.outcome.left += 1
        else:
            work.promote(feedback, read_conversation(observations_of(server, feedback)))


@dataclass(frozen=True, slots=True)
class _Work:
    request: PromotionRequest
    known: KnownScenarios
    log: PromotionLog
    outcome: Promotion

    def promote(self, feedback: Feedback, conversation: ProductionConversation | None) -> None:
        """Process one feedback."""
        shown = self.request.redactor.text
        if conversation is None:
            self.outcome.unusable[shown(feedback.subject_id)] = (
                f"Langfuse has no observation of this {feedback.subject}."
            )
            return
        tenants = self.request.tenants
        if not tenants.get(conversation.tenant, TenantFacts()).promote:
            self.outcome.left_out += 1
        elif reason := why_blocked(conversation, tenants):
            self.outcome.blocked.setdefault(shown(conversation.tenant), reason)
        elif not conversation.turns:
            self.outcome.unusable[shown(conversation.trace_ids[0])] = f"It has no readable turn. {READABLE_TURN}"
        elif kinds := credentials_in(conversation, feedback.comment):
            found = f"the conversation contains {', '.join(kinds)}"
            self.outcome.unusable[shown(conversation.trace_ids[0])] = found
        else:
            self._write(feedback, self._candidate(feedback, conversation), conversation.trace_ids[0])

    def duplicate(self, feedback: Feedback, twin: str) -> None:
        """Record that a scenario for it exists."""
        self.outcome.duplicates.append(twin)
        self._remember(feedback, "duplicate", twin)

    def _candidate(self, feedback: Feedback, conversation: ProductionConversation) -> Candidate:
        request = self.request
        facts = request.tenants.get(conversation.tenant, TenantFacts())
        redactor = request.redactor.knowing(known_names(conversation, request.tenants))
        return make_candidate(conversation, feedback, facts, redactor, request.review, timezone=request.timezone)

    def _write(self, feedback: Feedback, candidate: Candidate, trace: str) -> None:
        path = path_of(candidate, self.request.folder)
        twin = self.known.path_of_duplicate(candidate) or (path if path_exists(self.request.repository, path) else "")
        if twin:
            self.duplicate(feedback, twin)
            return
        try:
            content = candidate_file(candidate, path)
        except SuiteError as error:
            shown = self.request.redactor.text
            self.outcome.unusable[shown(trace)] = shown(str(error))
            return
        if not self.request.dry_run:
            write_new_files(self.request.repository, content)
        self.known.add(candidate, path)
        self.outcome.written.append(path)
        self._remember(feedback, "written", path)

    def _remember(self, feedback: Feedback, outcome: str, path: str) -> None:
        if not self.request.dry_run:
            self.log.add(feedback.score_id, outcome, path)
