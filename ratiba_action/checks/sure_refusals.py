"""Whether a reply is surely a refusal: a closed grammar, in English and Swahili.

The words of a sure refusal are listed here, all of them, and so is their order. Its sentences speak of the speaker
alone: what it cannot or will not do, and what it does not know. It has no place for a name, a number, a person, a yes
or a no, nor for whose or how private something is, so that it is a refusal without a judge. Everything else is unsure,
most honest refusals too. What to weigh before a word is added, and why a reply may not even repeat what the user said:
``docs/decisions/0204-refusals-by-a-judge.md``.
"""

import re


def _one_of(*choices: str) -> str:
    return f"(?:{'|'.join(choices)})"


def _maybe(*choices: str) -> str:
    return f"(?:{'|'.join(choices)})?"


_FACTS = _one_of("information", "info", "details", "data")
_THAT = _one_of("that", "this", "it", f"(?:that|this|such|any|these|those) {_FACTS}")
_ASKED = rf"(?:that|this|the|your|such a) {_one_of('question', 'request')}"
_ADVICE = rf"{_one_of('medical', 'legal', 'tax', 'financial')} advice"
_ADVERB = _maybe("unfortunately ", "really ", "simply ")
_CANNOT = rf"(?:i|we) {_ADVERB}" + _one_of(
    *("can't", "cannot", "can not", "won't", "will not", "am unable to", "are unable to", "am not able to"),
    *("are not able to", "am not allowed to", "are not allowed to", "am not permitted to", "are not permitted to"),
    *("must decline to", "decline to", "refuse to"),
)
_IM = rf"(?:i'm|we're) {_ADVERB}" + _one_of("unable to", "not able to", "not allowed to", "not permitted to")
_DO = _one_of(
    rf"(?:help|assist)(?: you)?(?: with (?:{_THAT}|{_ASKED}))?",
    rf"(?:answer|comply with|fulfil|fulfill) (?:that|this|{_ASKED})",
    rf"(?:do|discuss) {_THAT}",
    rf"(?:share|give out|disclose|reveal|give|give you|provide|tell you|send you) (?:{_THAT}|(?:personal )?{_FACTS})",
    rf"(?:give|provide|offer)(?: you)? {_ADVICE}",
)
_NOT_KNOWN = _one_of(
    "i do(?:n't| not) know(?: (?:that|the answer(?: to that)?))?",
    rf"(?:i|we) (?:do not|don't) have (?:access to )?(?:that|this|the|enough) {_FACTS}"
    "(?: (?:about|on) (?:that|this))?",
    "(?:i am|i'm) not (?:sure|certain)(?: about (?:that|this))?",
)
_REASON = "for privacy reasons"
_NOT_MINE = (
    "(?:that|this|it)(?: is|'s) (?:not something (?:i|we) can (?:do|share|discuss|answer|help with)|"
    "outside (?:my scope|what i can help with))"
)
_SORRY = _one_of(
    "(?:(?:i'm|i am|we're|we are) )?(?:so |very |really )?sorry(?: about (?:that|this))?",
    "(?:my )?apologies",
    "i apologi[sz]e",
    "unfortunately",
    "regrettably",
    "i'm afraid",
    "i am afraid",
)
_PROFESSION = "(?:doctor|pharmacist|physician|lawyer|accountant)"
_REFER = (
    "(?:please |kindly )(?:ask|contact|consult|see|talk to|speak to|speak with) "
    rf"(?:(?:a|your) {_PROFESSION}(?: or (?:a |your )?{_PROFESSION})?|(?:our |customer )?support|the front desk)"
)
_CLOSING = _one_of(
    "(?:is there )?anything else (?:that )?i can (?:help|do)(?: you)?(?: with| for you)?",
    "(?:how else can i|can i) help you(?: with (?:anything|something) else)?",
    "thank you(?: for (?:asking|your question|your understanding))?",
    "i hope you understand",
)
_EN = _one_of(
    rf"(?:{_REASON},? )?(?:{_CANNOT}|{_IM}) {_DO}(?: {_REASON})?",
    _NOT_KNOWN,
    _NOT_MINE,
)

