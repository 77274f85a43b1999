"""What a report says of a run besides its results: what was not measured, and what its figures rest on."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ratiba_action.errors import InfrastructureError
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.model.answer_origin import AnswerOrigin, Llm, RecordingSource
from ratiba_action.model.answering_model import is_another_model, may_be_another_model
from ratiba_action.model.codec import encode
from ratiba_action.model.conversation import Party, Reply
from ratiba_action.model.measurement import Errored, NotRun, Phase, ScenarioResult, Scored
from ratiba_action.model.note import Caveat, Note
from ratiba_action.model.scenario import Scenario
from ratiba_action.model.verdict import Conclusion, Spending, Verdict
from ratiba_action.money.budget import Ledger
from ratiba_action.privacy.credentials import find_credentials
from ratiba_action.reporting.money_facts import refused_phrase
from ratiba_action.run.arms import BLOB_DIGITS
from ratiba_action.run.base_commit import NO_COMMON_SCENARIO, NoBase
from ratiba_action.run.earlier_runs import FIRST_RUN, NONE, NOT_COMPARED, EarlierRuns, not_added
from ratiba_action.run.inputs import ArmInputs, RunInputs
from ratiba_action.run.services import Measured
from ratiba_action.settings.input_values import LIVE
from ratiba_action.util.git import Git
from ratiba_action.util.instants import home_zone, unclear_times
from ratiba_action.util.text import few, part_of

_NAMED = 5


def notes_of_stale(inputs: RunInputs, left_out: Sequence[str]) -> tuple[str, ...]:
    """Why scenarios that would have cost nothing were not run."""
    names = sorted(set(left_out).difference(inputs.selection.left_out))
    if not names:
        return ()
    count = "1 scenario was" if len(names) == 1 else f"{len(names)} scenarios were"
    # Why in detail holds what customers wrote, and who they are is only masked in scenarios of the report.
    message = f"{count} not run, since the recordings no longer fit: {few(names, _NAMED)}."
    return (Caveat(message, f"To see what changed, run: ratiba gate --llm replay --scenario {names[0]}"),)


def notes_of_prompts(inputs: RunInputs, head: ArmInputs) -> tuple[str, ...]:
    """That the versions of prompts are no commits: traces of production name commits.

    In a whole clone outside a workflow nothing is said: there a prompt is being edited.
    """
    change = inputs.decided.change
    if not change.subject.run_id and not _is_cut_off(change.git):
        return ()
    contents = {name: blob[:BLOB_DIGITS] for name, _, blob in (entry.rpartition("@") for entry in head.prompt_blobs)}
    names = sorted(name for name, blob in contents.items() if f"{name}@{blob}" in head.prompt_versions)
    if not names:
        return ()
    message = f"The commits of these prompts are not known, so blob ids are shown: {few(names, _NAMED)}."
    remedy = "Check out with `fetch-depth: 0` (`git fetch --unshallow`), and leave committed prompts unchanged."
    return (Note(message, remedy),)


def _is_cut_off(git: Git | None) -> bool:
    try:
        return git is not None and git.is_shallow
    except InfrastructureError:
        return False


def how_to_confirm(inputs: RunInputs, *, silenced: bool) -> str | None:
    """How a person confirms a run whose system, floor or scenarios are not the base's; None where nobody has to.

    Args:
        silenced: see ``silences_base``.
    """
    if not (inputs.replaced or inputs.unratcheted or silenced) or not inputs.decided.change.needs_confirmation:
        return None
    what = "what replaces the system" if inputs.replaced else f"the change of {few(inputs.unratcheted, _NAMED)}"
    what = what if inputs.replaced or inputs.unratcheted else "the change of the scenarios"
    subject = inputs.decided.change.subject
    number = f" pull-request: {subject.pull_request} and" if subject.pull_request is not None else ""
    return (
        f"Read {what}. If it is right, start this workflow by hand (Actions, Run workflow) with"
        f"{number} commit: {subject.head}."
    )


def unconfirmed(inputs: RunInputs) -> str:
    """What ``how_to_confirm`` is about, in one sentence."""
    if inputs.replaced:
        return "This change replaces the system under test, and no maintainer has confirmed it by a manual run."
    if not inputs.unratcheted:
        return (
            f"This change edits the system, and edits or removes {_all_of(inputs.edited.total)} of its base, so "
            "nothing shows that the system is no worse, and no maintainer has confirmed it by a manual run."
        )
    return (
        f"The base's {few(inputs.unratcheted, _NAMED)} cannot be used, so nothing shows whether this change is as "
        "strict there, and no maintainer has confirmed it by a manual run."
    )


def _all_of(total: int) -> str:
    return "the only scenario" if total == 1 else f"all {total} scenarios"


def comparable(inputs: RunInputs) -> bool:
    """Whether the scenarios of a change decide what it is compared by, and nothing else has ruled that out."""
    if inputs.settings.baseline == NONE or inputs.variant or inputs.anchored:
        return False
    known = not isinstance(inputs.base, NoBase) or inputs.base == NoBase(NO_COMMON_SCENARIO)
    return known and inputs.decided.change.subject.event not in NOT_COMPARED


def silences_base(inputs: RunInputs, earlier: EarlierRuns) -> bool:
    """Whether a change of the system edits or removes every scenario by which its base would have been compared.

    Live answers are compared with earlier results of the base alone: where there are none, nothing is silenced.
    """
    compared = inputs.llm == Llm.REPLAY or bool(earlier.baseline)
    return compared and inputs.edited.silence_base and comparable(inputs)


def notes_of_edited_scenarios(inputs: RunInputs) -> tuple[str, ...]:
    """That the change leaves no scenario as it is on the base, so that nothing is compared; nothing otherwise."""
    if not isinstance(inputs.base, NoBase) or not comparable(inputs):
        return ()
    return (
        Caveat("No scenario of this change is also on the base as it is here, so nothing was compared with the base."),
    )


def notes_of_baseline(earlier: EarlierRuns, verdict: Verdict, answers: AnswerOrigin) -> tuple[str, ...]:
    """Where the baseline comes from.

    A run is no first one where the base was run beside the change, and an incomplete one becomes no baseline.
    """
    first = verdict.comparison is None and verdict.conclusion is not Conclusion.INCOMPLETE
    notes = tuple(note for note in earlier.notes if note != FIRST_RUN or first)
    return (*notes, *not_added(earlier.earlier, answers))


def notes_of_credentials(results: Sequence[ScenarioResult]) -> tuple[str, ...]:
    """That replies or errors held what looks like a key: nobody sees it in the report, where it is masked."""
    found: dict[str, list[str]] = {}
    for result in results:
        for kind in find_credentials("\n".join(_texts(result))):
            found.setdefault(kind, []).append(result.trial.scenario.id)
    remedy = "If it is real, revoke it, and keep keys out of prompts, tools and answers."
    return tuple(
        Caveat(f"A reply or error contained what looks like {kind}, which is masked: {_listed(ids)}.", remedy)
        for kind, ids in found.items()
    )


def _texts(result: ScenarioResult) -> Iterator[str]:
    if isinstance(result, NotRun):
        return
    for exchange in result.transcript.exchanges if result.transcript is not None else ():
        reply = exchange.reply
        yield reply.text
        if reply != Reply(reply.text):  # most replies are nothing but their text
            yield json.dumps(encode(reply), ensure_ascii=False)
    if isinstance(result, Errored):
        yield result.message


def _listed(ids: Sequence[str]) -> str:
    return few(sorted(set(ids)), _NAMED)


def notes_of_clocks(scenarios: Iterable[Scenario]) -> tuple[str, ...]:
    """In which zone expected times were read because of a scenario's language; nothing where each names its zone."""
    read: dict[tuple[str, str], list[str]] = {}
    for scenario in scenarios:
        if (home := home_zone(scenario)) and any(unclear_times(scenario)):
            read.setdefault((home, scenario.language), []).append(scenario.id)
    return tuple(
        Note(
            f"`now` of {_listed(ids)} has an offset and no time zone, so local times are read in {home}, by "
            f"`language: {language}`.",
            f"If they are in another zone, name it, as in `now: 2026-03-27T10:00 {home}`.",
        )
        for (home, language), ids in read.items()
    )


