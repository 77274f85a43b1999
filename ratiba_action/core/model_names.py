"""Which names mean the same model: providers add dates, aliases and prefixes to one name."""

import re

_SUFFIX = re.compile(r"(-\d{8}|-\d{4}-\d{2}-\d{2}|-latest|@[\w.-]*|:[\w.-]*)$")


def base_model(name: str) -> str:
    """The name of a model without a provider's prefix, a release date or an alias, in lower case.

    ``anthropic/claude-opus-5-5-20260901`` and ``claude-opus-5-5`` are one model.
    """
    return _SUFFIX.sub("", name.strip().lower().rsplit("/", 1)[-1])