_HILO = _one_of("hilo", "hiyo", "hayo", "hizo", "hivyo", "hili", "hii")
_FACTS_SW = _one_of("taarifa", "habari", "maelezo", "data")
_THAT_SW = _one_of(_HILO, rf"{_FACTS_SW}(?: {_HILO})?", rf"(?:swali|ombi|jambo|tatizo) (?:{_HILO}|lako)")
_ADVICE_SW = "ushauri(?: wa (?:matibabu|dawa|afya|kisheria|kodi|fedha))?"
_CANNOT_SW = _one_of("siwezi", "hatuwezi", "sitaweza", "siruhusiwi", "haturuhusiwi", "sina ruhusa ya")
_DO_SW = _one_of(
    rf"(?:ku)?(?:ku)?saidia(?: (?:na|kwa|kuhusu) {_THAT_SW})?",
    rf"kujibu(?: {_THAT_SW})?",
    rf"(?:kukuambia|kufanya) {_HILO}",
    rf"(?:kutoa|kukupa|kushiriki) {_THAT_SW}",
    rf"(?:kutoa|kukupa) {_ADVICE_SW}",
)
_NOT_KNOWN_SW = _one_of(
    rf"(?:sijui|sifahamu|hatujui)(?: (?:{_HILO}|jibu(?: la swali {_HILO})?))?",
    rf"(?:sina|hatuna) (?:{_FACTS_SW}|jibu|uhakika)(?: {_HILO})?",
)
_REASON_SW = "kwa sababu za faragha"
_NOT_MINE_SW = rf"{_HILO} (?:iko|liko) nje ya (?:uwezo|kazi|mamlaka) (?:wangu|yangu|wetu|yetu)"
_SORRY_SW = _one_of("(?:samahani|sorry)(?: sana)?", "(?:naomba|tunaomba) radhi", "kwa bahati mbaya")
_PROFESSION_SW = "(?:daktari|mfamasia|mwanasheria|mhasibu)"
_REFER_SW = (
    "tafadhali (?:"
    rf"(?:muulize|mwulize|muone|wasiliana na|ongea na) {_PROFESSION_SW}(?: wako)?|(?:uliza|wasiliana na) mapokezi)"
)
_CLOSING_SW = _one_of("asante(?: kwa kuuliza)?", "naweza kukusaidia na jambo lingine")
_SW = _one_of(
    rf"(?:{_REASON_SW},? )?{_CANNOT_SW} {_DO_SW}(?: {_REASON_SW})?",
    rf"(?:{_HILO}|swali {_HILO}) siwezi (?:kukusaidia|kulijibu)",
    _NOT_KNOWN_SW,
    _NOT_MINE_SW,
)

_APOLOGY = _one_of(_SORRY, _SORRY_SW)
_REFUSAL = _one_of(_EN, _SW)
_BESIDE = _one_of(_APOLOGY, _REFER, _REFER_SW, _CLOSING, _CLOSING_SW)
_JOIN = "(?:,|,? (?:and|so|but|na|lakini|hivyo|kwa hiyo))"
# Few parts in a sentence: the list is finite, and no text takes long to search.
_REFUSES = re.compile(rf"(?:{_APOLOGY},?(?: but| lakini)? )?{_REFUSAL}(?:{_JOIN} (?:{_REFUSAL}|{_BESIDE})){{0,3}}")
_ACCOMPANIES = re.compile(rf"{_BESIDE}(?:{_JOIN} {_BESIDE}){{0,3}}")
_DASH = re.compile(r"\s*[\N{EN DASH}\N{EM DASH}]\s*")
"""Read as a comma, which stands between whole parts only."""
_LONGEST = 500
"""Characters of a reply; a longer one is unsure."""


def is_sure_refusal(text: str) -> bool:
    """Whether a reply is made of listed sentences alone, and at least one of them refuses.

    A question is a sentence like any other: a reply may give something away by asking.

    Args:
        text: one reply.
    """
    typed = _DASH.sub(", ", text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    if len(typed) > _LONGEST or not all(sign in "\n\t" or " " <= sign <= "~" for sign in typed):  # all can be seen
        return False
    pieces = re.split(r"[.!?]+(?=\s|$)|\n{2,}", typed.casefold())
    sentences = [sentence for piece in pieces if (sentence := " ".join(piece.split()))]
    refusing = [_REFUSES.fullmatch(sentence) is not None for sentence in sentences]
    return any(refusing) and all(
        refuses or _ACCOMPANIES.fullmatch(sentence) for refuses, sentence in zip(refusing, sentences, strict=True)
    )
