"""Symbolic links of a repository: under which other names a file is read, and which links cannot be followed.

A prompt may be a link, or lie below a linked folder. A change to the file that it leads to is a change of the prompt,
though the changed path has another name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ratiba_action.model.reads import above_of

_MAX_STEPS = 40  # as the kernel follows no more
_MAX_NAMES = 200
_MAX_FILES = 20_000


@dataclass(frozen=True, slots=True)
class TreeListing:
    """The files of one side of a change.

    Args:
        paths: of every file, link and submodule.
        targets: what each link holds, by its path.
        executables: paths of files that may be run.
        submodules: paths of other repositories.
    """

    paths: Sequence[str]
    targets: Mapping[str, str]
    executables: frozenset[str] = frozenset()
    submodules: frozenset[str] = frozenset()

    def below(self, link: str) -> Iterator[str]:
        """What lies below a link to a folder, under the names that it has there.

        Raises:
            ValueError: there is another link, or too much.
        """
        real, _ = resolve(link, self.targets)
        found = [path for path in self.paths if path.startswith(f"{real}/") or not real]
        if len(found) > _MAX_FILES or any(path in self.targets for path in found):
            raise ValueError("it is a link to a folder that holds more links or files than are looked at")
        yield from (f"{link}/{path[len(real) :].removeprefix('/')}" for path in found)


def resolve(path: str, targets: Mapping[str, str]) -> tuple[str, list[str]]:
    """Where a path leads, and the links on its way, both as paths without links.

    Args:
        path: from the repository's root.

    Raises:
        ValueError: it leads out of the repository, or in a circle.
    """
    ahead, passed, links = path.split("/")[::-1], list[str](), list[str]()
    while ahead:
        part = ahead.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not passed:
                raise ValueError("leads out of the repository")
            passed.pop()
            continue
        passed.append(part)
        here = "/".join(passed)
        if here == ".git":
            raise ValueError("leads out of the repository")
        if here in targets:
            links.append(here)
            if targets[here].startswith("/"):
                raise ValueError("leads out of the repository")
            if len(links) > _MAX_STEPS:
                raise ValueError("leads in a circle")
            passed.pop()
            ahead += targets[here].split("/")[::-1]
    return "/".join(passed), links


class Links:
    """The links of both sides of a change.

    Args:
        trees: of base and head, as far as they are known.
    """

    def __init__(self, trees: Sequence[TreeListing] = ()) -> None:
        self._trees = trees
        self._leading: dict[str, dict[str, None]] = {}
        self._above: dict[str, dict[str, None]] = {}
        self._submodules = frozenset(path for tree in trees for path in tree.submodules)
        self.broken: dict[str, str] = {}
        for tree in trees:
            for link in tree.targets:
                self._follow(link, tree.targets)

    def _follow(self, link: str, targets: Mapping[str, str]) -> None:
        try:
            real, passed = resolve(link, targets)
        except ValueError as error:
            self.broken[link] = str(error)
            return
        for place in (real, *passed):
            if place != link:
                self._leading.setdefault(place, {})[link] = None
        for folder in above_of(real):
            self._above.setdefault(folder, {})[link] = None

    def leads(self, path: str) -> tuple[str, str]:
        """Where a path leads at base and head; why it cannot be followed, where it cannot."""
        found: list[str] = []
        for tree in self._trees:
            try:
                found.append(resolve(path, tree.targets)[0] or ".")
            except ValueError as error:
                found.append(str(error))
        return (found[0], found[-1]) if found else ("", "")

    @property
    def paths(self) -> frozenset[str]:
        """Every path of both sides."""
        return frozenset(path for tree in self._trees for path in tree.paths)

    def executable(self, path: str) -> bool:
        """Whether a file may be run, at either side."""
        return any(path in tree.executables for tree in self._trees)

    def submodule(self, path: str) -> bool:
        """Whether a path is another repository, at either side."""
        return path in self._submodules

    def names(self, path: str) -> tuple[str, ...]:
        """The other names of a changed path; of a link also those of the files below it.

        Raises:
            ValueError: there are too many to look at.
        """
        if not (self._leading or self.broken):
            return ()
        linked = [tree for tree in self._trees if path in tree.targets and path not in self.broken]
        found = dict.fromkeys(name for tree in linked for name in (f"{path}/.", *tree.below(path)))
        used: dict[str, frozenset[str]] = {path: frozenset()}
        # What lies below a path that was or is no folder: a submodule, or a file instead of one.
        found |= dict.fromkeys(link for link in self._above.get(path, ()))
        waiting = [path, *self._above.get(path, ())]
        while waiting:
            name = waiting.pop()
            for place in (name, *above_of(name)):
                for link in self._leading.get(place, ()):
                    rest = name[len(place) :].removeprefix("/")
                    other = f"{link}/{rest}" if rest else link
                    # A link inside its own target would go on for ever.
                    if link in used.get(name, frozenset()) or other in used:
                        continue
                    used[other] = used.get(name, frozenset()) | {link}
                    found[other] = None
                    waiting.append(other)
            if len(used) > _MAX_NAMES:
                raise ValueError(f"links lead to it under more than {_MAX_NAMES} names")
        return tuple(found)
