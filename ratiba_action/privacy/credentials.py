"""Recognises keys, tokens and passwords by their form, whoever they belong to.

One table serves whatever refuses a text with a credential, masks one, or says to the reader that there was one. A form
needs what random text, digests, UUIDs and Base64 lack: a prefix that its issuer chose, or a name in front of it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ratiba_action.privacy.plain_text import plain_text, read_plainly

MASK = "***"
"""Stands where a secret stood."""
_START, _END = r"(?<![A-Za-z0-9])(?<![A-Za-z0-9]_)", r"(?!_?[A-Za-z0-9])"
"""A key may stand between underscores, which Markdown takes for emphasis."""
_HEX = "0123456789abcdef"
_MIXED = r"(?=[\w-]{0,200}[A-Za-z])(?:(?=[\w-]{0,200}\d)|(?=[\w-]{0,200}[a-z])(?=[\w-]{0,200}[A-Z])(?=[\w-]{24}))"
"""Letters and digits, or letters of both cases: of 24 random signs, one in sixty has no digit."""
_NAMED = (
    r"password|passwd|pwd|secret|passkey|(?:api|access|account|private|subscription|auth|admin|master|signing"
    r"|encryption|service|role)[_-]?key"
    r"|(?:auth|access|session|refresh|vault|server|bot)[_-]?token|(?-i:[A-Z0-9]_TOKEN)"
)
_BREAK = r"(?:\r?\n[ \t>]{0,8})?"
_PART = rf"(?:[\w-]{_BREAK})"
# Signed, or encrypted with four more parts; lines may break in all but the last one, which goes on in long pieces.
_JOSE = (
    rf"(?<![A-Za-z0-9-])(?<![A-Za-z0-9]_)eyJ{_PART}{{6,400}}\.{_BREAK}(?:e{_BREAK}y{_BREAK}J{_BREAK}{_PART}{{6,8000}}\.{_BREAK}[\w-]*"
    rf"|{_PART}{{0,1000}}\.{_BREAK}{_PART}{{8,200}}\.{_BREAK}{_PART}{{1,8000}}\.{_BREAK}[\w-]{{8,}})"
    rf"(?:\r?\n[ \t>]{{0,8}}[\w-]{{20,}}(?![^\s\"'`)]))*"
)
_LINE = r"\s{0,4}[A-Za-z0-9+/=]"
_PEM_END = r"-{4,5} ?END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
# What stands up to its end is a key, however it is indented or quoted; without an end, lines of Base64 are.
_PEM = (
    r"-{4,5} ?BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    rf"(?:(?:(?!-{{4,5}} ?(?:BEGIN|END) )[\s\S]){{0,20000}}{_PEM_END}"
    r"|(?:\s{0,4}(?:Proc-Type|DEK-Info|Version|Comment): [^\n]{0,100})*"
    rf"(?:{_LINE}{{16,}})*(?:{_LINE}{{1,15}}){{0,2}})"
)
_ESCAPES = "\\%&"
"""Signs with which a text may spell a letter in another way."""


_SHORTEST = 13
"""Characters of the shortest credential that needs nothing beside it."""
_BESIDE = ("=", "://", "earer", "EARER", "-----")


class _Form(NamedTuple):
    """A form of credential.

    Args:
        hints: one of them stands in every text that has such a credential, in lower case.
        pattern: of the credential; where it has a group ``secret``, only that is one.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _prefixed(kind: str, *forms: str) -> Iterator[_Form]:
    """Forms that begin with a fixed prefix, each as ``prefix rest``; the rest is a pattern."""
    for form in forms:
        prefix, rest = form.split(" ", 1)
        yield _Form(kind, (prefix.lower(),), re.compile(f"{_START}{re.escape(prefix)}{rest}", re.ASCII))


