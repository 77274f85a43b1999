"""A step's outputs, read as the runner reads them."""

from pathlib import Path


def read_outputs(path: Path) -> dict[str, str]:
    """Each output's value by its name, from the file that ``GITHUB_OUTPUT`` names."""
    found: dict[str, str] = {}
    lines = iter(path.read_text(encoding="utf-8").splitlines())
    for line in lines:
        name, _, delimiter = line.partition("<<")
        value: list[str] = []
        while (part := next(lines)) != delimiter:
            value.append(part)
        found[name] = "\n".join(value)
    return found
