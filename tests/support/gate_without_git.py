"""``gate_run.run`` in a folder that is no repository: the test says what has changed, and what the system answers."""

import io
from collections.abc import Callable, Mapping
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ratiba_action.commands import gate_run
from ratiba_action.commands.gate_options import GateOptions
from ratiba_action.decide.deciding import Decided, DecideRequest
from ratiba_action.decide.read import Change
from ratiba_action.errors import RatibaError
from ratiba_action.model.change import ChangedFiles, Mode, ModeDecision, Reason, Subject
from ratiba_action.model.scenario import Assertion
from ratiba_action.ports import Metric
from ratiba_action.run.composition import World
from ratiba_action.run.session import RunSession
from tests.support.in_process_gate import InProcessGate, Script, no_metric
from tests.support.small_repository import SCENARIO, Ended

CONFIGURATION = "system: {adapter: 'assistant:Adapter'}\n"


def decided(mode: Mode = Mode.BLOCKING, **change: Any) -> Decided:
    """A decision about the change of one prompt.

    Args:
        change: what ``Change`` has besides.
    """
    path = "prompts/assistant.md"
    reason = Reason(path, "prompts/**", mode, "the rules say so")
    return Decided(
        ModeDecision(mode, (reason,)), Change(**{"files": ChangedFiles((path,)), "subject": Subject(), **change})
    )


@dataclass(frozen=True, kw_only=True)
class GateWithoutGit:
    """A folder with scenarios, and the gate in it. Nothing is started: no process, and no git.

    Args:
        answers: what the system says, by scenario.
        metric: makes the metric of an assertion.
        requests: what runs wanted to have decided; filled by them.
    """

    folder: Path
    answers: Script
    metric: Callable[[Assertion], Metric] = no_metric
    requests: list[DecideRequest] = field(default_factory=list)

    @property
    def report(self) -> Path:
        """The report directory."""
        return self.folder / "report"

    def write(self, name: str, content: str) -> None:
        """Write a file of the checkout."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def scenario(self, name: str, more: str = "") -> None:
        """Write a scenario of one turn that has to end in the state ``SAID``."""
        turns = "  - user: hi\n    expect: {state: SAID}"
        self.write(f"scenarios/{name}.yaml", SCENARIO.format(name=name, turns=turns) + more)

    def gate(
        self,
        found: Decided | None = None,
        inputs: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Ended:
        """Run the gate to its end.

        Args:
            found: what is decided about the change; None for a blocking run.
            inputs: of the action, by name.
            environment: variables of the process, besides the folder of the user.
            options: of ``GateOptions``.
        """
        if not (self.folder / ".github").exists():
            self.write(".github/ratiba.yml", CONFIGURATION)
        system = InProcessGate(folder=self.folder, scenarios=(), head=self.answers, metric=self.metric)
        given = {"report-dir": str(self.report), "llm": "replay", **(inputs or {})}
        variables = {"HOME": str(self.folder / "home"), "NO_COLOR": "1", **(environment or {})}

        def decide(request: DecideRequest, _environment: Mapping[str, str]) -> Decided:
            self.requests.append(request)
            return found or decided()

        with redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
            try:
                code = gate_run.run(
                    GateOptions(repo=str(self.folder), inputs=given, **options),
                    variables,
                    world=World(
                        decide_change=decide,
                        begin_judging=nullcontext,
                        open_session=partial(RunSession, system.services),
                        tracer=lambda *_: None,
                    ),
                )
            except RatibaError as error:  # as ``main`` does
                code, _ = error.exit_code, out.write(f"ratiba: {error}\n")
        return Ended(code, out.getvalue(), self.report)
