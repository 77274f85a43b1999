"""The one module that calls git: what it names, what it passes on, and what it says when something is missing."""

import ast
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

import ratiba_action
from ratiba_action.errors import InfrastructureError
from ratiba_action.util.git import SUBMODULE, Git, TreeEntry, find_checkout
from tests.support.git_repository import GitRepository

PRODUCT = Path(ratiba_action.__file__).parent
PATH = os.environ["PATH"]


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    return GitRepository(tmp_path / "checkout")


def opened(repository: GitRepository) -> Git:
    return Git(repository.folder, {"PATH": PATH})


def spawned_programs(source: str) -> set[str]:
    """Programs that a module names as the first word of a list or tuple, or in a call that looks one up."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        words = node.elts if isinstance(node, ast.List | ast.Tuple) else node.args if isinstance(node, ast.Call) else []
        if words and isinstance(words[0], ast.Constant) and isinstance(words[0].value, str):
            found.add(words[0].value.rpartition("/")[2].partition(" ")[0])
    return found


def test_no_other_module_of_the_product_starts_git() -> None:
    names = {path.relative_to(PRODUCT).as_posix(): path for path in PRODUCT.rglob("*.py")}
    # Parsers of dependency files and the report of what is missing know the word, and start no program.
    words = ("decide/dependencies/", "authoring/readiness.py")
    product = {name: path for name, path in names.items() if not name.startswith(words)}
    found = {name for name, path in product.items() if "git" in spawned_programs(path.read_text("utf-8"))}
    assert found == {"util/git.py"}


@pytest.mark.parametrize("spawn", ['run(["git", "status"])', 'system("git status")', 'which("/usr/bin/git")'])
def test_a_module_that_did_would_be_found(spawn: str) -> None:
    assert "git" in spawned_programs(f"import os\nos.{spawn}\n")


def test_a_repository_is_found_from_a_folder_inside_by_its_dot_git_alone(repository: GitRepository) -> None:
    repository.commit({"a/HEAD": "ref: refs/heads/main", "a/refs/x": "", "a/objects/x": "", "a/b/c": ""})
    assert find_checkout(repository.folder / "a/b") == repository.folder.resolve()
    assert find_checkout(Path("/proc")) is None


def test_git_gets_an_environment_of_its_own(repository: GitRepository, tmp_path: Path) -> None:
    """A program of that name that writes down what it was given, as git itself cannot be asked."""
    repository.commit({})
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    real = shutil.which("git", path=PATH)
    program.write_text(f'#!/bin/sh\nenv >>{tmp_path}/seen\necho "$@" >>{tmp_path}/calls\nexec {real} "$@"\n')
    program.chmod(0o755)
    given = {
        "PATH": f"{program.parent}:{PATH}",
        "HOME": str(tmp_path),
        "RATIBA_ANTHROPIC_API_KEY": "planted",
        "GITHUB_TOKEN": "planted",
        "GIT_DIR": "/planted",
        "GIT_CONFIG_PARAMETERS": "'core.fsmonitor=planted'",
        "GIT_EXTERNAL_DIFF": "planted",
        "LD_PRELOAD": "",
    }
    git = Git(repository.folder, given)
    git.commit("HEAD"), git.index(), git.tree("HEAD"), git.untracked(), git.setting("core.autocrlf")
    names = {line.partition("=")[0] for line in (tmp_path / "seen").read_text().splitlines()}
    fixed = {
        "GIT_OPTIONAL_LOCKS",
        "GIT_TERMINAL_PROMPT",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_GRAFT_FILE",
        "GIT_NO_LAZY_FETCH",
    }
    shell = {"PWD", "SHLVL", "_", "OLDPWD"}
    assert names - shell == {
        *fixed, "PATH", "LC_ALL", "HOME", "GIT_ALLOW_PROTOCOL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL",
    }  # fmt: skip
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) > 5
    for call in calls:
        assert f"--git-dir={repository.folder / '.git'} --work-tree={repository.folder} " in call
        assert "-c safe.bareRepository=explicit " in call


def test_a_git_among_the_changes_own_files_is_not_the_one_that_runs(repository: GitRepository, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    repository.commit({"bin/git": f"#!/bin/sh\ntouch {mark}\n"})
    (repository.folder / "bin/git").chmod(0o755)
    for folder in (repository.folder / "bin", Path("bin"), Path()):
        Git(repository.folder, {"PATH": f"{folder}:{PATH}"}).index()
    assert not mark.exists()


def test_a_work_tree_beside_others_is_read(repository: GitRepository, tmp_path: Path) -> None:
    repository.commit({"a": "1"})
    repository.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "other"))
    (tmp_path / "other" / "a").write_text("2")
    git = Git(tmp_path / "other", {"PATH": PATH})
    assert git.root == tmp_path / "other"
    assert git.commit("other") == git.commit("main")
    assert git.folders == (
        repository.folder / ".git/worktrees/other",
        repository.folder / ".git",
    )


def test_a_submodule_can_be_the_checkout(repository: GitRepository, tmp_path: Path) -> None:
    inner = GitRepository(tmp_path / "inner")
    commit = inner.commit({"a": "1"})
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.folder), "sub")
    git = Git(repository.folder / "sub", {"PATH": PATH})
    assert (git.root, git.commit("HEAD")) == (repository.folder / "sub", commit)
    assert git.index() == git.tree("HEAD")


def test_ids_of_sha256_are_known(tmp_path: Path) -> None:
    made = GitRepository(tmp_path / "checkout")
    (made.folder / ".git").rename(tmp_path / "old")
    made.git("init", "--quiet", "--object-format=sha256", "--initial-branch=main")
    made.commit({"a": "1"})
    assert len(opened(made).tree("HEAD")["a"].id) == 64


def test_names_of_any_bytes_are_kept(repository: GitRepository) -> None:
    name = "jina\n\udcff\t.md"
    repository.write({"plain": "1"})
    with open(os.fsencode(repository.folder) + b"/jina\n\xff\t.md", "wb"):  # noqa: PTH123 - the name is no UTF-8
        pass
    repository.git("add", "--all")
    assert set(opened(repository).index()) == {name, "plain"}


def test_of_a_folder_only_its_files_are_listed(repository: GitRepository) -> None:
    commit = repository.commit({"a/b": "1", "a/c/d": "1", "ab": "1", "*": "1"})
    repository.write({"a/new": "1", "new": "1"})
    git = opened(repository)
    assert list(git.tree(commit, "a/")) == list(git.index("a")) == ["a/b", "a/c/d"]
    assert list(git.tree(commit, "*")) == ["*"]
    assert git.untracked("a") == ("a/new",)


@pytest.mark.parametrize("how", ["replace ref", "graft", "replaced blob", "alternate"])
def test_a_commit_is_what_its_id_says_whatever_stands_in_its_place(
    repository: GitRepository, tmp_path: Path, how: str
) -> None:
    """A job's earlier step, or code of the change that ran before the gate, may have written to ``.git``."""
    first = repository.commit({"rules": "strict"})
    base = repository.commit({"a": "1"})
    head = repository.commit({"rules": "lenient", "a": "2"})
    if how == "replace ref":
        repository.git("replace", base, head)
    elif how == "graft":
        (repository.folder / ".git/info/grafts").write_text(f"{head} {first}\n")
    elif how == "replaced blob":
        repository.git("replace", *repository.git("rev-parse", f"{base}:rules", f"{head}:rules").split())
    else:
        other = GitRepository(tmp_path / "other")
        other.commit({"rules": "none"})
        (repository.folder / ".git/objects/info/alternates").write_text(f"{tmp_path}/other/.git/objects\n")
    git = opened(repository)
    assert git.parents(head) == (base,)
    assert git.merge_base(base, head) == base
    assert sorted(git.changed(base, head)) == ["a", "rules"]
    with git.blobs() as blobs:
        assert blobs.read(git.tree(base)["rules"].id, 100) == b"strict"


