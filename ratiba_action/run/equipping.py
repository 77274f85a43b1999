"""What a prepared run works on, with what, and where: materials, workshop, scratch folder, prompt versions.

The version of a prompt is ``<name>@<short commit>`` (``seeds/000`` §5); in a shallow or dirty tree history cannot say,
so a content hash stands in for the commit.
"""

import contextlib
import hashlib
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ratiba_action.errors import InfrastructureError
from ratiba_action.llm.recordings.folder import read_folder, recorded_trials, require_recorded_trials
from ratiba_action.llm.recordings.lines import JudgeRecording, Recording
from ratiba_action.model.plan import BASE, HEAD, Arm, Plan, Trial
from ratiba_action.money.budget import Ledger
from ratiba_action.run.base_side import fetch_base
from ratiba_action.run.earlier_runs import AUTO, NONE, NOT_COMPARED
from ratiba_action.run.paid_run import Payment
from ratiba_action.run.paying import cache_folder, journal_place, payment_of, source_of_answers
from ratiba_action.run.preparing import GateRun, Prepared
from ratiba_action.run.workshop import BaseOffer, Materials, Workshop
from ratiba_action.settings.environment import has_proxy_password
from ratiba_action.util.git import Git
from ratiba_action.util.locked_folder import is_file, make_locked_folder, sweep_folders
from ratiba_action.util.work_tree import differing
from ratiba_action.verdict.quarantine import day_of


@dataclass(frozen=True, slots=True)
class Exported:
    """Files of a commit outside the work tree.

    Args:
        folder: root of the files.
        commit: that they are of.
    """

    folder: Path
    commit: str


def prompt_versions(
    repository: Path,
    system_root: str,
    patterns: Sequence[str],
    git: Git | None,
    exported: Exported | None = None,
) -> tuple[str, ...]:
    """Versions of every prompt file that a pattern matches, sorted.

    Args:
        repository: root of the checkout.
        system_root: folder of the system inside it.
        patterns: glob patterns below the system's root.
        git: the repository; None where there is none.
        exported: files to look at in the place of the work tree's.
    """
    top = repository if exported is None else exported.folder
    files = _prompt_files(top / system_root, patterns)
    names = [path.relative_to(top).as_posix() for path in files]
    commits = _commits(git, names, exported.commit if exported is not None else None)
    versions = zip(files, commits, strict=True)
    return tuple(sorted(f"{path.stem}@{commit or _content_hash(path)}" for path, commit in versions))


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
    files = {path.relative_to(repository).as_posix() for path in _prompt_files(repository / system_root, patterns)}
    return tuple(sorted(files & set(changed)))


def _prompt_files(root: Path, patterns: Sequence[str]) -> Sequence[Path]:
    return sorted({path for pattern in patterns for path in root.glob(pattern) if is_file(path)})


def _commits(git: Git | None, names: Sequence[str], commit: str | None) -> Iterable[str | None]:
    """The last commit that touched each file; ``commit`` is that of exported files, None for the work tree."""
    unknown = [None] * len(names)
    if git is None or not names:
        return unknown
    try:
        if commit is None and _edited(git, names):
            return unknown
        return [git.last_commit(name, commit or "HEAD") or None for name in names]
    except InfrastructureError:
        return unknown


def _edited(git: Git, names: Sequence[str]) -> bool:
    tree = git.tree("HEAD")
    committed = {name: tree[name] for name in names if name in tree}
    return len(committed) < len(names) or bool(differing(git, committed))


