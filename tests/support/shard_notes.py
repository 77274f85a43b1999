"""The note that only a run of several shards has, and the comment without it."""

import re

SHARES = (
    "- Each of 4 shards had its share of the budget of \\$20.00: they share one only in a pull request with"
    " ledger-url.\n"
)
_NOTES = re.compile(r"<details><summary>(\d+) notes?</summary>\n\n(.*?)\n\n</details>\n*", re.DOTALL)


def without_shares(comment: str) -> str:
    """The comment as that of one job: without the note, and with one note fewer counted."""

    def fewer(found: re.Match[str]) -> str:
        left = int(found[1]) - 1
        kept = f"{found[2]}\n".replace(SHARES, "").rstrip("\n")
        heading = f"{left} note" if left == 1 else f"{left} notes"
        return found[0].replace(found[2], kept).replace(f">{found[1]} notes<", f">{heading}<") if left else ""

    return _NOTES.sub(fewer, comment) if SHARES.rstrip("\n") in comment else comment
