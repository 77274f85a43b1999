"""The part of the comment about data sets: their gates and aggregate scores, and the classes of a classifier."""

from ratiba_action.core.model.data_set import ClassScores, DataSetScores
from ratiba_action.core.model.verdict import Report
from ratiba_action.reporting.comment_sections import code_html
from ratiba_action.reporting.data_set_words import about, status, value
from ratiba_action.reporting.markdown import code, folded, inline, table
from ratiba_action.reporting.wording import number, plural

_CLASSES = 50


def data_sets(report: Report, *, classes: bool = True) -> str:
    """One block a data set; empty without one.

    Args:
        report: what to tell.
        classes: whether to add the folded tables of classes.
    """
    blocks = [_block(one, classes=classes) for one in report.data_sets]
    return "\n\n".join(["### Data sets", *blocks]) if blocks else ""


def _block(scores: DataSetScores, *, classes: bool) -> str:
    parts = [f"**{code(scores.id)}** · {code(scores.path)} · {about(scores)}"]
    if scores.gates:
        rows = [
            (code(one.gate.metric), value(one), number(one.gate.at_least), status(scores, one)) for one in scores.gates
        ]
        parts.append(table(("gate", "value:", "at least:", "result"), rows))
    gated = {one.gate.metric for one in scores.gates}
    others = [f"{inline(name)} {number(found)}" for name, found in scores.values.items() if name not in gated]
    parts += [f"Besides: {', '.join(others)}." if gated else f"{', '.join(others)}."] if others else []
    parts += [_classes(scores)] if classes and scores.classes else []
    return "\n\n".join(parts)


def _classes(scores: DataSetScores) -> str:
    lowest_first = sorted(scores.classes, key=lambda one: (one.f1, one.label))
    header = ("class", "precision:", "recall:", "F1:", "expected:", "given:")
    body = table(header, [_class_row(one) for one in lowest_first[:_CLASSES]])
    hidden = len(lowest_first) - _CLASSES
    body += f"\n\n{hidden} more in the report." if hidden > 0 else ""
    return folded(f"{_classes_of(scores)} of {code_html(scores.id)}, the lowest F1 first", body)


def _classes_of(scores: DataSetScores) -> str:
    return plural(len(scores.classes), "class") if len(scores.classes) == 1 else f"{len(scores.classes)} classes"


def _class_row(one: ClassScores) -> tuple[str, ...]:
    figures = (number(one.precision), number(one.recall), number(one.f1))
    return (code(one.label), *figures, str(one.support), str(one.given))
