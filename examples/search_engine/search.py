"""The search box of a beauty shop: what the gate calls."""

import json
from pathlib import Path
from typing import Any

from bm25 import Index

CATALOGUE = Path(__file__).parent / "catalogue.jsonl"


def search(message: str) -> dict[str, Any]:
    """The products that answer a query, the best first."""
    products = [json.loads(line) for line in CATALOGUE.read_text(encoding="utf-8").splitlines()]
    titles = {product["id"]: product["title"] for product in products}
    index = Index({product["id"]: f"{product['title']} {product['text']}" for product in products})
    found = index.search(message)
    return {
        "text": ", ".join(titles[name] for name, _ in found) or "Nothing found.",
        "documents": [{"id": name, "text": titles[name], "score": score} for name, score in found],
    }
