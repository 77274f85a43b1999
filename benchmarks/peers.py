"""Other frameworks with the work of ``side_by_side``: ``peers.py NAME URL CONVERSATIONS``, by an interpreter with them.

Each scores every conversation of the JSON file with one call of a judge, 20 at a time, as its own documentation shows
it: no server, no telemetry, nothing printed but what cannot be switched off. ``peers.in`` lists the packages.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

AT_ONCE = 20
MODEL, KEY = "gpt-5.6", "sk-proj-" + "a" * 24
Conversation = list[dict[str, str]]
"""Its messages, each with a role and a content."""


def question(conversation: Conversation) -> str:
    """What the judge is asked about a conversation."""
    lines = (f"{message['role']}: {message['content']}" for message in conversation)
    return "\n".join(("Score the coherence of this conversation from 0 to 10, as JSON.", *lines))


async def score(client: Any, text: str) -> float:
    """One judge call by OpenAI's SDK, its score from 0 to 1."""
    answer = await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": text}])
    return float(json.loads(answer.choices[0].message.content)["score"]) / 10


def client(url: str) -> Any:
    """OpenAI's SDK, which sends each call once."""
    from openai import AsyncOpenAI

    return AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0)


def langfuse(url: str, conversations: list[Conversation]) -> int:
    """``run_experiment`` with an evaluator that calls the judge, without tracing."""
    from langfuse import Evaluation, Langfuse

    judge = client(url)

    async def task(*, item: Any, **_: object) -> str:
        return question(item["input"])

    async def coherence(*, output: str, **_: object) -> Evaluation:
        return Evaluation(name="coherence", value=await score(judge, output))

    observed = Langfuse(public_key="pk-lf-benchmark", secret_key="sk-lf-benchmark", host=url, tracing_enabled=False)  # noqa: S106 - no secret
    result = observed.run_experiment(
        name="coherence",
        data=[{"input": conversation} for conversation in conversations],
        task=task,
        evaluators=[coherence],
        max_concurrency=AT_ONCE,
    )
    result.format()
    return sum(len(item.evaluations) for item in result.item_results)


def pydantic_evals(url: str, conversations: list[Conversation]) -> int:
    """A data set whose evaluator calls the judge."""
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import Evaluator, EvaluatorContext

    judge = client(url)

    class Coherence(Evaluator[Conversation, str, None]):
        async def evaluate(self, ctx: EvaluatorContext[Conversation, str, None]) -> float:
            return await score(judge, ctx.output)

    async def task(conversation: Conversation) -> str:
        return question(conversation)

    cases = [Case(name=f"case_{number}", inputs=each) for number, each in enumerate(conversations)]
    dataset: Any = Dataset(name="coherence", cases=cases, evaluators=[Coherence()])
    report = asyncio.run(dataset.evaluate(task, max_concurrency=AT_ONCE, progress=False))
    report.render()
    return sum(len(case.scores) for case in report.cases)


def deepeval(url: str, conversations: list[Conversation]) -> int:
    """``evaluate`` with steps that are given, so that there is one call a case; no cache, no display."""
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import ConversationalGEval
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.test_case import ConversationalTestCase, MultiTurnParams, Turn

    judge = client(url)

    class Judge(DeepEvalBaseLLM):
        def load_model(self, *_: object, **__: object) -> Any:
            return judge

        def get_model_name(self, *_: object, **__: object) -> str:
            return MODEL

        def generate(self, *_: object, **__: object) -> str:
            raise NotImplementedError

        async def a_generate(self, prompt: str, *_: object, **__: object) -> str:
            answer = await judge.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": prompt}])
            return str(answer.choices[0].message.content)

    steps = [
        "Check that each answer follows from the conversation before it.",
        "Check that no answer contradicts itself.",
    ]
    shown = [MultiTurnParams.ROLE, MultiTurnParams.CONTENT]
    metric = ConversationalGEval(
        name="Coherence", evaluation_params=shown, evaluation_steps=steps, model=Judge(MODEL), threshold=0.5
    )
    cases = [
        ConversationalTestCase(turns=[Turn(role=turn["role"], content=turn["content"]) for turn in each])
        for each in conversations
    ]
    result = evaluate(
        test_cases=cases,
        metrics=[metric],
        async_config=AsyncConfig(max_concurrent=AT_ONCE),
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
    )
    return sum(metric.score is not None for each in result.test_results for metric in each.metrics_data or ())


def inspect(url: str, conversations: list[Conversation]) -> int:
    """A task whose scorer calls the judge; its log goes to the working directory, as it always does."""
    import inspect_ai
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import get_model
    from inspect_ai.scorer import Score, mean, scorer
    from inspect_ai.solver import solver

    judge = get_model(f"openai/{MODEL}", base_url=f"{url}/v1", api_key=KEY, responses_api=False)

    @scorer(metrics=[mean()])
    def coherence() -> Any:
        async def judged(state: Any, _: object) -> Score:
            answer = await judge.generate(state.input_text)
            return Score(value=float(json.loads(answer.completion)["score"]) / 10)

        return judged

    @solver
    def captured() -> Any:
        async def unchanged(state: Any, _: object) -> Any:
            return state

        return unchanged

    samples = [Sample(input=question(each)) for each in conversations]
    task = inspect_ai.Task(dataset=MemoryDataset(samples), solver=captured(), scorer=coherence())
    logs = inspect_ai.eval(task, model=None, display="none", max_samples=AT_ONCE, max_connections=AT_ONCE)
    return sum(bool(sample.scores) for sample in logs[0].samples or ())


PEERS = {"langfuse": langfuse, "pydantic-evals": pydantic_evals, "deepeval": deepeval, "inspect": inspect}


def main() -> int:
    """Score all conversations by one framework; 1 when some have no score."""
    name, url, file = sys.argv[1:]
    conversations = json.loads(Path(file).read_text())
    scored = PEERS[name](url, conversations)
    if scored != len(conversations):
        print(f"{name} scored {scored} of {len(conversations)} conversations", file=sys.stderr)
    return int(scored != len(conversations))


if __name__ == "__main__":
    sys.exit(main())
