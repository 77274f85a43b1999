"""Names of schemas and roles: lower-case identifiers of at most 63 bytes, whatever a scenario is called."""

import re
import secrets

TENANT_PREFIX = "test_tenant_"
TEMPLATE_PREFIX = "ratiba_template_"
MAXIMUM_BYTES = 63
_SUFFIX_BYTES = 4
_FOREIGN = re.compile(r"[^a-z0-9_]+")


def tenant_name(scenario_id: str) -> str:
    """A fresh name ``test_tenant_<scenario>_<8 random hex>`` (``seeds/000`` §2) for a schema and its role.

    Runs of characters outside ``a-z0-9_`` become one underscore, so that one character is one byte; the scenario's
    part is then cut until the whole fits. Only the suffix makes a name unique.
    """
    suffix = secrets.token_hex(_SUFFIX_BYTES)
    room = MAXIMUM_BYTES - len(TENANT_PREFIX) - len(suffix) - 1
    scenario = _FOREIGN.sub("_", scenario_id.lower())[:room]
    return f"{TENANT_PREFIX}{scenario}_{suffix}"


def template_name() -> str:
    """A fresh name for a template: long enough to stand nowhere in a schema by chance."""
    return f"{TEMPLATE_PREFIX}{secrets.token_hex(16)}"
