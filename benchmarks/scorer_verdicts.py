"""Verdicts of the scorers of Inspect and OpenAI evals themselves, for ``tests/commands/scorer_verdicts.json``.

    INTERPRETER benchmarks/scorer_verdicts.py EVALS COMMIT DATE > tests/commands/scorer_verdicts.json

INTERPRETER has inspect_ai and numpy, EVALS is a checkout of openai/evals at COMMIT. No model is called.
"""

import asyncio
import importlib
import json
import sys
import types
from importlib.metadata import version
from pathlib import Path
from typing import Any

REPLIES = [
    "Nairobi",
    "nairobi.",
    "The capital is Nairobi.",
    "Nairobi is the capital",
    "**Nairobi**",
    "  (Nairobi)!  ",
    "",
    "Not Mombasa",
    "A",
    "ANSWER: A",
    "Answer: b",
    "First ANSWER: B\nthen\nANSWER: A",
    "I think ANSWER: A, C",
    "ANSWER: A and C",
    "ANSWER: AC.",
    "answer : c,",
    "ANSWER: Z",
    "The ANSWER: A is right",
    "4",
    "It is 4.",
    "4 apples and 5 pears",
    "$1,200.50",
    "costs 1200.50 USD",
    "(4)",
    "it is '4'!",
    "<4",
    "[4.]",
    "ANSWER: **B**",
    "ANSWER: $A$",
    "ANSWER: (C)",
    "ANSWER: (A), (C)",
    "ANSWER: ** A , C ** is it",
    "ANSWER: (B) since it shines",
    "24",
    "4.0",
    "**4**",
    "½",
    "The cat, a dog and an owl",
    "cat dog owl",
    "the-cat",
    "yes",
    "Yes, it is",
    '{"a": 1, "b": [1, 2]}',
    '{"b": [1, 2], "a": 1.0}',
    '{"a": null}',
    "[]",
    "null",
    '"x"',
    "red",
    "RED and blue",
    "color: red; shape: round",
    "color: Red",
    "color: ; shape: ",
    "\u0130stanbul",
    "STRASSE",
    "stra\u00dfe",
]
TARGETS: list[str | list[str]] = [
    "Nairobi",
    "nairobi",
    ["Mombasa", "Nairobi"],
    "4",
    "1200.5",
    "0.5",
    "the cat dog",
    "A",
    "red",
    ["red", "round"],
    "Stra\u00dfe",
    "yes",
]
LOCATIONS = ("begin", "end", "any", "exact")
PATTERN = r"color: (\w*)(?:; shape: (\w*))?"
INSPECT: list[tuple[str, dict[str, Any]]] = [
    *(("match", {"location": each}) for each in LOCATIONS),
    *(("match", {"location": each, "numeric": True}) for each in LOCATIONS),
    ("match", {"ignore_case": False}),
    ("includes", {}),
    ("includes", {"ignore_case": False}),
    ("exact", {}),
    ("f1", {}),
    ("f1", {"stop_words": ["cat", "owl"]}),
    ("pattern", {"pattern": r"ANSWER\s*:\s*(\w+)"}),
    ("pattern", {"pattern": PATTERN}),
    ("pattern", {"pattern": "(?:re|bl)u?e?d?|[0-9]+"}),
    ("pattern", {"pattern": "(x)?(.*)"}),
    ("pattern", {"pattern": PATTERN, "match_all": True}),
    ("pattern", {"pattern": PATTERN, "ignore_case": False}),
]
CHOICES: list[tuple[str | list[str], bool]] = [
    ("A", False),
    ("B", False),
    ("C", False),
    (["A", "C"], True),
    ("A,C", True),
]
IDEALS: list[str | list[str]] = [*TARGETS, ""]
JSONS: list[str | list[str]] = ['{"a": 1, "b": [1, 2]}', ['{"a": null}', "[]"], "null", '"x"', '{"a": 1}']


