"""Removes secrets, and what identifies a person, from everything that leaves the process.

A bare number in JSON has no spelling that distinguishes a phone number from an amount, so its name and its form decide.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import lru_cache, partial
from operator import is_
from typing import Any
from urllib.parse import quote, quote_plus

from ratiba_action.model.attribution import Explanation
from ratiba_action.model.codec import field_names
from ratiba_action.model.conversation import Document
from ratiba_action.model.measurement import ScenarioResult
from ratiba_action.model.verdict import Report, ShardReport, Verdict
from ratiba_action.privacy.credentials import MASK, find_credentials, mask_credentials
from ratiba_action.privacy.identifiers import mask_identifiers, read_bare
from ratiba_action.privacy.name_table import NameTable

_WITH_COUNTRY = re.compile(r"254[17]\d{8}")
_LOCAL = re.compile(r"[17]\d{8}")
_MIN_DIGITS = 6
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
        number: as it is in JSON.
        strict: a number of six digits or more is masked as well where its name says nothing: the masking floor.
    """
    if isinstance(number, bool) or not (isinstance(number, int) or number.is_integer()):
        return number
    digits = str(int(number)).lstrip("-")
    words = [word.casefold() for word in _WORD.findall(name)]
    thing = bool(words) and words[-1] in _OF_A_THING and _DOCUMENTS.isdisjoint(words)
    long = len(digits) >= _MIN_DIGITS
    mobile = number > 0 and _WITH_COUNTRY.fullmatch(digits) is not None
    if not thing and not _OF_A_PERSON.isdisjoint(words):
        found = long
    elif thing or not _OF_A_THING.isdisjoint(words):
        found = mobile
    else:
        found = mobile or (strict and long) or (number > 0 and _LOCAL.fullmatch(digits) is not None)
    phone = not strict or not _OF_A_PERSON.isdisjoint(words)
    return read_bare(digits, phone=phone and _DOCUMENTS.isdisjoint(words)).masked if found else number


_SHORTEST = 4
_SHORTEST_INSIDE = 12
_PLACEHOLDERS = frozenset({"none", "null", "dummy", "fake", "test", "unused", "empty", "placeholder", "ollama"})
"""What people give as the key of a server that asks for none: words of sentences, and nobody's secret."""
_DEEPEST = 100
_NAMES = frozenset({"arm", "data_set", "id", "path", "scenario_id", "metric", "version", "models", "prompt_versions"})
"""Fields that name what was run: a commit may well be all digits, and a scenario be called after its customer."""
_AS_THEY_ARE = frozenset({int, float, bool, type(None), Decimal, date, datetime})
"""Types of fields outside JSON in which there is nothing to mask."""
_CUT = re.compile("[^…]*…", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:\\?/){2}|[A-Za-z][A-Za-z0-9+.-]*%3A%2F%2F", re.IGNORECASE)
"""The beginning of an address, which is no secret."""
_TOKEN = re.compile(r"\w[\w./:@-]*")
_SHORT_COMMIT = 7


