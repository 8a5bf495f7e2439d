"""Audits each target of a tsaudit.yaml in a task of its own, every day at 6:00 UTC.

Copy it into the folder of your DAGs. `AUDIT_CONFIG` is the path of the tsaudit.yaml, `AUDIT_CONNECTIONS` the IDs of the
connections that it refers to.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG

from tsaudit_airflow.assets import AUDITS
from tsaudit_airflow.operators import AuditOperator, TargetsOperator

CONFIG = os.environ.get("AUDIT_CONFIG", "/opt/airflow/tsaudit.yaml")
CONNECTIONS = os.environ.get("AUDIT_CONNECTIONS", "").split()

with DAG(
    "tsaudit",
    schedule="0 6 * * *",
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001  Airflow takes it as UTC
    catchup=False,
    max_active_runs=1,
    tags=["tsaudit"],
    doc_md=__doc__,
):
    targets = TargetsOperator(task_id="targets", config=CONFIG, connections=CONNECTIONS)
    AuditOperator.partial(
        task_id="audit",
        config=CONFIG,
        connections=CONNECTIONS,
        map_index_template="{{ task.outcome }}",
        max_active_tis_per_dagrun=4,
        retries=1,
        retry_delay=timedelta(minutes=5),
        # Airflow's graph of assets shows only outlets that a mapped task names itself.
        outlets=[AUDITS],
    ).expand(target=targets.output)
