"""The tags of a page."""

from html.parser import HTMLParser


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(f"{tag} {' '.join(sorted(name for name, _ in attrs))}")


def tags(document: str) -> list[str]:
    """Each tag with the names of its attributes, in the order of the page."""
    parser = _Tags()
    parser.feed(document)
    return parser.found