def test_a_commit_is_listed_once_and_what_a_name_stands_for_each_time(repository: GitRepository) -> None:
    commit = repository.commit({"a": "1"})
    git = opened(repository)
    listed = git.tree(commit)
    (repository.folder / ".git/objects").rename(repository.folder / ".git/gone")
    assert git.tree(commit) == listed
    with pytest.raises(InfrastructureError):
        git.tree("HEAD")


def test_what_is_remembered_is_asked_again_once_it_is_forgotten(repository: GitRepository) -> None:
    first = repository.commit({"a": "1"})
    git = opened(repository)
    git.remember()
    answers = (git.commit("HEAD"), tuple(git.index()), git.untracked(), git.setting("core.autocrlf"))
    assert answers == (first, ("a",), (), "")
    second = repository.commit({"b": "2"})
    repository.write({"c": "3"})
    repository.git("config", "core.autocrlf", "input")
    assert (git.commit("HEAD"), tuple(git.index()), git.untracked(), git.setting("core.autocrlf")) == answers
    assert git.commit("main~1") == first, "a question that was not asked before is asked"
    git.forget()
    assert (git.commit("HEAD"), tuple(git.index()), git.untracked()) == (second, ("a", "b"), ("c",))
    assert git.setting("core.autocrlf") == "input"


def test_a_question_that_failed_is_not_remembered(repository: GitRepository) -> None:
    git = opened(repository)
    git.remember()
    assert git.commit("HEAD") is None
    commit = repository.commit({"a": "1"})
    assert git.commit("HEAD") == commit


