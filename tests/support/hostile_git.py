"""Repositories whose configuration names a command for everything that can start one; the command leaves a mark."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tests.support.git_repository import GitRepository

_CONFIGURATION = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tworktree = {worktree}
\tfsmonitor = {command}
\thooksPath = {hooks}
\tsshCommand = {command}
\tpager = {command}
\teditor = {command}
\taskPass = {command}
\talternateRefsCommand = {command}
\tgitProxy = {command}
\tattributesFile = {attributes}
[filter "p"]
\tclean = {command}
\tsmudge = {command}
\tprocess = {command}
\trequired = true
[diff]
\texternal = {command}
\tignoreSubmodules = none
[diff "p"]
\tcommand = {command}
\ttextconv = {command}
[log]
\tshowSignature = true
[gpg]
\tprogram = {command}
[credential]
\thelper = "!{command}"
[pager]
\tconfig = {command}
\tlog = {command}
[alias]
\tls-files = "!{command}"
\tconfig = "!{command}"
[status]
\tsubmoduleSummary = true
[submodule]
\trecurse = true
[remote "evil"]
\turl = /evil
\tuploadpack = {command}
\tpromisor = true
\tpartialclonefilter = blob:none
[extensions]
\tpartialClone = evil
"""


def poison(folder: Path, command: str, hooks: Path, worktree: str) -> None:
    """Have a git folder's own configuration name a command wherever git knows a place for one.

    Args:
        folder: that holds ``config``.
        command: a line for the shell.
        hooks: empty folder for hooks that run it too.
        worktree: value of ``core.worktree``.
    """
    attributes = folder / "info" / "attributes"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("* filter=p diff=p\n")
    text = _CONFIGURATION.format(command=command, hooks=hooks, worktree=worktree, attributes=attributes)
    config = folder / "config"
    config.write_text(text.replace("repositoryformatversion = 0", "repositoryformatversion = 1"))
    hooks.mkdir(parents=True, exist_ok=True)
    for name in ("post-index-change", "reference-transaction", "post-checkout", "pre-auto-gc", "fsmonitor-watchman"):
        hook = hooks / name
        hook.write_text(f"#!/bin/sh\n{command}\n")
        hook.chmod(0o755)


def evil_folder(folder: Path, command: str, worktree: str, names: Sequence[str]) -> None:
    """Make a folder what git takes for a repository, and have it believe that files of the work tree were edited.

    Args:
        folder: may exist; its own files stay.
        command: see ``poison``.
        worktree: see ``poison``.
        names: files of the work tree.
    """
    with tempfile.TemporaryDirectory() as scratch:
        made = GitRepository(Path(scratch) / "made")
        # Another content than the files' and no known time: whoever compares the two has to look into them.
        made.commit(dict.fromkeys(names, "other"))
        shutil.copytree(made.folder / ".git", folder, dirs_exist_ok=True)
    shutil.rmtree(folder / "hooks", ignore_errors=True)
    for empty in ("refs/tags", "objects/info", "objects/pack"):
        (folder / empty).mkdir(parents=True, exist_ok=True)
        (folder / empty / "kept").touch()
    poison(folder, command, folder / "evil-hooks", worktree)


@dataclass(frozen=True, slots=True)
class Layout:
    """A way to put a repository where a careless git finds it.

    Args:
        committed: puts files into the checkout that a commit can hold.
        planted: adds what no commit can hold, as an unpacked archive or an earlier step could.
        root: ``system.root``, where ``link`` leads to ``a``.
    """

    committed: Callable[[Path, str], None]
    planted: Callable[[Path, str], None] = lambda _top, _command: None
    root: str = "a/b"


def _above(top: Path, command: str) -> None:
    evil_folder(top / "a", command, ".", ["b/adapter.py"])


def _root_itself(top: Path, command: str) -> None:
    evil_folder(top / "a/b", command, ".", ["adapter.py"])


def _elsewhere(top: Path, command: str) -> None:
    evil_folder(top / "evil", command, "../a/b", ["adapter.py"])


def _named_by_a_file(top: Path, _command: str) -> None:
    (top / "a/b/.git").write_text("gitdir: ../../evil\n")


def _named_by_a_link(top: Path, _command: str) -> None:
    (top / "a/b/.git").symlink_to("../../evil")


def _in_another_case(top: Path, command: str) -> None:
    for name in (".GIT", ".Git", "git~1"):
        evil_folder(top / "a/b" / name, command, "..", ["adapter.py"])


def _submodule(top: Path, command: str) -> None:
    """A submodule whose git folder is the change's own."""
    evil_folder(top / "evil", command, "../a/b/sub", ["adapter.py"])
    (top / "a/b/sub").mkdir()
    own = GitRepository(top)
    commit = own.git(f"--git-dir={top / 'evil'}", "-c", "core.hooksPath=/dev/null", "rev-parse", "HEAD")
    own.git("update-index", "--add", "--cacheinfo", f"160000,{commit},a/b/sub")
    (top / ".gitmodules").write_text('[submodule "sub"]\n\tpath = a/b/sub\n\turl = ../evil\n\tignore = none\n')


def _checked_out(top: Path, _command: str) -> None:
    (top / "a/b/sub/.git").write_text("gitdir: ../../../evil\n")
    (top / "a/b/sub/adapter.py").write_text("edited")


def _nothing(_top: Path, _command: str) -> None:
    """No file of the change's own."""


def _own_configuration(top: Path, command: str) -> None:
    (top / ".gitattributes").write_text("* filter=p diff=p\n")
    poison(top / ".git", command, top / ".git/evil-hooks", str(top))


LAYOUTS: Mapping[str, Layout] = MappingProxyType(
    {
        "a bare repository above the system": Layout(_above),
        "a bare repository that is the system's folder": Layout(_root_itself),
        "a bare repository behind a link": Layout(_above, root="link/b"),
        "a file .git that names one": Layout(_elsewhere, _named_by_a_file),
        "a link .git that leads to one": Layout(_elsewhere, _named_by_a_link),
        "a .git in another case": Layout(_nothing, _in_another_case),
        "a submodule with a configuration of its own": Layout(_submodule, _checked_out),
        "the configuration of the checkout itself": Layout(_nothing, _own_configuration),
    }
)
