"""A repository's own metric that calls a judge: it runs out of the gate's reach, and the gate's judge answers it."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ratiba_action.checks.custom_code import CUSTOM_VERSION, JUDGE_CALLS, custom_score, declared_judge_calls, evidence
from ratiba_action.errors import ConfigurationError, JudgeError, WorkerError
from ratiba_action.metrics.judging.answer import judge_score, validated
from ratiba_action.metrics.judging.cache_key import metric_version
from ratiba_action.metrics.judging.deepeval_model import loosened, strict_schema
from ratiba_action.metrics.judging.json_shape import without_limits
from ratiba_action.metrics.judging.judged_identity import version_with
from ratiba_action.model.canonical import digest
from ratiba_action.model.measurement import Case, Question, Score
from ratiba_action.model.scenario import Assertion
from ratiba_action.model.values import JsonObject
from ratiba_action.ports import CustomCode, Judge, JudgedMetric, Metric

MAX_PROMPT = 200_000
MAX_SCHEMA = 16_000
_MAX_REFERENCES = 20
_SHOWN = 8
_DIGEST = re.compile(r"[0-9a-f]{64}")
_RELEASE = re.compile(r"[0-9A-Za-z.+!-]{1,40}")


class JudgeChannel:
    """Answers the questions of one measurement; what it is asked is untrusted.

    Args:
        first: identity of the first question; later ones count its ordinal up.
        maximum: how many questions may be asked.
        by_wording: what is judged is known from the question alone, as in a test: its wording is its identity.
    """

    def __init__(self, judge: Judge, first: Question, maximum: int, *, by_wording: bool = False) -> None:
        self._judge, self._first, self._maximum, self._by_wording = judge, first, maximum, by_wording
        self._numbers = itertools.count()
        self._asked: Counter[str] = Counter()

    async def answer(self, asked: Any) -> JsonObject:
        """The judge's answer to one question.

        Args:
            asked: ``prompt``, and ``schema`` or None.

        Raises:
            ConfigurationError: the question has another form, or is too long.
            JudgeError: there was one question too many, or the judge answered outside its contract.
            RecordingError: replaying, and no recording fits.
            BudgetError: the call was refused.
        """
        prompt, schema = self._read(asked)
        number = next(self._numbers)
        if number >= self._maximum:
            raise JudgeError(
                f"{self._first.metric} makes more than {self._maximum} judge calls for one measurement of scenario "
                f"{self._first.scenario_id!r}.",
                "Split the test." if self._by_wording else f"Correct the metric, or raise {JUDGE_CALLS} under `with`.",
            )
        question = replace(self._first, ordinal=self._first.ordinal + number, prompt=prompt)
        if self._by_wording:
            wording = digest({"prompt": prompt, "schema": schema})
            question = replace(question, transcript=wording, ordinal=self._asked[wording])
            self._asked[wording] += 1
        if schema is None:
            given = await judge_score(self._judge, question)
            return {"score": given.score, "reason": given.reason}
        question = replace(question, schema=self._closed(schema))
        answer = validated(await self._judge.answer(question), question)
        opened: JsonObject = loosened(answer.body, schema)
        return opened

    def _read(self, asked: Any) -> tuple[str, JsonObject | None]:
        if not isinstance(asked, dict) or asked.keys() != {"prompt", "schema"}:
            raise self._refusal(f"{asked!r:.80} is not a prompt with a schema")
        prompt, schema = asked["prompt"], asked["schema"]
        if not isinstance(prompt, str) or not prompt.strip():
            raise self._refusal(f"the prompt {prompt!r:.80} is not a text")
        if len(prompt) > MAX_PROMPT:
            raise self._refusal(f"the prompt has {len(prompt):,} characters, more than {MAX_PROMPT:,}")
        if schema is not None and not isinstance(schema, dict):
            raise self._refusal(f"the schema {schema!r:.80} is not an object")
        return prompt, schema

    def _closed(self, schema: JsonObject) -> JsonObject:
        text = json.dumps(schema)
        if len(text) > MAX_SCHEMA or text.count('"$ref"') > _MAX_REFERENCES:
            raise self._refusal(f"the schema has more than {MAX_SCHEMA:,} characters or {_MAX_REFERENCES} references")
        if schema.get("type") != "object" or not schema.get("properties"):
            raise self._refusal("the schema is not one of an object with properties")
        try:
            closed: JsonObject = without_limits(strict_schema(schema))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise self._refusal(f"the schema {text[:80]} has a part that judges do not support") from error
        return {**closed, "title": "answer"}

    def _refusal(self, why: str) -> ConfigurationError:
        return ConfigurationError(
            f"The metric {self._first.metric} called the judge for scenario {self._first.scenario_id!r}, and {why}.",
            "Correct the metric's call of judge.score(prompt, schema).",
        )


class _MeasuredByRepository:
    """Implements ``JudgedMetric`` by code of the repository."""

    judged = True

    def __init__(self, assertion: Assertion, code: CustomCode, described: JsonObject, judge: Judge) -> None:
        self.name = assertion.metric
        self._assertion, self._code, self._judge = assertion, code, judge
        version, release = _version(assertion, described)
        self.version = version + (f"+deepeval-{release}" if release else "")
        self._asks = metric_version(self.name, version)

    def evidence(self, case: Case) -> str:
        """SHA-256 of what the metric is given, less the time that turns took."""
        given = evidence(case, {})
        turns = [{name: part for name, part in turn.items() if name != "seconds"} for turn in given["turns"]]
        return digest({**given, "turns": turns})

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case."""
        question = case.question(self._asks, self.evidence(case))
        maximum = declared_judge_calls(self.name, self._assertion.parameters)
        channel = JudgeChannel(self._judge, question, maximum)
        try:
            answer = await self._code.run(self.name, evidence(case, self._assertion.parameters), channel.answer)
        except WorkerError as error:
            raise _no_score(self.name, error) from error
        score = custom_score(replace(self._assertion, threshold=threshold), answer)
        return replace(score, version=self.version, judged=True)


