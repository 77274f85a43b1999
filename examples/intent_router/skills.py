"""How an answer should end: zero or more skills, told by the words of the message."""

WORDS = {
    "propose_demo": ("demo", "show me", "book a call", "try it"),
    "share_pricing": ("price", "pricing", "cost", "how much", "plan"),
    "ask_team_size": ("we run", "our salon", "our spa", "barbershop", "branches"),
    "collect_email": ("email", "send me", "write to me", "brochure"),
}


def select_skills(message: str) -> list[str]:
    """The skills whose words stand in the message."""
    text = message.lower()
    return [skill for skill, words in WORDS.items() if any(word in text for word in words)]
