"""Runs of the default branch that workflows have left on GitHub, for whoever looks at the history without a branch.

What an artifact holds is untrusted: a workflow of the default branch uploaded it, and code of the repository ran there.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ratiba_action.errors import ConfigurationError, GithubError
from ratiba_action.history.artifacts import TRUSTED_EVENTS, mapping_of, results_in
from ratiba_action.history.results import load_baseline
from ratiba_action.history.run_files import Load, RunFiles
from ratiba_action.model.verdict import Report
from ratiba_action.ports import GithubRepository
from ratiba_action.privacy.masking import Redactor
from ratiba_action.reporting.results_json import MAX_EXACT_BYTES, packed

ARTIFACT = "ratiba-report"
"""Name of the artifact with a run's report, in every workflow of the documentation."""
MAX_RUNS = 300
"""Newest ones that are read, by two requests each: a job's token may send a thousand in an hour."""
MAX_LISTED = 5_000
"""Newest artifacts among which runs are searched for."""
_GZIP = b"\x1f\x8b"
_GONE = frozenset({404, 410})
_DOWNLOADED = 500_000_000
"""Bytes of results, compressed, that are kept for the time of reading."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """An artifact of a run of the default branch.

    Args:
        number: its id.
        run: id of the workflow run.
    """

    number: int
    run: int
    commit: str


def runs_on_github(github: GithubRepository, repository: str, folder: Path, redactor: Redactor) -> RunFiles:
    """The results of the default branch's runs, each downloaded when it is first read.

    Args:
        repository: ``owner/name``.
        folder: where they are kept for a second reading; empty, and of the caller.
        redactor: masks each of them again, whatever it says of itself.

    Raises:
        GithubError: GitHub refused, or did not answer in time.
        ConfigurationError: its answer has no default branch.
    """
    branch = mapping_of(github.repository()).get("default_branch")
    if not isinstance(branch, str) or not branch:
        raise ConfigurationError(f"GitHub names no default branch of {repository!r:.200}.")
    source = _Source(github, repository, branch, folder, redactor)
    found = list(itertools.islice(source.artifacts(), MAX_RUNS))
    files: Mapping[str, Load] = {
        f"artifact {each.number} of run {each.run}": partial(source.load, each) for each in found
    }
    limit = f"{MAX_RUNS} runs" if len(found) == MAX_RUNS else f"{MAX_LISTED:,} artifacts" if source.is_cut else ""
    ended = f" (the search ended at the newest {limit})" if limit else ""
    return RunFiles(f"the workflow runs of {branch!r} on GitHub{ended}", files)


class _Source:
    def __init__(
        self, github: GithubRepository, repository: str, branch: str, folder: Path, redactor: Redactor
    ) -> None:
        self._github = github
        self._repository = repository
        self._branch = branch
        self._folder = folder
        self._redactor = redactor
        self._left = _DOWNLOADED
        self._listed = 0

    @property
    def is_cut(self) -> bool:
        """Whether the list of artifacts ended at its limit, so that older ones may have been left out."""
        return self._listed >= MAX_LISTED

    def artifacts(self) -> Iterator[_Kept]:
        """Those of the repository's own default branch, the newest first, and the newest alone of each run."""
        seen: set[int] = set()
        for row in itertools.islice(self._github.artifacts(ARTIFACT), MAX_LISTED):
            self._listed += 1
            kept = self._artifact(mapping_of(row))
            if kept is not None and kept.run not in seen:
                seen.add(kept.run)
                yield kept

    def _artifact(self, row: Mapping[str, Any]) -> _Kept | None:
        run = mapping_of(row.get("workflow_run"))
        own = run.get("repository_id") is not None and run.get("repository_id") == run.get("head_repository_id")
        named = row.get("name") == ARTIFACT and row.get("expired") is False
        number, of_run, commit = row.get("id"), run.get("id"), run.get("head_sha")
        if not (own and named and run.get("head_branch") == self._branch and isinstance(commit, str)):
            return None
        return _Kept(number, of_run, commit) if isinstance(number, int) and isinstance(of_run, int) else None

    def load(self, kept: _Kept) -> Report:
        """The report, masked.

        Raises:
            ConfigurationError: it is not of the default branch, gone, or damaged.
            GithubError: GitHub refused, or did not answer in time.
        """
        place = self._folder / f"{kept.number}.json.gz"
        if not place.exists():
            place.write_bytes(self._download(kept))
        report = load_baseline(place.read_bytes(), MAX_EXACT_BYTES)
        self._require_own(report, kept)
        return self._redactor.report(report)

    def _download(self, kept: _Kept) -> bytes:
        try:
            self._require_trusted(mapping_of(self._github.workflow_run(kept.run)), kept)
            found = results_in(self._github.download_artifact(kept.number), MAX_EXACT_BYTES)
        except GithubError as error:
            if error.status not in _GONE:
                raise
            raise ConfigurationError("It is no longer on GitHub.") from error
        content = found if found.startswith(_GZIP) else packed(found)
        self._left -= len(content)
        if self._left < 0:
            raise ConfigurationError(f"All results together have more than {_DOWNLOADED:,} bytes.")
        return content

    def _require_trusted(self, run: Mapping[str, Any], kept: _Kept) -> None:
        """The list of artifacts does not say what started a run: a pull request may come from a branch of this name."""
        owner = mapping_of(run.get("head_repository")).get("full_name")
        own = isinstance(owner, str) and owner.casefold() == self._repository.casefold()
        if not own or (run.get("head_branch"), run.get("head_sha")) != (self._branch, kept.commit):
            raise ConfigurationError(f"Its run is not of the branch {self._branch!r} of this repository.")
        if run.get("event") not in TRUSTED_EVENTS:
            raise ConfigurationError(f"Its run was started by {run.get('event')!r:.80}, not by the branch itself.")

    def _require_own(self, report: Report, kept: _Kept) -> None:
        subject, measured = report.subject, report.commit or report.subject.head
        if subject.pull_request is not None or subject.event not in TRUSTED_EVENTS:
            raise ConfigurationError("The results are of a pull request, not of the default branch.")
        if (measured, subject.run_id) != (kept.commit, kept.run):
            raise ConfigurationError(
                f"The results are of the commit {measured!r:.80} and the run {subject.run_id}, not of {kept.commit!r} "
                f"and {kept.run}."
            )
        if subject.repository.casefold() != self._repository.casefold():
            raise ConfigurationError(f"The results are of the repository {subject.repository!r:.80}.")
