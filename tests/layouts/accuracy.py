"""The page docs/accuracy.md: a row for each layout, and what they come to in sum."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from typing import Final

from tests.layouts.layout import Wanted
from tests.layouts.running import Score

PAGE: Final = Path(__file__).parents[2] / "docs" / "accuracy.md"
_START: Final = (
    "| Layout | Engine | Expected | Found | Harmful | Warned | Missed | False | Clean twin |\n"
    "|---|---|---|---|---|---|---|---|---|\n"
)
_ROW: Final = re.compile(r"\| \[(?P<name>[^]]+)\].*\n")
_TEXT: Final = """# Accuracy

How often tsaudit is right about databases that it has not seen, and about those that its tests keep it right on.

## Never seen

Databases that nothing was tuned on: made from the public documentation of programs, audited once, and published as they
came out. "Wanted" are the findings that an expert wants to read at warning or above; "false" are other warnings.

| Set | Version, date | Wanted | Found | False | Precision | Recall |
|---|---|---|---|---|---|---|
| InfluxDB, 72 databases | 739b580, November 2026 | 71 | 66 | 14 | 0.83 | 0.93 |
| PostgreSQL, SQLite, DuckDB, MongoDB, 37 databases | 739b580, November 2026 | 18 | 12 | 34 | 0.26 | 0.67 |
| Public problem reports, 18 | 739b580, November 2026 | 26 | 19 | 6 | 0.76 | 0.73 |
| InfluxDB, 15 databases | 35ddebb6, November 2026 | 9 | 4 | 5 | 0.64 | 0.44 |
| PostgreSQL, SQLite, DuckDB, 15 databases | 35ddebb6, November 2026 | 11 | 3 | 1 | 0.75 | 0.27 |
| MongoDB, 5 databases | 35ddebb6, November 2026 | 5 | 1 | 0 | 1.00 | 0.20 |
| GreptimeDB, Timestream, InfluxDB 3, 5 databases | 35ddebb6, November 2026 | 7 | 3 | 0 | 1.00 | 0.43 |
| InfluxDB, 8 databases | 23605d9c, November 2026 | 7 | 6 | 3 | 0.77 | 0.86 |
| PostgreSQL, SQLite, DuckDB, 7 databases | 23605d9c, November 2026 | 12 | 7 | 0 | 1.00 | 0.58 |
| MongoDB, 3 databases | 23605d9c, November 2026 | 2 | 0 | 1 | 0.00 | 0.00 |
| GreptimeDB, Timestream, 2 databases | 23605d9c, November 2026 | 4 | 3 | 0 | 1.00 | 0.75 |
| InfluxDB, SQL, MongoDB, 10 databases | after 55ee0171, November 2026 | 8 | 7 | 2 | 0.78 | 0.88 |
| PostgreSQL, SQLite, DuckDB, MongoDB, 12 databases | d998784f, November 2026 | 7 | 2 | 5 | 0.29 | 0.29 |
| InfluxDB, 6 databases | d998784f, November 2026 | 5 | 4 | 1 | 0.80 | 0.80 |
| PostgreSQL, SQLite, DuckDB, MongoDB, 10 databases | after 757faa24, November 2026 | 6 | 4 | 0 | 1.00 | 0.67 |
| InfluxDB, PostgreSQL, SQLite, 8 databases | 757faa24, November 2026 | 8 | 4 | 0 | 1.00 | 0.50 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 10 databases | 3fc722c4, November 2026 | 5 | 2 | 0 | 1.00 | 0.40 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 10 databases | 72ffc8e6, November 2026 | 6 | 5 | 0 | 1.00 | 0.83 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 10 databases | 0ca0ad44, November 2026 | 7 | 1 | 0 | 1.00 | 0.14 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 10 databases | 5cf0acc7, November 2026 | 5 | 4 | 0 | 1.00 | 0.80 |
| MongoDB, GreptimeDB, Timestream, InfluxDB 3, 8 databases | 308f3e06, November 2026 | 6 | 3 | 0 | 1.00 | 0.50 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 10 databases | 300d12db, November 2026 | 6 | 3 | 0 | 1.00 | 0.50 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 9 databases | cef26f8a, November 2026 | 6 | 2 | 1 | 0.67 | 0.33 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 9 databases | 90086596, November 2026 | 5 | 2 | 1 | 0.67 | 0.40 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 12 databases | eaea9813, November 2026 | 7 | 7 | 1 | 0.88 | 1.00 |
| InfluxDB 2.7.12, 7 servers | eaea9813, November 2026 | 5 | 4 | 0 | 1.00 | 0.80 |
| MongoDB (FerretDB 1.24), 6 databases | af05b63d, November 2026 | 3 | 2 | 0 | 1.00 | 0.67 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 12 databases | d1920acb, November 2026 | 6 | 5 | 0 | 1.00 | 0.83 |
| InfluxDB, SQL, MongoDB, GreptimeDB, 12 databases | ea1630b3, November 2026 | 6 | 5 | 0 | 1.00 | 0.83 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 13 databases | bce536b1, November 2026 | 7 | 4 | 0 | 1.00 | 0.57 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 13 databases | 6103fb7b, November 2026 | 7 | 4 | 2 | 0.67 | 0.57 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 14 databases | 667072b0, November 2026 | 8 | 3 | 4 | 0.43 | 0.38 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 13 databases | f3074914, November 2026 | 8 | 3 | 13 | 0.19 | 0.38 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 14 databases | cefb6cfa, November 2026 | 9 | 3 | 7 | 0.30 | 0.33 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 14 databases | 1c88f85b, November 2026 | 7 | 6 | 1 | 0.86 | 0.86 |
| MongoDB, GreptimeDB, InfluxDB 3, Timestream, 10 databases | 542c77c8, November 2026 | 6 | 4 | 2 | 0.67 | 0.67 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, MongoDB, 12 databases | 4d21d316, November 2026 | 7 | 3 | 3 | 0.50 | 0.43 |
| Public problem reports, 11 | 4d21d316, November 2026 | 11 | 4 | 2 | 0.67 | 0.36 |
| PostgreSQL, SQLite, DuckDB, 16 databases | 59afcba3, November 2026 | 4 | 4 | 1 | 0.80 | 1.00 |
| InfluxDB, PostgreSQL, SQLite, DuckDB, 17 databases | 26e68171, November 2026 | 9 | 5 | 36 | 0.12 | 0.56 |

