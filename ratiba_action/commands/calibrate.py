"""``ratiba calibrate``: compare judges with people, on a set of conversations that people label each month."""

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, date, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiba_action.commands.options import add_json, add_max, add_repo, count_option, parse_option, repository_of
from ratiba_action.errors import UsageError
from ratiba_action.settings.settings import Settings, read_settings
from ratiba_action.util.text import plural, printable

if TYPE_CHECKING:
    from ratiba_action.authoring.captured_session import CapturedSession
    from ratiba_action.config.configuration import Configuration
    from ratiba_action.model.measurement import JudgeThresholds, MeanByPeople
    from ratiba_action.model.verdict import Report
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.production.calibration import CalibrationCandidate, CalibrationSet, ConversationBlock, Schedule
    from ratiba_action.production.judge_calibration import CalibrationRun, GoldenScores
    from ratiba_action.verdict.human_agreement import HumanAgreement
    from ratiba_action.verdict.prediction_powered import BiasOfArms

DESCRIPTION = """Compare judges with people. Each month, people label about ten masked conversations, from the first
Monday on. The labels are in calibration/human_labelled.yaml in the scenarios folder. The tasks:
  add FILE     add masked conversations: a captured session, or JSON Lines with one each; or --langfuse
  label        ask a person for labels, one conversation after the other; or --form FILE, and later --from FILE
  run          let each judge with a key score the labelled conversations, and print its agreement with people
  thresholds   precision and recall of each threshold against the labels, and the recommended threshold
  due          what is due; exit code 1 if a session is overdue"""
EXAMPLE = """example:
  ratiba calibrate add conversations.jsonl --owner Adrian
  ratiba calibrate label --by Adrian
  ratiba calibrate run --budget-usd 2
  ratiba calibrate thresholds --html ratiba-report/report.html
  ratiba calibrate due --json"""

_TASKS = ("add", "label", "run", "thresholds", "due")
_OWN_OPTIONS = {
    "add": ("owner", "name", "max", "langfuse", "days", "tenants", "results"),
    "label": ("by", "form", "from"),
    "run": ("budget-usd", "recorded"),
    "thresholds": ("results", "write", "html"),
}
"""Options that not every task uses."""
_OVERDUE, _INCOMPLETE = 1, 3
_FIRST_YEAR, _LAST_YEAR = 2000, 2999
_LONGEST_NAME = 100
_MAX_COUNT = 9999


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("task", choices=_TASKS, metavar="TASK", help=", ".join(_TASKS))
    parser.add_argument("file", nargs="?", metavar="FILE", help="add: a session (.json) or sessions (.jsonl)")
    parser.add_argument("--owner", metavar="NAME", help="add: who labels the set, when it is new")
    parser.add_argument(
        "--name", metavar="NAME", action="append", default=[], help="add: a name to mask; may be repeated"
    )
    add_max(parser, "add: maximum number of conversations (default: 10)")
    parser.add_argument("--langfuse", action="store_true", help="add: read production conversations from Langfuse")
    parser.add_argument("--days", metavar="N", help="add: length of Langfuse's period (default: 30)")
    parser.add_argument("--tenants", metavar="FILE", help="add: YAML with vertical and names of each tenant")
    parser.add_argument("--by", metavar="NAME", help="label: who labels (default: the owner)")
    parser.add_argument("--form", metavar="FILE", help="label: write an HTML form instead of asking")
    parser.add_argument("--from", metavar="FILE", help="label: add the labels that a form gave back")
    parser.add_argument(
        "--budget-usd", metavar="VALUE", help="run: maximum cost of all judges (default: 20; RATIBA_EVAL_BUDGET_USD)"
    )
    parser.add_argument("--recorded", action="store_true", help="run: call no judge; use the scores that are kept")
    parser.add_argument(
        "--results",
        metavar="FILE",
        help="results.json of a run, or its folder: add what base and change said; thresholds of a golden run",
    )
    parser.add_argument("--write", metavar="FILE", help="thresholds: also write the result to a JSON file")
    parser.add_argument(
        "--html", metavar="FILE", help="thresholds: also write the report of that run with a plot of the thresholds"
    )
    parser.add_argument("--today", metavar="DAY", help="the day to count from (default: today)")
    add_repo(parser, "this folder's repository")
    parser.add_argument("--scenarios", metavar="PATH", help="scenarios folder (default: scenarios; RATIBA_SCENARIOS)")
    parser.add_argument(
        "--config",
        metavar="PATH",
        help="the gate's configuration, for the judges (default: .github/ratiba.yml; RATIBA_CONFIG)",
    )
    add_json(parser)


