"""Code of the repository under test looks for the gate's secrets in every place that its process can reach."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import ratiba_action
from ratiba_action.errors import WorkerError
from ratiba_action.model.scenario import Turn
from ratiba_action.systems.worker_system import WorkerSystem
from ratiba_action.worker import kernel
from tests.systems.workers import open_session, worker_system

HERE = Path(__file__).parent
OTHER_USER = 1001
NO_CAPABILITIES = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}


def runs(python: str, uid: int | None) -> bool:
    """Whether a user can run an interpreter that is new enough for the gate."""
    try:
        done = subprocess.run(
            [python, "-c", "import sys, asyncio; sys.exit(sys.version_info < (3, 11))"],
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
            cwd="/",
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


def interpreter_for(uid: int | None) -> str | None:
    candidates = (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3")
    return next((python for python in candidates if runs(python, uid)), None)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can enter: the package, the burglar's repository, and the planted files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        package = Path(ratiba_action.__file__).parent
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package, folder / "code" / "ratiba_action", ignore=ignored)
        (folder / "repository").mkdir()
        shutil.copy(HERE / "burglar.py", folder / "repository")
        shutil.copy(HERE / "gate_process.py", folder)
        (folder / "secrets").mkdir()
        yield folder


def run_gate(
    place: Path,
    *,
    gate_uid: int | None,
    python: str,
    gate_python: str,
    through_shell: bool,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    secret = f"PLANTED_{secrets.token_hex(8)}"
    kept = place / "secrets" / "kept.txt"
    kept.write_text(secret)
    kept.chmod(0o600)
    if gate_uid is not None:
        os.chown(kept, gate_uid, gate_uid)
    command = [gate_python, str(place / "gate_process.py"), str(place / "repository"), python, str(place / "secrets")]
    if through_shell:  # a parent of the same user that holds the key, as `make` does on a laptop
        command = ["/bin/sh", "-c", '"$@"; exit $?', "sh", *command]
    done = subprocess.run(
        command,
        user=gate_uid,
        group=gate_uid,
        extra_groups=None if gate_uid is None else [],
        cwd="/",
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(place / "code"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "ANTHROPIC_API_KEY": secret,
            "OPENAI_API_KEY": secret,
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def assert_nothing_was_found(found: dict[str, Any]) -> None:
    assert found["environment"] is False
    for part in ("environ", "cmdline", "fd", "maps"):
        assert found[part] == [], part
    assert found["gate"] not in found["opened_memory"]
    assert found["gate"] not in found["moved"]
    own = {"/dev/null", "pipe:[N]", "socket:[N]", "anon_inode:[eventpoll]", ""}  # "" is the listing itself
    assert set(found["descriptors"]) <= own
    assert found["descriptors"].count("socket:[N]") == 1  # the channel
    assert found["capabilities"]["NoNewPrivs"] == "1"
    assert {int(found["capabilities"][name], 16) for name in NO_CAPABILITIES} == {0}


def test_a_worker_of_another_user_finds_no_secret(place: Path) -> None:
    root = os.geteuid() == 0
    python = interpreter_for(OTHER_USER if root else None)
    assert python is not None, "no interpreter that another user can run; install python3 outside root's home"
    found = run_gate(place, gate_uid=None, python=python, gate_python=sys.executable, through_shell=root)
    assert_nothing_was_found(found)
    if root:
        assert found["uid"] not in (0, found["gate_uid"])
        assert found["groups"] == []
        assert found["files"] == []
        assert found["warnings"] == []


def test_a_module_of_the_change_cannot_end_the_separation_of_users(place: Path) -> None:
    """The trial of the interpreter as another user must not import what lies in the system's folder."""
    root = os.geteuid() == 0
    python = interpreter_for(OTHER_USER if root else None)
    assert python is not None, "no interpreter that another user can run; install python3 outside root's home"
    (place / "repository" / "resource.py").write_text("import os\nif os.getuid():\n    raise SystemExit(1)\n")
    found = run_gate(place, gate_uid=None, python=python, gate_python=sys.executable, through_shell=root)
    assert found["warnings"] == []
    assert (found["uid"] != found["gate_uid"]) == root


