"""The two arms of a run, as they are evaluated: files, recordings, versions of the prompts, and the first plan.

The version of a prompt is ``<name>@<short commit>``. GitHub is asked for commits beyond the edge of
a shallow clone. Where neither can say, and in a dirty tree, the start of git's blob id stands in for the commit: it is
the same for the same text, whatever commits brought it.
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ratiba_action.errors import InfrastructureError
from ratiba_action.llm.recordings.folder import read_folder, recorded_trials, require_recorded_trials
from ratiba_action.llm.recordings.lines import JudgeRecording, Recording
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.plan import BASE, HEAD, Arm, Plan, Selection, Trial
from ratiba_action.model.scenario import Scenario
from ratiba_action.run.base_commit import BaseInputs, NoBase, fetch_base
from ratiba_action.run.earlier_runs import NONE, NOT_COMPARED, GithubHistory
from ratiba_action.run.inputs import ArmInputs, RunInputs
from ratiba_action.util.git import Git
from ratiba_action.util.locked_folder import is_file, make_locked_folder, sweep_folders
from ratiba_action.util.work_tree import differing
from ratiba_action.verdict.quarantine import day_of

_SCRATCH = "ratiba-run-"
_COMMIT_DIGITS = 7
BLOB_DIGITS = 12
"""Of a blob id that stands for a commit in a prompt's version."""

LastCommit = Callable[[str], str]
"""Gives the full id of the last commit that touched a path in the repository; empty where it is not known."""


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder outside the workspace for one run; what crashed runs left there is removed first."""
    base = Path(tempfile.gettempdir())
    sweep_folders(base, _SCRATCH)
    folder = make_locked_folder(base, _SCRATCH)
    try:
        yield folder.path
    finally:
        folder.remove()


def head_inputs(inputs: RunInputs, github: GithubHistory | None = None) -> ArmInputs:
    """What is evaluated of the change, or of a variant.

    Args:
        github: says which commits touched the prompts where the clone cannot; None to do without.

    Raises:
        SuiteError: recordings cannot be read, or hold fewer trials than a replay needs.
    """
    scenarios, change = inputs.selection.scenarios, inputs.decided.change
    system = inputs.configuration.system
    recordings = read_folder(inputs.recordings, [scenario.id for scenario in scenarios])
    if inputs.llm == Llm.REPLAY:
        require_recorded_trials(scenarios, recordings, inputs.recordings.relative_to(inputs.repository).as_posix())
    return ArmInputs(
        arm=Arm(inputs.variant or HEAD, str(inputs.repository), change.files.head),
        configuration=inputs.configuration,
        scenarios=scenarios,
        recordings={name: _with_scores_of_base(lines, inputs.base_scores) for name, lines in recordings.items()},
        prompt_versions=prompt_versions(
            inputs.repository, system.root, system.prompt_patterns, change.git, last_commit=_asked(inputs, github)
        ),
        prompt_blobs=prompt_blobs(inputs.repository, system.root, system.prompt_patterns),
        day=day_of(inputs.started_at),
        edited_prompts=edited_prompts(inputs.repository, system.root, system.prompt_patterns, change.files.paths),
        free=inputs.selection.free,
    )


def _with_scores_of_base(lines: Sequence[Recording], base: Mapping[str, JudgeRecording]) -> tuple[Recording, ...]:
    """A recording whose scores are the base's where it has them: a change does not score itself.

    Where the base has more answers about the same conversation, such as votes, a change does not leave them out.
    """
    scores = [line for line in lines if isinstance(line, JudgeRecording)]
    known, shown = {line.key for line in scores}, {_question_key(line) for line in scores}
    left_out = [line for key, line in base.items() if key not in known and _question_key(line) in shown]
    kept = [base.get(line.key, line) if isinstance(line, JudgeRecording) else line for line in lines]
    return (*kept, *left_out)


def _question_key(line: JudgeRecording) -> tuple[str, str, str]:
    """What a judge's answer is about."""
    return line.metric, line.model, line.transcript


def alone(inputs: RunInputs, scenarios: Sequence[Scenario]) -> RunInputs:
    """The run of some scenarios without a base, with the answers that are recorded."""
    return replace(
        inputs,
        settings=replace(inputs.settings, baseline=NONE),
        selection=Selection(inputs.decided.decision, tuple(scenarios)),
        base=NoBase("this run has no base"),
        edited_recordings=0,
    )