_FORMS = (
    *_prefixed("an Anthropic key", r"sk-ant- [\w-]{6,}"),
    # OpenAI, OpenRouter, Langfuse and DeepSeek; a word such as sk-learn-compatible is none.
    _Form(
        "an API key",
        ("sk-", "pk-"),
        re.compile(
            rf"(?<![A-Za-z0-9-])(?<![A-Za-z0-9]_)[ps]k-(?:(?:proj|svcacct|admin|None|or-v1|lf|live|test)-{_MIXED}[\w-]{{12,}}"
            r"|(?:proj|svcacct|or-v1)-[\w-]{0,100}[A-Za-z0-9]{16,}[\w-]*"
            r"|(?!ant-)(?=[\w-]{0,200}\d)[\w-]{0,100}[A-Za-z0-9]{16,}[\w-]*)",
            re.ASCII,
        ),
    ),
    *_prefixed("an API key", r"gsk_ [A-Za-z0-9]{40,}", r"xai- [A-Za-z0-9]{40,}", r"pplx- [A-Za-z0-9]{40,}"),
    *_prefixed("an API key", r"hf_ [A-Za-z0-9]{30,}", r"api_org_ [A-Za-z0-9]{30,}", r"r8_ [A-Za-z0-9]{37}"),
    *_prefixed("an API key", r"nvapi- [\w-]{50,}", r"csk- [a-z0-9]{40,}", r"tvly- [\w-]{24,}", r"sk_ [0-9a-f]{48}"),
    *_prefixed("an API key", r"lsv2_ (?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", rf"dapi [0-9a-f]{{32}}(?:-\d)?{_END}"),
    *_prefixed(
        "an API key",
        r"pcsk_ \w{40,}",
        rf"pa- {_MIXED}[\w-]{{43}}(?!_{{0,2}}[A-Za-z0-9-])",
        rf"fw_ [A-Za-z0-9]{{24}}{_END}",
    ),
    *_prefixed("an API key", rf"sess- [A-Za-z0-9]{{40}}{_END}", r"atsk_ [0-9a-f]{64}", r"tgp_v1_ [\w-]{40,}"),
    *_prefixed("an API key", r"AQ.Ab8 [\w-]{30,}", r"wandb_v1_ \w{30,}", r"bedrock-api-key- [\w+/=-]{40,}"),
    *_prefixed(
        "an API key", r"sk-helicone- [A-Za-z0-9-]{20,}", r"phx_ [A-Za-z0-9]{40,}", rf"rnd_ [A-Za-z0-9]{{32}}{_END}"
    ),
    *_prefixed("a GitHub token", r"github_pat_ \w{6,}", *(rf"gh{letter}_ [A-Za-z0-9]{{10,}}" for letter in "oprsu")),
    *_prefixed(
        "a GitLab token",
        r"glpat- [\w-]{20,}(?:\.[\w-]+)*",
        r"gldt- [\w-]{20,}",
        r"glrt- [\w-]{20,}(?:\.[\w-]+)*",
        r"glcbt- [\w-]{20,}",
        r"glrtr- [\w-]{20,}",
        r"glwt- [\w-]{20,}",
        r"glffct- [\w-]{20,}",
    ),
    *_prefixed("a GitLab token", r"glptt- [0-9a-f]{40}", r"gloas- [\w-]{40,}", r"glagent- [\w-]{40,}"),
    *_prefixed(
        "a GitLab token", r"glsoat- [\w-]{20,}", r"glft- [\w-]{20,}", r"glimt- [\w-]{20,}", r"GR1348941 [\w-]{20}"
    ),
    *_prefixed("a cloud key", *(rf"{prefix} [0-9A-Z]{{16}}{_END}" for prefix in ("AKIA", "ASIA", "ABIA", "ACCA"))),
    *_prefixed(
        "a cloud key", r"ABSK [A-Za-z0-9+/]{100,}={0,2}", rf"LTAI [A-Za-z0-9]{{16,24}}{_END}", r"AIza [\w-]{30,}"
    ),
    *_prefixed("a cloud key", r"GOCSPX- [\w-]{20,}", r"ya29. (?:[a-z]\.)?[\w-]{20,}", r"1//0 [\w-]{30,}"),
    *_prefixed("a cloud key", *(rf"do{letter}_v1_ [0-9a-f]{{40,}}" for letter in "opr"), r"HRKU- [\w-]{30,}"),
    # Azure signs its keys with these letters at a fixed place.
    _Form("a cloud key", ("jqqj99",), re.compile(rf"{_START}[A-Za-z0-9]{{52}}JQQJ99[A-Za-z0-9]{{24,30}}{_END}")),
    _Form(
        "a cloud key",
        ("q~",),
        re.compile(r"(?<![A-Za-z0-9~.-])[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?!_{0,2}[A-Za-z0-9~-])"),
    ),
    _Form("a signed address", ("sig=",), re.compile(r"(?<=[?&])sig=(?P<secret>[\w+/-]{20,}={0,2})", re.ASCII)),
    *_prefixed("a chat token", *(rf"xox{letter}- [\w-]{{8,}}" for letter in "abeoprs")),
    *_prefixed("a chat token", r"xoxe.xox [bp]-[\w-]{8,}", r"xapp- \d-[\w-]{20,}"),
    *_prefixed("a chat token", r"hooks.slack.com/ (?:services|workflows|triggers)/(?P<secret>[\w+/]{24,})"),
    _Form(
        "a chat token",
        ("/api/webhooks/",),
        re.compile(r"discord(?:app)?\.com/api/webhooks/(?P<secret>\d{8,}/[\w-]{30,})", re.ASCII),
    ),
    *_prefixed("a chat token", r"webhook.office.com/ webhookb2/(?P<secret>[\w@-]{36,80}/IncomingWebhook/[\w/-]{32,})"),
    *_prefixed("a chat token", rf"oauth: [a-z0-9]{{30}}{_END}"),
    _Form(
        "a chat token", (":aa",), re.compile(r"(?<![A-Za-z0-9])\d{8,11}:AA[\w-]{32,35}(?!_{0,2}[A-Za-z0-9-])", re.ASCII)
    ),
    *_prefixed(
        "a payment key", *(rf"{kind}_{use}_ [A-Za-z0-9]{{10,}}" for kind in ("sk", "rk") for use in ("live", "test"))
    ),
    *_prefixed("a payment key", r"whsec_ [A-Za-z0-9+/=]{24,}", r"sq0atp- [\w-]{22,}", r"sq0csp- [\w-]{40,}"),
    *_prefixed("a payment key", r"FLWSECK_TEST- [\w-]{12,}", r"FLWSECK- [\w-]{12,}"),
    *_prefixed(
        "a mail key", r"SG. [\w-]{16,32}\.[\w-]{16,64}", rf"key- [0-9a-f]{{32}}{_END}", r"xkeysib- [0-9a-f]{64}"
    ),
    _Form("a mail key", ("-us",), re.compile(rf"{_START}[0-9a-f]{{32}}-us\d{{1,2}}{_END}")),
    *_prefixed("a mail key", rf"re_ [A-Za-z0-9]{{8}}_[A-Za-z0-9]{{24}}{_END}"),
    *_prefixed("a phone service's key", *(rf"SK{digit} [0-9a-f]{{31}}{_END}" for digit in _HEX)),
    *_prefixed(
        "a phone service's key",
        *(rf"AC{digit} [0-9a-f]{{31}}(?::|\s{{1,3}})(?P<secret>[0-9a-f]{{32}}){_END}" for digit in _HEX),
    ),
    *_prefixed(
        "a registry token", rf"npm_ [A-Za-z0-9]{{36}}{_END}", r"pypi-AgEI [\w-]{50,}", r"rubygems_ [0-9a-f]{48}"
    ),
    *_prefixed("a registry token", r"AKCp [A-Za-z0-9]{60,}", r"cmVmdGtu [A-Za-z0-9]{50,}"),
    *_prefixed("a registry token", r"dckr_pat_ [\w-]{20,}", r"dckr_oat_ [\w-]{20,}"),
    *_prefixed("a service's token", *(rf"shp{kind}_ [0-9a-fA-F]{{32}}" for kind in ("at", "ca", "pa", "ss"))),
    *_prefixed(
        "a service's token", r"ntn_ [A-Za-z0-9]{40,}", r"lin_api_ [A-Za-z0-9]{40}", r"PMAK- [0-9a-f]{24}-[0-9a-f]{34}"
    ),
    *_prefixed("a service's token", r"hvs. [\w-]{24,}", r"hvb. [\w-]{100,}", r"glsa_ [A-Za-z0-9]{32}_[0-9a-f]{8}"),
    *_prefixed("a service's token", r"glc_ [A-Za-z0-9+/]{32,}", r"ATATT3 [\w=-]{100,}", r"NRAK- [A-Z0-9]{27}"),
    *_prefixed("a service's token", r"sntrys_ [\w+/=-]{40,}", r"sntryu_ [0-9a-f]{64}", r"figd_ [\w-]{40,}"),
    *_prefixed("a service's token", *(rf"pscale_{kind}_ [\w=.-]{{32,}}" for kind in ("tkn", "oauth", "pw"))),
    *_prefixed("a service's token", r"sbp_ [0-9a-f]{40}", r"sb_secret_ [\w-]{20,}", r"tskey- [\w-]{20,}"),
    *_prefixed("a service's token", r"dp.pt. [A-Za-z0-9]{40,}", r"dp.st. [\w.]{40,}", r"pul- [0-9a-f]{40}"),
    *_prefixed(
        "a service's token", *(rf"vc{kind}_ [A-Za-z0-9]{{24,}}" for kind in "aciprk"), r"sk.eyJ [\w-]{20,}\.[\w-]+"
    ),
    *_prefixed("a service's token", rf"ATBB [A-Za-z0-9]{{32}}{_END}", r"ATCTT3 [\w=-]{100,}", r"CCIPAT_ \w{40,}"),
    *_prefixed("a service's token", *(rf"{kind}_ [0-9a-f]{{40}}{_END}" for kind in ("bkua", "sqp", "sqa", "squ"))),
    *_prefixed("a service's token", r"dp.sa. [A-Za-z0-9]{40,}", r"sgp_ (?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}"),
    *_prefixed("a service's token", rf"aio_ [A-Za-z0-9]{{28}}{_END}", r"dt0c01. [A-Z2-7]{24}\.[A-Z2-7]{64}"),
    *_prefixed("a service's token", r"access_token$production$ [0-9a-z]{16}\$[0-9a-f]{32}", r"APA91b [\w-]{120,}"),
    *_prefixed("a service's token", r"ops_eyJ [\w-]{200,}", r"fm2_ [\w+/=-]{60,}", rf"fo1_ [\w-]{{43}}{_END}"),
    *_prefixed("a service's token", rf"pat- (?:na|eu)\d-[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}{_END}"),
    *_prefixed("a service's token", rf"napi_ [a-z0-9]{{60,}}{_END}", r"CFPAT- [\w-]{43}", r"tfp_ [\w-]{40,}"),
    *_prefixed("a service's token", rf"rdme_ [0-9a-z]{{70}}{_END}", rf"pnu_ [A-Za-z0-9]{{36}}{_END}"),
    *_prefixed("a service's token", r"duffel_live_ [\w-]{43}", r"shippo_live_ [0-9a-f]{40}", r"EZAK [A-Za-z0-9]{54}"),
    *_prefixed("a service's token", *(rf"nf{kind}_ [A-Za-z0-9]{{36}}{_END}" for kind in "bcopu")),
    *_prefixed(
        "a service's token", rf"secret_ [A-Za-z0-9]{{43}}{_END}", rf"pat [A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}{_END}"
    ),
    _Form(
        "a service's token", (".atlasv1.",), re.compile(rf"{_START}[A-Za-z0-9]{{14}}\.atlasv1\.[\w-]{{60,}}", re.ASCII)
    ),
    _Form(
        "a password",
        ("authorization",),
        re.compile(
            r"(?i)authorization[\"']?\s?[:=]\s?[\"']?(?:basic|apikey)\s{1,3}"
            r"(?-i:(?=[A-Za-z0-9+/]*[0-9+/=]|[A-Za-z0-9+/]+[A-Z]))(?P<secret>[A-Za-z0-9+/]{6,}={0,2})",
            re.ASCII,
        ),
    ),
    _Form(
        "a bearer token",
        ("bearer",),
        re.compile(r"(?i)(?<!\w)bearer\s{1,3}(?=[\w.~+/-]{0,200}\d)(?P<secret>[\w.~+/-]{8,}=*)"),
    ),
    _Form("a JSON web token", ("eyj",), re.compile(_JOSE, re.ASCII)),
    _Form("a private key", ("private key",), re.compile(_PEM, re.ASCII)),
    *_prefixed("a private key", r"AGE-SECRET-KEY-1 [A-Z0-9]{58}"),
    *_prefixed(
        "a private key", r"Private-Lines: \s?\d{1,3}(?P<secret>(?:\s{1,4}[A-Za-z0-9+/]{4,}={0,2}(?!\S)){1,200})"
    ),
    _Form(
        "a password in an address",
        ("://",),
        re.compile(r"(?<![\w.+-])[A-Za-z][\w.+-]{1,20}://[^\s/:@]{0,64}:(?P<secret>(?!\*{3}@)[^\s/]{1,128})@"),
    ),
    # Nobody escapes the slash of a database's password, and an address of the web may have an @ in its path.
    _Form(
        "a password in an address",
        ("://",),
        re.compile(
            r"(?<![\w.+-])(?:(?:postgres|postgresql|mysql|mariadb|redis|rediss|mongodb|amqps?|mssql|oracle)[\w+]{0,16})"
            r"://[^\s/:@]{0,64}:(?P<secret>(?!\*{3}@)(?:(?!://)[^\s?\"'<>`]){1,128})@"
        ),
    ),
    _Form(
        "a password",
        ("curl",),
        re.compile(
            r"(?<!\w)curl(?=\s)[^\n]{0,200}?\s(?:-u\s?|--user[ =])[\"']?[\w.@-]{1,64}:"
            r"(?P<secret>(?!\*{3})[^\s\"'$]{4,})"
        ),
    ),
    _Form(
        "a password",
        ("machine",),
        re.compile(r"(?<!\w)machine\s+\S{1,100}\s+login\s+\S{1,100}\s+password\s+(?P<secret>(?!\*{3})[^\s<$]{4,})"),
    ),
    _Form(
        "a password",
        ("auth",),
        re.compile(r"[\"']_?auth[\"']\s?:\s?[\"'](?P<secret>(?=[A-Za-z]*[0-9+/=])[A-Za-z0-9+/]{12,}={0,2})[\"']"),
    ),
    _Form(
        "a named key",
        ("key", "token", "secret"),
        re.compile(
            r"(?i)(?:(?:api|access|secret|private|account|auth)[ _-]?(?:access )?(?:key|token)|client secret)"
            r"[*`_\"']{0,3}\s(?:is|was)[\s:*`_\"']{1,5}(?-i:(?=[\w+/=-]{0,200}\d)(?=[\w+/=-]{0,200}[a-z])(?=[\w+/=-]{0,200}[A-Z]"
            r"|[0-9a-f]{32,}(?![\w-])))(?P<secret>[A-Za-z0-9+/=_-]{20,})"
        ),
    ),
    _Form(
        "a password",
        ("password", "passwd", "pwd", "secret", "key"),
        re.compile(
            r"(?i)(?:password|passwd|pwd|secret|api_?key)\s?=\s?(?![\w.]*[(\[{])"
            r"(?:(?P<quote>[\"'])(?=[^\"']{0,100}\d)(?=[^\"']{0,100}[a-z]))?"
            r"(?P<secret>(?![*<{$%(\[])(?(quote)[^\"'\n<>{}]|[^\s;,\"'`()<>\[\]{}&\\]){4,})(?(quote)(?P=quote))"
        ),
    ),
    _Form(
        "a named key",
        (
            "password",
            "passwd",
            "pwd",
            "secret",
            "key",
            "token",
        ),
        re.compile(
            rf"(?i)(?:{_NAMED})[\w-]{{0,20}}[\"']?\s{{0,2}}[:=]\s{{0,2}}[\"']?(?=[\w+/.~-]{{0,200}}\d)(?=[\w+/.~-]{{0,200}}[a-z])"
            r"(?P<secret>[\w+/.~-]{16,}={0,2})(?![\w(\[])",
            re.ASCII,
        ),
    ),
)


