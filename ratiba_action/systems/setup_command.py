"""The set-up command: run in one copy of a system's files, or once for all copies in which it reads the same.

Files that a configuration declares to be all that set-up reads are proved to be: it runs in a folder that holds nothing
else. Whatever equal commands make of equal files there can serve both sides of a change (``docs/decisions/0042``).
"""

import asyncio
import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from ratiba_action.errors import WorkerError
from ratiba_action.systems.launch import launch, programs_of_the_gate
from ratiba_action.systems.link import describe_end
from ratiba_action.systems.scratch import MAX_DECLARED_BYTES, share
from ratiba_action.systems.workplace import (
    OWNED,
    Surroundings,
    Use,
    Workplace,
    create_workplace,
    download_environment,
    withheld,
)
from ratiba_action.util.folder_tree import paths_below, remove_tree
from ratiba_action.util.locked_folder import read_plain_file
from ratiba_action.util.text import printable_lines

State = Mapping[str, tuple[int, int]]
"""Inode and time of the last change of each path; no user can set the latter."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A set-up command and what it is given.

    Args:
        reads: every file that it reads, below the system's folder; None for any.
        timeout: seconds that it may take.
        configured: variables given by value.
        python: the interpreter of the configuration, which it may make.
    """

    argv: tuple[str, ...]
    reads: tuple[str, ...] | None
    timeout: float
    around: Surroundings
    configured: Mapping[str, str]
    python: str | None = None

    async def run(self, workplace: Workplace) -> None:
        """Run it; no process of it is left.

        Raises:
            WorkerError: it failed or took too long, with the end of what it printed.
        """
        command = await launch(
            self.argv,
            environment={**download_environment(self.around.inherited), **workplace.environment},
            cwd=workplace.copy,
            folder=workplace.folder,
            identity=workplace.identity,
            private=(*self.around.private, *workplace.closed),
            read_only=(*workplace.outside, *programs_of_the_gate()),
            hide_names=workplace.hide_names,
        )
        try:
            code, output = await command.wait(self.timeout)
        except TimeoutError as problem:
            output = printable_lines(await command.end())
            raise WorkerError(
                f"the set-up command {list(self.argv)!r} did not end within {self.timeout:g} s. It printed: {output}",
                self._remedy(),
            ) from problem
        finally:
            await command.end()
        if code != 0:
            message = f"the set-up command {list(self.argv)!r} {describe_end(code)}."
            raise WorkerError(f"{message} It printed: {printable_lines(output)}", self._remedy())

    def _remedy(self) -> str:
        names = ", ".join(withheld(self.around.inherited))
        note = f" It was not given the user and password of {names}: they are the runner's secret." if names else ""
        if self.reads is None:
            return f"Correct `system.setup`.{note}"
        return (
            f"Its folder held only what `system.setup_reads` names ({', '.join(self.reads) or 'no file'}): add each "
            "further file that it reads; or remove `system.setup_reads`, so that it runs in a copy of all files, as an "
            f"editable install needs, once for each side of a change.{note}"
        )

    def inputs(self, copy: Path) -> "Inputs":
        """All that its result can depend on, apart from the machine.

        Args:
            copy: of the system's files, in which no code runs yet.

        Raises:
            WorkerError: a declared file is missing, is no regular file, or lies behind a link.
        """
        files = dict[str, tuple[bytes, bool]]()
        for name in self.reads or ():
            try:
                content = read_plain_file(copy, name, MAX_DECLARED_BYTES)
                files[name] = content, bool((copy / name).lstat().st_mode & stat.S_IXUSR)
            except OSError as problem:
                raise WorkerError(
                    f"`system.setup_reads` names {name!r}, which cannot be read: {problem.strerror}.",
                    "Name regular files below `system.root` that git tracks, not links or folders.",
                ) from problem
        digests = [(name, hashlib.sha256(files[name][0]).hexdigest(), files[name][1]) for name in sorted(files)]
        variables = {**download_environment(self.around.inherited), **self.configured}
        described = json.dumps([self.argv, self.python, variables, digests], sort_keys=True)
        return Inputs(hashlib.sha256(described.encode()).hexdigest(), files)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a set-up command reads.

    Args:
        digest: of the files, the command, its variables and the interpreter.
        files: content by path, and whether it can be executed.
    """

    digest: str
    files: Mapping[str, tuple[bytes, bool]]

    def write(self, folder: Path) -> tuple[str, ...]:
        """Write the files to an empty folder.

        Raises:
            WorkerError: they cannot be written.
        """
        try:
            for name, (content, executable) in self.files.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                path.chmod(0o755 if executable else 0o644)
        except OSError as problem:
            raise WorkerError(f"cannot copy what `system.setup_reads` names: {problem}.") from problem
        return ()

    def require_unchanged(self, folder: Path) -> None:
        """Raise where set-up did not leave the files as they were written: that change would reach no copy.

        Raises:
            WorkerError: one of them has another content, or is gone.
        """
        for name, (content, _) in self.files.items():
            try:
                found = read_plain_file(folder, name, MAX_DECLARED_BYTES)
            except OSError:
                found = None
            if found != content:
                raise WorkerError(
                    f"the set-up command changed or removed {name!r}, which `system.setup_reads` names: the system's "
                    "files would not get that change.",
                    "Use a command that leaves the file as it is, such as `npm ci` or `uv sync --frozen`, or let it "
                    "write to a new file; or remove `system.setup_reads`, so that set-up runs in a copy of all files.",
                )


@dataclass(frozen=True, slots=True)
class SharedSetup:
    """What a set-up command made of declared files, read-only.

    Args:
        made: paths in its copy that it made, the topmost of each.
    """

    workplace: Workplace
    made: tuple[PurePosixPath, ...]
    state: State

    def link_into(self, copy: Path) -> None:
        """Let a copy of the system's files have what set-up made, by links.

        Raises:
            WorkerError: the system's files have such a name too.
        """
        for path in self.made:
            if os.path.lexists(copy / path):
                raise WorkerError(
                    f"the set-up command made {str(path)!r}, and the system's files contain that name too.",
                    "Rename one of them, let git ignore it where only your working tree has it, or remove "
                    "`system.setup_reads`, so that set-up runs in a copy of all files.",
                )
            (copy / path).symlink_to(self.workplace.copy / path)

    def altered(self) -> str:
        """The first path that was changed since it was shared, however; empty where none was."""
        now = state_of(self.workplace.folder)
        changed = sorted(path for path in {*self.state, *now} if self.state.get(path) != now.get(path))
        return os.path.relpath(changed[0], self.workplace.copy) if changed else ""


class SharedSetups:
    """The shared results of a run's set-up commands; each is made once, before any code that uses it runs."""

    def __init__(self) -> None:
        self._made: dict[str, SharedSetup | WorkerError] = {}
        self._making = asyncio.Lock()

    async def get(self, setup: Setup, copy: Path) -> SharedSetup:
        """What a set-up command makes of the files that it declares.

        Args:
            setup: with declared files.
            copy: of a system's files, in which no code runs yet.

        Raises:
            WorkerError: it failed, now or before, or its files cannot be read.
            ConfigurationError: the gate's secrets could not be kept from it here.
        """
        inputs = await asyncio.to_thread(setup.inputs, copy)
        async with self._making:
            made = self._made.get(inputs.digest)
            if made is None:
                making = create_workplace(
                    inputs.write, setup.around, setup.configured, python=setup.python, use=Use.SETUP
                )
                made = self._made[inputs.digest] = await _make(setup, inputs, await making)
        if isinstance(made, WorkerError):
            raise made
        return made

    async def altered(self) -> str:
        """A path of what was shared that was changed since; empty where none was."""
        for made in self._made.values():
            if isinstance(made, SharedSetup) and (path := await asyncio.to_thread(made.altered)):
                return path
        return ""


