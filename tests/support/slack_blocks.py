"""What Slack's documentation says about the body of an incoming webhook, as far as the gate uses it.

Blocks of a message: at most 50. ``header``: plain text of 150 characters. ``section``: text of 1 to 3,000 characters.
``context``: at most 10 elements. ``&``, ``<`` and ``>`` that are no syntax are written as entities. Slack refuses
messages whose blocks have about 13,000 characters together, which its documentation does not say.
"""

import json
import re
from typing import Any

_MAX_CHARACTERS = 13_000
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt);)")
_LINK = re.compile(r"<https?://[^<>|]+\|[^<>|]+>")


def require_slack(body: bytes) -> list[str]:
    """The texts of a body's blocks; fails where Slack would refuse it or read syntax in it."""
    content = json.loads(body)
    assert content.keys() <= {"text", "blocks", "unfurl_links"}
    assert 1 <= len(content["text"]) <= 4_000
    assert 1 <= len(content["blocks"]) <= 50
    assert len(json.dumps(content["blocks"], ensure_ascii=False)) < _MAX_CHARACTERS
    found = [text for block in content["blocks"] for text in _texts(block)]
    assert not any(_ENTITY.search(text) or set("<>") & set(_LINK.sub("", text)) for text in found)
    return found


def _texts(block: dict[str, Any]) -> list[str]:
    match block:
        case {"type": "header", "text": {"type": "plain_text", "text": text}}:
            assert 1 <= len(text) <= 150
            return [text]
        case {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}:
            assert 1 <= len(text) <= 3_000
            return [text]
        case {"type": "context", "elements": elements}:
            assert 1 <= len(elements) <= 10
            assert all(element["type"] == "mrkdwn" and element["verbatim"] and element["text"] for element in elements)
            return [element["text"] for element in elements]
        case _:
            raise AssertionError(block)
