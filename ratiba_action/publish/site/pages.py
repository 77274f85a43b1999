"""The pages, one after another: each is written by a template from what was kept of the runs."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ratiba_action.history.keeping import AGREEMENT_BOUND, WINDOWS, join_trends, judge_drift, windows_of
from ratiba_action.history.run_files import BrokenFile
from ratiba_action.model.history import AgreementPoint, Trend, TrendPoint
from ratiba_action.model.measurement import NotRun, Scored
from ratiba_action.model.plan import HEAD
from ratiba_action.model.published import Transcripts, publishable
from ratiba_action.model.values import Usd, mean
from ratiba_action.model.verdict import Report
from ratiba_action.publish.site.charts import LineChart, line_chart, strip_of
from ratiba_action.publish.site.elsewhere import Elsewhere
from ratiba_action.publish.site.outcomes import FAILED, LETTERS
from ratiba_action.publish.site.runs import RunLine, ScenarioFacts, facts_of_name, page_name
from ratiba_action.publish.site.stability import RECENT, Stability, marks_of, stability_of
from ratiba_action.reporting.comment_failures import transcript_text
from ratiba_action.reporting.html import page_template
from ratiba_action.reporting.markdown import clean
from ratiba_action.reporting.summary import ScenarioRow, summarise
from ratiba_action.verdict.interval import Interval

if TYPE_CHECKING:
    from markupsafe import Markup

RUN_PAGES = 200
"""Runs with a page of their own, the newest ones; the figures of older ones stay in the lists."""
COMPARED = 200
"""Runs to choose from where runs are compared."""
MAX_COMPARED = 6
ROWS = 100
"""Runs on one page of the list."""
_MONTH = timedelta(days=30)
_MONTHS = 12
_EXPENSIVE = 15
_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.ASCII)
_SERVED = ("view.js", "chat.js")
_ASK_SERVER = "connect-src 'self'; "
_PACKAGE = "ratiba_action.publish.site"

Pages = Iterator[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class History:
    """What the pages are made of.

    Args:
        source: where the runs come from, in words.
        lines: every run once, the newest first.
        branch: whose own runs trends, shares and the badge are of; empty for runs that name none.
        facts: what each scenario is, by its id.
        broken: files that could not be read.
        transcripts: which conversations are published.
        elsewhere: what other commands measured.
        edition: how often the pages were made before, where a server makes them again after each run; None for files.
        chat: the server has a page to talk with the system, too.
    """

    source: str
    lines: tuple[RunLine, ...]
    branch: str
    facts: Mapping[str, ScenarioFacts]
    broken: tuple[BrokenFile, ...]
    transcripts: Transcripts
    elsewhere: Elsewhere = field(default_factory=Elsewhere)
    edition: int | None = None
    chat: bool = False

    @property
    def served(self) -> bool:
        """Whether a server shows them, with the run that goes on."""
        return self.edition is not None

    @property
    def own(self) -> tuple[RunLine, ...]:
        """Runs of the branch itself that measured something, the newest first."""
        own = (line for line in self.lines if line.pull_request is None and line.branch == self.branch)
        return tuple(line for line in own if line.rate is not None)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A trial's conversation as plain lines."""

    run: str
    started_at: datetime
    status: str
    text: str


@dataclass(frozen=True, slots=True)
class ScenarioLine:
    """A scenario over the last runs of the branch.

    Args:
        newest: how it ended in the newest run that had it.
        usd: mean cost of a run of it; None where it is not known.
    """

    facts: ScenarioFacts
    stability: Stability
    newest: str
    usd: Usd | None


@dataclass(frozen=True, slots=True)
class MetricLine:
    """A metric over the runs of the branch.

    Args:
        chart: of every comparable part.
        change: mean of the last 30 days less that of the 30 days before, over comparable runs; None without both.
        interval: of the change, with 95 % confidence; None where a month has a single run.
    """

    trend: Trend
    chart: LineChart | None
    latest: TrendPoint
    months: tuple[int, int]
    change: float | None
    interval: Interval | None

    @property
    def verdict(self) -> str:
        """Whether it fell, in a few words."""
        if self.change is None:
            return "no comparable runs in both months"
        if self.interval is None or self.interval.low <= 0 <= self.interval.high:
            return "no clear change"
        return "fell" if self.change < 0 else "rose"


@dataclass(frozen=True, slots=True)
class RunPage:
    """The page of a run, which follows from its report alone.

    Args:
        run: its id.
        html: the page.
        talks: id, status and conversation of each scenario whose conversation is published.
    """

    run: str
    html: str
    talks: tuple[tuple[str, str, str], ...]


