"""The file of tenants: their verticals and identity tables. It names customers, so it stays outside the repository."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ratiba_action.errors import FileProblem, SuiteError, UsageError
from ratiba_action.production.tenants import TenantFacts
from ratiba_action.util.strict_yaml import read_yaml
from ratiba_action.util.validation import StrictModel, validate

_Name = Annotated[str, Field(min_length=1, max_length=200)]


class TenantBlock(StrictModel):
    """One tenant."""

    vertical: str = ""
    names: list[_Name] | None = None
    language: Annotated[str, Field(pattern=r"^([a-z]{2,3}|mixed)$")] | None = None
    promote: bool = True


class TenantFile(StrictModel):
    """All tenants by id."""

    tenants: dict[_Name, TenantBlock]


def read_tenants(path: Path) -> Mapping[str, TenantFacts]:
    """The tenants of a file.

    Raises:
        UsageError: it cannot be read.
        SuiteError: it is wrong; every problem.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"The file of tenants {str(path)!r} cannot be read: {error.strerror}.", "Name it with --tenants."
        ) from error
    document, problems = read_yaml(str(path), content)
    if document is not None:
        block, problems = validate(TenantFile, document)
        if block is not None:
            return {name: _facts(one) for name, one in block.tenants.items()}
    # The values at fault are not shown: they may name people, and a log is read by many.
    message = "not what a file of tenants holds; docs/feedback.md describes it"
    raise SuiteError([FileProblem(one.path, one.line, message) for one in problems])


def tenants_outside(name: str | None, repository: Path) -> Mapping[str, TenantFacts]:
    """The tenants of a file that is kept out of the checkout where it names people; none of no file.

    Raises:
        UsageError: it cannot be read, or lies where it might be committed.
        SuiteError: it is wrong; every problem.
    """
    if name is None:
        return {}
    tenants = read_tenants(Path(name))
    if Path(name).resolve().is_relative_to(repository) and any(one.names for one in tenants.values()):
        raise UsageError(
            f"The file of tenants {name!r} names people and lies in the checkout, where it might be committed.",
            "Keep it outside.",
        )
    return tenants


def _facts(block: TenantBlock) -> TenantFacts:
    names = None if block.names is None else tuple(block.names)
    return TenantFacts(block.vertical, names, block.language or "", block.promote)
