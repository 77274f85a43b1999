"""Keys that had another name in the version before: files with the former one are still read."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class RenamedKey:
    """One key of a configuration or scenario file.

    Args:
        block: keys from the top of the file to the mapping that has it; ``*`` for each item of a list.
        former: its name in the version before.
        name: its name now.
        metric: only in the parameters of this metric; empty for everywhere.
    """

    block: tuple[str, ...]
    former: str
    name: str
    metric: str = ""


RENAMED_KEYS = (
    RenamedKey(("comparison",), "least_margin", "min_margin"),
    RenamedKey(("comparison",), "fewest_scenarios", "min_scenarios"),
    RenamedKey(("suite", "strategy"), "least_mean", "min_mean"),
    RenamedKey(("strategy",), "least_mean", "min_mean"),
    RenamedKey(("simulated_user",), "most_turns", "max_turns"),
    RenamedKey(("assertions", "*", "with"), "least_share", "min_share", metric="ReplyLanguageMetric"),
)
FORMER: Mapping[str, str] = MappingProxyType({key.name: key.former for key in RENAMED_KEYS})
"""The former name by today's; also of the fields of results that have the key's value."""
