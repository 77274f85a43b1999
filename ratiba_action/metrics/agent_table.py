"""Entries of the metrics that read what an agent does, or what it writes as code."""

from collections.abc import Mapping

from ratiba_action.metrics.entry import MetricEntry

_WITH_TOOLS = ("chatbot", "agent")
"""A chatbot that calls tools is measured by them as an agent is."""

AGENT_METRICS: Mapping[str, MetricEntry] = {
    "ToolCallF1Metric": MetricEntry(
        "ratiba_action.metrics.tool_call_f1:ToolCallF1Metric",
        "the expected tool calls and no others, in any order",
        system_types=_WITH_TOOLS,
        needs="expect.tools",
    ),
    "ToolCallAccuracyMetric": MetricEntry(
        "ratiba_action.metrics.tool_call_accuracy:ToolCallAccuracyMetric",
        "the expected tool calls in their turn and order",
        system_types=_WITH_TOOLS,
        needs="expect.tools",
    ),
    "ToolArgumentMetric": MetricEntry(
        "ratiba_action.metrics.tool_argument:ToolArgumentMetric",
        "the expected arguments of tool calls",
        system_types=_WITH_TOOLS,
        needs="expect.tools",
    ),
    "StepEfficiencyMetric": MetricEntry(
        "ratiba_action.metrics.step_efficiency:StepEfficiencyMetric",
        "no tool calls beyond those needed",
        system_types=_WITH_TOOLS,
        needs="expect.tools",
    ),
    "CodeSyntaxMetric": MetricEntry(
        "ratiba_action.metrics.code_syntax:CodeSyntaxMetric",
        "the code in replies can be parsed",
        system_types=("chatbot", "agent", "rag"),
    ),
    "CodeLintMetric": MetricEntry(
        "ratiba_action.metrics.code_lint:CodeLintMetric",
        "pyflakes finds nothing in the Python of replies; share of its lines without a finding",
        system_types=("chatbot", "agent", "rag"),
    ),
    "CodeTestsMetric": MetricEntry(
        "ratiba_action.metrics.code_tests:CodeTestsMetric",
        "the code of the last reply with any passes the scenario's tests",
        system_types=("chatbot", "agent", "rag"),
    ),
}