def all_pages(history: History, load: Callable[[RunLine], Report | None]) -> Pages:
    """Every page, as the path of its file and its content.

    Args:
        load: reads a run again, masked; None where no more is known of it than its line.
    """
    return site_pages(history, run_pages(history, load))


def run_pages(history: History, load: Callable[[RunLine], Report | None]) -> Iterator[RunPage]:
    """The page of each of the newest runs."""
    for line in history.lines[:RUN_PAGES]:
        report = load(line)
        if report is not None:
            yield run_page(line, report, history)


def run_page(line: RunLine, report: Report, history: History) -> RunPage:
    """The page of a run.

    Args:
        report: of the run, masked.
        history: of which the page shows nothing but how it is published.
    """
    transcripts = history.transcripts
    summary = summarise(publishable(report, transcripts))
    order = {FAILED: 0, "passed": 2}
    rows = sorted(summary.deciding, key=lambda row: (order.get(row.deciding.ended, 1), not row.scenario.critical))
    _, html = render(
        history,
        f"run/{line.id}.html",
        "run.html.j2",
        f"{summary.headline} on {line.started_at:%Y-%m-%d %H:%M}",
        repository=line.repository,
        page_of=page_name,
        line=line,
        summary=summary,
        rows=[(row, _conversation(row, transcripts)) for row in rows if row.deciding.result.trial.arm.name == HEAD],
        quarantined=[(row, _conversation(row, transcripts)) for row in summary.quarantined],
    )
    talks = ((row, _conversation(row, transcripts)) for row in (*summary.deciding, *summary.quarantined))
    return RunPage(line.id, html, tuple((row.scenario.id, row.deciding.ended, text) for row, text in talks if text))


def _conversation(row: ScenarioRow, transcripts: Transcripts) -> str:
    """The deciding trial's conversation; empty where it is not published."""
    result = row.deciding.result
    failing = not (isinstance(result, Scored) and result.passed)
    if transcripts is Transcripts.NONE or not (transcripts is Transcripts.ALL or failing):
        return ""
    return "" if isinstance(result, NotRun) or result.transcript is None else transcript_text(result)


def site_pages(history: History, made: Iterable[RunPage]) -> Pages:
    """Every page, as the path of its file and its content.

    Args:
        made: the pages of runs, the newest first.
    """
    site = _Site(history)
    yield from site.runs_with_pages(made)
    yield from site.lists()
    yield from site.scenarios()
    yield "badge.svg", badge_svg(history).encode()
    yield "badge.json", (json.dumps(badge(history)) + "\n").encode()
    yield ".nojekyll", b""


def render(
    history: History, path: str, template: str, title: str, *, repository: str, **values: Any
) -> tuple[str, str]:
    """A page by its template, with its path."""
    from markupsafe import Markup  # a skipped run renders no page

    text = page_template(template, _PACKAGE).render(
        title=title,
        path=path,
        up="../" * path.count("/"),
        history=history,
        repository=repository,
        commit_url=commit_url,
        strip_of=strip_of,
        style=Markup(_text("site.css")),  # noqa: S704 - a constant of this package
        script=_script("site.js"),
        policy=Markup(content_policy(served=history.served)),  # noqa: S704 - the same
        view_script=_script("view.js") if history.served else "",
        **values,
    )
    return path, text


def served_pages(history: History) -> Pages:
    """The pages that a script fills from a server: the run that goes on, and the chat."""
    site = _Site(history)
    yield site.live()
    if history.chat:
        yield site.chat()


def content_policy(*, served: bool) -> str:
    """What a page may do, as a content security policy: its own style and script, and with a server to ask that one."""
    scripts = f"'{_digest('site.js')}'" + ("".join(f" '{_digest(name)}'" for name in _SERVED) if served else "")
    rules = f"default-src 'none'; style-src '{_digest('site.css')}'; script-src {scripts}; "
    return f"{rules}{_ASK_SERVER if served else ''}base-uri 'none'; form-action 'none'"