def _content_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def with_recorded(plan: Plan, head: Mapping[str, int], base: Mapping[str, int]) -> Plan:
    """A plan of the head's trials with all that are recorded, and those of the base that they are compared with.

    A scenario that is compared has as many trials on both sides, so that no further trial of one side is left alone.

    Args:
        plan: trials of the head that must be held in any case.
        head: how many trials of each scenario are recorded, by its id.
        base: the same of the base, for the scenarios that are held there too; empty where it is not run.
    """
    least: dict[str, list[Trial]] = {}
    for trial in plan.trials:
        least.setdefault(trial.scenario.id, []).append(trial)
    both = possible_trials(head, base)
    own: list[Trial] = []
    other: list[Trial] = []
    for name, trials in least.items():
        count = max(len(trials), both.get(name, head.get(name, 1)))
        held = [Trial(trials[0].scenario, trials[0].arm, number) for number in range(count)]
        own += held
        compared = held[: base[name]] if name in base else []
        other += [Trial(trial.scenario, Arm(BASE, ""), trial.number) for trial in compared]
    return Plan((*own, *other))


def possible_trials(head: Mapping[str, int], base: Mapping[str, int]) -> dict[str, int]:
    """How many trials of each scenario can be held on both sides, the first one included.

    Args:
        head: how many there can be on the head, by scenario id.
        base: the same of the base.
    """
    return {name: min(count, base[name]) for name, count in head.items() if name in base}


DEFAULT_CONCURRENCY = 4

_SCRATCH = "ratiba-run-"


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


def materials_of(run: GateRun, prepared: Prepared) -> Materials:
    """What the run evaluates.

    Raises:
        SuiteError: recordings cannot be read, or hold fewer trials than a replay needs.
    """
    scenarios = prepared.selection.scenarios
    system = prepared.inputs.configuration.system
    recordings = read_folder(run.recordings, [one.id for one in scenarios])
    if source_of(run, prepared) == "replay":
        folder = run.recordings.relative_to(run.repository).as_posix()
        require_recorded_trials(scenarios, recordings, folder)
    return Materials(
        arm=Arm(run.variant or HEAD, str(run.repository), run.decided.change.files.head),
        scenarios=scenarios,
        recordings={name: _held(lines, prepared.inputs.base_grades) for name, lines in recordings.items()},
        prompt_versions=prompt_versions(run.repository, system.root, system.prompt_patterns, run.decided.change.git),
        day=day_of(run.started_at),
        edited_prompts=edited_prompts(
            run.repository, system.root, system.prompt_patterns, run.decided.change.files.paths
        ),
        free=prepared.selection.free,
    )


def base_of(run: GateRun, prepared: Prepared, scratch: Path) -> BaseOffer | str:
    """The base of the change, to be fetched when it is needed; or why there is none to hold conversations with."""
    inputs, scenarios = prepared.inputs.base, prepared.selection.scenarios
    if isinstance(inputs, str) or (refusal := _not_compared(run)):
        return inputs if isinstance(inputs, str) else refusal
    same = tuple(one for one in scenarios if one.id in inputs.scenarios)
    if not same:
        return "no selected scenario is also on the base"
    recordings = {one.id: inputs.recordings.get(one.id, ()) for one in same}

    def fetch() -> Materials:
        folder = fetch_base(run.decided.change, inputs.commit, scratch)
        system = inputs.configuration.system
        exported = Exported(folder, inputs.commit)
        return Materials(
            arm=Arm(BASE, str(folder), inputs.commit),
            scenarios=same,
            recordings=recordings,
            prompt_versions=prompt_versions(
                run.repository, system.root, system.prompt_patterns, run.decided.change.git, exported
            ),
            day=day_of(run.started_at),
            free=prepared.selection.free,
        )

    return BaseOffer(inputs.configuration, same, recordings, fetch)


def _not_compared(run: GateRun) -> str:
    """Why this run is not compared with its base at all; empty where it is."""
    if run.settings.baseline == NONE:
        return "the baseline is switched off"
    if run.variant:
        return "a variant of the system is not compared with the base"
    if run.decided.change.subject.event in NOT_COMPARED:
        return "the base branch's own runs are the baseline of others"
    return "" if run.decided.change.files.paths else "nothing differs from the base"