async def inspect_verdicts() -> list[list[Any]]:
    """``[metric, parameters, reply, value]`` of Inspect's scorers."""
    scorers: Any = importlib.import_module("inspect_ai.scorer")
    rows: list[list[Any]] = []
    for name, options in INSPECT:
        score = getattr(scorers, name)(**options)
        for target in TARGETS:
            for reply in REPLIES:
                found = await score(state_of(reply, None), scorers.Target(target))
                value = found.value if isinstance(found.value, float) else float(found.value == "C")
                rows.append([f"inspect_{name}", {**options, "target": target}, reply, value])
    parse: Any = importlib.import_module("inspect_ai.solver._multiple_choice")
    for target, several in CHOICES:
        for reply in REPLIES:
            state = state_of(reply, ["Mercury", "Venus", "Earth"])
            answers = parse.parse_answers(state, several)
            if answers:
                parse.set_choices_based_on_generated_response(state=state, answers=answers)
            found = await scorers.choice()(state, scorers.Target(target))
            given = {"choices": 3, "target": target, "multiple_correct": several}
            rows.append(["inspect_choice", given, reply, float(found.value == "C")])
    return rows


def state_of(reply: str, choices: list[str] | None) -> Any:
    """A sample that the model has answered."""
    model: Any = importlib.import_module("inspect_ai.model")
    solver: Any = importlib.import_module("inspect_ai.solver")
    output = model.ModelOutput.from_content("none", reply)
    return solver.TaskState(model="none", sample_id=1, epoch=1, input="?", messages=[], choices=choices, output=output)


def openai_verdicts(checkout: Path) -> list[list[Any]]:
    """``[metric, parameters, reply, value]`` of the functions by which OpenAI evals decides."""
    evals: Any = types.ModuleType("evals")
    evals.__path__ = [str(checkout / "evals")]
    evals.CompletionFn = evals.Eval = object
    record: Any = types.ModuleType("evals.record")
    record.RecorderBase = object
    matches: list[bool] = []
    record.record_match = lambda match, **_: matches.append(match)
    sys.modules |= {"evals": evals, "evals.record": record}
    utils: Any = importlib.import_module("evals.elsuite.utils")
    api: Any = importlib.import_module("evals.api")
    evals.CompletionFn = api.CompletionFn
    json_match = importlib.import_module("evals.elsuite.basic.json_match").json_match
    rows: list[list[Any]] = []
    for ideal in IDEALS:
        listed = ideal if isinstance(ideal, list) else [ideal]
        for reply in REPLIES:
            api.record_and_check_match(prompt="", sampled=reply, expected=ideal)
            rows.append(["openai_match", {"ideal": ideal}, reply, float(matches[-1])])
            for ignore in (False, True):
                found = any(utils.get_answer(reply, each, ignore) is not None for each in listed)
                rows.append(["openai_includes", {"ideal": ideal, "ignore_case": ignore}, reply, float(found)])
            alike = any(utils.fuzzy_match(reply, each) for each in listed)
            rows.append(["openai_fuzzy_match", {"ideal": ideal}, reply, float(alike)])
    for ideal in JSONS:
        for reply in REPLIES:
            try:
                read = json.loads(reply)
            except ValueError:
                read = None
            listed = ideal if isinstance(ideal, list) else [ideal]
            same = any(json_match(read, json.loads(each)) for each in listed)
            rows.append(["openai_json_match", {"ideal": ideal}, reply, float(same)])
    return rows


def main() -> None:
    """Print each scorer with its parameters and what it gives each reply."""
    checkout = Path(sys.argv[1])
    rows = [*asyncio.run(inspect_verdicts()), *openai_verdicts(checkout)]
    made = {"inspect_ai": version("inspect_ai"), "openai/evals": sys.argv[2], "date": sys.argv[3]}
    values: dict[str, list[float]] = {}
    for name, given, _, value in rows:
        values.setdefault(json.dumps([name, given]), []).append(value)
    lines = ",\n".join(f"{key[:-1]}, {json.dumps(each)}]" for key, each in values.items())
    head = f'"made_with": {json.dumps(made)},\n"replies": {json.dumps(REPLIES)}'
    sys.stdout.write(f'{{{head},\n"verdicts": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
