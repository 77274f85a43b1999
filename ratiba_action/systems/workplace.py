"""Where untrusted code works: a copy of its files, a home, a temporary folder, and the user that it runs as."""

import asyncio
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from ratiba_action.errors import WorkerError
from ratiba_action.model.note import MachineNote
from ratiba_action.settings.settings import ENGINE
from ratiba_action.systems.launch import (
    JUDGING_USERS,
    UNUSED_USERS,
    Identity,
    allowed_environment,
    launch,
    unused_identity,
    worker_folder,
)
from ratiba_action.systems.scratch import Checkout, give_to, make_read_only
from ratiba_action.systems.separation import (
    ROOMS,
    has_landlock,
    in_container,
    memory_of_container,
    missing_layers,
    separation_warnings,
)
from ratiba_action.util.folder_tree import empty_folder, remove_tree
from ratiba_action.util.git import Git
from ratiba_action.worker import seccomp

_FOLDERS = ("ratiba-pg-*", ".ratiba-pg-*", "ratiba-run-*", ".ratiba-run-*")
_CHECKOUT_CREDENTIALS = "git-credentials-*"
_STEP_FILES = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "RATIBA_SEAL")


def private_places(environment: Mapping[str, str], report_dir: str) -> tuple[str, ...]:
    """Absolute paths, links followed; a ``*`` at the end stands for every name that begins so.

    The embedded database and the run's own folder, those of other runs too; the report, as it is staged as well; the
    folders of the files that a step hands to the runner, and of the socket by which containers are started.

    Args:
        report_dir: as the settings name it.
    """
    # The database takes the second one where a socket's path would become too long in the first.
    temporary = {Path(folder).resolve() for folder in (tempfile.gettempdir(), "/tmp")}  # noqa: S108 - nothing is made
    report = Path(os.path.realpath(report_dir))
    handed = filter(None, map(environment.get, (*_STEP_FILES, ENGINE)))
    steps = {str(Path(os.path.realpath(path)).parent) for path in handed}
    staged = report.with_name(f".{report.name}-*")
    folders = sorted(str(folder / name) for folder in temporary for name in _FOLDERS)
    return (*folders, str(ROOMS), str(report), str(staged), *sorted(steps - {"/", "/dev"}), *_inbox(environment))


def _inbox(environment: Mapping[str, str]) -> Iterator[str]:
    """What the action hands to the gate in a folder, but the certificates, which programs of the system read."""
    event = environment.get("GITHUB_EVENT_PATH")
    if not in_container(environment) or not event:
        return
    certificates = environment.get("SSL_CERT_FILE", "")
    for path in sorted(Path(event).parent.iterdir()) if Path(event).parent.is_dir() else ():
        if str(path) != certificates:
            yield str(path)


