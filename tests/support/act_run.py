"""What a run of a workflow under act left: its log, its outputs and the workspace."""

import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Annotation:
    """A workflow command that GitHub shows at a line or on the run's page."""

    level: str
    message: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ActRun:
    """What a run of a workflow left.

    Args:
        code: act's exit code.
        log: act's lines.
        seen: folder that the last step wrote to.
    """

    code: int
    log: Sequence[Mapping[str, Any]]
    seen: Path

    @property
    def printed(self) -> str:
        """All that the steps printed and act said of them."""
        return "".join(f"{str(line.get('msg', '')).rstrip()}\n" for line in self.log)

    @property
    def outputs(self) -> Mapping[str, str]:
        """The action's outputs as the next step gets them."""
        outputs: Mapping[str, str] = json.loads((self.seen / "outputs.json").read_text())
        return outputs

    @property
    def exit_codes(self) -> Mapping[str, int]:
        """Exit codes of the action's own steps that failed, by their id."""
        codes = {}
        for line in self.log:
            if str(line.get("msg")).startswith("exitcode '") and len(line.get("stepID", ())) > 1:
                codes[line["stepID"][-1]] = int(line["msg"].split("'")[1])
        return codes

    @property
    def jobs(self) -> Mapping[str, str]:
        """What each job that ran came to, by its id."""
        return {line["jobID"]: line["jobResult"] for line in self.log if "jobResult" in line}

    @property
    def annotations(self) -> list[Annotation]:
        """Every error, warning and notice."""
        return [
            Annotation(line["command"], line["arg"], line.get("kvPairs") or {})
            for line in self.log
            if line.get("command") in {"error", "warning", "notice"}
        ]

    @property
    def summary(self) -> str:
        """The page that the action's own steps wrote."""
        pages = (line for line in self.log if line.get("command") == "summary" and len(line.get("stepID", ())) > 1)
        return "".join(line["content"] for line in pages)

    def owners(self) -> set[tuple[int, int]]:
        """User and group of everything in the workspace."""
        return {(member.uid, member.gid) for member, _ in self._members()}

    def files(self) -> dict[str, bytes]:
        """Content of every file of the workspace but git's own."""
        found = {member.name.removeprefix("./"): content for member, content in self._members() if member.isfile()}
        return {name: content for name, content in found.items() if not name.startswith(".git/")}

    def _members(self) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
        with tarfile.open(self.seen / "workspace.tar") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() else None
                yield member, file.read() if file else b""


def read_log(text: str) -> tuple[Mapping[str, Any], ...]:
    """The lines of act's log."""
    return tuple(_line(line) for line in text.splitlines())


def _line(text: str) -> Mapping[str, Any]:
    """A line of act's log; its last words are plain text."""
    try:
        parsed = json.loads(text)
    except ValueError:
        return {"msg": text}
    return parsed if isinstance(parsed, dict) else {"msg": text}
