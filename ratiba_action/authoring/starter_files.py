"""The files that set the gate up in a repository. Everything is checked before it is written."""

import json
from collections.abc import Mapping
from importlib.resources import files

from ratiba_action.authoring.first_grade import first_grades
from ratiba_action.authoring.first_words import first_words
from ratiba_action.authoring.schema_files import CONFIGURATION_SCHEMA, SCENARIO_SCHEMA, schema_file
from ratiba_action.authoring.starter_answers import ACTION, StarterAnswers
from ratiba_action.configuration import read_configuration
from ratiba_action.core.failure_rules import validate_rule
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.recordings.writer import render_recordings
from ratiba_action.suite.load import load_suite

WORKFLOW = ".github/workflows/eval-on-prompt-change.yml"
CONFIGURATION = ".github/ratiba.yml"
SCENARIO = "scenarios/first_conversation.yaml"
RECORDING = "scenarios/recordings/first_conversation.jsonl"
ADAPTER = "ratiba_adapter.py"
SCHEMAS = ".github/ratiba"
"""Folder of the JSON Schemas, which editors read."""

_HERE = "ratiba_action.authoring"


def starter_files(answers: StarterAnswers) -> Mapping[str, bytes]:
    """Content of each file by its path in the repository.

    Raises:
        SuiteError: an answer cannot stand in a configuration or a scenario; says which.
    """
    words = first_words(answers.language)
    scenario = _render(
        "first_conversation.yaml.j2",
        schema=f"{SCHEMAS}/{SCENARIO_SCHEMA}",
        language=answers.language,
        message=words.message,
        fact=words.fact,
        graded=bool(words.grade),
    )
    schema = f"{SCHEMAS.rpartition('/')[2]}/{CONFIGURATION_SCHEMA}"
    configuration = _render("ratiba.yml.j2", schema=schema, prompts=answers.prompts)
    read_configuration(CONFIGURATION, configuration)
    (read,) = load_suite({SCENARIO: scenario}, metric_problems, validate_rule).scenarios
    grades = first_grades(read, words) if words.grade else ()
    return {
        WORKFLOW: workflow(answers),
        CONFIGURATION: configuration,
        ADAPTER: _render("ratiba_adapter.py.j2", reply=words.reply),
        SCENARIO: scenario,
        **({RECORDING: render_recordings(grades)} if grades else {}),
        **{f"{SCHEMAS}/{name}": schema_file(name) for name in (SCENARIO_SCHEMA, CONFIGURATION_SCHEMA)},
    }


def workflow(answers: StarterAnswers) -> bytes:
    """The workflow of the README with this repository's branch, action and gate's name."""
    usual = StarterAnswers()
    text = (files(_HERE) / "starter" / "eval-on-prompt-change.yml").read_text(encoding="utf-8")
    text = text.replace(ACTION, answers.action)
    if answers.branch != usual.branch:
        text = text.replace(f"branches: [{usual.branch}]", f"branches: [{json.dumps(answers.branch)}]")
    if answers.name != usual.name:
        text = text.replace("          config: ", f"          name: {json.dumps(answers.name)}\n          config: ")
    return text.encode()


def _render(name: str, **values: object) -> bytes:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only what writes files needs it

    # What is rendered is YAML and Python; a filter quotes each value.
    environment = Environment(  # noqa: S701 - no HTML
        loader=PackageLoader(_HERE, "starter"), undefined=StrictUndefined, keep_trailing_newline=True
    )
    environment.filters["quoted"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.get_template(name).render(**values).encode()
