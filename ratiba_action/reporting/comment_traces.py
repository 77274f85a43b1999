"""What leads from a report to its conversations in Langfuse, and the part of the comment that does so."""

import re

from ratiba_action.model.verdict import Report, TraceLink
from ratiba_action.reporting.markdown import folded, inline
from ratiba_action.reporting.wording import plural

_SHOWN = 60
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._~-]+)+", re.ASCII)
"""Nothing in it can end a link of Markdown or begin something else."""


def traces(report: Report) -> str:
    """A folded list of links, what failed first; empty where nothing was sent."""
    ordered = trace_links(report)
    if not ordered:
        return ""
    lines = [_line(link) for link in ordered[:_SHOWN]]
    if len(ordered) > _SHOWN:
        lines.append(f"- {len(ordered) - _SHOWN} more are in `results.json`")
    return folded(f"{plural(len(ordered), 'scenario')} in Langfuse", "\n".join(lines))


def trace_links(report: Report) -> list[TraceLink]:
    """Links to the conversations that are plain addresses, what failed first."""
    links = report.traces.links if report.traces is not None else ()
    return sorted((link for link in links if _ADDRESS.fullmatch(link.url)), key=lambda link: link.passed is True)


def run_link(report: Report) -> str:
    """Address of all scenarios of the run together; empty where there is no plain one."""
    url = report.traces.run_url if report.traces is not None else ""
    return url if _ADDRESS.fullmatch(url) else ""


def trace_ended(link: TraceLink) -> str:
    """How a conversation ended, in words."""
    return {True: "passed", False: "failed", None: "not scored"}[link.passed]


def _line(link: TraceLink) -> str:
    return f"- [{inline(link.label, 120)}]({link.url}): {trace_ended(link)}"