class RepositoryMetric:
    """Implements ``CodeMetric``: finds out which code it is, and is then measured as every judged metric.

    Args:
        assertion: names it as ``module:attribute``, with its parameters.
        judged: makes the metric as the run measures it, from what makes one with a judge.
    """

    judged = True
    version = CUSTOM_VERSION

    def __init__(
        self,
        assertion: Assertion,
        judged: Callable[[Callable[[Judge], JudgedMetric]], JudgedMetric],
        code: CustomCode | None = None,
    ) -> None:
        self.name = assertion.metric
        self._assertion, self._judged, self._code = assertion, judged, code

    def with_code(self, code: CustomCode) -> Metric:
        """The same metric, with somebody to run it."""
        return RepositoryMetric(self._assertion, self._judged, code)

    async def measure(self, case: Case, threshold: float) -> Score:
        """Score one case.

        Raises:
            ConfigurationError: nothing can run it, or it cannot be imported; see ``JudgedMetric`` for the rest.
        """
        code = self._code
        if code is None:
            raise ConfigurationError(f"The system cannot run the metric {self.name!r}.", "Remove it.")
        try:
            described = await code.describe(self.name)
        except WorkerError as error:
            raise _no_score(self.name, error) from error
        metric = self._judged(lambda judge: _MeasuredByRepository(self._assertion, code, described, judge))
        return await metric.measure(case, threshold)


def _version(assertion: Assertion, described: Any) -> tuple[str, str]:
    """Version of the code with the assertion's parameters, and DeepEval's, which a recording's key leaves out."""
    code, release = (described.get("code"), described.get("deepeval")) if isinstance(described, dict) else (None, None)
    if not isinstance(code, str) or not _DIGEST.fullmatch(code):
        raise ConfigurationError(f"The metric {assertion.metric!r} has no usable version: {described!r:.80}.")
    if release is not None and not (isinstance(release, str) and _RELEASE.fullmatch(release)):
        raise ConfigurationError(f"The metric {assertion.metric!r} has no usable DeepEval version: {release!r:.80}.")
    parameters = {name: value for name, value in assertion.parameters.items() if name != JUDGE_CALLS}
    return version_with(f"{CUSTOM_VERSION}-{code[:_SHOWN]}", parameters or None), release or ""


def _no_score(name: str, error: WorkerError) -> ConfigurationError:
    return ConfigurationError(f"The metric {name!r} gave no score: {error.problem}", error.remedy)
