"""What masking a text costs, and that hostile texts cost no more a character the longer they are.

Run: ``python -m benchmarks.masking``.
"""

import sys
import time

from ratiba_action.privacy.masking import Redactor

GROWTH_LIMIT = 1.5  # of the cost a character at eight times the length
SHORT, LONG = 4_000, 32_000  # characters
NAMES = [f"Wanjiku{number} Kamau{number}" for number in range(10_000)]
USUAL = {
    "a reply without a number": "Sawa, kesho saa nane mchana iko wazi. Nikuwekee? Karibu sana, tutaonana kesho.",
    "a reply with a time": "Sawa Wanjiku7, kesho saa nane mchana (14:00) iko wazi, KES 2,500. Nikuwekee?",
    "a message with a phone": "Nipigie kwa 0712 345 432 au amina@example.com kesho, nimelipa KES 2,500.",
}
LARGE = {
    "digits": "7316204958",
    "phone numbers": "0712 345 432, +44 20 7946 0958; ",
    "digits in groups": "07-12 3.45/432 (1) 99 ",
    "names": "Wanjiku Kamau's, WANJIKU na ",
    "marks on one letter": "\N{COMBINING ACUTE ACCENT}\N{COMBINING DOT BELOW}",
    "prose": USUAL["a reply without a number"],
}
HOSTILE = (
    *("0 ", "1-", "1 234 ", "+254 ", "0712", "1/", "1.", "0,", "12345 na ", "one-", "moja ", "kumi na ", "double "),
    *("a@", "a.b", "at ", "x dot ", "a at b ", "a (at) b (dot) ", "a at gmail.", "dot ", "@ "),
    *("KES 1", "total_", "till no ", "ref ", "- ", "://:", "***", "+254***", "\\u0030", "\\", "%30", "[", '{"a":'),
    *("Wanjiku7 ", "Wanjiku7", "W.", "a'", "\N{ARABIC-INDIC DIGIT ZERO}", "e\N{COMBINING ACUTE ACCENT}", "\ufdfa"),
    "\N{COMBINING ACUTE ACCENT}\N{COMBINING DOT BELOW}",
)


def microseconds(redactor: Redactor, text: str, times: int) -> float:
    """CPU a call, the least of several; each text is a new one, since what was masked before is looked up."""
    redactor.text(text)
    spent = []
    for number in range(times):
        again = f"{text} {number % 10}{'.' * (number // 10)}"
        began = time.process_time()
        redactor.text(again)
        spent.append(time.process_time() - began)
    return min(spent) * 1e6


def megabytes() -> None:
    """What one megabyte of each kind takes, the first time and again."""
    for what, part in LARGE.items():
        redactor, text, spent = Redactor(names=["Wanjiku Kamau"]), part * (1_000_000 // len(part)), []
        for _ in range(2):
            began = time.process_time()
            redactor.text(text)
            spent.append(time.process_time() - began)
        print(f"one megabyte of {what}: {spent[0]:.1f} s, again {spent[1]:.3f} s")


def main() -> int:
    """Print all figures; 1 when a cost grows faster than the text."""
    megabytes()
    plain, listed = Redactor(), Redactor(names=NAMES)
    for what, text in USUAL.items():
        print(
            f"{what}, {len(text)} characters: {microseconds(plain, text, 500):.0f} µs, "
            f"with {len(NAMES)} listed names {microseconds(listed, text, 500):.0f} µs"
        )
    worst, growth = "", 0.0
    for part in HOSTILE:
        short, long = (microseconds(listed, part * (size // len(part)), 3) / size for size in (SHORT, LONG))
        if long / short > growth:
            worst, growth = part, long / short
    print(f"{LONG // SHORT} times the text costs at most {growth:.2f} times as much a character ({worst!r})")
    return 0 if growth <= GROWTH_LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
