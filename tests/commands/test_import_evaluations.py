"""Files of DeepEval, Ragas, Inspect, OpenAI evals, LangSmith and Langfuse: all of a file arrives or is listed."""

import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.authoring.imported_suite import scorers_file
from ratiba_action.checks.failure_rules import validate_rule
from ratiba_action.errors import SuiteError, UsageError
from ratiba_action.metrics.registry import metric_problems
from ratiba_action.model.scenario import Scenario
from ratiba_action.suite.load import load_suite, read_scenario_files
from tests.support.command_run import CommandRun
from tests.support.suites import suite_of


def write(folder: Path, **files: str) -> None:
    """Write files; ``__`` in a name is a slash, ``_py`` and the like at its end a suffix."""
    for name, content in files.items():
        stem, _, suffix = name.replace("__", "/").rpartition("_")
        path = folder / f"{stem}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def lines(*rows: Mapping[str, Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def manual(printed: Mapping[str, Any]) -> list[tuple[int, str]]:
    return [(each["line"], each["what"]) for each in printed["findings"] if each["outcome"] == "manual"]


def scenarios(folder: Path) -> Mapping[str, Scenario]:
    """Scenarios by the end of their last message."""
    return {str(each.turns[-1].user).splitlines()[-1]: each for each in suite_of(folder).scenarios}


def measured(scenario: Scenario) -> list[tuple[str, float]]:
    return [(each.metric, each.threshold) for each in scenario.assertions]


def scores(scenario: Scenario, reply: str) -> list[float]:
    """What the written module gives a reply."""
    module = ModuleType("scorer_checks")
    exec(compile(scorers_file(), "scorer_checks.py", "exec"), module.__dict__)  # noqa: S102 - the module is ours
    turns = [{"user": "?", "reply": {"text": reply}}]
    return [
        getattr(module, each.metric.partition(":")[2])({"parameters": dict(each.parameters), "turns": turns})["value"]
        for each in scenario.assertions
    ]


DEEPEVAL = """\
import pytest
from deepeval import assert_test, evaluate
from deepeval.dataset import EvaluationDataset, Golden
from deepeval.metrics import *
from deepeval.test_case import ConversationalTestCase, LLMTestCase, ToolCall, Turn
from checks.kindness import Kindness
relevancy = AnswerRelevancyMetric(threshold=0.7)
exact = ExactMatchMetric()
ROWS = [("How long?", "Two days"), ("Which days?", "Monday")]
@pytest.mark.parametrize("question, expected", ROWS)
def test_rows(question, expected):
    case = LLMTestCase(input=question, actual_output=ask(question), expected_output=expected)
    assert_test(case, [relevancy, exact])
@pytest.mark.parametrize("question", [pytest.param("Where is it?", id="where")])
def test_tools(question):
    tools = [ToolCall(name="find"), ToolCall(name="reply")]
    case = LLMTestCase(input=question, actual_output="", expected_tools=tools)
    assert_test(case, [ToolCorrectnessMetric(threshold=1)])
    assert_test(LLMTestCase(input="Part?", actual_output="", expected_tools=tools), [ToolCorrectnessMetric()])
@pytest.fixture
def dataset():
    return EvaluationDataset(goldens=[Golden(input="Hi"), Golden(input=f"Bye {1}")])
def test_goldens(dataset):
    metrics = [Kindness(threshold=0.6)]
    metrics.append(HallucinationMetric(threshold=0.3))
    for index, golden in enumerate(dataset.goldens):
        check(LLMTestCase(input=golden.input, actual_output=ask(golden.input)), metrics + [exact])
def check(case, metrics):
    assert_test(test_case=case, metrics=metrics)
def test_measure():
    for text in ("One", "Two"):
        case = LLMTestCase(input=text, actual_output="")
        metric = FaithfulnessMetric(threshold=0.8)
        metric.measure(case)
        assert metric.is_successful()
class TestChat:
    def test_chat(self):
        turns = [Turn(role="user", content="A parcel"), Turn("assistant", "Where to?"), Turn("user", "Kisumu")]
        chat = ConversationalTestCase(turns=turns, chatbot_role="a clerk")
        evaluate(test_cases=[chat], metrics=[RoleAdherenceMetric(), KnowledgeRetentionMetric(threshold=0.6)])
evaluate([LLMTestCase(input=q, actual_output=ask(q)) for q in ["Red?", "Blue?"]], [SummarizationMetric(n=3)])
"""


