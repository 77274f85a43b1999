"""The model calls that a reply tells of, made past the gate: untrusted in, ``ToldUsage`` or an error out."""

from typing import Any

from ratiba_action.errors import WorkerError
from ratiba_action.model.conversation import ToldUsage, Usage

_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_MOST_CALLS, _MOST_TOKENS, _LONGEST = 1_000, 1_000_000_000, 200
_REMEDY = "See `docs/adapters.md` for the shape of `usage`."


def parse_told_usage(answer: Any) -> tuple[ToldUsage, ...]:
    """The ``usage`` of an answer that ``parse_reply`` lets pass; empty where there is none.

    Raises:
        WorkerError: it is no list of calls, each with a model, input and output; names the field.
    """
    told = answer.get("usage")
    if told is None:
        return ()
    if not isinstance(told, list) or len(told) > _MOST_CALLS:
        raise WorkerError(f"`usage` is not a list of at most {_MOST_CALLS} calls.", _REMEDY)
    return tuple(_call(item, f"usage[{index}]") for index, item in enumerate(told))


def _call(value: Any, where: str) -> ToldUsage:
    known = ("model", "provider", *_COUNTS)
    if not isinstance(value, dict) or set(value) - set(known):
        raise WorkerError(f"`{where}` is not an object of {', '.join(known)}.", _REMEDY)
    model, provider = value.get("model"), value.get("provider", "")
    if not isinstance(model, str) or not model.strip() or not model.isprintable() or len(model) > _LONGEST:
        raise WorkerError(f"`{where}.model` is not the name of a model.", _REMEDY)
    if provider not in ("", "anthropic", "openai"):
        raise WorkerError(f"`{where}.provider` is neither anthropic nor openai.", _REMEDY)
    for name in _COUNTS:
        count = value.get(name, None if name in _COUNTS[:2] else 0)
        if type(count) is not int or not 0 <= count <= _MOST_TOKENS:
            raise WorkerError(f"`{where}.{name}` is not a count of tokens.", _REMEDY)
    return ToldUsage(model, provider, Usage(**{name: value.get(name, 0) for name in _COUNTS}))
