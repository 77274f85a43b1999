"""Which changed files have the name of a module that what judges imports from elsewhere.

What judges finds the standard library and installed packages first, so such a file is not imported by it. It blocks all
the same: nobody needs the name, and somebody who looks at the change should see it.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ratiba_action.decide.dependencies.files import KindTable
from ratiba_action.decide.judging_code import Read, literal_pattern
from ratiba_action.model.change import Mode, Rule

_WHY = "it has the name of a module that metrics, rules and tests import: of the standard library or of a package"
_HARNESS = frozenset({"_pytest", "deepeval", "iniconfig", "packaging", "pluggy", "py", "pygments", "pytest"})
_OF_ANYBODY = frozenset({"benchmarks", "doc", "docs", "example", "examples", "scripts", "test", "tests", "tools"})
"""Names that many repositories use; what judges imports the repository's own of them."""
_BUILT = (".py", ".pyc", ".pyd", ".so")


@dataclass(frozen=True, slots=True)
class Shadowing:
    """Finds changed files whose names are taken.

    Args:
        paths: of both sides.
        read: contents of a path, for the names of packages in manifests and lock files.
    """

    paths: frozenset[str]
    changed: Iterable[str]
    read: Read

    def floors(self, folders: Iterable[str]) -> tuple[Rule, ...]:
        """A blocking floor for each changed module or package at the top of a folder whose name is taken.

        Args:
            folders: from which modules are imported, from the repository's root; empty for that root itself.
        """
        found = dict(sorted(module for folder in folders for module in self._modules(folder)))
        taken = (sys.stdlib_module_names | _HARNESS) - _OF_ANYBODY
        if set(found.values()) - taken - _OF_ANYBODY:
            taken |= frozenset(self._packages()) - _OF_ANYBODY
        return tuple(
            Rule(Mode.BLOCKING, "/" + literal_pattern(path), why=_WHY) for path, name in found.items() if name in taken
        )

    def _modules(self, folder: str) -> Iterator[tuple[str, str]]:
        """Changed modules and packages at the top of a folder: path and name."""
        start = f"{folder}/" if folder else ""
        for path in self.changed:
            if not path.startswith(start):
                continue
            top, _, rest = path.removeprefix(start).partition("/")
            if not rest and top.endswith(_BUILT):
                yield path, top.partition(".")[0]
            elif any(f"{start}{top}/__init__{ending}" in self.paths for ending in _BUILT if rest):
                yield f"{start}{top}/", top

    def _packages(self) -> Iterator[str]:
        """Names of modules that packages of manifests and lock files have, as far as their own names tell."""
        kinds = KindTable()
        for path in self.paths:
            kind = kinds.kind_of(path)
            for content in self.read(path) if kind is not None and kind.parser else ():
                try:
                    names = kind.parse(content).pins if kind is not None else ()
                except ValueError:  # it is judged by the decision about packages
                    continue
                for name in names:
                    plain = name.lower().replace("-", "_").replace(".", "_")
                    yield from (plain, plain.removeprefix("py"), plain.removeprefix("python_"))
