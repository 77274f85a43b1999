"""``.python-version``, ``.node-version``, ``.nvmrc`` and ``.tool-versions``: which interpreter runs the code."""

from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather


def parse(text: str) -> Manifest:
    """Read one of the files: a version a line, with the tool's name before it where there are several.

    Raises:
        ValueError: it names nothing.
    """
    lines = [line.split("#")[0].split() for line in text.splitlines()]
    pins = [(words[0] if len(words) > 1 else "interpreter", Pin(words[-1])) for words in lines if words]
    if not pins:
        raise ValueError("it names no version")
    return Manifest(gather(pins))