def notes_of_choice(inputs: RunInputs) -> tuple[str, ...]:
    """That a person selected some of the scenarios alone."""
    count, total = len(inputs.selection.scenarios), len(inputs.suite.scenarios)
    if not inputs.choice or count == total:
        return ()
    return (Caveat(f"Only {part_of(count, total, 'scenario', 'was', 'were')} selected."),)


def shortfall(inputs: RunInputs, measured: Measured, ledger: Ledger) -> str | None:
    """What was asked for and not done: a fair comparison, a known cost or live answers; None for nothing."""
    if measured.altered:
        return (
            f"What system.setup made for all sides of the change was altered while they ran ({measured.altered!r}), so "
            "they cannot be compared. Let the system leave it as it is, and write to its copy, HOME or TMPDIR."
        )
    answered = [
        result for result in measured.own if isinstance(result, Scored) and result.trial.scenario.script is None
    ]
    if inputs.uncompared or inputs.llm == Llm.REPLAY or inputs.configuration.system.costs_are_declared or not answered:
        return inputs.uncompared or None
    unseen = _without_calls(inputs, measured, ledger)
    if unseen.intersection(result.trial.scenario.variant for result in answered):
        if ledger.refusals.count and not _any_call(measured, ledger):
            return f"No model answered the system: {refused_phrase(ledger.refusals)}"
        return (
            f"The gateway saw no model call of {_programs(unseen, measured)}, so what it cost is not known: let it "
            "call its models through the gateway, report their usage in its replies, or set "
            "system.price_per_turn_usd, 0 if it calls none."
        )
    if inputs.llm in LIVE and not ledger.snapshot().live_calls:
        return f"No model was called, though llm is {inputs.settings.llm.value!r}: nothing was measured live."
    return None