class _Site:
    def __init__(self, history: History) -> None:
        self._history = history
        self._own = history.own
        shown = (*self._own[:RECENT], *history.lines[:COMPARED])
        self._lines = {
            name: self._scenario(name) for name in sorted({name for line in shown for name in line.outcomes})
        }
        self._talks: dict[str, list[Conversation]] = {}
        self._paged: set[str] = set()

    def _scenario(self, name: str) -> ScenarioLine:
        found = [line.outcomes[name] for line in self._own[:RECENT] if name in line.outcomes]
        costs = [outcome.usd for outcome in found if outcome.usd is not None]
        return ScenarioLine(
            facts=self._history.facts.get(name) or facts_of_name(name),
            stability=stability_of(name, self._own),
            newest=found[0].status if found else "",
            usd=sum(costs, Decimal(0)) / len(costs) if costs else None,
        )

    def _page(self, path: str, template: str, title: str, **values: Any) -> tuple[str, bytes]:
        newest = self._history.lines[0] if self._history.lines else None
        path, text = render(
            self._history,
            path,
            template,
            title,
            repository=newest.repository if newest is not None else "",
            paged=self._paged,
            page_of=lambda name: self._lines[name].facts.page if name in self._lines else "",
            **values,
        )
        return path, text.encode("utf-8", "replace")

    def live(self) -> tuple[str, bytes]:
        """The page of the run that goes on."""
        return self._page("live.html", "live.html.j2", "The run that goes on")

    def chat(self) -> tuple[str, bytes]:
        """The page to talk with the system."""
        return self._page("chat.html", "chat.html.j2", "Talk with the system", chat_script=_script("chat.js"))

    def runs_with_pages(self, made: Iterable[RunPage]) -> Pages:
        """The pages of runs; their conversations are kept for the pages of scenarios."""
        began = {line.id: line.started_at for line in self._history.lines[:RUN_PAGES]}
        for page in made:
            self._paged.add(page.run)
            for name, status, text in page.talks:
                kept = self._talks.setdefault(name, [])
                if len(kept) < 2 and status not in {each.status for each in kept}:  # noqa: PLR2004 - now and then
                    kept.append(Conversation(page.run, began[page.run], status, text))
            yield f"run/{page.run}.html", page.html.encode("utf-8", "replace")

    def lists(self) -> Pages:
        """The pages of all runs."""
        yield self._overview()
        yield from self._run_lists()
        yield self._compare()
        yield self._page("metrics.html", "metrics.html.j2", "Metrics", metrics=self._metrics(), days=WINDOWS)
        yield self._judges()
        production = [line for line in self._lines.values() if line.facts.layer == "production"]
        yield self._page("production.html", "production.html.j2", "Production", rows=production, marks=self._marks)
        yield self._money()

    def _marks(self, name: str) -> tuple[str, ...]:
        return marks_of(name, self._own)

    def _overview(self) -> tuple[str, bytes]:
        flaky = sorted(
            (line for line in self._lines.values() if line.stability.flaky_since),
            key=lambda line: line.stability.changes,
        )[::-1]
        points = [(line.started_at, line.rate) for line in reversed(self._own[:RECENT]) if line.rate is not None]
        return self._page(
            "index.html",
            "overview.html.j2",
            "Overview",
            newest=self._own[0] if self._own else None,
            chart=line_chart([points]),
            recent=self._history.lines[:10],
            months=months_of(self._history.lines)[:2],
            held=[line for line in self._lines.values() if line.facts.until is not None],
            flaky=sorted(flaky, key=lambda line: -line.stability.changes),
            moved=[line for line in self._metrics() if line.verdict in {"fell", "rose"}],
            drift=judge_drift(self._agreements()[::-1]),
        )

    def _run_lists(self) -> Pages:
        lines = self._history.lines
        parts = [lines[at : at + ROWS] for at in range(0, len(lines), ROWS)] or [()]
        for number, part in enumerate(parts, 1):
            yield self._page(
                run_list(number),
                "runs.html.j2",
                "Runs" if number == 1 else f"Runs, page {number}",
                part=part,
                number=number,
                pages=[(other, run_list(other)) for other in range(1, len(parts) + 1)],
                events=sorted({line.event for line in part if line.event}),
                branches=sorted({line.branch for line in part if line.branch}),
            )

    def _compare(self) -> tuple[str, bytes]:
        lines = [line for line in self._history.lines if line.outcomes][:COMPARED]
        names = sorted({name for line in lines for name in line.outcomes})
        data = {
            "runs": [_compared(line) for line in lines],
            "scenarios": [[clean(name), (self._history.facts.get(name) or facts_of_name(name)).page] for name in names],
            "outcomes": ["".join(_letter(line, name) for name in names) for line in lines],
        }
        return self._page(
            "compare.html", "compare.html.j2", "Compare", lines=lines, maximum=MAX_COMPARED, data=embedded(data)
        )

    def _metrics(self) -> list[MetricLine]:
        trends = join_trends(point for line in self._own if line.in_trends for point in line.points)
        latest = max((trend.points[-1].started_at for trend in trends), default=None)
        return [] if latest is None else [metric_line(trend, latest) for trend in trends]

    def _agreements(self) -> list[AgreementPoint]:
        """Of two judges, the newest first."""
        return [line.agreement for line in self._history.lines if line.agreement is not None]

    def _judges(self) -> tuple[str, bytes]:
        found = self._agreements()
        kappas = [(each.started_at, each.kappa) for each in reversed(found) if each.kappa is not None]
        used: dict[str, list[RunLine]] = {}
        for line in self._history.lines:
            used.setdefault(line.judge_model, []).append(line)
        return self._page(
            "judges.html",
            "judges.html.j2",
            "Judges",
            agreements=found[:RECENT],
            chart=line_chart([kappas], AGREEMENT_BOUND),
            bound=AGREEMENT_BOUND,
            drift=judge_drift(found[::-1]),
            used=[(model, lines) for model, lines in used.items() if model],
        )

    def _money(self) -> tuple[str, bytes]:
        points = [(line.started_at, float(line.spent)) for line in reversed(self._history.lines)]
        costly = [line for line in self._lines.values() if line.usd is not None]
        return self._page(
            "money.html",
            "money.html.j2",
            "Money",
            months=months_of(self._history.lines)[:_MONTHS],
            chart=line_chart([points[-RUN_PAGES:]]),
            costly=sorted(costly, key=lambda line: line.usd or Decimal(0), reverse=True)[:_EXPENSIVE],
            shared=next((line.shared for line in self._history.lines if line.shared), ()),
        )

    def scenarios(self) -> Pages:
        """The list of scenarios, and a page of each."""
        listed = [line for line in self._lines.values() if line.newest or not self._own]
        rows = sorted(listed, key=lambda line: (_RANK.get(line.newest, 3), line.facts.id))
        yield self._page(
            "scenarios.html",
            "scenarios.html.j2",
            "Scenarios",
            rows=rows,
            marks=self._marks,
            runs=min(len(self._own), RECENT),
            tags=sorted({tag for line in rows for tag in line.facts.tags}),
            languages=sorted({line.facts.language for line in rows if line.facts.language}),
            owners=sorted({line.facts.owner for line in rows if line.facts.owner}),
        )
        for name, line in self._lines.items():
            # Runs of pull requests too, so that somebody finds a change's own run of it.
            found = [(run, run.outcomes[name]) for run in self._history.lines if name in run.outcomes][:RECENT]
            yield self._page(
                f"scenario/{line.facts.page}.html",
                "scenario.html.j2",
                name,
                line=line,
                found=found,
                marks=self._marks(name),
                talks=self._talks.get(name, []),
            )


