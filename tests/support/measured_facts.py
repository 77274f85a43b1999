"""What a run measured and spent, less what differs from run to run: times, ids, addresses and versions."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_DIFFERS = frozenset({"seconds", "conversation_id", "tenant_id", "commit", "base", "prompt_versions", "suite"})
_ADDED = frozenset(
    {"prompt_blobs", "provider", "anchor", "slow_decline", "answered_by", "began", "refused", "attempts"}
)
"""Fields that the version before did not have."""
_RESERVATIONS = "budget"
"""What an event of this type says depends on what else was under way; settled amounts do not."""


def measured_facts(report: Path) -> dict[str, Any]:
    """Verdict, money, each scenario's outcome and its events in their order.

    Args:
        report: a report directory.

    Returns:
        JSON values. Of an event its type, its turn and a digest of the rest.
    """
    results = json.loads((report / "results.json").read_text("utf-8"))["report"]
    events: dict[str, list[str]] = {}
    for line in (report / "events.jsonl").read_text("utf-8").splitlines():
        event = json.loads(line)
        name = f"{event.get('arm', 'run')} {event.get('scenario', '')} {event.get('trial', '')}"
        data = {} if event["type"] == _RESERVATIONS else _kept(event["data"])
        digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:8]
        events.setdefault(name, []).append(f"{event['type']} {event.get('turn', '')} {digest}")
    verdict, spending = results["verdict"], results["spending"]
    return {
        "verdict": {name: verdict[name] for name in ("conclusion", "reason", "action", "warnings")},
        "comparison": [
            [one["scenario_id"], one["tier"], one["base"], one["head"]] for one in verdict["comparison"]["scenarios"]
        ]
        if verdict["comparison"]
        else [],
        "spending": _kept(spending),
        "scenarios": [_scenario(result) for result in results["results"]],
        "events": {name: " | ".join(found) for name, found in sorted(events.items())},
    }


def _scenario(result: Mapping[str, Any]) -> list[Any]:
    checks = [f"{check['kind']} {check['turn']}: {check['passed']}" for check in result.get("checks", ())]
    scores = [[score["metric"], score["value"], score["threshold"]] for score in result.get("scores", ())]
    return [result["trial"]["scenario"]["id"], result["outcome"], " | ".join(checks), scores]


def _kept(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _kept(one) for name, one in value.items() if name not in _DIFFERS | _ADDED}
    if isinstance(value, list):
        return [_kept(one) for one in value]
    return value.partition("+deepeval-")[0] if isinstance(value, str) else value
