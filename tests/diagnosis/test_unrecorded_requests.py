"""Which parts of a change leave a scenario without a recorded answer, and what to do about them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.diagnosis.delta_debugging import NoFurtherStepError, Part, StepOutcome, Subset
from ratiba_action.diagnosis.unrecorded_requests import KeptRequests, attribute_in_units, units_of, with_advice
from ratiba_action.llm.canonical_request import prompt_digest, request_key
from ratiba_action.llm.endpoints import endpoint_named
from ratiba_action.model.attribution import Attribution, ChangedPart, Explanation, Finding
from ratiba_action.model.canonical import canonical_json
from ratiba_action.model.conversation import Party
from ratiba_action.model.measurement import Errored, Phase
from ratiba_action.model.model_request import ModelRequest
from ratiba_action.model.plan import HEAD, Arm, Trial
from ratiba_action.model.verdict import Conclusion, Report, Verdict
from tests.support.sample_report import sample_report, sample_scenario

PROMPT, CODE = "prompts/a.md", "clock.py"
RECORD = "If that is meant, run: ratiba record --scenario x --accept, with your key"


def parts(*paths: str) -> list[Part]:
    return [Part(path, line) for line, path in enumerate(paths, 1)]


def request(body: Mapping[str, Any], scenario: str = "x", position: int = 0) -> ModelRequest:
    endpoint = endpoint_named("chat/completions")
    prompt, asked = prompt_digest(endpoint.system_prompt(body)), endpoint.last_user_text(body)
    key = request_key(endpoint, body)
    return ModelRequest(
        scenario, 0, Party.SYSTEM, position, "openai", endpoint.name, body["model"], key, 0, prompt, asked, body
    )


def body(system: str = "Be kind.\nName prices.", message: Any = "Hello", **more: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": message}]
    return {"model": "gpt-5", "messages": messages, **more}


def test_the_parts_of_a_prompt_are_tried_together_and_each_of_code_alone() -> None:
    changed = parts(CODE, CODE, PROMPT, PROMPT, PROMPT)
    assert [set(unit) for unit in units_of(changed, {PROMPT})] == [{0}, {1}, {2, 3, 4}]


def test_where_every_part_is_of_a_prompt_nothing_is_tried() -> None:
    assert units_of(parts(PROMPT, PROMPT), {PROMPT}) == ()


@given(st.data())
def test_no_harmless_part_is_named_and_each_that_changes_the_request_is(data: st.DataObject) -> None:
    paths = data.draw(st.lists(st.sampled_from([PROMPT, CODE, "tools.py"]), min_size=1, max_size=12))
    units = units_of(parts(*paths), {PROMPT})
    guilty = data.draw(st.sets(st.sampled_from(range(len(paths)))))
    maximum = data.draw(st.integers(1, 60))
    tried: list[Subset] = []

    def outcome(subset: Subset) -> StepOutcome:
        if len(tried) == maximum:
            raise NoFurtherStepError("the limit was reached")
        tried.append(subset)
        return StepOutcome.FAILS if guilty & subset else StepOutcome.PASSES

    if not units:
        assert set(paths) == {PROMPT}
        return
    found = attribute_in_units(units, outcome)
    assert found.unrecorded
    assert len(tried) <= maximum
    guilty_units = [unit for unit in units if unit & guilty]
    if not guilty:
        # Without a run to its end the whole change may be the cause.
        assert found.finding is Finding.NONE or found.why == "the limit was reached"
    elif found.finding in (Finding.FOUND, Finding.SEVERAL) and not found.why:
        assert sorted(map(sorted, found.causes)) == sorted(map(sorted, guilty_units))
    elif found.finding in (Finding.FOUND, Finding.SEVERAL):
        assert frozenset(found.causes[0]) in guilty_units


@pytest.mark.parametrize(
    ("always", "why"),
    [(StepOutcome.FAILS, "the base has none either"), (StepOutcome.PASSES, "the whole change has one when")],
)
def test_without_a_difference_between_the_sides_no_line_is_named(always: StepOutcome, why: str) -> None:
    found = attribute_in_units(units_of(parts(CODE), ()), lambda _: always)
    assert (found.finding, found.causes) == (Finding.NONE, ())
    assert found.why.startswith(why)


CHANGE = (frozenset({0, 1}), 0)


def kept(before: Sequence[ModelRequest], after: Sequence[ModelRequest]) -> KeptRequests:
    requests = KeptRequests()
    for run, sent in (((frozenset[int](), 0), before), (CHANGE, after)):
        requests.of = run
        for each in sent:
            requests.keep(each)
    return requests


TOOL = {"type": "function", "function": {"name": "book", "parameters": {"description": "YYYY-MM-DD"}}}
OTHER_TOOL = {"type": "function", "function": {"name": "book", "parameters": {"description": "DD-MM-YYYY"}}}
LONG = {"language": "sw", "facts": {"note": "n" * 400, "price_kes": 3500}}
LONG_OTHER = {"language": "sw", "facts": {"note": "n" * 400, "price_kes": 35}}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        pytest.param(
            body(message=json.dumps(LONG)),
            body(message=json.dumps(LONG_OTHER)),
            "model call 1: messages[1].content[0].text.facts.price_kes (3500 → 35)",
            id="code, beyond what a recording keeps",
        ),
        pytest.param(
            body(message='{"now":"2026-04-25T10:00"}'),
            body(message='{"now":"2026-11-29T21:07"}'),
            "model call 1: messages[1].content[0].text.now ('2026-04-25T10:00' → '2026-11-29T21:07'), which holds a "
            "time, a date or an id",
            id="clock",
        ),
        pytest.param(
            body(tools=[TOOL]),
            body(tools=[OTHER_TOOL]),
            "model call 1: tools[0].function.parameters.description ('YYYY-MM-DD' → 'DD-MM-YYYY')",
            id="schema of a tool",
        ),
        pytest.param(
            body(),
            body("Be kind.\nName no prices."),
            "model call 1: messages[0].content[0].text ('Be kind.\\nName prices.' → 'Be kind.\\nName no prices.')",
            id="prompt",
        ),
        pytest.param(
            body(tools=[TOOL]),
            body(),
            f"model call 1: tools was left out ({canonical_json([TOOL])})",
            id="left out",
        ),
    ],
)
def test_the_differing_value_is_shown_as_it_was_and_as_it_is(before: Any, after: Any, message: str) -> None:
    assert kept([request(before)], [request(after)]).difference("x", CHANGE, CHANGE) == message


@pytest.mark.parametrize(("time", "end"), [("09:00", ")"), ("09:01", "), which is new in each run")])
def test_whether_a_value_is_new_in_each_run_is_known_from_another_run(time: str, end: str) -> None:
    requests = kept([request(body(message="at 10:00"))], [request(body(message="at 09:00"))])
    requests.of = frozenset({0}), 0
    requests.keep(request(body(message=f"at {time}")))
    found = requests.difference("x", CHANGE, (frozenset({0}), 0))
    assert found.endswith(f"('at 10:00' → 'at 09:00'{end}")


def test_the_first_differing_call_counts_and_one_without_counterpart_is_a_further_one() -> None:
    same, other = request(body()), request(body(message="Bye"), position=1)
    requests = kept([same, replace(other, key="another")], [same, other])
    assert requests.difference("x", CHANGE, CHANGE).startswith("model call 2: ")
    assert kept([same], [same, other]).difference("x", CHANGE, CHANGE) == "model call 2 is a further one"
    assert kept([same], [same]).difference("x", CHANGE, CHANGE) == ""


def test_more_than_a_few_values_are_counted() -> None:
    before, after = ({f"k{number}": number + more for number in range(9)} for more in (0, 1))
    found = kept([request(body(message=json.dumps(before)))], [request(body(message=json.dumps(after)))])
    assert found.difference("x", CHANGE, CHANGE).endswith("k2 (2 → 3); and 6 more values")


def test_a_credential_in_a_request_is_not_shown() -> None:
    secret = "sk-ant-api03-" + "a1B2" * 10
    found = kept([request(body(key="none"))], [request(body(key=secret))]).difference("x", CHANGE, CHANGE)
    assert secret not in found
    assert "key (" in found


def test_the_lines_of_a_prompt_that_differ_are_known_and_those_of_a_message_are_not() -> None:
    requests = kept([request(body())], [request(body("Be kind.\nName no prices."))])
    assert requests.new_prompt_lines(["x", "y"], CHANGE) == {"Name prices.", "Name no prices."}
    assert kept([request(body())], [request(body(message="Good bye"))]).new_prompt_lines(["x"], CHANGE) == frozenset()


def report() -> Report:
    result = Errored(Trial(sample_scenario("x"), Arm(HEAD, "/"), 0), Phase.RECORDING, "It changed.", remedy=RECORD)
    verdict = Verdict(Conclusion.INCOMPLETE, "1 of 1 could not be measured", f"{RECORD}. Then run the gate again.")
    return replace(sample_report(), results=(result,), verdict=verdict)


CHANGED = (ChangedPart(CODE, 9, "a\n", "b\n"), ChangedPart(PROMPT, 3, "c\n", "d\n", prompt=True))
MEANT = "Only if this change of the request is meant, run: ratiba record --scenario x --accept"
CLOCK = "If the new value comes from the machine's clock or from chance, take it from the scenario (context.now). "


@pytest.mark.parametrize(
    ("causes", "request_text", "remedy"),
    [
        pytest.param(((0,),), "model call 1: price (1 → 2)", f"Fix or revert clock.py line 9. {MEANT}", id="code"),
        pytest.param(
            ((0,),),
            "model call 1: now (1 → 2), which holds a time, a date or an id",
            f"Fix or revert clock.py line 9. {CLOCK}{MEANT}",
            id="clock",
        ),
        pytest.param(
            ((0,),),
            "model call 1: now (1 → 2), which is new in each run",
            "Fix or revert clock.py line 9. The request is new in each run, so no recording would ever fit: take the "
            "value from the scenario (context.now)",
            id="clock that was seen twice",
        ),
        pytest.param(
            ((0,), (1,)),
            "",
            "Fix or revert clock.py line 9. For the edited prompt, then run: ratiba record --scenario x --accept",
            id="code and prompt",
        ),
        pytest.param(((1,),), "model call 1: system (1 → 2)", RECORD, id="prompt"),
    ],
)
def test_to_record_again_is_recommended_only_for_a_prompt(causes: Any, request_text: str, remedy: str) -> None:
    finding = Finding.FOUND if len(causes) == 1 else Finding.SEVERAL
    found = Explanation(CHANGED, {"x": Attribution(finding, causes, unrecorded=True, request=request_text)})
    advised = with_advice(report(), found)
    (result,) = advised.results
    assert isinstance(result, Errored)
    assert result.remedy == remedy
    assert advised.verdict.action == f"{remedy}. Then run the gate again."
    assert advised.verdict.conclusion is Conclusion.INCOMPLETE
    named = bool(request_text) and remedy != RECORD
    assert result.message.startswith("Model call 1: ") is named


def test_a_cause_that_is_not_certain_changes_no_advice() -> None:
    doubtful = Attribution(Finding.ONE_OF, ((0,),), unrecorded=True, why="the limit was reached")
    assert with_advice(report(), Explanation(CHANGED, {"x": doubtful})) == report()


UNJUDGED = "With a judge's key, run ratiba record --scenario x --accept; without one, leave the metric out."


@pytest.mark.parametrize("request_text", ["", "model call 1: price (1 → 2)"])
def test_for_a_judges_answer_that_is_missing_the_reply_is_doubted_and_no_request(request_text: str) -> None:
    (result,) = report().results
    assert isinstance(result, Errored)
    before = replace(
        report(),
        results=(replace(result, message="The reply is not judged.", remedy=UNJUDGED),),
        verdict=Verdict(Conclusion.INCOMPLETE, "1 of 1", f"{UNJUDGED} Then run the gate again."),
    )
    cause = Attribution(Finding.FOUND, ((0,),), unrecorded=True, request=request_text)
    advised = with_advice(before, Explanation(CHANGED, {"x": cause}))
    (result,) = advised.results
    assert isinstance(result, Errored)
    assert result.message == "The reply is not judged."
    right = f"Fix or revert clock.py line 9. Only if the new reply is right: w{UNJUDGED[1:]}"
    assert result.remedy == right
    assert advised.verdict.action == f"{right} Then run the gate again."
