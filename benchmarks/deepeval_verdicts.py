"""Verdicts of DeepEval's metrics that call no judge, for ``tests/commands/deepeval_verdicts.json``.

    python benchmarks/deepeval_verdicts.py DATE > tests/commands/deepeval_verdicts.json

Needs DeepEval. No model is called.
"""

import importlib
import json
import os
import sys
from importlib.metadata import version
from typing import Any

REPLIES = [
    "Two days",
    "two days",
    " Two days\n",
    "Two days.",
    "12",
    " 12\n",
    "a 12",
    "12 34",
    "ab",
    "A\nb",
    "12\n34",
    "{}",
]
ANSWERS = ["Two days", "12", " ab "]
PATTERNS = [r"\d+", r"[a-z ]+", r"Two|Two days", r"\d+\s+\d+", r".*", r" \w+ ", r"(?s)a.b"]
CALLS: list[list[str]] = [[], ["find"], ["find", "reply"], ["reply", "find", "other"], ["find", "find"], ["other"]]
EXPECTED = [["find"], ["find", "reply"], ["reply", "find", "pay"]]
THRESHOLDS = [0.3, 0.5, 0.7, 1.0]


def verdicts() -> list[list[Any]]:
    """``[source of the metric, what the case expects, reply, tools called, verdict]``."""
    os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "OPENAI_API_KEY": "none"}
    metrics: Any = importlib.import_module("deepeval.metrics")
    rows: list[list[Any]] = []
    for reply in REPLIES:
        rows.extend(["ExactMatchMetric()", {"expected_output": answer}, reply, []] for answer in ANSWERS)
        for pattern in PATTERNS:
            rows.extend(
                [f"PatternMatchMetric(pattern={pattern!r}, ignore_case={ignore})", {}, reply, []]
                for ignore in (False, True)
            )
    for threshold in THRESHOLDS:
        name = f"ToolCorrectnessMetric(threshold={threshold}, async_mode=False)"
        rows.extend([name, {"expected_tools": expected}, "x", called] for expected in EXPECTED for called in CALLS)
    for row in rows:
        metric = eval(row[0], vars(metrics))  # noqa: S307 - the sources above
        metric.measure(_case(*row[1:]), _show_indicator=False)
        row.append(bool(metric.is_successful()))
    return rows


def _case(expects: dict[str, Any], reply: str, called: list[str]) -> Any:
    cases: Any = importlib.import_module("deepeval.test_case")
    tools = [cases.ToolCall(name=name) for name in expects.get("expected_tools", [])]
    return cases.LLMTestCase(
        input="?",
        actual_output=reply,
        expected_output=expects.get("expected_output"),
        expected_tools=tools,
        tools_called=[cases.ToolCall(name=name) for name in called],
    )


def main() -> None:
    """Print the verdicts."""
    lines = ",\n".join(json.dumps(row) for row in verdicts())
    made = {"deepeval": version("deepeval"), "date": sys.argv[1]}
    sys.stdout.write(f'{{"made_with": {json.dumps(made)}, "verdicts": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
