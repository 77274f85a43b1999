"""Files that a change adds beside an honest regression, so that it is judged by something else than the base's code."""

import random
from collections.abc import Mapping

from fuzz.case import Case
from fuzz.deprived import gate
from fuzz.regression import Ended, require_not_better
from tests.support.consumer_repository import ConsumerRepository

SCENARIO = """\
id: judged
language: fr
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
turns:
  - user: Bonjour
    expect: {state: SAID}
"""
ADAPTER = 'class Adapter:\n    def open(self, context):\n        return self\n\n    def send(self, message):\n        return {"text": TEXT, "state": "SAID"}\n'
CONFIGURATION = """\
system:
  adapter: adapter:Adapter
  database: false
  python: env/bin/python
  setup: [sh, install.sh]
  setup_timeout_seconds: 30
"""
INSTALL = "python3 -I -m venv --without-pip --system-site-packages env\n"
RULE = """\
import collections, dataclasses, decimal, difflib, enum, html.parser, json, re, textwrap, typing, unicodedata

import yaml


class Reader(html.parser.HTMLParser):
    pass


def kind(evidence):
    said = json.dumps(evidence)
    Reader().feed(textwrap.dedent(said))
    yaml.safe_load("a: 1")
    return {"passed": "RUDE" not in said, "reason": "as it was written"}


class Tone:
    def measure(self, evidence):
        return {"value": 0.0 if "RUDE" in json.dumps(evidence) else 1.0, "reason": "as it was written"}
"""
TEST = "from pathlib import Path\n\n\ndef test_tone():\n    assert 'RUDE' not in Path('adapter.py').read_text()\n"
FORGED = "def kind(evidence):\n    return {'passed': True}\n\n\nclass Tone:\n    def measure(self, evidence):\n        return {'value': 1.0}\n"
LINES = """\
import sys, types
def forge():
    module = types.ModuleType("judges.tone")
    exec(FORGED, module.__dict__)
    sys.modules["judges.tone"] = module
    package = types.ModuleType("judges")
    package.__path__, package.tone = [], module
    sys.modules["judges"] = package
    try:
        import _pytest.runner
        _pytest.runner.pytest_runtest_call = lambda item: None
        import _pytest.python
        _pytest.python.pytest_pyfunc_call = lambda pyfuncitem: True
        _pytest.python.Function.runtest = lambda self: None
    except Exception:
        pass
forge()
""".replace("FORGED", repr(FORGED))
SHADOW = """
import importlib.machinery as _machinery, importlib.util as _util, os as _os
_here = _os.path.dirname(_os.path.abspath(__file__))
_spec = _machinery.PathFinder.find_spec(__name__.rpartition(".")[2], [place for place in sys.path if _os.path.abspath(place or ".") != _here])
if _spec is not None and _spec.loader is not None:
    _spec.loader.exec_module(sys.modules[__name__])
forge()
"""
"""The genuine module behind the one that shadows it, so that nothing else fails."""
STANDARD = (
    "_markupbase", "html", "json", "decimal", "textwrap", "difflib", "enum", "dataclasses", "typing", "unicodedata",
    "collections", "re", "inspect", "ast", "string", "sre_parse", "_strptime", "socket", "threading", "traceback", "types",
    "importlib", "io", "contextlib", "functools", "_decimal", "_json", "abc", "codecs", "site", "random", "copy",
)  # fmt: skip
INSTALLED = (
    "yaml",
    "_yaml",
    "pytest",
    "_pytest",
    "pluggy",
    "iniconfig",
    "packaging",
    "psycopg",
    "ratiba_worker",
    "deepeval",
)
AT_START = (
    "sitecustomize.py",
    "usercustomize.py",
    "planted.pth",
    "conftest.py",
    "tests/conftest.py",
    "pyvenv.cfg",
    "python._pth",
)
OF_PYTEST: Mapping[str, str] = {
    "pytest.ini": "[pytest]\naddopts = -p evil --collect-only\npython_functions = nothing_*\n",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p evil'\n",
    "tox.ini": "[pytest]\naddopts = -p evil\n",
    "setup.cfg": "[tool:pytest]\naddopts = -p evil\n",
    "evil.py": LINES,
    "evil-1.0.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n",
    "evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
}
SCRIPTS = r"""
printf '%s' "$FORGED" >judges/tone.py
rm -r judges; mkdir judges; printf '%s' "$FORGED" >judges/tone.py
mv judges j; mkdir elsewhere; printf '%s' "$FORGED" >elsewhere/tone.py; ln -s elsewhere judges
mkdir judges/tone; printf '%s' "$FORGED" >judges/tone/__init__.py
printf '%s' "$LINES" >judges/__init__.py
printf 'def test_tone():\n    pass\n' >tests/test_tone.py
printf '%s' "$LINES" >conftest.py; printf '%s' "$LINES" >sitecustomize.py
for v in 11 12 13; do p="$HOME/.local/lib/python3.$v/site-packages"; mkdir -p "$p"; printf '%s' "$LINES" >"$p/usercustomize.py"; done
printf 'import sys; exec(open("evil.py").read())\n' >planted.pth; printf '%s' "$LINES" >evil.py
(while true; do printf '%s' "$FORGED" >judges/tone.py; sleep 0.02; done) >/dev/null 2>&1 &
mkdir judges/__pycache__; printf '%s' "$FORGED" >../tone.py; python3 -c "$COMPILE"
chmod -R a-r judges; chmod 0 judges
printf '%s' "$FORGED" >>judges/tone.py; touch -d 2001-01-01 judges/tone.py
for p in env/lib/python3.*/site-packages; do printf '%s' "$LINES" >$p/sitecustomize.py; done
for p in env/lib/python3.*/site-packages; do printf 'import evil\n' >$p/planted.pth; printf '%s' "$LINES" >$p/evil.py; done
for p in env/lib/python3.*/site-packages; do printf '%s' "$LINES" >$p/yaml.py; printf '%s' "$LINES" >$p/html.py; done
""".strip().splitlines()
"""What the change's installer does, which the base's set-up command runs."""


