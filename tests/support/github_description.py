"""GitHub's own description of its REST API, as the client that is generated from it knows it.

Each request is made a second time with that client, which is given a connection that only notes what it would send.
The description then says whether such an operation exists, which query and body it takes, and what it answers.
Needs the development dependency ``githubkit``.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import SimpleNamespace
from typing import Any, get_type_hints
from urllib.parse import parse_qsl, urlsplit

_OWN_PARAMETERS = frozenset({"self", "headers", "stream", "data", "kwargs"})


@dataclass
class _Noting:
    """Stands where the client has its connection."""

    config: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(rest_api_validate_body=True))
    noted: dict[str, Any] = field(default_factory=dict)

    def request(self, method: str, url: str, **about: Any) -> None:
        """Note what would be sent."""
        self.noted = {"method": method, "url": url, **about}


@dataclass(frozen=True, slots=True)
class Call:
    """A request to one operation.

    Args:
        operation: such as ``pulls.list_files``.
        method: of the request.
        target: its path and query.
        route: the values in its path by the names that the description gives them.
        body: decoded, None for none.
    """

    operation: str
    method: str
    target: str
    route: Mapping[str, str]
    body: Any


class GithubDescription:
    """Tells what of a request or an answer GitHub does not describe; made once, as loading it takes a second."""

    def __init__(self) -> None:
        # By name: a type checker would read a hundred thousand generated lines.
        import_module("githubkit")  # the schemas cannot be imported before it
        core = import_module("githubkit_schemas.core")
        self._versions = frozenset(core.VERSIONS)
        version = core.VERSIONS[core.LATEST_VERSION]
        self._rest = import_module(f"githubkit_schemas.{version}.rest")
        self._models = import_module(f"githubkit_schemas.{version}.models")
        self._validate = import_module("githubkit.compat").type_validate_python

    def violations_of_headers(self, headers: Mapping[str, str]) -> list[str]:
        """What is wrong with a request's headers, whose names are in small letters."""
        wrong = [f"a request has no {name}" for name in ("authorization", "user-agent") if not headers.get(name)]
        version = headers.get("x-github-api-version")
        return wrong + ([] if version in self._versions else [f"the API has no version {version!r}"])

    def violations_of_request(self, call: Call) -> list[str]:
        """What is wrong with a request; empty for nothing."""
        where = f"{call.method} {call.target}"
        if call.body is not None and not isinstance(call.body, dict):
            return [f"{where}: the body is not a JSON object"]
        noted = self._noted(call)
        if isinstance(noted, str):
            return [f"{where}: {noted}"]
        described, sent = (noted["method"], noted["url"]), (call.method, urlsplit(call.target).path)
        wrong = [f"{where}: {call.operation} is {' '.join(described)}"] if described != sent else []
        unknown = set(call.body or {}) - set(noted.get("json") or {})
        return wrong + [f"{where}: the body's {name!r} is not described" for name in sorted(unknown)]

    def violations_of_answer(self, call: Call, status: int, answer: Any) -> list[str]:
        """What is wrong with an answer; a refusal is held against the errors that the description lists."""
        noted = self._noted(call)
        if isinstance(noted, str):
            return []  # told with the request
        if status == 204 or 300 <= status < 400:
            return []
        errors = noted.get("error_models") or {}
        model = noted["response_model"] if status < 400 else errors.get(str(status), self._models.BasicError)
        try:
            self._validate(model, answer)
        except ValueError as error:
            return [f"the answer {status} of {call.operation}: {error}"]
        return []

    def _noted(self, call: Call) -> dict[str, Any] | str:
        """What the generated client makes of a request, or what it does not take about it."""
        connection = _Noting()
        group, _, name = call.operation.partition(".")
        function = getattr(getattr(self._rest.RestNamespace(connection), group), name)
        pairs = parse_qsl(urlsplit(call.target).query, keep_blank_values=True)
        if len(dict(pairs)) != len(pairs):
            return "a parameter stands twice in the query"
        try:
            given = self._typed(function, {**call.route, **dict(pairs)})
            function(**given, **({} if call.body is None else {"data": call.body}))
        except (TypeError, ValueError) as error:
            return str(error)
        return connection.noted

    def _typed(self, function: Any, values: Mapping[str, str]) -> dict[str, Any]:
        """The values of path and query as the types that the description gives them."""
        plain = inspect.unwrap(function)
        annotations = inspect.get_annotations(plain)
        names = [name for name in inspect.signature(plain).parameters if name not in _OWN_PARAMETERS]
        unknown = sorted(set(values) - set(names))
        if unknown:
            raise ValueError(f"the parameters {unknown} are not described")
        wanted = SimpleNamespace(__annotations__={name: annotations[name] for name in names if name in values})
        hints = get_type_hints(wanted, globalns=vars(import_module(plain.__module__)), include_extras=True)
        return {name: self._validate(hints[name], _number(hints[name], value)) for name, value in values.items()}


def _number(hint: Any, value: str) -> str | int:
    """A query's digits as a number where one is described; the generated types take no text for it."""
    takes_text = hint is str or "str" in str(hint)
    return int(value) if not takes_text and value.isascii() and value.isdigit() else value
