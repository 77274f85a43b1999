"""Addresses, at the forge, of the files and commits that a report names."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import quote

from ratiba_action.model.change import Subject
from ratiba_action.model.verdict import Report

_HOST = r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?"
_REPOSITORY = r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+"
_RUN = re.compile(rf"(?P<address>{_HOST}/(?P<name>{_REPOSITORY}?))(?P<run>/actions/runs|/-/jobs)/[0-9]+", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.ASCII)
_WHOLE_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)
_GITLAB = "/-/jobs"
_LONGEST = 1_000  # characters of a path


@dataclass(frozen=True, slots=True)
class SourceLinks:
    """Where the repository of a run lies; each address is empty if it is not known for certain.

    Args:
        repository: its address, up to what precedes ``/blob`` and ``/commit``; empty if unknown.
        head: the whole id of the commit that was evaluated; empty if unknown.
        artifacts: the page of the run that lists its artifacts; empty elsewhere than on GitHub.
    """

    repository: str = ""
    head: str = ""
    artifacts: str = ""

    def line(self, path: str, line: int = 0) -> str:
        """The address of a file at the commit that was evaluated, or of one of its lines.

        Args:
            line: from 1; 0 for the whole file.
        """
        inside = path.isprintable() and not {"", ".", ".."}.intersection(path.split("/"))
        if not (self.repository and self.head and inside) or len(path) > _LONGEST:
            return ""
        return f"{self.repository}/blob/{self.head}/{quote(path)}" + (f"#L{line}" if line > 0 else "")

    def commit(self, commit: str) -> str:
        """The address of a commit, by its id or the beginning of it."""
        return f"{self.repository}/commit/{commit}" if self.repository and _COMMIT.fullmatch(commit) else ""


def source_links(subject: Subject) -> SourceLinks:
    """The addresses of what was evaluated: only of the repository whose name the run's own address has."""
    found = _RUN.fullmatch(subject.run_url)
    if found is None or found["name"] != subject.repository:
        return SourceLinks()
    gitlab = found["run"] == _GITLAB
    return SourceLinks(
        repository=found["address"] + ("/-" if gitlab else ""),
        head=subject.head if _WHOLE_COMMIT.fullmatch(subject.head) else "",
        artifacts="" if gitlab else f"{subject.run_url}#artifacts",
    )


_SITE = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?", re.ASCII)


def site_link(report: Report) -> str:
    """The address of the run's page on the site of all runs; of a pull request, whose run is not kept, the site's own.

    Empty where the site has no address.
    """
    if not _SITE.fullmatch(report.site):
        return ""
    site = report.site.rstrip("/")
    return f"{site}/run/{page_id(report)}.html" if _is_kept(report.subject) else f"{site}/"


def _is_kept(subject: Subject) -> bool:
    return subject.pull_request is None and subject.event in {"push", "schedule", "workflow_dispatch"}


def page_id(report: Report) -> str:
    """What a run's page is called on the site of all runs."""
    subject, began = report.subject, report.started_at.astimezone(UTC)
    commit = report.commit or subject.head
    return page_id_of(began, subject.repository, report.name, commit, subject.run_id, subject.run_attempt)


def page_id_of(began: datetime, *parts: str | int) -> str:
    """The same of a run that began at a time in UTC.

    Args:
        parts: repository, gate, commit, workflow run and attempt.
    """
    text = "\0".join(map(str, (began.isoformat(), *parts)))
    return f"{began:%Y%m%d-%H%M%S}-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
