"""The publication of a run of the gate: every file, and colours and a table on a terminal."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, TextIO

from ratiba_action.github.clients import by_pygithub
from ratiba_action.publish.publishing import Publication
from ratiba_action.reporting.terminal import RichPrinter
from ratiba_action.settings.settings import Settings

if TYPE_CHECKING:
    from ratiba_action.reporting.directory import FileParts
    from ratiba_action.reporting.summary import ReportSummary


def every_file(summary: "ReportSummary") -> "dict[str, FileParts]":
    """What renders each file, by its name."""
    from ratiba_action.publish.annotations import render_sarif
    from ratiba_action.reporting.directory import plain_files
    from ratiba_action.reporting.html import render_html
    from ratiba_action.reporting.junit import render_junit
    from ratiba_action.reporting.results_csv import render_csv

    return plain_files(summary) | {
        "junit.xml": lambda: [render_junit(summary)],
        "results.csv": lambda: [render_csv(summary).encode("utf-8", "replace")],
        "ratiba.sarif": lambda: [render_sarif(summary)],
        "report.html": lambda: [render_html(summary).encode("utf-8", "replace")],
    }


def full_publication(
    settings: Settings, environment: Mapping[str, str], stream: TextIO, verbosity: int = 0
) -> Publication:
    """A publication with everything that an installed gate can render; see ``Publication`` and ``RichPrinter``."""
    printer = partial(RichPrinter, verbosity=verbosity)
    return Publication(settings, environment, stream, printer, every_file, by_pygithub, quiet=verbosity < 0)