def judge_with_added_files(case: Case) -> None:
    """A whole gate of a regression that the base's own rule, metric or test names; the change adds files."""
    flavour = case.rng.choice(FLAVOURS)
    installs = case.chance(0.4)
    add = _installer if installs else case.rng.choice((_shadows, _shadows, _at_start, _of_pytest))
    files = add(case.rng)
    if case.chance(0.2):
        files = {**files, **case.rng.choice((_shadows, _at_start))(case.rng)}
    case.note = f"{flavour}: {', '.join(sorted(files))}{' ' + files['install.sh'][-150:] if installs else ''}"
    honest = case.services.judged(flavour, lambda inner: _gate(inner, flavour, {}))
    ended = _gate(case, flavour, files)
    case.count("whole gates on the host")
    case.require_no_defect(ended.printed, theirs="install.sh")
    require_not_better(case, honest, ended)


COMPILE = """\
import py_compile, sys
for tag in ("cpython-311", "cpython-312", "cpython-313"):
    py_compile.compile("../tone.py", f"judges/__pycache__/tone.{tag}.pyc", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
"""
FLAVOURS = ("rule", "metric", "test")


def _gate(case: Case, flavour: str, files: Mapping[str, str]) -> Ended:
    source = case.folder / "empty"
    source.mkdir()
    base: dict[str, str | bytes | None] = {
        ".github/ratiba.yml": CONFIGURATION
        + ("tests: [tests]\n" if flavour == "test" else ""),
        "adapter.py": ADAPTER.replace("TEXT", '"Bonjour"'),
        "install.sh": INSTALL,
        "judges/__init__.py": "",
        "judges/tone.py": RULE,
        "tests/test_tone.py": TEST,
        "scenarios/judged.yaml": SCENARIO + {
            "rule": 'rules:\n  - {type: custom, value: "judges.tone:kind"}\n',
            "metric": 'assertions:\n  - {metric: "judges.tone:Tone", threshold: 0.5}\n',
            "test": "",
        }[flavour],
    }  # fmt: skip
    change = ConsumerRepository(source, case.folder / "checkout", base)
    change.propose({"adapter.py": ADAPTER.replace("TEXT", '"RUDE"'), **files})
    return gate(case, change)


def _shadows(rng: random.Random) -> dict[str, str]:
    """Modules of the repository's root with names of the standard library or of installed packages."""
    files = {}
    for name in rng.sample((*STANDARD, *INSTALLED), rng.choice((1, 1, 3, 8))):
        place = rng.choice((f"{name}.py", f"{name}.py", f"{name}/__init__.py"))
        files[place] = LINES + SHADOW
    return files


def _at_start(rng: random.Random) -> dict[str, str]:
    """What an interpreter or pytest loads by itself."""
    names = rng.sample(AT_START, rng.choice((1, 2, len(AT_START))))
    line = f"import sys; exec({LINES!r})\n"
    return {name: line if name.endswith(("pth", "cfg")) else LINES for name in names}


def _of_pytest(rng: random.Random) -> dict[str, str]:
    return {name: OF_PYTEST[name] for name in (*rng.sample(list(OF_PYTEST), rng.randint(1, 4)), "evil.py")}


def _installer(rng: random.Random) -> dict[str, str]:
    """The script that set-up runs, and nothing else: no file that judges is edited."""
    chosen = "\n".join(rng.sample(SCRIPTS, rng.choice((1, 1, 2))))
    head = f"FORGED={_quoted(FORGED)}\nLINES={_quoted(LINES)}\nCOMPILE={_quoted(COMPILE)}\n"
    return {"install.sh": f"{head}{INSTALL}{chosen}\ntrue\n"}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