def test_cases_of_loops_parametrize_fixtures_and_functions_have_their_own_metrics(
    folder: Path, command: CommandRun
) -> None:
    write(folder, test_a_py=DEEPEVAL)
    printed = command.json("import", "deepeval", "test_a.py")
    found = scenarios(folder)
    assert sorted(found) == sorted(
        ["How long?", "Which days?", "Where is it?", "Hi", "Bye 1", "One", "Two", "Kisumu", "Red?", "Blue?"]
    )
    assert measured(found["How long?"]) == [("AnswerRelevancyMetric", 0.7)]
    reply = found["Which days?"].turns[0].expect.reply
    assert reply is not None
    assert reply.equals == "Monday"
    assert [rule.value for rule in found["Where is it?"].rules] == [["find", "reply"]]
    assert measured(found["Bye 1"]) == [
        ("checks.kindness:Kindness", 0.6),
        ("deepeval.metrics:HallucinationMetric", 0.3),
    ]
    assert measured(found["Two"]) == [("FaithfulnessMetric", 0.8)]
    assert measured(found["Kisumu"]) == [("RoleAdherenceMetric", 0.5), ("KnowledgeRetentionMetric", 0.6)]
    assert [turn.user for turn in found["Kisumu"].turns] == ["A parcel", "Kisumu"]
    assert measured(found["Blue?"]) == [("deepeval.metrics:SummarizationMetric", 0.5)]
    assert sorted(manual(printed)) == [(19, "must_call_tool"), (19, "test"), (27, "expect.equals")]


DATASETS = """\
METRICS = {"a": BiasMetric(threshold=0.8), "b": ToxicityMetric()}
dataset = EvaluationDataset()
dataset.add_golden(Golden(input="One"))
for text in ["Two", "Three"]:
    dataset.add_golden(Golden(input=text))
for golden in dataset.evals_iterator(metrics=[*METRICS.values()]):
    ask(golden.input)
evaluate(EvaluationDataset(test_cases=[LLMTestCase(input="Four", actual_output="")]), [BiasMetric()])
with open("rows.json") as file:
    rows = json.load(file)
for row in rows:
    assert_test(LLMTestCase(input=row["q"], actual_output=""), [FaithfulnessMetric()])
assert_test(LLMTestCase(input=make(), actual_output=""), [PIILeakageMetric()])
"""


def test_datasets_that_a_file_fills_are_read_and_rows_of_other_data_are_asked_for(
    folder: Path, command: CommandRun
) -> None:
    write(folder, test_a_py=DATASETS, rows_csv="q,a\nFive,x\n")
    printed = command.json("import", "deepeval", "test_a.py", "rows.csv", "--map", "input=q")
    found = scenarios(folder)
    both = [("BiasMetric", 0.8), ("ToxicityMetric", 0.5)]
    assert {key: measured(each) for key, each in found.items()} == {
        **dict.fromkeys(("One", "Two", "Three"), both),
        "Four": [("BiasMetric", 0.5)],
        "Five": [("FaithfulnessMetric", 0.5)],
    }
    assert sorted(manual(printed)) == [(1, "column a"), (13, "LLMTestCase"), (13, "assert_test")]


COMPONENTS = """\
from deepeval.tracing import observe, update_current_span
from deepeval.metrics import *
from deepeval.dataset import EvaluationDataset
price = DAGMetric(name="Price", dag=graph)
@observe(metrics=[TaskCompletionMetric(threshold=0.7)])
def agent(q):
    update_current_span(metrics=[price])
@observe(metric_collection="Ours")
def other(q): ...
dataset = EvaluationDataset()
dataset.pull(alias="Support")
for golden in dataset.evals_iterator(metrics=[StepEfficiencyMetric(), ImageCoherenceMetric()]):
    agent(golden.input)
compare(test_cases=[], metric=ArenaGEval(name="Better", criteria="Which?"))
evaluate([load()], metrics=[DAGMetric(name="x", dag=graph), make()], metric_collection="All")
"""


def test_metrics_of_components_graphs_and_arenas_are_listed(folder: Path, command: CommandRun) -> None:
    write(folder, test_a_py=COMPONENTS, goldens_json=json.dumps([{"input": "Where?", "expected_output": "Here"}]))
    printed = command.json("import", "deepeval", "test_a.py", "goldens.json")
    assert sorted(manual(printed)) == [
        (4, "DAGMetric"),
        (5, "TaskCompletionMetric"),
        (8, "observe metric_collection"),
        (11, "pull"),
        (12, "ImageCoherenceMetric"),
        (12, "StepEfficiencyMetric"),
        (14, "ArenaGEval"),
        (15, "DAGMetric"),
        (15, "evaluate metric_collection"),
        (15, "metric"),
    ]


def test_a_test_keeps_its_other_assertions_if_one_cannot_be_had(folder: Path, command: CommandRun) -> None:
    case = "LLMTestCase(input='Hi', actual_output='')"
    write(folder, test_a_py=f"assert_test({case}, [ExactMatchMetric(), ContextualRecallMetric(), BiasMetric()])\n")
    printed = command.json("import", "deepeval", "test_a.py")
    assert measured(scenarios(folder)["Hi"]) == [("BiasMetric", 0.5)]
    assert manual(printed) == [(1, "expect.equals"), (1, "ContextualRecallMetric")]


@pytest.mark.parametrize(
    "text",
    [
        "x = [1]\n" + "x = [x, x]\n" * 40 + "assert_test(LLMTestCase(input='a', context=x), [])",
        "def f(n):\n    return f([n, n])\nassert_test(f(1), [])",
        "\n".join(f"{' ' * depth}for i{depth} in [1, 2, 3, 4, 5, 6, 7, 8]:" for depth in range(12)) + " f()",
        "a = " + "[" * 80 + "]" * 80,
    ],
)
def test_a_file_that_would_grow_without_end_ends(text: str, folder: Path, command: CommandRun) -> None:
    write(folder, test_a_py=text)
    with suppress(SuiteError):
        command.json("import", "deepeval", "test_a.py", code=2)
    assert not (folder / "scenarios").exists()


