"""Runs before this one: of the base, to be compared with, and earlier attempts of its own, to be added to."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.decide.event import load_event
from ratiba_action.errors import GithubError, InfrastructureError, LedgerError
from ratiba_action.model.answer_origin import AnswerOrigin
from ratiba_action.model.comparison import BEST, NO_ANCHOR, Anchor, BaselineFacts, MeasuredRun, Rules
from ratiba_action.model.note import Caveat, Note
from ratiba_action.run.inputs import RunInputs, RunRequest
from ratiba_action.util.git import Git
from ratiba_action.util.text import short_commit
from ratiba_action.util.work_tree import changed_since

if TYPE_CHECKING:
    from ratiba_action.history.files import FoundBaseline
    from ratiba_action.ports import GithubRepository

AUTO = "auto"
NONE = "none"
FIRST_RUN = Caveat("There is nothing to compare with yet; this run becomes the baseline when it is merged.")
NOT_COMPARED = frozenset({"push", "schedule"})
"""Events of the base branch itself: what they measure is the baseline of others."""

_SECONDS = 60.0
_HISTORY_SECONDS = 10.0
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """What a run may look at besides its own results.

    Args:
        earlier: earlier attempts of the same commit, whose answers were asked for anew.
        facts: of the baseline; None where there is none.
        anchor: what a run of the base branch itself is compared with; None where there is none.
        unanswered: the base's results could not be looked for, which may be otherwise in a minute.
        lost: which earlier results should have been looked at and could not be read; None for none.
    """

    baseline: tuple[MeasuredRun, ...] = ()
    earlier: tuple[MeasuredRun, ...] = ()
    facts: BaselineFacts | None = None
    notes: tuple[str, ...] = ()
    anchor: Anchor | None = None
    unanswered: bool = False
    lost: str | None = None

    @property
    def measured(self) -> bool:
        """Whether there is something to compare with, so that further trials may be asked for."""
        return bool(self.baseline or self.anchor)


def find_earlier_runs(
    run: RunInputs, now: datetime, rules: Rules, commit: str, *, in_shards: bool = False
) -> EarlierRuns:
    """Find them; what goes wrong is a note, and ``EarlierRuns.lost`` where a change could gain by it.

    Args:
        commit: ``measured_commit`` of the run.
        in_shards: it is one of several shards, or merges them. All of them and all of their attempts find the same
            results of the base, those of when the workflow run was started.
    """
    github, notes = _github(run)
    started = workflow_started(run) if in_shards else None
    found = _baseline(run, github, rules, "" if started is None else f"{started:%Y-%m-%dT%H:%M:%SZ}")
    facts = found.facts(now, rules)
    earlier, troubles = _earlier(run, github, commit)
    unanswered, lost = found.unanswered, found.lost or (str(troubles[0]) if troubles else None)
    try:
        anchor, missing = (None, ()) if found.runs else _anchor(run, rules, commit, started or run.started_at)
    except LedgerError as error:
        anchor, missing = None, (f"The anchor of the slow decline could not be read: {error.problem}",)
        unanswered = True
    notes = (*notes, *found.notes, *troubles, *missing, *_warning_of_age(facts, now, rules))
    return EarlierRuns(found.runs, earlier, facts, notes, anchor, unanswered, lost)


def workflow_started(run: RunRequest) -> datetime | None:
    """When what started the workflow run happened: a pull request changed, a merge queue made a group, or a push came.

    The event is the same for all jobs of the workflow run and for all their attempts. None where it does not say.
    """
    from ratiba_action.history.artifacts import mapping_of

    path = run.environment.get("GITHUB_EVENT_PATH")
    try:
        event = load_event(Path(path)) if path else {}
        commit = mapping_of(mapping_of(event.get("merge_group")).get("head_commit"))
        moment = mapping_of(event.get("pull_request")).get("updated_at") or commit.get("timestamp")
        pushed = mapping_of(event.get("repository")).get("pushed_at")  # a number in a push's event alone
        if isinstance(moment, str):
            found = datetime.fromisoformat(moment)
            return found.astimezone(UTC) if found.tzinfo is not None else None
        return datetime.fromtimestamp(pushed, UTC) if type(pushed) is int else None
    except (InfrastructureError, ValueError, OverflowError, OSError):
        return None


def _anchor(
    run: RunInputs, rules: Rules, commit: str, before: datetime
) -> tuple[Anchor | None, tuple[Note | str, ...]]:
    """What a run of the base branch itself is compared with, and why there is none."""
    subject, name = run.decided.change.subject, rules.decline.anchor
    own = subject.event in NOT_COMPARED and subject.branch and not run.variant
    if not own or name == NO_ANCHOR or run.settings.baseline == NONE or run.history is None:
        return None, ()
    from ratiba_action.history.anchors import AnchorWanted, read_anchor  # with the history alone
    from ratiba_action.history.store import Series

    named = "" if name == BEST else _commit_of(run.decided.change.git, name)
    if name != BEST and not named:
        problem = f"The anchor {name!r} of the slow decline is no tag or commit of this clone."
        return None, (Note(problem, "Check it out with its tags (fetch-depth: 0), or set comparison.decline.anchor."),)
    series = Series(subject.repository, run.settings.name, subject.branch, before=before.astimezone(UTC))
    scenarios = {run.digests.of(scenario): scenario for scenario in run.selection.scenarios}
    wanted = AnchorWanted(series, commit or subject.head, named, scenarios)
    anchor = read_anchor(run.history, wanted, rules)
    if anchor is None and named:
        problem = (
            f"The metrics history has no run of the anchor {name!r} ({short_commit(named)}) with today's scenarios."
        )
        return None, (Note(problem, "Name a version that the gate has measured on this branch."),)
    return anchor, ()


def _commit_of(git: Git | None, name: str) -> str:
    try:
        return (git.commit(name) if git is not None else None) or ""
    except InfrastructureError:
        return ""


@dataclass(slots=True)
class GithubHistory:
    """GitHub's word for the last commit of a file, for a clone that is too shallow to tell.

    A failure ends the requests: a version that is not known is no reason to end or delay a run.

    Args:
        github: None where there is nobody to ask.
    """

    github: "GithubRepository | None" = None
    left: int = 20

    def last_commit(self, path: str, commit: str) -> str:
        """Id of the last commit up to a commit that touched a path; empty where GitHub does not say.

        Args:
            commit: full id.
        """
        if self.github is None or not commit or self.left <= 0:
            return ""
        self.left -= 1
        try:
            rows = self.github.last_commits(path, commit)
        except GithubError:
            self.github = None
            return ""
        found = rows[0].get("sha") if isinstance(rows, list) and rows and isinstance(rows[0], dict) else None
        return found if isinstance(found, str) and _COMMIT.fullmatch(found) else ""


def github_history(run: RunRequest) -> GithubHistory:
    """Whom to ask for commits: GitHub in a workflow's run with a token, else nobody."""
    try:
        return GithubHistory(_client(run, _HISTORY_SECONDS))
    except GithubError:
        return GithubHistory()


