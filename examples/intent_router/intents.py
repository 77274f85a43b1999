"""What a visitor wants, told by the words of the message. A model could stand here."""

import re

WORDS = {
    "LEARN": {"how", "what", "does", "can", "price", "pricing", "cost", "feature", "features", "plan", "plans", "demo",
              "reminders", "mpesa", "swahili", "show", "book"},
    "CONTEXT": {"we", "our", "run", "have", "own", "salon", "spa", "barbershop", "branches", "clients", "bookings",
                "staff", "monthly", "team"},
    "SUPPORT": {"cannot", "log", "login", "password", "error", "broken", "dashboard", "invoice", "stopped", "crashes",
                "reset", "wrong", "twice"},
    "OFFTOPIC": {"weather", "football", "joke", "recipe", "president", "song", "match", "poem", "won", "rain"},
    "OTHER": {"hiring", "job", "jobs", "internship", "press", "journalist", "partner", "partnership", "investor",
              "sponsor", "vacancies", "resell"},
}  # fmt: skip


def classify(message: str) -> tuple[str, float]:
    """The intent that has most words in the message, and its share of all words found."""
    found = re.findall(r"\w+", message.lower())
    votes = {intent: sum(word in words for word in found) for intent, words in WORDS.items()}
    total = sum(votes.values())
    if total == 0:
        return "OFFTOPIC", 0.2
    best = max(votes, key=lambda intent: votes[intent])
    return best, votes[best] / total
