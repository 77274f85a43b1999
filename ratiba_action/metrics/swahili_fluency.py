"""Is the assistant's Swahili natural for a small business in Kenya?"""

from ratiba_action.metrics.rubric import DATA_STEP, RubricMetric
from ratiba_action.ports import Judge

__version__ = "1.0.0"

STEPS = (
    "Look only at the assistant's turns; the customer's turns are context and are not graded.",
    (
        "Judge whether the Swahili is idiomatic for someone who takes bookings at a Kenyan spa, salon or barbershop: "
        "agreement, verb forms and word order as a fluent speaker writes them, not a word-by-word translation."
    ),
    (
        "Take points off for Anglicisms that are not conventional in this trade. 'Spa', 'booking' and 'massage' are "
        "conventional; 'reservation' is not."
    ),
    (
        "When the customer mixes English and Swahili, judge whether the assistant follows gracefully: it understands "
        "both, answers in the mix or in Swahili, and does not correct or lecture the customer."
    ),
    (
        "Judge the register for a small Kenyan business: polite and warm, greetings answered, 'samahani' for an "
        "apology and 'pole' for sympathy, neither stiff officialese nor careless slang."
    ),
    (
        "Give 10 when a fluent Kenyan speaker would find nothing to change, 8 for small slips that do not disturb, "
        "5 when it is understandable and clearly foreign, and 2 or less when it is wrong, confusing or not Swahili."
    ),
    DATA_STEP,
)


class SwahiliFluencyMetric(RubricMetric):
    """Scores the Swahili of the assistant's replies, 0 to 1."""

    def __init__(self, judge: Judge) -> None:
        super().__init__("SwahiliFluencyMetric", __version__, STEPS, judge)
