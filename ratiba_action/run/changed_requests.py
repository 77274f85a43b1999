"""Whether a change alters what the system sends to models: then the run is one of a prompt, and blocking.

Scenarios of the base are run with the answers that the base recorded; no model is called. The first request that none
of them fits is compared with the recorded one: system prompt, tools, model and parameters. What differs is confirmed by
the base's own files, before and after the change's, so that times, ids and a random order raise no mode
(``docs/decisions/0116-what-a-change-sends.md``).
"""

import difflib
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ratiba_action.config.configuration import Configuration
from ratiba_action.decide.contents import Contents
from ratiba_action.errors import InfrastructureError, RatibaError
from ratiba_action.llm.recordings.lines import ModelRecording
from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.change import Mode, ModeDecision, Reason
from ratiba_action.model.conversation import Party
from ratiba_action.model.model_request import ModelRequest
from ratiba_action.model.plan import HEAD, Arm
from ratiba_action.model.scenario import Scenario, Strategy
from ratiba_action.money.budget import Ledger
from ratiba_action.run.arms import alone, scratch_folder
from ratiba_action.run.base_commit import BaseInputs, fetch_base
from ratiba_action.run.evaluation_inputs import read_inputs
from ratiba_action.run.inputs import ArmInputs, RunInputs, RunLog, SilentProgress
from ratiba_action.run.session import OpenSession, RunSession
from ratiba_action.util.text import clip
from ratiba_action.verdict.quarantine import day_of

if TYPE_CHECKING:
    from ratiba_action.llm.request_inputs import SentParts

RULE = "changed request"
_MAX_SECONDS = 120.0
"""Of each of up to four times that scenarios run without their measurements."""
_MAX_FILES = 200
_SHOWN = 300

Requests = Mapping[tuple[str, int], ModelRequest]
"""What the system sent, by scenario and number of the call."""


def raised_by_requests(inputs: RunInputs, open_session: OpenSession) -> RunInputs:
    """The inputs of a run, raised to blocking where the change alters what an advisory run's scenarios send.

    Args:
        inputs: of the run, before anything of it is paid for.

    Raises:
        InfrastructureError: it could not be compared, and this is a shard.
    """
    base, system, began = inputs.base, inputs.configuration.system, time.monotonic()
    if inputs.decided.decision.mode is not Mode.ADVISORY or not isinstance(base, BaseInputs) or inputs.variant:
        return inputs
    if system.price_per_turn_usd or base.configuration.system.price_per_turn_usd:
        return inputs  # a turn costs money there, whoever answers the calls that are seen
    scenarios = [scenario for scenario in inputs.suite.scenarios if _can_be_compared(scenario, inputs, base)]
    if not scenarios:
        return inputs
    reasons: tuple[Reason, ...] = ()
    try:
        reasons = tuple(_Comparison(inputs, base, open_session).reasons(scenarios))
    except (RatibaError, OSError) as error:
        why = f"What the change sends to models could not be compared with the base: {clip(str(error), _SHOWN)}"
        if inputs.settings.shard is not None:  # its merge would not know
            raise InfrastructureError(why, "Run this shard again.") from error
        inputs = replace(inputs, uncompared=why)
    if inputs.seconds is not None:
        inputs = replace(inputs, seconds=max(0.0, inputs.seconds - (time.monotonic() - began)))
    return _raised(inputs, reasons)


def raised_by_shards(inputs: RunInputs, shards: Sequence[ModeDecision]) -> RunInputs:
    """The inputs of a merge, raised to blocking where a shard was: the mode is one for all of them.

    Args:
        shards: what each decided; one that decided otherwise than the others is refused with them.
    """
    if inputs.decided.decision.mode is not Mode.ADVISORY:
        return inputs
    return _raised(inputs, [reason for shard in shards for reason in shard.reasons if reason.rule == RULE])


