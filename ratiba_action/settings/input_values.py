"""Text of an input → its value; what is refused says what is allowed."""

import re
from collections.abc import Mapping
from decimal import Decimal

from ratiba_action.model.answer_origin import Llm
from ratiba_action.model.change import Mode
from ratiba_action.model.shard import Shard
from ratiba_action.model.values import Usd

_SERVER = re.compile(
    r"https?://(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)(?::(?P<port>[0-9]{1,5}))?(?:/[A-Za-z0-9._~-]+)*/?", re.ASCII
)
_MAX_PORT = 65_535
_SIGNAL = re.compile(r"/v1/(?:traces|logs)\Z")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", re.ASCII)
_OURS = frozenset({"connection", "content-encoding", "content-length", "expect", "host", "transfer-encoding"})
_SHORTEST_WORD = 4
"""Characters of a text that is masked."""
_SHORTEST_KEY = 32
_OPEN_HEADER = re.compile(
    r"(?:accept|content|sec)(?:-.*)?|user-agent|traceparent|.*-(?:dataset|env|environment|orgid|org-id|tenant|type|version)"
)
"""Headers whose value is no credential; of every other one it may be."""
_AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
LIVE = (Llm.LIVE, Llm.RECORD)
"""Values of ``llm`` that call models."""
_MAX_USD = Decimal(1_000_000)  # in words in the message: masking takes a number of six digits for a person's
_ENABLED = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def parse_usd(text: str) -> Usd:
    """An amount such as ``20`` or ``0.50``.

    Raises:
        ValueError: it is not a plain, finite amount of at least zero.
    """
    if not _AMOUNT.fullmatch(text) or Decimal(text) > _MAX_USD:
        raise ValueError("an amount of US dollars from 0 to 1 million, digits only, such as 20 or 0.50")
    return Decimal(text)


def parse_flag(text: str) -> bool:
    """A boolean, spelled out.

    Raises:
        ValueError: it is neither true nor false.
    """
    if text.lower() not in _ENABLED:
        raise ValueError("true or false")
    return _ENABLED[text.lower()]


def parse_count(text: str, maximum: int | None = None, minimum: int = 1) -> int:
    """A whole number below a billion.

    Args:
        maximum: that it may be; None for no other bound.
        minimum: the same.

    Raises:
        ValueError: it is not.
    """
    plain = text.isascii() and text.isdigit() and len(text) < 10  # noqa: PLR2004 - below a billion
    if not plain or int(text) < minimum or (maximum is not None and int(text) > maximum):
        raise ValueError(f"a whole number from {minimum}" + ("" if maximum is None else f" to {maximum}"))
    return int(text)


def parse_journal_key(text: str) -> str:
    """A secret of at least 32 characters; empty for none.

    Raises:
        ValueError: it is shorter, so that it could be guessed from an artifact.
    """
    if text and len(text) < _SHORTEST_KEY:
        raise ValueError(f"a random secret of at least {_SHORTEST_KEY} characters, such as openssl rand -hex 32 prints")
    return text


def parse_mode_floor(text: str) -> Mode:
    """``auto``, ``advisory`` or ``blocking``; a floor, so that auto is skip.

    Raises:
        ValueError: it is something else.
    """
    floors = {"auto": Mode.SKIP, "advisory": Mode.ADVISORY, "blocking": Mode.BLOCKING}
    if text not in floors:
        raise ValueError("auto, advisory or blocking")
    return floors[text]


def parse_llm(text: str) -> Llm:
    """Where model answers come from.

    Raises:
        ValueError: there is no such source.
    """
    if text == Llm.RECORD:
        raise ValueError("auto, replay or live. To keep what models answer as recordings, run: ratiba record")
    if text not in set(Llm):
        raise ValueError("auto, replay or live")
    return Llm(text)


MAX_SHARDS = 256
"""Jobs that GitHub makes of one matrix at most."""


def parse_shard(text: str) -> Shard | None:
    """A share of the suite, such as ``3/8``: the third of eight; empty for the whole suite.

    Raises:
        ValueError: it is no such share.
    """
    if not text:
        return None
    number, _, count = text.partition("/")
    plain = all(part.isascii() and part.isdecimal() and len(part) <= len(str(MAX_SHARDS)) for part in (number, count))
    if not plain or not 1 <= int(number) <= int(count) <= MAX_SHARDS:
        raise ValueError(f"NUMBER/COUNT such as 3/8, from 1/1 to {MAX_SHARDS}/{MAX_SHARDS}, or nothing")
    return Shard(int(number), int(count))


def parse_langfuse_host(text: str) -> str:
    """The address of a Langfuse server, without a slash at its end; empty for none.

    Raises:
        ValueError: it is no plain address of a server: keys are sent to it, and it stands in links.
    """
    return _server(text, "the address of a server, such as https://cloud.langfuse.com, without keys, '?' and '#'")


def _server(text: str, allowed: str) -> str:
    found = _SERVER.fullmatch(text)
    if text and (found is None or int(found["port"] or 0) > _MAX_PORT):
        raise ValueError(allowed)
    return text.rstrip("/")


