"""``ratiba check``: check answers with the rules that production uses, before they are sent."""

import argparse
import contextlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiba_action.commands.options import add_json, checkout_of
from ratiba_action.errors import UsageError
from ratiba_action.settings.settings import Settings, read_settings
from ratiba_action.util.text import printable

if TYPE_CHECKING:
    from ratiba_action.production.inline import AnswerJudge, CheckedAnswer, InlineRules

DESCRIPTION = """Check answers of a system in production for terms, rules, language, personal data and refusals,
without a model and in milliseconds. Each answer passes, is flagged or is blocked, with the reasons.
Answers come from a JSON Lines file (question, answer, contexts) or from options. With --judge,
assertions that need a judge call the judge of the gate's configuration, within the budget.
The exit code is 1 if any answer is blocked, 0 if none is."""
EXAMPLE = """example:
  ratiba check answers.jsonl --rules checks.yaml
  ratiba check --rules checks.yaml --question "Bei ya massage?" --answer "Ni KES 2,500." --json
  ratiba check answers.jsonl --rules checks.yaml --judge --budget-usd 1 --events events.jsonl"""

_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "id": str,
    "question": str,
    "answer": str,
    "contexts": list,
    "phone": str,
    "names": list,
}
_BLOCKED = 1
_MAX_BYTES = 64 << 20
_SHOWN = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("answers", nargs="?", metavar="FILE", help="JSON Lines file of answers; - reads standard input")
    parser.add_argument("--rules", required=True, metavar="FILE", help="YAML file of rules")
    parser.add_argument("--question", metavar="TEXT", help="a single question, instead of FILE")
    parser.add_argument("--answer", metavar="TEXT", help="the answer to it")
    parser.add_argument(
        "--context", metavar="TEXT", action="append", help="a text that the answer is based on; may be repeated"
    )
    parser.add_argument("--events", metavar="FILE", help="append EVAL_FAIL events to this file")
    parser.add_argument("--judge", action="store_true", help="call the judge for assertions that need one")
    parser.add_argument(
        "--generator", metavar="MODEL", action="append", help="model that wrote the answers; it may not be the judge"
    )
    parser.add_argument(
        "--budget-usd", metavar="VALUE", help="maximum cost in US dollars (default: 20; RATIBA_EVAL_BUDGET_USD)"
    )
    parser.add_argument(
        "--config",
        metavar="PATH",
        help="the gate's configuration, for the judge (default: .github/ratiba.yml; RATIBA_CONFIG)",
    )
    add_json(parser)


@dataclass(frozen=True, slots=True)
class _Given:
    """One answer to check; ``line`` is 0 for one of the command line."""

    line: int
    question: str
    answer: str
    contexts: Sequence[str] = ()
    id: str = ""
    phone: str = ""
    names: Sequence[str] = ()


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """Check every answer.

    Returns:
        1 if an answer is blocked, 0 if none is.

    Raises:
        UsageError: options contradict each other.
        SuiteError: the rules or the answers are wrong.
        InfrastructureError: a judge is to be called and there is no key.
    """
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.production.inline import check_answer, open_inline_events, read_inline_rules

    settings = read_settings(environment, {"config": arguments.config, "budget-usd": arguments.budget_usd})
    answers, rules = _answers(arguments), read_inline_rules(arguments.rules, _warn_of_former_keys)
    with contextlib.ExitStack() as stack:
        events = (
            stack.enter_context(open_inline_events(arguments.events, _warn, settings.secrets))
            if arguments.events
            else None
        )
        judge = _judge(arguments, settings, environment, rules, stack)
        checked = [
            check_answer(
                given.question,
                given.answer,
                given.contexts,
                rules,
                conversation=given.id,
                phone=given.phone,
                names=given.names,
                judge=judge,
                events=events,
            )
            for given in answers
        ]
        spent = str(getattr(judge, "spent", 0))
    report = _as_json(rules, answers, checked, spent)
    text = json.dumps(report, indent=2) if arguments.json else "\n".join(map(printable, _lines(report)))
    sys.stdout.write(Redactor(settings.secrets).secretless(text) + "\n")
    return _BLOCKED if any(each.blocked for each in checked) else 0


def _judge(
    arguments: argparse.Namespace,
    settings: Settings,
    environment: MutableMapping[str, str],
    rules: "InlineRules",
    stack: contextlib.ExitStack,
) -> "AnswerJudge | None":
    if not arguments.judge:
        return None
    if not rules.judged:
        raise UsageError(
            f"--judge is given, but {arguments.rules!r} has no assertion that needs a judge.",
            "Remove --judge, or add one such as FaithfulnessByClaimMetric.",
        )
    from ratiba_action.production.inline_judge import InlineJudge  # loads DeepEval
    from ratiba_action.run.authority import authorized_configuration

    folder = checkout_of()
    allowed, configuration = authorized_configuration(settings, folder, environment)
    judge = InlineJudge(
        allowed,
        folder,
        environment,
        generators=arguments.generator or (),
        note=_warn,
        configuration=configuration,
    )
    return stack.enter_context(judge)


