"""Reads the runs of a site: once for all sites of this machine, and on all of its processors."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from html import escape
from typing import Any, get_type_hints

from ratiba_action.errors import GithubError, RatibaError
from ratiba_action.history.results import load_baseline
from ratiba_action.history.run_files import BrokenFile, RunFiles, StoredRun, problem_of
from ratiba_action.model.codec import RepeatedRecords, decode, encode
from ratiba_action.model.published import Transcripts
from ratiba_action.model.verdict import Report
from ratiba_action.privacy.masking import Redactor, mask_secrets
from ratiba_action.publish.site.outcomes import Outcomes
from ratiba_action.publish.site.pages import RUN_PAGES, History, RunPage, run_page
from ratiba_action.publish.site.run_cache import RunCache
from ratiba_action.publish.site.runs import (
    RunLine,
    ScenarioFacts,
    facts_of,
    line_of,
    newest_first,
    page_name,
    plain_run_url,
)
from ratiba_action.publish.site.spread import spread

_PAGE_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}", re.ASCII)
_AT_ONCE = 16
_MUCH = 3 * _AT_ONCE
"""Files, from which other processes are started."""


@dataclass(frozen=True, slots=True)
class ReadRun:
    """What a site keeps of a run, as text that any process and the cache can hold.

    Args:
        line: of its ``RunLine``; empty where the file holds no run.
        facts: of its scenarios.
        problem: why it holds no run, in one sentence.
    """

    line: str = ""
    facts: str = ""
    problem: str = ""


class RunReader:
    """Reads the runs of a site.

    Args:
        files: where they are.
        cache: of earlier sites.
        product: digest of what makes pages of runs.
        secrets: of this machine, which no page may show.
        processes: that read at the same time.
    """

    def __init__(
        self,
        files: RunFiles,
        cache: RunCache,
        product: str,
        secrets: Sequence[str],
        processes: int,
    ) -> None:
        self._files, self._cache, self._product = files, cache, product
        self._secrets, self._processes = tuple(secrets), processes
        self._digests: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._facts: dict[str, str] = {}

    def read(self) -> tuple[tuple[RunLine, ...], tuple[BrokenFile, ...]]:
        """Every run, the newest first, and every file that holds none.

        Raises:
            GithubError: GitHub does not answer, so that nobody knows what the others hold.
        """
        lines, broken, pending = list[RunLine](), list[BrokenFile](), list[str]()
        try:
            for name, load in self._files.files.items():
                try:
                    line = self._known(name, load)
                except GithubError:
                    raise
                except Exception as error:  # noqa: BLE001 - whatever somebody wrote into it, a file ends no reading
                    broken.append(BrokenFile(name, problem_of(error)))
                    continue
                pending += [name] if line is None else []
                lines += [] if line is None else [line]
            for name, found in self._read_anew(pending):
                if found.problem:
                    broken.append(BrokenFile(name, found.problem))
                else:
                    lines.append(self._keep(name, found))
        finally:
            self._files.close()
        return newest_first(lines), tuple(sorted(broken, key=lambda file: file.name))

    def _known(self, name: str, load: Callable[[], Report]) -> RunLine | None:
        """The run in a file that was read before; None where it is to be read."""
        if not isinstance(load, StoredRun):
            return self._keep(name, _read_run(load()))
        digest = self._digests[name] = load.digest()
        text = self._cache.get(self._key("line", digest))
        try:
            line = None if text is None else line_in(text)
        except ValueError:
            return None
        if line is not None:
            self._names[line.id] = name
        return line

    def _keep(self, name: str, found: ReadRun) -> RunLine:
        line, digest = line_in(found.line), self._digests.get(name)
        self._names[line.id] = name
        if digest is None:
            self._facts[name] = found.facts
        else:
            self._cache.put(self._key("line", digest), found.line.encode())
            self._cache.put(self._key("facts", digest), found.facts.encode())
        return line

    def _key(self, what: str, digest: str) -> str:
        return f"{what} {digest} {self._product}"

    def _read_anew(self, names: Sequence[str]) -> Iterator[tuple[str, ReadRun]]:
        processes = self._processes if len(names) >= _MUCH else 1
        groups = [names[at : at + _AT_ONCE] for at in range(0, len(names), _AT_ONCE)]
        parts = ([self._content(name) for name in group] for group in groups)
        for group, found in zip(groups, spread(read_contents, parts, processes), strict=True):
            yield from zip(group, found, strict=True)

    def _content(self, name: str) -> bytes | str:
        """What a file holds, or why it cannot be read."""
        load = self._files.files[name]
        try:
            return load.content() if isinstance(load, StoredRun) else ""
        except RatibaError as error:
            return problem_of(error)

    def facts(self, lines: Sequence[RunLine]) -> Mapping[str, ScenarioFacts]:
        """What each scenario is, as the newest run says.

        Args:
            lines: the newest first.
        """
        found: dict[str, ScenarioFacts] = {}
        for line in lines:
            if any(name not in found for name in line.outcomes):
                found = {**self._facts_of(line), **found}
        return found

    def _facts_of(self, line: RunLine) -> Mapping[str, ScenarioFacts]:
        name = self._names[line.id]
        text: str | bytes | None = self._facts.get(name)
        if text is None:
            text = self._cache.get(self._key("facts", self._digests[name]))
        try:
            entries = [] if text is None else json.loads(text)
            found = {each.id: each for each in (decode(ScenarioFacts, entry, "facts") for entry in entries)}
        except (ValueError, TypeError):
            found = {}
        if found.keys() >= set(line.outcomes):
            return {key: replace(each, page=page_name(key)) for key, each in found.items()}
        return facts_of(self._files.files[name]())

    def pages(self, history: History) -> Iterator[RunPage]:
        """The pages of the newest runs, the newest first."""
        lines = history.lines[:RUN_PAGES]
        bare = History("", (), "", {}, (), history.transcripts)
        known = {line.id: self._known_page(line, history.transcripts) for line in lines}
        missing = [line for line in lines if known[line.id] is None]
        groups = [missing[at : at + _AT_ONCE] for at in range(0, len(missing), _AT_ONCE)]
        parts = ([(self._page_content(line), _without_outcomes(line)) for line in group] for group in groups)
        work = partial(make_pages, bare, self._secrets)
        made = spread(work, parts, self._processes if len(missing) >= _MUCH else 1)
        fresh = (page for group in made for page in group)
        try:
            for line in lines:
                page = known[line.id]
                if page is None:
                    page = next(fresh)
                    self._keep_page(line, history.transcripts, page)
                yield page
        finally:
            self._files.close()

    def _page_content(self, line: RunLine) -> bytes | Report:
        load = self._files.files[self._names[line.id]]
        return load.content() if isinstance(load, StoredRun) else load()

    def _page_key(self, line: RunLine, transcripts: Transcripts) -> str | None:
        digest = self._digests.get(self._names[line.id])
        return None if digest is None else self._key(f"page {transcripts.value}", digest)

    def _known_page(self, line: RunLine, transcripts: Transcripts) -> RunPage | None:
        key = self._page_key(line, transcripts)
        content = None if key is None else self._cache.get(key)
        if content is None:
            return None
        try:
            page: RunPage = RunPage(**json.loads(content))
        except (ValueError, TypeError):
            return None
        if page.run != line.id:
            return None
        # A page may be older than a secret: it is then made again.
        secrets = (*self._secrets, *map(escape, self._secrets))
        shown = (page.html, *(text for _, _, text in page.talks))
        return page if all(mask_secrets(each, secrets) == each for each in shown) else None

    def _keep_page(self, line: RunLine, transcripts: Transcripts, page: RunPage) -> None:
        key = self._page_key(line, transcripts)
        if key is not None:
            content = {"run": page.run, "html": page.html, "talks": page.talks}
            self._cache.put(key, json.dumps(content).encode())


def read_contents(contents: Sequence[bytes | str]) -> list[ReadRun]:
    """What a site keeps of some files.

    Args:
        contents: of the files; a text says why one cannot be read.
    """
    repeated = RepeatedRecords()
    return [
        ReadRun(problem=content) if isinstance(content, str) else _read_content(content, repeated)
        for content in contents
    ]


def _read_content(content: bytes, repeated: RepeatedRecords) -> ReadRun:
    try:
        return _read_run(load_baseline(content, repeated=repeated))
    except Exception as error:  # noqa: BLE001 - whatever somebody wrote into it, a file ends no reading
        return ReadRun(problem=problem_of(error))


def _read_run(report: Report) -> ReadRun:
    line = line_of(report)
    facts = [encode(found) for found in facts_of(report).values()]
    content = {"line": encode(_without_outcomes(line)), "columns": line.outcomes.columns()}
    return ReadRun(json.dumps(content), json.dumps(facts))


def _without_outcomes(line: RunLine) -> RunLine:
    return replace(line, outcomes=Outcomes.of({}))


def line_in(text: str | bytes) -> RunLine:
    """The run in the text of a ``ReadRun``.

    Raises:
        ValueError: it is no such text.
    """
    content = json.loads(text)
    try:
        hints, given = _hints(), content["line"]
        values = {name: decode(hint, given[name], name) for name, hint in hints.items()}
        line = RunLine(**values, outcomes=Outcomes(content["columns"]))
    except (KeyError, TypeError) as error:
        raise ValueError("no line of a run") from error
    if not _PAGE_ID.fullmatch(line.id):  # it names a file
        raise ValueError("no id of a run")
    return replace(line, run_url=plain_run_url(line.run_url))


@cache
def _hints() -> Mapping[str, Any]:
    return {name: hint for name, hint in get_type_hints(RunLine).items() if name != "outcomes"}


def make_pages(
    history: History, secrets: Sequence[str], runs: Sequence[tuple[bytes | Report, RunLine]]
) -> list[RunPage]:
    """The pages of some runs.

    Args:
        history: of which a run's page shows how it is published.
        secrets: that no page may show.
        runs: content of the file or report, and line of each.
    """
    redactor, repeated = Redactor(secrets), RepeatedRecords()
    reports = (given if isinstance(given, Report) else load_baseline(given, repeated=repeated) for given, _ in runs)
    return [run_page(line, redactor.report(report), history) for report, (_, line) in zip(reports, runs, strict=True)]
