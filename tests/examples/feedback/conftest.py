"""The example's modules, found as its own process finds them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "feedback"))
