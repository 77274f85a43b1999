"""Changes to eight small systems are decided as a person would, by what their scenarios were seen to read and send."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ratiba_action.decide.observed_files import ObservedFiles
from ratiba_action.decide.protection import Protection
from ratiba_action.decide.rules import default_rules, parse_rules
from ratiba_action.decide.selection import decide_mode
from ratiba_action.model.change import ChangedFiles, Mode, ModeDecision
from ratiba_action.model.reads import Reads

SYSTEMS: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "observed_changes.yaml").read_text("utf-8"))


def cases() -> Iterator[Any]:
    for name, system in SYSTEMS.items():
        for number, change in enumerate(system["changes"], 1):
            yield pytest.param(system, change, id=f"{name}-{number}-{change['mode']}")


def after(files: dict[str, str], change: dict[str, Any]) -> str | None:
    if "whole" in change:
        whole: str | None = change["whole"]
        return whole
    assert files[change["file"]].count(change["of"]) == 1, f"{change['of']!r} does not stand there once"
    return files[change["file"]].replace(change["of"], change["to"])


def decide(system: dict[str, Any], change: dict[str, Any], *, observed: bool = True) -> ModeDecision:
    path, sides = change["file"], {"base": system["files"].get(change["file"]), "head": after(system["files"], change)}

    def read(side: str, name: str) -> bytes | None:
        content = sides[side] if name == path else None
        return None if content is None else content.encode()

    seen = Reads(tuple(system["seen"]["files"]), system["seen"]["sent"])
    return decide_mode(
        ChangedFiles((path,)),
        parse_rules(system["rules"]) if "rules" in system else default_rules(),
        reader=read,
        protection=Protection(),
        observed=ObservedFiles({"booking": seen}) if observed else None,
    )


@pytest.mark.parametrize(("system", "change"), list(cases()))
def test_a_change_is_decided_as_a_person_would(system: dict[str, Any], change: dict[str, Any]) -> None:
    assert decide(system, change).mode == change["mode"]


@pytest.mark.parametrize(("system", "change"), list(cases()))
def test_what_was_observed_only_makes_a_mode_stricter(system: dict[str, Any], change: dict[str, Any]) -> None:
    assert decide(system, change).mode.rank >= decide(system, change, observed=False).mode.rank


def test_the_set_is_large_enough() -> None:
    changes = [change for system in SYSTEMS.values() for change in system["changes"]]
    harmless = [change for change in changes if change.get("harmless")]
    assert (len(SYSTEMS), len(changes) - len(harmless) >= 40, len(harmless) >= 30) == (8, True, True)
    assert Mode.BLOCKING not in {change["mode"] for change in harmless}
