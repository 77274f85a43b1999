"""Messages as people write them: what has to go goes, what has to stay stays.

The examples were written by somebody who had not seen the rules.
"""

import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml

from ratiba_action.privacy.masking import Redactor

CORPUS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("masking_corpus.yaml").read_text("utf-8"))


def redacted(example: dict[str, Any]) -> str:
    return Redactor(names=example.get("identities", ())).text(example["text"])


def normalised(text: str) -> str:
    """Without look-alikes, so that a number that was only normalised counts as one that survived."""
    plain = (one for one in unicodedata.normalize("NFKC", text) if unicodedata.category(one) != "Cf")
    return "".join(str(unicodedata.decimal(one)) if one.isdecimal() else one for one in plain)


@pytest.mark.parametrize("kind", sorted({example["id"].rsplit("-", 1)[0] for example in CORPUS}))
def test_no_identifier_survives_as_written_or_normalised(kind: str) -> None:
    examples = [example for example in CORPUS if example["id"].startswith(f"{kind}-")]
    survivors = [
        (example["id"], gone)
        for example in examples
        for form in (str, normalised)
        for gone in example["gone"]
        if form(gone) in form(redacted(example))
    ]
    assert survivors == []


def test_no_figure_of_a_payment_and_no_other_word_is_lost() -> None:
    lost = [
        (example["id"], stays) for example in CORPUS for stays in example["stays"] if stays not in redacted(example)
    ]
    assert lost == []


def test_masking_again_changes_nothing() -> None:
    changed = []
    for example in CORPUS:
        once = redacted(example)
        if redacted({**example, "text": once}) != once:
            changed.append(example["id"])
    assert changed == []


def test_the_corpus_is_as_large_and_as_mixed_as_it_has_to_be() -> None:
    assert len({example["id"] for example in CORPUS}) == len(CORPUS) >= 300
    assert {example["language"] for example in CORPUS} == {"sw", "en", "mixed"}
    assert sum(bool(example["gone"]) for example in CORPUS) >= 200
    assert sum(bool(example["stays"]) for example in CORPUS) >= 300