def _any_of(hints: Iterable[str]) -> re.Pattern[str]:
    """A pattern of many words, in the order of their first letters: four times as quick as a list of them."""
    by_letter = groupby(sorted(set(hints)), key=lambda hint: hint[0])
    groups = (
        f"{re.escape(letter)}(?:{'|'.join(re.escape(hint[1:]) for hint in words)})" for letter, words in by_letter
    )
    return re.compile("|".join(groups))


_HINTS = _any_of(hint for form in _FORMS for hint in form.hints)


def find_credentials(text: str) -> tuple[str, ...]:
    """What kinds of credential a text holds, in words; never the credential itself."""
    read = _read(text)
    return tuple(dict.fromkeys(form.kind for form in _possible(read) if form.pattern.search(read)))


def mask_credentials(text: str) -> str:
    """The text with ``***`` instead of each credential; the rest stays as it is written."""
    read = _read(text)
    spans = sorted(span for form in _possible(read) for span in _spans(form, read))
    if not spans:
        return text
    plain = plain_text(text)
    parts, end = list[str](), 0
    for span in spans:
        start, stop = plain.place(*span)
        parts += [text[end:start], MASK] if start >= end else []
        end = max(end, stop)
    return "".join([*parts, text[end:]])


def _read(text: str) -> str:
    """As ``plain_text`` reads it, so that no escape or invisible character hides a credential."""
    return text if text.isascii() and not any(sign in text for sign in _ESCAPES) else read_plainly(text)


def _possible(read: str) -> Sequence[_Form]:
    """The forms that a text may have, found cheaply; none for most."""
    # Most texts have no word that is long enough, which shows in a tenth of the time that a search takes.
    if max(map(len, read.split()), default=0) < _SHORTEST and not any(sign in read for sign in _BESIDE):
        return ()
    lower = read.lower()
    if _HINTS.search(lower) is None:
        return ()
    return [form for form in _FORMS if any(hint in lower for hint in form.hints)]


def _spans(form: _Form, read: str) -> Iterator[tuple[int, int]]:
    group = "secret" if "secret" in form.pattern.groupindex else 0
    return (match.span(group) for match in form.pattern.finditer(read))
