"""Which share of conversations gets a role's canary, from Redis or a file, so that it can be stopped at any time.

A rollout that cannot be read, is over or makes no sense is 0 percent: the stable prompt is the safe one.
"""

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

KEY = "ratiba:canary:rollout:{role}"
"""A hash in Redis with ``percentage`` (0 to 100) and, if it ends by itself, ``until`` (ISO 8601 with offset)."""

_KEPT_SECONDS = 5.0
_REDIS_SECONDS = 0.2
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Rollouts:
    """The rollouts of all roles.

    Args:
        read: the fields of a role's rollout; empty for none. Whatever it raises makes the rollout 0 percent.
        now: the time.
        kept_seconds: how long an answer is used again, so that not every turn asks.
    """

    read: Callable[[str], Mapping[Any, Any]]
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    kept_seconds: float = _KEPT_SECONDS
    _kept: dict[str, tuple[float, int]] = field(default_factory=dict)

    def percentage(self, role: str) -> int:
        """Share of conversations that get the canary, 0 to 100."""
        asked, found = self._kept.get(role, (0.0, 0))
        if asked and time.monotonic() - asked < self.kept_seconds:
            return found
        try:
            found = read_percentage(self.read(role), self.now())
        except Exception as error:  # noqa: BLE001  (whatever is wrong, customers get the stable prompt)
            _log.warning("The rollout of %s cannot be used (%s): 0 percent.", role, type(error).__name__)
            found = 0
        self._kept[role] = time.monotonic(), found
        return found


def read_percentage(rollout: Mapping[Any, Any], now: datetime) -> int:
    """The percentage of a rollout at a time.

    Raises:
        ValueError: it makes no sense.
    """
    until = datetime.fromisoformat(str(rollout["until"])) if rollout.get("until") else None
    if until is not None and until.tzinfo is None:
        raise ValueError(f"{until.isoformat()} has no offset")
    if until is not None and until <= now:
        return 0
    percentage = int(str(rollout.get("percentage", 0)))
    if not 0 <= percentage <= 100:  # noqa: PLR2004  (a percentage)
        raise ValueError(f"cannot send {percentage} percent to the canary: use 0 to 100")
    return percentage


def rollouts_in_redis(url: str) -> Rollouts:
    """Rollouts in a Redis."""
    from redis import Redis  # only production has one

    client = Redis.from_url(
        url, socket_timeout=_REDIS_SECONDS, socket_connect_timeout=_REDIS_SECONDS, decode_responses=True
    )
    return Rollouts(lambda role: client.hgetall(KEY.format(role=role)))


def rollouts_in_file(path: Path) -> Rollouts:
    """Rollouts in a JSON file, ``{"booking_orchestrator": {"percentage": 5}}``."""
    return Rollouts(lambda role: json.loads(path.read_bytes()).get(role, {}))


def open_rollouts(environment: Mapping[str, str]) -> Rollouts | None:
    """The rollouts that the environment names by ``CANARY_REDIS_URL`` or ``CANARY_ROLLOUTS``; None without either."""
    if url := environment.get("CANARY_REDIS_URL"):
        return rollouts_in_redis(url)
    path = environment.get("CANARY_ROLLOUTS")
    return rollouts_in_file(Path(path)) if path else None