def mask_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text with each secret replaced by ``***``.

    A secret is also found as JSON writes it, as a URL writes it, in Base64, and line by line. Secrets of fewer than
    four characters, and words such as ``none``, are left alone: masking them would only tear holes into sentences.

    Args:
        secrets: values to hide; empty ones are ignored.
    """
    for spelling in _spellings(tuple(secrets)):
        text = text.replace(spelling, MASK)
    return text


class Redactor:
    """Takes out of everything that leaves the process what must not: secrets, and what identifies a person.

    Secrets are those of the run, and whatever has the form of a key, token or password.

    A run makes one, and all of its printing, writing and posting goes through it. Reports are kept and shown to more
    people than a customer talks to, and what a model says of a customer is not known beforehand:
    the masking floor. It is applied before a text is rendered, since escaping splits words.

    What people, systems and models said is masked: conversations, what was measured in them, errors, messages. Amounts,
    dates, durations, commits and names of what was run are the gate's own and stay. A text is masked once; where it
    comes again, as in an event and in the report, it is looked up.

    Args:
        secrets: values to hide; a text may hold them anywhere.
        names: the identity table: full names of people whom a text may name.
    """

    def __init__(self, secrets: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._spellings = _spellings(self._secrets)
        self._listed = tuple(names)
        self._names = NameTable(self._listed)
        self._masked = MaskedTexts()
        self._known: dict[tuple[str, ...], Redactor] = {}
        # The plain result is kept beside the masked one: its id is then nobody else's.
        self._results: dict[int, tuple[ScenarioResult, ScenarioResult]] = {}
        self._secretless = _Mask(self._hide)
        self._spoken = _Mask(self.text, mask_number, self._secretless, self._thing)

    def knowing(self, names: Iterable[str]) -> "Redactor":
        """The same for texts about these people too; what it has masked is remembered."""
        listed = tuple(dict.fromkeys((*self._listed, *names)))
        if listed not in self._known:
            known = Redactor(self._secrets, listed)
            known._masked = self._masked
            self._known[listed] = known
        return self._known[listed]

    def __reduce__(self) -> tuple[type["Redactor"], tuple[tuple[str, ...], tuple[str, ...]]]:
        """Another process gets what is hidden, and nothing that was masked already."""
        return Redactor, (self._secrets, self._listed)

    def text(self, text: str) -> str:
        """The text without any secret or identifier."""
        return self._masked.of(self, text, self._mask)

    def secretless(self, text: str) -> str:
        """The text without any secret or credential; what identifies a person stays."""
        return self._hide(text)

    def value(self, value: Any, name: str = "") -> Any:
        """A JSON value, keys and all, without any secret or identifier, such as what a tool was given.

        Args:
            value: of JSON, however deep.
            name: of the field that holds it: it distinguishes an amount from a person's number.
        """
        return _Mask(self.text, partial(mask_number, strict=True)).apply(value, name)

    def result(self, result: ScenarioResult) -> ScenarioResult:
        """The result with every text and number in it masked; one that was masked before is looked up."""
        known = self._results.get(id(result))
        if known is None or known[0] is not result:
            known = result, self._about([result])._spoken.apply(result)  # noqa: SLF001 - of the same class
            self._results[id(result)] = known
        return known[1]

    def report(self, report: Report) -> Report:
        """The report without secrets anywhere, and without identifiers in all that was said and measured.

        Each conversation's customer is known from its scenario. In sentences of the gate the names of what was run
        stay.
        """
        people = {result.trial.scenario.id: self._about([result]) for result in report.results}
        results = tuple(self.result(result) for result in report.results)
        masked: Report = replace(
            self._secretless.apply(replace(report, results=(), shard=None)),
            results=results,
            shard=None if report.shard is None else self._shard(report.shard, report.results),
        )
        sentences = _Mask(_Sentences(self._about(report.results).text, masked).masked, mask_number, self._secretless)
        return replace(
            masked,
            verdict=self._verdict(masked, sentences, people),
            notes=sentences.apply(masked.notes),
            variants=sentences.apply(masked.variants),
            spending=replace(masked.spending, refused=sentences.apply(masked.spending.refused)),
            explanation=None if masked.explanation is None else self.explanation(masked.explanation),
        )

    def _shard(self, shard: ShardReport, own: Iterable[ScenarioResult]) -> ShardReport:
        """The shard's part of a report: its sentences may quote what its scenarios said."""
        text = self._about((*own, *shard.base_results)).text
        hidden: ShardReport = self._secretless.apply(replace(shard, base_results=()))
        return replace(
            hidden,
            base_results=tuple(self.result(result) for result in shard.base_results),
            breaches=tuple(map(text, hidden.breaches)),
            interruption=None if hidden.interruption is None else text(hidden.interruption),
            no_base=None if hidden.no_base is None else text(hidden.no_base),
            base_failed=None if hidden.base_failed is None else text(hidden.base_failed),
            way_out=None if hidden.way_out is None else text(hidden.way_out),
            problem=text(hidden.problem),
        )

    def explanation(self, found: Explanation) -> Explanation:
        """The explanation without secrets and identifiers; lines with a credential of any form are not shown."""
        hidden: Explanation = self._secretless.apply(found)
        parts = tuple(
            replace(part, removed=self._line(part.removed), added=self._line(part.added)) for part in hidden.parts
        )
        causes = {
            name: replace(cause, why=self.text(cause.why), request=self.text(cause.request))
            for name, cause in hidden.scenarios.items()
        }
        return replace(hidden, parts=parts, scenarios=causes)

    def _line(self, text: str) -> str:
        kinds = find_credentials(text)
        return f"{MASK} (not shown: it holds {' and '.join(kinds)})\n" if kinds else self.text(text)

    def _verdict(self, report: Report, sentences: "_Mask", people: Mapping[str, "Redactor"]) -> Verdict:
        compared = report.verdict.comparison
        verdict: Verdict = sentences.apply(replace(report.verdict, comparison=None))
        if compared is None:
            return verdict
        shown = sentences.apply(replace(compared, flips=(), changed=()))
        flips, changed = (
            tuple(people.get(change.scenario_id, self)._spoken.apply(change) for change in changes)  # noqa: SLF001 - of the same class
            for changes in (compared.flips, compared.changed)
        )
        return replace(verdict, comparison=replace(shown, flips=flips, changed=changed))

    def _about(self, results: Iterable[ScenarioResult]) -> "Redactor":
        """The redactor that knows the customers of these results besides the names that this one knows."""
        return self.knowing(result.trial.scenario.customer.name for result in results)

    def _mask(self, text: str) -> str:
        return mask_identifiers(self._hide(text), self._names)

    def _thing(self, text: str) -> str:
        """The id of a document: a long number in it is the document's, and stays."""
        return mask_identifiers(self._hide(text), self._names, keep_long=True)

    def _hide(self, text: str) -> str:
        for spelling in self._spellings:
            text = text.replace(spelling, MASK)
        # Whoever they belong to, and before anything is read as a number of a person: a key may hold its digits.
        text = mask_credentials(text)
        return _CUT.sub(self._without_half, text) if "…" in text else text

    def _without_half(self, cut: re.Match[str]) -> str:
        """What stands before an ellipsis, without the beginning of a secret that was cut there."""
        text = cut[0]
        for spelling in self._spellings:
            scheme = _SCHEME.match(spelling)
            minimum = _SHORTEST if scheme is None else scheme.end() + 1
            maximum = min(len(spelling) - 1, len(text) - 1)
            for size in range(maximum, minimum - 1, -1):
                if text[-size - 1 : -1] == spelling[:size]:
                    return f"{text[: -size - 1]}{MASK}…"
        return text


