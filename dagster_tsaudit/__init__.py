"""tsaudit in Dagster: the component to use in `defs.yaml`, and its parts.

`dg list components` finds it in any project where tsaudit is installed, through the entry point
`dagster_dg_cli.registry_modules`.
"""

from dagster_tsaudit.component import AuditComponent as AuditComponent
