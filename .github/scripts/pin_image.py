# ruff: noqa: INP001 - a script of the release, not a package
"""Read or write the default of the input ``image`` in an action's description.

pin_image.py ACTION            print it; fails unless it is an image by digest
pin_image.py ACTION REFERENCE  write it, an image by digest such as registry/name@sha256:…
"""

import re
import sys
from pathlib import Path

_BY_DIGEST = re.compile(r"[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64}")
# The lines below `image:` that are indented deeper, up to its default.
_DEFAULT = re.compile(r'(?<=\n)(  image:\n(?:    .*\n)*?    default: )"([^"\n]*)"(?=\n)')


def main(arguments: list[str]) -> int:
    """Run the command; 2 when it was misused or the file has no such default."""
    if len(arguments) not in (1, 2):
        return _refuse(__doc__ or "")
    action, *given = arguments
    text = Path(action).read_text(encoding="utf-8")
    found = _DEFAULT.findall(text)
    if len(found) != 1:
        return _refuse(f"{action} has {len(found)} inputs 'image' with a default in double quotes, not 1.")
    reference = given[0] if given else found[0][1]
    if not _BY_DIGEST.fullmatch(reference):
        return _refuse(f"{reference!r} is no image by digest. Give one such as registry/name@sha256:… with 64 digits.")
    if given:
        Path(action).write_text(_DEFAULT.sub(rf'\g<1>"{reference}"', text), encoding="utf-8")
    else:
        sys.stdout.write(reference + "\n")
    return 0


def _refuse(message: str) -> int:
    sys.stderr.write(message.rstrip() + "\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
