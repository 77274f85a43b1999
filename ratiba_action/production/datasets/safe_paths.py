"""Which path an item may name: what a server says must not lead out of the folder of scenarios."""

from ratiba_action.util.printable import printable

_MOST_PARTS = 8
_LONGEST = 200
_LONGEST_PART = 100
_RESERVED = frozenset('<>:"|?*\\')
_OTHER_DATA = ("recordings", "calibration")

ALLOWED = "name a file below the folder of scenarios, such as spa/booking.yaml"


def safe_path(path: object, suffixes: tuple[str, ...]) -> bool:
    """Whether a path relative to the folder of scenarios may be written.

    Neither absolute nor upwards, nothing hidden or invisible, not too long, none of what some system forbids.

    Args:
        path: as a server says it.
        suffixes: endings that it may have.
    """
    if not isinstance(path, str) or not 0 < len(path) <= _LONGEST or printable(path) != path:
        return False
    parts = path.split("/")
    return (
        path.endswith(suffixes)
        and len(parts) <= _MOST_PARTS
        and parts[0].casefold() not in _OTHER_DATA
        and all(_safe_part(part) for part in parts)
    )


def _safe_part(part: str) -> bool:
    return (
        bool(part)
        and len(part.encode()) <= _LONGEST_PART
        and part[0] not in ".-~ "
        and part[-1] not in ". "
        and not _RESERVED & set(part)
    )
