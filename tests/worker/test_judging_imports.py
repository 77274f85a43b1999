"""What judges starts without a line of a package or of the repository, and imports the repository's modules last."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parents[2]
SITE = Path(f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages")
PROGRAM = """
import json, sys
sys.path.insert(0, {project!r})
from ratiba_action.worker import isolation
sys.path.remove({project!r})
isolation.enter({checkout!r})
isolation.look_in({root!r})
found = None
{code}
print(json.dumps(found))
"""
BASE = os.path.realpath(sys.executable)
FILE = "found = [getattr(sys.modules[name], '__file__', None) for name in {names}]"


class Interpreter:
    """A virtual environment without packages, and a repository beside it."""

    def __init__(self, folder: Path) -> None:
        self.environment, self.root, self.checkout = folder / "env", folder / "copy", folder / "checkout"
        self.site = self.environment / SITE
        for made in (self.site, self.environment / "bin", self.root, self.checkout):
            made.mkdir(parents=True)
        (self.environment / "pyvenv.cfg").write_text(f"home = {Path(BASE).parent}\n")
        (self.environment / "bin" / "python").symlink_to(BASE)

    def installs(self, **modules: str) -> None:
        """Put modules among the installed ones."""
        for name, content in modules.items():
            (self.site / f"{name}.py").write_text(content)

    def has(self, **modules: str) -> None:
        """Put modules into the repository."""
        for name, content in modules.items():
            (self.root / f"{name}.py").write_text(content)

    def run(self, code: str, **variables: str) -> Any:
        """What a program that judges leaves in ``found``."""
        program = PROGRAM.format(project=str(PROJECT), checkout=str(self.checkout), root=str(self.root), code=code)
        words = [str(self.environment / "bin" / "python"), "-I", "-S", "-B", "-c", program]
        environment = {"PATH": os.defpath, "HOME": str(self.root.parent / "home"), **variables}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, cwd=self.root)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def files(self, *names: str, first: str = "") -> list[str]:
        """Where modules come from, after some code has run."""
        imports = f"{first}\nimport {', '.join(names)}\n" + FILE.format(names=names)
        places: list[str] = self.run(imports)
        return places


@pytest.fixture
def judging(tmp_path: Path) -> Interpreter:
    return Interpreter(tmp_path)


PLANT = "import builtins; builtins.planted = True\n"


@pytest.mark.parametrize("name", ["evil.pth", "sitecustomize.py", "usercustomize.py"])
@pytest.mark.parametrize("where", ["installed", "repository"])
def test_no_line_of_a_package_or_of_the_repository_runs_at_the_start(
    judging: Interpreter, name: str, where: str
) -> None:
    ({"installed": judging.site, "repository": judging.root}[where] / name).write_text(PLANT)
    variables = {"PYTHONPATH": str(judging.root), "PYTHONSTARTUP": str(judging.root / name), "PYTHONINSPECT": "1"}
    code = "import builtins; found = hasattr(builtins, 'planted')"
    assert judging.run(code, **variables) is False


SHADOWS = {
    "a module": "{}.py",
    "a package": "{}/__init__.py",
    "a module without source": "{}.pyc",
    "a built module": "{}.abi3.so",
}
FIRST = "sys.path.insert(0, {root!r})"


@pytest.mark.parametrize("shadow", SHADOWS)
@pytest.mark.parametrize("name", ["_markupbase", "installed", "colorsys"])
def test_nothing_shadows_the_standard_library_or_an_installed_package(
    judging: Interpreter, shadow: str, name: str
) -> None:
    """Not even where code puts the repository first, as pytest does."""
    judging.installs(installed="")
    forged = judging.root / SHADOWS[shadow].format(name)
    forged.parent.mkdir(exist_ok=True)
    forged.write_text("forged = True")
    (place,) = judging.files(name, first=FIRST.format(root=str(judging.root)))
    assert not place.startswith(str(judging.root))


def test_what_the_standard_library_imports_itself_is_its_own(judging: Interpreter) -> None:
    judging.has(_markupbase="class ParserBase: pass\n")
    assert judging.run("import html.parser; found = hasattr(html.parser.HTMLParser, 'updatepos')") is True


def test_modules_of_the_repository_are_found_after_all_others(judging: Interpreter) -> None:
    judging.has(checks="", helper="")
    judging.installs(helper="")
    assert judging.files("checks", "helper") == [str(judging.root / "checks.py"), str(judging.site / "helper.py")]
    assert judging.run(f"found = isolation.shadowed({str(judging.root)!r})") == ["helper.py"]


def test_an_error_names_the_module_that_was_not_imported(judging: Interpreter) -> None:
    judging.has(calendar="def working_days(): pass\n", other="")
    code = "import calendar; found = [isolation.explanation({0!r}), isolation.warnings({0!r})]".format(
        str(judging.root)
    )
    explained, warned = judging.run(code)
    assert "calendar.py of the repository is not imported" in explained
    assert "rename it" in explained
    assert len(warned) == 1
    assert "other" not in explained + warned[0]


def test_a_namespace_is_shared_and_a_package_of_its_name_does_not_replace_it(judging: Interpreter) -> None:
    for folder, name in ((judging.site, "base"), (judging.root, "mine")):
        (folder / "company").mkdir()
        (folder / "company" / f"{name}.py").touch()
    both = judging.files("company.base", "company.mine")
    assert both == [str(judging.site / "company/base.py"), str(judging.root / "company/mine.py")]
    (judging.root / "company" / "__init__.py").write_text("forged = True")
    assert judging.files("company.base") == [str(judging.site / "company/base.py")]


def test_a_common_name_and_a_package_installed_from_the_repository_are_its_own(judging: Interpreter) -> None:
    """An environment of a laptop may hold an older build of the repository itself."""
    judging.has(tests="", shop="")
    judging.installs(tests="", shop="", helper="")
    judging.has(helper="")
    metadata = judging.site / "shop-1.0.dist-info"
    metadata.mkdir()
    (metadata / "direct_url.json").write_text(json.dumps({"url": "file:///somewhere", "dir_info": {}}))
    (metadata / "RECORD").write_text("shop.py,,\nshop-1.0.dist-info/RECORD,,\n")
    assert judging.files("tests", "shop", "helper") == [
        *(str(judging.root / "tests.py"), str(judging.root / "shop.py")),
        str(judging.site / "helper.py"),
    ]


def test_an_editable_install_of_the_checkout_means_the_copy(judging: Interpreter) -> None:
    for folder in (judging.root, judging.checkout):
        (folder / "src").mkdir()
        (folder / "src" / "shop.py").touch()
    (judging.site / "shop.pth").write_text(f"# a comment\n{judging.checkout / 'src'}\n")
    assert judging.files("shop") == [str(judging.root / "src" / "shop.py")]


def test_the_finder_of_an_editable_install_is_read_and_not_run(judging: Interpreter) -> None:
    for folder in (judging.root, judging.checkout):
        (folder / "lib" / "shop").mkdir(parents=True)
        (folder / "lib" / "shop" / "__init__.py").touch()
    finder = "__editable___shop_1_0_finder"
    (judging.site / f"{finder}.pth").write_text(f"import {finder}; {finder}.install()")
    mapping = {"shop": str(judging.checkout / "lib" / "shop")}
    planted = f"{PLANT}MAPPING: dict[str, str] = {mapping!r}\nNAMESPACES: dict[str, list[str]] = {{}}\n"
    (judging.site / f"{finder}.py").write_text(planted + "def install(): pass\n")
    assert judging.files("shop") == [str(judging.root / "lib" / "shop" / "__init__.py")]
    assert judging.run("import builtins; found = hasattr(builtins, 'planted')") is False


def test_folders_of_the_configured_pythonpath_come_after_the_repository(judging: Interpreter) -> None:
    (judging.root / "src").mkdir()
    for name in ("own", "colorsys"):
        (judging.root / "src" / f"{name}.py").touch()
    code = "import own, colorsys\n" + FILE.format(names=("own", "colorsys"))
    own, standard = judging.run(code, PYTHONPATH="src")
    assert own == str(judging.root / "src" / "own.py")
    assert not standard.startswith(str(judging.root))
