import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.git_repository import GitRepository

pytestmark = pytest.mark.processes

ENTRYPOINT = Path(__file__).parents[1] / "entrypoint.py"


def entrypoint(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run without site-packages and in isolated mode, as the runner's step does."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(ENTRYPOINT), *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    repository = GitRepository(tmp_path / "checkout")
    repository.commit({"uv.lock": 'version = 1\n[[package]]\nname = "a"\nversion = "1.0"\n', "package.json": "{}"})
    return repository


def test_decide_needs_nothing_installed(repository: GitRepository) -> None:
    repository.write(
        {
            "uv.lock": 'version = 1\n[[package]]\nname = "a"\nversion = "1.1"\n',
            "package.json": '{"dependencies": {"b": "^1"}}',
            ".github/workflows/ci.yml": "on: push\n",
        }
    )

    done = entrypoint(repository.folder, "decide", "--json")

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["mode"] == "advisory"


def test_modules_of_the_working_folder_are_not_imported(repository: GitRepository) -> None:
    repository.write({"json.py": "raise SystemExit(9)", "ratiba_action/__init__.py": "raise SystemExit(9)"})

    assert entrypoint(repository.folder, "decide").returncode == 0


def test_help_needs_nothing_installed(tmp_path: Path) -> None:
    done = entrypoint(tmp_path, "--help")

    assert done.returncode == 0
    assert "example:" in done.stdout


def test_a_misuse_ends_with_2(tmp_path: Path) -> None:
    assert entrypoint(tmp_path, "decide", "--mode", "off").returncode == 2


def test_a_reader_that_goes_away_leaves_no_complaint(repository: GitRepository) -> None:
    repository.write({f"{'long_name_' * 15}{number}.py": "1" for number in range(1000)})

    with subprocess.Popen(
        [sys.executable, "-I", "-S", str(ENTRYPOINT), "decide", "--json"],
        cwd=repository.folder,
        env={"PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        stderr = process.stderr.read()

    assert stderr == b""
    assert process.returncode == 3


def test_nothing_but_the_standard_library_is_imported(repository: GitRepository) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from ratiba_action.main import run\n"
        "run(['decide'], {'PATH': sys.argv[2]})\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(names - set(sys.stdlib_module_names) - {'__main__', 'ratiba_action', '__mp_main__'}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, str(ENTRYPOINT.parent), os.environ["PATH"]],
        cwd=repository.folder,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines()[-1] == "[]"