def places_of_job(git: Git | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """What a job holds beside the system's files: its checkout, with ``.git`` and all that git does not track.

    The system has a copy of what is tracked. Where the gate's own interpreter lies in the checkout, it stays open: the
    system may run by it.

    Args:
        git: the repository; None where there is none.
    """
    own = Path(sys.prefix).resolve()
    workspace = environment.get("GITHUB_WORKSPACE")
    tops = {Path(workspace).resolve()} if workspace else set[Path]()
    places = set[Path]()
    if git is not None:
        tops.add(git.root)
        places.update(git.folders)
    closed = {place for top in tops for place in _all_but(top, own)}
    temporary = environment.get("RUNNER_TEMP")
    more = [str(Path(temporary).resolve() / _CHECKOUT_CREDENTIALS)] if temporary else []
    return (*sorted(map(str, closed | places)), *more)


def _all_but(folder: Path, excluded: Path) -> Iterator[Path]:
    """A folder, or where something in it is kept, everything else in it."""
    if not excluded.is_relative_to(folder) or os.path.lexists(excluded / ".git"):
        yield folder
        return
    for entry in sorted(folder.iterdir()) if folder != excluded else ():
        yield from _all_but(entry, excluded) if excluded.is_relative_to(entry) else (entry,)


_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_AS_THEY_ARE = ("NO_PROXY", "no_proxy", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS")
_USER_INFORMATION = re.compile(r"(?P<scheme>[a-zA-Z0-9+.-]+://)?(?:.*@)?(?P<rest>[^@]*)", re.DOTALL)


def download_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """The gate's variables that name proxies and certificates, for the set-up command alone.

    A proxy's user and password are the runner's secret and stay out: whoever writes ``system.setup`` in a pull
    request could send them away.
    """
    found = {name: without_user(inherited[name]) for name in _PROXIES if inherited.get(name)}
    return found | {name: inherited[name] for name in _AS_THEY_ARE if inherited.get(name)}


def without_user(proxy: str) -> str:
    """A proxy's address without user and password, however they are spelled."""
    parts = _USER_INFORMATION.fullmatch(proxy)
    return f"{parts['scheme'] or ''}{parts['rest']}" if parts else ""


def withheld(inherited: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the proxy variables that lost their user and password."""
    return tuple(name for name in _PROXIES if without_user(inherited.get(name, "")) != inherited.get(name, ""))


PROBE = "import ctypes, json, resource, socket"
PROBE_SECONDS = 60.0
OWNED = ("copy", "home", "tmp")
BESIDE = "beside"
"""The folder of further copies. It is the gate's, and there from the start: Landlock opens no folder made later."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where untrusted code runs.

    Args:
        root: the checkout of its arm; copied, never written to.
        inherited: the gate's environment; only an allow-list of it is handed on.
        scratch: folder to work in; None for the system's temporary folder.
        checkout: the repository that ``root`` is of, and what of it is copied; None for every file.
        private: absolute paths that it must not open (``launch``).
        secrets: the gate holds some, so that a system which could reach its processes is refused.
        repository: the checkout of the run, an editable install of which means the copy; None where that is ``root``.
        uid: user to run as when the gate is root; None for one that nobody uses.
        commits: that ``root`` is of, of which a server that runs already names one; empty for a working tree.
    """

    root: Path
    inherited: Mapping[str, str]
    scratch: Path | None = None
    checkout: Checkout | None = None
    private: Sequence[str] = ()
    secrets: bool = False
    repository: Path | None = None
    uid: int | None = None
    commits: tuple[str, ...] = ()


class Use(Enum):
    """What a workplace is for; the value begins the name of its folder."""

    SYSTEM = "ratiba-worker-"
    JUDGING = "ratiba-judges-"
    TESTS = "ratiba-tests-"
    SETUP = "ratiba-setup-"


@dataclass(frozen=True, slots=True)
class Workplace:
    """The folders and the identity of one arm's untrusted code.

    Args:
        folder: holds all of the others; removed at the end.
        copy: the system's files, and the current folder of its code.
        python: absolute path of the interpreter.
        environment: the whole environment, without a scenario's own part.
        warnings: a separation that could not be had.
        left_out: warnings of files that were not copied.
        outside: folders in memory that nothing of it may write to, apart from its own folder.
        hide_names: private folders are not listed, as in the container, where nothing is imported from above them.
        use: rules and metrics work there, the system, tests, or a set-up command whose result is shared.
    """

    folder: Path
    copy: Path
    python: str
    identity: Identity | None
    environment: Mapping[str, str]
    warnings: tuple[str, ...]
    use: Use = Use.SYSTEM
    left_out: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    hide_names: bool = False

    @property
    def owned(self) -> tuple[tuple[int, int, int], ...]:
        """What the folders are that the code may write to: they are others if it has put something in their place."""
        found = ((self.folder / name).lstat() for name in OWNED)
        return tuple((each.st_dev, each.st_ino, stat.S_IFMT(each.st_mode)) for each in found)

    def renewed(self, copying: Callable[[Path], tuple[str, ...]]) -> "Workplace":
        """Empty the folders, and copy the files anew; no process may be working in them.

        Args:
            copying: as for ``create_workplace``.

        Raises:
            WorkerError: they cannot be emptied, or the files cannot be copied.
        """
        for name in OWNED:
            if not empty_folder(self.folder / name):
                raise WorkerError(f"the worker's folder {str(self.folder / name)!r} cannot be emptied.")
            (self.folder / name).chmod(0o700)
        left_out = copying(self.copy)
        if os.geteuid() == 0:
            _give(self.folder, self.identity or Identity(os.geteuid(), os.getegid()))
        return replace(self, left_out=left_out)

    @property
    def read_only(self) -> tuple[str, ...]:
        """Folders that no process of the fork server's may write to."""
        return (*self.outside, str(self.folder / "worker"), *([str(self.copy)] if self.use is Use.JUDGING else []))

    @property
    def closed(self) -> tuple[str, ...]:
        """Where the rules and metrics of every run beside it lie; for ``launch``. Its own folder is open to it."""
        return (str(self.folder.with_name(f"{Use.JUDGING.value}*")),)

    def with_copy(self, copying: Callable[[Path], tuple[str, ...]]) -> "Workplace":
        """The same with another copy of files, home and folder for temporary files; no code of theirs has run yet.

        Args:
            copying: see ``create_workplace``.
        """
        folder = _make_folder(self.folder / BESIDE, "arm-")
        _make_owned(folder)
        left_out = copying(folder / "copy")
        if self.identity is not None:
            _give(folder, self.identity)
        return replace(self, copy=folder / "copy", left_out=(*self.left_out, *left_out))

    @property
    def private_variables(self) -> Mapping[str, str]:
        """The environment variables that name folders of this copy's own."""
        return {"HOME": str(self.copy.with_name("home")), "TMPDIR": str(self.copy.with_name("tmp"))}

    def seal(self) -> None:
        """Let nobody but the gate change the copy, where its code has a user of its own."""
        if self.identity is not None:
            make_read_only(self.copy, self.identity.gid)

    @property
    def server_command(self) -> tuple[str, ...]:
        """The fork server's command, without its arguments."""
        return (self.python, "-u", "-B", str(self.folder / "worker" / "start.py"), "fork_server")

    @property
    def isolated_command(self) -> tuple[str, ...]:
        """The same in an interpreter that starts without a line of the repository or of a package."""
        python, *rest = self.server_command
        return (python, "-I", "-S", *rest)


async def create_workplace(
    copying: Callable[[Path], tuple[str, ...]],
    around: Surroundings,
    configured: Mapping[str, str],
    *,
    python: str | None,
    use: Use,
) -> Workplace:
    """Make the folders, copy the files, choose the user.

    Args:
        copying: writes the files to an empty folder, and says what a reader should know about them.
        around: where its code runs.
        configured: variables given by value.
        python: interpreter, as the configuration names it.
        use: what it is for; where rules and metrics work is closed to every system under test.

    Raises:
        WorkerError: the files cannot be copied or the interpreter is not there.
        ConfigurationError: the gate holds secrets, and the kernel cannot keep them from this code.
    """
    try:
        folder = await asyncio.to_thread(_make_folder, around.scratch, use.value)
    except OSError as problem:
        raise WorkerError(f"cannot make a folder for the worker in {str(around.scratch)!r}: {problem}.") from problem
    try:
        return await _furnish(folder, copying, around, configured, python=python, use=use)
    except BaseException:
        await asyncio.to_thread(remove_tree, folder)
        raise


async def _furnish(
    folder: Path,
    copying: Callable[[Path], tuple[str, ...]],
    around: Surroundings,
    configured: Mapping[str, str],
    *,
    python: str | None,
    use: Use,
) -> Workplace:
    inherited = around.inherited
    copy, home, temporary = (folder / name for name in OWNED)
    environment = allowed_environment(inherited, home, temporary, configured)
    await asyncio.to_thread(_make_folders, folder)
    interpreter = _find_python(python, copy, environment["PATH"])
    left_out = await asyncio.to_thread(copying, copy)
    warnings: list[str] = []
    identity = None
    if os.geteuid() == 0:
        identity = (
            Identity(around.uid, around.uid)
            if around.uid is not None
            else unused_identity(JUDGING_USERS if use is Use.JUDGING else UNUSED_USERS)
        )
        plain = allowed_environment(inherited, home, temporary, {})
        if not await _can_run(_probe_of(interpreter, copy), folder, plain, identity, around.private):
            if interpreter != sys.executable:
                raise WorkerError(
                    f"another user than the gate's cannot run the interpreter {interpreter!r}.",
                    "Make it and its folders readable for everybody, or run the gate as an ordinary user.",
                )
            warnings.append(
                MachineNote(
                    "The system runs as the gate's own user, without capabilities, since another user cannot run "
                    f"{interpreter!r}. Files that only root may read are not hidden from it.",
                    "Run the gate as an ordinary user.",
                )
            )
            identity = None
            await asyncio.to_thread(_give, folder, Identity(os.geteuid(), os.getegid()))
    warnings += separation_warnings(same_user=identity is None, landlock=has_landlock(), secrets=around.secrets)
    warnings += missing_layers(inherited, folder, seccomp.missing(same_user=identity is None))
    return Workplace(
        *(folder, copy, interpreter, identity, environment, tuple(warnings), use, left_out),
        outside=memory_of_container(inherited),
        hide_names=in_container(inherited),
    )


def _give(folder: Path, identity: Identity) -> None:
    for name in OWNED:
        give_to(folder / name, identity.uid, identity.gid)


def _make_folder(scratch: Path | None, prefix: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=prefix, dir=scratch and scratch.absolute())).resolve()


def _make_owned(folder: Path) -> None:
    folder.chmod(0o711)
    for name in OWNED:
        (folder / name).mkdir(mode=0o700)


def _make_folders(folder: Path) -> None:
    _make_owned(folder)
    (folder / BESIDE).mkdir()
    (folder / BESIDE).chmod(0o711)
    for source in worker_folder().rglob("*.py"):
        copied = folder / "worker" / source.relative_to(worker_folder())
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.parent.chmod(0o755)
        shutil.copyfile(source, copied)
        copied.chmod(0o644)


def _find_python(python: str | None, copy: Path, path: str) -> str:
    if python is None:
        return sys.executable
    if "/" in python:
        return str(copy / python)  # an absolute path stays as it is
    found = shutil.which(python, path=path)
    if found is None:
        raise WorkerError(f"no interpreter {python!r} is on PATH {path!r}.", "Correct `system.python`.")
    return found


def _probe_of(interpreter: str, copy: Path) -> list[str]:
    """What the chosen user must be able to run; an interpreter that set-up makes does not exist yet."""
    if Path(interpreter).is_relative_to(copy):
        return ["/bin/sh", "-c", ":"]
    return [interpreter, "-I", "-c", PROBE]


async def _can_run(
    argv: list[str], folder: Path, environment: Mapping[str, str], identity: Identity, private: Sequence[str]
) -> bool:
    """Give the folders to a user and try a command as that user, where no file or variable of the change counts."""
    try:
        await asyncio.to_thread(_give, folder, identity)
    except PermissionError:
        return False
    # The interpreter itself may be a file of the change's.
    command = await launch(
        argv, environment=environment, cwd=Path("/"), folder=folder, identity=identity, private=private
    )
    try:
        code, _ = await command.wait(PROBE_SECONDS)
    except TimeoutError:
        return False
    finally:
        await command.end()
    return code == 0
