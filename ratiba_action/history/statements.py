"""The statements of the metrics history; none changes or removes a row."""

WRITE = """
WITH run AS (
    INSERT INTO ratiba_history.run (
        repository, gate, commit, run_id, run_attempt, started_at, event, branch, pull_request, suite_version, mode,
        conclusion, answers, judge_model, spent_usd, seconds, trials
    )
    SELECT * FROM json_to_record(%(run)s::json) AS given (
        repository text, gate text, commit text, run_id bigint, run_attempt integer, started_at timestamptz,
        event text, branch text, pull_request bigint, suite_version text, mode text, conclusion text, answers text,
        judge_model text, spent_usd numeric, seconds double precision, trials integer
    )
    ON CONFLICT DO NOTHING
    RETURNING id
), result AS (
    INSERT INTO ratiba_history.result (run, scenario, trial, status)
    SELECT run.id, given.* FROM run, json_to_recordset(%(results)s::json) AS given (
        scenario text, trial integer, status text
    )
), metric AS (
    INSERT INTO ratiba_history.metric (run, scenario, trial, metric, version, judge_model, score, threshold, status)
    SELECT run.id, given.* FROM run, json_to_recordset(%(scores)s::json) AS given (
        scenario text, trial integer, metric text, version text, judge_model text, score double precision,
        threshold double precision, status text
    )
)
SELECT count(*) FROM run
"""
"""Writes a run with all that belongs to it, or nothing where it is there; tells how many runs are new."""

TRENDS = """
WITH latest AS (
    SELECT id, started_at, commit, answers, suite_version
    FROM ratiba_history.run
    WHERE repository = %(repository)s AND gate = %(gate)s AND branch = %(branch)s
        AND mode = 'blocking' AND conclusion <> 'incomplete'
        AND started_at < coalesce(%(before)s::timestamptz, 'infinity')
    ORDER BY started_at DESC, id DESC
    LIMIT %(last)s
)
SELECT latest.started_at, latest.commit, metric.metric, metric.version, metric.judge_model, latest.answers,
    latest.suite_version, avg(metric.score), count(*), max(metric.threshold)
FROM latest JOIN ratiba_history.metric ON metric.run = latest.id
GROUP BY latest.id, latest.started_at, latest.commit, latest.answers, latest.suite_version, metric.metric,
    metric.version, metric.judge_model
ORDER BY latest.started_at, latest.id
"""
"""Means of the last whole runs of a branch: advisory ones hold other conversations, incomplete ones too few."""