def measured_commit(git: Git | None) -> str:
    """The commit that the work tree is equal to; empty where it has changes of its own, or git cannot tell."""
    try:
        commit = git.commit("HEAD") if git is not None else None
        return commit if git is not None and commit and not changed_since(git, commit) else ""
    except InfrastructureError:
        return ""


def not_added(earlier: Sequence[MeasuredRun], answers: AnswerOrigin) -> tuple[str, ...]:
    """What is said of earlier attempts whose answers came from elsewhere than this run's.

    Args:
        earlier: attempts of the same commit.
        answers: ``replay``, ``mixed`` or ``live``: where this run's came from.
    """
    others = sorted({attempt.answers for attempt in earlier} - {answers})
    message = "The answers of an earlier attempt were {}, and are {} now, so its data is not added."
    return tuple(message.format(other, answers) for other in others)


def _github(run: RunRequest) -> "tuple[GithubRepository | None, tuple[str, ...]]":
    """GitHub, where there is something to ask it about: a workflow's run with a token. One deadline for all of it."""
    from ratiba_action.history.files import no_baseline

    if not (_is_searched(run) or run.decided.change.subject.run_attempt > 1):
        return None, ()
    try:
        return _client(run, _SECONDS), ()
    except GithubError as error:
        return None, (no_baseline(error.problem),)


