"""The files that ``ratiba init`` writes. Everything is checked before it is written."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from ratiba_action.authoring.project_files import foreign_program
from ratiba_action.authoring.schema_files import CONFIGURATION_SCHEMA, SCENARIO_SCHEMA, schema_file
from ratiba_action.authoring.starter_answers import ACTION, REUSABLE, StarterAnswers
from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.config.configuration import read_configuration
from ratiba_action.config.metrics_block import attach_language_metrics
from ratiba_action.llm.endpoints import FORMATS
from ratiba_action.llm.recordings.lines import JudgeRecording
from ratiba_action.llm.recordings.writer import render_recordings
from ratiba_action.metrics.judging.cache_key import metric_version
from ratiba_action.metrics.judging.replay_judge import judge_recording_key
from ratiba_action.metrics.registry import is_judged, load_metric, metric_problems, readers_of
from ratiba_action.model.answer_origin import RecordingSource
from ratiba_action.model.canonical import transcript_digest
from ratiba_action.model.conversation import Exchange, Reply, Transcript
from ratiba_action.model.measurement import Answer, Question
from ratiba_action.model.scenario import Scenario
from ratiba_action.money.pricing import model_family
from ratiba_action.settings.provider_keys import BUILT_IN, JUDGES
from ratiba_action.suite.load import load_suite
from ratiba_action.util.installation import page


@dataclass(frozen=True, slots=True)
class FirstWords:
    """A message, its reply, and what the reply must contain.

    Args:
        judge_reason: the judge's reason for the score of the reply; empty if no judge is called.
    """

    message: str
    reply: str
    fact: str
    judge_reason: str = ""


_ENGLISH = FirstWords(
    "Good morning, are you open tomorrow?",
    "Good morning! Yes, we are open tomorrow from 9:00 to 17:00.",
    "9:00",
    "Clear, friendly English that a customer would not want changed.",
)
_SWAHILI = FirstWords(
    "Habari, mko wazi kesho?",
    "Karibu! Ndiyo, kesho tuko wazi kuanzia saa tatu asubuhi hadi saa kumi na moja jioni.",
    "saa tatu asubuhi",
    "Kiswahili cha kawaida na cha heshima, kama mwenyeji angeandika.",
)
_WORDS: Mapping[str, FirstWords] = {"en": _ENGLISH, "sw": _SWAHILI, "mixed": _SWAHILI}


def first_words(language: str) -> FirstWords:
    """The words for a language; English ones without a score for other languages."""
    return _WORDS.get(language, FirstWords(_ENGLISH.message, _ENGLISH.reply, _ENGLISH.fact))


_SCORE = 0.9
_USAGE = {"input_tokens": 1_200, "output_tokens": 90}


def authored_scores(scenario: Scenario, words: FirstWords, model: str) -> tuple[JudgeRecording, ...]:
    """One line for each judged metric of the scenario, marked as written by hand.

    Args:
        scenario: of one turn.
        words: message and reply.
    """
    exchanges = tuple(Exchange(turn, Reply(words.reply)) for turn in scenario.turns)
    transcript = transcript_digest(Transcript(scenario.id, exchanges))
    lines: list[JudgeRecording] = []
    for assertion in attach_language_metrics(scenario):
        if is_judged(assertion.metric):
            metric_object = load_metric(assertion.metric, _UncalledJudge(model), assertion.parameters)
            metric = metric_version(metric_object.name, metric_object.version.partition("+")[0])
            key = judge_recording_key(metric, model, transcript, 0)
            lines.append(
                JudgeRecording(
                    key,
                    0,
                    RecordingSource.AUTHORED,
                    metric,
                    model,
                    transcript,
                    _SCORE,
                    words.judge_reason,
                    dict(_USAGE),
                )
            )
    return tuple(lines)


class _UncalledJudge:
    """A judge for reading a metric's name and version; it is never called."""

    def __init__(self, model: str) -> None:
        self.model = model

    async def answer(self, question: Question) -> Answer:
        """Refuse."""
        raise AssertionError(question)


WORKFLOW = ".github/workflows/eval-on-prompt-change.yml"
CONFIGURATION = ".github/ratiba.yml"
SCENARIO = "scenarios/first_conversation.yaml"
RECORDING = "scenarios/recordings/first_conversation.jsonl"
SCHEMAS = ".github/ratiba"
"""Folder of the JSON Schemas, which editors read."""

