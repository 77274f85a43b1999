"""The module that an import writes runs the code of promptfoo's assertions and passes what promptfoo passes."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from ratiba_action.authoring.imports import checks_file

pytestmark = pytest.mark.processes
NODE = pytest.mark.skipif(which("node") is None, reason="needs Node")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, where files of code are looked for."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checks(folder: Path) -> Any:
    """The module that an import writes."""
    path = folder / "promptfoo_checks.py"
    path.write_bytes(checks_file())
    spec = spec_from_file_location("promptfoo_checks", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def evidence_of(reply: str, **parameters: Any) -> dict[str, Any]:
    scenario = {"id": "s", "inputs": {"q": "hi"}}
    return {"scenario": scenario, "turns": [{"user": "hi", "reply": {"text": reply}}], "parameters": parameters}


def _js(parameters: dict[str, Any], passed: int) -> Any:
    return pytest.param("JavaScript", parameters, passed, marks=NODE)


CODE = [
    _js({"code": "output === 'Hello' && context.vars.q === 'hi'"}, 1),
    _js({"code": "const n = output.length;\nreturn n > 9;"}, 0),
    _js({"code": "JSON.parse('0.4')"}, 1),
    _js({"code": "0.4", "minimum": 0.5}, 0),
    _js({"code": "({pass: true, score: 0, reason: 'fine'})"}, 1),
    _js({"code": "({pass: true, score: 0.4, reason: 'promptfoo looks at pass only'})", "minimum": 0.5}, 1),
    _js({"code": "await Promise.resolve(false)", "negate": True}, 1),
    _js({"code": "require('node:path').basename('a/b') === 'b'"}, 1),
    _js({"code": "file://own.cjs"}, 1),
    _js({"code": "file://own.mjs:named", "config": {"min": 3}}, 1),
    ("Python", {"code": "len(output) == 5 and context['vars']['q'] == 'hi'"}, 1),
    ("Python", {"code": "import re\nreturn bool(re.search('x', output))"}, 0),
    _js({"code": "const a = output; a.length > 2"}, 1),
    _js({"code": "output.length > 9;  "}, 0),
    ("Python", {"code": "0"}, 0),
    ("Python", {"code": "'True'"}, 1),
    ("Python", {"code": "'0.7'", "minimum": 0.8}, 0),
    ("Python", {"code": "{'pass': True, 'score': 0.3, 'reason': 'r'}", "minimum": 0.5}, 0),
    ("Text", {"kind": "levenshtein", "value": "Hallo!", "minimum": 2}, 1),
    ("Text", {"kind": "levenshtein", "value": "Hallo!", "minimum": 1}, 0),
    ("Text", {"kind": "is-json", "negate": True}, 1),
    ("Text", {"kind": "contains-json"}, 0),
    ("Text", {"kind": "contains-all", "value": ["Hell", "o"], "negate": True}, 0),
    ("Text", {"kind": "icontains-all", "value": ["HELL", "x"], "negate": True}, 1),
    ("Python", {"code": "file://own.py"}, 1),
    ("Python", {"code": "file://own.py:strict"}, 0),
]


@pytest.mark.parametrize(("language", "parameters", "passed"), CODE)
def test_code_passes_a_reply_as_promptfoo_does(
    language: str,
    parameters: dict[str, Any],
    passed: int,
    folder: Path,
) -> None:
    (folder / "own.cjs").write_text("console.log('noise'); module.exports = (output) => output === 'Hello';")
    (folder / "own.mjs").write_text("export const named = (output, { config }) => output.length > config.min;")
    (folder / "own.py").write_text(
        "def get_assert(output, context): return {'pass_': True, 'score': 1, 'reason': 'r'}\n"
        "def strict(output, context): return False\n"
    )
    score = getattr(checks(folder), language)().measure(evidence_of("Hello", **parameters))
    assert score["value"] == passed
    assert score["reason"]


@pytest.mark.parametrize(
    ("language", "code", "message"),
    [
        pytest.param("JavaScript", "null.x", "TypeError", marks=NODE),
        pytest.param("JavaScript", "'text'", "must give a bool, a number, or pass", marks=NODE),
        pytest.param("JavaScript", "file://own.mjs:none", "exports no function none", marks=NODE),
        ("Python", "undefined_name", "undefined_name"),
        ("Python", "None", "must give a bool"),
        ("Python", "{'score': 1, 'reason': 'r'}", "must give a bool"),
        pytest.param("JavaScript", "({pass: true})", "must give a bool", marks=NODE),
    ],
)
def test_code_that_cannot_judge_is_an_error_and_no_score(language: str, code: str, message: str, folder: Path) -> None:
    (folder / "own.mjs").write_text("export const named = 1;")
    with pytest.raises((RuntimeError, NameError), match=message):
        getattr(checks(folder), language)().measure(evidence_of("Hello", code=code))


def test_without_node_the_error_names_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(RuntimeError, match="install Node where the gate runs"):
        checks(folder).JavaScript().measure(evidence_of("Hello", code="true"))


def test_json_is_found_inside_a_text(folder: Path) -> None:
    text = checks(folder).Text()
    for reply, passed in (('so: {"a": [1]} there', 1), ("so: {a} [", 1), ("{: }}", 0), ("[1]", 0)):
        assert text.measure(evidence_of(reply, kind="contains-json"))["value"] == passed
