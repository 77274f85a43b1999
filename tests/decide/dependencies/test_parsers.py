from collections.abc import Callable

import pytest

from ratiba_action.decide.dependencies import (
    dockerfile,
    node_locks,
    package_json,
    pyproject,
    python_locks,
    requirements,
    workflow,
)
from ratiba_action.decide.dependencies.manifest import Manifest, Pin

REGISTRY = "https://packages.example"


def versions(manifest: Manifest) -> dict[str, list[str]]:
    return {name: sorted(pin.requirement for pin in pins) for name, pins in manifest.pins.items()}


def only(manifest: Manifest, name: str) -> Pin:
    (pin,) = manifest.pins[name]
    return pin


PYPROJECT = """
[project]
name = "assistant"
requires-python = ">=3.11"
dependencies = ["LangGraph[extra]>=1.2,<2 ; python_version > '3'", "anthropic"]
[project.optional-dependencies]
dev = ["pytest==9.2"]
[dependency-groups]
lint = ["ruff>=0.17", {include-group = "dev"}]
[build-system]
requires = ["setuptools>=80"]
[tool.uv.sources]
anthropic = {git = "https://git.example/anthropic"}
[tool.ruff]
line-length = 100
"""


def test_pyproject_tables_of_the_standards_are_read() -> None:
    manifest = pyproject.parse(PYPROJECT)

    assert versions(manifest) == {
        "langgraph": [">=1.2,<2"],
        "anthropic": [""],
        "pytest": ["==9.2"],
        "ruff": [">=0.17"],
        "setuptools": [">=80"],
        "python": [">=3.11"],
    }
    assert "git.example" in only(manifest, "anthropic").source


def test_a_tool_table_of_pyproject_is_the_rest() -> None:
    one, other = pyproject.parse(PYPROJECT), pyproject.parse(PYPROJECT.replace("100", "120"))

    assert one.pins == other.pins
    assert one.rest != other.rest


def test_poetry_tables_are_read() -> None:
    manifest = pyproject.parse(
        '[tool.poetry.dependencies]\npython = "^3.11"\nlanggraph = {version = "^1.2", extras = ["pg"]}\n'
        'ours = {git = "https://git.example/ours", rev = "abc"}\n[tool.poetry.group.dev.dependencies]\npytest = "^9"\n'
    )

    assert versions(manifest) == {"python": ["^3.11"], "langgraph": ["^1.2"], "ours": [""], "pytest": ["^9"]}
    assert only(manifest, "ours").source == "git=https://git.example/ours rev=abc"


def test_uv_lock_is_read_without_the_project_itself() -> None:
    manifest = python_locks.parse_uv(
        'version = 1\n[[package]]\nname = "me"\nversion = "0.1"\nsource = { editable = "." }\n'
        f'[[package]]\nname = "LangGraph"\nversion = "1.2.0"\nsource = {{ registry = "{REGISTRY}" }}\n'
        f'sdist = {{ url = "{REGISTRY}/x/langgraph-1.2.0.tar.gz", hash = "sha256:a" }}\n'
    )

    assert versions(manifest) == {"langgraph": ["1.2.0"]}
    assert only(manifest, "langgraph").hashes == {("langgraph-1.2.0.tar.gz", "sha256:a")}


def test_poetry_lock_is_read() -> None:
    manifest = python_locks.parse_poetry(
        '[[package]]\nname = "anthropic"\nversion = "2.12"\nfiles = [{file = "a.whl", hash = "sha256:b"}]\n'
        '[package.source]\ntype = "git"\nurl = "https://git.example/a"\n[metadata]\nlock-version = "2.1"\n'
    )

    assert only(manifest, "anthropic") == Pin(
        "2.12", "type=git url=https://git.example/a", frozenset({("a.whl", "sha256:b")})
    )


def test_requirements_files_are_read() -> None:
    manifest = requirements.parse(
        "# comment\n-r base.txt\n--index-url https://packages.example/simple\nLangGraph[pg]==1.2.0 \\\n"
        "    --hash=sha256:aa \\\n    --hash=sha256:bb\n    # via me\nanthropic>=2 ; python_version>'3'\n"
        "-e git+https://git.example/ours@main#egg=ours\nother @ https://files.example/other-1.0.zip\n"
    )

    assert versions(manifest) == {"langgraph": ["==1.2.0"], "anthropic": [">=2"], "ours": [""], "other": [""]}
    assert only(manifest, "other").source == "https://files.example/other-1.0.zip"
    assert len(only(manifest, "langgraph").hashes) == 2
    assert manifest.rest == ["-r base.txt"]
    assert manifest.sources == {"--index-url": "https://packages.example/simple"}