def _warn_of_former_keys(name: str, content: bytes) -> None:
    from ratiba_action.config.renamed_keys import notes_of_former_keys

    for note in notes_of_former_keys({name: content}):
        _warn(note)


def _warn(text: str) -> None:
    sys.stderr.write(f"ratiba: {printable(text)}\n")


def _answers(arguments: argparse.Namespace) -> Sequence[_Given]:
    single = arguments.question is not None or arguments.answer is not None or bool(arguments.context)
    if single == bool(arguments.answers):
        raise UsageError(
            "Answers are given twice." if single else "No answer is given.",
            "Give a JSON Lines file, or --question and --answer.",
        )
    if not single:
        return _read(arguments.answers)
    if arguments.question is None or arguments.answer is None:
        raise UsageError("--question and --answer belong together.", "Give both.")
    return (_Given(0, arguments.question, arguments.answer, arguments.context or ()),)


def _read(name: str) -> Sequence[_Given]:
    """The answers of a file."""
    from ratiba_action.errors import FileProblem, SuiteError
    from ratiba_action.suite.data_file import read_rows

    try:
        with sys.stdin.buffer if name == "-" else Path(name).open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{name!r} cannot be read: {error.strerror}.", "Give a JSON Lines file of answers.") from error
    if len(content) > _MAX_BYTES:
        raise UsageError(f"{name!r} has more than {_MAX_BYTES:,} bytes.", "Split it into several files.")
    if name.endswith((".csv", ".json")):
        raise UsageError(f"{name!r} is a {name.rpartition('.')[2].upper()} file.", "Give a JSON Lines file of answers.")
    rows, problems = read_rows(name, content)
    found = [*problems, *(FileProblem(name, row.line, wrong) for row in rows for wrong in _wrong(row.values))]
    if found:
        raise SuiteError(found)
    return tuple(_Given(row.line, **row.values) for row in rows)


def _wrong(values: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with one answer of a file."""
    for key, value in values.items():
        if key not in _KEYS:
            yield f"unknown key {key!r:.80}; allowed: {', '.join(_KEYS)}"
        elif not isinstance(value, _KEYS[key]) or (
            isinstance(value, list) and not all(isinstance(item, str) for item in value)
        ):
            yield f"{key} is {value!r:.80}; give {'a list of texts' if _KEYS[key] is list else 'a text'}"
    yield from (f"{key} is missing" for key in ("question", "answer") if key not in values)


def _as_json(
    rules: "InlineRules", answers: Sequence[_Given], checked: "Sequence[CheckedAnswer]", spent: str
) -> dict[str, Any]:
    counts = Counter(each.action.value for each in checked)
    return {
        "schema": 1,
        "rules": rules.path,
        "counts": {action: counts[action] for action in ("pass", "flag", "block")},
        "slowest_ms": round(max((each.seconds for each in checked), default=0.0) * 1000, 1),
        "spent_usd": spent,
        "answers": [_answer(rules.path, given, each) for given, each in zip(answers, checked, strict=True)],
    }


def _answer(path: str, given: _Given, checked: "CheckedAnswer") -> dict[str, Any]:
    from ratiba_action.privacy.masking import Redactor

    return {
        "line": given.line,
        "id": Redactor(names=tuple(given.names)).text(given.id),
        "action": checked.action.value,
        "flagged": checked.flagged,
        "blocked": checked.blocked,
        "reasons": [
            {
                "action": problem.action.value,
                "kind": problem.kind,
                "name": problem.name,
                "expected": problem.expected,
                "got": problem.got,
                "reason": problem.reason,
                **({"file": path, "line": problem.line} if problem.line else {}),
            }
            for problem in checked.problems
        ],
        "not_measured": list(checked.not_measured),
    }


def _lines(report: Mapping[str, Any]) -> Iterable[str]:
    counts = report["counts"]
    total = sum(counts.values())
    yield (
        f"{total} answer{'s' * (total != 1)}: {counts['pass']} passed, {counts['flag']} flagged, "
        f"{counts['block']} blocked. Slowest: {report['slowest_ms']} ms."
    )
    failed = [entry for entry in report["answers"] if entry["flagged"]]
    for entry in failed[:_SHOWN]:
        place = f"line {entry['line']}" if entry["line"] else "the answer"
        yield f"{'BLOCK' if entry['blocked'] else 'FLAG '} {place}{' (' + entry['id'] + ')' if entry['id'] else ''}"
        for reason in entry["reasons"]:
            at = f" ({reason['file']}:{reason['line']})" if "line" in reason else ""
            expected_and_got = "; ".join(
                text
                for text in (
                    f"expected {reason['expected']}" if reason["expected"] else "",
                    f"got {reason['got']}" if reason["got"] else "",
                    reason["reason"],
                )
                if text
            )
            yield f"  {reason['action']}: {reason['name']}: {expected_and_got}{at}"
    if len(failed) > _SHOWN:
        yield f"… and {len(failed) - _SHOWN} more; --json lists all of them."
    missing = Counter(text for entry in report["answers"] for text in entry["not_measured"])
    yield from (f"Not measured in {count} of {total}: {text}" for text, count in missing.items())
    if report["spent_usd"] != "0":
        yield f"Spent {report['spent_usd']} US dollars on the judge."
