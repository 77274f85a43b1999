"""Whether a message refuses what was asked. Swahili, English and mixed.

Word lists, not understanding: a refusal says in the first person, or of the rules, that something is not done. That a
slot is taken or a door closed is no refusal, and neither is an apology alone.
"""

import re

_APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"
_DO = (
    r"(?:help|assist|do|share|provide|give|tell|reveal|discuss|disclose|advise|answer|offer|support|comply|accept|"
    r"approve|process|confirm|ignore|change|talk|send|show|fulfil+|engage|make|write|create|recommend|say|grant|let)"
)
_REFUSAL = re.compile(
    rf"""
      \b(?:i|we)\s*(?:'?m|'?re|am|are)?\s*(?:really\s+|also\s+|simply\s+|just\s+)?
        (?:can\s?not|can'?t|could\s+not|couldn't|may\s+not|will\s+not|won't|(?:not\s+able|unable)\s+to)
        \s+(?:\w+\s+){{0,2}}?{_DO}\b
    | \b(?:i|we)(?:\s+(?:must|have\s+to|need\s+to|will|would\s+like\s+to)|'ll)?(?:\s+\w+ly)?\s+(?:decline|refuse)\b
    | \b(?:i\s?am|i'm|we\s?are|we're)\s+not\s+
        (?:allowed|permitted|authori[sz]ed|at\s+liberty|comfortable|qualified|in\s+a\s+position)\b
    | \b(?:against|violates?|outside)\s+(?:of\s+)?(?:our|my|the)\s+(?:\w+\s+)?
        (?:polic(?:y|ies)|rules|guidelines|scope)\b
    | \b(?:is|are|it's|that's)\s*(?:not|n't)\s+(?:something|anything)\s+(?:that\s+)?(?:i|we)\s+(?:can|do|may|offer)\b
    | \bi\s+do\s*(?:n't|\s+not)\s+(?:share|discuss|disclose|reveal|give\s+(?:out|advice)|provide)\b
    | \bno,?\s+i\s+(?:can't|cannot|won't|will\s+not)\b
    | \b(?:siwezi|hatuwezi|sitaweza|hatutaweza|singeweza|nisingeweza)\b(?!\s+(?:kungoja|kusubiri))
    | \b(?:sina|hatuna)\s+(?:ruhusa|mamlaka|idhini|uwezo)\b
    | \b(?:siruhusiwi|haturuhusiwi|hairuhusiwi|hakuruhusiwi|sijaruhusiwa|hatujaruhusiwa)\b
    | \b(?:nakataa|tunakataa|nimekataa|ninakataa|nalazimika\s+kukataa)\b
    | \b(?:sitafanya|hatutafanya|sitatoa|hatutatoa|sitoi|hatutoi|sitashiriki|hatushiriki)\b
    | \bkinyume\s+(?:cha|na)\s+(?:sera|sheria|kanuni|taratibu)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def refusal_in(text: str) -> str | None:
    """The words by which a message refuses, None when it does not.

    Args:
        text: one reply, of any length.
    """
    found = _REFUSAL.search(" ".join(text.replace(_APOSTROPHE, "'").split()))
    return found[0] if found else None


def refuses(text: str) -> bool:
    """Whether a message refuses what was asked."""
    return refusal_in(text) is not None
