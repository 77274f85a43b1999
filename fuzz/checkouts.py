"""Hostile checkouts: a pull request whose tree tries to make the gate's git run, follow or misread something."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzz.case import Case
from fuzz.hostile_tree import HostileChange, HostileTree
from fuzz.in_process import run_command
from tests.support.consumer_repository import NAME

Hazard = Callable[[Case, HostileTree], str]
"""Edits the tree of a pull request; gives the least strict mode that this may lead to."""

ORDER = ("skip", "advisory", "blocking")
BASE: dict[str, str | bytes | None] = {
    ".github/ratiba.yml": "system:\n  adapter: adapter:Adapter\n  prompts: [prompts/*.md]\n",
    "README.md": "# An assistant\n",
    "adapter.py": "class Adapter:\n    pass\n",
    "prompts/greeting.md": "Say Bonjour.\n",
    "requirements.txt": "requests==2.32.0\n",
    "scenarios/greeting.yaml": "id: greeting\nlanguage: fr\nturns:\n  - user: Bonjour\n",
}
NAMES = (
    "-rf", "--output=x", ":(glob)**", "a b", "a\tb", "a\nb", "::error::x", "##[set-output name=x;]y", "\u202egnp.exe",
    "caf\u00e9.md", "cafe\u0301.md", "\ufeffprompt.md", "\u200bx", "%0A", "$(touch x)", "`x`", "'", '"', "\\", "é" * 100,
    "x" * 250, "CON", "x.", " x", "~", "*", "?", "[", "{{x}}", "${{ secrets.X }}", "@org", "<img src=x>", "|", "PROMPTS",
    "prompts.md", "LICENSE_x.py", "doc.py", "\u0130", "\u017f", "\udcff\udcfe", "a\rb", "\x1b[31m", "\x7f",
)  # fmt: skip


def command_of(case: Case) -> str:
    """A command that shows that it ran, and hands on what it could see; on this machine and in the container."""
    marker = case.services.folder / "ran"
    return f"env >>{marker}; env >>/report/ran; cat"


def buried_repository(case: Case, tree: HostileTree) -> str:
    """A bare repository below a folder, with every way of its configuration to run a command."""
    top = case.rng.choice(("a", "vendor/x", "deep/er/still", "scenarios/b", "prompts/.x", ".github/b"))
    command, rng = command_of(case), case.rng
    settings = [
        f"[core]\n\trepositoryformatversion = 0\n\tbare = {rng.choice(('true', 'false'))}\n",
        f'[filter "p"]\n\tclean = {command}\n\tsmudge = {command}\n\tprocess = {command}\n\trequired = true\n',
        f"[core]\n\tfsmonitor = {command}\n\tsshCommand = {command}\n\tpager = {command}\n\thooksPath = {tree.folder}\n",
        f'[diff]\n\texternal = {command}\n[diff "p"]\n\ttextconv = {command}\n\tcommand = {command}\n',
        f"[core]\n\tworktree = {rng.choice(('..', '../..', str(tree.folder), '/'))}\n",
        f"[include]\n\tpath = {rng.choice(('../more', '/etc/passwd', 'config'))}\n",
        f"[alias]\n\tdiff = !{command}\n\tls-files = !{command}\n",
        f'[credential]\n\thelper = !{command}\n[remote "origin"]\n\turl = ext::sh -c {command}\n\tpromisor = true\n',
        "[extensions]\n\tworktreeConfig = true\n\tpartialClone = origin\n",
    ]
    files: dict[str, str | bytes] = {
        "HEAD": rng.choice(("ref: refs/heads/main\n", f"{'0' * 40}\n", "")),
        "config": "".join([settings[0], settings[1], *(part for part in settings[2:] if case.chance(0.5))]),
        "objects/x": "",
        "refs/x": "",
        "index": (tree.folder / ".git" / "index").read_bytes() if case.chance(0.7) else b"DIRC",
        "info/attributes": "* filter=p diff=p\n",
        "b/.gitattributes": "* filter=p diff=p merge=p ident working-tree-encoding=UTF-16\n",
        "b/adapter.py": (tree.folder / "adapter.py").read_bytes(),
        "commondir": rng.choice(("../../.git", ".", "/")),
    }
    kept = {f"{top}/{name}": content for name, content in files.items() if name != "commondir" or case.chance(0.1)}
    tree.write(kept)
    if case.chance(0.5):
        pointed = f"system:\n  adapter: adapter:Adapter\n  root: {top}/b\n  prompts: [prompts/*.md]\n"
        tree.write({".github/ratiba.yml": pointed})
    return "advisory"


def attributes(case: Case, tree: HostileTree) -> str:
    """Attributes that name filters, encodings and drivers."""
    words = ("filter=p", "filter=lfs", "diff=p", "merge=p", "ident", "eol=crlf", "text=auto", "-text", "export-ignore",
             "working-tree-encoding=UTF-16", "working-tree-encoding=$(x)", "binary", "linguist-generated")  # fmt: skip
    for name in case.rng.sample((".gitattributes", "prompts/.gitattributes", "scenarios/.gitattributes"), 2):
        tree.write({name: f"* {' '.join(case.rng.sample(words, 4))}\n[attr]x filter=p\n"})
    tree.write({".gitmodules": f'[submodule "m"]\n\tpath = m\n\turl = ext::sh -c x\n\tupdate = !{command_of(case)}\n'})
    return "advisory"


def links(case: Case, tree: HostileTree) -> str:
    """Symbolic links: loops, out of the checkout, in the place of what the gate reads."""
    places = ("loop", "prompts/x.md", "scenarios/x.yaml", "a/b/c", ".github/x.yml", "docs", "requirements-x.txt")
    targets = ("loop", ".", "..", "/", "/etc/passwd", "/proc/self/environ", "../../..", ".git/config", "x" * 300,
               "prompts/greeting.md", str(case.folder), "nowhere", "prompts", "/dev/zero", "/dev/tty")  # fmt: skip
    for name in case.rng.sample(places, case.rng.randint(1, 4)):
        target = case.rng.choice(targets)
        if not os.path.lexists(tree.folder / name):
            tree.place(name).symlink_to(target)
    if case.chance(0.3):
        name = case.rng.choice(("prompts/greeting.md", ".github/ratiba.yml", "scenarios/greeting.yaml"))
        (tree.folder / name).unlink()
        (tree.folder / name).symlink_to(case.rng.choice(targets))
        return "blocking"
    return "advisory"


def submodules(case: Case, tree: HostileTree) -> str:
    """Entries of odd modes: submodules, executables, links with any text."""
    rng = case.rng
    for number in range(rng.randint(1, 4)):
        name = rng.choice(("m", "prompts/m", "vendor/m.py", "scenarios/m.yaml")) + str(number)
        kind, path = rng.choice(("submodule", "link", "executable")), tree.place(name)
        if kind == "submodule":
            tree.links[name] = rng.choice((case.digits("commit") * 2 + "0" * 8, "0" * 39 + "1"))
        elif kind == "link":
            path.symlink_to(rng.choice(("../etc/passwd", "../" * 50, "x" * 4000, "\n", "::error::x")))
        else:
            path.write_bytes(b"\0" * 100)
            path.chmod(0o755)
    return "advisory"


def names(case: Case, tree: HostileTree) -> str:
    """Files of odd names: options, commands, control characters, bytes that are no text, twins, depth."""
    for name in case.rng.sample(NAMES, case.rng.randint(1, 6)):
        folder = case.rng.choice(("", "prompts/", "scenarios/", "docs/", "src/", "d/" * 60))
        _write(tree, f"{folder}{name}", f"{case.nonce}\n".encode())
    if case.chance(0.3):
        tree.write({"Prompts/Greeting.MD": "x\n", "SCENARIOS/x.yaml": "x\n", ".GitHub/Ratiba.yml": "x\n"})
    return "skip"


def _write(tree: HostileTree, name: str, content: bytes) -> None:
    try:
        tree.write({name: content})
    except (OSError, ValueError):
        tree.write({"too-long": content})  # the file system refuses the name, as a checkout would


def configuration(case: Case, tree: HostileTree) -> str:
    """The gate's own files, broken in every way."""
    spoilt = (
        b"\xff\xfe\x00", b"a: &a [*a]\n", b"x: !!python/object/apply:os.system [x]\n", b"{" * 5000, b"\0" * 100,
        b"system: {adapter: 1e999}\n", b"a: &a [1,2]\n" + b"".join(b"b%d: [*a,*a]\n" % n for n in range(50)),
        b"rules: [{type: must_not_contain, value: '(a+)+$'}]\n", b"id: " + b"9" * 5000, b"turns: [" * 2000, b"--- \n---\n",
        b"system: {root: ../../.., adapter: 'os:system'}\n", b"? ? ?\n", b"system:\n\tadapter: x\n",
    )  # fmt: skip
    name = case.rng.choice(
        (".github/ratiba.yml", "scenarios/x.yaml", "prompts/greeting.md", "scenarios/recordings/x.jsonl")
    )
    tree.write({name: case.rng.choice(spoilt)})
    return "blocking"


