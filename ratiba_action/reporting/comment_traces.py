"""The part of the comment that leads to the conversations in Langfuse."""

import re

from ratiba_action.core.model.delivery import TraceLink
from ratiba_action.core.model.verdict import Report
from ratiba_action.reporting.markdown import folded, inline
from ratiba_action.reporting.wording import plural

_SHOWN = 60
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._~-]+)+", re.ASCII)
"""Nothing in it can end a link of Markdown or begin something else."""


def traces(report: Report) -> str:
    """A folded list of links, what failed first; empty where nothing was sent."""
    links = [link for link in report.traces.links if _ADDRESS.fullmatch(link.url)] if report.traces is not None else []
    if not links:
        return ""
    ordered = sorted(links, key=lambda link: link.passed is True)
    lines = [_line(link) for link in ordered[:_SHOWN]]
    if len(ordered) > _SHOWN:
        lines.append(f"- {len(ordered) - _SHOWN} more are in `results.json`")
    return folded(f"{plural(len(links), 'conversation')} in Langfuse", "\n".join(lines))


def _line(link: TraceLink) -> str:
    ended = {True: "passed", False: "failed", None: "not scored"}[link.passed]
    return f"- [{inline(link.label, 120)}]({link.url}): {ended}"
