# ruff: noqa: INP001 - MkDocs loads this file by its path, so it stands in no package
"""Hooks of MkDocs: pages from above ``docs``, links that lead out of it, the decisions, and ``llms.txt``.

The pages are written for GitHub, which reads CommonMark. Where Python-Markdown reads the same text otherwise, the text
is changed here, not in the pages.
"""

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PROJECT = Path(__file__).parents[1]
ABOVE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
"""Pages of the site that stand above ``docs``; the site names them in small letters."""
MOVED = {"first-run": "github-checklist"}
"""Pages that had another name, so that old addresses lead on."""
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BADGE = re.compile(r'<a href="\.\./\.\./actions/[^>]*>.*?</a> ')
"""Addresses of GitHub's own, relative to a page of the repository there."""
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
_ITEM = re.compile(r"( *)([-*]|\d+\.) ")
_LEADS_ON = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Moved</title><meta http-equiv="refresh" content="0; url={address}">
<p>This page has moved: <a href="{address}">{address}</a></p></html>
"""
_NESTED = 4
"""Columns by which Python-Markdown knows a nested item; CommonMark takes two."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the repository from the workflow that builds the site; without one, no page names a repository."""
    repository = os.environ.get("GITHUB_REPOSITORY", "")
    if repository:
        config.repo_url = f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{repository}"
        config.repo_name = repository
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages above ``docs``, and the decisions to the navigation."""
    for name in ABOVE:
        files.append(File.generated(config, name.lower(), content=(PROJECT / name).read_text("utf-8")))
    decisions = sorted(file.src_uri for file in files if re.match(r"decisions/\d", file.src_uri))
    pages = [{_title(PROJECT / "docs" / uri): uri} for uri in decisions]
    config.nav = [*(config.nav or []), {"Decisions": pages}]
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write the page as Python-Markdown reads it, with links within the site or to the repository."""
    uri = page.file.src_uri
    above = next((name for name in ABOVE if name.lower() == uri), None)
    folder = (PROJECT / above if above else PROJECT / "docs" / uri).parent

    def link(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / match[1]))
        return f"]({_address(target, uri, config, files)}{match[2] or ''})"

    parts = re.split(r"(^[ ]*```.*?^[ ]*```[^\n]*$)", markdown, flags=re.DOTALL | re.MULTILINE)
    prose = [_LINK.sub(link, _lists(_COMMENT.sub("", _BADGE.sub("", part)))) for part in parts[::2]]
    code = [*(_of_an_item(part) for part in parts[1::2]), ""]
    return "".join(text for pair in zip(prose, code, strict=True) for text in pair)


def on_post_build(config: MkDocsConfig) -> None:
    """Write ``llms.txt``, the list of the pages for models (https://llmstxt.org), and pages at old addresses."""
    for before, now in MOVED.items():
        folder = Path(config.site_dir) / before
        folder.mkdir()
        (folder / "index.html").write_text(_LEADS_ON.format(address=f"../{now}/"), "utf-8")
    lines = [f"# {config.site_name}", "", f"> {config.site_description}"]
    for section in config.nav or []:
        ((heading, entries),) = section.items()
        lines += ["", f"## {heading}", "", *_listed(entries)]
    (Path(config.site_dir) / "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")


def _address(target: Path, uri: str, config: MkDocsConfig, files: Files) -> str:
    """Where a link to a file of the project leads from a page of the site."""
    docs = PROJECT / "docs"
    if target.parent == PROJECT and target.name in ABOVE:
        inside = target.name.lower()
    else:
        inside = target.relative_to(docs).as_posix() if target.is_relative_to(docs) else ""
        if inside and target.is_dir():
            inside = min(file.src_uri for file in files if file.src_uri.startswith(f"{inside}/"))
    if inside and files.get_file_from_path(inside) is not None:
        return "../" * uri.count("/") + inside
    commit = os.environ.get("GITHUB_SHA", "HEAD")
    kind = "tree" if target.is_dir() else "blob"
    return f"{config.repo_url or 'https://github.com/OWNER/ratiba-eval-gate'}/{kind}/{commit}/{target.relative_to(PROJECT).as_posix()}"


def _folder(uri: str) -> str:
    return "./" if uri == "index.md" else f"{uri.removesuffix('.md')}/"


def _listed(entries: list[dict[str, Any]]) -> list[str]:
    """One line a page, those of a group in their place."""
    lines: list[str] = []
    for name, entry in (item for each in entries for item in each.items()):
        lines += _listed(entry) if isinstance(entry, list) else [f"- [{name}]({_folder(entry)})"]
    return lines


def _lists(text: str) -> str:
    """Put a blank line before each list, and nested items four columns in."""
    written: list[str] = []
    for line in text.split("\n"):
        item, before = _ITEM.match(line), written[-1] if written else ""
        if item and not item[1] and before.strip() and not before.startswith("#") and not _ITEM.match(before):
            written.append("")
        columns = len(line) - len(line.lstrip(" "))
        written.append(f"{' ' * _NESTED}{line.lstrip()}" if line.strip() and 0 < columns < _NESTED else line)
    return "\n".join(written)


def _of_an_item(block: str) -> str:
    """A block of code as a part of the item that it stands in, so that the list goes on behind it."""
    columns = len(block) - len(block.lstrip(" "))
    missing = " " * (_NESTED - columns) if 0 < columns < _NESTED else ""
    return "\n".join(f"{missing}{line}" if line else line for line in block.split("\n"))


def _title(path: Path) -> str:
    return path.read_text("utf-8").partition("\n")[0].removeprefix("# ")