_STAND_INS: Mapping[str, str] = {
    "python": "ratiba_adapter.py",
    "function": "ratiba_function.py",
    "command": "ratiba_system.py",
    "prompt": "prompts/assistant.md",
    "langgraph": "ratiba_graph.py",
    "http": "ratiba_server.py",
}
_STAND_IN_SERVER = ("python3", _STAND_INS["http"], "{port}")
_SYSTEM_MODELS: Mapping[str, str] = dict(zip(BUILT_IN, ("claude-sonnet-5-5", "gpt-5"), strict=True))
"""By provider; a judge is never the model of the system that it judges."""
_ENDPOINTS: Mapping[str, str] = {
    **{name: wire.declared for name, wire in FORMATS.items() if wire.declared},
    "mistral": "api: openai, base_url: https://api.mistral.ai/v1, key: MISTRAL_API_KEY, output_limit: max_tokens",
    "groq": "api: openai, base_url: https://api.groq.com/openai/v1, key: GROQ_API_KEY",
    "openrouter": "api: openai, base_url: https://openrouter.ai/api/v1, key: OPENROUTER_API_KEY",
}
"""Providers that are declared, as ``docs/providers.md`` has them."""
_KEY_COMMENT = "# openai-api-key: ${{ secrets.OPENAI_API_KEY }}  # without one, an edited prompt is incomplete\n"
_WITHOUT_KEY = f"    # secrets:\n    #   {_KEY_COMMENT.removeprefix('# ')}"
"""What the workflow says where the environment has no key."""
_CODE_BLOCKS = "  blocking *\n  skip *.md *.rst\n"
"""Rules of the workflow by which every change but that of a text file blocks."""
_HERE = "ratiba_action.authoring"


def starter_files(answers: StarterAnswers, *, has_prompt: bool = False) -> Mapping[str, bytes]:
    """Content of each file by its path in the repository.

    Args:
        answers: what to set up.
        has_prompt: whether the prompt file of the kind ``prompt`` exists already.

    Raises:
        SuiteError: an answer is not valid in a configuration or a scenario; says which.
    """
    words = first_words(answers.language)
    scenario = _scenario(answers, words)
    schema = f"{SCHEMAS.rpartition('/')[2]}/{CONFIGURATION_SCHEMA}"
    built_in = [name for name in answers.providers if name in _SYSTEM_MODELS]
    system_provider = (*built_in, *BUILT_IN)[0]
    judges = () if set(built_in) == set(_SYSTEM_MODELS) else _judges_of(answers.providers)  # both are the default
    configuration = _render(
        "ratiba.yml.j2",
        schema=schema,
        kind=answers.kind,
        prompts=answers.prompts,
        prompt_file=answers.prompt_file,
        url=answers.url if answers.has_url else "http://127.0.0.1:{port}/chat",
        serve=() if answers.has_url or answers.project.port else answers.project.serve or _STAND_IN_SERVER,
        port=None if answers.has_url else answers.project.port,
        setup=answers.project.setup,
        function=answers.function or "ratiba_function:answer",
        uses_setup=answers.kind in {"http", "function"} and not stand_in(answers),
        system_provider=system_provider,
        system_model=_SYSTEM_MODELS[system_provider],
        judges=[(name, JUDGES[name]) for name in judges],
        unjudged=bool(words.judge_reason) and not stand_in(answers) and not answers.providers,
        endpoints={name: _ENDPOINTS[name] for name in judges if name in _ENDPOINTS},
    )
    judge = read_configuration(CONFIGURATION, configuration).judge
    (read,) = load_suite({SCENARIO: scenario}, metric_problems, validate_rule, readers_of).scenarios
    written = stand_in(answers)
    scores = authored_scores(read, words, judge.model) if words.judge_reason and written else ()
    return {
        WORKFLOW: workflow(answers, declared_keys(configuration)),
        CONFIGURATION: configuration,
        **({written: _render(_template_of(answers), reply=words.reply)} if written and not has_prompt else {}),
        SCENARIO: scenario,
        **({RECORDING: render_recordings(scores)} if scores else {}),
        **{f"{SCHEMAS}/{name}": schema_file(name) for name in (SCENARIO_SCHEMA, CONFIGURATION_SCHEMA)},
    }


def _judges_of(providers: tuple[str, ...]) -> tuple[str, ...]:
    """The judge's provider and the cross-check's: the first, and the next whose model is of another family."""
    family = model_family(JUDGES[providers[0]]) if providers else ""
    others = [name for name in providers[1:] if model_family(JUDGES[name]) != family]
    return (*providers[:1], *others[:1])