def _without_calls(inputs: RunInputs, measured: Measured, ledger: Ledger) -> frozenset[str]:
    """The variants that ran, may call models, and of which neither the gateway nor a reply shows any call.

    Each is a program of its own: a call of one says nothing about another. The system as it is has an empty name. A
    scenario without a fitting recording says so itself.
    """
    system = inputs.configuration.system
    if system.costs_are_declared or system.replay is not None:
        return frozenset()
    ran: dict[str, list[ScenarioResult]] = {}
    for result in measured.own:
        is_measured = isinstance(result, Scored) or (
            isinstance(result, Errored) and result.phase is not Phase.RECORDING
        )
        if is_measured and result.trial.scenario.script is None:
            ran.setdefault(result.trial.scenario.variant, []).append(result)
    if len(ran) == 1 and _any_call(measured, ledger):
        return frozenset()
    called = {call.scenario_id for call in ledger.calls if call.party is Party.SYSTEM}
    return frozenset(
        variant
        for variant, results in ran.items()
        if not any(result.trial.scenario.id in called or _shows_calls(result) for result in results)
    )


def _any_call(measured: Measured, ledger: Ledger) -> bool:
    """Whether the gateway or a reply shows any call of the system or of a variant."""
    return bool(measured.reported_calls) or any(call.party is Party.SYSTEM for call in ledger.calls)


def _shows_calls(result: ScenarioResult) -> bool:
    """Whether a conversation knows of calls, seen by the gateway or reported in its replies."""
    transcript = None if isinstance(result, NotRun) else result.transcript
    return transcript is not None and any(exchange.calls for exchange in transcript.exchanges)


def _programs(unseen: Iterable[str], measured: Measured) -> str:
    """Variants in words; the system alone where the run has no others."""
    if {result.trial.scenario.variant for result in measured.own} <= {""}:
        return "the system"
    texts = ["the system as it is" if not name else f"the variant {name!r}" for name in sorted(unseen)]
    return few(texts, _NAMED)


_ITS_ACCESS = "Let the system call its models at the base URL, and with the key, that the gateway gives it."