Of the clean InfluxDB databases of the first rows, 33 of 39 got the verdict `ok`. These three rows led to the present
policy, by which a warning has to cost something ([severity](severity.md)). The next four are the first set audited
since: of 40 databases, 15 of the 16 that should be quiet were, 15 of 21 warnings were right, and warnings named 11 of
32 harmful causes. The next four are a second set, after the classes that the first one showed were fixed: of 20
databases, 5 of the 7 that should be quiet were, 18 of 22 warnings were right, and warnings named 16 of 25 harmful
causes. [Each database](blind-sets.md) of the two sets is listed with what was missed.

The last 29 rows are smaller probes, each by one person with the documentation of other programs, who chose faults that
teams meet. [Histories of 38 days](growth.md#growth-histories-never-seen) were tried with the third. Of the first three,
8 warnings were false; most faults of the second had no rule, or one that asked for more than the database shows. In the
newest 26, warnings named 96 of 170 harmful causes, 74 warnings were false, and 119 of the 131 databases that should be
quiet were.

The false warnings of these 26 were about:

- 32 fields of one database said to be no longer filled, whose type had changed: the cause, points that the server
  rejected, was a critical finding beside them.
- What the schema of a program fixes: IDs of a workflow engine in ten places, what two programs repeat in five, a loader
  in four, a proxy in three, and a plug-in, indexes of two programs, a column for the values of all attributes, numbers
  and words in one column, states that are all numbers, and a path and the values of a finished simulation.
- Small things: a type in a table of 60 rows, a text that 360 rows repeat, and 119 MB of free space that new rows would
  have filled.
- Rules that could not be evaluated: on a server without a command that they need, on objects whose keys are data, and
  because of enumerations.
- Wrong conclusions: growth said to come from a tag with one value, nodes of which new ones were said to keep coming,
  two texts of which all values were numbers, growth that levels off far below a limit, references to IDs as text, a tag
  that is also a field with the same value, and the rate of a single step.

Of the databases that were not quiet, two had the warning of a replication slot that nobody reads, one for the whole
server, seven one of those above, and three were `unknown`: because of a column of times without a value, a statement
that took too long on a busy machine, and a table without rows in the window.

Some warnings were right only in part, or late. In eaea9813, two of seven: one of three tags that only together save the
series, and numbers as text without the text that repeats beside them. On InfluxDB 2.7.12, never tried before, a
critical finding said that 99.9% of the points were lost where 17.5% were, and a healthy server became critical because
requests were counted as points. Warnings that should have been critical: a tag a day from a limit that the server
enforces (d1920acb), a last partition that ends in 31 to 33 hours (bce536b1, 6103fb7b, 1c88f85b), and a quarter of the
points overwritten (26e68171). Named in part: a field of dates and numbers without its TTL index (ea1630b3), dead rows
of a prepared transaction (bce536b1), and two public reports (4d21d316). Found a day or two late: one public report, a
replication slot, and times in seconds that eight of 48 devices send (26e68171). In 4d21d316, an audit of InfluxDB
1.8.10 took the server down, with one statement about all measurements, which was canceled because of 3,600 fields; none
is about several since. In 667072b0, two series that grow without bound were missed because earlier days were audited
with `--day`, which cannot know series of the past.

The causes that these 26 did not warn about, most of them a note, are:

- Rows: a full load appended every night, loads of two weeks that overlap by all but a day, rows stored twice in a table
  read by single pages, rows stored twenty times in a table whose time is a `dt_integer(8)`, rows without their account,
  trades that a feed sends again after it reconnects, a fifth of the newest rows, a month and three days loaded twice,
  of which nothing is among the newest 10,000 rows, points of four gateways eight hours ahead, rows of nine stations two
  hours ahead, points of which a second probe overwrites a quarter, events of which a fifth came twice, access logs that
  a collector sends twice, statistics stored twice with other times of creation, positions dated 19.6 years back, a
  reading that is logged each second, 98% of the new rows.
- Columns: a name that a copy had made tag and field, a field of two types of which the older one hides the newer, a
  column that ends where another with nearly its name begins, an expiry column that is empty, a foreign key too narrow
  for the IDs it refers to, points whose times are in a wrong unit, a total that stopped rising in a float of 4 bytes,
  texts such as `58,55` that one gateway writes to a column of numbers, times in two units, IDs that use up the type of
  a column without a foreign key, 45 new columns a day in a table that can have 1,600, a column that one of four kinds
  of sensors no longer fills, a column that a loader moved to another one, in a table without a time, fields that 12 of
  30 hosts no longer fill, 1,300 new fields a day named after phones, areas of which no rows come anymore, a column of
  numbers that a loader made one of texts, prompts and answers that a proxy stores since a day, five times the bytes of
  the days before, and temperatures that eight channels send in Kelvin.
- Storage: JSON of which one key repeats, values that repeat in a big table too seldom for a sample, large objects that
  no row refers to, a table read without an index, an ID and a granularity that leave one and three measurements in a
  bucket, partitions of which one contains all rows, a partition an hour, none of them ever dropped, a few documents of
  8 MB among 20,000 small ones, logs of events and of requests that nothing cleans up, finished jobs of a
  queue, foreign keys without an index.
- Names and tags: fields named after containers, a tag at the server's own limit, 38,874 measurements named after jobs,
  a release in the name of each service, combinations of tags with few values each, metrics named after steps of a
  training, statements with random names of tables, and containers of jobs, 62,000 series a week.
- Mechanisms: retention that is switched off, continuous queries that write nothing, a task that fails at each run, a
  replication slot that keeps 214 MB so far, subscriptions that all failed before the first audit, a queue of jobs whose
  states are tables, with 21,345 failures and a backlog of four days, a continuous query whose source is not written
  anymore, old partitions that are no longer dropped, summaries that end where their continuous queries were lost, rows
  past their own time of removal, executions that are no longer pruned, a continuous query that merges all series into
  one, writes that go to a new default policy, and summaries whose continuous query was lost, from rows that are kept
  for three days.

What was said was also wrong in places: a time, a cost 13 times too low, a sixth of what a table repeats, a plan that
would have lost 97% of a measurement's points, advice only to drop a unique index that was not valid, three servers said
to have been restarted, a transaction of six days said to be of one, series without two tags said to be those without
one, values that "keep coming" in tables that keep so many rows a source, measurements said to have ended that an audit
had not read again, copies said to be of one night of 21, three days to a limit that was one day away, three years to a
full disk that was half a year away, partitions to make that PostgreSQL refuses while the default one has their rows, a
replication slot to drop without a word of the changes that its reader would then lack, "a program would have to write
them again" where one statement copies the points, memory that a shorter shard does not free while old shards stay, a
table that a VACUUM was to shrink, a plan that would have rewritten all points to save no series, one that moves IDs
from names to a tag, values that are "hardly used again" in a part of the rows, series that "level off" although all of
them are written daily, 315 MB of an index of 1.3 MB, and 3,280,000 series in a year on a server that rejects more than
1,000,000. One audit took a server more memory than it had, for a measurement with 76,000 fields, which is no longer
read all at once.

## Regression

Each layout below follows a program's public documentation. Most come in two versions: one with typical mistakes, and a
clean twin that nobody would need to change. For each layout we wrote down what an expert would want to hear before we
first ran tsaudit on it. Two readers, who saw only what faults cost and how the data are made, said of each expectation
whether an expert would act this week; they agree on 168 of 178. "Found" counts findings of any severity, and one about
several tables for each that it lists; "warned" counts harmful ones at warning or above; "false" counts every other
warning or critical finding in either version, also one that is true and harmless.

In {layouts} layouts, tsaudit finds **{found} of {expected}** expected findings (recall {recall}). It warns about
**{warned} of {harmful}** harmful ones (recall {warned_ratio}), with **{false}** false warnings (precision {precision}).
{clean} of {twins} clean twins get the verdict `ok`.

The tests write this page (`make golden`) and fail when a row changes.

"""


def row(score: Score) -> str:
    """The layout's line of the table."""
    layout = score.layout
    not_warned = [wanted for wanted in score.harmful if wanted not in score.warned]
    missed = _named([_expectation(w) for w in score.missed] + [f"{_expectation(w)} (no warning)" for w in not_warned])
    false = _named([line.removeprefix("clean: ").split(":")[0] for line in score.false])
    clean = f"`{score.clean}`" if score.clean else "none"
    link = f"[{layout.name}]({layout.source})" if layout.source.startswith("http") else f"[{layout.name}]()"
    cells = (
        *(link, layout.engine, len(layout.wanted), len(score.found), len(score.harmful)),
        *(f"{len(score.warned)} of {score.right} right", missed, false, clean),
    )
    return "| " + " | ".join(map(str, cells)) + " |\n"


def _expectation(wanted: Wanted) -> str:
    return f"{wanted.codes.replace('|', ' or ')} {wanted.subject}".strip()


def _named(things: list[str]) -> str:
    if not things:
        return "0"
    shown = ", ".join(f"`{thing}`" for thing in sorted(set(things))[:4])
    more = ", ..." if len(set(things)) > 4 else ""
    return f"{len(things)}: {shown}{more}"


def rows() -> dict[str, str]:
    """Layout to its row in the page."""
    text = PAGE.read_text() if PAGE.exists() else ""
    return {match["name"]: match[0] for match in _ROW.finditer(text)}


def totals(known: dict[str, str]) -> dict[str, float]:
    """What the rows come to: counts, recalls, and the precision of warnings."""
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in known.values()]
    expected, found, harmful = (sum(int(c[n]) for c in cells) for n in (2, 3, 4))
    warned, right = (sum(int(c[5].split(" ")[n]) for c in cells) for n in (0, 2))
    false = sum(int(c[7].split(":")[0]) for c in cells)
    return {
        "layouts": len(cells),
        "expected": expected,
        "found": found,
        "harmful": harmful,
        "warned": warned,
        "false": false,
        "twins": sum(c[8] != "none" for c in cells),
        "clean": sum(c[8] == "`ok`" for c in cells),
        "recall": found / expected if expected else 1.0,
        "warned_ratio": warned / harmful if harmful else 1.0,
        "precision": right / (right + false) if right + false else 1.0,
    }


def change(how: Callable[[dict[str, str]], dict[str, str]]) -> None:
    """Write the page from its rows as changed: one process at a time, and the others never read half of it."""
    with (Path(gettempdir()) / "tsaudit-accuracy.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = how(rows())
        sums = {k: f"{v:.3f}" if isinstance(v, float) else str(v) for k, v in totals(known).items()}
        body = "".join(known[name] for name in sorted(known))
        whole = PAGE.with_suffix(".new")
        whole.write_text(_TEXT.format(**sums) + _START + body)
        whole.replace(PAGE)
