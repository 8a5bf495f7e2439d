"""A warehouse in DuckDB: dimensions whose rows have a validity, and facts that are loaded each night."""

from __future__ import annotations

from tests.layouts.layout import Layout, Script, Wanted

_NOW = "TIMESTAMP '2026-03-31 06:00:00'"


def _dimension(date: str) -> tuple[str, ...]:
    to_date = "" if date == "DATE" else "::VARCHAR"
    return (
        f"""CREATE TABLE dim_customer (customer_sk BIGINT PRIMARY KEY, customer_id VARCHAR NOT NULL, name VARCHAR,
            segment VARCHAR, city VARCHAR, valid_from {date} NOT NULL, valid_to {date} NOT NULL, is_current BOOLEAN,
            row_hash VARCHAR)""",
        f"""INSERT INTO dim_customer SELECT i, 'C' || lpad((i // 3)::VARCHAR, 6, '0'),
            'Customer ' || substr(md5((i // 3)::VARCHAR), 1, 6),
            ['SMB', 'Enterprise', 'Consumer'][1 + (hash(i) % 3)::BIGINT],
            ['Lyon', 'Cork', 'Porto', 'Gent', 'Turku'][1 + (hash(i + 1) % 5)::BIGINT],
            (DATE '2024-01-01' + (i % 3 * 300 + i // 3 % 190)::INTEGER){to_date},
            (CASE WHEN i % 3 < 2 THEN DATE '2024-01-01' + ((i % 3 + 1) * 300 + i // 3 % 190 - 1)::INTEGER
                ELSE DATE '9999-12-31' END){to_date},
            i % 3 = 2, md5(i::VARCHAR) FROM generate_series(0, 11999) g(i)""",
    )


def _nightly(amount: str) -> Script:
    to_type = "" if amount.startswith("DECIMAL") else "::VARCHAR"
    return Script(
        (
            "CREATE TABLE dim_store (store_key INTEGER PRIMARY KEY, store_code VARCHAR, city VARCHAR, opened DATE)",
            """INSERT INTO dim_store SELECT i, 'S' || lpad(i::VARCHAR, 3, '0'), ['Lyon', 'Cork', 'Porto'][1 + i % 3],
                DATE '2012-01-01' + (i * 40)::INTEGER FROM generate_series(1, 60) g(i)""",
            """CREATE TABLE dim_product (product_key INTEGER PRIMARY KEY, sku VARCHAR UNIQUE, name VARCHAR,
                category VARCHAR, list_price DECIMAL(10,2))""",
            """INSERT INTO dim_product SELECT i, 'SKU-' || lpad(i::VARCHAR, 5, '0'), 'Product ' || md5(i::VARCHAR)[:5],
                ['food', 'drinks', 'toys'][1 + i % 3], (i % 900) / 10 FROM generate_series(1, 2000) g(i)""",
            """CREATE TABLE dim_date (date_key INTEGER PRIMARY KEY, date DATE, year SMALLINT, month SMALLINT,
                weekday VARCHAR, is_holiday BOOLEAN)""",
            """INSERT INTO dim_date SELECT strftime(d, '%Y%m%d')::INTEGER, d::DATE, year(d), month(d), dayname(d), false
                FROM generate_series(TIMESTAMP '2024-01-01', TIMESTAMP '2027-12-31', INTERVAL 1 DAY) g(d)""",
            f"""CREATE TABLE fact_sales (date_key INTEGER, store_key INTEGER, product_key INTEGER, receipt_no VARCHAR,
                quantity INTEGER, amount {amount}, discount DECIMAL(10,2), sold_at TIMESTAMP, loaded_at TIMESTAMP,
                batch_id INTEGER)""",
            f"""INSERT INTO fact_sales SELECT strftime(t, '%Y%m%d')::INTEGER, (1 + hash(i) % 60)::INTEGER,
                (1 + hash(i + 1) % 2000)::INTEGER, 'R' || lpad((i // 2)::VARCHAR, 8, '0'),
                (1 + hash(i + 2) % 5)::INTEGER,
                (((hash(i + 3) % 9000) + 99) / 100)::DECIMAL(12,2){to_type}, 0, t,
                date_trunc('day', t) + INTERVAL '27 hours 10 minutes', date_diff('day', DATE '2025-12-01', t::DATE)
                FROM (SELECT i, TIMESTAMP '2026-03-30 21:00:00' - i * INTERVAL '120 seconds' AS t
                    FROM generate_series(0, 17999) g(i)) WHERE hour(t) BETWEEN 8 AND 20""",
        )
    )


LAYOUTS = (
    Layout(
        name="slowly-changing-dimension-duckdb",
        engine="duckdb",
        source="https://docs.getdbt.com/docs/build/snapshots",
        clean=lambda: Script(_dimension("DATE")),
        dirty=lambda: Script(_dimension("VARCHAR")),
        wanted=(
            Wanted("FLD002|TAG002", "dim_customer.valid_from", "dates as text: no date arithmetic, twice the space"),
            Wanted("FLD002|TAG002", "dim_customer.valid_to", "the same at the end of the validity"),
        ),
    ),
    Layout(
        name="nightly-fact-duckdb",
        engine="duckdb",
        source="https://www.kimballgroup.com/data-warehouse-business-intelligence-resources/kimball-techniques/dimensional-modeling-techniques/",
        clean=lambda: _nightly("DECIMAL(12,2)"),
        dirty=lambda: _nightly("VARCHAR"),
        wanted=(Wanted("FLD002", "fact_sales.amount", "amounts as text: each sum casts 18,000 values"),),
    ),
)
