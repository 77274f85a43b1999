"""A sample that is the same in every run: chance has no part in who is in it."""

import hashlib

from ratiba_action.model.canonical import canonical_json

_DIGITS = 16
_ALL = float(16**_DIGITS)


def in_sample(share: float, *identity: str) -> bool:
    """Whether something belongs to a share of all, by the hash of what it is.

    A larger share holds all that a smaller one holds.

    Args:
        share: 0 for nothing, 1 for everything.
        identity: what tells it from everything else.
    """
    seen = hashlib.sha256(canonical_json(list(identity)).encode("ascii")).hexdigest()
    return int(seen[:_DIGITS], 16) < share * _ALL
