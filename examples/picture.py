"""Draw a comment as GitHub shows it: Markdown to HTML to a picture, by headless Chromium.

Usage: ``python examples/picture.py ratiba-report/comment.md docs/images/comment.png``.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

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
blockquote p { margin: 4px 0; }
details { margin: 6px 0; }
"""


def main() -> int:
    """Draw the comment that the first argument names into the file that the second one names."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(source.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "comment.html"
        page.write_text(f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{html}", encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
        options += ["--hide-scrollbars", "--no-first-run", f"--user-data-dir={folder}/profile"]
        shot = [f"--screenshot={target.resolve()}", "--window-size=1000,1080", page.as_uri()]
        return subprocess.run(["chromium", *options, *shot], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
