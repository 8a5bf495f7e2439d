"""Components for this and, through the entry point `dagster_dg_cli.registry_modules`, any other Dagster project."""

from dagster_project.components.audit import AuditComponent as AuditComponent
