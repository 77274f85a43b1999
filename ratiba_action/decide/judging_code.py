"""Which files hold a repository's own metrics and rules.

A change of them changes what the change itself is judged by, wherever they lie, so it always blocks.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ratiba_action.decide.plain_yaml import Node
from ratiba_action.model.change import Mode, Rule

_ADDRESS = re.compile(r"(?<![\w.:/-])([^\W\d]\w*(?:\.[^\W\d]\w*)*):[^\W\d]\w*(?:\.[^\W\d]\w*)*(?![\w:/-])")
_IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\b|import\s+([\w.]+))", re.MULTILINE)
_MAX_MODULES = 500
_WHY = "a metric or rule of the repository is, or needs, this code"

Read = Callable[[str], Iterable[bytes]]
"""The contents of a path at base and head, as far as it is there."""


def read_addresses(document: Node, *, without: str = "") -> frozenset[str]:
    """Modules of every ``module:attribute`` in a file.

    Args:
        document: a scenario or a configuration.
        without: name of a top-level block whose addresses are something else; empty for none.
    """
    blocks = document.value.items() if isinstance(document.value, dict) else [("", document)]
    texts = [text for name, block in blocks if not without or name != without for text in block.all_texts()]
    return frozenset(module for text in texts for module in _ADDRESS.findall(text))


@dataclass(frozen=True, slots=True)
class Modules:
    """Finds the files of modules.

    Args:
        root: folder of the system, in which modules are looked up.
        paths: of both sides.
        read: contents of a path.
    """

    root: str
    paths: frozenset[str]
    read: Read

    def floors(self, modules: Iterable[str]) -> tuple[Rule, ...]:
        """A blocking floor for each file that a module is, its package, and what it imports of the repository.

        Raises:
            ValueError: there are more files than are looked at.
        """
        found: dict[str, None] = {}
        for module in sorted(modules):
            if not list(self._files(module)):
                found |= dict.fromkeys(self._elsewhere(module))
                continue
            package = module if self._is_package(module) else module.rpartition(".")[0]
            if package:
                found[f"{self._path(package)}/"] = None
            found |= dict.fromkeys(self._imported(module))
        return tuple(Rule(Mode.BLOCKING, "/" + literal_pattern(path), why=_WHY) for path in found)

    def files(self, module: str) -> frozenset[str]:
        """The files that a module is, its packages, and what it imports of the repository."""
        try:
            return frozenset(self._imported(module)) or frozenset(self._elsewhere(module))
        except ValueError:  # more than are looked at, which is a doubt of the decision
            return frozenset(path for path, _ in self._files(module))

    def _elsewhere(self, module: str) -> list[str]:
        """Files of that name in other places, such as ``src``, where an installed package may come from."""
        name = module.replace(".", "/")
        ends = (f"/{name}.py", f"/{name}/__init__.py")
        return [path for path in self.paths if f"/{path}".endswith(ends)]

    def _imported(self, module: str) -> Iterator[str]:
        """Files of a module, of what it imports, and of what that imports."""
        seen, waiting = {module}, [module]
        while waiting:
            for path, package in self._files(waiting.pop()):
                yield path
                others = {name for content in self.read(path) for name in _imports(content, package)}
                waiting += others - seen
                seen |= others
            if len(seen) > _MAX_MODULES:
                raise ValueError(f"the metric or rule {module!r} imports more than {_MAX_MODULES} modules")

    def _files(self, module: str) -> Iterator[tuple[str, str]]:
        """The module's own file and the package files on the way to it, each with the package that it belongs to."""
        parts = module.split(".")
        packages = [".".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
        candidates = [(f"{self._path(module)}.py", module.rpartition(".")[0])]
        candidates += [(f"{self._path(package)}/__init__.py", package) for package in packages]
        yield from ((path, package) for path, package in candidates if path in self.paths)

    def _is_package(self, module: str) -> bool:
        return f"{self._path(module)}/__init__.py" in self.paths

    def _path(self, module: str) -> str:
        return "/".join([*(part for part in self.root.split("/") if part not in ("", ".")), *module.split(".")])


def _imports(content: bytes, package: str) -> Iterator[str]:
    """Modules that a file imports by a statement."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        found = _IMPORT.findall(content.decode("utf-8", "replace"))
        yield from (from_import or plain_import for from_import, plain_import in found)
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".") if node.level and package else []
            above = above[: len(above) - node.level + 1]
            base = [*above, *([node.module] if node.module else [])]
            yield from filter(None, [".".join(base), *(".".join([*base, alias.name]) for alias in node.names)])


def literal_pattern(path: str) -> str:
    """A pattern that matches this path alone."""
    return re.sub(r"([\\*?\[\]! #])", r"\\\1", path)
