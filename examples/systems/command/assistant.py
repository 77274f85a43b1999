"""A program that reads a line of JSON and answers with one; it could be written in any language."""

import json
import sys
from typing import Any

PRICES = {"pain": 80, "mandazi": 15}

for line in sys.stdin:
    request = json.loads(line)
    reply: dict[str, Any]
    item = next((name for name in PRICES if name in request["message"].lower()), None)
    if item is None:
        reply = {"text": "Nous avons du pain et des mandazi.", "state": "BROWSING"}
    else:
        call = {"name": "price", "args": {"item": item}, "output": PRICES[item]}
        reply = {"text": f"{item} : {PRICES[item]} KES.", "state": "PRICED", "tool_calls": [call]}
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
