"""How long an inline check takes, and what its import costs. Run: ``python -m benchmarks.inline_checks``."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ratiba_action.production.inline import check_answer, read_inline_rules

LIMIT = 0.020  # seconds, 95th percentile
IMPORT_LIMIT = 1.0  # seconds
TERMS, FORBIDDEN = 200, 20
SENTENCES = (
    "Nafasi ya massage ya kesho saa nane mchana ipo, Wanjiku. ",
    "Tafadhali lipa KES 2,500 kwa M-Pesa ili nikuhifadhie miadi yako. ",
    "Unaweza kufika dakika kumi kabla, na utupigie kwa 0700 000 000 ukichelewa. ",
    "Samahani, hatufunguki siku ya Jumapili; karibu Jumatatu asubuhi. ",
)


def rules_file(folder: Path) -> Path:
    """A file of rules of some size."""
    terms = "".join(f"  - {{canonical: neno{n}, rivals: [mpinzani{n}, kinyume{n}]}}\n" for n in range(TERMS))
    (folder / "house.terms.yaml").write_text(f"language: sw\nterms:\n{terms}")
    forbidden = "".join(f"  - {{type: must_not_contain, value: haramu{n}}}\n" for n in range(FORBIDDEN))
    path = folder / "checks.yaml"
    path.write_text(
        f"language: sw\nrefuse: ['(?i)\\bdawa\\b']\nrules:\n{forbidden}"
        "  - {type: regex_must_not_match, value: 'https?://'}\nassertions:\n"
        "  - {metric: TerminologyMetric, threshold: 1.0, with: {catalogue: house.terms.yaml}}\n"
        "  - {metric: ReplyLanguageMetric, threshold: 1.0}\n"
        "  - {metric: PiiLeakMetric, threshold: 1.0, with: {allowed: ['0700 000 000']}}\n"
        "  - {metric: RefusalMetric, threshold: 1.0}\n"
    )
    return path


def import_seconds() -> float:
    """Seconds that a fresh interpreter takes for the import, the least of five."""
    code = (
        "import time; b = time.perf_counter(); import ratiba_action.production.inline; print(time.perf_counter() - b)"
    )
    return min(
        float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
        for _ in range(5)
    )


def main() -> int:
    """Print the figures; 1 when one is above its limit."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        rules = read_inline_rules(rules_file(Path(folder)))
        read = time.perf_counter() - began
        spent = []
        for number in range(1_000):
            count = 2 + number % 30
            answer = "".join(SENTENCES[(number + place) % len(SENTENCES)] for place in range(count))
            spent.append(check_answer("Nataka massage kesho", f"{answer}{number}", [], rules).seconds)
    ninety_fifth = statistics.quantiles(spent, n=100)[94]
    imported = import_seconds()
    print(f"a check: median {statistics.median(spent) * 1e3:.1f} ms, 95th percentile {ninety_fifth * 1e3:.1f} ms")
    print(f"slowest {max(spent) * 1e3:.1f} ms; limit of the 95th percentile {LIMIT * 1e3:.0f} ms")
    print(f"import {imported:.2f} s (limit {IMPORT_LIMIT} s), reading the rules {read:.2f} s")
    return int(ninety_fifth > LIMIT or imported > IMPORT_LIMIT)


if __name__ == "__main__":
    sys.exit(main())
