"""A repository whose system attacks, once it is spoken to, the rule and the metric that judge it."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.small_repository import SmallRepository

TRIALS = 2
WRITTEN = "as it was written"

JUDGES = """\
def kind(evidence):
    return {"passed": False, "reason": "as it was written"}


class Tone:
    def measure(self, evidence):
        return {"value": 0.0, "reason": "as it was written"}
"""

FORGED = """\
def kind(evidence):
    return {"passed": True, "reason": "forged"}
class Tone:
    def measure(self, evidence):
        return {"value": 1.0, "reason": "forged"}
"""

ATTACKS = {
    "in process": """
        import sys, types
        import judges.tone
        judges.tone.kind = lambda evidence: {"passed": True}
        exec(FORGED, judges.tone.__dict__)
        sys.modules["judges.tone"].Tone = judges.tone.Tone
    """,
    "its module": """
        rewrite(Path.cwd() / "judges" / "tone.py")
    """,
    "every copy of its module": """
        for top in (Path.cwd().parent, Path.cwd().parent.parent, Path(REPOSITORY)):
            for folder, _, names in os.walk(top):
                if "tone.py" in names:
                    rewrite(Path(folder) / "tone.py")
    """,
    "its bytecode": """
        import py_compile
        forged = Path(os.environ["TMPDIR"]) / "tone.py"
        forged.write_text(FORGED)
        for top in (Path.cwd().parent, Path.cwd().parent.parent, Path(REPOSITORY)):
            for folder, _, names in os.walk(top):
                if "tone.py" in names:
                    where = Path(folder) / "__pycache__" / f"tone.{sys.implementation.cache_tag}.pyc"
                    with contextlib.suppress(OSError):
                        py_compile.compile(str(forged), str(where), invalidation_mode=UNCHECKED)
    """,
    "what Python loads at its start": """
        lines = "import sys, types\\nm = types.ModuleType('judges.tone')\\nexec(" + repr(FORGED) + ", m.__dict__)\\n"
        lines += "sys.modules['judges.tone'] = m\\n"
        run = Path.cwd().parent.parent
        folders = {Path.home(), Path(os.environ["TMPDIR"]), Path.cwd(), Path(site.getusersitepackages())}
        folders |= {path for path in run.rglob("*") if path.name in ("copy", "home", "tmp", "site-packages", "worker")}
        for folder in folders:
            for name in ("sitecustomize.py", "usercustomize.py", "json.py"):
                with contextlib.suppress(OSError):
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_text(lines)
            with contextlib.suppress(OSError):
                (folder / "planted.pth").write_text("import sys; exec(" + repr(lines) + ")\\n")
    """,
    "the worker itself": """
        for top in (Path.cwd().parent, Path.cwd().parent.parent):
            for path in top.rglob("worker/conversation.py"):
                with contextlib.suppress(OSError):
                    text = path.read_text()
                    path.write_text(text.replace("answer = conversation.call(request)", "answer = {}"))
                    forged = "def find(address): return lambda evidence: {'passed': True, 'value': 1.0}"
                    path.with_name("lookup.py").write_text(forged)
    """,
    "later, by a daemon": """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for _ in range(400):
                    for top in (Path.cwd(), Path.cwd().parent, Path.cwd().parent.parent):
                        for folder, _, names in os.walk(top):
                            if "tone.py" in names:
                                rewrite(Path(folder) / "tone.py")
                    time.sleep(0.01)
            os._exit(0)
    """,
    "the processes beside it": """
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if int(pid) != os.getpid():
                    with open(f"/proc/{pid}/mem", "r+b"):
                        (Path(os.environ["TMPDIR"]) / "opened").touch()
    """,
}

ADAPTER = '''\
"""A system that attacks what judges it, once it is spoken to."""

import contextlib, os, py_compile, site, sys, time
from pathlib import Path

import psycopg

FORGED = {forged!r}
REPOSITORY = {repository!r}
UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH


def rewrite(path):
    # By a rename, so that the module is never missing for the other trial, which shares the system's copy.
    written = path.with_name(f"{{os.getpid()}}.written")
    with contextlib.suppress(OSError):
        written.write_text(FORGED)
        written.replace(path)
        return
    with contextlib.suppress(OSError):
        path.write_text(FORGED)


class Adapter:
    def migrate(self, database_url):
        with psycopg.connect(database_url) as connection:
            connection.execute("CREATE TABLE notes (id serial PRIMARY KEY, text text NOT NULL)")

    def open(self, context):
        return self

    def send(self, message):
        attack()
        return {{"text": "Karibu!", "state": "SAID"}}


def attack():
    if True:
{attack}
    return None
'''

SCENARIO = """\
id: judged
language: sw
metrics: {fluency: false}
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
turns:
  - user: Habari
    expect: {state: SAID}
  - user: Asante
    expect: {state: SAID}
