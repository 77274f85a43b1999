"""What the server remembers about a tenant: a comment on its role, which the role itself cannot change."""

import json
from dataclasses import asdict, dataclass

_MARK = "ratiba-eval-gate "


@dataclass(frozen=True, slots=True)
class Registration:
    """A registered tenant or template.

    Args:
        tenant: its UUID.
        run: the run that made it; unique to one provisioner.
        database: where its schema lies. Roles belong to the whole server, schemas and run locks to one database.
        scenario: the scenario's id, or the arm's name for a template.
    """

    tenant: str
    run: str
    database: str
    scenario: str

    def comment(self) -> str:
        """The comment that ``parse`` reads back; plain ASCII."""
        return _MARK + json.dumps(asdict(self), sort_keys=True)


def parse(comment: str | None) -> Registration | None:
    """The registration in a role's comment; None when the comment is not ours."""
    if comment is None or not comment.startswith(_MARK):
        return None
    try:
        fields = json.loads(comment.removeprefix(_MARK))
        return Registration(**{name: str(fields[name]) for name in ("tenant", "run", "database", "scenario")})
    except (ValueError, KeyError, TypeError):
        return None
