"""Which files a scenario says it depends on, read without a YAML library.

Only asked when a change would be skipped: a document that a conversation is answered from is no documentation.
"""

import re

from ratiba_action.core.model.change import Mode, Rule

_BLOCK = re.compile(r"^touches:[ \t]*(\[[^\]]*\]|(?:[ \t]*(?:#.*)?\n[ \t]*-.*)+)", re.MULTILINE)
_ITEM = re.compile(r"(?:^|[\[,\n])[ \t]*-?[ \t]*(?:\"([^\"]*)\"|'([^']*)'|([^\s,\[\]#\"'-][^,\]\n#]*))")


def read_touches(text: str) -> tuple[Rule, ...]:
    """Floors for the files of a scenario's ``touches``: a change to one of them is at least advisory.

    Args:
        text: of a scenario file; a form that is not understood gives no floor, and the gate reads it in full later.
    """
    block = _BLOCK.search(text)
    if block is None:
        return ()
    found = dict.fromkeys("".join(parts).strip() for parts in _ITEM.findall(block[1]))
    return tuple(Rule(Mode.ADVISORY, pattern) for pattern in found if pattern)