def packages(case: Case, tree: HostileTree) -> str:
    """Files of dependencies, malformed or from elsewhere."""
    files = {
        "requirements.txt": (
            "requests==3.0.0\n",
            "-r https://x.invalid/r.txt\n",
            "--extra-index-url https://x\n",
            "\0",
        ),
        "package.json": ('{"dependencies": {"x": "git+ssh://x"}}', "{", '{"overrides": {"x": "file:.."}}', "[]"),
        "uv.lock": ("version = 1\n", "[[package]]\nname = 1\n", "x" * 5000, "\xff"),
        "poetry.lock": ("[[package]]\nname = 'x'\n", "", "=\n"),
        "package-lock.json": ('{"lockfileVersion": 3, "packages": {"": null}}', "[[[[", "{}"),
        "pyproject.toml": ("[project]\nname = 1\n", "[[tool.uv.index]]\nurl = 'x'\n", "[" * 3000),
        "setup.py": ("import os\n",),
    }
    for name in case.rng.sample(list(files), case.rng.randint(1, 3)):
        tree.write({name: case.rng.choice(files[name])})
    return "advisory"


def plain(case: Case, tree: HostileTree) -> str:
    """An ordinary change, whose mode is known."""
    name, mode = case.rng.choice(
        (
            ("prompts/greeting.md", "blocking"),
            ("src/x.py", "advisory"),
            ("docs/x.md", "skip"),
            ("docs/x.py", "advisory"),
        )
    )
    tree.write({name: f"{case.nonce}\n" * case.rng.choice((1, 1000))})
    return mode