def run(arguments: argparse.Namespace, environment: MutableMapping[str, str]) -> int:
    """Run one task.

    Returns:
        0; ``run``: 1 if a judge agrees too little with people, 3 if scores are missing; ``due``: 1 if it is overdue.

    Raises:
        UsageError: an option is wrong or of another task, or a file cannot be read or written.
        SuiteError: the calibration set or another file is wrong.
        RatibaError: a judge or Langfuse cannot be called.
    """
    from ratiba_action.privacy.masking import Redactor

    _refuse_options_of_other_tasks(arguments)
    inputs = {name: getattr(arguments, name.replace("-", "_")) for name in ("scenarios", "config", "budget-usd")}
    settings = read_settings(environment, inputs)
    repository = repository_of(arguments, {})
    if not repository.is_dir():
        raise UsageError(f"There is no folder {str(repository)!r}.", "Give the checkout with --repo.")
    today = parse_option("--today", arguments.today, _day) if arguments.today else datetime.now(UTC).date()
    work = {"add": _add, "label": _label, "run": _run, "thresholds": _thresholds, "due": _due}[arguments.task]
    if arguments.file is not None and arguments.task != "add":
        raise UsageError(f"{arguments.task} takes no FILE, and got {arguments.file!r}.", "Run: ratiba calibrate --help")
    code, result, lines = work(_Task(arguments, settings, environment, repository, today))
    shown = json.dumps(result, indent=2, ensure_ascii=False) if arguments.json else "\n".join(map(printable, lines))
    sys.stdout.write(Redactor(settings.secrets).secretless(shown) + "\n")
    return code


def _refuse_options_of_other_tasks(arguments: argparse.Namespace) -> None:
    for task, names in _OWN_OPTIONS.items():
        for name in names if task != arguments.task else ():
            if name in _OWN_OPTIONS.get(arguments.task, ()):
                continue
            given = getattr(arguments, name.replace("-", "_"))
            if given not in (None, False, []):
                values = [] if given is True else [given] if isinstance(given, str) else given[:1]
                command = shlex.join(["ratiba", "calibrate", task, f"--{name}", *values])
                raise UsageError(f"ratiba calibrate {arguments.task} does not use --{name}.", f"Run: {command}")


