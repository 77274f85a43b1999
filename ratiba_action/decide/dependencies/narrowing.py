"""The ``dependencies:`` block of the gate's configuration, read without a YAML library."""

import re

_ITEM = re.compile(r"[A-Za-z0-9@][A-Za-z0-9@/._-]*")


def read_narrowing(text: str) -> frozenset[str] | None:
    """The packages that the block names; None when there is no such block.

    Only ``dependencies: [a, b]`` on one line and ``- name`` lines below ``dependencies:`` are understood.

    Raises:
        ValueError: the block holds anything else, so that it narrows nothing.
    """
    lines = text.splitlines()
    starts = [index for index, line in enumerate(lines) if re.match(r"[\"']?dependencies[\"']?\s*:", line)]
    if not starts:
        return None
    if len(starts) > 1:
        raise ValueError("the block 'dependencies' stands there more than once")
    value = _bare(lines[starts[0]].partition(":")[2])
    if value:
        if not (value.startswith("[") and value.endswith("]")):
            raise ValueError(f"'dependencies' is {value!r}, not a list of names")
        return _names(value[1:-1].split(","))
    items: list[str] = []
    for line in lines[starts[0] + 1 :]:
        bare = _bare(line)
        if not bare:
            continue
        if not re.match(r"\s*-(\s|$)", line):
            if line[0].isspace():
                raise ValueError(f"{bare!r} is not a '- name' line")
            break
        items.append(bare[1:])
    return _names(items)


def _bare(line: str) -> str:
    return re.sub(r"(^|\s)#.*", "", line).strip()


def _names(items: list[str]) -> frozenset[str]:
    names = [re.sub(r"^(['\"])(.*)\1$", r"\2", item.strip()) for item in items]
    for name in names:
        if not _ITEM.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a package")
    if not names:
        raise ValueError("the list of packages is empty")
    return frozenset(re.sub(r"[-_.]+", "-", name).lower() for name in names)


def counts(package: str, narrowing: frozenset[str] | None) -> bool:
    """Whether a package's bumps count; every package does where nothing is narrowed."""
    return narrowing is None or re.sub(r"[-_.]+", "-", package).lower() in narrowing
