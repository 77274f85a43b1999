"""The system under test may write to the runner's files before the gate does; none of it is published."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ratiba_action.errors import PublishError
from ratiba_action.github.step_files import remember

BEFORE, OURS = b"mode=blocking\n", b"passed<<word\n1\nword\n"
FORGED = b"passed=99\nconclusion=passed\n"


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(FORGED)


def overwrite(path: Path) -> None:
    path.write_bytes(FORGED)


def rename_over(path: Path) -> None:
    other = path.with_name("forged")
    other.write_bytes(FORGED)
    other.rename(path)


def link_elsewhere(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent.parent / "precious")


def link_hard(path: Path) -> None:
    path.unlink()
    path.hardlink_to(path.parent.parent / "precious")


def link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent / "nowhere" / "file")


def make_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_bytes(FORGED)
    (path / "out").symlink_to(path.parent.parent)


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def remove(path: Path) -> None:
    path.unlink()


FORGERIES = (
    append,
    overwrite,
    rename_over,
    link_elsewhere,
    link_hard,
    link_to_nothing,
    make_directory,
    make_pipe,
    remove,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "precious").write_bytes(b"kept")
    folder = tmp_path / "runner"
    folder.mkdir()
    file = folder / "output"
    file.write_bytes(BEFORE)
    file.chmod(0o640)
    return file


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_what_was_planted_meanwhile_is_not_published(path: Path, forge: Callable[[Path], None]) -> None:
    file = remember(path)
    forge(path)
    file.publish(OURS, "outputs")
    assert path.read_bytes() == BEFORE + OURS
    assert not path.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert (path.parent.parent / "precious").read_bytes() == b"kept"
    assert [one.name for one in path.parent.iterdir() if one.name.startswith(".")] == []


def test_a_link_of_the_runners_own_is_followed_to_its_file_and_stays(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    remember(link).publish(OURS, "outputs")
    assert link.is_symlink()
    assert path.read_bytes() == BEFORE + OURS


def test_a_device_is_written_to_and_never_replaced() -> None:
    remember(Path(os.devnull)).publish(OURS, "summary")
    assert Path(os.devnull).is_char_device()


def test_a_folder_that_was_there_before_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    with pytest.raises(PublishError, match="outputs"):
        remember(tmp_path).publish(OURS, "outputs")
    assert (tmp_path / "kept").exists()


@pytest.mark.processes
def test_a_file_that_is_a_mount_point_of_its_own_is_written_anew_in_its_place(path: Path) -> None:
    """Nothing can be renamed over it, and so nobody else can have replaced it; only its content may be forged."""
    source = path.with_name("source")
    source.write_bytes(BEFORE)
    program = (
        "import sys; from pathlib import Path; from ratiba_action.github.step_files import remember\n"
        "path = Path(sys.argv[1]); file = remember(path)\n"
        f"path.write_bytes({FORGED!r} * 9); file.publish({OURS!r}, 'outputs')\n"
    )
    script = 'mount --bind "$1" "$2" && exec "$3" -c "$4" "$2"'
    mounter = shutil.which("unshare")
    python = sys.executable
    command = [mounter or "unshare", "--mount", "--map-root-user"]
    if mounter is None or subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs a mount namespace of its own: unshare --mount --map-root-user")
    done = subprocess.run(
        [*command, "sh", "-c", script, "sh", str(source), str(path), python, program],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert source.read_bytes() == BEFORE + OURS
    assert path.read_bytes() == BEFORE
