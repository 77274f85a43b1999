"""Draw the pictures of README and documentation again: each is the comment of a bundled run, as GitHub shows it.

Usage: ``make pictures``. The text that a picture shows is kept beside it, and tests compare it with what the code
writes today.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

PROJECT = Path(__file__).parents[2]
IMAGES = PROJECT / "docs/images"
RUNS = {
    "comment": ["examples/run.py", "tool_agent", "--change", "regression"],
    "comment_swahili": ["examples/demo.py", "--pull-request", "regression"],
}
"""The command of each picture, by its name."""
STYLE = """
body { font: 14px/1.5 -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; color: #1f2328;
       margin: 0; padding: 16px 20px; width: 960px; background: #fff; }
h2 { font-size: 21px; border-bottom: 1px solid #d1d9e0; padding-bottom: 6px; margin: 0 0 12px; }
h3 { font-size: 17px; margin: 18px 0 8px; }
table { border-collapse: collapse; margin: 8px 0; }
td, th { border: 1px solid #d1d9e0; padding: 4px 10px; }
tr:nth-child(2n) { background: #f6f8fa; }
code { background: #eff1f3; border-radius: 5px; padding: 2px 5px; font-size: 12px; }
blockquote { border-left: 4px solid #d1d9e0; color: #59636e; margin: 0 0 12px; padding: 0 14px; }
blockquote p { margin: 4px 0; } blockquote h2 { border: 0; margin: 4px 0; padding: 0; }
.CAUTION { border-color: #cf222e; color: #1f2328; } .CAUTION b { color: #cf222e; }
pre { background: #f6f8fa; border-radius: 6px; padding: 12px; } pre code { background: none; padding: 0; }
"""
_MARKER = re.compile(r"\A<!--.*?-->\n")
_ALERT = re.compile(r"<blockquote>\n<p>\[!([A-Z]+)\]</p>")
_HEIGHT = "<script>document.title = document.documentElement.scrollHeight</script>"


def shown(comment: str) -> str:
    """What a picture shows of a comment: all that is not folded."""
    return _MARKER.sub("", comment).partition("<details>")[0].rstrip() + "\n"


def draw(text: str, target: Path) -> None:
    """Draw Markdown as high as it is, by headless Chromium."""
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    html = _ALERT.sub(lambda found: f'<blockquote class="{found[1]}"><p><b>{found[1].capitalize()}</b></p>', html)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "comment.html"
        page.write_text(f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{html}{_HEIGHT}", encoding="utf-8")
        options = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        options += ["--disable-sync", "--hide-scrollbars", "--no-first-run", f"--user-data-dir={folder}/profile"]
        size = ["--window-size=1000,100", "--dump-dom", page.as_uri()]
        found = subprocess.run([*options, *size], check=True, capture_output=True, text=True).stdout
        height = int(found.partition("<title>")[2].partition("<")[0])
        shot = [f"--screenshot={target}", f"--window-size=1000,{height}", page.as_uri()]
        subprocess.run([*options, *shot], check=True, capture_output=True)


def main() -> None:
    """Run each bundled pull request of a picture, and draw its comment."""
    for name, command in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, *command, "--report-dir", folder], cwd=PROJECT, check=False)
            text = shown((Path(folder) / "comment.md").read_text(encoding="utf-8"))
        (IMAGES / f"{name}.txt").write_text(text, encoding="utf-8")
        draw(text, IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
