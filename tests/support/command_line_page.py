"""``docs/command-line.md``, written from the parsers: ``make command-line``."""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ratiba_action.cli import COMMANDS, GROUPS, build_whole_parser

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
HEAD = """\
# Command line
This page lists every command with its options. `ratiba COMMAND --help` prints the same. To start, run `ratiba init`;
for what you need most, see [on a laptop](laptop.md). `make command-line` writes this page from the parsers.

- If an option's row names an environment variable, you can set that instead. The option wins.
- Without `--repo`, a command uses the repository of the current folder.
- `--json` prints JSON on standard output, for programs.
- [Exit code](inputs.md#exit-codes) 2 means a wrong input, configuration or command line. `ratiba doctor` exits with 1
  if something is missing.

"""


def command_line_page() -> str:
    """The whole page."""
    parser = build_whole_parser()
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    listed = "".join(
        f"| {group} | {' · '.join(f'[`{name}`](#ratiba-{name})' for name in names)} |\n"
        for group, names in GROUPS.items()
    )
    sections = "".join(_section(name, commands.choices[name]) for name in COMMANDS)
    return f"{HEAD}| for | commands |\n| --- | --- |\n{listed}\n{sections}".rstrip() + "\n"


def _section(name: str, parser: argparse.ArgumentParser) -> str:
    description = "\n".join(_prose(str(parser.description)))
    example = str(parser.epilog).removeprefix("example:\n")
    example = "\n".join(line.removeprefix("  ") for line in example.splitlines())
    nested = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    tables = _table(parser)
    for action in nested:
        tables += "".join(f"### ratiba {name} {task}\n{_table(each)}\n" for task, each in action.choices.items())
    return f"## ratiba {name}\n{description}\n\n```text\n{example}\n```\n\n{tables}\n"


def _prose(description: str) -> Iterator[str]:
    """The description; its indented lines, which line up words, as they are."""
    inside = False
    for line in description.splitlines():
        if line.startswith("  ") != inside:
            inside = not inside
            yield "\n```text" if inside else "```\n"
        yield line if inside else _escaped(line)
    if inside:
        yield "```"


def _table(parser: argparse.ArgumentParser) -> str:
    """One table, and one under a heading of its own for each group of options that the parser names."""
    plain = [action for group in parser._action_groups[:2] for action in group._group_actions]
    tables = [_rows(parser, [action for action in parser._actions if action in plain])]
    tables += [f"**{group.title}**\n\n{_rows(parser, group._group_actions)}" for group in parser._action_groups[2:]]
    return "\n".join(filter(None, tables))


def _rows(parser: argparse.ArgumentParser, actions: Sequence[argparse.Action]) -> str:
    formatter = parser._get_formatter()
    rows = [
        _row(action, formatter._expand_help(action) if action.help else "") for action in actions if _is_shown(action)
    ]
    return "| argument or option | what it is |\n| --- | --- |\n" + "".join(rows) if rows else ""


def _is_shown(action: argparse.Action) -> bool:
    nested = isinstance(action, argparse._SubParsersAction)
    return not nested and action.help is not argparse.SUPPRESS and "--help" not in action.option_strings


def _row(action: argparse.Action, description: str) -> str:
    choices = f"{{{','.join(map(str, action.choices))}}}" if action.choices else None
    value = action.metavar or choices or action.dest.upper()
    value = " ".join(value) if isinstance(value, tuple) else value
    takes_value = action.nargs != 0
    names = [f"`{name} {value}`" if takes_value else f"`{name}`" for name in action.option_strings] or [f"`{value}`"]
    return f"| {', '.join(names).replace('|', '&#124;')} | {_escaped(description)} |\n"


def _escaped(text: str) -> str:
    """Text for a page: what Markdown would read as HTML or as the end of a cell stays text, outside of code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([<>|*\[\]])", r"\\\1", part) for part in parts)


if __name__ == "__main__":
    PAGE.write_text(command_line_page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.name} is written\n")
