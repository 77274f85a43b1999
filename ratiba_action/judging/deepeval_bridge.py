"""DeepEval asks, our Judge answers: the only module that touches DeepEval.

Nothing here imports DeepEval before ``load_deepeval`` is called: it costs seconds and 100 MB, and on import it reads
``.env`` files of the working directory unless the environment forbids it.
"""

import functools
import gc
import itertools
import math
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from ratiba_action.core.model.measurement import Case, Grade, Question
from ratiba_action.errors import ConfigurationError, JudgeError, RatibaError
from ratiba_action.judging.valid_grade import validated
from ratiba_action.ports import Judge

QUIET: Mapping[str, str] = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_DISABLE_LEGACY_KEYFILE": "1",
    "DEEPEVAL_DISABLE_TIMEOUTS": "1",
    "CONFIDENT_OPEN_BROWSER": "0",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
}


def prepare_deepeval(environment: MutableMapping[str, str], home: Path) -> None:
    """Set the variables that keep DeepEval off the network and off the workspace; call before ``load_deepeval``.

    Args:
        environment: the process's own, passed in by the composition root.
        home: a folder outside the workspace for whatever DeepEval writes; made if it is not there.
    """
    home.mkdir(parents=True, exist_ok=True)
    environment.update(QUIET)
    environment["DEEPEVAL_HOME"] = str(home)
    environment["DEEPEVAL_CACHE_FOLDER"] = str(home / "cache")
    for name in ("CONFIDENT_API_KEY", "DEEPEVAL_MODE", "DEEPEVAL_EVAL_MODE"):
        environment.pop(name, None)


@functools.cache
def load_deepeval() -> ModuleType:
    """Import DeepEval, once; slow, so call it in a thread while the database starts.

    What was imported stays as long as the process does. The garbage collector is told to leave it alone: each full
    collection would stop every conversation for 0.2 s to look at it again.

    Raises:
        ConfigurationError: it is not installed.
    """
    try:
        import deepeval  # noqa: PLC0415 — seconds and 100 MB, only when a judged metric is selected
        import deepeval.metrics  # noqa: PLC0415 — the same
        import deepeval.test_case  # noqa: PLC0415 — the same
    except ImportError as error:
        raise ConfigurationError(
            f"A judged metric is selected and DeepEval cannot be imported: {error}.",
            "Install it with `pip install 'ratiba-eval-gate[judges]'`.",
        ) from error
    gc.freeze()
    return deepeval


@functools.cache
def deepeval_version() -> str:
    """Version of the installed DeepEval, read once and without importing it: reading its metadata takes 2 ms.

    Raises:
        ConfigurationError: it is not installed.
    """
    try:
        return metadata.version("deepeval")
    except metadata.PackageNotFoundError as error:
        raise ConfigurationError(
            "A judged metric is selected and DeepEval is not installed.",
            "Install it with `pip install 'ratiba-eval-gate[judges]'`.",
        ) from error


async def grade_conversation(case: Case, question: Question, judge: Judge, *, name: str, steps: Sequence[str]) -> Grade:
    """Put a case to DeepEval's ConversationalGEval with frozen steps, and return what the judge said.

    A fresh metric is made for each call: DeepEval's keep their last result on themselves.

    Args:
        case: the conversation; empty messages and events of the world are left out.
        question: identity of the first question; later ones count its ordinal up.
        judge: answers each question that DeepEval words.
        name: what DeepEval calls the metric.
        steps: the evaluation steps; never derived from criteria, which would cost one more call a case.

    Raises:
        JudgeError: the judge's answer is out of range, not finite or empty.
    """
    load_deepeval()
    from deepeval.metrics import ConversationalGEval  # noqa: PLC0415 — see load_deepeval
    from deepeval.test_case import ConversationalTestCase, MultiTurnParams, Turn  # noqa: PLC0415 — see load_deepeval

    said: list[Turn] = []
    for exchange in case.transcript.exchanges:
        if exchange.turn.user and exchange.turn.user.strip():
            said.append(Turn(role="user", content=exchange.turn.user))
        if exchange.reply.text.strip():
            said.append(Turn(role="assistant", content=exchange.reply.text))
    if not any(turn.role == "assistant" for turn in said):
        raise JudgeError(
            f"{question.metric} cannot judge scenario {case.scenario.id!r}: the system said nothing.",
            "Look at the system's replies; an empty conversation has no language to grade.",
        )
    metric = ConversationalGEval(
        name=name,
        evaluation_params=[MultiTurnParams.ROLE, MultiTurnParams.CONTENT],
        evaluation_steps=list(steps),
        model=_judge_model(judge, question),
        _include_g_eval_suffix=False,
    )
    try:
        await metric.a_measure(ConversationalTestCase(turns=said), _show_indicator=False)
    except Exception as error:
        raise _our_own(error) from error
    score = math.nan if metric.score is None else metric.score
    return validated(Grade(score, str(metric.reason or "")), question)


def _our_own(error: Exception) -> Exception:
    """The gate's error behind one of DeepEval's, which wraps those whose words sound like a full context window."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, RatibaError):
        cause = cause.__cause__
    return cause or error


def _judge_model(judge: Judge, first: Question) -> Any:
    """A DeepEval model that hands every prompt to our Judge port."""
    from deepeval.models import DeepEvalBaseLLM  # noqa: PLC0415 — see load_deepeval

    ordinals = itertools.count(first.ordinal)

    class JudgeModel(DeepEvalBaseLLM):  # type: ignore[no-untyped-call] # DeepEval's base is not fully typed
        def load_model(self) -> Any:
            return self

        def get_model_name(self) -> str:
            return judge.model

        def generate(self, *_: Any, **__: Any) -> str:
            raise JudgeError("DeepEval asked the judge synchronously, which the gate does not support.")

        async def a_generate(self, *args: Any, schema: Any = None, **_: Any) -> Any:
            question = replace(first, ordinal=next(ordinals), prompt=str(args[0]))
            try:
                grade = validated(await judge.grade(question), question)
            except (TypeError, AttributeError) as error:
                # DeepEval repeats a call up to four times after these two, unseen by any ledger.
                raise JudgeError(
                    f"The judge broke on {first.metric} for scenario {first.scenario_id!r}: {error}"
                ) from error
            answer = {"score": grade.score * 10, "reason": grade.reason}
            return schema(**answer) if schema is not None else answer

        async def a_generate_with_schema(self, *args: Any, schema: Any = None, **_: Any) -> Any:
            return await self.a_generate(*args, schema=schema)

    return JudgeModel(judge.model)
