"""Which model answered a call, by the provider's own word, and whether that is another than the one asked for.

Providers, proxies and servers spell one model in many ways: a dated snapshot for an alias, a prefix of whoever serves
it, a suffix of how it was packed. Names that say nothing certain are never taken for another model: a proxy's alias or
the file name of a model that somebody hosts is not a reason to distrust an answer.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

_FIELDS = ("model", "modelVersion")
_MAX_LETTERS = 200
_NO_NAME = re.compile(r"[^A-Za-z0-9._:/@+-]+")

_VENDOR = re.compile(
    r"^(?:[a-z]{2,7}\.)?(?:ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshotai?|nvidia|openai"
    r"|qwen|writer|zai)\.(?=[a-z])"
)
_HOSTED_VERSION = re.compile(r"-v?\d+(?::[\w.]+)?$|-v\d+$")
_TAG = re.compile(r":(?P<tag>[^:]*)$")
_PACKING = re.compile(
    r"[-_.:](?:gguf|ggml|awq|gptq|exl2|mlx|bnb|nvfp4|mxfp4|fp4|fp8|fp16|bf16|int4|int8|w\d+a\d+|\d+bit|i?q\d(?:_[a-z0-9]+)*)"
    r"(?![a-z0-9])"
)
_DATE = re.compile(
    r"(?<![\d.])(?:20\d\d-?[01]\d-?[0-3]\d|[01]\d-20\d\d|20\d\d-[01]\d|(?:0[1-9]|1[0-2])-[0-3]\d|\d{6}|\d{4}|00\d)(?![\d.])"
)
_SIZE = re.compile(r"(?<![a-z0-9.])[ae]?\d+(?:x\d+)?(?:\.\d+)?[bm](?![a-z0-9])")
_POINT = re.compile(r"(?<=\d)p(?=\d)")
"""What Fireworks writes for one."""
_WORD = re.compile(r"\d+[a-z]+|[a-z]+|\d+")
_FORMER = {"gpt-4-0125-preview": "gpt-4-turbo", "gpt-4-1106-preview": "gpt-4-turbo"}
"""Snapshots whose names lack a word of the model's."""

_CLOSED = {
    "claude": "claude", "gpt": "gpt", "chatgpt": "gpt", "o": "gpt", "gemini": "gemini", "grok": "grok", "nova": "nova",
    "command": "command", "sonar": "sonar",
}  # fmt: skip
"""First words of names that their vendor alone gives: there every word distinguishes models."""
_OPEN = {
    name: name
    for name in (
        "baichuan", "codestral", "dbrx", "deepseek", "devstral", "doubao", "ernie", "exaone", "gemma", "glm", "granite",
        "hunyuan", "internlm", "jamba", "kimi", "llama", "magistral", "minimax", "ministral", "mistral", "mixtral",
        "olmo", "palmyra", "phi", "pixtral", "qwen", "qwq", "smollm", "yi",
    )
}  # fmt: skip
"""First words of names that many serve under names of their own: there only the words below tell models apart."""
_TIERS = frozenset({
    "coder", "flash", "haiku", "high", "instant", "large", "lite", "max", "medium", "micro", "mini", "nano", "opus",
    "air", "maverick", "plus", "premier", "pro", "scout", "small", "sonnet", "tiny", "turbo", "ultra", "vision",
})  # fmt: skip
_MODES = frozenset({"chat", "reasoner"})
"""What distinguishes two models only if both names have one of them, such as DeepSeek's own."""
_SAYS_NOTHING = frozenset({
    "alpha", "beta", "cloud", "exp", "experimental", "hf", "instruct", "it", "latest", "maas", "meta", "online",
    "non", "preview", "reasoning", "thinking", "v",
    "dev", "prod", "production", "qa", "staging", "test", "uat",  # deployments of Azure
})  # fmt: skip
_SERVED_AS = frozenset({"beta", "cloud", "exacto", "extended", "floor", "free", "latest", "nitro", "online"})
"""What OpenRouter and Ollama write behind a colon: how a model is served, not which it is."""


def answering_model(answer: Mapping[str, Any]) -> str:
    """The model that gave an answer, as the provider names it; empty where it does not say.

    Args:
        answer: the provider's whole body, of any format.
    """
    found = next((answer[name] for name in _FIELDS if isinstance(answer.get(name), str)), "")
    # Reports show it, and it may be the path of a file with any letters.
    return _NO_NAME.sub("-", found.strip())[:_MAX_LETTERS]