def many(case: Case, tree: HostileTree) -> str:
    """Many files, one of which matters."""
    tree.write({f"docs/{number}.md": "x" for number in range(case.rng.randint(50, 300))})
    tree.write({"prompts/last.md": "x"})
    return "blocking"


HAZARDS: Sequence[Hazard] = (
    buried_repository, buried_repository, buried_repository, attributes, links, links, submodules, names, names,
    configuration, packages, plain, many,
)  # fmt: skip


HARMLESS = tuple(hazard for hazard in HAZARDS if hazard not in {configuration, links})
"""Those after which a gate still finds its configuration and its scenarios."""


def hostile_change(
    case: Case,
    source: Path,
    more: Mapping[str, str | bytes | None],
    *,
    maximum: int = 4,
    hazards: Sequence[Hazard] = HAZARDS,
    always: Hazard | None = None,
    commits: bool = True,
) -> tuple[HostileChange, str]:
    """A pull request with some hazards, and the least strict mode that it may get.

    Args:
        case: chooses them.
        source: folder whose files the base has.
        more: further files of the base.
        maximum: number of hazards.
        hazards: what they are chosen from.
        always: one more.
        commits: False leaves the change in the work tree.
    """
    change = HostileChange(source, case.folder / "checkout", more)
    minimum = ["skip"]
    chosen = case.rng.sample(hazards, case.rng.randint(1, maximum))

    def edit(tree: HostileTree) -> None:
        for hazard in dict.fromkeys([*chosen, *([always] if always else [])]):
            try:
                minimum.append(hazard(case, tree))
            except OSError:
                continue  # two hazards wanted the same name

    change.propose_tree(edit, commits=commits)
    return change, max(minimum, key=ORDER.index)


