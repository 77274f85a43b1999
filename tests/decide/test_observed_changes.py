"""Changes to small systems are decided as a person would, by what their scenarios were seen to read and send."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ratiba_action.decide.observed_files import ObservedFiles
from ratiba_action.decide.protection import Protection
from ratiba_action.decide.rules import default_rules, parse_rules
from ratiba_action.decide.selection import decide_mode
from ratiba_action.decide.sent_texts import may_change_sent_text
from ratiba_action.llm.text_sources import files_of, sent_texts
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


@pytest.mark.parametrize("system", [pytest.param(each, id=name) for name, each in SYSTEMS.items() if "sends" in each])
def test_a_text_that_is_sent_is_found_in_its_file(system: dict[str, Any]) -> None:
    read = {name: text.encode() for name, text in system["files"].items() if name in system["seen"]["files"]}
    assert files_of(read, list(sent_texts({"system": system["sends"]}))).keys() == system["seen"]["sent"].keys()


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("bot.rb", "S = <<~TEXT\n  Be kind.\nTEXT\n", "S = <<~TEXT\n  Be rude.\nTEXT\n"),
        ("bot.php", "<?php\n$s = <<<TEXT\nBe kind.\nTEXT;\n", "<?php\n$s = <<<TEXT\nBe rude.\nTEXT;\n"),
        ("bot.sh", "cat <<EOF\n# Be kind.\nEOF\n", "cat <<EOF\n# Be rude.\nEOF\n"),
        ("bot.sh", "S='You are a bot.\nBe kind.'\n", "S='You are a bot.\nBe rude.'\n"),
        ("bot.rs", 'let s = "You are a bot.\nBe kind.";\n', 'let s = "You are a bot.\nBe rude.";\n'),
        ("bot.rs", 'let s = r#"You are\n"kind"."#;\n', 'let s = r#"You are\n"rude"."#;\n'),
        ("bot.cs", 'var s = @"You are a bot.\nBe kind.";\n', 'var s = @"You are a bot.\nBe rude.";\n'),
        ("bot.cpp", 'auto s = R"(You are a bot.\nBe kind.)";\n', 'auto s = R"(You are a bot.\nBe rude.)";\n'),
        ("bot.kt", 'val s = """You are a bot.\nBe kind."""\n', 'val s = """You are a bot.\nBe rude."""\n'),
    ],
)
def test_a_line_of_a_text_of_several_lines_is_a_text(name: str, before: str, after: str) -> None:
    assert may_change_sent_text(name, before.encode(), after.encode())
    assert not may_change_sent_text(name, f"{before}x\n".encode(), f"{before}y\n".encode())


@pytest.mark.parametrize(
    ("name", "part"),
    [
        *(("bot.js", part) for part in ("`\\", '"\\', "'\\", '"""\\', "/*")),
        *(("bot.rb", part) for part in ("<<~A\n", "<<A", "'\\", "'\\\n", "'" * 3)),
        *(("bot.rs", part) for part in ('r##"', '"\\')),
        ("bot.cpp", 'R"a('),
        ("bot.cs", '@"'),
        ("bot.php", "<<<A\n"),
        ("bot.sql", "/*"),
    ],
)
def test_a_file_of_texts_that_are_not_closed_is_read_once(name: str, part: str) -> None:
    """Half a minute and more where every beginning is looked at to the end of the file."""
    content = (part * 20_000).encode()
    assert may_change_sent_text(name, content, b"'A text.'\n" + content)


def test_names_that_stand_for_one_another_are_followed_once() -> None:
    content = "".join(f"a{number}=a{number - 1}\n" for number in range(2000, 0, -1)) + "a0='You are a bot'\n"
    assert may_change_sent_text("bot.py", content.encode(), content.replace("a9=a8", "a9=a7").encode())
    assert not may_change_sent_text("bot.py", content.encode(), f"{content}b=1\n".encode())


def test_the_set_is_large_enough() -> None:
    changes = [change for system in SYSTEMS.values() for change in system["changes"]]
    harmless = [change for change in changes if change.get("harmless")]
    assert (len(SYSTEMS), len(changes) - len(harmless) >= 60, len(harmless) >= 50) == (18, True, True)
    assert Mode.BLOCKING not in {change["mode"] for change in harmless}
