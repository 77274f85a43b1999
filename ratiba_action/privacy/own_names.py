"""Names that the gate has written itself, versions, digests, ids and tags, which are nobody's number.

About one abbreviated commit of 27 has digits only, and a workflow run's id always; masked, two versions are one.
"""

import re
from collections.abc import Iterable

from ratiba_action.privacy.masking import Redactor

_COMMIT = r"[0-9a-f]{7,64}(?:-dirty)?"
_VERSION = re.compile(rf"(?:[^\s@]+@)?{_COMMIT}")
_NAME = re.compile(rf"(?=\S*[A-Za-z])[^\s@]+(?:@{_COMMIT})?|{_COMMIT}|\d{{1,20}}\.\d{{1,9}}")
_TAG = re.compile(r"ratiba:(?:prompt_version|model)=(?P<value>.+)")
_OF_A_PHONE = re.compile(r"\d{9}")


def is_own_name(text: str) -> bool:
    """Whether a value of a field that the gate fills may be one: a word, a version, a digest or the id of a run."""
    return _NAME.fullmatch(text) is not None


def is_own_tag(text: str) -> bool:
    """Whether a tag is one by which ``ratiba sample`` names a version or a model.

    The value comes from production, where something else may have been put there: a number as long as that of a phone
    is a version only behind the name of its prompt.
    """
    tag = _TAG.fullmatch(text)
    if tag is None:
        return False
    value = tag["value"]
    plain = is_own_name(value) and "@" not in value and _OF_A_PHONE.search(value) is None
    return plain or (_VERSION.fullmatch(value) is not None and "@" in value)


class KeepingRedactor(Redactor):
    """A redactor of sentences of the gate in which some names stay that the gate was given as its own.

    Args:
        secrets: see ``Redactor``.
        own: names that stay, unless they are none by their form; a secret in one is hidden all the same.
    """

    def __init__(self, secrets: Iterable[str], own: Iterable[str]) -> None:
        super().__init__(secrets)
        names = sorted(filter(is_own_name, own), key=len, reverse=True)
        self._own = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, names))})(?!\w)") if names else None

    def text(self, text: str) -> str:
        """The text without any secret or identifier, but with the names."""
        parts = [text] if self._own is None else self._own.split(text)
        return "".join(
            self.secretless(part) if number % 2 else super(KeepingRedactor, self).text(part)
            for number, part in enumerate(parts)
        )
