"""``docs/dependencies.md`` has every package that the project declares, and names files that exist."""

import re
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PAGE = (PROJECT / "docs/dependencies.md").read_text("utf-8")
DECLARED = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
NAMES = {"lingua-language-detector": "lingua"}


def declared() -> list[str]:
    """Names of the packages of the gate and of its extras, less the tools of development."""
    extras = {
        name: listed for name, listed in DECLARED["optional-dependencies"].items() if name not in {"dev", "example"}
    }
    requirements = [*DECLARED["dependencies"], *(one for listed in extras.values() for one in listed)]
    return [re.split(r"[\[<>=;~ ]", requirement, maxsplit=1)[0] for requirement in requirements]


@pytest.mark.parametrize("name", declared())
def test_every_package_has_a_row(name: str) -> None:
    assert re.search(rf"\b{re.escape(NAMES.get(name, name))}\b", PAGE, re.IGNORECASE)


@pytest.mark.parametrize("place", re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", PAGE))
def test_every_place_exists(place: str) -> None:
    assert any((root / place).exists() for root in (PROJECT, PROJECT / "ratiba_action"))
