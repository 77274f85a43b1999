"""Nunjucks templates of promptfoo in Jinja's words, and the names that they have places for."""

import re

from ratiba_action.authoring.imports import NotImportedError

_STRICT = (
    (re.compile(r"!=="), "!="),
    (re.compile(r"==="), "=="),
    (re.compile(r"&&"), "and"),
    (re.compile(r"\|\|"), "or"),
)
_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_TEXTS = re.compile(r"('[^']*'|\"[^\"]*\")")
_ELSE_IF = re.compile(r"^\{%(-?)\s*elseif\b")
_WORDS = (
    (re.compile(r"(?<=[\w\])])\.length\b"), "|length"),
    (re.compile(r"(?<=[\w\])])\.toUpperCase\(\)"), "|upper"),
    (re.compile(r"(?<=[\w\])])\.toLowerCase\(\)"), "|lower"),
    (re.compile(r"(?<=[\w\])])\.trim\(\)"), "|trim"),
    (re.compile(r"(?<=[\w\])])\.join\("), "|join("),
    (re.compile(r"\|\s*nl2br\b"), "|replace('\\n', '<br />\\n')"),
    (re.compile(r"\b(null|undefined)\b"), "none"),
)


def as_jinja(text: str) -> str:
    """Nunjucks in Jinja's words, inside its tags: ``===``, ``elseif``, ``nl2br`` and methods of JavaScript."""

    def code(part: str) -> str:
        for pattern, other in (*_STRICT, *_WORDS):
            part = pattern.sub(other, part)
        return part

    def tag(match: re.Match[str]) -> str:
        parts = _TEXTS.split(match[0])
        changed = "".join(part if index % 2 else code(part) for index, part in enumerate(parts))
        return _ELSE_IF.sub(r"{%\1 elif", changed)

    return _TAG.sub(tag, text)


def template_names(text: str) -> frozenset[str]:
    """Names that a template has places for, without those of the conversation.

    Raises:
        NotImportedError: Jinja cannot fill it; says why.
    """
    import jinja2  # only an import reads templates
    from jinja2 import meta, nodes

    environment = jinja2.Environment(autoescape=True)
    environment.filters["dump"] = str  # it is only looked up
    try:
        parsed = environment.parse(text)
    except jinja2.TemplateSyntaxError as error:
        raise NotImportedError(f"line {error.lineno} of the prompt is no Jinja template: {error.message}") from None
    filters = {node.name for node in parsed.find_all(nodes.Filter)} - {*environment.filters, "dump"}
    if filters:
        raise NotImportedError(f"Jinja has no filter {', '.join(sorted(filters))}; write the value into the tests")
    names = meta.find_undeclared_variables(parsed) - set(environment.globals)
    if "env" in names:
        advice = "give their values under `env` of the configuration, or write them into the prompt"
        raise NotImportedError(f"the prompt has places for environment variables (env); {advice}")
    return frozenset(names) - {"message", "history"}