def _raised(inputs: RunInputs, reasons: Iterable[Reason]) -> RunInputs:
    found, decision = tuple(dict.fromkeys(reasons)), inputs.decided.decision
    if not found:
        return inputs
    decision = replace(decision, mode=Mode.BLOCKING, reasons=(*found, *decision.reasons))
    return read_inputs(replace(inputs, decided=replace(inputs.decided, decision=decision)))


def _can_be_compared(scenario: Scenario, inputs: RunInputs, base: BaseInputs) -> bool:
    """Whether the base has recorded what it sent in a scenario, and the change may have another part in it."""
    if scenario.test is not None or scenario.script is not None or scenario.id not in base.scenarios:
        return False
    if inputs.choice and not inputs.choice.admits(scenario):
        return False
    reads = inputs.decided.observed.of(scenario.id)
    return bool(_first_trial(base, scenario.id)) and (
        reads is None or reads.reads_any(inputs.decided.change.files.paths)
    )


def _first_trial(base: BaseInputs, scenario_id: str) -> list[ModelRecording]:
    return [
        line for line in base.recordings.get(scenario_id, ()) if isinstance(line, ModelRecording) and line.trial == 0
    ]


@dataclass(frozen=True, slots=True)
class _Comparison:
    inputs: RunInputs
    base: BaseInputs
    open_session: OpenSession

    def reasons(self, scenarios: Sequence[Scenario]) -> Iterator[Reason]:
        """Why the run is blocking; nothing where what is sent is the same, or differs by chance."""
        from ratiba_action.llm.request_inputs import sent_parts

        inputs, base = self.inputs, self.base
        sent = self._run(inputs.repository, inputs.configuration, inputs.decided.change.files.head, scenarios)
        differing = dict(_differing(base, sent))
        again = [scenario for scenario in scenarios if scenario.id in differing]
        if not again:
            return
        with scratch_folder() as scratch:
            folder = fetch_base(inputs.decided.change, base.commit, scratch)
            before = self._run(folder, base.configuration, base.commit, again)
            sent = self._run(inputs.repository, inputs.configuration, inputs.decided.change.files.head, again)
            after = self._run(folder, base.configuration, base.commit, again)
        for scenario_id, number in sorted(differing.items()):
            place = (scenario_id, number)
            known = [sent_parts(each[place]) for each in (before, after) if place in each]
            if place in sent and known:
                yield from self._reasons(scenario_id, known[0], known[-1], sent_parts(sent[place]))

    def _reasons(self, scenario_id: str, before: "SentParts", after: "SentParts", now: "SentParts") -> Iterator[Reason]:
        """Each part that is one at the base, before and after, and another with the change."""
        if lines := _changed_lines(before, after, now):
            why, text = lines
            path = self._origin(text)
            place = f", in {path}" if path else ""
            yield Reason(path, RULE, Mode.BLOCKING, f"the system prompt of `{scenario_id}` changed: {why}{place}")
        elif before.tools == after.tools != now.tools:
            yield Reason("", RULE, Mode.BLOCKING, f"the tools that `{scenario_id}` gives the model changed")
        elif before.model == after.model != now.model:
            why = f"the model of `{scenario_id}` changed ({before.model} → {now.model})"
            yield Reason("", RULE, Mode.BLOCKING, why)
        else:
            for name in sorted({*before.parameters, *now.parameters}):
                values = [each.parameters.get(name, "none") for each in (before, after, now)]
                if values[0] == values[1] != values[2]:
                    why = f"the parameter {name} of `{scenario_id}` changed ({values[0]} → {values[2]})"
                    yield Reason("", RULE, Mode.BLOCKING, why)

    def _origin(self, text: str) -> str:
        """The changed file that holds a line, at either side; empty where none or several do."""
        wanted, change = text.strip().encode("utf-8", "surrogatepass"), self.inputs.decided.change
        if not wanted:
            return ""
        with Contents(change.git, change.files.base, change.files.head, self.inputs.decided.links) as contents:
            found = [
                path
                for path in change.files.paths[:_MAX_FILES]
                if any(wanted in content for content in contents.both(path))
            ]
        return found[0] if len(found) == 1 else ""

    def _run(
        self, root: Path, configuration: Configuration, commit: str | None, scenarios: Sequence[Scenario]
    ) -> Requests:
        """What one side sends; nothing is measured, and nothing is paid for."""
        asked: dict[tuple[str, int], ModelRequest] = {}

        def keep(request: ModelRequest) -> None:
            if request.party is Party.SYSTEM:
                asked.setdefault((request.scenario_id, request.position), request)

        plain = [replace(scenario, assertions=(), rules=(), strategy=Strategy()) for scenario in scenarios]
        inputs = self._alone(root, configuration, plain)
        arm = ArmInputs(
            arm=Arm(HEAD, str(root), commit),
            configuration=inputs.configuration,
            scenarios=plain,
            recordings={scenario.id: _first_trial(self.base, scenario.id) for scenario in plain},
            day=day_of(inputs.started_at),
        )
        log, ledger = RunLog(SilentProgress(), asked=keep), Ledger(inputs.settings.budget_usd)

        async def work(session: RunSession) -> None:
            await session.run(arm.plan)

        with scratch_folder() as scratch:
            session = self.open_session(inputs, arm, ledger=ledger, log=log, scratch=scratch)
            session.conduct(work)
        if session.cancelled or session.ended_late:
            raise InfrastructureError("the run was cancelled, or its time was used up")
        return asked

    def _alone(self, root: Path, configuration: Configuration, scenarios: Sequence[Scenario]) -> RunInputs:
        inputs, decided = alone(self.inputs, scenarios), self.inputs.decided
        of_base = root != inputs.repository
        suite = configuration.suite.model_copy(update={"stop_on_failure": False})
        seconds = [each for each in (inputs.seconds_allowed, _MAX_SECONDS) if each is not None]
        return replace(
            inputs,
            repository=root,
            configuration=configuration.model_copy(update={"suite": suite}),
            settings=replace(inputs.settings, llm=Llm.REPLAY, ledger_url=""),
            history=None,
            decided=replace(decided, change=decided.change.without_base) if of_base else decided,
            seconds=min(seconds),
            resume=False,
            sealed=None,
            cache=False,
        )


