"""Changes to small systems are decided as a person would, by what their scenarios were seen to read and send."""

import re
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
    seen = Reads(tuple(system["seen"]["files"]))
    read = {name: text.encode() for name, text in system["files"].items() if seen.covers(name)}
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


MODULE = """
def greet(shop, clock):
    first = clock.hour()
    second = clock.minute()
    text = "You greet the guests of a shop at {}.".format(first)
    return shop.ask(system=text, user=second)
"""


@pytest.mark.parametrize(
    ("old", "new", "may"),
    [
        ("text", "prompt", False),
        ("first", "hour", False),
        ("format(first)", "format(second)", True),
        ("text", "first", True),
        ("text", "shop", True),
        ("shop", "store", True),
        ("def greet", "def welcome", False),
        ("system=text", "prompt=text", True),
        ("clock.hour", "clock.hours", False),
        ("format(first)", "format(**locals())", True),
        ("user=second", "user=text", True),
    ],
)
def test_only_a_new_name_of_a_local_variable_changes_no_text(old: str, new: str, *, may: bool) -> None:
    changed = MODULE.replace(old, new) if "(" in old or "=" in old else re.sub(rf"\b{old}\b", new, MODULE)
    assert changed != MODULE
    assert may_change_sent_text("bot.py", MODULE.encode(), changed.encode()) is may
    assert may_change_sent_text("bot.py", changed.encode(), MODULE.encode()) is may


STRICT, LAX = "SYSTEM = 'You are careful about every guest.'\n", "EASY = 'You are generous to every guest.'\n"


@pytest.mark.parametrize(
    "code",
    [
        "def reply(m):\n    words = [SYSTEM for SYSTEM in m]\n    return ask(SYSTEM, words)\n",
        "def reply(m):\n    def inner():\n        SYSTEM = 1\n        return SYSTEM\n    return ask(SYSTEM, inner())\n",
        "def reply(m, s=SYSTEM):\n    SYSTEM = m.strip()\n    return ask(s, SYSTEM)\n",
        "@given(SYSTEM)\ndef reply(m):\n    SYSTEM = m.strip()\n    return ask(SYSTEM)\n",
        "def reply(m):\n    SYSTEM = m\n    return ask(sys._getframe().f_locals[NAME], 'You are careful.')\n",
    ],
)
def test_another_text_of_the_module_is_no_new_name_of_a_local_variable(code: str) -> None:
    before, after = (f"{STRICT}{LAX}\n\n{each}" for each in (code, code.replace("SYSTEM", "EASY")))
    assert may_change_sent_text("bot.py", before.encode(), after.encode()) is True


@pytest.mark.parametrize(
    "code",
    [
        "    name = shop.name\n    return 'You greet the guests of {name}.'.format(**locals())",
        "    name = shop.name\n    return eval('f\"You greet the guests of {name}.\"')",
        "    global name\n    name = 'You greet the guests.'",
        "    name = 'You greet the guests.'\n    return f'{name=}'",
        "    import name\n    name = name.text('You greet the guests.')",
        "    for name in shop:\n        class Text:\n            name = 'You greet the guests.'",
    ],
)
def test_a_variable_whose_name_can_be_seen_has_no_other_one(code: str) -> None:
    before = f"def text(shop):\n{code}\n"
    after = re.sub(r"(?<!\.)\bname\b", "title", before)
    assert may_change_sent_text("bot.py", before.encode(), after.encode())


@pytest.mark.parametrize(
    ("code", "may"),
    [
        ("MOST = 3\n\ndef text():\n    return f'Offer {MOST} rooms to each guest.'\n", True),
        ("MOST: int = 3\n\ndef text():\n    return 'Offer %d rooms to each guest.' % MOST\n", True),
        ("MOST = 3\n\ndef ask(client):\n    return client.ask('You are a clerk.', tries=MOST)\n", True),
        ("class Clerk:\n    most = 3\n\n    def text(self):\n        return f'Offer {self.most} rooms.'\n", True),
        ("MOST = 3\nTEXT = 'You are a clerk.'\n\ndef wait(tries):\n    return tries < MOST\n", False),
        ("MOST = 3\n\ndef wait():\n    raise ValueError(f'gave up after {MOST} tries')\n", False),
    ],
)
def test_a_number_that_a_text_holds_is_a_part_of_it(code: str, *, may: bool) -> None:
    assert may_change_sent_text("bot.py", code.encode(), code.replace("= 3", "= 4").encode()) is may


@pytest.mark.parametrize(
    ("name", "before", "after", "may"),
    [
        ("a.json", '{"a": "Be kind.", "b": 1}', '{\n "a": "Be k\\u0069nd.",\n "b": 1}', False),
        ("a.json", '{"a": "Be kind.", "b": 1}', '{"b": 1, "a": "Be kind."}', True),
        ("a.json", '{"a": 1}', '{"a": true}', True),
        ("a.json", '{"a": 1}', '[["a", 1]]', True),
        ("a.json", '{"a": 1.0}', '{"a": 1.00}', True),
        ("a.json", '{"a": 1.0}', '{"a": "1.0"}', True),
        ("a.json", '{"a": 1, "a": 2}', '{"a": 2}', True),
        ("a.json", '{"a": 1}', '{"a": 1,}', True),
        ("a.toml", "a = 1\nb = 2\n", "b = 2\na = 1\n", True),
        ("a.toml", "a = 1\n", "a = true\n", True),
        ("a.js", "s = 'Be kind.'", 's = "Be kind."', False),
        ("a.js", "s = 'Be kind.'", "s = `Be kind.`", True),
        ("a.rb", "s = 'Be #{kind}.'", 's = "Be #{kind}."', True),
    ],
)
def test_values_of_data_count_and_how_they_are_written_does_not(
    name: str, before: str, after: str, *, may: bool
) -> None:
    assert may_change_sent_text(name, before.encode(), after.encode()) is may


def test_names_that_stand_for_one_another_are_followed_once() -> None:
    content = "".join(f"a{number}=a{number - 1}\n" for number in range(2000, 0, -1)) + "a0='You are a bot'\n"
    assert may_change_sent_text("bot.py", content.encode(), content.replace("a9=a8", "a9=a7").encode())
    assert not may_change_sent_text("bot.py", content.encode(), f"{content}b=1\n".encode())


def test_the_set_is_large_enough() -> None:
    changes = [change for system in SYSTEMS.values() for change in system["changes"]]
    harmless = [change for change in changes if change.get("harmless")]
    assert (len(SYSTEMS), len(changes) - len(harmless) >= 60, len(harmless) >= 50) == (36, True, True)
    assert Mode.BLOCKING not in {change["mode"] for change in harmless}
