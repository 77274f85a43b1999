"""Results that runs of the base branch have left on GitHub, and who may be believed to have left them."""

import io
import itertools
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ratiba_action.errors import ConfigurationError, GithubError, RatibaError
from ratiba_action.github.github_api import PAGE
from ratiba_action.history.files import FoundBaseline, newest_first, no_baseline
from ratiba_action.model.comparison import MeasuredRun
from ratiba_action.model.verdict import Report
from ratiba_action.ports import GithubRepository
from ratiba_action.reporting.results_file import COMPRESSED, MAX_BYTES, RESULTS
from ratiba_action.util.text import short_commit

TRUSTED_EVENTS = ("push", "schedule", "workflow_dispatch")
"""What starts a run of the base branch's own code. A pull request's run measures the pull request."""

_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MAX_PAGES = 5
_MAX_COMMITS = 10
_ANCESTOR = frozenset({"ahead", "identical"})
_FORBIDDEN = frozenset({403, 404})


@dataclass(frozen=True, slots=True)
class WantedResults:
    """Which results are looked for.

    Args:
        repository: ``owner/name``.
        commit: that the change starts from.
        pooled: how many runs at most.
        until: the last moment at which they were left, as GitHub writes it; empty for any.
    """

    repository: str
    gate: str
    branch: str
    commit: str
    pooled: int
    until: str = ""

    @property
    def artifact(self) -> str:
        """Name of the artifact."""
        return f"{self.gate}-baseline"


@dataclass(frozen=True, slots=True)
class _Artifact:
    """An artifact of a run of the repository's own base branch, as the list of all artifacts has it."""

    number: int
    run: int
    commit: str
    created: str


def find_artifacts(github: GithubRepository, wanted: WantedResults) -> FoundBaseline:
    """The runs of the commit itself, else of the newest of its ancestors that has some.

    Returns:
        Runs of one commit; whatever goes wrong is a note.
    """
    notes: list[str] = []
    try:
        runs = _search(github, wanted, notes)
    except GithubError as error:
        refused = error.status in _FORBIDDEN and not error.limited
        notes.append(no_baseline(error.problem, "Give the job the permission 'actions: read'." if refused else ""))
        lost = None if refused else f"the base's results could not be looked for: {error.problem}"
        return FoundBaseline(notes=tuple(notes), unanswered=not refused, lost=lost)
    return FoundBaseline(runs, wanted.branch, tuple(notes))


def _search(github: GithubRepository, wanted: WantedResults, notes: list[str]) -> tuple[MeasuredRun, ...]:
    artifacts = _artifacts(github, wanted)
    newest = sorted(artifacts, key=lambda artifact: (artifact.commit == wanted.commit, artifact.created), reverse=True)
    for commit in list(dict.fromkeys(artifact.commit for artifact in newest))[:_MAX_COMMITS]:
        if not _is_ancestor(github, commit, wanted.commit):
            continue
        trusted = _trusted_runs(github, wanted, commit)
        chosen = [artifact for artifact in newest if artifact.commit == commit and artifact.run in trusted]
        runs = [run for artifact in chosen[: wanted.pooled] for run in _read(github, wanted, artifact, notes)]
        if runs:
            return newest_first(runs, wanted.pooled)
    return ()


def _artifacts(github: GithubRepository, wanted: WantedResults) -> list[_Artifact]:
    """Those of the base branch on the newest page that has any; forks may leave as many as they like."""
    rows = github.artifacts(wanted.artifact)
    for _ in range(_MAX_PAGES):
        page = list(itertools.islice(rows, PAGE))
        found = [artifact for row in page for artifact in _artifact(mapping_of(row), wanted)]
        if found or len(page) < PAGE:
            return found
    return []


def _artifact(row: Mapping[str, Any], wanted: WantedResults) -> Iterator[_Artifact]:
    run = mapping_of(row.get("workflow_run"))
    number, of_run, commit, created = row.get("id"), run.get("id"), run.get("head_sha"), row.get("created_at")
    if not (isinstance(number, int) and isinstance(of_run, int)):
        return
    if not (isinstance(commit, str) and isinstance(created, str) and _SHA.fullmatch(commit)):
        return
    own = run.get("repository_id") is not None and run.get("repository_id") == run.get("head_repository_id")
    named = row.get("name") == wanted.artifact and row.get("expired") is False
    in_time = not wanted.until or created <= wanted.until
    if own and named and in_time and run.get("head_branch") == wanted.branch:
        yield _Artifact(number, of_run, commit, created)


def _is_ancestor(github: GithubRepository, commit: str, of: str) -> bool:
    if commit == of:
        return True
    # The clone of a pull request is shallow, so that git cannot tell.
    comparison = mapping_of(github.comparison(commit, of))
    return comparison.get("status") in _ANCESTOR


