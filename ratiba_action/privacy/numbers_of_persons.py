"""Which bare numbers of a JSON value are a person's: a phone number is often stored as an integer.

A number has no spelling that would tell it from an amount or an id, so its name and its form decide.
"""

import re

from ratiba_action.privacy.identifiers import read_bare

_WITH_COUNTRY = re.compile(r"254[17]\d{8}")
_LOCAL = re.compile(r"[17]\d{8}")
_FEWEST_DIGITS = 6
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_OF_A_PERSON = frozenset(
    {
        *("phone", "phones", "mobile", "cell", "msisdn", "whatsapp", "tel", "telephone", "simu", "caller", "contact"),
        *("national", "passport", "kra", "payer", "sender", "recipient", "beneficiary", "by"),
    }
)
_DOCUMENTS = frozenset({"national", "passport", "kra"})
_OF_A_THING = frozenset(
    {
        *("amount", "amounts", "balance", "bei", "cents", "cost", "deposit", "fee", "jumla", "kes", "kiasi", "minor"),
        *("price", "prices", "subtotal", "total", "usd", "paid", "charge", "charged", "refund", "sum"),
        *("deni", "malipo", "salio", "shilingi"),
        *("bytes", "capacity", "count", "height", "length", "limit", "quantity", "size", "tokens", "width"),
        *("id", "ids", "index", "key", "offset", "ordinal", "pk", "revision", "seed", "seq", "sequence", "version"),
        *("at", "created", "date", "duration", "epoch", "expires", "micros", "millis", "ms", "ns", "seconds", "time"),
        *("timestamp", "ts", "updated", "us"),
    }
)


def mask_number(name: str, number: float, *, strict: bool = False) -> float | str:
    """The number, or what is shown of it where it is a person's.

    A Kenyan mobile number with its country code is one under any name; nine digits that may be one without it are
    unless the name is that of an amount, a size, an id or a time; and any number of six digits or more is under the
    name of a phone or a document. The last word of a name counts most: ``phone_id`` is an id, ``national_id`` is not.

    Args:
        name: of the field that holds the number.
        number: as it stands in JSON.
        strict: a number of six digits or more is masked as well where its name tells nothing (masking floor,
            ``seeds/000`` §4).
    """
    if isinstance(number, bool) or not (isinstance(number, int) or number.is_integer()):
        return number
    digits = str(int(number)).lstrip("-")
    words = [word.casefold() for word in _WORD.findall(name)]
    thing = bool(words) and words[-1] in _OF_A_THING and _DOCUMENTS.isdisjoint(words)
    long = len(digits) >= _FEWEST_DIGITS
    mobile = number > 0 and _WITH_COUNTRY.fullmatch(digits) is not None
    if not thing and not _OF_A_PERSON.isdisjoint(words):
        found = long
    elif thing or not _OF_A_THING.isdisjoint(words):
        found = mobile
    else:
        found = mobile or (strict and long) or (number > 0 and _LOCAL.fullmatch(digits) is not None)
    phone = not strict or not _OF_A_PERSON.isdisjoint(words)
    return read_bare(digits, phone=phone and _DOCUMENTS.isdisjoint(words)).masked if found else number
