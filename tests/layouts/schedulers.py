"""Databases of schedulers: Airflow's runs and task instances, Dagster's runs and event logs."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import Any

from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import ANALYZE, Tables, an_id, evenly, word

_AIRFLOW = (
    """CREATE TABLE dag (dag_id varchar(250) PRIMARY KEY, is_paused boolean, is_active boolean,
        last_parsed_time timestamptz, fileloc varchar(2000), owners varchar(2000), description text,
        schedule_interval text, next_dagrun timestamptz, max_active_tasks integer NOT NULL)""",
    """CREATE TABLE dag_run (id serial PRIMARY KEY, dag_id varchar(250) NOT NULL, queued_at timestamptz,
        execution_date timestamptz NOT NULL, start_date timestamptz, end_date timestamptz, state varchar(50),
        run_id varchar(250) NOT NULL, creating_job_id integer, external_trigger boolean, run_type varchar(50) NOT NULL,
        conf bytea, data_interval_start timestamptz, data_interval_end timestamptz,
        last_scheduling_decision timestamptz, dag_hash varchar(32),
        CONSTRAINT dag_run_dag_id_run_id_key UNIQUE (dag_id, run_id),
        CONSTRAINT dag_run_dag_id_execution_date_key UNIQUE (dag_id, execution_date))""",
    "CREATE INDEX dag_id_state ON dag_run (dag_id, state)",
    "CREATE INDEX idx_dag_run_dag_id ON dag_run (dag_id)",
    """CREATE TABLE task_instance (task_id varchar(250) NOT NULL, dag_id varchar(250) NOT NULL,
        run_id varchar(250) NOT NULL, map_index integer NOT NULL DEFAULT -1, start_date timestamptz,
        end_date timestamptz, duration double precision, state varchar(20), try_number integer, max_tries integer,
        hostname varchar(1000), unixname varchar(1000), job_id integer, pool varchar(256) NOT NULL, pool_slots integer,
        queue varchar(256), priority_weight integer, operator varchar(1000), queued_dttm timestamptz, pid integer,
        PRIMARY KEY (dag_id, task_id, run_id, map_index))""",
    "CREATE INDEX ti_dag_run ON task_instance (dag_id, run_id)",
    "CREATE INDEX ti_state ON task_instance (state)",
    """CREATE TABLE log (id serial PRIMARY KEY, dttm timestamptz, dag_id varchar(250), task_id varchar(250),
        map_index integer, event varchar(60), execution_date timestamptz, run_id varchar(250), owner varchar(500),
        extra text)""",
    "CREATE INDEX idx_log_dag ON log (dag_id)",
    "CREATE INDEX idx_log_dttm ON log (dttm)",
    """CREATE TABLE xcom (dag_run_id integer NOT NULL, task_id varchar(250) NOT NULL, map_index integer NOT NULL,
        key varchar(512) NOT NULL, dag_id varchar(250) NOT NULL, run_id varchar(250) NOT NULL, value bytea,
        timestamp timestamptz NOT NULL, PRIMARY KEY (dag_run_id, task_id, map_index, key))""",
    """CREATE TABLE job (id serial PRIMARY KEY, dag_id varchar(250), state varchar(20), job_type varchar(30),
        start_date timestamptz, end_date timestamptz, latest_heartbeat timestamptz, executor_class varchar(500),
        hostname varchar(500), unixname varchar(1000))""",
    "CREATE INDEX idx_job_state_heartbeat ON job (state, latest_heartbeat)",
    "CREATE TABLE slot_pool (id serial PRIMARY KEY, pool varchar(256) UNIQUE, slots integer, description text)",
)
_TASKS = ("extract", "load", "transform", "check", "publish")


def _airflow(one_per_file: int) -> Script:
    noise = random.Random(21)
    dags = [f"{word(i)}_{kind}" for i in range(8) for kind in ("daily", "hourly", "weekly")]
    runs = [(dags[n % 24], at, "scheduled") for n, at in enumerate(evenly(600, 25))]
    runs += [(f"import_{an_id(noise)}", at, "manual") for at in evenly(one_per_file, 25)]
    dag_rows = [
        (d, False, True, None, f"/opt/airflow/dags/{d.split('_')[0]}.py", "data", None, '"@daily"', None, 16)
        for d in dict.fromkeys(r[0] for r in runs)
    ]
    dag_runs, instances, logs, xcoms = [], [], [], []
    jobs: list[tuple[Any, ...]] = []
    for number, (dag, at, kind) in enumerate(runs, 1):
        run_id = f"{kind}__{at.isoformat()}"
        took = timedelta(seconds=noise.uniform(20, 400))
        state = "success" if noise.random() > 0.04 else "failed"
        hashed = f"{noise.getrandbits(128):032x}" if number % 24 == 0 else dag.encode().hex()[:32]
        dates = (at, at, at + took, state, run_id, 1, kind == "manual", kind, None, at, at, at + took, hashed)
        dag_runs.append((number, dag, at, *dates))
        for task in _TASKS:
            job = len(jobs) + 1
            worker = f"worker-{job % 4}"
            head = (task, dag, run_id, -1, at, at + took / 5, took.total_seconds() / 5, state, 1, 2, worker)
            tail = ("default_pool", 1, "default", 1, "PythonOperator", at, noise.randrange(100, 30_000))
            instances.append((*head, "airflow", job, *tail))
            jobs.append((job, dag, "success", "LocalTaskJob", at, at + took, at + took, None, worker, "airflow"))
            logs.append((job, at, dag, task, -1, "success", at, run_id, "data", None))
            if task in ("extract", "load"):
                value = json.dumps(noise.randrange(10**6)).encode()
                xcoms.append((number, task, -1, "return_value", dag, run_id, value, at + took / 5))
    rows: Tables = {
        "dag": dag_rows,
        "dag_run": dag_runs,
        "task_instance": instances,
        "log": logs,
        "xcom": xcoms,
        "job": jobs,
    }
    return Script(_AIRFLOW, rows | {"slot_pool": [(1, "default_pool", 128, "Default pool")]}, (ANALYZE,))


_DAGSTER = (
    """CREATE TABLE runs (id bigserial PRIMARY KEY, run_id varchar(255) UNIQUE, snapshot_id varchar(255),
        pipeline_name text, mode text, status varchar(63), run_body text, partition text, partition_set text,
        create_timestamp timestamp DEFAULT CURRENT_TIMESTAMP, update_timestamp timestamp DEFAULT CURRENT_TIMESTAMP,
        start_time double precision, end_time double precision, backfill_id varchar(255))""",
    "CREATE INDEX idx_run_status ON runs (status)",
    "CREATE INDEX idx_run_range ON runs (status, update_timestamp, create_timestamp)",
    "CREATE TABLE run_tags (id bigserial PRIMARY KEY, run_id varchar(255), key text, value text)",
    "CREATE INDEX idx_run_tags ON run_tags (key, value)",
    "CREATE INDEX idx_run_tags_run_idx ON run_tags (run_id, id)",
    """CREATE TABLE event_logs (id bigserial PRIMARY KEY, run_id varchar(255), event text NOT NULL,
        dagster_event_type text, timestamp timestamp, step_key text, asset_key text, partition text)""",
    "CREATE INDEX idx_run_id ON event_logs (run_id)",
    "CREATE INDEX idx_events_by_asset ON event_logs (asset_key, dagster_event_type, id) WHERE asset_key IS NOT NULL",
    "CREATE INDEX idx_event_type ON event_logs (dagster_event_type, id)",
    """CREATE TABLE asset_keys (id bigserial PRIMARY KEY, asset_key text UNIQUE, last_materialization text,
        last_run_id varchar(255), asset_details text, wipe_timestamp timestamp,
        last_materialization_timestamp timestamp,
        tags text, create_timestamp timestamp DEFAULT CURRENT_TIMESTAMP, cached_status_data text)""",
    """CREATE TABLE job_ticks (id bigserial PRIMARY KEY, job_origin_id varchar(255), selector_id varchar(255),
        status varchar(63), type varchar(63), timestamp timestamp, tick_body text,
        create_timestamp timestamp DEFAULT CURRENT_TIMESTAMP, update_timestamp timestamp DEFAULT CURRENT_TIMESTAMP)""",
    "CREATE INDEX idx_job_tick_timestamp ON job_ticks (job_origin_id, timestamp)",
    """CREATE TABLE daemon_heartbeats (id bigserial PRIMARY KEY, daemon_type varchar(255) NOT NULL UNIQUE,
        daemon_id varchar(255), timestamp timestamp NOT NULL, body text)""",
)
_EVENTS = ("PIPELINE_START", "STEP_START", "ASSET_MATERIALIZATION", "STEP_SUCCESS", "PIPELINE_SUCCESS", None)


def _dagster() -> Script:
    noise = random.Random(9)
    jobs = [f"{word(i)}_job" for i in range(6)]
    origin = {job: f"{noise.getrandbits(160):040x}" for job in jobs}
    runs, ticks = [], []
    tags: list[tuple[Any, ...]] = []
    events: list[tuple[Any, ...]] = []
    for number, at in enumerate(evenly(700, 25), 1):
        job, run_id = jobs[number % 6], an_id(noise)
        at = at.replace(tzinfo=None)
        day = at.date().isoformat()
        end = at.timestamp() + noise.uniform(10, 900)
        body = json.dumps({"__class__": "DagsterRun", "run_id": run_id, "pipeline_name": job})
        ids = (number, run_id, origin[job], job, None, "SUCCESS", body, day, None, at, at, at.timestamp(), end, None)
        runs.append(ids)
        for key, value in (
            ("dagster/partition", day),
            ("dagster/schedule_name", f"{job}_schedule"),
            (".dagster/repository", "__repository__@analytics"),
        ):
            tags.append((len(tags) + 1, run_id, key, value))
        for kind in (*_EVENTS, None):
            asset = f'["{word(number % 6)}", "orders"]' if kind == "ASSET_MATERIALIZATION" else None
            step = f"{word(number % 6)}__orders" if kind and kind[0] in "SA" else None
            event = json.dumps({"__class__": "EventLogEntry", "run_id": run_id, "message": f"{kind} of {job}"})
            events.append((len(events) + 1, run_id, event, kind, at, step, asset, day if asset else None))
    for number, at in enumerate(evenly(2_000, 7), 1):
        job, at = jobs[number % 6], at.replace(tzinfo=None)
        state = "SUCCESS" if number % 9 == 0 else "SKIPPED"
        ticks.append((number, origin[job], origin[job], state, "SENSOR", at, "{}", at, at))
    now = runs[-1][9]
    assets = [
        (i, f'["{word(i)}", "orders"]', None, runs[-1 - i][1], None, None, now, None, now, None) for i in range(1, 7)
    ]
    beats = [(i, name, an_id(noise), now, "{}") for i, name in enumerate(("SENSOR", "SCHEDULER", "ASSET"), 1)]
    rows: Tables = {"runs": runs, "run_tags": tags, "event_logs": events, "asset_keys": assets, "job_ticks": ticks}
    return Script(_DAGSTER, rows | {"daemon_heartbeats": beats}, (ANALYZE,))


LAYOUTS = (
    Layout(
        name="airflow-postgresql",
        engine="postgresql",
        source="https://airflow.apache.org/docs/apache-airflow/stable/database-erd-ref.html",
        clean=lambda: _airflow(0),
        dirty=lambda: _airflow(900),
        wanted=(Wanted("TAG002|CAR004", "*.dag_id", "a DAG of each imported file: all are parsed"),),
    ),
    Layout(
        name="dagster-postgresql",
        engine="postgresql",
        source="https://docs.dagster.io/deployment/oss/dagster-yaml",
        clean=_dagster,
    ),
)
