"""What the gate concludes, sealed with a key that no code of the change has seen. Standard library only.

The action makes a key for each run, hands it to the gate beside the other secrets, and takes the gate's conclusion only
under a seal that fits: a gate that died, or a file that somebody else wrote, is no conclusion.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ratiba_action.errors import InfrastructureError
from ratiba_action.util.locked_folder import read_plain_file

SEAL_KEY = "RATIBA_SEAL_KEY"
"""Variable that holds the key."""

SEAL = "RATIBA_SEAL"
"""Variable that names the file of the seal."""

_MAX_BYTES = 8_000_000


@dataclass(frozen=True, slots=True)
class Sealed:
    """What a run came to.

    Args:
        exit_code: of the gate, its mode counted in.
        results: SHA-256 of ``results.json``, hexadecimal.
        outputs: of the action, by name.
    """

    exit_code: int
    results: str
    outputs: Mapping[str, str]


def seal(sealed: Sealed, key: str) -> bytes:
    """The content of a seal's file.

    Args:
        sealed: what the run came to.
    """
    text = json.dumps(asdict(sealed))
    return json.dumps({"sealed": text, "hmac": _code(text, key)}).encode("ascii") + b"\n"


def open_seal(folder: Path, key: str) -> Sealed:
    """What the gate has sealed, its results looked at too.

    Args:
        folder: what the container has left: ``step/seal`` and ``ratiba-report/results.json``, which a full disk may
            have had no room for; and an empty file ``code-N``, the exit code that the action's shell saw.
        key: the run's own; empty when it was lost, which no seal fits.

    Raises:
        InfrastructureError: there is no seal, it does not fit, or the results or the exit code are not those that were
            sealed.
    """
    try:
        content = json.loads(read_plain_file(folder, "step/seal", _MAX_BYTES))
        text, code = str(content["sealed"]), str(content["hmac"])
        if not key or not hmac.compare_digest(code.encode(), _code(text, key).encode()):
            raise ValueError("the key does not fit")  # noqa: TRY301 - reported like every other fault
        sealed = Sealed(**json.loads(text))
        if not (folder / f"code-{sealed.exit_code}").is_file():
            raise ValueError("the gate ended with another exit code")  # noqa: TRY301 - the same
        if sealed.results != _digest_of_results(folder, sealed.results):
            raise ValueError("the results are not those that were sealed")  # noqa: TRY301 - the same
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InfrastructureError(
            f"What the gate's container left is not sealed by the gate, so none of it counts: {error}.",
            "Read the log of the step before, and run the job again.",
        ) from error
    return sealed


def _digest_of_results(folder: Path, missing: str) -> str:
    try:
        return hashlib.sha256(read_plain_file(folder, "ratiba-report/results.json")).hexdigest()
    except FileNotFoundError:
        return missing


def _code(text: str, key: str) -> str:
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()
