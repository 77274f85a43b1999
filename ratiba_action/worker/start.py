"""The way in for every process of the worker: ``python start.py <module> [argument…]``.

It makes its own folder importable under the private name ``ratiba_worker`` and takes it off ``sys.path`` again, so that
no module of the repository under test can shadow ours and ours can shadow none of theirs.
"""

import importlib
import os
import sys
from types import ModuleType


def main() -> None:
    """Load the package from this folder and run the module that the first argument names."""
    folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib costs start-up time
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != folder]  # noqa: PTH100 - the same
    package = sys.modules["ratiba_worker"] = ModuleType("ratiba_worker")
    package.__path__ = [folder]
    importlib.import_module("ratiba_worker." + sys.argv[1]).main(sys.argv[2:])


if __name__ == "__main__":
    main()
