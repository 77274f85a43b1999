"""Scores of a stand-in for Langfuse: taken in batches, overwritten by id, name and day, read back by its third API."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.support.langfuse_pages import page_after
from tests.support.langfuse_shapes import problem_with
from tests.support.langfuse_state import PROJECT_ID, Answer, LangfuseState, Mode, in_time, refused

_MAX = 100
_LISTS_SINCE = (4, 59)
_LISTS = {"id": "id", "name": "name", "source": "source", "dataType": "dataType", "environment": "environment"}
_ONLY_DETAILS = ("comment", "configId", "metadata")


def take_scores(state: LangfuseState, body: Any) -> Answer:
    """``POST /api/public/scores``: 202 when all are taken, 207 with counts and messages otherwise."""
    from langfuse.api import CreateScoreRequest

    if state.numbers < _LISTS_SINCE:
        return refused(400, "Invalid request data: expected object, received array")
    if not isinstance(body, list):
        return refused(400, "an array of scores is expected")
    errors: list[str] = []
    for number, score in enumerate(body):
        problem = problem_with(CreateScoreRequest, score) or _contradiction(score)
        if problem:
            state.violations.append(f"score: {problem}")
        if not problem and state.mode is Mode.REJECTING and number % 2:
            problem = "every second score is refused"
        if problem:
            errors.append(problem)
        else:
            _keep(state, score)
    if not errors:
        return Answer(202, {"message": "Accepted"})
    reported = [{"message": message} for message in errors]
    return Answer(207, {"accepted": len(body) - len(errors), "rejected": len(errors), "errors": reported})


def take_events(state: LangfuseState, body: Any) -> Answer:
    """``POST /api/public/ingestion``: events of which only ``score-create`` is taken here; always 207."""
    from langfuse.api import CreateScoreRequest

    taken, errors = [], []
    for number, event in enumerate(body["batch"]):
        score = event["body"]
        problem = "" if set(event) == {"id", "type", "timestamp", "body"} and event["type"] == "score-create" else "no"
        problem = problem or problem_with(CreateScoreRequest, score) or _contradiction(score)
        if problem:
            state.violations.append(f"event: {problem}")
        if not problem and state.mode is Mode.REJECTING and number % 2:
            problem = "every second score is refused"
        if problem:
            errors.append({"id": event["id"], "status": 400, "message": problem})
        else:
            _keep(state, {**score, "timestamp": event["timestamp"]})
            taken.append({"id": event["id"], "status": 201})
    return Answer(207, {"successes": taken, "errors": errors})


def _contradiction(score: Mapping[str, Any]) -> str:
    """What the API's words forbid and its model does not."""
    value, kind = score["value"], score.get("dataType")
    if not any(score.get(name) for name in ("traceId", "sessionId", "datasetRunId")):
        return "a score of nothing"
    if kind == "BOOLEAN" and value not in (0, 1):
        return f"a boolean score of {value!r}"
    if kind in ("CATEGORICAL", "TEXT") and not isinstance(value, str):
        return f"a {kind} score of {value!r}"
    if kind == "NUMERIC" and isinstance(value, str):
        return f"a numeric score of {value!r}"
    if score.get("timestamp") and in_time(score["timestamp"]) is None:
        return "a time without an offset"
    return ""


def _keep(state: LangfuseState, score: Mapping[str, Any]) -> None:
    now = datetime.now(UTC).isoformat()
    moment = score.get("timestamp") or now
    made = hashlib.sha256(f"{json.dumps(score, sort_keys=True)}{len(state.scores)}".encode()).hexdigest()[:32]
    key = str(score.get("id") or made), str(score["name"]), in_time(moment).astimezone(UTC).date().isoformat()
    created = state.scores.get(key, {}).get("createdAt", now)
    text = isinstance(score["value"], str)
    kept = {
        "source": "API",
        "environment": "default",
        "dataType": "CATEGORICAL" if text else "NUMERIC",
        **score,
        "id": key[0],
        "timestamp": moment,
        "projectId": PROJECT_ID,
        "createdAt": created,
        "updatedAt": now,
    }
    if kept["dataType"] == "BOOLEAN":
        kept["value"] = bool(score["value"])
    state.scores[key] = kept


def list_scores(state: LangfuseState, query: Mapping[str, str]) -> Answer:
    """``GET /api/public/v3/scores``, newest first."""
    known = {*_LISTS, "traceId", "sessionId", "experimentId", "observationId", "fromTimestamp", "toTimestamp"}
    unknown = set(query) - {*known, "limit", "cursor", "fields", "value", "valueMin", "valueMax"}
    limit = int(query.get("limit", "50"))
    if unknown or not 1 <= limit <= _MAX or (problem := _misused(query)):
        return refused(400, f"not understood: {sorted(unknown)}, limit {limit}" if unknown else problem)
    scores = sorted(state.scores.values(), key=lambda one: str(one["timestamp"]), reverse=True)
    found = [one for one in scores if _asked(one, query)] if state.visible else []
    page, meta = page_after(found, query.get("cursor"), limit)
    fields = set(query.get("fields", "").split(","))
    return Answer(200, {"data": [_shown(one, fields) for one in page], "meta": {**meta, "limit": limit}})


def _misused(query: Mapping[str, str]) -> str:
    kind = query.get("dataType", "").upper()
    if ("valueMin" in query or "valueMax" in query) and kind != "NUMERIC":
        return "valueMin and valueMax need dataType=NUMERIC"
    if "value" in query and kind not in ("NUMERIC", "BOOLEAN", "CATEGORICAL"):
        return "value needs one dataType"
    return "observationId needs traceId" if "observationId" in query and "traceId" not in query else ""


def _asked(one: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    value, moment = one["value"], in_time(one["timestamp"])
    subjects = {"traceId": "traceId", "sessionId": "sessionId", "observationId": "observationId"}
    subjects |= {"experimentId": "datasetRunId"}
    text = json.dumps(value) if isinstance(value, bool) else str(value)
    return (
        all(_in(one.get(_LISTS[name]), wanted) for name, wanted in query.items() if name in _LISTS)
        and all(_in(one.get(subjects[name]), wanted) for name, wanted in query.items() if name in subjects)
        and ("fromTimestamp" not in query or in_time(query["fromTimestamp"]) <= moment)
        and ("toTimestamp" not in query or moment < in_time(query["toTimestamp"]))
        and ("value" not in query or text in query["value"].split(",") or _same_number(value, query["value"]))
        and ("valueMin" not in query or float(value) >= float(query["valueMin"]))
        and ("valueMax" not in query or float(value) <= float(query["valueMax"]))
    )


def _in(value: Any, wanted: str) -> bool:
    return str(value or "").lower() in wanted.lower().split(",")


def _same_number(value: Any, wanted: str) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and float(value) in [float(one) for one in wanted.split(",")]


def _shown(one: Mapping[str, Any], fields: set[str]) -> dict[str, Any]:
    inner = ("traceId", "sessionId", "observationId", "datasetRunId", "queueId", "authorUserId")
    left_out = {*inner, *(() if "details" in fields else _ONLY_DETAILS)}
    subject = {"subject": _subject(one)} if "subject" in fields else {}
    return {name: value for name, value in one.items() if name not in left_out and value is not None} | subject


def _subject(one: Mapping[str, Any]) -> dict[str, Any]:
    if one.get("observationId"):
        return {"kind": "observation", "id": one["observationId"], "traceId": one["traceId"]}
    kinds = {"traceId": "trace", "sessionId": "session", "datasetRunId": "experiment"}
    return next({"kind": kind, "id": one[name]} for name, kind in kinds.items() if one.get(name))