def test_package_json_is_read() -> None:
    manifest = package_json.parse(
        '{"name": "web", "engines": {"node": ">=20"}, "dependencies": {"openai": "^3.5.0", "alias": "npm:real@^1"},'
        ' "devDependencies": {"ours": "git+https://git.example/ours.git", "member": "workspace:*"}}'
    )

    assert versions(manifest) == {
        "openai": ["^3.5.0"],
        "alias": ["^1"],
        "ours": [""],
        "member": ["*"],
        "node": [">=20"],
    }
    assert only(manifest, "alias").source == "npm:real"
    assert manifest.rest == {"name": "web"}


def test_package_lock_is_read_with_nested_copies_and_without_the_project() -> None:
    manifest = node_locks.parse_npm(
        '{"lockfileVersion": 3, "packages": {"": {"version": "9"}, "packages/member": {"version": "1"},'
        f' "node_modules/@ai/sdk": {{"version": "5.0.1", "resolved": "{REGISTRY}/@ai/sdk/-/sdk-5.0.1.tgz"}},'
        ' "node_modules/b/node_modules/@ai/sdk": {"version": "4.0.0"}, "node_modules/member": {"link": true},'
        ' "node_modules/c": {"version": "1.0.0", "resolved": "git+ssh://git@git.example/c.git#abc"}}}'
    )

    assert versions(manifest) == {"@ai/sdk": ["4.0.0", "5.0.1"], "c": ["1.0.0"]}
    assert {pin.source for pin in manifest.pins["@ai/sdk"]} == {REGISTRY, ""}
    assert only(manifest, "c").source == "git+ssh://git@git.example/c.git#abc"


def test_an_old_package_lock_is_read() -> None:
    manifest = node_locks.parse_npm(
        '{"dependencies": {"a": {"version": "1.0.0", "dependencies": {"b": {"version": "2.0.0"}}}}}'
    )

    assert versions(manifest) == {"a": ["1.0.0"], "b": ["2.0.0"]}


@pytest.mark.parametrize(
    ("key", "name", "version"),
    [
        ("openai@3.54.0", "openai", "3.54.0"),
        ("'@ai-sdk/core@1.0.0'", "@ai-sdk/core", "1.0.0"),
        ("/openai@3.54.0(zod@4.0.0)", "openai", "3.54.0"),
        ("/@ai-sdk/core/1.0.0", "@ai-sdk/core", "1.0.0"),
        ("/openai/3.54.0_zod@4.0.0", "openai", "3.54.0"),
    ],
)
def test_pnpm_lock_keys_of_every_version_are_read(key: str, name: str, version: str) -> None:
    text = (
        "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    dependencies:\n      openai:\n        version: 1.0.0\n\n"
        f"packages:\n\n  {key}:\n    resolution: {{integrity: sha512-abc==}}\n    engines: {{node: '>=20'}}\n\n"
        "snapshots:\n\n  other@1.0.0: {}\n"
    )

    manifest = node_locks.parse_pnpm(text)

    assert versions(manifest) == {name: [version]}
    assert only(manifest, name).hashes == {("tarball", "sha512-abc==")}


def test_images_of_a_dockerfile_are_read() -> None:
    manifest = dockerfile.parse(
        "ARG PYTHON=3.11\nFROM --platform=linux/amd64 python:${PYTHON}-slim@sha256:aa AS build\nRUN true\n"
        "FROM build AS test\nFROM reg.example:5000/team/base\nFROM scratch\n"
    )

    assert versions(manifest) == {"python": ["3.11-slim"], "reg.example:5000/team/base": ["latest"]}


def test_an_image_without_a_tag_is_its_digest() -> None:
    assert versions(dockerfile.parse("FROM python@sha256:aa\n")) == {"python": ["sha256:aa"]}


def test_actions_of_a_workflow_are_judged_by_their_comment_or_tag() -> None:
    commit = "a" * 40
    manifest = workflow.parse(
        f"jobs:\n  a:\n    steps:\n      - uses: actions/checkout@{commit} # v4.2.0\n      - uses: 'actions/cache@v4'\n"
        f"      - name: x\n        uses: other/action@{commit}\n      - uses: ./local\n      - uses: docker://alpine:3.20\n"
    )

    assert versions(manifest) == {
        "actions/checkout": ["v4.2.0"],
        "actions/cache": ["v4"],
        "other/action": [commit],
        "alpine": ["3.20"],
    }


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (pyproject.parse, "[project"),
        (pyproject.parse, '[project]\ndependencies = ["!!"]'),
        (requirements.parse, "???"),
        (package_json.parse, "{"),
        (node_locks.parse_pnpm, "packages:\n"),
        (node_locks.parse_pnpm, "lockfileVersion: 9\npackages:\n  what is this:\n"),
        (python_locks.parse_uv, "="),
        (python_locks.parse_poetry, "="),
        (node_locks.parse_npm, "["),
    ],
)
def test_a_broken_file_is_refused(parse: Callable[[str], Manifest], text: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        parse(text)