def unseen_calls(inputs: RunInputs, measured: Measured, ledger: Ledger) -> tuple[str, ...]:
    """Which calls bypassed the gateway, or that none can be ruled out."""
    reported = measured.reported_calls
    caveats: list[str] = []
    if reported:
        what = "1 model call was" if reported == 1 else f"{reported} model calls were"
        message = (
            f"{what} reported by the system and not seen by the gateway: not recorded, not replayed, and bounded by "
            "the budget only as far as the system reported them. Whether there were more is not known."
        )
        caveats.append(Caveat(message, "Let the system call its models at the base URL that the gateway gives it."))
    unseen = _without_calls(inputs, measured, ledger)
    if not unseen:
        return tuple(caveats)
    if ledger.refusals.count:
        if not _any_call(measured, ledger):
            problem = f"No model answered the system: {refused_phrase(ledger.refusals)}"
            failed = any(isinstance(result, Errored) for result in measured.own)
            return () if failed else (Caveat(problem, _ITS_ACCESS),)
        # What was refused ended its scenario, which says so.
        unseen &= {result.trial.scenario.variant for result in measured.own if isinstance(result, Scored)}
        if not unseen:
            return tuple(caveats)
    message = (
        f"The gateway saw no model call of {_programs(unseen, measured)}, and cannot know whether it made any: calls "
        "that bypass the gateway are neither recorded nor replayed, and their cost is not counted."
    )
    remedy = (
        "Let the system call its models at the base URL that the gateway gives it, or set system.price_per_turn_usd, "
        "0 if it calls none."
    )
    return (*caveats, Caveat(message, remedy))


def unproven_server(inputs: RunInputs) -> tuple[str, ...]:
    """That nothing proves which code answered: the gate did not start the server, nor compare the commit it names."""
    system = inputs.configuration.system
    image = system.container.image if system.container is not None else None
    if not system.runs_elsewhere and image is None:
        return ()
    asked = system.version_path or system.version_header
    if asked and inputs.decided.change.files.head:
        return ()
    if image is not None:
        message = f"Nothing proves that the image {image!r} was built from this change: the gate did not build it."
        return (Caveat(message, "Let the gate build it (`container.build`), or say where it names its commit."),)
    url = system.http.url if system.http is not None else system.url
    why = "a working tree has no commit that it could name" if asked else "the gate did not start that server"
    remedy = "Let the gate start it (`system.serve`)" + (
        "." if asked else ", or say where it names its commit (`system.version_path`, `system.version_header`)."
    )
    return (Caveat(f"Nothing proves which code answered at {url}: {why}.", remedy),)


def notes_of_other_models(ledger: Ledger) -> tuple[str, ...]:
    """Which calls were answered by another model than the one that was asked for."""
    found = Counter(
        (call.party.value, call.model, call.answered_by)
        for call in ledger.calls
        if is_another_model(call.model, call.answered_by) or may_be_another_model(call.model, call.answered_by)
    )
    return tuple(
        Caveat(
            f"{answered!r} answered {'1 call' if count == 1 else f'{count} calls'} of the {party} to {asked!r}, which "
            f"{'is' if is_another_model(asked, answered) else 'may be'} another model. Each counts at the higher price "
            "of the two.",
            "Look at what routes these calls, or name the model that answers.",
        )
        for (party, asked, answered), count in sorted(found.items())
    )


def cut_replies(results: Sequence[ScenarioResult]) -> tuple[str, ...]:
    """Where replies ended at a limit or by a filter, whether an assertion noticed or not; nothing where none did."""
    cut: dict[str, tuple[int, str]] = {}
    for result in results:
        exchanges = result.transcript.exchanges if isinstance(result, Scored | Errored) and result.transcript else ()
        for number, exchange in enumerate(exchanges, 1):
            if exchange.cut:
                cut.setdefault(result.trial.scenario.id, (number, exchange.cut))
    if not cut:
        return ()
    named = [f"{name}, turn {number}: {how}" for name, (number, how) in sorted(cut.items())]
    count = "1 scenario has" if len(cut) == 1 else f"{len(cut)} scenarios have"
    remedy = "Raise the output limit of the system's requests, or look at what the provider's filter ended."
    return (Note(f"{count} answers that did not end by themselves: {few(named, _NAMED, '; ')}.", remedy),)


