"""Which names mean the same model: providers add dates, aliases, regions and prefixes to one name."""

import re

_RELEASE = re.compile(r"(-\d{8}|-\d{4}-\d{2}-\d{2}|-latest)$")
_PLATFORM = re.compile(r"^(?:[a-z]{2,6}\.)?(?:anthropic|openai)\.")
_PLATFORM_VERSION = re.compile(r"-v\d+$")
_DECIMAL_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_FAMILIES = (
    ("claude", re.compile(r"claude(?![a-z])")),
    ("gpt", re.compile(r"(?:gpt|chatgpt|o\d)(?![a-z])")),
    ("gemini", re.compile(r"gemini(?![a-z])")),
)


def base_model(name: str) -> str:
    """The name of a model without a provider's prefix, a release date or an alias, in lower case.

    ``anthropic/claude-opus-5-5-20260901``, ``us.anthropic.claude-opus-5-5-v1:0``, ``Claude-Opus-5.5`` and
    ``claude-opus-5-5`` are one model.
    """
    plain = name.strip().lower().rsplit("/", 1)[-1].removeprefix("ft:").split(":")[0].split("@")[0]
    hosted = _PLATFORM.sub("", plain)
    if hosted != plain:
        hosted = _PLATFORM_VERSION.sub("", hosted)
    return _DECIMAL_POINT.sub("-", _RELEASE.sub("", hosted))


def model_family(name: str) -> str:
    """Whom a model descends from: ``claude``, ``gpt``, ``gemini``, or the first word of its name.

    Judges prefer what models of their own family write.
    """
    base = base_model(name)
    for family, pattern in _FAMILIES:
        if pattern.match(base):
            return family
    return re.split(r"[^a-z]", base, maxsplit=1)[0] or base
