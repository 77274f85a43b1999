"""Tests as teams have them: thirty of promptfoo, twenty goldens of DeepEval with a pytest file, and good replies."""

import json
from typing import Any

ROWS = [
    ("Do you sell gift cards?", "contains:gift cards", "Yes, we sell gift cards at the desk."),
    ("Is the pool heated?", "icontains:YES", "Yes, to 29 degrees."),
    ("How many pools are there?", "equals:Two", "Two"),
    ("Name our two saunas", "contains-any:Finnish,Infrared", "The Finnish sauna and the bio sauna."),
    ("Which towels may I use?", "not-contains:Robe", "Any towel; a robe is not a towel."),
    ("When is breakfast?", "regex:[0-9]{1,2}:[0-9]{2}", "From 7:30."),
    ("May I bring my dog?", "grade:Says politely whether dogs are allowed", "I am afraid dogs stay outside."),
    ("Do you have lockers?", "similar(0.5):We have lockers for all guests", "We have lockers for all our guests"),
    ("Give the prices as JSON", "is-json", '{"massage_kes": 3500}'),
    ("How long is a massage?", "python:len(output) < 40", "Sixty minutes."),
]
TESTS_CSV = "question,__expected,__metadata:topic\n" + "".join(
    f'"{message}","{expected}",desk\n' for message, expected, _ in ROWS
)

INLINE: list[tuple[str, list[dict[str, Any]], str]] = [
    ("Are you open on Sunday?", [{"type": "contains", "value": "Sunday"}], "Yes, on Sunday too."),
    ("What costs a facial?", [{"type": "contains", "value": "2,500"}], "A facial is KES 2,500."),
    ("Where are you?", [{"type": "icontains", "value": "nairobi"}], "In NAIROBI, Westlands."),
    ("Who owns the spa?", [{"type": "not-icontains", "value": "unknown"}], "Achieng and her sister."),
    ("Which cards do you take?", [{"type": "contains-any", "value": ["Visa", "Mastercard"]}], "Visa only."),
    ("Which oils are there?", [{"type": "icontains-any", "value": ["ALMOND", "olive"]}], "Almond oil."),
    ("What is in the bath salt?", [{"type": "contains-all", "value": ["salt", "rose"]}], "Sea salt and rose petals."),
    ("Say the greeting", [{"type": "equals", "value": "Karibu!"}], "Karibu!"),
    (
        "Give an order as JSON",
        [{"type": "equals", "value": {"status": "open", "kes": 10}}],
        '{"kes": 10, "status": "open"}',
    ),
    ("Give the status as JSON", [{"type": "is-json", "value": {"type": "object"}}], '{"status": "open"}'),
    ("What time is check-in?", [{"type": "regex", "value": "^From [0-9]+"}], "From 14:00."),
    ("Any news?", [{"type": "not-regex", "value": "(?i)error"}], "None today."),
    ("Begin with hello", [{"type": "starts-with", "value": "Hello"}], "Hello, welcome."),
    (
        "Is it quiet?",
        [{"type": "llm-rubric", "value": "Answers {{question}} with yes", "threshold": 0.6}],
        "Yes, very.",
    ),
    ("Explain the massage", [{"type": "g-eval", "value": ["Is friendly", "Is short"]}], "A calm hour with warm oil."),
    ("Who is the head chef?", [{"type": "factuality", "value": "Otieno is the head chef"}], "Otieno is our head chef."),
    ("Are there lockers?", [{"type": "similar", "value": "There are lockers", "threshold": 0.5}], "There are lockers"),
    ("What is cheap?", [{"type": "cost", "threshold": 0.01}, {"type": "contains", "value": "Tea"}], "Tea is cheap."),
    ("Quick, which floor?", [{"type": "latency", "threshold": 30000}, {"type": "contains", "value": "2"}], "Floor 2."),
    ("Count to three", [{"type": "python", "value": "len(output) > 3"}], "One, two, three."),
]
PROMPTFOO = json.dumps(
    {
        "description": "The desk of a spa",
        "prompts": ["You are the desk of a spa. {{question}}"],
        "providers": ["openai:gpt-4.1-mini"],
        "defaultTest": {"assert": [{"type": "not-contains", "value": "As an AI"}]},
        "tests": [
            "file://tests.csv",
            *({"vars": {"question": message}, "assert": asserts} for message, asserts, _ in INLINE),
        ],
    },
    indent=2,
)

GOLDENS = [
    {
        "name": f"golden {number}",
        "input": f"What is stocked on shelf {number}?",
        "expected_output": f"Shelf {number} has {3 * number} towels",
        "actual_output": "an old answer",
        "retrieval_context": None,
        "comments": "",
    }
    for number in range(1, 18)
] + [
    {"name": "strict", "input": "Say yes", "expected_output": "Yes", "contains": "Yes"},
    {"name": "format", "input": "Say a time", "expected_output": "At 9:30", "contains": "9"},
    {"name": "kind", "input": "Say thanks", "expected_output": "Thank you", "contains": "thank"},
]
TEST_FILE = """\
from deepeval import assert_test
from deepeval.metrics import GEval, PatternMatchMetric
from deepeval.test_case import LLMTestCase, LLMTestCaseParams

RIGHT = GEval(
    name="Correctness",
    criteria="Is the reply the same fact as the expected output?",
    evaluation_params=[LLMTestCaseParams.ACTUAL_OUTPUT, LLMTestCaseParams.EXPECTED_OUTPUT],
    threshold=0.6,
    model="gpt-4.1",
)


@pytest.mark.parametrize("golden", dataset.goldens)
def test_stock(golden):
    case = LLMTestCase(input=golden.input, actual_output=ask(golden.input), expected_output=golden.expected_output)
    assert_test(case, [RIGHT])


def test_hours():
    test_case = LLMTestCase(input="When do you close?", actual_output=ask("When do you close?"))
    kind = GEval(name="Tone", evaluation_steps=["Is it kind?"])
    assert_test(test_case, [PatternMatchMetric(pattern="We close.*"), kind])
    assert "21:00" in test_case.actual_output
"""

REPLIES = {
    **{message: reply for message, _, reply in ROWS},
    **{message: reply for message, _, reply in INLINE},
    **{str(golden["input"]): str(golden["expected_output"]) for golden in GOLDENS},
    "When do you close?": "We close at 21:00.",
}
"""A reply to each message that passes all assertions."""
