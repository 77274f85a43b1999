"""A selection is a proof: a scenario whose outcome a change alters is among those that the change affects."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.model.change import ChangedFiles, Mode, ModeDecision, Reason
from ratiba_action.model.reads import Reads
from ratiba_action.model.scenario import DEFAULT_CUSTOMER, DEFAULT_NOW, Scenario, Suite
from ratiba_action.suite.affected import affected, depends_on

EXAMPLES = Path(__file__).parents[2] / "examples"
REPOSITORIES = {
    folder.name: files
    for folder in sorted(EXAMPLES.iterdir())
    if folder.is_dir()
    and (
        files := sorted(
            path.relative_to(folder).as_posix()
            for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts and path.stat().st_size < 100_000
        )
    )
}
NAMES = ("first", "second", "third")


def scenario(name: str, *touches: str) -> Scenario:
    return Scenario(name, "en", (), DEFAULT_NOW, DEFAULT_CUSTOMER, path=f"scenarios/{name}.yaml", touches=touches)


SUITE = Suite(tuple(map(scenario, NAMES)), "")

Files = Mapping[str, str]


class System:
    """Answers from files: some that it opens by name, as modules are, and all of some folders that it lists.

    Args:
        files: of its repository.
    """

    def __init__(self, files: Files) -> None:
        self.files = files
        self.opened: set[str] = set()
        self.listed: set[str] = set()

    def outcome(self, named: list[str], folders: list[str]) -> str:
        texts = [self._import(name) for name in named]
        for folder in folders:
            self.listed.add(folder)
            below = sorted(path for path in self.files if path.startswith(f"{folder}/"))
            texts += [f"{path}={self._open(path)}" for path in below]
        return "\n".join(texts)

    def _import(self, name: str) -> str:
        """A module's file, or the package of its name, which is found first."""
        package = f"{PurePosixPath(name).with_suffix('')}/__init__.py"
        return self._open(package if package in self.files else name)

    def _open(self, path: str) -> str:
        if path not in self.files:
            return "missing"
        self.opened.add(path)
        return self.files[path]

    def seen(self, _scenario: str) -> Reads:
        whole = {f"{folder}/" for folder in self.listed}
        single = {path for path in self.opened if not any(path.startswith(folder) for folder in whole)}
        return Reads((*sorted(whole | single),), {})


@st.composite
def edits(draw: st.DrawFn) -> tuple[Files, dict[str, tuple[list[str], list[str]]], Files]:
    """An example's files, what each scenario's system looks at, and the files after a change."""
    names = REPOSITORIES[draw(st.sampled_from(sorted(REPOSITORIES)))]
    files = {name: f"text of {name}" for name in names}
    folders = sorted({str(parent) for name in names for parent in PurePosixPath(name).parents if str(parent) != "."})
    looks = {
        name: (
            draw(st.lists(st.sampled_from(names), min_size=1, max_size=4)),
            draw(st.lists(st.sampled_from(folders), max_size=2)) if folders else [],
        )
        for name in NAMES
    }
    after = dict(files)
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=3)):
        match draw(st.sampled_from(["edit", "delete", "rename", "add beside", "add a package"])):
            case "edit":
                after[name] = "edited"
            case "delete":
                after.pop(name, None)
            case "rename":
                after[f"{name}.old"] = after.pop(name, "")
            case "add beside":
                after[f"{PurePosixPath(name).parent}/new.md".removeprefix("./")] = "new"
            case "add a package":
                after[f"{PurePosixPath(name).with_suffix('')}/__init__.py"] = "found first"
    return files, looks, after


@given(edits())
def test_every_scenario_whose_outcome_changes_is_affected(
    edit: tuple[Files, dict[str, tuple[list[str], list[str]]], Files],
) -> None:
    files, looks, after = edit
    changed = tuple(path for path in {**files, **after} if files.get(path) != after.get(path))
    seen, altered = {}, set()
    for name, look in looks.items():
        base = System(files)
        if base.outcome(*look) != System(after).outcome(*look):
            altered.add(name)
        seen[name] = base.seen(name)

    chosen = affected(
        ModeDecision(Mode.ADVISORY, ()),
        SUITE,
        ChangedFiles(changed),
        "scenarios",
        seen=seen.get,
        new=[path for path in changed if path not in files],
    )

    assert altered <= {each.id for each in chosen}


def ids(*reasons: Reason, changed: tuple[str, ...]) -> list[str]:
    known = {"first": Reads(("agent.py",), {}), "second": Reads(("knowledge/",), {})}
    found = affected(ModeDecision(Mode.BLOCKING, reasons), SUITE, ChangedFiles(changed), "scenarios", seen=known.get)
    return [each.id for each in found]


def test_only_those_are_affected_that_read_a_changed_file_and_those_that_nobody_watched() -> None:
    assert ids(changed=("knowledge/returns.md",)) == ["second", "third"]
    assert ids(changed=("agent.py",)) == ["first", "third"]


def test_what_the_gate_itself_reads_affects_every_scenario() -> None:
    metric = Reason("quality/tone.py", "named", Mode.BLOCKING, "a metric or rule of the scenarios uses it")
    lock = Reason("uv.lock", "dependencies", Mode.ADVISORY, "openai: minor change")
    for reason in (metric, lock, Reason("", "doubt", Mode.BLOCKING, "nobody knows")):
        assert ids(reason, changed=(reason.path or "README.md",)) == [*NAMES]


def test_a_scenarios_own_file_affects_it_alone() -> None:
    own = Reason("scenarios/first.yaml", "protected", Mode.BLOCKING, "the gate's scenarios and recordings changed")
    assert ids(own, changed=("scenarios/first.yaml",)) == ["first"]


def test_touches_add_to_what_was_seen() -> None:
    with_menu = scenario("first", "menu.csv")
    seen = Reads(("agent.py",), {})
    depends = [path for path in ("menu.csv", "agent.py", "other.py") if depends_on(with_menu, path, "scenarios", seen)]
    assert depends == ["menu.csv", "agent.py"]