class MaskedTexts:
    """Texts that were masked already, by the redactor that did.

    Args:
        maximum: characters that are kept before all of them are forgotten.
    """

    def __init__(self, maximum: int = 32_000_000) -> None:
        self._maximum = maximum
        self._size = 0
        self._kept: dict[tuple[object, str], str] = {}

    def of(self, by: object, text: str, mask: Callable[[str], str]) -> str:
        """The masked text, by ``mask`` where it is not known."""
        masked = self._kept.get((by, text))
        if masked is None:
            masked = mask(text)
            if self._size > self._maximum:
                self._kept, self._size = {}, 0
            self._kept[by, text] = masked
            self._size += len(text) + len(masked)
        # The text itself, and not the equal one that came first: a record in which nothing was masked stays the same.
        return text if masked == text else masked


class _Sentences:
    """Masks sentences of the gate, which name what was run between what people said.

    Args:
        report: that the sentences are about; names its scenarios and commits.
    """

    def __init__(self, mask: Callable[[str], str], report: Report) -> None:
        self._mask = mask
        subject, base = report.subject, report.baseline
        commits = (report.commit, subject.head, subject.base, base.commit if base is not None else "")
        self._commits = tuple(commit for commit in commits if commit and len(commit) >= _SHORT_COMMIT)
        ids = {result.trial.scenario.id for result in report.results}
        self._own = {*ids, *report.left_out, *report.scenario_digests, str(subject.run_id or ""), report.name}

    def masked(self, text: str) -> str:
        """The sentence without any secret or identifier."""
        parts, end = list[str](), 0
        for token in _TOKEN.finditer(text):
            word = token[0].rstrip(".:")
            if word in self._own or self._is_commit(word):
                parts += [self._mask(text[end : token.start()]), word]
                end = token.start() + len(word)
        return "".join([*parts, self._mask(text[end:])])

    def _is_commit(self, word: str) -> bool:
        return len(word) >= _SHORT_COMMIT and any(commit.startswith(word) for commit in self._commits)


