"""A Dockerfile: its base images, the images that it copies from, and the other places that it takes packages from."""

import re

from ratiba_action.decide.dependencies.manifest import Manifest, Pin, gather, gather_sources

_FROM = re.compile(r"\s*FROM\s+(?:--\S+\s+)*(?P<image>\S+)(?:\s+AS\s+(?P<stage>\S+))?\s*", re.IGNORECASE)
_ARG = re.compile(r"\s*ARG\s+(?P<name>\w+)=(?P<value>\S+)\s*", re.IGNORECASE)
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)(?::-(?P<default>[^}]*))?\}|(?P<plain>\w+))")
_SYNTAX = re.compile(r"#\s*syntax\s*=\s*(\S+)\s*", re.IGNORECASE)
_USED = re.compile(r"(?:\s--from=|[,=\s]from=)([^\s,]+)", re.IGNORECASE)
_SOURCE = re.compile(
    r"://|git\+|git@|--(?:extra-)?index|--default-index|--find-links|--registry|--trusted-host"
    r"|\b(?:PIP|UV|NPM_CONFIG|YARN|POETRY|PDM|CONDA)_\w+|sources\.list|apt-key|add-apt-repository|config\s+set",
    re.IGNORECASE,
)
_WITHOUT = re.compile(r"\bPIP_(?:NO_CACHE_DIR|DISABLE_PIP_VERSION_CHECK|ROOT_USER_ACTION)\b", re.IGNORECASE)


def parse(text: str) -> Manifest:
    """Read the file; ``ARG`` defaults before the first ``FROM`` are filled in."""
    pins: list[tuple[str, Pin]] = []
    rest: list[str] = []
    settings: list[tuple[str, object]] = []
    arguments: dict[str, str] = {}
    stages: set[str] = {"scratch"}
    for line in re.sub(r"[\\`][ \t]*\r?\n", " ", text).splitlines():
        argument = _ARG.fullmatch(line)
        found = _FROM.fullmatch(line)
        if found is None:
            if argument and not pins:
                arguments[argument["name"]] = argument["value"].strip("\"'")
            rest.append(_without_versions(line) if argument and not pins else line)
            names = [
                _filled(image, arguments) for image in _images(line) if image not in stages and not image.isdigit()
            ]
            pins += [image_pin(image) for image in names]
            if _SOURCE.search(_WITHOUT.sub("", line)) and not line.lstrip().startswith("#"):
                settings.append((line.split()[0].upper(), " ".join(line.split())))
            continue
        rest.append(f"FROM AS {found['stage']}")
        if found["image"] not in stages:
            pins.append(image_pin(_filled(found["image"], arguments)))
        if found["stage"]:
            stages.add(found["stage"])
    return Manifest(gather(pins), rest, gather_sources(settings))


def _images(line: str) -> list[str]:
    """Images or stages that a line uses besides ``FROM``."""
    syntax = _SYNTAX.fullmatch(line)
    if syntax:
        return [syntax[1]]
    return _USED.findall(line) if re.match(r"\s*(?:COPY|ADD|RUN|ONBUILD)\s", line, re.IGNORECASE) else []


def _filled(text: str, arguments: dict[str, str]) -> str:
    return _VARIABLE.sub(lambda match: _value(match, arguments), text)


def _value(match: re.Match[str], arguments: dict[str, str]) -> str:
    name = match["braced"] or match["plain"]
    return arguments.get(name, match["default"] or match[0])


def _without_versions(line: str) -> str:
    """An ``ARG`` line less its value, which the images that use it are judged by."""
    return line.partition("=")[0]


def image_pin(reference: str) -> tuple[str, Pin]:
    """Name and pin of an image reference; its tag is the version, its digest counts only without a tag."""
    named, _, digest = reference.partition("@")
    name, colon, tag = named.rpartition(":")
    if not colon or "/" in tag:
        name, tag = named, ""
    return name, Pin(tag or digest or "latest")