def base_of(inputs: RunInputs) -> BaseInputs | NoBase:
    """What the base is run with when a plan asks for it; or why there is none to run scenarios on."""
    base, refusal = inputs.base, _not_compared(inputs)
    if refusal:  # What is not to be compared needs no base, whatever is wrong with it.
        return NoBase(refusal)
    if isinstance(base, NoBase) or _shared(inputs, base):
        return base
    return NoBase("no selected scenario is also on the base")


def _asked(inputs: RunInputs, github: GithubHistory | None) -> LastCommit:
    """GitHub's last commit of a path: what the change leaves alone has the base's, whatever was merged beside it."""
    files = inputs.decided.change.files

    def last_commit(path: str) -> str:
        commit = files.head if path in files.paths or files.base is None else files.base
        return github.last_commit(path, commit or "") if github is not None else ""

    return last_commit


def base_inputs(inputs: RunInputs, base: BaseInputs, scratch: Path, github: GithubHistory) -> ArmInputs:
    """What is evaluated of the base; its files are written to the run's own folder.

    Raises:
        InfrastructureError: they are not in this clone or cannot be written.
    """
    change, system = inputs.decided.change, base.configuration.system
    exported = Exported(fetch_base(change, base.commit, scratch), base.commit)
    return ArmInputs(
        arm=Arm(BASE, str(exported.folder), base.commit),
        configuration=base.configuration,
        scenarios=_shared(inputs, base),
        recordings=_recordings(inputs, base),
        prompt_versions=prompt_versions(
            inputs.repository,
            system.root,
            system.prompt_patterns,
            change.git,
            exported,
            last_commit=lambda path: github.last_commit(path, base.commit),
        ),
        prompt_blobs=prompt_blobs(inputs.repository, system.root, system.prompt_patterns, exported),
        day=day_of(inputs.started_at),
        free=inputs.selection.free,
    )


def _shared(inputs: RunInputs, base: BaseInputs) -> tuple[Scenario, ...]:
    """The selected scenarios that are the same on the base."""
    return tuple(scenario for scenario in inputs.selection.scenarios if scenario.id in base.scenarios)


def _recordings(inputs: RunInputs, base: BaseInputs) -> dict[str, Sequence[Recording]]:
    return {scenario.id: base.recordings.get(scenario.id, ()) for scenario in _shared(inputs, base)}


def _not_compared(inputs: RunInputs) -> str:
    """Why this run is not compared with its base at all; empty where it is."""
    if inputs.settings.baseline == NONE:
        return "the baseline is switched off"
    if inputs.variant:
        return "a variant of the system is not compared with the base"
    if inputs.anchored:
        return ""
    if inputs.decided.change.subject.event in NOT_COMPARED:
        return "the base branch's own runs are the baseline of others"
    return "" if inputs.decided.change.files.paths else "nothing differs from the base"


def first_plan(inputs: RunInputs, head: ArmInputs, *, measured: bool) -> Plan:
    """What is run in any case: in a replay every recorded trial, on both sides of the change.

    Args:
        measured: the base was measured by earlier runs, so that it need not be run now.
    """
    if inputs.llm != Llm.REPLAY:
        return head.plan
    base = base_of(inputs)
    theirs = recorded_trials(_recordings(inputs, base)) if isinstance(base, BaseInputs) and not measured else {}
    return with_recorded(head.plan, recorded_trials(head.recordings), theirs)


def no_further_trials(inputs: RunInputs) -> str | None:
    """Why no trial can be run beyond those that are planned; None where one can."""
    return "the recordings hold no further trials" if inputs.llm == Llm.REPLAY else None


