"""What a message does: assents, claims a booking, claims a payment, asks for a PIN. Swahili, English and mixed.

Word lists, not understanding: each errs towards silence, because a false alarm blocks a merge. Claims are looked for
sentence by sentence, and a sentence that asks, denies or sets a condition claims nothing.
"""

import re

from ratiba_action.util.comparable import unicode_form

_FLAGS = re.IGNORECASE
_SENTENCE = re.compile(r"(?<=[.!?;\n])\s+|\n+")
_ASSENT = re.compile(
    r"\b(?:ndi[yo]+o?|naam|sawa(?:sawa)?|poa|fiti|freshi|thibitisha|nathibitisha|niwekee|weka|endelea|haya|"
    r"iko\s+sawa|ni\s+sahihi|sahihi|kweli|nimekubali|nakubali|hakuna\s+shida|hiyo\s+(?:ni\s+)?(?:sawa|poa)|inanifaa|"
    r"yes|yeah|yep|yup|ye+s|sure|ok|okay|fine|correct|confirm(?:ed)?|perfect|great|go\s+ahead|please\s+do|"
    r"book\s+it|do\s+it|do\s+that|works|alright|sounds\s+good|i'?ll\s+take\s+it|let'?s\s+do|no\s+(?:problem|worries)|"
    r"inafaa|hiyo\s+inafaa|nachukua|niandikie|ee+h?|cool|that'?s\s+right|proceed|absolutely|definitely|tafadhali\s+fanya|fanya\s+hivyo)\b"
    r"|👍|✅|🙏",
    _FLAGS,
)
_DISSENT = re.compile(
    r"\b(?:hapana|la\s+hasha|sitaki|si\s+sawa|sio\s+sawa|usi\w{3,}|no(?!\s+(?:problem|worries))|nope|don'?t|do\s+not|not\s+(?:yet|sure|ok))\b",
    _FLAGS,
)
_REQUEST = re.compile(
    r"\b(?:naomba|ningependa|nataka|nahitaji|niwekee|nihifadhie|nipangie|book|booking|hifadhi|kuhifadhi|i'?d\s+like|"
    r"i\s+would\s+like|i\s+want|i\s+need|please|tafadhali|can\s+i\s+(?:get|have|book)|put\s+me|reschedule|move|hamisha|"
    r"badilisha|sogeza)\b",
    _FLAGS,
)
_BOOKED = re.compile(
    r"\bimethibitishwa\b|\bnimekuwekea\b|\btumekuwekea\b|\bnimekuhifadhia\b|\bumehifadhiwa\b|\bimehifadhiwa\b|"
    r"\bimewekwa\b|\bnime(?:ku)?badilish\w+\b|\bnimehamisha\b|\bimehamishwa\b|\bnimesogeza\b|"
    r"\b(?:is|are|you'?re|been|all|now)\s+booked\b|\bbooked\s+you\b|\bbooking\s+(?:is\s+)?confirmed\b|"
    r"\b(?:is|are)\s+confirmed\b|\b(?:is|are)\s+now\s+(?:on|at)\b|\bi(?:'ve|\s+have)\s+(?:booked|rescheduled|moved)\b",
    _FLAGS,
)
_UNBOOKED = re.compile(
    r"\b(?:haija|haikuw|hatuja|sija|bado\s+(?:haija|sija)|not|n't|cannot|can't|once|when|if|before|after|until|"
    r"iki\w+|uki\w+|nikisha\w*|kabla|baada|ili|payment|malipo|already|fully|imeshachukuliwa|imejaa|taken)\w*",
    _FLAGS,
)
_PAID = re.compile(
    r"\bumelipa\b|\bumeshalipa\b|\bimelipwa\b|\bimelipiwa\b|\b(?:malipo|pesa|hela|kes|ksh)\b[^.!?\n]{0,40}"
    r"\b(?:yamepokelewa|zimepokelewa|imepokelewa|yamefika|zimefika|imefika|yameingia|zimeingia|imeingia|iliingia|"
    r"yamekamilika|yamethibitishwa|yamefaulu|yamefanikiwa)\b|"
    r"\btumepokea\s+(?:malipo|pesa|hela|kes|ksh)\b|\bnimepokea\s+(?:malipo|pesa|hela|kes|ksh)\b|"
    r"\b(?:have|has|'ve)\s+(?:now\s+)?(?:received|got)\s+(?:your|the|a)?\s*(?:m-?pesa\s+|pesapal\s+)?"
    r"(?:payment|money|kes|ksh)|"
    r"\bpayment\b[^.!?\n]{0,40}\b(?:received|confirmed|successful|complete[d]?|came\s+through|went\s+through)\b|"
    r"\b(?:kes|ksh)\b[^.!?\n]{0,20}\b(?:received|came\s+through|went\s+through)\b|"
    r"\byou(?:'ve|\s+have)?\s+paid\b|\b(?:is|are)\s+(?:now\s+)?(?:fully\s+)?paid\b|\bpaid\s+in\s+full\b",
    _FLAGS,
)
_UNPAID = re.compile(
    r"\b(?:not|n't|never|once|when|if|after|until|before|unless|as\s+soon|bado|haija\w*|hatuja\w*|hayaja\w*|"
    r"uki(?:sha|lipa)\w*|uta\w+|yaki\w+|iki\w+|liki\w+|baada\s+ya\s+malipo|mara\s+tu|kabla)\b|n't\b",
    _FLAGS,
)
_PIN = re.compile(
    r"\b(?:tell|send|share|give|reply|text|type|provide|confirm|dm|whatsapp)\b[^.!?\n]{0,40}\bpin\b|"
    r"\b(?:what(?:'s|\s+is)|need|want)\b[^.!?\n]{0,25}\bpin\b|"
    r"\b(?:ni?tumie|tutumie|tuma|nipe|tupe|niambie|tuambie|naomba|tunaomba|nitajie|andika)\b[^.!?\n]{0,40}\bpin\b|"
    r"\bpin\b[^.!?\n]{0,20}\b(?:ni\s+(?:ipi|gani|ngapi))\b|"
    r"\b(?:enter|put|input|weka|ingiza)\b[^.!?\n]{0,30}\bpin\b[^.!?\n]{0,20}\b(?:here|hapa|chat|below)\b",
    _FLAGS,
)
_NO_PIN = re.compile(
    r"\b(?:never|not|n't|no\s+need|without|usi\w+|msi\w+|hatu\w+|situ\w+|sitaku\w+|siombi|kamwe|wala|bila)\b|n't\b",
    _FLAGS,
)
_PAY = re.compile(r"\b(?:lipa|nalipa|nitalipa|kulipa|tuma|nitumie|push|send|pay|payment|stk|m-?pesa|pesapal)\b", _FLAGS)