async def _make(setup: Setup, inputs: Inputs, workplace: Workplace) -> SharedSetup | WorkerError:
    """Run a command in its folder and close it; the error where that fails: it would fail again."""
    try:
        await setup.run(workplace)
        return await asyncio.to_thread(_close, workplace, inputs)
    except WorkerError as error:
        failure = error
    except OSError as problem:
        failure = WorkerError(f"what the set-up command made cannot be shared: {problem}.", "Correct `system.setup`.")
    await asyncio.to_thread(remove_tree, workplace.folder)
    return failure


def _close(workplace: Workplace, inputs: Inputs) -> SharedSetup:
    owner = workplace.identity.uid if workplace.identity is not None else os.geteuid()
    share((workplace.folder / name for name in OWNED), owner)
    inputs.require_unchanged(workplace.copy)
    given = [PurePosixPath(name) for name in inputs.files]
    folders = {parent for name in given for parent in name.parents}
    made = partial(_made, workplace.copy, given=frozenset(given), folders=folders)
    return SharedSetup(workplace, tuple(made(PurePosixPath())), state_of(workplace.folder))


def _made(
    copy: Path, place: PurePosixPath, *, given: frozenset[PurePosixPath], folders: set[PurePosixPath]
) -> Iterator[PurePosixPath]:
    """The topmost paths that are neither declared files nor the folders that these lie in."""
    for entry in sorted((copy / place).iterdir()):
        path = place / entry.name
        if path in folders and entry.is_dir() and not entry.is_symlink():
            yield from _made(copy, path, given=given, folders=folders)
        elif path not in given:
            yield path


def state_of(folder: Path) -> State:
    """Inode and time of the last change of a folder and of all in it."""
    found = dict[str, tuple[int, int]]()
    for path in paths_below(folder):
        with contextlib.suppress(OSError):  # it is gone, or closed: it was changed
            status = path.lstat()
            found[str(path)] = status.st_ino, status.st_ctime_ns
    return found
