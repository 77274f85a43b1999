"""Credentials that a job has left where git finds them: warned of, masked, and kept from the system under test.

``actions/checkout`` leaves the job's token in the checkout's configuration, or in a file that it includes, unless it is
set otherwise. Standard library only: the step that decides has the runner mask them.
"""

import base64
import binascii
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from ratiba_action.errors import InfrastructureError
from ratiba_action.model.note import Note
from ratiba_action.util.git import Git
from ratiba_action.util.locked_folder import is_file

_USER_OF_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/@\s]+)@")
_INCLUDED = re.compile(r"git-credentials-[^/]*\.config")
_KEY_FILE = re.compile(r"""\s-i\s*("[^"]+"|'[^']+'|\S+)""")
_SHORTEST_TOKEN = 20  # characters; a shorter user without a password is a name
_LARGEST = 1_000_000  # bytes of a file of credentials
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Persisted:
    """What was found.

    Args:
        places: what holds a credential: names of settings and paths of files.
        secrets: the values, to be masked.
        files: absolute paths outside of the checkout that hold one, or are meant to.
    """

    places: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def warning(self) -> str:
        """What to tell a reader; empty where nothing was found."""
        if not self.places:
            return ""
        more = len(self.places) - _SHOWN
        shown = ", ".join(self.places[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        return Note(
            f"The checkout of this job keeps a credential in {shown}, where every later step can read it.",
            "Set 'persist-credentials: false' on actions/checkout, or remove it before the gate runs.",
        )


def persisted_credentials(git: Git | None, environment: Mapping[str, str]) -> Persisted:
    """Look for credentials in what git reads in a job; on a person's own machine they are none of the gate's business.

    Args:
        git: the repository; None where there is none.
        environment: of the job; its ``HOME``, ``XDG_CONFIG_HOME`` and ``RUNNER_TEMP`` say where files lie.
    """
    if not in_job(environment):
        return Persisted()
    places, secrets, files = dict[str, None](), dict[str, None](), dict[str, None]()
    for origin, key, value in _settings(git):
        found = [*_secrets_of(key, value)]
        named = [*_files_of(key, value)]
        if found or named:
            places[_without_user(key)] = None
            secrets |= dict.fromkeys(found)
            files |= dict.fromkeys([*named, origin] if found else named)
    for path in _stores(git, environment):
        content = _content(path)
        files[str(path)] = None
        if found := [secret for line in content.splitlines() for secret in _of_urls(line)]:
            places[str(path)] = None
            secrets |= dict.fromkeys(found)
    outside = {os.path.realpath(file): None for file in files if file}
    return Persisted(tuple(places), tuple(secrets), tuple(outside))


def in_job(environment: Mapping[str, str]) -> bool:
    """Whether the gate runs in a job or in its own container, where the checkout is not a person's own."""
    return environment.get("GITHUB_ACTIONS") == "true" or bool(environment.get("RATIBA_CONTAINER"))


def _settings(git: Git | None) -> Iterator[tuple[str, str, str]]:
    """Origin, key and value of each setting, included files too."""
    try:
        listed = git.run("config", "--list", "--includes", "--show-origin", "-z", user=True) if git is not None else ""
    except InfrastructureError:
        return
    fields = listed.split("\0")
    for origin, setting in zip(fields[0::2], fields[1::2], strict=False):
        key, _, value = setting.partition("\n")
        yield origin.removeprefix("file:") if origin.startswith("file:") else "", key, value


def _secrets_of(key: str, value: str) -> Iterator[str]:
    section, name = key.partition(".")[0].casefold(), key.rpartition(".")[2].casefold()
    if section == "http" and name == "extraheader":
        yield from _of_header(value)
    yield from _of_urls(key)
    yield from _of_urls(value)


def _of_header(value: str) -> Iterator[str]:
    """What stands behind the name of a header, and what Base64 hides in it."""
    given = value.partition(":")[2].strip()
    scheme, _, credential = given.partition(" ")
    credential = credential.strip() or scheme
    if not credential:
        return
    yield credential
    try:
        plain = base64.b64decode(credential, validate=True).decode()
    except (binascii.Error, ValueError):
        return
    if password := plain.partition(":")[2]:
        yield password


def _of_urls(text: str) -> Iterator[str]:
    for scheme, user in _USER_OF_URL.findall(text):
        name, _, password = user.partition(":")
        token = password or (name if scheme.casefold().startswith("http") and len(name) >= _SHORTEST_TOKEN else "")
        if token:
            yield from dict.fromkeys((token, unquote(token)))


def _files_of(key: str, value: str) -> Iterator[str]:
    """Files that hold a credential by what a setting says, whether they can be read here or not."""
    section, name = key.partition(".")[0].casefold(), key.rpartition(".")[2].casefold()
    if section in ("include", "includeif") and name == "path" and _INCLUDED.fullmatch(value.rpartition("/")[2]):
        yield value
    if (section, name) == ("core", "sshcommand"):
        yield from (found.strip("\"'") for found in _KEY_FILE.findall(value))


def _stores(git: Git | None, environment: Mapping[str, str]) -> Iterator[Path]:
    """Files that git's credential helpers read and write, and those that checkout writes for it."""
    home = environment.get("HOME") or ""
    settings = environment.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    named = [f"{home}/.git-credentials", f"{home}/.netrc"] if home else []
    named += [f"{settings}/git/credentials"] if settings else []
    named += [str(git.root / ".git-credentials")] if git is not None else []
    yield from _present(Path(file) for file in named)
    if temporary := environment.get("RUNNER_TEMP"):
        yield from _present(sorted(Path(temporary).glob("git-credentials-*.config")))


def _present(paths: Iterable[Path]) -> Iterator[Path]:
    yield from (path for path in paths if is_file(path))


def _content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _without_user(key: str) -> str:
    """A setting's name without the credential that it may hold itself."""
    return _USER_OF_URL.sub(r"\1://***@", key)
