"""The data that the demo's applications write on one day, as SQL for DuckDB.

Everything depends only on the day: the same day always gives the same rows. `noise(...)` is a number from 0 to 1.
"""

from typing import Final

DEPLOYMENT: Final = 23
"""Day of the demo, counted from 0, on which the web shop starts to write `request_id` as a tag."""

FIRMWARE: Final = 17
"""Day on which new firmware makes the weather stations stop sending most gases."""

NOISE: Final = "CREATE OR REPLACE MACRO noise(a, b, c) AS (hash(a, b, c) % 1000003) / 1000003.0"

CREATE: Final = (
    """
    CREATE TABLE http_requests (
      time TIMESTAMP NOT NULL, host VARCHAR NOT NULL, region VARCHAR NOT NULL, method VARCHAR NOT NULL,
      status VARCHAR NOT NULL, path VARCHAR NOT NULL, latency_ms DOUBLE NOT NULL, bytes BIGINT NOT NULL)
    """,
    "CREATE TABLE home_sensors (time TIMESTAMP NOT NULL, sensor VARCHAR NOT NULL, value DOUBLE NOT NULL)",
    """
    CREATE TABLE air_quality (
      time TIMESTAMP NOT NULL, station VARCHAR NOT NULL, pm10 DOUBLE, pm25 DOUBLE, no2 DOUBLE, o3 DOUBLE)
    """,
    "CREATE TABLE power_meters (time TIMESTAMP NOT NULL, meter VARCHAR NOT NULL, reading VARCHAR NOT NULL)",
    """
    CREATE TABLE cpu (
      time TIMESTAMP NOT NULL, host VARCHAR NOT NULL, usage_user DOUBLE NOT NULL, usage_system DOUBLE NOT NULL)
    """,
    """
    CREATE TABLE machine_temperature (
      time TIMESTAMP NOT NULL, line VARCHAR NOT NULL, machine VARCHAR NOT NULL, celsius DOUBLE NOT NULL)
    """,
)

ADD_REQUEST_ID: Final = "ALTER TABLE http_requests ADD COLUMN request_id VARCHAR"

_HTTP_ROWS: Final = """
  SELECT
    CAST(:day AS TIMESTAMP) + to_seconds(CAST(floor(86400 * noise(:day, i, 'time')) AS BIGINT)) AS time,
    printf('web-%02d', s % 12 + 1) AS host,
    ['eu-west', 'eu-north', 'us-east'][s % 3 + 1] AS region,
    ['GET', 'POST'][CAST(p % 3 = 0 AS INTEGER) + 1] AS method,
    ['2xx', '3xx', '4xx', '5xx'][v + 1] AS status,
    ['/', '/cart', '/checkout', '/login', '/search', '/offers', '/health', '/api/items', '/api/orders',
     '/api/users', '/api/prices', '/help', '/terms', '/imprint', '/images', '/logout'][p + 1] AS path,
    round(8 + 90 * noise(:day, i, 'latency') ** 4 + 20 * CAST(v = 3 AS INTEGER), 2) AS latency_ms,
    CAST(400 + 30000 * noise(:day, i, 'bytes') ** 2 AS BIGINT) AS bytes{extra}
  FROM (SELECT i, i % 12 AS s, i // 12 % 16 AS p, i // 192 % 4 AS v FROM range(6144) AS t(i))
"""
"""Every host serves every path with every status each day, so all series exist from the first day."""

HTTP: Final = "INSERT INTO http_requests BY NAME" + _HTTP_ROWS.format(extra="")

# Half of the hosts have the deployment on its first day, all of them from the second day on.
HTTP_WITH_ID: Final = "INSERT INTO http_requests BY NAME" + _HTTP_ROWS.format(
    extra="""
    , CASE WHEN i % 2 = 0 AND (s < 6 OR NOT :first_day)
      THEN substr(md5(printf('%s-%d', :day, i)), 1, 16) END AS request_id"""
)

EVERY_DAY: Final = (
    """
    INSERT INTO home_sensors
    SELECT
      CAST(:day AS TIMESTAMP) + to_minutes(30 * i) AS time,
      printf('loc-%s.model-%s.id-%d%s',
        ['kitchen', 'bedroom', 'hall', 'bath', 'office'][d % 5 + 1],
        ['A612', 'A613', 'B200'][d // 5 % 3 + 1], 1700 + d, ['ZA', 'ZB'][d % 2 + 1]) AS sensor,
      round(18 + 5 * sin(i / 7.6) + noise(:day, d, i), 2) AS value
    FROM range(40) AS devices(d), range(48) AS times(i)
    """,
    """
    INSERT INTO air_quality
    SELECT
      CAST(:day AS TIMESTAMP) + to_minutes(30 * i) AS time,
      printf('station-%02d', s + 1) AS station,
      round(10 + 30 * noise(:day, s, i), 1) AS pm10,
      round(5 + 15 * noise(:day, i, s), 1) AS pm25,
      CASE WHEN :old_firmware OR i % 16 = 0 THEN round(40 * noise(i, :day, s), 1) END AS no2,
      CASE WHEN :old_firmware OR i % 24 = 0 THEN round(90 * noise(i, s, :day), 1) END AS o3
    FROM range(20) AS stations(s), range(48) AS times(i)
    """,
    """
    INSERT INTO power_meters
    SELECT
      CAST(:day AS TIMESTAMP) + to_minutes(15 * i) AS time,
      printf('meter-%03d', m + 1) AS meter,
      printf('%.2f', 1000 * m + 24.0 * date_diff('day', DATE '2020-01-01', CAST(:day AS DATE)) + i / 4.0
        + noise(:day, m, i) / 8) AS reading
    FROM range(15) AS meters(m), range(96) AS times(i)
    """,
    """
    INSERT INTO cpu
    SELECT
      CAST(:day AS TIMESTAMP) + to_minutes(10 * i) AS time,
      printf('web-%02d', h + 1) AS host,
      round(20 + 15 * sin(i / 22.9) + 10 * noise(:day, h, i), 2) AS usage_user,
      round(5 + 4 * noise(:day, i, h), 2) AS usage_system
    FROM range(12) AS hosts(h), range(144) AS times(i)
    """,
    """
    INSERT INTO machine_temperature
    SELECT
      CAST(:day AS TIMESTAMP) + to_minutes(30 * i) AS time,
      printf('line-%d', m // 5 + 1) AS line,
      printf('press-%02d', m + 1) AS machine,
      round(60 + 8 * sin(i / 5.0) + 3 * noise(:day, m, i), 1) AS celsius
    FROM range(10) AS machines(m), range(48) AS times(i)
    """,
)