def _unknown(_: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Exported:
    """Files of a commit outside the work tree.

    Args:
        folder: root of the files.
    """

    folder: Path
    commit: str


def prompt_versions(
    repository: Path,
    system_root: str,
    patterns: Sequence[str],
    git: Git | None,
    exported: Exported | None = None,
    *,
    last_commit: LastCommit = _unknown,
) -> tuple[str, ...]:
    """Versions of every prompt file that a pattern matches, sorted.

    Args:
        repository: root of the checkout.
        system_root: folder of the system inside it.
        patterns: glob patterns below the system's root.
        git: the repository; None where there is none.
        exported: files to look at instead of the work tree's.
        last_commit: called for what the clone does not know of a committed file.
    """
    top = repository if exported is None else exported.folder
    files = _prompt_files(top, system_root, patterns)
    names = [path.relative_to(top).as_posix() for path in files]
    commits = _commits(git, names, exported.commit if exported is not None else None, last_commit)
    versions = zip(files, commits, strict=True)
    return tuple(sorted(f"{path.stem}@{commit or _blob_id(path)[:BLOB_DIGITS]}" for path, commit in versions))


def prompt_blobs(
    repository: Path, system_root: str, patterns: Sequence[str], exported: Exported | None = None
) -> tuple[str, ...]:
    """``<name>@<blob id>`` of every prompt file that a pattern matches, sorted: equal for equal texts.

    The id is that of ``git rev-parse HEAD:path``, so production can tell it without the gate, and a squash merge does
    not change it.

    Args:
        repository: root of the checkout.
        system_root: folder of the system inside it.
        patterns: glob patterns below the system's root.
        exported: files to look at instead of the work tree's.
    """
    top = repository if exported is None else exported.folder
    return tuple(sorted(f"{path.stem}@{_blob_id(path)}" for path in _prompt_files(top, system_root, patterns)))


def edited_prompts(
    repository: Path, system_root: str, patterns: Sequence[str], changed: Iterable[str]
) -> tuple[str, ...]:
    """Paths of the prompt files among those that a change touches, sorted.

    Args:
        repository: root of the checkout.
        system_root: folder of the system inside it.
        patterns: glob patterns below the system's root.
        changed: paths in the repository.
    """
    files = {path.relative_to(repository).as_posix() for path in _prompt_files(repository, system_root, patterns)}
    return tuple(sorted(files & set(changed)))


def _prompt_files(top: Path, root: str, patterns: Sequence[str]) -> Sequence[Path]:
    found = {path for pattern in patterns for path in (top / root).glob(pattern)}
    return sorted(path for path in found if is_file(path) and _is_of_repository(path, top))


def _is_of_repository(path: Path, top: Path) -> bool:
    """Whether links lead to a file of the repository: names and digests of others are nobody's to read in a report."""
    real, root = Path(os.path.realpath(path)), os.path.realpath(top)
    return real.is_relative_to(root) and ".git" not in real.relative_to(root).parts


def _commits(
    git: Git | None, names: Sequence[str], commit: str | None, last_commit: LastCommit
) -> Iterable[str | None]:
    """The last commit that touched each file; ``commit`` is that of exported files, None for the work tree."""
    unknown = [None] * len(names)
    if git is None or not names:
        return unknown
    try:
        if commit is None and _edited(git, names):
            return unknown
        return [git.last_commit(name, commit or "HEAD") or last_commit(name)[:_COMMIT_DIGITS] or None for name in names]
    except InfrastructureError:
        return unknown


def _edited(git: Git, names: Sequence[str]) -> bool:
    tree = git.tree("HEAD")
    committed = {name: tree[name] for name in names if name in tree}
    return len(committed) < len(names) or bool(differing(git, committed))


def _blob_id(path: Path) -> str:
    """Git's id of the file's content, as ``git hash-object --no-filters`` prints it."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def with_recorded(plan: Plan, head: Mapping[str, int], base: Mapping[str, int]) -> Plan:
    """A plan of the head's trials with all that are recorded, and those of the base that they are compared with.

    A scenario that is compared has as many trials on both sides, so that no further trial of one side is left alone.

    Args:
        plan: trials of the head that must be held in any case.
        head: how many trials of each scenario are recorded, by its id.
        base: the same of the base, for the scenarios that run there too; empty where it is not run.
    """
    minimum: dict[str, list[Trial]] = {}
    for trial in plan.trials:
        minimum.setdefault(trial.scenario.id, []).append(trial)
    both = possible_trials(head, base)
    own: list[Trial] = []
    other: list[Trial] = []
    for name, trials in minimum.items():
        count = max(len(trials), both.get(name, head.get(name, 1)))
        planned = [Trial(trials[0].scenario, trials[0].arm, number) for number in range(count)]
        own += planned
        compared = planned[: base[name]] if name in base else []
        other += [Trial(trial.scenario, Arm(BASE, ""), trial.number) for trial in compared]
    return Plan((*own, *other))


def possible_trials(head: Mapping[str, int], base: Mapping[str, int]) -> dict[str, int]:
    """How many trials of each scenario can be held on both sides, the first one included.

    Args:
        head: how many there can be on the head, by scenario id.
    """
    return {name: min(count, base[name]) for name, count in head.items() if name in base}
