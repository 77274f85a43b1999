"""Recognises keys, tokens and passwords by their form, whoever they belong to."""

import re
from collections.abc import Mapping

_FORMS: Mapping[str, re.Pattern[str]] = {
    "an Anthropic key": re.compile(r"(?<![\w-])sk-ant-[\w-]{6,}"),
    "an API key": re.compile(r"(?<![\w-])[ps]k-(?!ant-)(?:proj-|svcacct-|admin-|lf-|live-|test-)?[\w-]{12,}"),
    "a GitHub token": re.compile(r"(?<![A-Za-z0-9])(?:gh[oprsu]_[A-Za-z0-9]{6,}|github_pat_\w{6,})"),
    "a cloud key": re.compile(r"(?<!\w)(?:A(?:KI|SI)A[0-9A-Z]{16}|AIza[\w-]{30,})"),
    "a chat token": re.compile(r"(?<!\w)xox[abeprs]-[\w-]{8,}"),
    "a bearer token": re.compile(r"(?i)(?<!\w)bearer\s{1,3}(?=[\w.~+/-]{0,200}\d)[\w.~+/-]{8,}=*"),
    "a JSON web token": re.compile(r"(?<![\w-])eyJ[\w-]{6,}\.eyJ[\w-]{6,}\.[\w-]*"),
    "a private key": re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----"),
    "a password in an address": re.compile(r"(?<![\w.+-])[A-Za-z][\w.+-]{1,20}://[^\s/:@]{0,64}:[^\s/@]{1,128}@"),
    "a password": re.compile(r"(?i)(?:password|passwd|pwd|secret|api_?key)\s?=\s?[^\s;,\"']{4,}"),
}


def find_credentials(text: str) -> tuple[str, ...]:
    """What kinds of credential a text holds, in words; never the credential itself."""
    return tuple(kind for kind, form in _FORMS.items() if form.search(text))