def _client(run: RunRequest, seconds: float) -> "GithubRepository | None":
    from ratiba_action.github.clients import by_pygithub
    from ratiba_action.github.github_api import GithubApi

    subject, environment = run.decided.change.subject, run.environment
    token, address = run.settings.github_token, environment.get("GITHUB_API_URL") or ""
    if not (token and address and subject.repository and subject.run_id):
        return None
    api = GithubApi(subject.repository, token, address, environment, seconds, outage=run.outage)
    return by_pygithub(api)


def _is_searched(run: RunRequest) -> bool:
    subject = run.decided.change.subject
    return run.settings.baseline == AUTO and bool(subject.base_branch) and subject.event not in NOT_COMPARED


def _earlier(
    run: RunInputs, github: "GithubRepository | None", commit: str
) -> tuple[tuple[MeasuredRun, ...], tuple[str, ...]]:
    from ratiba_action.history.attempts import Attempt, attempts_in_folder, attempts_on_github, keep_attempt

    subject = run.decided.change.subject
    attempt = Attempt(
        gate=run.settings.name,
        commit=commit,
        suite_digest=run.suite.digest,
        judge_model=run.configuration.judge.model,
        run_id=subject.run_id,
        run_attempt=subject.run_attempt,
        resumed=run.resume,
    )
    if not subject.run_id:
        folder = Path(run.settings.report_dir).absolute()
        keep_attempt(folder, attempt)
        return attempts_in_folder(folder, attempt), ()
    if github is None:
        return (), ()
    try:
        return attempts_on_github(github, attempt), ()
    except GithubError as error:
        return (), (f"Earlier attempts of this run could not be added: {error.problem}",)


def _baseline(run: RunRequest, github: "GithubRepository | None", rules: Rules, until: str) -> "FoundBaseline":
    from ratiba_action.history.files import FoundBaseline, no_baseline, read_named_baseline

    setting = run.settings.baseline
    if setting == NONE:
        return FoundBaseline()
    if setting == AUTO:
        return _search(run, github, rules, until)
    if _is_doubtful(run, Path(setting)):
        why = f"what the change edits is not known, and {setting!r} is a file of the repository."
        return FoundBaseline(notes=(no_baseline(why),), lost=why)
    change = run.decided.change
    repository = change.subject.repository
    return read_named_baseline(
        setting, run.repository, change.files, repository, git=change.git, pooled=rules.pooled_runs
    )


def _search(run: RunRequest, github: "GithubRepository | None", rules: Rules, until: str) -> "FoundBaseline":
    from ratiba_action.history.artifacts import WantedResults, find_artifacts
    from ratiba_action.history.files import FoundBaseline

    subject, base = run.decided.change.subject, run.decided.change.files.base
    if github is None or not _is_searched(run):
        return FoundBaseline()
    commit, name = base or subject.base, run.settings.name
    wanted = WantedResults(subject.repository, name, subject.base_branch, commit, rules.pooled_runs, until)
    found = find_artifacts(github, wanted)
    return found if found.runs or found.notes else FoundBaseline(notes=(FIRST_RUN,))


def _is_doubtful(run: RunRequest, path: Path) -> bool:
    """Whether the change may have edited the file and nobody can tell."""
    change = run.decided.change
    if change.git is None or not change.files.doubt:
        return False
    try:
        inside = Path(os.path.realpath(path)).relative_to(change.git.root)
        return bool(change.git.index(inside.as_posix()))
    except (InfrastructureError, ValueError):
        return False  # it lies outside the repository


def _warning_of_age(facts: BaselineFacts | None, now: datetime, rules: Rules) -> Sequence[str]:
    if facts is None or not facts.stale:
        return ()
    days = (now - facts.started_at).days
    message = f"The baseline is {days} days old, and {rules.stale_days} are usual at most."
    return [Note(message, "Run the gate on the base branch again.")]
