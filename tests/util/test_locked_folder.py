import fcntl
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ratiba_action.util.locked_folder import PlainFiles, make_locked_folder, sweep_folders

HOLDER = """
import sys
from pathlib import Path
from ratiba_action.util.locked_folder import make_locked_folder
print(make_locked_folder(Path(sys.argv[1]), "run-").path, flush=True)
sys.stdin.read()
"""


def hold(base: Path) -> "tuple[subprocess.Popen[str], Path]":
    """Another process with a folder of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(base)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


@pytest.mark.processes
def test_a_folder_of_a_killed_process_is_swept_and_one_of_a_live_process_stays(tmp_path: Path) -> None:
    killed, dead = hold(tmp_path)
    living, live = hold(tmp_path)
    try:
        killed.kill()
        killed.communicate()
        (dead / "data").write_text("left behind")
        assert sweep_folders(tmp_path, "run-") == (dead,)
        assert not dead.exists()
        assert live.exists()
    finally:
        living.communicate("")


def test_after_a_plain_file_of_a_folder_no_link_in_it_is_followed_either(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "below").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (root / "below" / "plain").write_bytes(b"a" * 100_000)
    (root / "below" / "link").symlink_to(tmp_path / "secret")
    (root / "below" / "inside").symlink_to("plain")
    (root / "linked").symlink_to("below")
    files = PlainFiles(root)

    assert files.read("below/plain") == b"a" * 100_000
    for name in ("below/link", "below/inside", "linked/plain", "../secret", "below/../below/plain"):
        for _ in range(2):
            with pytest.raises(OSError, match="symbolic link"):
                files.read(name)
    with pytest.raises(OSError, match="at most 99,999 are read"):
        files.read("below/plain", 99_999)
    with pytest.raises(IsADirectoryError):
        files.read("below")
    with pytest.raises(FileNotFoundError):
        files.read("below/absent")


def test_a_folder_that_is_removed_is_gone_with_its_lock(tmp_path: Path) -> None:
    folder = make_locked_folder(tmp_path, "run-")
    folder.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.processes
def test_what_nobody_may_write_to_goes_with_its_folder() -> None:
    child = os.fork()
    if child == 0:  # root may write to everything
        code = 1
        try:
            if os.geteuid() == 0:
                os.setresuid(54_321, 54_321, 54_321)
            folder = make_locked_folder(Path("/tmp"), "ratiba-closed-")  # noqa: S108 - open to every user
            (folder.path / "made" / "deep").mkdir(parents=True)
            (folder.path / "made" / "deep" / "file").touch(0o400)
            (folder.path / "made" / "deep").chmod(0o555)
            (folder.path / "made" / "closed").mkdir(0)
            (folder.path / "made").chmod(0o555)
            folder.remove()
            code = int(folder.path.exists())
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_others_may_pass_through_a_folder_and_not_list_it(tmp_path: Path) -> None:
    folder = make_locked_folder(tmp_path, "run-")
    assert folder.path.stat().st_mode & 0o777 == 0o711
    folder.remove()


def test_what_has_no_lock_another_name_or_is_a_link_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run-without-lock").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/lock").touch()
    (tmp_path / "run-link").symlink_to(tmp_path / "other")
    assert sweep_folders(tmp_path, "run-") == ()
    assert len(list(tmp_path.iterdir())) == 3


def test_whoever_sweeps_can_end_what_still_runs_in_a_folder(tmp_path: Path) -> None:
    folder = make_locked_folder(tmp_path, "run-")
    os.close(folder.lock)
    seen: list[Path] = []
    sweep_folders(tmp_path, "run-", before=seen.append)
    assert seen == [folder.path]


def test_what_a_crash_left_before_the_folder_had_its_name_is_swept(tmp_path: Path) -> None:
    bare, unlocked = tmp_path / ".run-bare", tmp_path / ".run-unlocked"
    bare.mkdir()
    unlocked.mkdir()
    (unlocked / "lock").touch()
    assert sweep_folders(tmp_path, "run-") == (bare, unlocked)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_still_being_made_and_hidden_ones_of_others_are_left_alone(tmp_path: Path) -> None:
    for name in (".run-locked", ".run-without-lock", ".other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data").touch()
    with (tmp_path / ".run-locked/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert sweep_folders(tmp_path, "run-") == ()
    assert len(list(tmp_path.iterdir())) == 3


def test_no_folder_is_lost_to_a_neighbours_sweep_while_it_is_made(tmp_path: Path) -> None:
    def make() -> None:
        for _ in range(500):
            folder = make_locked_folder(tmp_path, "run-")
            (folder.path / "data").write_text("in use")
            assert (folder.path / "lock").samefile(f"/proc/self/fd/{folder.lock}")
            folder.remove()

    def sweep() -> None:
        for _ in range(500):
            sweep_folders(tmp_path, "run-")

    with ThreadPoolExecutor(6) as neighbours:
        for done in [neighbours.submit(work) for work in (make, sweep) * 3]:
            done.result()
    assert [path for path in tmp_path.iterdir() if not path.name.startswith(".")] == []
    sweep_folders(tmp_path, "run-")
    assert list(tmp_path.iterdir()) == []