def test_files_below_a_folder_of_a_commit_that_is_known_are_those_that_git_lists(repository: GitRepository) -> None:
    first = repository.commit({"a/b/c": "1", "a/b-c": "2", "a.txt": "3", "a/[b]": "4"})
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{first},a/sub")
    commit = repository.git("commit-tree", "-m", "x", repository.git("write-tree").strip()).strip()
    git, known = opened(repository), opened(repository)
    assert known.tree(commit)["a/sub"].mode == SUBMODULE
    for under in ("a", "a/", "a/b", "a/b/", "a/b/c", "a.txt", "a.txt/", "a/[b]", "a/*", "a/sub", "a/sub/", "absent"):
        assert known.tree(commit, under) == git.tree(commit, under), under


def test_the_first_name_of_a_commit_is_found(repository: GitRepository) -> None:
    commit = repository.commit({"a": "1"})
    repository.git("tag", "file", "HEAD:a")
    repository.git("update-ref", "refs/remotes/origin/gone", commit)
    git = opened(repository)
    assert git.first_commit(["absent", "file", "refs/remotes/origin/gone", "main"]) == (
        "refs/remotes/origin/gone",
        commit,
    )
    assert git.first_commit(["main", "HEAD"]) == ("main", commit)
    assert git.first_commit(["absent", "file"]) is None


def test_what_the_user_ignores_everywhere_is_not_listed(repository: GitRepository, tmp_path: Path) -> None:
    repository.commit({"a": "1"})
    repository.write({".secret": "1", "prompt.md": "1"})
    (tmp_path / "ignored").write_text(".secret\n")
    (tmp_path / ".gitconfig").write_text("[core]\n\texcludesFile = ~/ignored\n")
    assert Git(repository.folder, {"PATH": PATH, "HOME": str(tmp_path)}).untracked() == ("prompt.md",)
    (tmp_path / ".gitconfig").unlink()
    (tmp_path / ".config/git").mkdir(parents=True)
    (tmp_path / "ignored").rename(tmp_path / ".config/git/ignore")
    assert Git(repository.folder, {"PATH": PATH, "HOME": str(tmp_path)}).untracked() == ("prompt.md",)


@pytest.fixture
def clone(repository: GitRepository, tmp_path: Path) -> Mapping[str, Git]:
    """Partial clones of a repository of two commits, by their filter."""
    repository.commit({"a": "1", "folder/b": "1"})
    repository.commit({"a": "2", "folder/b": "2"})
    repository.git("config", "uploadpack.allowFilter", "true")
    for kind in ("blob:none", "tree:0"):
        target = str(tmp_path / kind.partition(":")[0])
        repository.git("clone", "--quiet", f"--filter={kind}", f"file://{repository.folder}", target)
    return {kind: Git(tmp_path / kind.partition(":")[0], {"PATH": PATH}) for kind in ("blob:none", "tree:0")}


def test_commits_of_a_clone_without_contents_are_compared(clone: Mapping[str, Git]) -> None:
    git = clone["blob:none"]
    base = git.commit("HEAD~1") or ""
    assert git.changed(base, "HEAD") == ("a", "folder/b")
    assert git.tree(base)["a"] == TreeEntry("100644", "56a6051ca2b02b04ef92d5150c9ef600403cb1de")


def test_a_content_that_is_missing_is_not_fetched(clone: Mapping[str, Git]) -> None:
    git = clone["blob:none"]
    with git.blobs() as blobs:
        assert blobs.read("HEAD~1:a", 10) is None
        assert blobs.read("HEAD:a", 10) == b"2"
    assert "partial" in git.remedy()
    assert "filter:" in git.remedy()


def test_a_folder_that_is_missing_is_reported_with_the_setting_that_left_it_out(clone: Mapping[str, Git]) -> None:
    git = clone["tree:0"]
    with pytest.raises(InfrastructureError, match="Check out without 'filter:'"):
        git.changed(git.commit("HEAD~1") or "", "HEAD")


def test_a_git_whose_rev_parse_knows_no_end_of_options_finds_commits(repository: GitRepository, tmp_path: Path) -> None:
    head = repository.commit({"a": "1"})
    older = tmp_path / "bin" / "git"
    older.parent.mkdir()
    refusing = 'case " $* " in *" rev-parse "*" --end-of-options "*) exit 1;; esac\n'
    older.write_text(f'#!/bin/sh\n{refusing}exec {shutil.which("git", path=PATH)} "$@"\n')
    older.chmod(0o755)
    git = Git(repository.folder, {"PATH": f"{older.parent}:{PATH}"})
    assert git.commit("HEAD") == head
    assert git.commit("--all") is None
    assert git.commit("absent") is None


def test_an_option_that_git_does_not_know_names_the_version_that_is_needed(
    repository: GitRepository, tmp_path: Path
) -> None:
    older = tmp_path / "bin" / "git"
    older.parent.mkdir()
    older.write_text("#!/bin/sh\necho 'error: unknown option `absolute-git-dir' >&2\nexit 129\n")
    older.chmod(0o755)
    with pytest.raises(InfrastructureError, match="unknown option `absolute-git-dir") as raised:
        Git(repository.folder, {"PATH": f"{older.parent}:{PATH}"})
    assert "Install git 2.30 or newer" in str(raised.value)