def _differing(base: BaseInputs, sent: Requests) -> Iterator[tuple[str, int]]:
    """Each scenario whose first request that no recording fits differs in a part, with the number of that call."""
    from ratiba_action.llm.request_inputs import differs_in_parts

    for scenario_id in dict.fromkeys(name for name, _ in sent):
        for number, line in enumerate(_first_trial(base, scenario_id)):
            request = sent.get((scenario_id, number))
            if request is None:
                break
            if request.key != line.key:
                if differs_in_parts(line, request):
                    yield scenario_id, number
                break


def _changed_lines(before: "SentParts", after: "SentParts", now: "SentParts") -> tuple[str, str] | None:
    """How the system prompt changed, with the line; None where it did not, or where it varies at the base too."""
    same = Counter(before.system) & Counter(after.system)
    if before.system == after.system:
        fresh, gone = Counter(now.system) - same, same - Counter(now.system)
    else:  # Of a prompt that varies, the lines that do not.
        fresh, gone = Counter[str](), same - Counter(now.system)
    if not fresh and not gone:
        return None
    for kind, start, end, first, last in difflib.SequenceMatcher(
        None, before.system, now.system, autojunk=False
    ).get_opcodes():
        old, new = before.system[start:end], now.system[first:last]
        if kind != "equal" and ({*old} & {*gone} or {*new} & {*fresh}):
            what = {"delete": "was removed", "insert": "was added"}.get(kind, "changed")
            number = first + 1 if kind == "insert" else start + 1
            return f"line {number} {what}", next((line for line in (*new, *old) if line.strip()), "")
    return "lines of it changed", ""
