"""Answers guests from the house rules of a spa: what the gate calls."""

from pathlib import Path
from typing import Any

from anthropic import Anthropic
from retrieval import Retriever

HERE = Path(__file__).parent
MODEL = "claude-haiku-4-5"
MAX_DOCUMENTS = 3


def answer(message: str) -> dict[str, Any]:
    """The reply to one question, and the documents that it was drawn from."""
    rules = {path.stem: path.read_text(encoding="utf-8").strip() for path in (HERE / "house_rules").glob("*.md")}
    found = Retriever(rules).best(message, MAX_DOCUMENTS)
    context = "\n".join(f"[{name}] {rules[name]}" for name, _ in found)
    return {
        "text": ask_model(f"House rules:\n{context}\n\nQuestion: {message}"),
        "documents": [{"id": name, "text": rules[name], "score": score} for name, score in found],
    }


def ask_model(question: str) -> str:
    """What the model says. The gate puts the model's address and a key into the environment."""
    with Anthropic(max_retries=0) as client:
        response = client.messages.create(
            model=MODEL,
            max_tokens=300,
            system=(HERE / "prompts" / "answerer.md").read_text(encoding="utf-8"),
            messages=[{"role": "user", "content": question}],
        )
    return "".join(block.text for block in response.content if block.type == "text")
