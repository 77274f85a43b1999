"""One case of the campaign: its seed, its planted secrets, and what must be true after it."""

import hashlib
import itertools
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.runner_log import effective_commands

if TYPE_CHECKING:
    from fuzz.services import Services

SECRETS = (
    "anthropic",
    "openai",
    "github",
    "langfuse-public",
    "langfuse-secret",
    "otlp",
    "webhook",
    "checkout",
    "proxy",
)
"""Names of what is planted in every case that has a place for it."""

GATE_COMMANDS = frozenset({"add-mask", "debug", "endgroup", "error", "group", "notice", "stop-commands", "warning"})
DEFECTS = re.compile(
    r"Traceback \(most recent call last\)|The gate itself failed|ratiba: unexpected|never retrieved|"
    r"Exception ignored|Fatal Python error|was never awaited"
)
LOOT = "LOOT-"
"""Stands in the hostile system's answer when it reached what holds secrets."""


class BrokenInvariantError(Exception):
    """What was promised and did not hold.

    Args:
        invariant: its letter in docs/fuzzing.md.
        told: what was found where.
    """

    def __init__(self, invariant: str, message: str) -> None:
        super().__init__(f"({invariant}) {message}")


@dataclass
class Case:
    """What a case may use.

    Args:
        seed: decides everything that is random.
        folder: scratch, removed afterwards.
        services: what the cases of one process share.
        figures: counted over the campaign, such as how many gates were run.
        note: what the case does, told with what it breaks.
    """

    seed: int
    folder: Path
    services: "Services"
    rng: random.Random = field(init=False)
    figures: dict[str, float] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        self.rng = random.Random(f"case {self.seed}")

    @property
    def secrets(self) -> Mapping[str, str]:
        """The planted secrets by name; the hostile system knows them by their form."""
        return {name: f"PLANTED_{self.digits(name)}" for name in SECRETS}

    @property
    def nonce(self) -> str:
        """Stands in every hostile command of the case, so that it can be told from the gate's own."""
        return f"nonce{self.digits('nonce')}"

    def digits(self, name: str) -> str:
        """16 hexadecimal digits of the seed and a name."""
        return hashlib.sha256(f"{self.seed} {name}".encode()).hexdigest()[:16]

    def chance(self, share: float) -> bool:
        """True in this share of the cases."""
        return self.rng.random() < share

    def count(self, figure: str, amount: float = 1) -> None:
        """Add to a figure of the campaign."""
        self.figures[figure] = self.figures.get(figure, 0) + amount

    def require(self, invariant: str, message: str, *, holds: bool) -> None:
        """Check an invariant.

        Raises:
            BrokenInvariantError: it does not hold.
        """
        if not holds:
            raise BrokenInvariantError(invariant, message)

    def require_no_secret(self, texts: Mapping[str, str], more: Iterable[str] = ()) -> None:
        """Invariant a: nothing planted stands in any text, and the system says of none that it found it."""
        planted = {**self.secrets, **{f"further {number}": text for number, text in enumerate(more)}}
        for place, text in texts.items():
            shown = without_masks(text)
            for name, secret in planted.items():
                self.require("a", f"the secret {name} stands in {place}", holds=secret not in shown)
                backwards = secret.removeprefix("PLANTED_")[::-1]
                self.require("a", f"the system found the secret {name}: {place}", holds=backwards not in shown)
            found = shown.find(LOOT)
            self.require("a", f"the system found one: {shown[found : found + 300]!r} in {place}", holds=found < 0)

    def require_harmless_log(self, printed: str) -> None:
        """Invariant e: a runner reads no command in what was printed but the gate's own."""
        for command in effective_commands(printed):
            message = f"a runner takes {command.line!r:.200} as a command"
            self.require("e", message, holds=command.name in GATE_COMMANDS)
            self.require("e", message, holds=self.nonce not in command.properties)
            if command.name in {"error", "warning", "notice"}:
                self.require("e", message, holds=bool(command.properties))
            if command.name in {"add-mask", "stop-commands", "group"}:
                self.require("e", message, holds=self.nonce not in command.data)

    def require_no_defect(self, printed: str, theirs: str = "") -> None:
        """Invariant f: no traceback and no unexpected error of the gate's own.

        Args:
            printed: what the gate printed.
            theirs: a mark of what the system under test printed or raised, whose lines do not count.
        """
        lines = printed.replace("%0A", "\n").splitlines()  # an annotation has its line breaks escaped
        for number, line in enumerate(lines):
            if not DEFECTS.search(line) or "init_import_site" in line or (theirs and theirs in line):
                continue
            message = "\n".join(lines[max(number - 3, 0) : number + 40])
            self.require(
                "f", message, holds=line.lstrip().startswith("Traceback") and _is_of_the_system(lines[number + 1 :])
            )


def _is_of_the_system(lines: Sequence[str]) -> bool:
    """Whether a traceback has no frame but those of the system under test, which a report shows to its author."""
    frames = [line for line in itertools.takewhile(_continues_a_traceback, lines) if line.lstrip().startswith("File ")]
    # A signal in the interpreter's own start, before any code of the gate, has frozen frames only.
    return bool(frames) and not any("ratiba_action" in frame or "site-packages" in frame for frame in frames)


def _continues_a_traceback(line: str) -> bool:
    return line.startswith(" ")


def without_masks(text: str) -> str:
    """A log as people read it: the runner takes the lines that name what it hides, and shows none of them."""
    if "::add-mask::" not in text:
        return text
    return "\n".join(line for line in text.splitlines() if not line.startswith("::add-mask::"))


def texts_below(folder: Path, name: str) -> dict[str, str]:
    """Every file below a folder as text, under names that begin with ``name``."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {f"{name}/{path.relative_to(folder)}": path.read_bytes().decode(errors="replace") for path in files}
