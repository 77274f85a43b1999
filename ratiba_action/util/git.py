"""Every call of git that the product makes, in one repository that is resolved once. Standard library only.

A change can bury a repository of its own in its files, whose configuration names commands; git would discover it from a
folder below. So the repository is the one whose ``.git`` lies at the checkout's root, which no commit can hold, and
every call names it. Only commands that neither read nor write the content of the work tree are run: no filter, hook,
file system monitor, external diff or pager has a part in them (``docs/decisions/0027-one-way-to-git.md``).
"""

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self

from ratiba_action.errors import GitError, InfrastructureError

LINK, EXECUTABLE, PLAIN, SUBMODULE = "120000", "100755", "100644", "160000"
"""Modes of a tree's entries."""
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}", re.ASCII)
_SECONDS = 60
_SHA256_DIGITS = 64
_GROUP = 500
"""Ids that fit into a pipe together, so that neither side waits for the other."""
_PIECE = 1 << 20
_OPTIONS = (
    "--no-pager",
    "--literal-pathspecs",
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.untrackedCache=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.quotePath=off"),
)
# `none` would start git in every submodule, under that submodule's own configuration.
_DIFF = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty")
_FIXED = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # Neither `refs/replace` nor `info/grafts`: a commit is what its id says.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    # A partial clone is not completed: that would run whatever its configuration names to reach its remote. An older
    # git does not know the first of these; the second allows it no protocol, not even its own.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "LC_ALL": "C",
}
_NO_USER = {"HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
_USER = ("HOME", "XDG_CONFIG_HOME")
_FULL_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_USAGE = 129
"""Exit code of git for an option that it does not know."""
_NEWER = "Install git 2.30 or newer; `git --version` says which one this is."
_MISSING = ("missing", "unable to read", "could not read", "bad object", "not a tree object", "could not fetch")


class TreeEntry(NamedTuple):
    """A file, link or submodule as a commit or the index holds it.

    Args:
        mode: six octal digits, such as ``100644``.
        id: of the blob, or the commit of a submodule.
        skipped: a sparse checkout leaves it out of the work tree; only an entry of the index can be.
    """

    mode: str
    id: str
    skipped: bool = False


def find_checkout(folder: Path) -> Path | None:
    """The nearest folder, from this one upwards, that has a ``.git``; None when there is none.

    Nothing else makes a folder a repository: a commit can hold everything that git takes for a bare one.

    Args:
        folder: inside the checkout.
    """
    real = folder.resolve()
    return next((folder for folder in (real, *real.parents) if os.path.lexists(folder / ".git")), None)


def installed_version(folder: Path, environment: Mapping[str, str]) -> str | None:
    """What ``git --version`` prints; None without git. A program inside the folder is not run, and gets no secret."""
    path = _path_outside(folder, environment.get("PATH", os.defpath))
    command, given = [_program(path), "--version"], {"PATH": path}
    try:
        done = subprocess.run(command, cwd="/", env=given, capture_output=True, check=False, timeout=_SECONDS)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None


def run_bare(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], given: bytes, seconds: float
) -> "subprocess.CompletedProcess[bytes]":
    """Run git in a folder of the gate's own, with this environment alone, no hooks and no redirection to another host.

    Args:
        environment: whole; no program in the checkout of the current folder is run, whatever ``PATH`` says.
        given: to standard input.

    Raises:
        GitError: git is not installed, or took longer.
    """
    path = _trusted_path(environment)
    options = ("-c", f"core.hooksPath={os.devnull}", "-c", "http.followRedirects=false")
    command, env = [_program(path), *options, *arguments], {**environment, "PATH": path}
    try:
        return subprocess.run(
            command, cwd=folder, env=env, input=given, capture_output=True, check=False, timeout=seconds
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git could not be run: {type(error).__name__}.", "Install git.") from error


def bare_blobs(folder: Path, environment: Mapping[str, str]) -> "Blobs":
    """A reader of the objects of a bare repository of the gate's own, to be used in ``with``.

    Args:
        environment: as ``run_bare`` takes it.
    """
    path = _trusted_path(environment)
    command = [_program(path), "--git-dir", str(folder), "cat-file", "--batch"]
    return Blobs(command, {**environment, "PATH": path})


def _trusted_path(environment: Mapping[str, str]) -> str:
    """The folders of programs, without those in the checkout of the current folder."""
    checkout, path = find_checkout(Path.cwd()), environment.get("PATH", os.defpath)
    return path if checkout is None else _path_outside(checkout, path)


def _program(path: str) -> str:
    found = (os.path.join(folder, "git") for folder in path.split(os.pathsep))  # noqa: PTH118 - `shutil` takes 5 ms
    return next((file for file in found if os.path.isfile(file) and os.access(file, os.X_OK)), "git")  # noqa: PTH113


class Git:
    """A repository with its work tree, read-only.

    Args:
        folder: a folder inside the work tree.
        environment: of the caller; git gets ``PATH``, ``HOME`` and ``XDG_CONFIG_HOME`` of it at most.

    Attributes:
        root: top folder of the work tree.
        folders: where git keeps what belongs to it: one folder, or two of a work tree beside others.

    Raises:
        InfrastructureError: git is missing, or the folder is in no work tree.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        root = find_checkout(folder)
        if root is None:
            raise InfrastructureError(
                f"The folder {str(folder)!r} is not in a git repository.",
                "Run the command in a git repository, or name one with --repo. In a workflow, run actions/checkout "
                "before this step, on a runner with git: without git, it only downloads the files.",
            )
        self.root = root
        self._given = environment
        path = _path_outside(root, environment.get("PATH", os.defpath))
        self._program = _program(path)
        self._environment = {"PATH": path, **_FIXED, **_NO_USER}
        user = {name: value for name in _USER if (value := environment.get(name))}
        self._user_environment = {"PATH": path, **_FIXED, **user}
        self._folder = str(root / ".git")
        self._answers: dict[tuple[object, ...], str] | None = None
        asked = ("rev-parse", "--absolute-git-dir", "--git-common-dir", "--is-shallow-repository")
        self._folder, common, shallow = self.run(*asked).splitlines()
        self._shallow = shallow != "false"  # an older git answers with the question
        # Of the two commits that were asked for last: a run asks for its base's again and again.
        self._trees: dict[str, dict[str, TreeEntry]] = {}
        self.folders = tuple(dict.fromkeys(Path(folder).resolve() for folder in (self._folder, str(Path("/", common)))))

    def remember(self) -> None:
        """Ask git each question once until ``forget``: while no code of a change runs, the answers stay as they are."""
        self._answers = {}

    def forget(self) -> None:
        """Ask git again from now on: what runs may change the answers. To be called before code of a change runs."""
        self._answers = None

    def run(self, *arguments: str, given: str = "", user: bool = False) -> str:
        """Output of a git command, decoded with ``surrogateescape``.

        Args:
            arguments: a plumbing command that does not look into files of the work tree, and its options.
            user: whether the user's own configuration counts.

        Raises:
            InfrastructureError: git is missing, failed, or took too long.
        """
        question, known = (arguments, given, user), self._answers
        if known is None:
            return self._run(arguments, given, user=user)
        if question not in known:
            known[question] = self._run(arguments, given, user=user)  # into what another thread may have forgotten
        return known[question]

    def _run(self, arguments: Sequence[str], given: str, *, user: bool) -> str:
        try:
            done = subprocess.run(
                self._command(*arguments),
                cwd="/",
                env=self._user_environment if user else self._environment,
                input=given.encode("utf-8", "surrogateescape"),
                capture_output=True,
                check=False,
                timeout=_SECONDS,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise GitError(
                f"git could not be run in {str(self.root)!r}: {error}.", "Install git and check the folder."
            ) from error
        if done.returncode != 0:
            message = done.stderr.decode("utf-8", "replace").strip()
            last = message.splitlines()[-1] if message else str(done.returncode)
            absent = any(word in message.lower() for word in _MISSING)
            remedy = _NEWER if done.returncode == _USAGE else self.remedy() if absent else ""
            raise InfrastructureError(f"'git {arguments[0]}' failed in {str(self.root)!r}: {last}.", remedy)
        return done.stdout.decode("utf-8", "surrogateescape")

    def _command(self, *arguments: str) -> list[str]:
        return [self._program, *_OPTIONS, f"--git-dir={self._folder}", f"--work-tree={self.root}", *arguments]

    def remedy(self) -> str:
        """What to do about an object that is not in this clone."""
        try:
            keys = self.run("config", "--name-only", "-z", "--list").casefold()
        except InfrastructureError:
            keys = ""
        if "extensions.partialclone\0" in keys or ".promisor\0" in keys:
            return "Check out without 'filter:', since this clone is a partial one."
        return "Check out with fetch-depth: 2 or more, and without 'filter:'."

    def first_commit(self, names: Sequence[str]) -> tuple[str, str] | None:
        """The first of these names that is a commit's in the repository, with its full id; None when none is.

        Args:
            names: of branches or commits, without line breaks.
        """
        given = "".join(f"{name}^{{commit}}\n" for name in names)
        answers = self.run("cat-file", "--batch-check=%(objectname) %(objecttype)", given=given).splitlines()
        found = (
            (name, answer.split()[0]) for name, answer in zip(names, answers, strict=True) if answer.endswith(" commit")
        )
        return next(found, None)

    def commit(self, name: str) -> str | None:
        """Full id of a commit that is in the repository, None when it is not.

        Raises:
            GitError: git could not be run, so that nobody knows.
        """
        if name.startswith("-"):  # git before 2.30 takes --end-of-options for a commit that is not there
            return None
        try:
            return self.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").strip()
        except GitError:
            raise
        except InfrastructureError:
            return None

    def parents(self, commit: str) -> tuple[str, ...]:
        """Parents that a commit names, whether a shallow clone holds them or not."""
        header = self.run("cat-file", "commit", commit).partition("\n\n")[0]
        return tuple(line[7:] for line in header.splitlines() if line.startswith("parent "))

    def merge_base(self, first: str, second: str) -> str | None:
        """The best common ancestor, None when there is none or history is cut off before it.

        Raises:
            GitError: git could not be run, so that nobody knows.
        """
        try:
            return self.run("merge-base", "--end-of-options", first, second).strip() or None
        except GitError:
            raise
        except InfrastructureError:
            return None

    def changed(self, base: str, head: str) -> tuple[str, ...]:
        """Paths that differ between two commits; the work tree has no part in it.

        Raises:
            InfrastructureError: a folder of one of them is not in this clone.
        """
        return _names(self.run(*_DIFF, base, head, "--"))

    @property
    def is_shallow(self) -> bool:
        """Whether the clone's history was cut off when it was opened."""
        return self._shallow

    def last_commit(self, name: str, commit: str) -> str:
        """Short id of the last commit up to this one that touched a path; empty when none did, or history is cut off.

        It has seven digits, or as many as tell it apart: git's own length depends on the size of the clone.
        A shallow clone knows it where the commit has its parents there: one at the edge of the clone seems to add
        every file, whoever wrote it.

        Raises:
            InfrastructureError: folders of an earlier commit are not in this clone.
        """
        found = self.run("rev-list", "-1", "--parents", commit, "--", name).split()
        if not found:
            return ""
        if self.is_shallow and self.parents(found[0]):
            # rev-list knows the parents that are there, the commit itself names all of them.
            present = self.run("rev-list", "-1", "--parents", found[0]).split()[1:]
            if len(present) < len(self.parents(found[0])):
                return ""
        return self.run("rev-parse", "--short=7", found[0]).strip()

    def tree(self, commit: str, under: str = "") -> Mapping[str, TreeEntry]:
        """Files, links and submodules of a commit by path, sorted.

        Args:
            commit: full id, or ``HEAD``.
            under: a path of it: that file, or everything in that folder; empty for everything.

        Raises:
            InfrastructureError: the commit, or a folder of it, is not in this clone.
        """
        if commit in self._trees:
            known = self._trees[commit]
            return known if not under else {path: known[path] for path in known if _is_under(path, known[path], under)}
        listed = self.run("ls-tree", "-r", "-z", "--full-tree", commit, *(["--", under] if under else []))
        entries: dict[str, TreeEntry] = {}
        for line in filter(None, listed.split("\0")):
            mode, _, rest = line.split(" ", 2)
            identifier, _, path = rest.partition("\t")
            entries[path] = TreeEntry(mode, identifier)
        if not under and _FULL_ID.fullmatch(commit):
            self._trees = {**dict([*self._trees.items()][-1:]), commit: entries}
        return entries

    def index(self, under: str = "") -> dict[str, TreeEntry]:
        """What is tracked, by path; of a file in conflict one of its versions.

        Args:
            under: as ``tree`` takes it.
        """
        entries = {}
        for line in _names(self.run("ls-files", "-z", "--stage", "-t", *(["--", under] if under else []))):
            described, _, path = line.partition("\t")
            tag, mode, identifier, _ = described.split(" ")
            entries[path] = TreeEntry(mode, identifier, tag == "S")
        return entries

    def untracked(self, under: str = "") -> tuple[str, ...]:
        """Paths that are neither tracked nor ignored; a repository of its own ends in a slash.

        What the user's own ``core.excludesFile`` names is ignored too.

        Args:
            under: as ``tree`` takes it.
        """
        options = ("ls-files", "-z", "--others", "--exclude-standard")
        return _names(self.run(*options, *(["--", under] if under else []), user=True))

    def attributes(self, names: Sequence[str], paths: Sequence[str]) -> dict[str, dict[str, str]]:
        """Values of git's attributes by path and name.

        Args:
            paths: in the work tree.
        """
        given = "".join(f"{path}\0" for path in paths)
        fields = self.run("check-attr", "-z", "--stdin", *names, given=given, user=True).split("\0")
        found: dict[str, dict[str, str]] = {}
        for path, name, value in zip(fields[0::3], fields[1::3], fields[2::3], strict=False):
            found.setdefault(path, {})[name] = value
        return found

    def setting(self, name: str, kind: str = "") -> str:
        """A value of the configuration, the user's own included; empty where it is not set.

        Args:
            name: such as ``core.fileMode``.
            kind: that git is to read it as, such as ``bool``; empty for any text.
        """
        try:
            # An empty answer is one to be remembered, unlike a failure; with a type it would be that type's, not empty.
            unset = f"--type={kind}" if kind else "--default="
            return self.run("config", unset, "--get", name, user=True).strip()
        except InfrastructureError:
            return ""

    def submodule(self, folder: Path) -> "Git":
        """The repository of a submodule that is checked out.

        Raises:
            InfrastructureError: it cannot be used.
        """
        return Git(folder, self._given)

    def blobs(self) -> "Blobs":
        """A reader of objects, to be used in ``with``."""
        return Blobs(self._command("cat-file", "--batch"), self._environment)


class Blobs:
    """Reads the content of files of commits through one process, started when it is needed.

    Args:
        command: ``git cat-file --batch``.
    """

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        self._command = command
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process; it starts again when it is needed."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def read(self, name: str, maximum: int) -> bytes | None:
        """Content of a file, None when it is not in this clone.

        Args:
            name: id of a blob, or ``commit:path`` without a line break.
            maximum: bytes that it may have.

        Raises:
            InfrastructureError: it is no file, or larger.
            GitError: git could not be run, or did not live to answer.
        """
        try:
            return self._read(name, maximum)
        except (OSError, subprocess.TimeoutExpired) as error:
            self.stop()
            raise GitError(f"git could not read {name[:300]!r}: {error}.") from error
        except ValueError as error:
            self.stop()
            raise InfrastructureError(f"git could not read {name[:300]!r}: {error}.") from error

    def first_lines(self, ids: Sequence[str], maximum: int) -> Iterator[bytes]:
        """The first line of each blob, with its end; asked for in groups, since one question after another takes long.

        Args:
            maximum: bytes of a line that are given; the rest is left out.

        Raises:
            InfrastructureError: one is not in this clone, or git could not be run.
        """
        try:
            for start in range(0, len(ids), _GROUP):
                group = ids[start : start + _GROUP]
                stdin, stdout = self._pipes()
                stdin.write("".join(f"{identifier}\n" for identifier in group).encode())
                stdin.flush()
                for identifier in group:
                    yield _first_line(stdout, identifier, maximum)
        except GeneratorExit:
            self.stop()  # what it has answered already is no answer to the next question
            raise
        except (OSError, ValueError) as error:
            self.stop()
            raise InfrastructureError(f"git could not read the beginning of files: {error}.") from error

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        process = self._started()
        if process.stdin is None or process.stdout is None:
            raise ValueError("git gave no pipes")
        return process.stdin, process.stdout

    def _read(self, name: str, maximum: int) -> bytes | None:
        if "\n" in name:
            raise ValueError("its name has a line break")
        stdin, stdout = self._pipes()
        stdin.write(f"{name}\n".encode("utf-8", "surrogateescape"))
        stdin.flush()
        header = stdout.readline()
        if not header:
            ended = self._started().wait(_SECONDS)
            self.stop()
            if ended < 0:
                raise ChildProcessError(f"git was ended by signal {-ended}")
            return None  # git ends at an object that a partial clone lacks and that it may not fetch
        if header.endswith(b" missing\n"):
            return None
        kind, size = header.split()[-2:]
        if kind != b"blob" or int(size) > maximum:
            raise ValueError(f"it is not a plain file of at most {maximum} bytes")
        content = stdout.read(int(size))
        stdout.read(1)
        return content

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                cwd="/",
                env=dict(self._environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._process


def _first_line(stdout: IO[bytes], identifier: str, maximum: int) -> bytes:
    header = stdout.readline().split()
    if len(header) != 3 or header[1] != b"blob":  # noqa: PLR2004 - id, kind and size
        raise ValueError(f"{identifier} is not in this clone")
    left = int(header[2])
    line = stdout.readline(min(maximum, left)) if left else b""
    left += 1 - len(line)  # the line feed after the content
    while left:
        left -= len(stdout.read(min(left, _PIECE)) or _ended(identifier))
    return line


def _ended(identifier: str) -> bytes:
    raise ValueError(f"git ended at {identifier}")


def _is_under(path: str, entry: TreeEntry, under: str) -> bool:
    """Whether git lists an entry for a literal path: a slash at its end stands for a folder, or for a submodule."""
    folder = under.rstrip("/")
    itself = path == under or (path == folder and entry.mode == SUBMODULE)
    return itself or path.startswith(f"{folder}/")


def _names(listed: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in listed.split("\0") if name))


def _path_outside(root: Path, path: str) -> str:
    """The folders of a ``PATH`` that the change cannot have put a program into: absolute, and outside of its files."""
    folders = [Path(entry) for entry in path.split(os.pathsep) if entry]
    return os.pathsep.join(
        str(folder) for folder in folders if folder.is_absolute() and not folder.resolve().is_relative_to(root)
    )


def blob_id(content: bytes, like: str) -> str:
    """Id that git gives a file with this content.

    Args:
        like: another id of the repository, whose length says by which hash it names.
    """
    digest = hash_of_ids(like)
    digest.update(b"blob %d\0%b" % (len(content), content))
    return digest.hexdigest()


def hash_of_ids(like: str) -> "hashlib._Hash":
    """The hash by which a repository names its objects; see ``blob_id``."""
    return (hashlib.sha256 if len(like) == _SHA256_DIGITS else hashlib.sha1)(usedforsecurity=False)


def is_branch_name(name: str) -> bool:
    """Whether git takes it as a branch; of what git takes only names of plain characters (git-check-ref-format(1))."""
    parts = name.split("/")
    plain = _BRANCH.fullmatch(name) is not None and ".." not in name and not name.endswith(".")
    return plain and not any(not part or part.startswith(".") or part.endswith(".lock") for part in parts)
