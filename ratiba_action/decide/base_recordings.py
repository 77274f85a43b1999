"""Reads what the base's recordings say that scenarios read; nothing of the head has a part in it."""

from collections.abc import Iterable

from ratiba_action.decide.contents import Contents
from ratiba_action.decide.observed_files import ObservedFiles
from ratiba_action.errors import InfrastructureError
from ratiba_action.model.reads import Reads, parse_reads

_LONGEST = 1_000_000
"""Bytes of a first line. A system of 10,000 files has about half of that."""


def observed_at_base(contents: Contents, folders: Iterable[str], doubts: list[str]) -> ObservedFiles:
    """What the first lines of the base's recordings say.

    Args:
        folders: of the scenarios, from the repository's root.
        doubts: gets why the recordings cannot be read.
    """
    observed: dict[str, Reads] = {}
    problems: list[str] = []
    try:
        for folder in folders:
            below = "recordings/" if folder in ("", ".") else f"{folder}/recordings/"
            for path, line in contents.first_lines("base", below, ".jsonl", _LONGEST):
                scenario = path[len(below) :].removesuffix(".jsonl")
                try:
                    found = parse_reads(line)
                except ValueError as error:
                    problems.append(f"what {scenario!r} reads is not known: line 1 of {path!r} is broken ({error})")
                    continue
                if found is not None:
                    observed[scenario] = found
    except InfrastructureError as error:
        doubts.append(f"what the scenarios read is not known: {error}")
    return ObservedFiles(observed, problems)
