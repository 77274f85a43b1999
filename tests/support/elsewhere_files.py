"""What commands print with --json, as far as ``ratiba site --with`` shows it."""

from typing import Any

MUTATION: dict[str, Any] = {
    "score": {"killed": 3},
    "chosen": 4,
    "lines": [
        *({"file": "app/booking.py", "line": line, "scenarios": ["spa_booking"], "mutants": []} for line in (7, 3, 8)),
        {"file": "prompts/booking.md", "line": 12, "scenarios": ["s03"], "mutants": []},
        {"file": "prompts/a.md", "line": 1, "scenarios": [], "mutants": [{"before": "Be kind.", "after": ""}]},
    ],
}
AGREEMENT = {"judge": "opus", "criterion": "fluency", "n": 40, "kappa": 0.81, "low": 0.71, "exact": 0.6, "bias": 0.1}
CALIBRATION: dict[str, Any] = {"agreements": [AGREEMENT | {"status": "agrees"}], "schedule": {}}
SAMPLE: dict[str, Any] = {
    "since": "2026-11-01T00:00:00+00:00",
    "until": "2026-11-08T00:00:00+00:00",
    "conversations": 420,
    "measured": 21,
    "below_a_threshold": [{"trace": "t1", "reason": "secret words"}],
    "feedback": {"positive": 12, "negative": 5},
}
DRIFT: dict[str, Any] = {
    **{name: SAMPLE[name] for name in ("since", "until", "conversations")},
    "drifted": True,
    "metrics": [{"metric": "SwahiliFluencyMetric", "reference": "golden", "status": "drift"}],
}
CANARY: dict[str, Any] = {
    **{name: SAMPLE[name] for name in ("since", "until")},
    "answer": "continue",
    "reasons": ["Too few conversations of +254712345678."],
    "stable": {"name": "v1", "conversations": 900},
    "canary": {"name": "v2", "conversations": 100},
}
ALL = {"mutation": MUTATION, "calibration": CALIBRATION, "sample": SAMPLE, "drift": DRIFT, "canary": CANARY}
