# Everything a fresh machine needs is Python 3.11+ and make; the rest is installed here.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
LOWEST := $(VENV)-lowest
AIRFLOW := $(VENV)-airflow
# A file or two for each library: its connector, reports, the component.
ON_THE_LOWEST := tests/test_lowest.py tests/net tests/test_declared_schema.py tests/analysis/test_schema_diff.py \
	tests/engines/test_opening.py \
	tests/engines/influxdb2/test_connector.py tests/engines/influxdb3/test_connector.py \
	tests/engines/greptimedb/test_connector.py tests/report/test_html.py tests/report/test_rule_pages.py tests/report/test_s3.py \
	tests/cli/test_progress.py tests/alerts/test_apprise.py \
	tests/dagster_tsaudit/test_component.py tests/dagster_tsaudit/test_checks.py
# The suite runs on Debian's PostgreSQL; these run on the newest one, too, but for what other engines share with it.
ON_THE_NEWEST_POSTGRESQL := tests/engines/postgresql tests/collect/test_contract.py \
	tests/history/test_database.py -k "postgresql or test_database"
# One more than there are cores: tests wait for servers and other processes for a third of their time.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
export DAGSTER_DISABLE_TELEMETRY := 1
# Images set it. Each of the hundreds of processes that the tests start would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
HOME_OF_DAGSTER := $(CURDIR)/.dagster_home
audit dev: export DAGSTER_HOME := $(HOME_OF_DAGSTER)

.PHONY: audit test test-all compiled lowest airflow newest coverage dev lint docs golden record-influxdb2 bench servers clean

audit: $(VENV)/.audit $(HOME_OF_DAGSTER)/dagster.yaml ## run the main job on the embedded demo and say where the report is
	@$(BIN)/python -m dagster_project.demo

test: ## lint, types, import contracts, and the first tier of tests: what a change needs
	@# Types are checked on one core while the tests are compiled on the other: each worker would do it again.
	$(MAKE) --jobs 2 --output-sync lint compiled
	TSAUDIT_TIER=first $(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m "not full"

test-all: ## everything: all tests, and a part of them with the lowest versions, with Airflow, and with the newest PostgreSQL
	$(MAKE) --jobs 2 --output-sync lint servers $(LOWEST)/.installed $(AIRFLOW)/.installed
	$(MAKE) --jobs 3 --output-sync lowest airflow newest
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal

compiled: servers $(VENV)/.dev
	@$(BIN)/pytest -q --collect-only > /dev/null

lowest: $(LOWEST)/.installed ## what depends on libraries, with their lowest versions
	TSAUDIT_LOWEST=1 $(LOWEST)/bin/pytest -q -n 2 -p no:cacheprovider $(ON_THE_LOWEST)

airflow: $(AIRFLOW)/.installed ## the types and tests of tsaudit_airflow, with a real Airflow in an environment of its own
	$(AIRFLOW)/bin/mypy -p tsaudit_airflow
	$(AIRFLOW)/bin/pytest -q -n 2 --dist loadfile -p no:cacheprovider tests/tsaudit_airflow

newest: $(VENV)/.dev ## what depends on PostgreSQL, with its newest version
	TSAUDIT_POSTGRESQL=newest $(BIN)/pytest -q -n 2 -p no:cacheprovider $(ON_THE_NEWEST_POSTGRESQL)

coverage: lint servers ## the same, and which lines no test runs; takes twice the processor's time
	$(BIN)/pytest -q -n 2 --cov --cov-report=term

dev: $(VENV)/.dev $(HOME_OF_DAGSTER)/dagster.yaml ## the Dagster UI with the code location, on loopback
	$(BIN)/dg dev

lint: $(VENV)/.dev ## ruff, mypy --strict and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.dev ## the documentation as a site, in build/site; fails on a link that leads nowhere
	$(BIN)/python -m docs.site

golden: $(VENV)/.dev ## regenerate the golden files and generated documents; review the diff
	TSAUDIT_REBASELINE=1 $(BIN)/pytest -q -m golden

record-influxdb2: $(VENV)/.dev ## record again the conversations of the tests with an InfluxDB 2.x: URL=http://... TOKEN=(of an operator)
	TSAUDIT_INFLUXDB2_URL=$(URL) TSAUDIT_INFLUXDB2_TOKEN=$(TOKEN) TSAUDIT_INFLUXDB2_RECORD=1 \
		$(BIN)/pytest -q -p no:xdist -k "influxdb2 or test_family" tests

bench: $(VENV)/.dev ## print the ratios that are promised; fails where one is not reached
	@.ci/install $(VENV) --group bench
	@for script in bench/*.py; do \
		module=bench.$$(basename $$script .py); echo "== $$module"; $(BIN)/python -m $$module || exit 1; \
	done

servers: ## real servers and a browser for the tests, from Debian's packages, where we may install them
	@.ci/servers

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --upgrade 'pip>=25.1'

$(VENV)/.audit: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install -q -e '.[duckdb,ui]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	.ci/install $(VENV) -e '.[apprise,engines,s3,ui]' --group dev
	@touch $@ $(VENV)/.audit

$(LOWEST)/.installed: pyproject.toml .ci/floors
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/pip install -q --upgrade 'pip>=25.1'
	.ci/floors > $(LOWEST)/floors.txt
	.ci/install $(LOWEST) -c $(LOWEST)/floors.txt -e '.[apprise,engines,s3,dagster]' --group test
	@touch $@

$(AIRFLOW)/.installed: pyproject.toml
	$(PYTHON) -m venv --clear $(AIRFLOW)
	$(AIRFLOW)/bin/pip install -q --upgrade 'pip>=25.1'
	.ci/install $(AIRFLOW) -e '.[engines,airflow,dagster]' --group airflow
	@touch $@

$(HOME_OF_DAGSTER)/dagster.yaml: dagster.yaml
	@mkdir -p $(HOME_OF_DAGSTER) && cp dagster.yaml $@

clean: ## all that was built, the demo's history included
	rm -rf $(VENV) $(LOWEST) $(AIRFLOW) .tsaudit .dagster_home build dist