def _trusted_runs(github: GithubRepository, wanted: WantedResults, commit: str) -> frozenset[int]:
    found: set[int] = set()
    for event in TRUSTED_EVENTS:
        # Event by event: a fork's many runs of the same commit must not fill the page.
        rows = map(mapping_of, itertools.islice(github.successful_runs(commit, wanted.branch, event), PAGE))
        found |= {row["id"] for row in rows if isinstance(row.get("id"), int) and _is_trusted(row, wanted, commit)}
        if found:
            break
    return frozenset(found)


def _is_trusted(run: Mapping[str, Any], wanted: WantedResults, commit: str) -> bool:
    owner = mapping_of(run.get("head_repository")).get("full_name")
    return (
        isinstance(owner, str)
        and owner.casefold() == wanted.repository.casefold()
        and run.get("event") in TRUSTED_EVENTS
        and run.get("conclusion") == "success"
        and (run.get("head_branch"), run.get("head_sha")) == (wanted.branch, commit)
    )


def _read(
    github: GithubRepository, wanted: WantedResults, artifact: _Artifact, notes: list[str]
) -> Iterator[MeasuredRun]:
    from ratiba_action.history.results import load_baseline, measured_run

    try:
        report = load_baseline(results_in(github.download_artifact(artifact.number)))
        _require_own(report, wanted, artifact)
        yield measured_run(report, wanted.repository)
    except GithubError as error:
        # Without the status, which is no missing right here: it was listed a moment ago, and has been replaced since.
        raise GithubError(error.problem, error.remedy, transient=True) from error
    except RatibaError as error:
        notes.append(no_baseline(f"the artifact of {short_commit(artifact.commit)}: {error.problem}"))


def _require_own(report: Report, wanted: WantedResults, artifact: _Artifact) -> None:
    """A manual run belongs to the base branch too, whatever pull request it was to evaluate."""
    subject = report.subject
    if subject.pull_request is not None or subject.event not in TRUSTED_EVENTS:
        raise ConfigurationError("The results are of a pull request, not of the base branch.")
    measured = report.commit or subject.head
    if measured != artifact.commit:
        raise ConfigurationError(f"The results are of the commit {measured!r:.80}, not of {artifact.commit!r}.")
    if report.name != wanted.gate:
        raise ConfigurationError(f"The results are of the gate {report.name!r:.80}, not of {wanted.gate!r}.")


def mapping_of(value: Any) -> Mapping[str, Any]:
    """An object of an answer; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


_MAX_ENTRIES = 100
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 0x1


def results_in(archive: bytes, maximum: int = MAX_BYTES) -> bytes:
    """The bytes of ``results.json`` in a zip archive, or of ``results.json.gz`` where only that is there.

    Args:
        archive: whole; its own size is bounded by whoever fetched it.
        maximum: size of the file that is still read, in bytes.

    Raises:
        ConfigurationError: it is no zip archive or a damaged one, holds no such file or several, a link or a path
            that leads out of it, or what is too large.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            entry = _entry(opened.infolist(), maximum)
            with opened.open(entry) as file:
                content = file.read(maximum + 1)
    except ConfigurationError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, NotImplementedError) as error:
        raise _refused(f"it is damaged ({type(error).__name__})") from error
    if len(content) > maximum:
        raise _too_large(maximum)
    return content


def _entry(entries: list[zipfile.ZipInfo], maximum: int) -> zipfile.ZipInfo:
    if len(entries) > _MAX_ENTRIES:
        raise _refused(f"it has {len(entries):,} entries, and {_MAX_ENTRIES} at most are looked at")
    for entry in entries:
        path = PurePosixPath(entry.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            raise _refused(f"its entry {entry.filename!r:.80} leads out of it")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise _refused(f"its entry {entry.filename!r:.80} is a link")
    found = [entry for entry in entries if entry.filename == RESULTS]
    found = found or [entry for entry in entries if entry.filename == COMPRESSED]
    if len(found) != 1:
        raise _refused(f"it holds {RESULTS!r} {len(found)} times, and must hold it once")
    if found[0].file_size > maximum:
        raise _too_large(maximum)
    if found[0].compress_type not in _METHODS or found[0].flag_bits & _ENCRYPTED:
        raise _refused(f"{RESULTS!r} is encrypted, or packed by an unusual method")
    return found[0]


def _too_large(maximum: int) -> ConfigurationError:
    return _refused(f"{RESULTS!r} has more than {maximum:,} bytes")


def _refused(why: str) -> ConfigurationError:
    return ConfigurationError(f"The artifact was not read: {why}.")