def parse_base_url(text: str) -> str:
    """The address of a provider's API; empty for the provider's own.

    Raises:
        ValueError: it is no address behind http or https, or has a query or a fragment, which no path can follow.
    """
    from urllib.parse import urlsplit

    allowed = "an address such as https://models.example/v1, without '?' and '#'"
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise ValueError(allowed) from error
    plain = text.isascii() and text.isprintable() and not re.search(r"[\s?#\\]", text)
    if text and not (usable and plain):
        raise ValueError(allowed)
    return text


def parse_collector(text: str) -> str:
    """The base address of an OpenTelemetry collector, without ``/v1/traces``; empty for none.

    Raises:
        ValueError: it is no plain address of a server.
    """
    allowed = "the address of a collector, such as https://otel.example:4318, without keys, '?' and '#'"
    return _SIGNAL.sub("", _server(text, allowed))


def parse_headers(text: str) -> Mapping[str, str]:
    """``name=value`` pairs with commas between them, as ``OTEL_EXPORTER_OTLP_HEADERS`` has them.

    Raises:
        ValueError: a part has another form, a name stands twice or is one of the connection's own, or a value cannot
            be sent.
    """
    from urllib.parse import unquote

    found: dict[str, str] = {}
    for part in filter(str.strip, text.split(",")):
        name, given, value = part.strip().partition("=")
        name, value = name.strip().lower(), unquote(value.strip(), errors="strict")
        sendable = value.isascii() and value.isprintable() and bool(value)
        if not given or not _HEADER.fullmatch(name) or name in found or name in _OURS or not sendable:
            raise ValueError(
                "name=value pairs with commas between them, such as authorization=Bearer%20…, each name once, values "
                "in printable ASCII with ',' written as %2C"
            )
        found[name] = value
    return found


_WEBHOOK = re.compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)(?::(?P<port>[0-9]{1,5}))?/"
    r"[A-Za-z0-9._~:/?@!$&'()*+,;=%-]+",
    re.ASCII,
)
_LOOPBACK = frozenset({"127.0.0.1", "localhost"})
_MIN_BYTES, _MAX_BYTES = 16, 128


def parse_webhook_url(text: str) -> str:
    """The address of a webhook, which is a secret; empty for none.

    Raises:
        ValueError: it is no address behind https, or on this machine.
    """
    found = _WEBHOOK.fullmatch(text)
    reachable = found is not None and (found["scheme"] == "https" or found["host"] in _LOOPBACK)
    if text and not (found and reachable and int(found["port"] or 0) <= _MAX_PORT):
        raise ValueError("an https address with a path, without user, password and '#'")
    return text


def parse_webhook_secret(text: str) -> bytes:
    """A secret in Base64, with or without ``whsec_`` in front, as the Standard Webhooks specification has it.

    Raises:
        ValueError: it is not, or it is too short to be one.
    """
    from base64 import b64decode

    try:
        secret = b64decode(text.removeprefix("whsec_"), validate=True)
    except ValueError:
        secret = b""
    if text and not _MIN_BYTES <= len(secret) <= _MAX_BYTES:
        raise ValueError(f"{_MIN_BYTES} to {_MAX_BYTES} bytes in Base64, such as from: openssl rand -base64 32")
    return secret


def credentials_of(headers: Mapping[str, str]) -> tuple[str, ...]:
    """What must not be published of headers: each value but those that say no secret, and what follows ``Bearer``."""
    found: list[str] = []
    for name, value in headers.items():
        if _OPEN_HEADER.fullmatch(name) is None:
            word = value.rpartition(" ")[2]
            found += [value, *([word] if len(word) >= _SHORTEST_WORD else [])]
    return tuple(dict.fromkeys(found))


def parse_baseline(text: str) -> str:
    """Where results to compare with come from: ``auto``, ``none``, or the path of a file or folder.

    Raises:
        ValueError: it is no path.
    """
    if not text or not text.isprintable():
        raise ValueError("auto, none, or the path of a results.json or of a folder of them")
    return text


def parse_name(text: str) -> str:
    """A gate's name: it stands in the comment's marker.

    Raises:
        ValueError: it holds other characters.
    """
    if not text.replace("-", "").replace("_", "").isalnum() or not text.isascii() or len(text) > 60:  # noqa: PLR2004 - fits a heading
        raise ValueError("letters, digits, '-' and '_', at most 60")
    return text


def parse_pull_request(text: str) -> str:
    """A pull request's number, or empty for none.

    Raises:
        ValueError: it is something else.
    """
    if text and not (text.isascii() and text.isdigit() and len(text) < 12):  # noqa: PLR2004 - no number is longer
        raise ValueError("a number, or nothing")
    return text


def parse_folder(text: str) -> str:
    """A path inside the repository.

    Raises:
        ValueError: it is absolute or leaves the repository.
    """
    parts = text.replace("\\", "/").split("/")
    if text.startswith("/") or ".." in parts or "\0" in text:
        raise ValueError("a path inside the repository, without '..'")
    return "/".join(part for part in parts if part not in {"", "."}) or "."