_RANK = {"failed": 0, "incomplete": 1, "passed": 2}


def run_list(number: int) -> str:
    """The file of a page of the list of runs, from 1."""
    return "runs.html" if number == 1 else f"runs-{number}.html"


def metric_line(trend: Trend, latest: datetime) -> MetricLine:
    """A metric, and whether its last 30 days differ from the 30 before.

    Args:
        latest: when the latest run of the branch began.
    """
    last = trend.points[-1]
    part = trend.segments[-1].points
    this = [point.mean for point in part if point.started_at > latest - _MONTH]
    before = [point.mean for point in part if latest - 2 * _MONTH < point.started_at <= latest - _MONTH]
    change = mean(this) - mean(before) if this and before else None
    return MetricLine(
        trend=Trend(trend.metric, trend.segments, windows_of(trend, latest)),
        chart=line_chart(
            [[(point.started_at, point.mean) for point in each.points] for each in trend.segments],
            last.threshold if last.threshold > 0 else None,
        ),
        latest=last,
        months=(len(this), len(before)),
        change=change,
        interval=None if change is None else _difference(this, before),
    )


def _difference(first: Sequence[float], second: Sequence[float]) -> Interval | None:
    """Welch's interval of the difference of two means with 95 % confidence (Welch 1947)."""
    from scipy import special  # a third of a second, only where there are two months

    if min(len(first), len(second)) < 2:  # noqa: PLR2004 - a spread needs two values
        return None
    spreads = [sum((value - mean(values)) ** 2 for value in values) / (len(values) - 1) for values in (first, second)]
    parts = [spread / len(values) for spread, values in zip(spreads, (first, second), strict=True)]
    change, error = mean(first) - mean(second), sum(parts) ** 0.5
    if not error:
        return Interval(change, change)
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(values) - 1) for part, values in zip(parts, (first, second), strict=True)
    )
    reach = float(special.stdtrit(freedom, 0.975)) * error
    return Interval(change - reach, change + reach)


