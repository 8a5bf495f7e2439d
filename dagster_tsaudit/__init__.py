"""tsaudit in Dagster: the component that people name in `defs.yaml`, and what it is made of.

`dg list components` finds it in any project where tsaudit is installed, by the entry point
`dagster_dg_cli.registry_modules`.
"""

from dagster_tsaudit.component import AuditComponent as AuditComponent