class _Task:
    """What every task needs."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        settings: Settings,
        environment: MutableMapping[str, str],
        repository: Path,
        today: date,
    ) -> None:
        self.arguments, self.settings, self.environment = arguments, settings, environment
        self.repository, self.today, self.folder = repository, today, repository / settings.scenarios

    def calibration(self) -> "CalibrationSet":
        """The calibration set."""
        from ratiba_action.production.calibration import FILE, read_calibration

        found = read_calibration(self.folder)
        if found is None:
            place = f"{self.settings.scenarios}/{FILE}"
            raise UsageError(f"There is no calibration set: {place!r} does not exist.", "Run: ratiba calibrate add.")
        return found


_Ended = tuple[int, Mapping[str, Any], Sequence[str]]


def _add(task: _Task) -> _Ended:
    from ratiba_action.authoring.captured_session import read_sessions
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.production.calibration import (
        FILE,
        CalibrationSet,
        added_to,
        read_calibration,
        write_calibration,
    )

    arguments = task.arguments
    if sum(map(bool, (arguments.file, arguments.langfuse, arguments.results))) != 1:
        raise UsageError(
            "Conversations come from a file, from a run or from Langfuse.",
            "Give one of FILE, --results and --langfuse.",
        )
    calibration = read_calibration(task.folder)
    if calibration is None:
        if not arguments.owner:
            raise UsageError("The calibration set is new and has no owner.", "Give --owner NAME: who labels it.")
        calibration = CalibrationSet(owner=parse_option("--owner", arguments.owner, _person))
    maximum = count_option("--max", "10" if arguments.max is None else arguments.max, _MAX_COUNT)
    blocked: Mapping[str, str] = {}
    if arguments.langfuse:
        found, blocked = _of_langfuse(task)
    elif arguments.results:
        found = _of_run(task)
    else:
        found = [_found(session, arguments.name) for session in read_sessions(arguments.file)]
    changed, new = added_to(calibration, found, Redactor(task.settings.secrets, arguments.name), task.today, maximum)
    if new:
        write_calibration(task.folder, changed)
    waiting = len(changed.unlabelled)
    lines = [f"Added {len(new)} of {plural(len(found), 'conversation')} to {task.settings.scenarios}/{FILE}."]
    lines += [f"Blocked: {trace}: {why}" for trace, why in blocked.items()]
    lines += [f"{waiting} to label. Read them once for names, then run: ratiba calibrate label"] if waiting else []
    return 2 if blocked else 0, {"added": list(new), "unlabelled": waiting, "blocked": dict(blocked)}, lines


def _found(session: "CapturedSession", names: Sequence[str]) -> "CalibrationCandidate":
    from ratiba_action.production.calibration import CalibrationCandidate

    turns = [(turn.user, turn.reply) for turn in session.turns]
    return CalibrationCandidate(turns, session.id or "transcript", session.language or "und", (*session.names, *names))


def _of_run(task: _Task) -> "list[CalibrationCandidate]":
    """The conversations that judges scored in a run, of base and change, in an order that no score decides."""
    from ratiba_action.model.canonical import digest
    from ratiba_action.model.measurement import Scored
    from ratiba_action.production.calibration import CalibrationCandidate

    report = _golden_run(task)
    found = [
        CalibrationCandidate(
            [(each.turn.user, each.reply.text) for each in result.transcript.exchanges if each.turn.user is not None],
            f"{result.trial.arm.name}:{result.trial.scenario.id}",
            result.trial.scenario.language,
            (result.trial.scenario.customer.name, *task.arguments.name),
        )
        for result in (report.results if report is not None else ())
        if isinstance(result, Scored) and any(score.judged for score in result.scores)
    ]
    return sorted(found, key=lambda each: digest([each.source, [list(turn) for turn in each.turns]]))


def _of_langfuse(task: _Task) -> "tuple[list[CalibrationCandidate], Mapping[str, str]]":
    """Conversations of production: negative feedback first, then errors, then the others; and which are blocked."""
    from ratiba_action.production.calibration import CalibrationCandidate
    from ratiba_action.production.sample_reading import SampleRules, find
    from ratiba_action.production.tenants import tenants_outside
    from ratiba_action.run.event_logging import required_access

    access = required_access(task.settings, task.environment, "production cannot be read")
    given = task.arguments.days
    now, days = datetime.now(UTC), count_option("--days", "30" if given is None else given, _MAX_COUNT)
    tenants = tenants_outside(task.arguments.tenants, task.repository)
    rules = SampleRules(now - timedelta(days=days), now, share=1.0, tenants=tenants)
    sampled = find(access, rules)
    if sampled.problem:
        sys.stderr.write(f"ratiba: {printable(sampled.problem)}\n")
    found = [
        CalibrationCandidate(
            [
                (turn.user, reply.text)
                for turn, reply in zip(each.scenario.turns, each.replies, strict=True)
                if turn.user is not None
            ],
            f"langfuse:{each.scenario.id}",
            each.scenario.language,
            each.names,
            each.models,
        )
        for each in sampled.conversations
    ]
    return found, sampled.blocked


def _label(task: _Task) -> _Ended:
    from ratiba_action.production.calibration import (
        form_data,
        read_labels,
        write_calibration,
        write_whole,
    )

    arguments, calibration = task.arguments, task.calibration()
    before = len(calibration.unlabelled)
    if arguments.form:
        data = json.dumps(form_data(calibration), ensure_ascii=False).replace("<", "\\u003c")
        page = files("ratiba_action.production").joinpath("calibration_form.html").read_text("utf-8")
        write_whole(Path(arguments.form), page.replace("DATA", data, 1))
        lines = [f"Wrote {arguments.form} with {plural(before, 'conversation')}. Open it in a browser."]
        return 0, {"form": arguments.form, "unlabelled": before}, lines
    if labels := getattr(arguments, "from"):
        changed = read_labels(Path(labels), calibration, task.today)
        write_calibration(task.folder, changed)
    else:
        by = parse_option("--by", arguments.by, _person) if arguments.by else calibration.owner
        changed = _ask_all(task, calibration, by)
    waiting = len(changed.unlabelled)
    lines = [f"Labelled {before - waiting}; {waiting} left."]
    lines += [] if waiting else ["Then let the judges score them: ratiba calibrate run"]
    return 0, {"labelled": before - waiting, "unlabelled": waiting}, lines


def _ask_all(task: _Task, calibration: "CalibrationSet", by: str) -> "CalibrationSet":
    """Ask for the labels of one conversation after the other, and save each at once."""
    from ratiba_action.production.calibration import LabelBlock, labelled, write_calibration

    for number, conversation in enumerate(waiting := calibration.unlabelled, 1):
        sys.stderr.write(f"\n--- {number} of {len(waiting)}: {conversation.id}\n")
        sys.stderr.writelines(f"{printable(line)}\n" for line in _lines_of(conversation))
        scores = _ask(list(calibration.criteria))
        if scores is None:
            break
        if scores:
            # The file is read again: somebody else may have labelled meanwhile.
            label = LabelBlock(by=by, day=task.today, scores=scores)
            calibration = labelled(task.calibration(), conversation.id, label)
            write_calibration(task.folder, calibration)
    return calibration


def _lines_of(conversation: "ConversationBlock") -> Iterator[str]:
    for turn in conversation.turns:
        yield f"customer: {turn.user}"
        yield f"system:   {turn.reply}"


def _ask(criteria: Sequence[str]) -> dict[str, int] | None:
    """The numbers of one conversation; empty to skip it, None to stop."""
    scores: dict[str, int] = {}
    for criterion in criteria:
        while criterion not in scores:
            sys.stderr.write(f"{printable(criterion)}, 1 to 5 (s: skip, q: stop): ")
            sys.stderr.flush()
            given = sys.stdin.readline()
            if not given or given.strip() == "q":
                return None
            if given.strip() == "s":
                return {}
            if given.strip() in {"1", "2", "3", "4", "5"}:
                scores[criterion] = int(given)
    return scores


def _run(task: _Task) -> _Ended:
    from ratiba_action.production.calibration import schedule
    from ratiba_action.production.judge_calibration import JudgeRequest, judged_by, run_judges
    from ratiba_action.run.authority import authorized_configuration
    from ratiba_action.run.provider_keys import keys_of
    from ratiba_action.verdict.human_agreement import FAILED

    calibration, settings = task.calibration(), task.settings
    judges: tuple[Configuration, ...] = ()
    if not task.arguments.recorded:
        settings, configuration = authorized_configuration(settings, task.repository, task.environment)
        judges = judged_by(configuration, keys_of(settings, configuration))
    request = JudgeRequest(task.folder, calibration, judges, settings, task.environment, _warn)
    outcome, plan = run_judges(request), schedule(calibration, task.today)
    low = any(each.status in FAILED for each in outcome.agreements)
    result = {
        "agreements": [{**asdict(each), "status": each.status, "advice": each.advice} for each in outcome.agreements],
        "missing": outcome.missing,
        "problems": list(outcome.problems),
        "spent_usd": outcome.spent,
        "schedule": _plan(plan),
    }
    return 1 if low else _INCOMPLETE if outcome.missing else 0, result, [*_agreement_lines(outcome), plan.sentence]


def _agreement_lines(outcome: "CalibrationRun") -> Iterator[str]:
    for each in outcome.agreements:
        yield f"{each.judge}, {each.criterion}: {each.status}, n = {each.n}"
        interval = f"(95 %: {_number(each.low)} to {_number(each.high)})"
        kappas = {"quadratic": _number(each.quadratic), "unweighted": _number(each.unweighted)}
        kappas[each.weights] += f" {interval}"
        yield f"  quadratic kappa {kappas['quadratic']}, unweighted {kappas['unweighted']}, AC2 {_number(each.ac2)}"
        yield (
            f"  exactly the label {_number(each.exact)}, bias {_number(each.bias)} "
            f"(95 %: {_number(each.bias_low)} to {_number(each.bias_high)})"
        )
        yield from _table(each)
        if each.problem:
            yield f"  Too little: {each.problem}."
        yield f"  {each.advice}"
    if outcome.missing:
        yield f"{plural(outcome.missing, 'score')} missing: give a judge's key, and run: ratiba calibrate run"
    yield from outcome.problems
    yield f"Spent USD {outcome.spent}."


def _table(each: "HumanAgreement") -> Iterator[str]:
    if each.n:
        yield "  label \\ judge    1    2    3    4    5"
        yield from (
            f"  {label:>13} {' '.join(f'{count:>4}' for count in row)}" for label, row in enumerate(each.table, 1)
        )


def _thresholds(task: _Task) -> _Ended:
    from ratiba_action.privacy.masking import Redactor
    from ratiba_action.production.calibration import write_whole
    from ratiba_action.production.judge_calibration import biases_of_arms, read_marks, thresholds
    from ratiba_action.settings.report_folder import make_report_folder

    report, mask = _golden_run(task), Redactor(task.settings.secrets)
    calibration = task.calibration()
    found = thresholds(calibration, read_marks(task.folder), _golden_scores(report))
    biases = biases_of_arms(calibration, report.results, mask) if report is not None else {}
    result = {
        "thresholds": [asdict(each) for each in found],
        "bias_difference": {name: {**asdict(each), "differs": each.differs} for name, each in biases.items()},
    }
    lines = [line for each in found for line in _threshold_lines(each)]
    lines += [line for name, each in biases.items() for line in _bias_lines(name, each)]
    if not any(each.n for each in found):
        lines.append("No judge has scored the calibration set yet. Run: ratiba calibrate run")
    if task.arguments.html:
        page = _page(report, found, mask)
        if Path(task.arguments.html).absolute().parent == Path(task.settings.report_dir).absolute():
            make_report_folder(Path(task.settings.report_dir))
        write_whole(Path(task.arguments.html), page)
        lines.append(f"Wrote {task.arguments.html}.")
    if task.arguments.write:
        text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
        write_whole(Path(task.arguments.write), mask.secretless(text))
        lines.append(f"Wrote {task.arguments.write}.")
    return 0, result, lines


def _golden_run(task: _Task) -> "Report | None":
    """The run that is named, or the last one; None where nothing is named and nothing has run."""
    from ratiba_action.reporting.results_json import read_results, results_in_folder

    given = task.arguments.results
    place = Path(given) if given else task.repository / task.settings.report_dir
    path = results_in_folder(place) if place.is_dir() else place
    return read_results(path) if given or path.is_file() else None


def _golden_scores(report: "Report | None") -> "GoldenScores":
    """Scores of each judged metric in a run, and their means by scenario."""
    from ratiba_action.model.measurement import Scored
    from ratiba_action.model.values import mean
    from ratiba_action.production.judge_calibration import GoldenScores
    from ratiba_action.verdict.pairing import results_of_change

    if report is None:
        return GoldenScores()
    scores: dict[str, list[float]] = {}
    by_scenario: dict[str, dict[str, list[float]]] = {}
    for result in results_of_change(report.results):
        for score in result.scores if isinstance(result, Scored) else ():
            if score.judged:
                scores.setdefault(score.metric, []).append(score.value)
                own = by_scenario.setdefault(score.metric, {})
                own.setdefault(result.trial.scenario.id, []).append(score.value)
    means = {metric: [mean(values) for values in own.values()] for metric, own in by_scenario.items()}
    return GoldenScores(report.judge_model, scores, means)


def _page(report: "Report | None", found: "Sequence[JudgeThresholds]", mask: "Redactor") -> str:
    """The run's ``report.html`` with a plot of each judge's thresholds."""
    from ratiba_action.model.measurement import JudgeThresholds
    from ratiba_action.reporting.html import render_html
    from ratiba_action.reporting.summary import summarise
    from ratiba_action.verdict.agreement import five_numbers

    if report is None:
        raise UsageError(
            "--html writes the report of a run of the golden set, and there is none.",
            "Run: ratiba gate, or give --results FILE.",
        )
    labelled, scores = {each.metric for each in found}, _golden_scores(report).scores
    others = [
        JudgeThresholds("", "", name, 0, 0, (), None, five_numbers(scores[name])) for name in scores.keys() - labelled
    ]
    shown = [
        replace(each, judge=mask.text(each.judge), criterion=mask.text(each.criterion), metric=mask.text(each.metric))
        for each in (*found, *sorted(others, key=lambda each: each.metric))
    ]
    return render_html(summarise(mask.report(report)), shown)


def _threshold_lines(each: "JudgeThresholds") -> Iterator[str]:
    from ratiba_action.verdict.agreement import MIN_GOOD

    yield f"{each.judge}, {each.criterion} ({each.metric or 'not scored'}): n = {each.n}, {each.good} good"
    if each.golden:
        yield f"  golden set: minimum, quartiles, maximum {', '.join(map(_number, each.golden))}"
    if each.by_people is not None:
        yield from _by_people_lines(each.by_people)
    yield "  threshold  precision  recall  false failures"
    for row in each.changes:
        shown = f"{_number(row.precision):>9} {_number(row.recall):>7} {_number(row.false_failures):>15}"
        yield f"  {row.threshold:>9.2f} {shown}  {'#' * round(20 * (row.false_failures or 0))}"
    if each.suggested is None:
        lowest = each.rows[0]
        why = f"{each.good} are labelled, and at least {MIN_GOOD} are needed"
        if each.good >= MIN_GOOD:
            failed = round((lowest.false_failures or 0) * each.good)
            why = f"even the lowest, {lowest.threshold:.2f}, fails {failed} of {each.good}"
        yield f"  No threshold is proven to fail at most 5 % of the good conversations: {why}."
    else:
        yield (
            f"  {each.suggested:.2f} is the highest threshold that fails at most 5 % of the good conversations, with "
            "95 % confidence."
        )


def _bias_lines(criterion: str, found: "BiasOfArms") -> Iterator[str]:
    """Whether the judge treats base and change of that run alike."""
    from ratiba_action.production.judge_calibration import bias_sentence

    yield f"{criterion}, base and change of that run: {bias_sentence(found)}."
    if found.differs:
        yield (
            "  The judge's bias differs, so a difference of its scores is not one of quality: compare the labels of "
            "both, or add anchors to the criterion's steps."
        )


def _by_people_lines(found: "MeanByPeople") -> Iterator[str]:
    """What people would say of the golden set, on the scale of the judge."""
    by = f"by {found.labels} labels and {found.others} scenarios."
    if found.low is None or found.high is None:
        yield (
            f"  people would give the golden set {found.estimate:.2f} on average, {by} There is no interval: these "
            "labels do not show how far the judge is from people there. Label conversations of other quality."
        )
        return
    more = "No number of labels alone halves" if found.more is None else f"{found.more} more labels halve"
    yield (
        f"  people would give the golden set {found.estimate:.2f} on average "
        f"(95 %: {found.low:.2f} to {found.high:.2f}), {by} {more} this interval."
    )


def _due(task: _Task) -> _Ended:
    from ratiba_action.production.calibration import read_calibration, schedule

    calibration = read_calibration(task.folder)
    if calibration is None:
        message = "There is no calibration set, so nothing is due. To begin: ratiba calibrate add"
        return 0, {"overdue": False, "title": "", "body": message}, [message]
    plan = schedule(calibration, task.today)
    overdue = plan.due is not None or plan.gone is not None
    waiting = f"{plural(len(calibration.unlabelled), 'conversation')} to label."
    result = {"overdue": overdue, **_plan(plan), "unlabelled": len(calibration.unlabelled)}
    result |= {"title": "Label the calibration set", "body": f"{plan.sentence} {waiting} Run: ratiba calibrate label"}
    if overdue:
        _alert(task, plan.sentence)
    return _OVERDUE if overdue else 0, result, [plan.sentence, waiting]


def _alert(task: _Task, text: str) -> None:
    """Send that a session is overdue, where there is an address; a failure is a warning."""
    from ratiba_action.config.configuration import load_configuration
    from ratiba_action.model.note import Alert, AlertKind
    from ratiba_action.publish.notifications import Message, notify

    settings, kinds = task.settings, tuple(AlertKind)
    if not (settings.slack_webhook_url or settings.webhook_url):
        return
    if (task.repository / settings.config).exists():
        kinds = load_configuration(task.repository, settings.config).notifications.kinds
    message = Message(settings.name, (Alert(AlertKind.CALIBRATION, text),))
    notify(settings, task.environment, message, kinds, _warn)


def _plan(plan: "Schedule") -> dict[str, Any]:
    days = {"last": plan.last, "due": plan.due, "next": plan.following, "owner_gone": plan.gone}
    shown = {name: None if day is None else day.isoformat() for name, day in days.items()}
    return {"owner": plan.owner, **shown, "overdue_days": plan.overdue_days, "missed": plan.missed}


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value + 0:.2f}"


def _warn(message: str) -> None:
    sys.stderr.write(f"ratiba: {printable(message)}\n")


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ValueError("a day such as 2026-11-02") from None
    if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        raise ValueError(f"a day from {_FIRST_YEAR} to {_LAST_YEAR}")
    return day


def _person(text: str) -> str:
    if not text.strip() or len(text) > _LONGEST_NAME:
        raise ValueError(f"a name of 1 to {_LONGEST_NAME} characters")
    return text