def silent(head: ArmInputs, results: Sequence[ScenarioResult], ledger: Ledger) -> tuple[str, ...]:
    """Scenarios whose recordings hold answers to the system, which made no call that the gateway saw in this run."""
    called = {call.scenario_id for call in ledger.calls if call.party is Party.SYSTEM}
    recorded = {
        name for name, lines in head.recordings.items() if any(isinstance(line, ModelRecording) for line in lines)
    }
    ran = [result.trial.scenario for result in results if isinstance(result, Scored)]
    names = sorted(
        {
            scenario.id
            for scenario in ran
            if scenario.script is None and scenario.id in recorded and scenario.id not in called
        }
    )
    if not names or not called:
        return ()  # Where none was called at all, one note says so of the whole run.
    message = (
        f"The gateway saw no model call in {few(names, _NAMED)}, though answers are recorded for "
        f"{'it' if len(names) == 1 else 'them'}: either the system calls no model there any more, or its calls bypass "
        "the gateway and are neither recorded nor counted."
    )
    return (
        Caveat(message, "Check that every model client of the system uses the base URL that the gateway gives it."),
    )


def answers_of(inputs: RunInputs, ledger: Ledger) -> AnswerOrigin:
    """Where the answers came from so far."""
    if inputs.llm == Llm.REPLAY:  # what is paid there are turns of a system that bypasses the gateway
        return AnswerOrigin.REPLAY
    return origin_of(inputs.settings.llm, ledger.snapshot())


def origin_of(requested: Llm, spending: Spending) -> AnswerOrigin:
    """Where answers came from, by what was asked for and what was called."""
    if requested == Llm.RECORD:
        return AnswerOrigin.RECORD
    if not spending.live_calls:
        all_live = requested == Llm.LIVE and not spending.replayed_calls
        return AnswerOrigin.LIVE if all_live else AnswerOrigin.REPLAY
    return AnswerOrigin.MIXED if spending.replayed_calls else AnswerOrigin.LIVE


def authored(head: ArmInputs, spending: Spending) -> tuple[str, ...]:
    """Recordings that no model ever said are never presented as if one had; nothing where none of them answered."""
    sources = [line.source for lines in head.recordings.values() for line in lines]
    count = sources.count(RecordingSource.AUTHORED)
    if not count or not spending.replayed_calls:
        return ()
    # Which of the recordings answered is known only where all answers are theirs.
    what = "recording" if spending.live_calls else "replayed answer"
    message = part_of(count, len(sources), what, "was written", "were written")
    return (Caveat(f"{message} by hand, not produced by a model."),)


def outdated(inputs: RunInputs, head: ArmInputs, ledger: Ledger) -> tuple[str, ...]:
    """That models answered because an edited prompt no longer fits its recordings: they wait to be made again."""
    if inputs.llm is not Llm.AUTO or not head.edited_prompts:
        return ()
    live = {call.scenario_id for call in ledger.calls if call.party is Party.SYSTEM and not call.replayed}
    names = sorted(live & {name for name, lines in head.recordings.items() if lines})
    if not names:
        return ()
    by_hand = all(line.source == RecordingSource.AUTHORED for name in names for line in head.recordings[name])
    named = "".join(f" --scenario {name}" for name in names) if len(names) <= _NAMED else ""
    edited = ", ".join(head.edited_prompts[:_NAMED])
    return (
        Caveat(
            f"The change edits {edited}, so a model answered instead of the recordings of {_listed(names)}.",
            f"Before you commit it, run: ratiba record{named}{' --authored' if by_hand else ''} --accept",
        ),
    )


def mocked(results: Sequence[ScenarioResult]) -> tuple[str, ...]:
    """That no answer of a model was a real one, so that nothing shows what a changed prompt does; nothing otherwise."""
    scenarios = [result.trial.scenario for result in results]
    if any(scenario.script is None for scenario in scenarios) or not any(scenario.script for scenario in scenarios):
        return ()
    message = "Every model was mocked by a script, so this run cannot notice what a changed prompt does."
    return (Caveat(message, "Add a scenario without script, and record it: ratiba record --accept"),)