def spelled_otherwise(asked: str, answered: str) -> str:
    """The name of the model that answered, where it is not letter by letter the one asked for; else empty."""
    return "" if answered == asked else answered


def is_another_model(asked: str, answered: str) -> bool:
    """Whether the model that answered is certainly not the one asked for: another family, version, size or tier.

    Args:
        asked: as the request names it.
        answered: as the answer names it; empty where it does not say.
    """
    if not answered or asked.strip().lower() == answered.strip().lower():
        return False
    ours, theirs = _parsed(asked), _parsed(answered)
    if not ours.family or not theirs.family:
        return False
    if ours.family != theirs.family or _differ(ours.sizes, theirs.sizes) or _differ(ours.version, theirs.version):
        return True
    if ours.closed and bool(ours.version) == bool(theirs.version):
        return ours.words != theirs.words
    tiers = ours.words & _TIERS, theirs.words & _TIERS
    if ours.version and theirs.version and not (ours.sizes and theirs.sizes):
        return tiers[0] != tiers[1]
    # Where one has no version it is an alias, which may stand for any: only what both say can differ.
    return _differ(*tiers) or _differ(ours.words & _MODES, theirs.words & _MODES)


def may_be_another_model(asked: str, answered: str) -> bool:
    """Whether the answer names a model that nobody can tell apart from the one asked for, a version of a vendor's.

    Args:
        asked: as of ``is_another_model``.
        answered: likewise.
    """
    ours = _parsed(asked)
    return bool(answered) and ours.closed and bool(ours.version) and not _parsed(answered).family


def vendors_name(name: str) -> str:
    """One spelling for every name of a model that its vendor alone names; empty for any other."""
    parsed = _parsed(name)
    words = sorted(parsed.words)
    return "-".join([parsed.family, parsed.version, *words]) if parsed.closed and parsed.version else ""


def _differ(ours: Collection[str], theirs: Collection[str]) -> bool:
    """Whether both say something, and not the same."""
    return bool(ours and theirs) and ours != theirs


@dataclass(frozen=True, slots=True)
class _Name:
    """What a name says of a model.

    Args:
        family: whom it descends from; empty where the name does not begin as any that is known.
        closed: whether its vendor alone gives such names.
        version: its digits; empty where it has none.
        sizes: such as ``70b``.
        words: all others that mean something, in no order: some say ``claude-3-opus``, some ``claude-opus-3``.
    """

    family: str
    closed: bool = False
    version: str = ""
    sizes: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()


def _parsed(name: str) -> _Name:
    plain = _bare(name)
    words = _WORD.findall(_SIZE.sub("-", plain))
    if not words or words[0] not in {*_CLOSED, *_OPEN}:
        return _Name("")
    first, *rest = words
    # Versions are written as 4.1, 4-1 and 41; 4.0 and 4 are one.
    numbers = [word for word in rest if word.isdigit()]
    while len(numbers) > 1 and numbers[-1] == "0":
        numbers.pop()
    meant = {word for word in rest if not word.isdigit() and word not in _SAYS_NOTHING}
    within = sorted(word.rstrip("abcdefghijklmnopqrstuvwxyz") for word in meant if word[0].isdigit())
    family = (_CLOSED | _OPEN)[first]
    if "oss" in meant:
        family = f"{family}-oss"
    return _Name(
        family,
        closed=first in _CLOSED,
        version="".join(numbers or within),  # that of gpt-4o is within a word
        sizes=frozenset(_SIZE.findall(plain)),
        words=frozenset(meant | ({first} if first == "o" else set())),
    )


def _bare(name: str) -> str:
    """The name in small letters without whoever serves it, its date, and how it was packed."""
    plain = name.strip().lower().removeprefix("ft:").rsplit("/", 1)[-1].split("@", 1)[0].replace("_", "-")
    if name.lower().startswith("ft:"):
        plain = plain.split(":", 1)[0]
    hosted = _VENDOR.sub("", plain)
    if hosted != plain or re.search(r"-v?\d+:\d+\w*$", hosted):
        hosted = _HOSTED_VERSION.sub("", hosted)
    tag = _TAG.search(hosted)
    if tag is not None:
        hosted = hosted[: tag.start()] + ("" if tag["tag"] in _SERVED_AS else f"-{tag['tag']}")
    return _DATE.sub("-", _PACKING.sub("-", _POINT.sub(".", _FORMER.get(hosted, hosted))))
