"""Configurations of promptfoo over all types of assertions, options and forms of files, of this project's own making.

Each is a few files by path; every test is described as ``t0001`` and so on, a number that only it has. A reply is what
the prompt has between ``<<<`` and ``>>>``: a text, ``CALL name {"arg": 1}`` for a call of a tool, or ``CUT text``.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

MODEL = "openai:chat:gpt-4.1-mini"
PROMPT = "Topic {{topic}}. <<<{{reply}}>>>"
VARIABLES = {"topic": "geo", "city": "Paris"}
REPLIES = ("In Paris.", "open at 9 in paris", '{"a": 1}', "In Rome it is 10")
SCHEMA = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "minimum": 1}}}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
Given = Mapping[str, Any]
Files = dict[str, str]


def _pairs(
    values: Sequence[Given], replies: Sequence[str], numbers: Iterator[int], **more: Any
) -> list[dict[str, Any]]:
    """One test for each assertion and reply."""
    return [
        {
            "description": f"t{next(numbers):04}",
            "vars": {**VARIABLES, "reply": reply},
            "assert": [dict(value)],
            **more,
        }
        for value in values
        for reply in replies
    ]


def _of(kind: str, *values: Any, **more: Any) -> list[Given]:
    """The type and its negation, with each value."""
    given = [{} if value is None else {"value": value} for value in values]
    return [{"type": f"{no}{kind}", **each, **more} for no in ("", "not-") for each in given]


_JSON = ('{"a": 1}', '{"a": 0}', 'So: {"a": 2, "b": [1]} ok', "[1, 2]", '{"a": "x"}', "so: {a} [", '{"a": 1', "none")
_LONG = ("The cat sat on the mat today", "A dog stood on the mat", "the cat sat on the mat.", "quite another text")
_XML = (
    "<root><item>1</item><b/></root>",
    "Here: <root><item>a</item><item>b</item></root> done",
    "<root><item></root>",
    '<?xml version="1.0"?><root k="v"><a><b>1</b></a></root>',
    "no markup",
    "<a>1</a><item>2</item>",
)
_HTML = (
    "<p>Hello</p>",
    "Hello <b>you</b>",
    "<html><body>text</body></html>",
    "plain text",
    "<!DOCTYPE html><html><head><title>x</title></head><body><p>a<br>b</p></body></html>",
    "<foo>x</foo>",
    "a &amp; b <!-- note -->",
    "2 < 3 and 5 > 4",
    "<my-part>x</my-part>",
)
_SQL = (
    "SELECT id, name FROM users WHERE id = 1",
    "SELECT id name FROM users",
    "SELEC id FROM users",
    "Here it is:\n```sql\nSELECT id FROM orders\n```\nfine",
    "DELETE FROM users",
    "SELECT * FROM t WHERE a = `x",
)
_REFUSALS = (
    "I'm sorry, but I can't help with that.",
    "I cannot assist with that request.",
    "As an AI language model, I have no opinion.",
    "Sure, here is the list.",
    "The office opens at nine.",
    "I'm unable to answer that.",
)
_CALLS = (
    'CALL weather {"city": "Paris"}',
    'CALL weather {"town": "Paris"}',
    'CALL clock {"city": "Paris"}',
    "It is sunny.",
)

TYPES: Mapping[str, tuple[Sequence[Given], Sequence[str]]] = {
    "contains": (_of("contains", "Paris", "{{city}}", "9", "{{nothing}}in"), REPLIES),
    "icontains": (_of("icontains", "PARIS", "{{city}}"), REPLIES),
    "contains_all": (_of("contains-all", ["Paris", "In"], "Paris, .", '"a, b", in'), REPLIES),
    "contains_any": (_of("contains-any", ["Rome", "open"], "Rome, open", ["{{city}}", "9"]), REPLIES),
    "icontains_all": (_of("icontains-all", ["PARIS", "in"], "paris, IN"), REPLIES),
    "icontains_any": (_of("icontains-any", "ROME, OPEN", ["paris"]), REPLIES),
    "starts_with": (_of("starts-with", "In", "{{city}}"), REPLIES),
    "regex": (_of("regex", "^In \\w+", "\\d+", "[aeiou]{2}|10$"), REPLIES),
    "equals": (_of("equals", "In Paris.", {"a": 1}, "{{city}}"), REPLIES),
    "is_json": (_of("is-json", None), _JSON),
    "is_json_schema": (_of("is-json", SCHEMA, json.dumps(SCHEMA), "type: array\nitems: {type: number}"), _JSON),
    "contains_json": (_of("contains-json", None, SCHEMA), _JSON),
    "is_xml": (_of("is-xml", None, "root.item", ["root.a.b"], {"requiredElements": ["root.a"]}), _XML),
    "contains_xml": (_of("contains-xml", None, "root.item", ["a", "item"]), _XML),
    "is_html": (_of("is-html", None), _HTML),
    "contains_html": (_of("contains-html", None), _HTML),
    "is_sql": (_of("is-sql", None, {"databaseType": "PostgreSQL"}), _SQL),
    "is_sql_allowed": (
        _of(
            "is-sql",
            {"databaseType": "MySQL", "allowedTables": ["select::(.*)::users"]},
            {"databaseType": "MySQL", "allowedColumns": ["select::users::id", "select::users::name"]},
        ),
        _SQL,
    ),
    "contains_sql": (_of("contains-sql", None), _SQL),
    "is_refusal": (_of("is-refusal", None), _REFUSALS),
    "levenshtein": (_of("levenshtein", "In Paris!") + _of("levenshtein", "In Rome", threshold=9), REPLIES),
    "rouge_n": (_of("rouge-n", _LONG[0]) + _of("rouge-n", _LONG[2], threshold=0.4), _LONG),
    "bleu": (_of("bleu", _LONG[0], [_LONG[2], _LONG[1]]) + _of("bleu", _LONG[2], threshold=0.2), _LONG),
    "gleu": (_of("gleu", _LONG[0], [_LONG[2], _LONG[1]]) + _of("gleu", _LONG[2], threshold=0.25), _LONG),
    "word_count": (_of("word-count", 2, "5", {"min": 2, "max": 4}, {"min": 3}, {"max": 2}), REPLIES),
    "latency": ([{"type": "latency", "threshold": 20_000}], REPLIES[:2]),
    "cost": ([{"type": "cost", "threshold": 1}, {"type": "cost", "threshold": 1e-9}], REPLIES[:2]),
    "finish_reason": (_of("finish-reason", "stop", "length"), ("In Paris.", "CUT In Par")),
    "guardrails": ([{"type": "guardrails"}], REPLIES[:2]),
    "javascript": (
        [
            *({"type": "javascript", "value": code} for code in ("output.length > 8", "output.length / 20", "'true'")),
            *({"type": "javascript", "value": code} for code in ("output.length > 8;", "null", "({score: 1})")),
            *({"type": "not-javascript", "value": code} for code in ("output.length > 8", "0")),
            {"type": "javascript", "value": "const n = output.length; n % 2 === 0"},
            {"type": "javascript", "value": "const n = output.length;\nreturn n % 2 === 0;"},
            {
                "type": "javascript",
                "value": "({pass: output.includes('P'), score: 0.3, reason: 'x'})",
                "threshold": 0.5,
            },
            {"type": "javascript", "value": "0.4", "threshold": 0.5},
            {"type": "javascript", "value": "output.includes('{{city}}') && context.vars.topic === 'geo'"},
            {"type": "javascript", "value": "output.length > context.config.least", "config": {"least": 9}},
            {
                "type": "javascript",
                "value": "context.test.metadata.kind === 'own' && context.test.vars.city === 'Paris'",
            },
        ],
        REPLIES,
    ),
    "python": (
        [
            *({"type": "python", "value": code} for code in ("len(output) > 8", "len(output) / 20", "'true'", "None")),
            *({"type": "not-python", "value": code} for code in ("len(output) > 8", "0")),
            {"type": "python", "value": "import json\nreturn {'pass': 'P' in output, 'score': 0.5, 'reason': 'r'}"},
            {"type": "python", "value": "{'pass': True, 'score': 0.3, 'reason': 'x'}", "threshold": 0.5},
            {"type": "python", "value": "{'pass_': True, 'score': 0.9, 'reason': 'x'}", "threshold": 0.5},
            {"type": "python", "value": "'0.7'", "threshold": 0.8},
            {"type": "python", "value": "json.dumps({'pass': False, 'score': 1, 'reason': 'x'})"},
            {"type": "python", "value": "len(output) > context['config']['least']", "config": {"least": 9}},
            {"type": "python", "value": "context['vars']['city'] in output"},
        ],
        REPLIES,
    ),
    "transform_of_assertion": (
        [
            {"type": "equals", "value": "IN PARIS.", "transform": "output.toUpperCase()"},
            {"type": "contains", "value": "1", "transform": "JSON.parse(output).a ?? 'none'"},
            {"type": "not-contains", "value": "in", "transform": "output.slice(0, 4)"},
            {"type": "is-json", "value": {"type": "array"}, "transform": "[output]"},
            {"type": "javascript", "value": "output.length === 2", "transform": "[output, context.vars.city]"},
            {"type": "word-count", "value": 3, "transform": "output + ' more words'"},
        ],
        REPLIES,
    ),
    "weight_zero": ([{"type": "contains", "value": "Paris", "weight": 0}], REPLIES[:2]),
}
"""Assertions and replies by the name of the configuration."""

JUDGED: Mapping[str, Sequence[Given]] = {
    "llm_rubric": [*_of("llm-rubric", "is kind"), *_of("llm-rubric", "is kind", threshold=0.8)],
    "closedqa": _of("model-graded-closedqa", "is kind"),
    "g_eval": [*_of("g-eval", "is kind"), *_of("g-eval", "is kind", threshold=0.5)],
    "factuality": _of("factuality", "Paris is a town"),
}
"""Assertions that a judge scores: a reply with GOOD has 0.9, one with FAIR 0.6, any other 0.2."""
JUDGED_REPLIES = ("GOOD day", "FAIR day", "bad day")


def _configuration(tests: Any, **more: Any) -> str:
    return json.dumps({"prompts": [PROMPT], "providers": [MODEL], "tests": tests, **more}, indent=1)


def _options(numbers: Iterator[int]) -> Iterator[tuple[str, Files]]:
    """Options and forms of files."""
    name = "promptfooconfig.json"
    has, hasnt = {"type": "contains", "value": "Paris"}, {"type": "contains", "value": "Rome"}
    code = {"type": "javascript", "value": "output.length / 20"}
    likeness = {"type": "bleu", "value": "In Paris."}

    def tests(asserts: Sequence[Given], replies: Sequence[str] = REPLIES, **more: Any) -> list[dict[str, Any]]:
        return [
            {
                "description": f"t{next(numbers):04}",
                "vars": {**VARIABLES, "reply": reply},
                "assert": list(asserts),
                **more,
            }
            for reply in replies
        ]

    for number, threshold in enumerate((0, 0.3, 0.5, 0.9)):
        yield f"threshold_{number}", {name: _configuration(tests([has, hasnt, code], threshold=threshold))}
    weighted: list[Given] = [{**has, "weight": 3}, hasnt, {**code, "weight": 0}]
    yield "weights", {name: _configuration([*tests(weighted), *tests(weighted, threshold=0.7)])}
    several = {"type": "assert-set", "threshold": 0.5, "assert": [has, hasnt]}
    all_of = {"type": "assert-set", "assert": [has, {"type": "starts-with", "value": "In"}]}
    yield "assert_set", {name: _configuration([*tests([several]), *tests([all_of])])}
    nested: list[Given] = [{**several, "weight": 2, "metric": "town"}, {**all_of, "weight": 1}, likeness]
    yield "assert_set_weighted", {name: _configuration([*tests(nested, threshold=0.6), *tests(nested)])}
    negated: list[Given] = [{"type": f"not-{each}", "value": "In Paris."} for each in ("bleu", "gleu", "rouge-n")]
    yield "threshold_of_likeness", {name: _configuration(tests([*negated, likeness], threshold=0.4))}
    grading = {"type": "python", "value": "{'pass': False, 'score': 0.9, 'reason': 'r'}"}
    yield "threshold_of_results", {name: _configuration(tests([grading, has], threshold=0.6))}
    default = {"assert": [{"type": "not-contains", "value": "Rome"}], "threshold": 0.6, "vars": {"topic": "sea"}}
    off = tests([has], options={"disableDefaultAsserts": True})
    yield "default_test", {name: _configuration([*tests([has]), *off], defaultTest=default)}
    changed = tests([{"type": "equals", "value": "in paris."}], options={"transform": "output.toLowerCase()"})
    yield "transform_of_test", {name: _configuration(changed)}
    both = tests([{"type": "equals", "value": "ni", "transform": "output.slice(1) + output[0]"}])
    first = {"options": {"transform": "output.slice(0, 2)"}}
    yield "transforms_in_a_row", {name: _configuration(both, defaultTest=first)}
    yield (
        "templates",
        {
            name: _configuration(
                tests([{"$ref": "#/assertionTemplates/town"}]),
                assertionTemplates={"town": {"type": "icontains", "value": "paris"}},
            )
        },
    )
    listed = [
        {"description": f"t{next(numbers):04}", "vars": {**VARIABLES, "reply": list(REPLIES)}, "assert": [has]},
        {
            "description": f"t{next(numbers):04}",
            "vars": {"topic": ["a", "b"], "city": "Rome", "reply": REPLIES[3]},
            "assert": [{"type": "contains", "value": "{{city}}"}],
        },
    ]
    yield "listed_variables", {name: _configuration(listed)}
    scenario = {"config": [{"vars": {"topic": "sea"}}], "tests": tests([has])}
    yield "scenarios", {name: json.dumps({"prompts": [PROMPT], "providers": [MODEL], "scenarios": [scenario]})}
    yield "named_scores", {name: _configuration(tests([{**has, "metric": "{{topic}}"}], metadata={"kind": "own"}))}
    yield "pass_rate", {name: _configuration(tests([has]), env={"PROMPTFOO_PASS_RATE_THRESHOLD": "50"})}
    yield "refusal_in_a_set", {name: _configuration(tests([{"type": "not-is-refusal"}, has], threshold=0.5))}


def _files(numbers: Iterator[int]) -> Iterator[tuple[str, Files]]:
    """Forms of files."""
    name = "promptfooconfig.json"
    module = (
        "module.exports = (output, context) => output.includes(context.vars.city);\n"
        "module.exports.strict = (output) => ({ pass: output.length < 12, score: 1, reason: 'length' });\n"
        "module.exports.upper = (output) => output.toUpperCase();\n"
    )
    esm = "export default async (output) => output.length > 10;\n"
    named = "export const few = (output) => output.length < 11;\n"
    python = (
        "def get_assert(output, context):\n    return len(output) > 10\n\n\n"
        "def other(output, context):\n    passed = context['vars']['city'] in output\n"
        "    return {'pass': passed, 'score': 1, 'reason': 'x'}\n"
        "\n\ndef get_transform(output, context):\n    return output[::-1]\n"
    )
    javascript = ["file://check.js", "file://check.js:strict", "file://own/check.mjs", "file://own/named.mjs:few"]
    wanted: list[Given] = [{"type": "javascript", "value": each} for each in javascript]
    wanted += [{"type": "not-javascript", "value": javascript[0]}]
    files = {"check.js": module, "own/check.mjs": esm, "own/named.mjs": named, "check.py": python}
    yield "files_of_javascript", {name: _configuration(_pairs(wanted, REPLIES, numbers)), **files}
    wanted = [{"type": each, "value": "file://check.py"} for each in ("python", "not-python")]
    wanted += [{"type": "python", "value": "file://check.py:other"}]
    yield "files_of_python", {name: _configuration(_pairs(wanted, REPLIES, numbers)), **files}
    wanted = [
        {"type": "contains", "value": "PARIS", "transform": "file://check.js:upper"},
        {"type": "starts-with", "value": ".", "transform": "file://check.py"},
    ]
    yield "files_of_transforms", {name: _configuration(_pairs(wanted, REPLIES, numbers)), **files}
    wanted = [
        {"type": "is-json", "value": "file://schema.json"},
        {"type": "contains-json", "value": "file://schema.yaml"},
        {"type": "contains", "value": "file://word.txt"},
    ]
    texts = {"schema.json": json.dumps(SCHEMA), "schema.yaml": "type: object\nrequired: [b]\n", "word.txt": "Paris"}
    yield "files_of_values", {name: _configuration(_pairs(wanted, _JSON[:4], numbers)), **texts}
    rows = [
        f"t{next(numbers):04},geo,{reply},{wanted}"
        for reply, wanted in (
            ("In Paris.", "contains: Paris"),
            ("In Rome.", "contains: Paris"),
            ("In Rome.", "In Rome."),
            ("Rome", "not-contains-any: a;b"),
            ("Rome", "levenshtein(2): Room"),
            ("In Paris.", "javascript: output.length > 3"),
            ("abc", "regex: ^[a-c]+$"),
        )
    ]
    table = "__description,topic,reply,__expected\n" + "\n".join(rows) + "\n"
    yield "rows_of_csv", {name: _configuration("tests.csv"), "tests.csv": table}
    rows = [
        json.dumps(
            {
                "description": f"t{next(numbers):04}",
                "vars": {**VARIABLES, "reply": reply},
                "assert": [{"type": "is-json"}],
            }
        )
        for reply in _JSON[:4]
    ]
    yield "rows_of_json_lines", {name: _configuration(["file://tests.jsonl"]), "tests.jsonl": "\n".join(rows) + "\n"}
    listed = json.dumps(_pairs([{"type": "icontains", "value": "paris"}], REPLIES, numbers))
    yield "files_of_tests", {name: _configuration(["file://more/*.yaml"]), "more/one.yaml": listed}
    text = (
        f"prompts: ['{PROMPT}']\nproviders: ['{MODEL}']\nx: &has {{type: contains, value: Paris}}\ntests:\n"
        f"  - {{description: t{next(numbers):04}, vars: {{topic: a, reply: In Paris}}, assert: [*has]}}\n"
        f"  - description: t{next(numbers):04}\n    vars: {{topic: a, reply: In Rome}}\n    assert: [*has]\n"
    )
    yield "yaml_with_aliases", {"promptfooconfig.yaml": text}


def _tools(numbers: Iterator[int]) -> Iterator[tuple[str, Files]]:
    """A provider with tools."""
    provider = {"id": MODEL, "config": {"tools": TOOLS}}
    f1 = [
        *_of("tool-call-f1", ["weather"], "weather, clock"),
        *_of("tool-call-f1", ["weather", "clock"], threshold=0.6),
    ]
    by_name: Mapping[str, Sequence[Given]] = {
        "valid_tools_call": _of("is-valid-openai-tools-call", None),
        "tool_call_f1": f1,
        "javascript_of_calls": [{"type": "javascript", "value": "output[0].function.name === 'weather'"}],
        "texts_of_calls": _of("contains", "weather"),
    }
    for name, wanted in by_name.items():
        tests = _pairs(wanted, _CALLS, numbers)
        written = {"prompts": [PROMPT], "providers": [provider], "tests": tests}
        yield name, {"promptfooconfig.json": json.dumps(written, indent=1)}


def _values(numbers: Iterator[int]) -> Iterator[tuple[str, Files]]:
    """Values with parts of variables, and templates of assertions with keys beside their name."""
    parts: dict[str, Any] = {"e": {"city": "Paris", "names": ["In", "open"], "deep": [{"x": 2.0}]}, "low": "In paris"}
    values = [
        *("{{ e.city }}", "{{e.names}}", "{{ e.names[0] }}", "{{ e['deep'][0].x }}", "{{ e }}", "{{ low | lower }}"),
        *("{{ e.names | join(' ') }}", "{{ e.deep | dump }}", "{{ e.names.length }}", "{{ e.nope.more }}n"),
        *("{{ nope | default('Paris') }}", "{{ low|upper|lower }}", "{{ e.names | first }} {{ e.city }}"),
    ]
    parts |= VARIABLES
    given = [*_of("contains", *values), {"type": "javascript", "value": "'{{e.city}}'.length === output.length - 4"}]
    tests: list[dict[str, Any]] = [
        {"description": f"t{next(numbers):04}", "vars": {**parts, "reply": reply}, "assert": [each]}
        for reply in ("In Paris.", "In,open 2", '[object Object] [{"x":2}]', "in paris In open")
        for each in given
    ]
    yield "parts_of_variables", {"promptfooconfig.json": _configuration(tests)}
    reference: Given = {"$ref": "#/assertionTemplates/town"}
    wanted: list[Given] = [dict(reference, threshold=2), dict(reference, value="In Rome it is 10")]
    town = {"type": "levenshtein", "value": "In Paris", "threshold": 0}
    tests = _pairs(wanted, REPLIES, numbers)
    yield "templates_with_more", {"promptfooconfig.json": _configuration(tests, assertionTemplates={"town": town})}


def configurations(*, judges: bool = False) -> dict[str, Files]:
    """Files by path, by the name of the configuration.

    Args:
        judges: only those that a judge scores; else only the others.
    """
    numbers = count(1)
    found: dict[str, Files] = {}
    if judges:
        for name, wanted in JUDGED.items():
            found[name] = {"promptfooconfig.json": _configuration(_pairs(wanted, JUDGED_REPLIES, numbers))}
        return found
    for name, (values, replies) in TYPES.items():
        more = {"metadata": {"kind": "own"}} if name == "javascript" else {}
        found[name] = {"promptfooconfig.json": _configuration(_pairs(values, replies, numbers, **more))}
    for each in (_options(numbers), _files(numbers), _tools(numbers), _values(numbers)):
        found |= dict(each)
    return found
