"""A starting point for each assertion that an import leaves to a person."""

import json
import re
from collections.abc import Sequence

from ratiba_action.authoring.imports import Left
from ratiba_action.util.text import printable

LEFT = "promptfoo_left.py"
"""The file with a starting point for each assertion that a person must write."""
_LEFT = """# Assertions that `ratiba import` left to you. Write one, and list it in its scenario under `assertions`:
#   - {metric: "promptfoo_left:NAME", threshold: 1.0}
"""


def left_file(left: Sequence[Left]) -> bytes:
    """A starting point for each assertion that a person must write: a metric of one's own."""
    same: dict[tuple[str, str], Left] = {}
    for each in left:
        same.setdefault((each.kind, json.dumps([each.value, each.threshold], default=str)), each)
    texts = [_LEFT]
    for number, each in enumerate(same.values(), 1):
        name = re.sub(r"\W+", "_", each.kind, flags=re.ASCII).strip("_").lower()
        given = {"value": each.value, "threshold": each.threshold}
        shown = json.dumps({key: value for key, value in given.items() if value is not None}, default=str)
        texts.append(
            f"\n\ndef {name or 'check'}_{number}(evidence):\n"
            f"    # {printable(each.file)}:{each.line}: {printable(each.kind)} {shown}\n"
            '    reply = evidence["turns"][-1]["reply"]["text"]\n'
            '    raise NotImplementedError(reply)  # return {"value": 0.0 to 1.0, "reason": text}\n'
        )
    return "".join(texts).encode()
