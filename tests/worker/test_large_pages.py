"""Memory in large pages is the same memory; where the kernel has none, nothing happens."""

import subprocess
import sys
from pathlib import Path

import pytest

from ratiba_action.worker import kernel

pytestmark = pytest.mark.processes

PROGRAM = """
import os
from ratiba_action.worker import kernel
kept = [str(number) for number in range(200_000)]
kernel.use_large_pages()
child = os.fork()
if child == 0:
    kept[:1000] = []
    os._exit(kept[0] != "1000")
code = os.waitpid(child, 0)[1]
print(kept == [str(number) for number in range(200_000)], code)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has them")
def test_what_is_in_memory_stays_as_it_is() -> None:
    root = Path(kernel.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "0"]


def test_a_system_without_such_pages_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not kernel.use_large_pages()
