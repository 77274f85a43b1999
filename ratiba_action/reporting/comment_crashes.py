"""Where the system raised errors: the end of each traceback, folded."""

from ratiba_action.model.verdict import Report
from ratiba_action.reporting.comment_sections import code_html
from ratiba_action.reporting.markdown import clean, fenced, folded
from ratiba_action.reporting.wording import RaisedError, frames, plural, raised_errors
from ratiba_action.verdict.report_outcomes import deciding_outcomes

_CRASHES = 5
_LINES = 40
_WIDTH = 300


def crashes(report: Report) -> str:
    """The tracebacks of the first few errors that the system raised, each with its scenarios; empty without one."""
    raised = raised_errors(one.deciding for one in deciding_outcomes(report))
    parts = [folded(f"Traceback of {_scenarios(one)}", fenced(_end_of(frames(one.first)))) for one in raised[:_CRASHES]]
    hidden = len(raised) - _CRASHES
    return "\n\n".join([*parts, *([f"{plural(hidden, 'more traceback')} in the report."] if hidden > 0 else [])])


def _scenarios(raised: RaisedError) -> str:
    first = code_html(raised.scenarios[0])
    return f"{first}, and the same in {code_html(raised.others)}" if raised.others else first


def _end_of(traceback: str) -> str:
    """The last lines, each of bounded width: what was raised stands at the end."""
    lines = clean(traceback).split("\n")
    cut = ["…"] if len(lines) > _LINES else []
    return "\n".join([*cut, *(line[:_WIDTH] for line in lines[-_LINES:])])
