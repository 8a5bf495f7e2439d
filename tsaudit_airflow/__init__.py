"""The same audits as tasks of Apache Airflow: an operator, assets, a notifier, and a page for the reports."""