def stand_in(answers: StarterAnswers) -> str:
    """The stand-in that users replace by their system; empty for a server or function that exists already."""
    there = answers.has_url or (answers.kind == "http" and (answers.project.serve or answers.project.port))
    if answers.kind == "prompt":
        return answers.prompt_file
    return "" if there or answers.function else _STAND_INS.get(answers.kind, "")


def _template_of(answers: StarterAnswers) -> str:
    return f"{_STAND_INS[answers.kind].rpartition('/')[2]}.j2"


def _scenario(answers: StarterAnswers, words: FirstWords) -> bytes:
    return _render(
        "first_conversation.yaml.j2",
        schema=f"{SCHEMAS}/{SCENARIO_SCHEMA}",
        language=answers.language,
        message=words.message,
        reply=words.reply,
        fact=words.fact,
        graded=bool(words.judge_reason and stand_in(answers)),
        scripted=answers.kind == "prompt",
        stateful=answers.kind in {"python", "command"},
    )


def declared_keys(configuration: bytes) -> tuple[str, ...]:
    """The variables that a configuration's providers take their keys from, sorted.

    Raises:
        SuiteError: the configuration has a mistake.
    """
    declared = read_configuration(CONFIGURATION, configuration).providers.values()
    return tuple(sorted({provider.key_variable for provider in declared if provider.key_variable}))


def workflow(answers: StarterAnswers, declared: Sequence[str] = ()) -> bytes:
    """A workflow of ``docs/workflows.md`` with this repository's branch, action, gate's name and keys.

    Args:
        answers: what to set up; a server that the gate does not start needs the form with steps of one's own.
        declared: variables of the keys of providers that the configuration declares.
    """
    usual = StarterAnswers()
    name = "eval-with-own-steps.yml" if answers.has_url else "eval-on-prompt-change.yml"
    text = (files(_HERE) / "starter" / name).read_text(encoding="utf-8")
    if answers.branch != usual.branch:
        text = text.replace(f"branches: [{usual.branch}]", f"branches: [{json.dumps(answers.branch)}]")
    keys = dict(_key_lines(answers, declared))
    given = {"name": json.dumps(answers.name)} if answers.name != usual.name else {}
    if answers.code == "blocking":
        given["rules"] = f"|\n{_CODE_BLOCKS}"
    program = foreign_program(answers.project.serve) if answers.kind == "http" else ""
    if not answers.has_url:
        folder, _, commit = answers.action.partition("@")
        called = f"{folder}/.github/workflows/gate.yml@{commit}"
        text = text.replace(REUSABLE, called)
        text += _block("with", given) if given or not program else ""
        if program:
            text += "" if given else "    # with:\n"
            text += f"    #   config: .github/container.yml  # the action's image has no {program}: use a container,\n"
            text += f"    #   image: …  # or an image that has it: {page('node', 'in-the-action')}\n"
        return (text + (_block("secrets", keys) or _WITHOUT_KEY)).encode()
    text = text.replace(ACTION, answers.action)
    lines = textwrap.indent(_lines({**given, **keys}) + ("" if keys else _KEY_COMMENT), " " * 10)
    text = text.replace("          config: ", f"{lines}          config: ")
    for artifact in ("report", "baseline"):  # the gate looks for those of its own name only
        text = text.replace(f"name: {usual.name}-{artifact}\n", f"name: {answers.name}-{artifact}\n")
    return text.encode()


def _key_lines(answers: StarterAnswers, declared: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each key by the input that takes it."""
    for provider in answers.providers:
        if provider in BUILT_IN:
            yield f"{provider}-api-key", f"${{{{ secrets.{provider.upper()}_API_KEY }}}}"
    if declared:
        yield "provider-keys", " ".join(f"{name}=${{{{ secrets.{name} }}}}" for name in declared)


def _block(name: str, entries: Mapping[str, str]) -> str:
    return textwrap.indent(f"{name}:\n{textwrap.indent(_lines(entries), '  ')}", "    ") if entries else ""


def _lines(entries: Mapping[str, str]) -> str:
    return "".join(f"{name}: {value.rstrip()}\n" for name, value in entries.items())


def _render(name: str, **values: object) -> bytes:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # only what writes files needs it

    # What is rendered is YAML and Python; a filter quotes each value.
    environment = Environment(  # noqa: S701 - no HTML
        loader=PackageLoader(_HERE, "starter"), undefined=StrictUndefined, keep_trailing_newline=True
    )
    environment.filters["quoted"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.get_template(name).render(**values).encode()
