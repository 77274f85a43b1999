"""Suites as the gate reads them."""

from pathlib import Path

from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.scenario import Suite
from ratiba_action.suite.load import load_suite, read_scenario_files


def suite_of(folder: Path) -> Suite:
    """The scenarios of a checkout, with the gate's own metrics and rules."""
    return load_suite(read_scenario_files(folder, "scenarios"), metric_problems, validate_rule)
