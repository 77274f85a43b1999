CREATE SCHEMA ratiba_history;

COMMENT ON SCHEMA ratiba_history IS 'ratiba metrics history';

CREATE FUNCTION ratiba_history.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
BEGIN
    RAISE EXCEPTION 'The metrics history is append-only: % of % is refused.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TABLE ratiba_history.alembic_version (
    version_num character varying(32) NOT NULL
);

CREATE TABLE ratiba_history.metric (
    run bigint NOT NULL,
    scenario text NOT NULL,
    trial integer NOT NULL,
    metric text NOT NULL,
    version text NOT NULL,
    judge_model text NOT NULL,
    score double precision NOT NULL,
    threshold double precision NOT NULL,
    status text NOT NULL,
    CONSTRAINT metric_score_check CHECK (((score >= (0)::double precision) AND (score <= (1)::double precision)))
);

CREATE TABLE ratiba_history.result (
    run bigint NOT NULL,
    scenario text NOT NULL,
    trial integer NOT NULL,
    status text NOT NULL
);

CREATE TABLE ratiba_history.run (
    id bigint NOT NULL,
    repository text NOT NULL,
    gate text NOT NULL,
    commit text NOT NULL,
    run_id bigint NOT NULL,
    run_attempt integer NOT NULL,
    started_at timestamp with time zone NOT NULL,
    event text NOT NULL,
    branch text NOT NULL,
    pull_request bigint,
    suite_version text NOT NULL,
    mode text NOT NULL,
    conclusion text NOT NULL,
    answers text NOT NULL,
    judge_model text NOT NULL,
    spent_usd numeric NOT NULL,
    seconds double precision NOT NULL,
    trials integer NOT NULL,
    written_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT run_run_attempt_check CHECK ((run_attempt > 0)),
    CONSTRAINT run_spent_usd_check CHECK (((spent_usd >= (0)::numeric) AND (spent_usd < 'Infinity'::numeric)))
);

ALTER TABLE ratiba_history.run ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME ratiba_history.run_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

INSERT INTO ratiba_history.alembic_version VALUES ('append_only');

SELECT pg_catalog.setval('ratiba_history.run_id_seq', 1, false);

ALTER TABLE ONLY ratiba_history.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);

ALTER TABLE ONLY ratiba_history.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (id);

ALTER TABLE ONLY ratiba_history.run
    ADD CONSTRAINT run_repository_gate_run_id_run_attempt_commit_started_at_key UNIQUE (repository, gate, run_id, run_attempt, commit, started_at);

CREATE INDEX metric_of_run ON ratiba_history.metric USING btree (run, metric);

CREATE INDEX result_of_run ON ratiba_history.result USING btree (run);

CREATE INDEX run_of_branch ON ratiba_history.run USING btree (repository, gate, branch, started_at DESC);

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ratiba_history.metric FOR EACH STATEMENT EXECUTE FUNCTION ratiba_history.refuse_change();

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ratiba_history.result FOR EACH STATEMENT EXECUTE FUNCTION ratiba_history.refuse_change();

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ratiba_history.run FOR EACH STATEMENT EXECUTE FUNCTION ratiba_history.refuse_change();

ALTER TABLE ONLY ratiba_history.metric
    ADD CONSTRAINT metric_run_fkey FOREIGN KEY (run) REFERENCES ratiba_history.run(id);

ALTER TABLE ONLY ratiba_history.result
    ADD CONSTRAINT result_run_fkey FOREIGN KEY (run) REFERENCES ratiba_history.run(id);
