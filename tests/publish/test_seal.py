"""A seal fits what the gate has left, and nothing else."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ratiba_action.errors import InfrastructureError
from ratiba_action.publish.seal import Sealed, open_seal, seal

KEY, RESULTS = "5ea1" * 16, b'{"conclusion": "failed"}'
SEALED = Sealed(1, hashlib.sha256(RESULTS).hexdigest(), {"conclusion": "failed", "passed": "0"})


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """What a gate has left that ended by itself."""
    for name, content in (("step/seal", seal(SEALED, KEY)), ("ratiba-report/results.json", RESULTS), ("code-1", b"")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_what_the_gate_has_left_is_read(left: Path) -> None:
    assert open_seal(left, KEY) == SEALED


def test_a_full_disk_that_had_no_room_for_the_results_keeps_the_conclusion(left: Path) -> None:
    (left / "ratiba-report/results.json").unlink()
    assert open_seal(left, KEY) == SEALED


def forged(left: Path, **replaced: object) -> None:
    content = json.loads((left / "step/seal").read_text())
    content["sealed"] = json.dumps(json.loads(content["sealed"]) | replaced)
    (left / "step/seal").write_text(json.dumps(content))


def linked(left: Path) -> None:
    results = left / "ratiba-report/results.json"
    results.rename(left / "elsewhere")
    results.symlink_to(left / "elsewhere")


@pytest.mark.parametrize(
    "change",
    [
        lambda left: (left / "step/seal").unlink(),
        lambda left: (left / "step/seal").write_text("conclusion=passed\n"),
        lambda left: (left / "step/seal").write_text("[" * 100_000),
        lambda left: (left / "step/seal").write_text('{"sealed": "{}", "hmac": "\\u00e9"}'),
        lambda left: (left / "step/seal").write_bytes(seal(SEALED, "a key that was guessed")),
        lambda left: (left / "step/seal").write_bytes(seal(SEALED, "")),
        lambda left: forged(left, exit_code=0),
        lambda left: forged(left, outputs={"conclusion": "passed"}),
        lambda left: (left / "ratiba-report/results.json").write_bytes(RESULTS.replace(b"failed", b"passed")),
        linked,
        lambda left: (left / "code-1").rename(left / "code-0"),
        lambda left: (left / "code-1").unlink(),
    ],
)
def test_anything_else_is_refused(left: Path, change: Callable[[Path], object]) -> None:
    change(left)
    with pytest.raises(InfrastructureError, match="not sealed by the gate"):
        open_seal(left, KEY)


def test_without_a_key_no_seal_fits(left: Path) -> None:
    (left / "step/seal").write_bytes(seal(SEALED, ""))
    with pytest.raises(InfrastructureError, match="not sealed by the gate"):
        open_seal(left, "")