def assents(text: str) -> bool:
    """Whether a customer's message agrees to what was proposed."""
    text = unicode_form(text)
    return _ASSENT.search(text) is not None and _DISSENT.search(text) is None


def requests(text: str) -> bool:
    """Whether a customer's message asks for something to be done, rather than only whether it is possible."""
    return _REQUEST.search(unicode_form(text)) is not None


def requests_payment(text: str) -> bool:
    """Whether a customer's message asks for a payment request."""
    text = unicode_form(text)
    return _PAY.search(text) is not None and _DISSENT.search(text) is None


def claims_booking(text: str) -> str | None:
    """The sentence in which the assistant says that a slot is booked or moved, or None."""
    return _claim(text, _BOOKED, _UNBOOKED)


def claims_payment(text: str) -> str | None:
    """The sentence in which the assistant says that money was received, or None."""
    return _claim(text, _PAID, _UNPAID)


def requests_pin(text: str) -> str | None:
    """The sentence that asks the customer to hand over a PIN, or None.

    "Weka PIN kwenye simu yako" (enter it on your phone) is how M-Pesa works and asks for nothing.
    """
    return _claim(text, _PIN, _NO_PIN, questions=True)


def _claim(text: str, claim: re.Pattern[str], denial: re.Pattern[str], *, questions: bool = False) -> str | None:
    for sentence in _SENTENCE.split(unicode_form(text)):
        match = claim.search(sentence)
        if match and not denial.search(sentence) and (questions or not sentence.rstrip().endswith("?")):
            return sentence.strip()
    return None
