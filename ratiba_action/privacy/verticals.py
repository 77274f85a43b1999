"""For which lines of business the masking floor is enough, and for which rules of their own are missing.

Source: ``seeds/000`` §4: the floor handles spas, salons and barbershops fully; health and law need rules that nobody
has written yet, so that their conversations must not become scenarios.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ratiba_action.errors import ConfigurationError

FLOOR_IS_ENOUGH = frozenset({"barbershop", "salon", "spa"})
"""Verticals whose conversations hold nothing that the floor does not know."""

_HEALTH = ("complaints and diagnoses", "treatments and prescriptions", "results and images", "names of insurers")
_MISSING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "dental": ("teeth and dental records", *_HEALTH),
        "physio": ("injuries and exercises", *_HEALTH),
        "medical": ("medical histories", *_HEALTH),
        "legal": ("case numbers and courts", "parties and witnesses", "offences and charges", "what a client confides"),
    }
)


def ensure_masking_rules(vertical: str) -> None:
    """Refuse a vertical for which masking rules are missing; call it before anything is read or written.

    Args:
        vertical: of the tenant; case and surrounding space make no difference.

    Raises:
        ConfigurationError: rules are missing, and which; or the vertical is empty or not known.
    """
    known = vertical.strip().casefold()
    if known in FLOOR_IS_ENOUGH:
        return
    if known in _MISSING:
        raise ConfigurationError(
            f"Conversations of the vertical {vertical!r} cannot become scenarios: masking rules are missing for "
            f"{'; '.join(_MISSING[known])}.",
            "Nothing was written. The rules have to be decided and written first; docs/masking.md says where.",
        )
    raise ConfigurationError(
        f"Conversations of the vertical {vertical!r:.60} cannot become scenarios: what identifies people "
        "there is not known.",
        f"Name one of {', '.join(sorted(FLOOR_IS_ENOUGH))}, for which the masking floor is enough.",
    )