rules:
  - {type: custom, value: "judges.tone:kind"}
assertions:
  - {metric: "judges.tone:Tone", threshold: 0.5}
strategy: {trials: 2}
"""


def write_attack(repository: SmallRepository, attacks: Sequence[str], place: str) -> None:
    """Write the system, what judges it and a scenario that it fails.

    Args:
        repository: to write to.
        attacks: values of ``ATTACKS``, made one after the other in every turn.
        place: where the repository lies for the system.
    """
    repository.write("judges/__init__.py", "")
    repository.write("judges/tone.py", JUDGES)
    adapter = ADAPTER.format(forged=FORGED, attack="".join(attacks), repository=place)
    repository.write("adapter.py", adapter)
    repository.write("scenarios/judged.yaml", SCENARIO)


def was_forged(results: Mapping[str, Any]) -> bool:
    """Whether any verdict of ``results.json`` is not that of the rule and the metric as they were written."""
    trials = results["report"]["results"]
    rules = [check for trial in trials for check in trial["checks"] if check["kind"] == "rule"]
    scores = [score for trial in trials for score in trial["scores"]]
    honest = {(one["passed"], one["got"]) for one in rules} == {(False, WRITTEN)}
    return not (
        honest and {(one["value"], one["reason"]) for one in scores} == {(0.0, WRITTEN)} and len(scores) == TRIALS
    )


RULE = """\
import html.parser
import pathlib


class Words(html.parser.HTMLParser):
    pass


def no_cash(evidence):
    refused = pathlib.Path("refused.txt").read_text().split()
    words = Words()
    for turn in evidence["turns"]:
        words.feed(turn["reply"]["text"])
    found = [turn for turn in evidence["turns"] if any(word in turn["reply"]["text"] for word in refused)]
    return {"passed": not found, "reason": "as it was written"}
"""
PASSING = "def no_cash(evidence): return {'passed': True, 'reason': 'forged'}\n"
PASSES = (
    "import sys, types; m = types.ModuleType('checks'); exec(" + repr(PASSING) + ", vars(m)); sys.modules['checks'] = m"
)
SPEAKS = """\
class Adapter:
    def open(self, context):
        return self
    def send(self, message):
        return {"text": "Pay in cash", "state": "SAID"}
"""
ASKS = """\
id: asks
language: sw
metrics: {fluency: false}
now: 2026-04-25T10:00:00+03:00
customer: {name: Amina, phone: "+254 700 000 001"}
turns:
  - {user: Habari, expect: {state: SAID}}
rules:
  - {type: custom, value: "checks:no_cash"}
"""
CONFIGURED = """\
system:
  adapter: adapter:Adapter
  database: false
  setup: [sh, install.sh]
  python: env/bin/python
"""
INSTALL = """\
python3 -m venv --without-pip env
for site in env/lib/*/site-packages; do cp -R packages/. "$site"; done
"""
"""Set-up that installs what the lock says: here, the modules of a folder."""

CHANGES: dict[str, dict[str, str]] = {
    "set-up rewrites the rule": {"install.sh": INSTALL + f"cat >checks.py <<'END'\n{PASSING}END\n"},
    "a package runs code at the start": {"packages/evil.pth": PASSES + "\n"},
    "a module has a name of the standard library": {"_markupbase.py": f"{PASSES}\nclass ParserBase: pass\n"},
    "what the rule reads": {"refused.txt": "nothing"},
}
"""Files that a change adds or replaces so that the rule, which it leaves alone, passes."""


def judged_repository(change: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Files of a base whose system a rule fails, and those of a change."""
    base = {
        ".github/ratiba.yml": CONFIGURED,
        "adapter.py": SPEAKS,
        "checks.py": RULE,
        "refused.txt": "cash",
        "install.sh": INSTALL,
        "packages/tiny.py": "",
        "scenarios/asks.yaml": ASKS,
    }
    return base, dict(change)
