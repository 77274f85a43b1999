"""Trees that no work tree of git's own would make, committed as raw bytes: no filter, no attribute, no name is refused."""

import errno
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.consumer_repository import ConsumerRepository

_WHO = b"A Tester <tester@example.invalid> 1777000000 +0000"


@dataclass
class HostileTree:
    """Files that are about to be committed.

    Args:
        folder: where they lie.
        links: commits of submodules by their path, in hexadecimal digits.
    """

    folder: Path
    links: dict[str, str] = field(default_factory=dict)

    def place(self, name: str) -> Path:
        """Where a file or a link goes, with its folders made; what is there is removed if it is a link.

        Raises:
            OSError: a link on the way leads out of the tree, to the files of the machine that this runs on.
        """
        path = self.folder / name
        if not Path(os.path.realpath(path.parent)).is_relative_to(os.path.realpath(self.folder)):
            raise OSError(errno.ELOOP, "a link leads out of the tree", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            path.unlink()
        return path

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files; a symbolic link that stands there is replaced.

        Raises:
            OSError: as for ``place``.
        """
        for name, content in files.items():
            path = self.place(name)
            path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))

    def entries(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Mode, path and content of everything."""
        for parent, folders, files in os.walk(self.folder):
            if Path(parent) == self.folder:
                folders.remove(".git")
            for name in (*files, *folders):
                path = Path(parent) / name
                mode, place = path.lstat().st_mode, os.fsencode(path.relative_to(self.folder))
                if stat.S_ISLNK(mode):
                    yield b"120000", place, os.fsencode(path.readlink())
                elif stat.S_ISREG(mode):
                    yield b"100755" if mode & 0o100 else b"100644", place, path.read_bytes()


class HostileChange(ConsumerRepository):
    """A pull request whose tree was made by anything."""

    def propose_tree(self, edit: Callable[[HostileTree], None], *, commits: bool = True) -> None:
        """Commit what a function makes of the files, merge it as GitHub does, and check the merge out.

        Args:
            edit: writes files.
            commits: False leaves them in the work tree, as on a laptop.
        """
        tree = HostileTree(self.folder)
        edit(tree)
        if not commits:
            return
        stream = b"".join(_commit(tree, b"refs/heads/change", [self.base]))
        stream += b"".join(_commit(tree, b"refs/heads/main", [self.base, "refs/heads/change"]))
        self._git("fast-import", "--quiet", "--force", given=stream)
        self.head = self._git("rev-parse", "refs/heads/change")
        self.merged = self._git("rev-parse", "refs/heads/main")
        for path in self.folder.iterdir():
            if path.name != ".git":
                shutil.rmtree(path) if stat.S_ISDIR(path.lstat().st_mode) else path.unlink()
        # What cannot be written, such as a name that is too long, is missing in a real checkout too.
        self._git("reset", "--hard", "--quiet", "refs/heads/main", check=False)

    def _git(self, *arguments: str, given: bytes = b"", check: bool = True) -> str:
        environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=environment, input=given, capture_output=True, check=False
        )
        if check and done.returncode:
            raise RuntimeError(f"git {arguments[0]}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode().strip()


def _commit(tree: HostileTree, branch: bytes, parents: list[str]) -> Iterator[bytes]:
    yield b"commit %s\nauthor %s\ncommitter %s\ndata 8\nA change\n" % (branch, _WHO, _WHO)
    for word, parent in zip((b"from", b"merge"), parents, strict=False):
        yield b"%s %s\n" % (word, parent.encode())
    yield b"deleteall\n"
    for mode, path, content in tree.entries():
        yield b"M %s inline %s\ndata %d\n%s\n" % (mode, _quoted(path), len(content), content)
    for name, commit in tree.links.items():
        yield b"M 160000 %s %s\n" % (commit.encode(), _quoted(os.fsencode(name)))
    yield b"\n"


def _quoted(path: bytes) -> bytes:
    return (
        b'"'
        + b"".join(b"\\%03o" % byte if byte < 33 or byte > 126 or byte in b'"\\' else bytes([byte]) for byte in path)
        + b'"'
    )