def test_a_worker_of_the_same_plain_user_cannot_read_the_gate(place: Path) -> None:
    uid = OTHER_USER if os.geteuid() == 0 else None
    python = interpreter_for(uid)
    assert python is not None, "no interpreter that a plain user can run; install python3 outside root's home"
    # Only a user namespace hides the gate's parent; some container runtimes forbid one.
    through_shell = kernel.can_enter_user_namespace()
    found = run_gate(place, gate_uid=uid, python=python, gate_python=python, through_shell=through_shell)
    assert_nothing_was_found(found)
    assert found["protected"] is True
    assert found["uid"] == found["gate_uid"] != 0


def test_the_gates_own_interpreter_that_no_other_user_can_reach_runs_as_that_user_and_root_says_so(place: Path) -> None:
    """Such as one in root's home: its worker has no capabilities, and that is the last resort."""
    root = os.geteuid() == 0
    hidden = place / "hidden"
    hidden.mkdir(mode=0o700)
    (hidden / "python").symlink_to(interpreter_for(None) or sys.executable)
    own = str(hidden / "python")
    found = run_gate(place, gate_uid=None, python=own, gate_python=own, through_shell=root)
    assert_nothing_was_found(found)
    assert found["uid"] == found["gate_uid"] == os.geteuid()
    assert len(found["warnings"]) == root  # a plain user has no other user to lend
    assert all("runs as the gate's own user, without capabilities" in warning for warning in found["warnings"])


async def test_a_configured_interpreter_never_ends_the_separation_of_users(place: Path) -> None:
    hidden = place / "hidden"
    hidden.mkdir(mode=0o700)
    (hidden / "python").symlink_to(interpreter_for(None) or sys.executable)
    system = worker_system(place / "repository", "burglar:Adapter", python=str(hidden / "python"))
    try:
        if os.geteuid() == 0:
            with pytest.raises(WorkerError, match="another user than the gate's cannot run the interpreter"):
                await system.start()
        else:
            await system.start()
            assert system.warnings == ()  # a plain user has no other user to lend
    finally:
        await system.close()


async def test_a_conversation_cannot_read_the_memory_or_environment_of_another(
    start_worker: Callable[..., Awaitable[WorkerSystem]],
) -> None:
    system = await start_worker("""
        import os
        class Adapter:
            def open(self, context):
                return self
            def send(self, message):
                if message == "pid":
                    return {"text": str(os.getpid())}
                opened = []
                for part in ("mem", "environ", "fd/0", "maps"):
                    path = f"/proc/{message}/{part}"
                    try:
                        os.close(os.open(path, os.O_RDONLY))
                        opened.append(part)
                    except PermissionError:
                        pass
                return {"text": " ".join(opened)}
    """)
    victim, burglar = await open_session(system, "victim"), await open_session(system, "burglar")
    pid = (await victim.send(Turn(user="pid"))).text
    assert (await burglar.send(Turn(user=pid))).text == ""


def test_root_of_a_container_without_capabilities_runs_the_worker_as_itself(place: Path) -> None:
    found = run_gate(
        place,
        gate_uid=None,
        python=sys.executable,
        gate_python=sys.executable,
        through_shell=False,
        environment={"DROP": "1"},
    )
    assert_nothing_was_found(found)
    assert found["uid"] == found["gate_uid"]
    assert len(found["warnings"]) == (os.geteuid() == 0)


def test_protect_process_hides_a_process_from_its_own_user() -> None:
    program = """
import os, sys
from ratiba_action.model.scenario import Turn
from ratiba_action.settings.environment import protect_process
from ratiba_action.systems.worker_session import WorkerSession
from ratiba_action.systems.worker_system import WorkerSystem
from tests.systems.workers import open_session, worker_system
before = os.stat(f"/proc/{os.getpid()}/environ").st_uid
protected = protect_process()
import resource
after = os.stat(f"/proc/{os.getpid()}/environ").st_uid
print(before == os.geteuid(), protected, after, resource.getrlimit(resource.RLIMIT_CORE)[0])
"""
    package = Path(ratiba_action.__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", program], cwd=package, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "0", "0"]