def _unchanged(_: str, number: float) -> float | str:
    return number


@dataclass(frozen=True, slots=True)
class _Mask:
    """Masks a value of the model, down to its texts and the numbers of its JSON.

    Args:
        number: masks a number, given the name of the JSON field that holds it.
        named: masks the dataclass fields that name what was run; None to mask them like all others.
        thing: masks the id of a document, which the system under test has given.
    """

    text: Callable[[str], str]
    number: Callable[[str, float], float | str] = _unchanged
    named: "_Mask | None" = None
    thing: Callable[[str], str] | None = None

    def apply(self, value: Any, name: str | None = None, depth: int = 0) -> Any:
        """The value, masked; ``name`` is that of its JSON field, None outside JSON. What lies too deep is its text."""
        if isinstance(value, (str, int, float)):
            return self._scalar(value, name)
        if depth > _DEEPEST:
            return self.text(_text_of(value))
        if isinstance(value, (list, tuple, frozenset)):
            masked = [self.apply(item, name, depth + 1) for item in value]
            return value if all(map(is_, masked, value)) else type(value)(masked)
        kind: Any = type(value)
        names = field_names(kind)
        if names:
            return self._record(value, names, depth + 1)
        if isinstance(value, Mapping):
            return self._mapping(value, depth + 1)
        return value

    def _record(self, value: Any, names: Sequence[str], depth: int) -> Any:
        """The dataclass itself where nothing in it was masked: most of a report is left as it is."""
        masked: dict[str, Any] = {}
        for name in names:
            plain = getattr(value, name)
            kind = type(plain)
            if kind in _AS_THEY_ARE or not plain:
                continue
            mask = self.named if self.named is not None and name in _NAMES else self
            shown = mask.text(plain) if kind is str else mask.apply(plain, None, depth)
            if shown is not plain:
                masked[name] = shown
        if isinstance(value, Document) and self.thing is not None:
            masked["id"] = self.thing(value.id)
        return replace(value, **masked) if masked else value

    def _scalar(self, value: float | str, name: str | None) -> float | str:
        if isinstance(value, str):
            return value if isinstance(value, Enum) else self.text(value)
        return value if name is None else self.number(name, value)

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> Mapping[Any, Any]:
        masked: dict[Any, Any] = {}
        same = True
        for key, item in value.items():
            shown = plain = self.apply(key)
            number = 2
            while shown in masked:
                # Two numbers may look alike once they are masked; neither's value may be lost.
                shown, number = f"{plain} ({number})", number + 1
            masked[shown] = self.apply(item, str(key), depth)
            same = same and shown is key and masked[shown] is item
        return value if same else masked


def _text_of(value: Any) -> str:
    try:
        return json.dumps(value, default=repr)
    except (RecursionError, ValueError, TypeError):
        return MASK


@lru_cache(maxsize=16)
def _spellings(secrets: tuple[str, ...]) -> tuple[str, ...]:
    found: set[str] = set()
    for secret in secrets:
        if secret.strip().casefold() in _PLACEHOLDERS:
            continue
        for value in (secret, secret.strip(), *secret.splitlines()):
            found |= {value, json.dumps(value)[1:-1], quote(value, safe="", errors="replace")}
            found |= {quote_plus(value, errors="replace"), b64encode(value.encode("utf-8", "replace")).decode("ascii")}
            found |= set(_inside_base64(value.encode("utf-8", "replace")))
    # The longest first: a secret that contains another must not leave its rest behind.
    return tuple(sorted((text for text in found if len(text) >= _SHORTEST), key=lambda text: (-len(text), text)))


def _inside_base64(value: bytes) -> Iterable[str]:
    """What Base64 shows of a value wherever it begins, such as of a password in a header of HTTP's Basic scheme."""
    for before in range(3):
        whole = b64encode(bytes(before) + value)[: (before + len(value)) // 3 * 4].decode("ascii")
        shown = whole[4:] if before else whole
        if len(shown) >= _SHORTEST_INSIDE:
            yield shown
