"""Every exception of the project, in one tree.

RatibaError                       anything that a user can fix; never shown with a traceback
├── UsageError                    the command line is wrong                          exit 2
├── ConfigurationError            an input, a file or a setting is wrong             exit 2
│   ├── ImageError                the image of the system under test cannot be built
│   ├── SuiteError                scenario files are wrong; carries every problem
│   └── NothingToMeasureError     a metric found nothing in the conversation that it measures
├── InfrastructureError           something the gate stands on is missing or broke   exit 3
│   ├── GitError                  git itself could not be run
│   ├── DatabaseError             the PostgreSQL server cannot be used
│   │   └── QueryError            it refused a statement
│   ├── WorkerError               the system under test could not be started or spoken to
│   │   ├── WorkerTimeoutError    it gave no answer in time
│   │   ├── WorkerEndedError      its process ended before it answered
│   │   ├── SystemRaisedError     its own code raised an exception
│   │   └── AbsentError           nobody listens at the socket of what starts containers
│   ├── ProviderError             a model's provider refused a call, or its answer cannot be used
│   ├── LedgerError               money, which must not be spent then, or history could not be written
│   │   ├── LedgerRefusedError    nobody answers at the shared ledger's address, or refuses us
│   │   └── LedgerRightsError     its role lacks a right
│   ├── ExchangeError             a server could not be reached, or did not answer in time
│   │   └── GithubError           GitHub refused a request, or its API cannot be used
│   └── RecordingError            a recorded answer is missing or unreadable
│       └── StaleRecordingError   only the content of the request differs; in llm/answers.py, with that answer
├── BudgetError                   a call was refused because it might pass the cap   exit 3
│   └── SharedCapError            a cap that runs share has no room for it now
├── JudgeError                    a judge answered outside its contract              that scenario only
│   └── AnotherModelError         another model answered than the judge
└── PublishError                  the comment, summary or outputs could not be written   a warning
    └── ReportedError             the step after the gate's has reported the run already
"""

from collections.abc import Sequence
from dataclasses import dataclass


class RatibaError(Exception):
    """Something that a user can fix.

    Args:
        problem: what could not be done, and the value at fault as ``repr``.
        remedy: what to do about it; an imperative sentence, may be empty.
    """

    exit_code = 3

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem if not remedy else f"{problem} {remedy}")
        self.problem = problem
        self.remedy = remedy


class UsageError(RatibaError):
    """The command line is wrong."""

    exit_code = 2


class ConfigurationError(RatibaError):
    """An input, a configuration file or an environment variable is wrong."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class FileProblem:
    """One mistake in one file.

    Args:
        path: the file, relative to the repository's root.
        line: line number, from 1; 0 when the whole file is meant.
        message: what is wrong, the value, and what is allowed.
    """

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"


class SuiteError(ConfigurationError):
    """Scenario or configuration files are wrong; all their mistakes at once."""

    def __init__(self, problems: Sequence[FileProblem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class ImageError(ConfigurationError):
    """The image of the system under test cannot be built from its files."""


class NothingToMeasureError(ConfigurationError):
    """A metric found nothing in the conversation that it measures: a reply too short to tell its language."""


class InfrastructureError(RatibaError):
    """Something the gate stands on is missing or broke."""


class GitError(InfrastructureError):
    """Git could not be run: it is missing, no process could be started, or it gave no answer in time.

    Nothing is known then of what the repository holds, which is not the same as to know that it is not there.
    """


class DatabaseError(InfrastructureError):
    """The PostgreSQL server cannot be reached, lacks a right, or went away."""


class QueryError(DatabaseError):
    """The PostgreSQL server refused a statement: a table that does not exist, a write in a read-only transaction.

    Args:
        problem: what could not be done.
        reason: the server's own words.
    """

    def __init__(self, problem: str, remedy: str = "", reason: str = "") -> None:
        super().__init__(problem, remedy)
        self.reason = reason


class WorkerError(InfrastructureError):
    """The system under test could not be started or spoken to."""


class WorkerTimeoutError(WorkerError):
    """The system under test gave no answer in time."""


class WorkerEndedError(WorkerError):
    """The process of the system under test ended before it answered."""


class SystemRaisedError(WorkerError):
    """Code of the system under test raised an exception that it did not catch.

    Args:
        problem: what was raised, with the end of its traceback.
        place: file, line and function of the last frame in a file of the repository.
    """

    def __init__(self, problem: str, *, kind: str, place: str, message: str) -> None:
        super().__init__(problem)
        self.kind = kind
        self.place = place
        self.message = message


class AbsentError(WorkerError):
    """Nobody listens at the socket of what starts containers."""


class ProviderError(InfrastructureError):
    """A model's provider refused a call, could not be reached, or its answer cannot be used.

    Args:
        problem: what could not be done; never holds a key.
        status: of the provider's refusal, None when there was none.
        outcome_known: False when the provider may have charged for it; its whole reservation counts as spent then.
    """

    def __init__(
        self, problem: str, remedy: str = "", *, status: int | None = None, outcome_known: bool = True
    ) -> None:
        super().__init__(problem, remedy)
        self.status = status
        self.outcome_known = outcome_known


class LedgerError(InfrastructureError):
    """The run's write-ahead journal or the shared ledger cannot be read or written."""


class LedgerRefusedError(LedgerError):
    """Nobody listens at the shared ledger's address, or whoever does will not have us: asking again is in vain."""


class LedgerRightsError(LedgerError):
    """The role of the shared ledger lacks a right.

    Args:
        problem: what could not be done.
        cause: what the server said, without passwords.
    """

    def __init__(self, problem: str, remedy: str, cause: str) -> None:
        super().__init__(problem, remedy)
        self.cause = cause


class ExchangeError(InfrastructureError):
    """A server refused a request, could not be reached, or did not answer in time.

    Args:
        problem: what could not be done.
        status: of the answer, None when there was none.
        timed_out: the answer did not come in time.
        unclear: the server may have done all the same what it was asked to write.
        wait_seconds: that the server asks to wait before the next request; None where it asks for nothing.
    """

    def __init__(
        self,
        problem: str,
        remedy: str = "",
        *,
        status: int | None = None,
        timed_out: bool = False,
        transient: bool = False,
        unclear: bool = False,
        wait_seconds: float | None = None,
        limited: bool = False,
    ) -> None:
        super().__init__(problem, remedy)
        self.status = status
        self.timed_out = timed_out
        self.transient = transient
        self.unclear = unclear
        self.wait_seconds = wait_seconds
        self.limited = limited


class GithubError(ExchangeError):
    """GitHub refused a request, or its API cannot be used."""


class RecordingError(InfrastructureError):
    """A recorded answer is missing or unreadable."""


class BudgetError(RatibaError):
    """A call was refused because it might have passed the cap."""


class SharedCapError(BudgetError):
    """A shared cap has no room for a call now.

    Args:
        can_fit_later: the call fits once calls in flight turn out cheaper.
    """

    def __init__(self, problem: str, remedy: str, *, can_fit_later: bool) -> None:
        super().__init__(problem, remedy)
        self.can_fit_later = can_fit_later


class JudgeError(RatibaError):
    """A judge answered outside its contract: out of range, not parsable, empty."""


class AnotherModelError(JudgeError):
    """Another model answered than the judge that was asked: its score would count as the judge's."""


class PublishError(RatibaError):
    """A comment, summary or output could not be published; never changes a verdict."""


class ReportedError(PublishError):
    """The step after the gate's has reported the run already, so the gate says nothing more on GitHub."""