@dataclass(frozen=True, slots=True)
class Month:
    """What the runs of a month have spent, in US dollars."""

    name: str
    runs: int
    spent: Usd
    by_party: Mapping[str, Usd]
    by_model: Mapping[str, Usd]


def months_of(lines: Iterable[RunLine]) -> list[Month]:
    """The months with runs, the newest first, in UTC."""
    groups: dict[str, list[RunLine]] = {}
    for line in lines:
        groups.setdefault(f"{line.started_at:%Y-%m}", []).append(line)
    return [_month(name, runs) for name, runs in sorted(groups.items(), reverse=True)]


def _month(name: str, runs: Sequence[RunLine]) -> Month:
    spent = sum((line.spent for line in runs), Decimal(0))
    parties, models = _sum(runs, lambda line: line.by_party), _sum(runs, lambda line: line.by_model)
    return Month(name, len(runs), spent, parties, models)


def _sum(lines: Sequence[RunLine], what: Callable[[RunLine], Mapping[str, Usd]]) -> dict[str, Usd]:
    """By name, the greatest first."""
    total: dict[str, Usd] = {}
    for line in lines:
        for name, usd in what(line).items():
            total[name] = total.get(name, Decimal(0)) + usd
    return dict(sorted(total.items(), key=lambda item: item[1], reverse=True))


def _compared(line: RunLine) -> dict[str, Any]:
    return {
        "id": line.id,
        "label": clean(run_label(line)),
        "conclusion": line.conclusion,
        "passed": f"{line.passed} of {len(line.outcomes)}",
        "spent": f"{line.spent:.2f}",
        "means": {clean(f"{point.metric} {point.version}"): f"{point.mean:.4f}" for point in line.points},
    }


def run_label(line: RunLine) -> str:
    """A run in a few words."""
    of = f"#{line.pull_request}" if line.pull_request is not None else line.branch
    return " ".join(filter(None, (f"{line.started_at:%Y-%m-%d %H:%M}", of, line.commit[:7])))


def _letter(line: RunLine, name: str) -> str:
    end = line.outcomes.end(name)
    return "-" if end is None else LETTERS[end[0]]


def embedded(data: Any) -> str:
    """JSON that can stand in a ``script`` element: no text of it can end that, or begin another."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def commit_url(line: RunLine) -> str:
    """The commit's address beside the workflow run's; empty where one of both is not known."""
    found = re.fullmatch(r"(https://[A-Za-z0-9._:-]+/[A-Za-z0-9._/-]+)/actions/runs/[0-9]+", line.run_url, re.ASCII)
    return f"{found[1]}/commit/{line.commit}" if found and _COMMIT.fullmatch(line.commit) else ""


def badge(history: History) -> dict[str, Any]:
    """The pass rate of the branch's newest run, in the form of a shields.io endpoint."""
    newest = history.own[0] if history.own else None
    if newest is None or newest.rate is None:
        return {"schemaVersion": 1, "label": "scenarios", "message": "no run", "color": "lightgrey"}
    colour = {"passed": "brightgreen", "failed": "red"}.get(newest.conclusion, "orange")
    # Rounded down: 99.7 % are not all.
    return {"schemaVersion": 1, "label": "scenarios", "message": f"{int(newest.rate * 100)} % passed", "color": colour}


_COLOURS = {"brightgreen": "#17733f", "red": "#b3261e", "orange": "#8a5a00", "lightgrey": "#59616c"}


def badge_svg(history: History) -> str:
    """The same as a picture of its own."""
    found = badge(history)
    widths = [round(6.5 * len(text)) + 14 for text in (found["label"], found["message"])]
    return page_template("badge.svg.j2", _PACKAGE).render(
        label=found["label"], message=found["message"], colour=_COLOURS[found["color"]], widths=widths
    )


@cache
def _text(name: str) -> str:
    return files(_PACKAGE).joinpath("templates", name).read_text(encoding="utf-8")


def _script(name: str) -> "Markup":
    from markupsafe import Markup  # a skipped run renders no page

    return Markup(_text(name))  # noqa: S704 - a constant of this package


@cache
def _digest(name: str) -> str:
    return f"sha256-{b64encode(sha256(_text(name).encode()).digest()).decode()}"
