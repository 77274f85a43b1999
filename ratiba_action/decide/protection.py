"""Files that decide about the gate itself: a change to one of them is blocking, whatever the rules say."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ratiba_action.errors import InfrastructureError

Reader = Callable[[str, str], bytes | None]
"""Content of a file at a side (``base`` or ``head``); None when it is not there.

Raises ``InfrastructureError`` when that cannot be known.
"""

_WORKFLOW = re.compile(r"\.github/(?:workflows/.*\.ya?ml|actions/.*)", re.DOTALL | re.IGNORECASE)
_CALLS_GATE = re.compile(
    rb"uses[\"']?[ \t]*:[ \t]*[\"']?(?:[^\s\"'#]*ratiba-eval-gate|(?:\./?|\$/\.?)[\"']?[ \t]*(?:#|\r?$))"
    rb"|(?:^|[\s;&|()\"'`/=])ratiba[ \t\\]|ratiba_action|ratiba-eval-gate|RATIBA_EVAL",
    re.MULTILINE,
)
_LOCAL = re.compile(rb"uses[\"']?[ \t]*:[ \t]*[\"']?[.$]/([^\s\"'#]+)")
_DEEPEST = 8  # GitHub nests reusable workflows and composite actions no deeper


@dataclass(frozen=True, slots=True)
class Protection:
    """What is protected, as paths from the repository's root.

    Args:
        scenarios: the folder of scenarios, with their recordings and the calibration set.
        paths: more files or folders, such as the modules of custom metrics or a file of rules.
    """

    config: str = ".github/ratiba.yml"
    scenarios: str = "scenarios"
    paths: Sequence[str] = ()

    def named(self) -> tuple[tuple[str, str], ...]:
        """Each protected path with what it is."""
        named = [(self.config, "the gate's configuration"), (self.scenarios, "the gate's scenarios and recordings")]
        named += [(path, "a protected file of the gate") for path in self.paths]
        return tuple((_normal(path), what) for path, what in named)


def _normal(path: str) -> str:
    """The path without ``.`` and ``..`` parts; empty for the repository itself."""
    parts: list[str] = []
    for part in path.replace("\\", "/").split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


class Guard:
    """Says why a changed file is protected."""

    def __init__(self, protection: Protection, reader: Reader) -> None:
        self._named = protection.named()
        self._folders = tuple((path + "/", what) for path, what in self._named)
        self._exact = dict(reversed(self._named))
        self._all = any(not path for path, _ in self._named)
        self._above = (*(folder for folder, _ in self._folders), ".github/")
        self._reader = reader

    def why(self, path: str) -> str | None:
        """What the file is to the gate, None when it is not protected."""
        if path in self._exact:
            return self._exact[path]
        if not self._all and not path.startswith(self._above):
            return None  # as most of thousands of files
        for folder, what in self._folders:
            if path.startswith(folder) or folder == "/":
                return what
        if path.startswith(".github/") and _WORKFLOW.fullmatch(path):
            return self._workflow(path)
        return None

    def _workflow(self, path: str) -> str | None:
        try:
            calls = any(self._calls_gate(side, path, _DEEPEST) for side in ("base", "head"))
        except InfrastructureError as error:
            return f"a workflow that cannot be read ({error.problem}), so it may call the gate"
        return "a workflow that calls the gate" if calls else None

    def _calls_gate(self, side: str, path: str, depth: int) -> bool:
        """Whether a workflow calls the gate, itself or through workflows and actions of its own repository."""
        content = self._reader(side, path)
        if content is None:
            return False
        if depth == 0 or _CALLS_GATE.search(content):
            return True
        for found in set(_LOCAL.findall(content)):
            local = found.decode("utf-8", "surrogateescape").rstrip("/")
            files = [local] if local.endswith((".yml", ".yaml")) else [f"{local}/action.yml", f"{local}/action.yaml"]
            if any(self._calls_gate(side, file, depth - 1) for file in files):
                return True
        return False
