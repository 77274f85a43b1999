"""The content of every file of a report."""

from ratiba_action.model.verdict import Report
from ratiba_action.reporting.directory import plain_files
from ratiba_action.reporting.html import render_html
from ratiba_action.reporting.junit import render_junit
from ratiba_action.reporting.results_csv import render_csv


def every_file(report: Report) -> dict[str, bytes]:
    """The content of each file, by its name."""
    return plain_files(report) | {
        "junit.xml": render_junit(report),
        "results.csv": render_csv(report).encode("utf-8", "replace"),
        "report.html": render_html(report).encode("utf-8", "replace"),
    }