PYTHON = st.sampled_from([
    "case", "metric", "x", "[]", "[x]", "(x,)", "{}", '{"a":x}', "f(x)", "x.y", "x[0]", 'x["a"]', '"t"', "1", "None",
    'f"{x}"', "x+x", "[y-for-y-in-x]", "lambda:x", 'LLMTestCase(input="q")', "GEval(name=x)", 'Golden("q")',
    "BiasMetric(threshold=x)", "Turn(x,x)", "ToolCall()",
])  # fmt: skip


@given(
    assigned=st.lists(st.tuples(st.sampled_from(["case", "metric", "x"]), PYTHON), max_size=6),
    first=PYTHON,
    second=PYTHON,
)
def test_no_file_ends_in_a_traceback(
    assigned: list[tuple[str, str]], first: str, second: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from ratiba_action.authoring.deepeval_tests import read_test_file  # below the command: no report is needed
    from ratiba_action.authoring.imports import Import
    from ratiba_action.authoring.source_folder import SourceFolder

    text = "".join(f"{name} = {value}\n" for name, value in assigned).replace("-", " ")
    text += f"for x in {first}:\n    assert_test({first}, {second})\nevaluate({second}, [{first}])\n".replace("-", " ")
    root = tmp_path_factory.mktemp("file")
    (root / "test_a.py").write_text(text)
    found = Import()
    read_test_file(SourceFolder(root, ""), "test_a.py", found)
    assert all(each.result for each in found.findings)


INSPECT = """\
from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, MemoryDataset, Sample, csv_dataset, hf_dataset, json_dataset
from inspect_ai.scorer import choice, exact, includes, match, model_graded_qa, pattern
from inspect_ai.solver import chain_of_thought, generate, multiple_choice, prompt_template, system_message, use_tools
SYSTEM = "You are a clerk."
def to_sample(record):
    letter = chr(ord("A") + record["right"])
    return Sample(input=f"{record['question']}", choices=[record["a"], record["b"]], target=letter)
def base(scorer):
    return Task(dataset=json_dataset("words.jsonl", FieldSpec(input="question", target="answer")), scorer=scorer)
@task
def quiz():
    return Task(csv_dataset("quiz.csv", lambda r: Sample(input=r["q"], choices=[r["a"], r["b"]], target=r["t"])),
                solver=multiple_choice(), scorer=choice())
@task
def numbers():
    return Task(dataset=json_dataset("numbers.jsonl", to_sample), solver=[multiple_choice(template=T)], scorer=choice())
T = "{question} Pick from {letters}:\\n{choices}"
@task
def words():
    return base(match(location="begin"))
@task
def mixed():
    samples = [Sample(input="Say hello", target="hello")]
    samples += [Sample(input=[ChatMessageUser(content="A colour")], target=["red", "blue"])]
    plan = [system_message(SYSTEM), prompt_template("Be brief.\\n{prompt}"), generate()]
    return Task(dataset=MemoryDataset(samples), plan=plan, scorer=[includes(ignore_case=False), custom()], epochs=3)
@task
def agent():
    plan = [use_tools([bash()]), generate()]
    return Task(dataset=hf_dataset("a/b"), solver=plan, scorer=model_graded_qa(), sandbox="docker")
@task
def from_elsewhere():
    return make_task()
unused = Sample(input="Nobody asks", target="x")
"""


def test_tasks_of_inspect_ask_and_score_as_they_do_there(folder: Path, command: CommandRun) -> None:
    write(
        folder,
        tasks_py=INSPECT,
        quiz_csv="q,a,b,t\nWhich is red?,Mars,Venus,A\n",
        numbers_jsonl=lines({"question": "Three?", "a": 2, "b": 3, "right": 1}),
        words_jsonl=lines({"question": "Capital?", "answer": "Nairobi"}),
    )
    printed = command.json("import", "inspect", "tasks.py")
    found = scenarios(folder)
    assert sorted(found) == ["A colour", "B) 3", "B) Venus", "Capital?", "Say hello"]
    quiz = found["B) Venus"]
    assert [scores(quiz, each) for each in ("ANSWER: A", "ANSWER: B", "A", "It is Mars")] == [
        [1.0],
        [0.0],
        [0.0],
        [0.0],
    ]
    assert "ANSWER: LETTER, where LETTER is one of A,B." in str(quiz.turns[0].user)
    assert str(quiz.turns[0].user).endswith("Which is red?\n\nA) Mars\nB) Venus")
    assert found["B) 3"].turns[0].user == "Three? Pick from A,B:\nA) 2\nB) 3"
    assert [scores(found["Capital?"], each) for each in ("nairobi, yes", "It is Nairobi")] == [[1.0], [0.0]]
    assert found["Say hello"].turns[0].user == "Be brief.\nSay hello"
    assert [scores(found["A colour"], each) for each in ("blue", "Red")] == [[1.0], [0.0]]
    assert (folder / "scorer_checks.py").read_bytes() == scorers_file()
    assert sorted(manual(printed)) == [
        (27, "scorer custom"),
        (30, "solver use_tools"),
        (31, "Task sandbox"),
        (31, "dataset hf_dataset('a/b')"),
        (33, "model of a task"),
        (35, "Sample"),
    ]
    assert "@samples('tasks.py', 'from_elsewhere')" in (folder / "test_inspect_tasks.py").read_text()


OF_CODE = """from inspect_ai import Task, task
from ours import agent, dataset, judge, solve
ROWS = [Sample(input="Hello", target="hi"), Sample(input="Bye", target="bye")]
@task
def by_solver(epochs=2):
    return Task(dataset=ROWS, solver=[solve(), generate()], scorer=includes(), epochs=epochs)
@task(name="other")
def by_scorer():
    return Task(ROWS, scorer=judge(), model="openai/gpt-5")
@task
def by_setup():
    return Task(dataset=dataset(), setup=[agent()], scorer=match(), sandbox='local')
@task
def by_template():
    return Task(dataset=ROWS, solver=multiple_choice(template=read()), scorer=choice())
@task
def by_dataset():
    return Task(dataset=[*ROWS, *dataset()], scorer=match())
@task
def by_path():
    return Task(dataset=json_dataset(find()), scorer=match())
@task
def by_rows():
    return Task(dataset=json_dataset("rows.jsonl", sample_fields=dataset), scorer=match())
@task
def from_a_hub():
    return Task(dataset=hf_dataset("a/b"), solver=agent(), scorer=match())
@task
def as_a_scenario():
    return Task(dataset=[Sample(input="Yes?", target="yes")], solver=generate(), scorer=[exact(), judge()])
@task
def needs(x, *, y):
    return Task(dataset=ROWS, solver=agent(x), scorer=includes())
@task
def in_docker():
    return Task(dataset=ROWS, solver=agent(), scorer=includes(), sandbox="docker")
Task(dataset=ROWS, solver=agent(), scorer=includes())
"""


def test_a_task_with_code_of_its_own_becomes_a_test_that_runs_it_through_inspect(
    folder: Path, command: CommandRun
) -> None:
    write(folder, evals__support_py=OF_CODE, evals__rows_jsonl=lines({"input": "Hello", "target": "hi"}))
    printed = command.json("import", "inspect", "evals/support.py")
    written = (folder / "test_inspect_support.py").read_text()
    tasks = ["by_solver", "by_scorer", "by_setup", "by_template", "by_dataset", "by_path", "by_rows"]
    functions = [node.name for node in ast.parse(written).body if isinstance(node, ast.FunctionDef)]
    assert [name for name in functions if name.startswith("test_")] == [f"test_{name}" for name in tasks]
    assert "@samples('evals/support.py', 'by_solver')\ndef test_by_solver(sample):" in written
    assert printed["configuration"]["tests"] == ["test_inspect_support.py"]
    assert sorted(scenarios(folder)) == ["Bye", "Hello", "Yes?"], "tasks that cannot run through Inspect"
    assert [line for line, what in manual(printed) if what == "model of a task"] == [5, 11, 14, 17, 20, 23]
    assert {what for line, what in manual(printed) if line < 25} == {"model of a task"}
    because = [each["result"].rpartition("only: ")[2] for each in printed["findings"] if "only: " in each["result"]]
    assert because == [
        "save its dataset as JSON Lines",
        "give its parameter `x` a default",
        "the gate's sandbox has no other one in it, such as 'docker'",
        "make it in a function with `@task`",
    ]
    assert command.json("import", "inspect", "evals/support.py")["unchanged"]


def test_a_configuration_that_runs_the_tests_and_names_their_model_is_complete(
    folder: Path, command: CommandRun
) -> None:
    block = "system: {adapter: a:b, root: app, environment: {INSPECT_EVAL_MODEL: openai/gpt-5}}\n"
    write(folder, app__evals__a_py=OF_CODE, evals__b_py=OF_CODE)
    write(folder, app__evals__rows_jsonl="{}\n", evals__rows_jsonl="{}\n")
    (folder / ".github").mkdir()
    (folder / ".github/ratiba.yml").write_text(f"{block}tests: [app]\n")
    printed = command.json("import", "inspect", "app/evals/a.py")
    assert "@samples('evals/a.py', 'by_solver')" in (folder / "app/test_inspect_a.py").read_text()
    assert "tests" not in printed["configuration"]
    assert "model of a task" not in [what for _line, what in manual(printed)]
    outside = command.json("import", "inspect", "evals/b.py")
    assert [line for line, what in manual(outside) if what == "task"] == [5, 8, 11, 14, 17, 20, 23]
    assert not list(folder.glob("**/test_inspect_b.py"))


def written_tests(folder: Path, command: CommandRun, name: str) -> ModuleType:
    """The module that an import writes for a file of tasks, as pytest imports it."""
    command.json("import", "inspect", name)
    path = folder / f"test_inspect_{Path(name).stem}.py"
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    exec(compile(path.read_text(), path, "exec"), module.__dict__)  # noqa: S102 - the module is ours
    return module


def test_without_inspect_the_written_test_names_the_command_that_installs_it(folder: Path, command: CommandRun) -> None:
    write(folder, evals__a_py="@task\ndef quiz():\n    return make()\n")
    module = written_tests(folder, command, "evals/a.py")
    ((_name, (only,)),) = [mark.args for mark in module.test_quiz.pytestmark]
    with pytest.raises(ModuleNotFoundError, match=r"inspect_ai is not installed\. Run: .* -m pip install inspect_ai"):
        module.test_quiz(*only.values)


@pytest.mark.parametrize(
    ("reduced", "own", "error", "wrong"),
    [
        ({"includes": ["C"]}, {"includes": "C"}, None, ""),
        ({"includes": [1.0], "f1": [0.9]}, {"includes": 1.0, "f1": 0.9}, None, "f1 gave 0.9"),
        ({"includes": ["I"]}, {"includes": "I"}, None, "includes gave I"),
        ({"graded": ["P"]}, {"graded": "P"}, None, "graded gave P"),
        ({"includes": [1.0, 0.0]}, {"includes": "C"}, None, "includes gave 0.0"),
        ({"parts": [{"a": "C", "b": 0}]}, {"parts": {"a": "C", "b": 0}}, None, "parts gave {'a': 'C', 'b': 0}"),
        ({"parts": [["C", True]]}, {"parts": ["C", True]}, None, ""),
        ({"includes": ["C"]}, {"includes": "C", "every": 0.5}, None, "every gave 0.5"),
        ({}, {}, None, "Inspect gave no score"),
        ({}, {}, "no model", "no model; set INSPECT_EVAL_MODEL, such as openai/gpt-5, in system.environment"),
    ],
)
def test_a_sample_passes_if_each_score_and_each_reducer_is_correct(  # noqa: PLR0917 - a row
    reduced: Mapping[str, list[Any]],
    own: Mapping[str, Any],
    error: str | None,
    wrong: str,
    folder: Path,
    command: CommandRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def score(value: Any) -> SimpleNamespace:
        return SimpleNamespace(value=value, answer="x", explanation="why", sample_id=1)

    views = [
        SimpleNamespace(scorer=name, samples=[score(value)]) for name, values in reduced.items() for value in values
    ]
    failure = None if error is None else SimpleNamespace(message=error)
    run = SimpleNamespace(id=1, error=failure, scores={name: score(value) for name, value in own.items()})
    log = SimpleNamespace(status="success", reductions=views, samples=[run])
    library = ModuleType("inspect_ai")
    library.__spec__ = ModuleSpec("inspect_ai", None)
    scorer = ModuleType("inspect_ai.scorer")
    values: dict[Any, Any] = {"C": 1.0, "I": 0.0, "P": 0.5}
    vars(library).update(scorer=scorer, eval=lambda *_given, **_options: [log])
    vars(scorer).update(value_to_float=lambda: lambda value: values[value] if value in values else float(value))
    monkeypatch.setitem(sys.modules, "inspect_ai", library)
    monkeypatch.setitem(sys.modules, "inspect_ai.scorer", scorer)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("INSPECT_EVAL_MODEL", raising=False)
    made = "types.SimpleNamespace(model=None, dataset=[types.SimpleNamespace(id=None)])"
    write(
        folder, evals__a_py=f"import types\ndef task(made):\n    return made\n@task\ndef quiz():\n    return {made}\n"
    )
    module = written_tests(folder, command, "evals/a.py")
    ((_name, ids),) = [mark.args for mark in module.test_quiz.pytestmark]
    assert ids == ["1"]
    if wrong:
        with pytest.raises(pytest.fail.Exception, match=re.escape(wrong)):
            module.test_quiz("1")
    else:
        module.test_quiz("1")


@pytest.mark.parametrize(
    ("row", "scorer", "good", "bad"),
    [
        ({"input": "Q", "choices": ["x", "y", "z"], "target": ["A", "C"]}, None, "ANSWER: A, C", "ANSWER: A"),
        ({"input": "Q", "choices": "x,y", "target": "B"}, None, "ANSWER: B", "B"),
        ({"input": "Q", "target": "Paris"}, "match", "It is Paris.", "Paris it is"),
        ({"input": "Q", "target": 7}, "match(location='any', numeric=True)", "it is 7.0 now", "17"),
        ({"input": "Q", "target": "yes"}, "answer('word')", "ANSWER: Yes", "yes"),
        ({"input": "Q", "target": "the end"}, "exact()", "End!", "The end is near"),
    ],
)
def test_samples_of_inspect_without_a_task_need_a_scorer(  # noqa: PLR0917 - a row
    row: Mapping[str, Any], scorer: str | None, good: str, bad: str, folder: Path, command: CommandRun
) -> None:
    write(folder, rows_jsonl=lines(row))
    printed = command.json("import", "inspect", "rows.jsonl", *([] if scorer is None else ["--scorer", scorer]))
    (scenario,) = scenarios(folder).values()
    assert (scores(scenario, good), scores(scenario, bad)) == ([1.0], [0.0])
    assert not manual(printed)


def test_a_limit_of_a_dataset_is_kept_and_what_changes_its_rows_is_listed(folder: Path, command: CommandRun) -> None:
    write(
        folder,
        a_py="Task(dataset=json_dataset('b.jsonl', limit=1, shuffle=True), scorer=match())\n"
        "Task(dataset=csv_dataset('c.csv', delimiter=';', limit=N), scorer=match())\n",
        b_jsonl=lines({"input": "One?", "target": "1"}, {"input": "Two?", "target": "2"}),
        c_csv="input,target\nThree?,3\n",
    )
    printed = command.json("import", "inspect", "a.py")
    assert sorted(scenarios(folder)) == ["One?", "Three?"]
    assert manual(printed) == [(2, "csv_dataset delimiter"), (2, "csv_dataset limit")]


@pytest.mark.parametrize(
    ("source", "row"),
    [
        ("inspect", {"input": "Closest planet?", "target": "A"}),
        ("openai-evals", {"input": "Wet?", "ideal": ["yes", "Y"]}),
    ],
)
def test_a_target_that_nothing_says_how_to_compare_is_left_to_a_person(
    source: str, row: Mapping[str, Any], folder: Path, command: CommandRun
) -> None:
    write(folder, rows_jsonl=lines(row))
    printed = command.json("import", source, "rows.jsonl", code=2)
    assert any("give --scorer" in each["result"] for each in printed["findings"])
    assert not (folder / "scenarios").exists()


REGISTRY = """\
capitals: {id: capitals.dev.v0, metrics: [accuracy]}
capitals.dev.v0:
  class: evals.elsuite.basic.match:Match
  args: {samples_jsonl: capitals/samples.jsonl}
fuzzy.dev.v0:
  class: evals.elsuite.basic.fuzzy_match:FuzzyMatch
  args: {samples_jsonl: capitals/samples.jsonl, num_few_shot: 2}
polite.dev.v0:
  class: evals.elsuite.modelgraded.classify:ModelBasedClassify
  args: {samples_jsonl: capitals/samples.jsonl, eval_type: cot_classify, modelgraded_spec: polite,
    modelgraded_spec_args: {how: polite}}
fact.dev.v0:
  class: evals.elsuite.modelgraded.classify:ModelBasedClassify
  args: {samples_jsonl: capitals/samples.jsonl, modelgraded_spec: fact}
remote.dev.v0:
  class: evals.elsuite.basic.includes:Includes
  args: {samples_jsonl: "https://example.com/x.jsonl"}
own.dev.v0: {class: "team.evals:Own", args: {}}
gone: {id: gone.dev.v0}
"""
SAMPLES = lines(
    {
        "input": [{"role": "system", "content": "Briefly."}, {"role": "user", "content": "Capital of Kenya?"}],
        "ideal": "Nairobi",
    },
    {"input": "Capital of Ghana?", "ideal": ["Accra", "accra"]},
)


def test_evals_of_a_registry_score_as_they_do_there(folder: Path, command: CommandRun) -> None:
    prompt = "Is it {how}?\n{input}\n{reply} ({ideal})"
    write(
        folder,
        r__evals__a_yaml=REGISTRY,
        r__data__capitals__samples_jsonl=SAMPLES,
        r__modelgraded__polite_yaml=json.dumps(
            {
                "polite": {
                    "prompt": prompt,
                    "choice_strings": "YN",
                    "choice_scores": {"Y": 5, "N": 1},
                    "input_outputs": {"input": "reply"},
                }
            }
        ),
    )
    printed = command.json("import", "openai-evals", "r/evals/a.yaml")
    assert printed["tests"] == 6
    assert manual(printed) == [
        (12, "eval fact.dev.v0"),
        (15, "eval remote.dev.v0"),
        (18, "eval own.dev.v0"),
        (19, "eval gone"),
    ]
    files = read_scenario_files(folder, "scenarios")
    suite = load_suite(files, metric_problems, validate_rule).scenarios
    by_metric = {(each.assertions[0].metric, str(each.turns[0].user)): each for each in suite}
    match = by_metric["scorer_checks:openai_match", "Capital of Kenya?"]
    assert [scores(match, each) for each in ("Nairobi it is", "It is Nairobi", "nairobi")] == [[1.0], [0.0], [0.0]]
    fuzzy = by_metric["scorer_checks:openai_fuzzy_match", "Capital of Ghana?"]
    assert [scores(fuzzy, each) for each in ("the ACCRA!", "Kumasi")] == [[1.0], [0.0]]
    judged = by_metric["scorer_checks:by_judge", "Capital of Kenya?"].assertions[0].parameters
    assert judged["choices"] == {"Y": 1.0, "N": 0.0}
    assert judged["values"] == {"ideal": "Nairobi", "how": "polite"}
    assert judged["prompt"] == prompt.replace("{reply}", "{completion}")


def test_a_judge_chooses_and_its_choice_is_worth_what_the_file_says() -> None:
    module = ModuleType("scorer_checks")
    exec(compile(scorers_file(), "scorer_checks.py", "exec"), module.__dict__)  # noqa: S102 - the module is ours
    asked: list[str] = []

    class Judge:
        def score(self, prompt: str, schema: Mapping[str, Any]) -> Mapping[str, str]:
            asked.append(prompt)
            assert schema["properties"]["choice"]["enum"] == ["Y", "N"]
            return {"choice": "Y", "reasoning": "it is"}

    parameters = {
        "prompt": "{input} {answer} {ideal} {other}",
        "choices": {"Y": 1.0, "N": 0.0},
        "values": {"ideal": "{x}"},
    }
    turns = [{"user": "Q", "reply": {"text": "{ideal}"}}]
    assert module.by_judge({"parameters": parameters, "turns": turns}, Judge())["value"] == 1.0
    assert asked == ['"Q" "{ideal}" {x} {other}']


RAGAS = """\
from ragas import EvaluationDataset, MultiTurnSample, SingleTurnSample, evaluate
from ragas.messages import AIMessage, HumanMessage, ToolCall
from ragas.metrics import *
from ragas.metrics import NoiseSensitivity
samples = [SingleTurnSample(user_input="When?", response="x", reference="At nine")]
samples.append(SingleTurnSample(user_input="Where?"))
chat = MultiTurnSample(
    user_input=[HumanMessage(content="A table"), AIMessage(content="When?"), HumanMessage(content="Friday")],
    reference_tool_calls=[ToolCall(name="book", args={"day": "Fri"})])
metrics = [Faithfulness(), faithfulness, StringPresence(), NoiseSensitivity(), RougeScore(rouge_type="rouge1")]
evaluate(EvaluationDataset(samples=samples), metrics=[*metrics, AspectCritic(name="kind", definition="Is it kind?")])
evaluate(dataset=EvaluationDataset([chat]), metrics=[ToolCallAccuracy()])
evaluate(Dataset.from_dict({"question": ["Old?"], "ground_truth": ["Yes"]}), [answer_correctness])
more = EvaluationDataset.from_list([{"user_input": "Unused?"}])
left = SingleTurnSample(user_input="Nobody asks")
"""


def test_samples_and_metrics_of_ragas_arrive_or_are_listed(folder: Path, command: CommandRun) -> None:
    write(folder, evaluate_py=RAGAS)
    printed = command.json("import", "ragas", "evaluate.py")
    found = scenarios(folder)
    assert sorted(found) == ["Friday", "Old?", "When?", "Where?"]
    assert measured(found["When?"]) == [
        ("FaithfulnessByClaimMetric", 0.5),
        ("FaithfulnessByClaimMetric", 0.5),
        ("scorer_checks:openai_includes", 1.0),
        ("GEval", 0.5),
    ]
    assert [rule.value for rule in found["Friday"].rules] == [["book"]]
    assert measured(found["Old?"]) == [("AnswerCorrectnessMetric", 0.5)]
    assert sorted(manual(printed)) == [
        (6, "scorer_checks:openai_includes"),
        (10, "NoiseSensitivity"),
        (10, "RougeScore"),
        (14, "from_list"),
        (15, "SingleTurnSample"),
    ]


def test_metrics_of_a_file_of_ragas_apply_to_samples_of_another(folder: Path, command: CommandRun) -> None:
    write(
        folder,
        evaluate_py="evaluate(load(), metrics=[ContextRecall(), ExactMatch()])\n",
        set_csv="user_input,reference,persona_name\nWhen?,At nine,Clerk\n",
    )
    command.json("import", "ragas", "set.csv", "evaluate.py")
    scenario = scenarios(folder)["When?"]
    reply = scenario.turns[0].expect.reply
    assert measured(scenario) == [("ContextualRecallMetric", 0.5)]
    assert reply is not None
    assert reply.equals == "At nine"


def test_exports_of_langsmith_have_inputs_and_messages(folder: Path, command: CommandRun) -> None:
    rows = [
        {"id": "1", "inputs": {"question": "When?", "country": "KE"}, "outputs": {"answer": "At nine", "page": 4}},
        {"id": "2", "inputs": {"messages": [{"type": "human", "content": [{"type": "text", "text": "Where?"}]}]},
         "outputs": {"messages": [{"role": "assistant", "content": "In Nairobi"}]}},
        {"id": "3", "inputs": {"a": 1, "b": 2}},
        {"id": "4", "inputs": {"messages": [{"id": ["langchain", "HumanMessage"], "kwargs": {"content": "Who?"}}]},
         "outputs": "Ann"},
    ]  # fmt: skip
    write(folder, set_jsonl=lines(*rows))
    printed = command.json("import", "langsmith", "set.jsonl")
    found = scenarios(folder)
    assert {key: each.turns[-1].expect.answer for key, each in found.items()} == {
        "When?": "At nine",
        "Where?": "In Nairobi",
        "Who?": "Ann",
    }
    assert found["When?"].inputs == {"country": "KE"}
    assert [what for _, what in manual(printed)] == ["answer: 'page'", "test"]


EVALUATORS = """\
client.create_examples(examples=[{"inputs": {"question": "When?"}, "outputs": {"answer": "At nine"}}, load()])
client.create_examples(inputs=[{"question": "Where?"}], outputs=[{"answer": "Here"}], dataset_id=d)
langfuse.create_dataset_item(dataset_name="x", input={"question": "Who?"}, expected_output="Ann", metadata={"a": 1})
client.evaluate(target, data="Support", evaluators=[exact, create_llm_as_judge(prompt=P)])
assert score > 1
"""


@pytest.mark.parametrize("source", ["langsmith", "langfuse"])
def test_examples_in_python_arrive_and_evaluators_are_listed(source: str, folder: Path, command: CommandRun) -> None:
    write(folder, evaluate_py=EVALUATORS)
    printed = command.json("import", source, "evaluate.py")
    assert {key: each.turns[0].expect.answer for key, each in scenarios(folder).items()} == {
        "When?": "At nine",
        "Where?": "Here",
        "Who?": "Ann",
    }
    assert sorted(manual(printed)) == [
        (1, "create_examples"),
        (4, "evaluate 'Support'"),
        (4, "evaluator create_llm_as_judge"),
        (4, "evaluator exact"),
        (5, "assert"),
    ]


def test_an_archived_item_is_left_out(folder: Path, command: CommandRun) -> None:
    rows = [
        {"id": "a", "input": {"question": "When?"}, "expectedOutput": {"answer": "At nine"}, "status": "ACTIVE"},
        {"id": "b", "input": "Where?", "expectedOutput": "Nairobi", "status": "ARCHIVED"},
    ]
    write(folder, items_json=json.dumps(rows))
    printed = command.json("import", "langfuse", "items.json")
    assert list(scenarios(folder)) == ["When?"]
    assert "left out: it is archived" in [each["result"] for each in printed["findings"]]


def test_other_lists_of_a_file_of_goldens_are_listed(folder: Path, command: CommandRun) -> None:
    content = {"alias": "x", "goldens": [{"input": "When?", "expected_output": "At nine"}], "more": [{"input": "Who?"}]}
    write(folder, a_json=json.dumps(content, indent=1))
    printed = command.json("import", "deepeval", "a.json")
    assert [what for _, what in manual(printed)] == ["key more"]
    assert list(scenarios(folder)) == ["When?"]


def test_rows_of_a_dataset_that_are_no_list_are_refused(folder: Path, command: CommandRun) -> None:
    write(folder, a_py="Task(dataset=json_dataset('b.json'), scorer=match())", b_json='{"data": []}')
    with pytest.raises(SuiteError, match=re.escape("b.json:1: ")):
        command.json("import", "inspect", "a.py")


def hostile() -> Iterator[tuple[str, dict[str, str], str]]:
    yield "deepeval", {"a_py": "def ("}, "a.py:1: not Python"
    yield "inspect", {"a_py": "x = 'a\0'"}, "a.py:1: not Python"
    yield "inspect", {"a_py": "Task(dataset=json_dataset('../../none.jsonl'), scorer=match())"}, "none.jsonl:1: "
    yield "inspect", {"a_py": "Task(dataset=json_dataset('b.json'), scorer=match())"}, "b.json:1: "
    yield "inspect", {"a_jsonl": "[1]\n"}, "a.jsonl:1: "
    yield "inspect", {"a_txt": "x"}, "a.txt:1: its name does not end with"
    yield "openai-evals", {"a_yaml": "- 1\n"}, "a.yaml:1: "
    yield "openai-evals", {"a_yaml": "e: {class: 'x:Match', args: {samples_jsonl: no.jsonl}}\n"}, "no.jsonl:1: "
    yield "openai-evals", {"a_jsonl": '{"ideal": "x"}\n'}, "a.jsonl:1: there is no 'input'"
    yield "ragas", {"a_py": "evaluate(", "b_jsonl": "{}\n"}, "a.py:1: not Python"
    yield "langfuse", {"a_json": "{"}, "a.json:1: "


@pytest.mark.parametrize(("source", "files", "message"), list(hostile()))
def test_a_malformed_file_is_refused_with_its_line_and_nothing_is_written(
    source: str, files: dict[str, str], message: str, folder: Path, command: CommandRun
) -> None:
    write(folder, **files)
    names = [f"{name.rpartition('_')[0]}.{name.rpartition('_')[2]}" for name in files]
    with pytest.raises(SuiteError, match=re.escape(message)) as caught:
        command.json("import", source, *names)
    assert len(caught.value.problems) >= len(files)
    assert {path.name for path in folder.iterdir()} == set(names)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("inspect", "a.jsonl", "--scorer", "match("), "it is no call or name"),
        (("inspect", "a.jsonl", "--scorer", "match(location='middle')"), "is none of begin, end, any, exact"),
        (("inspect", "a.jsonl", "--scorer", "pattern('(')"), "its pattern cannot be used"),
        (("openai-evals", "a.jsonl", "--scorer", "Fact"), "`Fact` has no counterpart"),
        (("inspect", "a.jsonl", "--map", "input=q"), "--map do nothing for inspect"),
        (("ragas", "a.jsonl", "--scorer", "match"), "--scorer do nothing for ragas"),
        (
            ("promptfoo", "a.yaml", "--metric", "BleuMetric=0.5", "--format", "ragas"),
            "--format and --metric do nothing",
        ),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    words: tuple[str, ...], message: str, folder: Path, command: CommandRun
) -> None:
    write(folder, a_jsonl=lines({"input": "Q", "target": "x"}))
    with pytest.raises(UsageError, match=re.escape(message)):
        command.json("import", *words)