def decide_on_hostile_checkout(case: Case) -> None:
    """``ratiba decide`` in the checkout of a hostile pull request."""
    empty = case.folder / "empty"
    empty.mkdir()
    in_workflow = case.chance(0.8)
    change, minimum = hostile_change(case, empty, BASE, commits=in_workflow)
    credential = f'[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic {case.secrets["checkout"]}\n'
    with (change.folder / ".git" / "config").open("a") as file:
        file.write(credential)
    marker, before = case.services.folder / "ran", _state(change.folder)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(case.folder),
        "RATIBA_GITHUB_TOKEN": case.secrets["github"],
        "RATIBA_ANTHROPIC_API_KEY": case.secrets["anthropic"],
        "RATIBA_SLACK_WEBHOOK_URL": f"https://hooks.example/services/{case.secrets['webhook']}",
        "RATIBA_OTLP_HEADERS": f"authorization=Bearer {case.secrets['otlp']}",
        "GITHUB_ACTIONS": "true",
        "GITHUB_REPOSITORY": NAME,
        "GITHUB_WORKSPACE": str(change.folder),
        "GITHUB_OUTPUT": str(case.folder / "output"),
        "GITHUB_API_URL": "http://127.0.0.1:9",
    }
    event = case.folder / "event.json"
    event.write_text(json.dumps(change.pull_request_event()))
    if in_workflow:
        environment |= {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(event)}
    result = run_command(["decide", *(["--json"] if case.chance(0.5) else [])], environment)
    output = Path(environment["GITHUB_OUTPUT"])
    written = output.read_text(errors="replace") if output.exists() else ""
    ran = marker.read_text(errors="replace") if marker.exists() else ""
    marker.unlink(missing_ok=True)
    mode = next((name for name in ORDER if f"\n{name}\n" in written), "")
    require_decision(case, Decision(result.code, result.printed, written, ran, mode), minimum)
    case.require("g", "decide changed the checkout", holds=_state(change.folder) == before)


@dataclass(frozen=True, slots=True)
class Decision:
    """What ``ratiba decide`` left.

    Args:
        written: to the step's outputs.
        ran: what a command of the change wrote.
    """

    code: int
    printed: str
    written: str
    ran: str
    mode: str


def require_decision(case: Case, decision: Decision, minimum: str) -> None:
    """Every invariant, after a decision that had to be at least so strict."""
    printed = decision.printed
    case.require("f", f"decide ended with {decision.code}: {printed[-500:]}", holds=decision.code == 0)
    case.require_no_defect(printed)
    case.require_no_secret({"output": printed, "step output": decision.written})
    case.require_harmless_log(printed)
    case.require("a", f"a command of the change ran: {decision.ran[:300]!r}", holds=not decision.ran)
    message = f"the mode is {decision.mode!r}, and must be at least {minimum!r}: {printed[:1000]}"
    case.require("c", message, holds=decision.mode in ORDER and ORDER.index(decision.mode) >= ORDER.index(minimum))


def _state(folder: Path) -> list[tuple[str, int, int]]:
    """Every file of a checkout, its size and when it was written; those of ``.git`` too."""
    found = []
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            status = os.lstat(Path(parent) / name)
            found.append((str(Path(parent) / name), status.st_size, status.st_mtime_ns))
    return sorted(found)
