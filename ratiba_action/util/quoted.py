"""Text of a conversation as a quoted string, which nothing in it can end."""

import json
import re
from typing import Any

_ENDS_A_LINE = re.compile(r"[\x7f-\x9f\u2028\u2029]")


def quoted(value: Any) -> str:
    """A text, or any JSON, on one line.

    JSON escapes quotes, backslashes and the control characters below 32; the other characters at which some program
    begins a new line are escaped here.
    """
    return _ENDS_A_LINE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
