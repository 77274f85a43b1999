"""Which files the configuration and the scenarios name: prompts, captured replies, adapter, ``touches``.

Most prompts are Markdown, which the default rules take for documentation: a prompt outside a folder called ``prompts``
must block all the same.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from ratiba_action.decide.judging_code import literal_pattern
from ratiba_action.decide.plain_yaml import Node
from ratiba_action.model.change import Mode, Rule

_TESTS = "a test of the repository is, or is collected by, this file"
_ABOVE = ("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini")
_FRAMEWORKS = {"langgraph": "graph", "langchain": "runnable", "llamaindex": "engine"}


def read_touches(document: Node) -> tuple[Rule, ...]:
    """Floors for the files of a scenario's ``touches``: a change to one of them is at least advisory.

    Raises:
        YamlDoubt: ``touches`` is no list of texts, so that its files are not known.
    """
    patterns: dict[str, None] = {}
    for scenario in document.value if isinstance(document.value, list) else [document]:
        touches = scenario.value.get("touches") if isinstance(scenario.value, dict) else None
        if touches is None or touches.value is None:
            continue
        if not isinstance(touches.value, list):
            raise touches.doubt("'touches' is no list of files")
        patterns |= dict.fromkeys(touches.texts())
    return tuple(Rule(Mode.ADVISORY, pattern) for pattern in patterns if pattern)


def read_system_paths(document: Node) -> tuple[Rule, ...]:
    """Floors for the files of the ``system`` block: prompts and captured replies block, code is at least advisory.

    Raises:
        YamlDoubt: an entry has another form than the configuration allows, so that its files are not known.
    """
    block = _entries(document.entries(), "system")
    root = read_root(document)
    below = f"/{root}/" if root else "/"
    blocking = [*_texts(block, "prompts"), *_prompt_files(block)]
    blocking += [f"{folder}/" for folder in _texts(_entries(block, "replay"), "transcripts")]
    rules = [Rule(Mode.BLOCKING, below + _normal(pattern)) for pattern in blocking]
    tests = _files_of_tests(_texts(document.entries(), "tests"))
    rules += [Rule(Mode.BLOCKING, pattern, why=_TESTS) for pattern in tests]
    for address in (*_texts(block, "adapter"), *_framework_addresses(block)):
        module = address.partition(":")[0].replace(".", "/")
        rules += [Rule(Mode.ADVISORY, f"{below}{module}{ending}") for ending in (".py", "/")]
    container = _entries(block, "container")
    for folder in _texts(container, "build") or ["."] if container else ():
        for name in _texts(container, "dockerfile") or ["Dockerfile"]:
            rules.append(Rule(Mode.ADVISORY, below + _normal(f"{folder}/{name}")))
    started = {**block, "serve": _entries(block, "serve").get("command")}
    for key in ("command", "setup", "setup_reads", "python", "serve"):
        # What is started is code, whatever it is called; a word that is no file of the repository matches none.
        rules += [Rule(Mode.ADVISORY, below + _normal(word)) for word in _files_among(started.get(key))]
    return tuple(rules)


def read_test_folders(document: Node) -> tuple[str, ...]:
    """Folders of the repository's own tests and those above, from which pytest may have modules imported."""
    folders: dict[str, None] = {}
    for path in map(_normal, _texts(document.entries(), "tests")):
        parts = path.rstrip("/").split("/")
        parts = parts[:-1] if path.endswith(".py") else parts
        folders |= dict.fromkeys("/".join(parts[:depth]) for depth in range(len(parts) + 1))
    return tuple(folders)


def _files_of_tests(paths: Sequence[str]) -> Iterator[str]:
    """The tests of the repository's own, and what pytest reads above them that may deselect or change them."""
    for path in map(_normal, paths):
        yield f"/{literal_pattern(path.rstrip('/'))}"
        parts = path.rstrip("/").split("/")
        for depth in range(len(parts)):
            above = "".join(f"/{literal_pattern(part)}" for part in parts[:depth])
            yield from (f"{above}/{name}" for name in _ABOVE)


def read_root(document: Node) -> str:
    """Folder of the system, from the repository's root; empty for that root itself.

    Raises:
        YamlDoubt: as ``read_system_paths``.
    """
    return _normal((_texts(_entries(document.entries(), "system"), "root") or ["."])[0]).rstrip("/")


def _entries(block: Mapping[str, Node], key: str) -> dict[str, Node]:
    return block[key].entries() if key in block else {}


def _texts(block: Mapping[str, Node], key: str) -> list[str]:
    return block[key].texts() if key in block else []


def _files_among(node: Node | None) -> Iterator[str]:
    """Words of a command that may be files below root."""
    for text in node.all_texts() if node is not None else ():
        for word in re.findall(r"[\w./-]*[\w-]", text):
            if not word.startswith(("-", "/")) and ".." not in word:
                yield word


def _prompt_files(block: Mapping[str, Node]) -> list[str]:
    """The file of the entry ``prompt``, and those that variants put instead."""
    files = _texts(_entries(block, "prompt"), "file")
    if "prompt" in block and len(files) != 1:
        raise block["prompt"].doubt("the entry 'prompt' of the block 'system' names no file")
    for variant in _entries(block, "variants").values():
        files += _texts(_entries(variant.entries(), "prompt"), "file")
    return files


def _framework_addresses(block: Mapping[str, Node]) -> list[str]:
    """The code that a framework's entry names, as its text or in its own entries."""
    addresses = []
    for name, key in _FRAMEWORKS.items():
        if name in block and isinstance(block[name].value, str):
            addresses += _texts(block, name)
        else:
            inner = _entries(block, name)
            addresses += [*_texts(inner, key), *_texts(inner, "migrate")]
    return addresses


def _normal(pattern: str) -> str:
    parts = [part for part in pattern.split("/") if part not in {"", "."}]
    return "/".join(parts) + ("/" if pattern.endswith("/") else "")
