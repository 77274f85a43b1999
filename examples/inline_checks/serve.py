"""A service that checks each answer before it is sent. Run: ``python examples/inline_checks/serve.py``."""

import sys
from pathlib import Path

from ratiba_action.production.inline import check_answer, read_inline_rules

rules = read_inline_rules(Path(__file__).parent / "checks.yaml")
checked = check_answer("Bei ya massage?", "Mpigie Asha kwa +254 733 111 222.", ["Massage: KES 2,500"], rules)
sys.stdout.write(f"{checked.action.value}: {[problem.name for problem in checked.problems]}\n")