def first_plan(
    run: GateRun, prepared: Prepared, materials: Materials, base: BaseOffer | str, *, measured: bool
) -> Plan:
    """What is held in any case: in a replay every recorded trial, on both sides of the change.

    Args:
        run: its inputs.
        prepared: what it evaluates.
        materials: of the head.
        base: the base of the change, or why there is none.
        measured: the base was measured by earlier runs, so that it need not be held now.
    """
    if source_of(run, prepared) != "replay":
        return materials.plan
    held_too = isinstance(base, BaseOffer) and run.settings.baseline == AUTO and not measured
    beside = recorded_trials(base.recordings) if held_too and isinstance(base, BaseOffer) else {}
    return with_recorded(materials.plan, recorded_trials(materials.recordings), beside)


def no_further_trials(run: GateRun, prepared: Prepared) -> str:
    """Why no trial can be run beyond those that are planned; empty where one can."""
    return "the recordings hold no further trials" if source_of(run, prepared) == "replay" else ""


def _held(lines: Sequence[Recording], base: Mapping[str, JudgeRecording]) -> tuple[Recording, ...]:
    """A recording whose grades are the base's where it has them: a change does not grade itself."""
    return tuple(base.get(line.key, line) if isinstance(line, JudgeRecording) else line for line in lines)


def source_of(run: GateRun, prepared: Prepared) -> str:
    """Where the run's answers come from: ``replay``, ``auto``, ``live`` or ``record``."""
    return source_of_answers(run.settings, prepared.inputs.edited_recordings)


def payment_for(run: GateRun, source: str, prepared: Prepared, materials: Materials) -> Payment:
    """Who a run pays that may ask models, out of what; ``source`` is of its answers."""
    evaluated = {
        "commit": run.decided.change.files.head or "",
        "suite": prepared.inputs.suite.digest,
        "scenarios": [scenario.id for scenario in materials.scenarios],
        "trials": [scenario.strategy.trials for scenario in materials.scenarios],
        "prompts": list(materials.prompt_versions),
        "base": run.decided.change.files.base or "",
        "llm": source,
    }
    place = journal_place(
        run.repository,
        run.environment,
        resume=run.resume,
        configuration=prepared.inputs.configuration,
        evaluated=evaluated,
    )
    return payment_of(run.settings, run.decided.change.subject, place, prepared.inputs.configuration.models)


def workshop_of(run: GateRun, prepared: Prepared, ledger: Ledger, scratch: Path, materials: Materials) -> Workshop:
    """What the run works with.

    Args:
        run: its inputs.
        prepared: what it evaluates.
        ledger: its books.
        scratch: its folder.
        materials: see ``materials_of``.
    """
    llm = source_of(run, prepared)
    return Workshop(
        environment=run.environment,
        git=run.decided.change.git,
        scratch=scratch,
        # A replayed grade costs nothing and an edited recording must show; what is recorded is asked for.
        cache=cache_folder(run.environment) if run.cache and llm in {"auto", "live"} else None,
        database_url=run.settings.database_url,
        configuration=prepared.inputs.configuration,
        ledger=ledger,
        progress=run.progress,
        warn=run.warnings.append,
        concurrency=run.concurrency or prepared.inputs.configuration.suite.concurrency or DEFAULT_CONCURRENCY,
        deadline=_deadline(run, prepared),
        report_dir=run.settings.report_dir,
        llm=llm,
        payment=payment_for(run, llm, prepared, materials) if llm != "replay" else None,
        events=run.events,
        from_base=prepared.inputs.from_base,
        secrets=bool(run.settings.secrets) or has_proxy_password(run.environment),
    )


def _deadline(run: GateRun, prepared: Prepared) -> float | None:
    """The earlier of what the person and what the configuration allow."""
    allowed = (run.seconds, prepared.inputs.configuration.suite.timeout_seconds)
    seconds = min((each for each in allowed if each is not None), default=None)
    return None if seconds is None else time.monotonic() + seconds
