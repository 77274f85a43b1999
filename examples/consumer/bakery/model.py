"""The one question that a model is asked: what does the customer want, and what do we answer?"""

import json
import re
from pathlib import Path
from typing import Any

from openai import OpenAI

MODEL = "gpt-5.6-luna"
PROMPT = Path(__file__).resolve().parents[1] / "prompts" / "order_taker.md"


def system_prompt() -> str:
    """The prompt without the notes for its editors, which stand in HTML comments."""
    return re.sub(r"<!--.*?-->\n?", "", PROMPT.read_text(encoding="utf-8"), flags=re.DOTALL)


def understand(state: str, message: str) -> dict[str, Any]:
    """Intent, item, quantity and reply. Address and key of the model come from the environment."""
    with OpenAI(max_retries=0, timeout=30.0) as client:
        completion = client.chat.completions.create(
            model=MODEL,
            max_completion_tokens=300,
            messages=[
                {"role": "system", "content": system_prompt()},
                {"role": "user", "content": json.dumps({"state": state, "message": message}, ensure_ascii=False)},
            ],
        )
    understood: dict[str, Any] = json.loads(completion.choices[0].message.content or "{}")
    return understood
