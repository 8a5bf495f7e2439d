"""Typical mistakes in tsaudit.yaml, and what an expert wants to see: where, why, and what to write instead.

The expectations were written down before the messages were read. `MET` are of kinds that others have made with tsaudit;
`FORESEEN` are those of people who write such files elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TARGET: Final = "targets:\n  - name: plant\n    engine: duckdb\n    url: duckdb:///plant.duckdb\n"
INFLUX: Final = "targets:\n  - name: metrics\n    engine: influxdb1\n    url: http://db7:8086\n"
OWNERS: Final = "owners:\n  default: {channel: '#data'}\n  factory: {channel: '#factory'}\n"
LIBRARY_WORDS: Final = (
    r"\b(pydantic|yaml\.org|anchor|alias|typing|literal|\w*validat(or|ion|e)|mapping|sequence|scalar|any token"
    r"|simple key|block|flow|plain|dict|list_type|dictionary|nonetype|none|tuple|str|int|float|bool|string|integer"
    r"|input|node|stream|tag:|handle|indicators?|escape character|parser|parsing|context|codec|byte 0x|union|model"
    r"|not allowed here|expected '|ComposerError|directive)\b"
)
"""Words of the libraries that read and check the file, and of Python."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A file with one mistake, and what the one line about it has to say."""

    text: str | bytes
    place: str
    """The line, and the key if the file can be read so far: how the message begins after the name of the file."""
    cause: str
    """What is wrong, as a regular expression."""
    correction: str
    """What to write or to do, word for word."""


MET: Final[dict[str, Mistake]] = {
    "a severity of another program": Mistake(TARGET + "rules: {NAM001: info}\n", "5: rules.NAM001", "`info`", "note"),
    "a severity cut short": Mistake(
        TARGET + "rules:\n  NAM001: warn\n", "6: rules.NAM001", "`warn`", "did you mean warning?"
    ),
    "a severity that is a level": Mistake(
        TARGET + "    rules: {CAR001: high}\n", "5: targets[0].rules.CAR001", "`high`", "critical"
    ),
    "a pattern without quotes": Mistake(TARGET + "    exclude: [*_tmp]\n", "5", r"begins with .* \*", "needs quotes"),
    "a misspelled key": Mistake(
        TARGET + "    databses: [shop]\n", "5: targets[0].databses", "unknown key", "did you mean databases?"
    ),
    "a key one column to the left": Mistake(
        "targets:\n  - name: plant\n    engine: duckdb\n   url: duckdb:///plant.duckdb\n",
        "4",
        "cannot be read",
        "same column",
    ),
    "a key one column to the right": Mistake(
        "targets:\n  - name: plant\n    engine: duckdb\n     url: duckdb:///plant.duckdb\n",
        "4",
        "cannot be read",
        "same column",
    ),
    "a tab": Mistake("targets:\n\t- name: plant\n", "2", "a tab", "spaces"),
    "a list where names belong": Mistake(
        TARGET + "owners:\n  - default:\n      channel: '#data'\n", "5: owners", "a list", "`key: value` lines"
    ),
    "one word where a list belongs": Mistake(
        TARGET + "    databases: shop\n", "5: targets[0].databases", "`shop`", "a list such as [a, b]"
    ),
    "an engine without its version": Mistake(
        INFLUX.replace("influxdb1", "influx"), "3: targets[0].engine", "`influx`", "influxdb1"
    ),
    "no address": Mistake(
        "targets:\n  - name: plant\n    engine: duckdb\n", "2: targets[0].url", "is missing", "duckdb:///"
    ),
    "a variable that is not set": Mistake(
        TARGET + "slack: {token: '${TSAUDIT_NOT_SET}'}\n",
        "5: slack.token",
        "TSAUDIT_NOT_SET is not set",
        "export it",
    ),
    "a duration in words": Mistake(TARGET + "    window: 7 days\n", "5: targets[0].window", "`7 days`", "30d"),
    "a size in other letters": Mistake(TARGET + "harm: {max_memory: 16gb}\n", "5: harm.max_memory", "`16gb`", "20GB"),
    "a schedule with seconds": Mistake(
        TARGET + '    schedule: "0 0 6 * * *"\n', "5: targets[0].schedule", "six|6 fields", "`0 6 * * *`"
    ),
    "a time zone that there is not": Mistake(
        TARGET + "    timezone: Europe/Brlin\n", "5: targets[0].timezone", "unknown key", "schedule"
    ),
    "an owner without an entry": Mistake(
        TARGET + "    owner: factory\n", "5: targets[0].owner", "`factory`", "`owners`"
    ),
    "an owner that is misspelled": Mistake(
        OWNERS + TARGET + "    owner: factroy\n", "8: targets[0].owner", "`factroy`", "did you mean factory?"
    ),
    "a route to a channel": Mistake(
        OWNERS + TARGET + "routes:\n  - {owner: factory, channel: '#web'}\n",
        "9: routes[0].channel",
        "unknown key",
        "known here: owner, targets",
    ),
    "a target twice": Mistake(
        TARGET + "  - {name: plant, engine: sqlite, url: 'sqlite:///x.db'}\n", "5: targets[1].name", "`plant`", "unique"
    ),
    "a key twice": Mistake(TARGET + "    engine: sqlite\n", "5", "`engine` .* line 3", "remove one"),
    "a secret of a vault": Mistake(
        INFLUX + "    password: ${vault:influx/password}\n", "5: targets[0].password", "reference", "${NAME}"
    ),
    "a nickname without quotes": Mistake(TARGET + "    schedule: @daily\n", "5", "begins with .*@", "needs quotes"),
    "a colon in text without quotes": Mistake(TARGET + "    group: plant: north\n", "5", "`: `", "in quotes"),
    "a percentage for a share": Mistake(
        TARGET + "harm:\n  limit_warning: 80%\n", "6: harm.limit_warning", "`80%`", "0.8"
    ),
    "a rule that there is not": Mistake(
        TARGET + "rules: {CAR999: off}\n", "5: rules.CAR999", "no rule", "tsaudit rules"
    ),
    "an address with an @ in its password": Mistake(
        INFLUX.replace("db7", "me:p@ss@db7"), "4: targets[0].url", "password", "%40"
    ),
    "an empty file": Mistake("", "1", "empty", "targets:"),
    "a file in Latin-1": Mistake(
        (TARGET + "    group: Süd\n").encode("latin-1"), "5", "UTF-8", "save the file as UTF-8"
    ),
}

FORESEEN: Final[dict[str, Mistake]] = {
    "two documents": Mistake(TARGET + "---\nslack: {}\n", "5", "`---`", "remove"),
    "the singular": Mistake(
        "targets: [{name: m, engine: sqlite, url: 'sqlite:///m.db'}]\nowner: {a: {}}\n",
        "2: owner",
        "unknown key",
        "did you mean owners?",
    ),
    "targets by name": Mistake(
        "targets:\n  plant:\n    engine: duckdb\n    url: duckdb:///plant.duckdb\n",
        "1: targets",
        "`key: value` lines",
        "a list",
    ),
    "a limit of the budget outside it": Mistake(
        TARGET + "    max_rows: 5000\n", "5: targets[0].max_rows", "unknown key", "budget"
    ),
    "a webhook at the top": Mistake(
        TARGET + "webhook: https://hooks.slack.com/services/x\n", "5: webhook", "unknown key", "slack"
    ),
    "a channel for an owner": Mistake(
        TARGET + "owners:\n  default: '#data'\n", "6: owners.default", "`#data`", "`key: value` lines"
    ),
    "a date for a duration": Mistake(
        TARGET + "slack: {reactions: {mute_for: 31.12.2026}}\n", "5: slack.reactions.mute_for", "duration", "30d"
    ),
    "a month for a duration": Mistake(TARGET + "    max_age: 1 month\n", "5: targets[0].max_age", "`1 month`", "30d"),
    "minutes for seconds": Mistake(
        TARGET + "    budget: {deadline_s: 30m}\n", "5: targets[0].budget.deadline_s", "`30m`", "a number in digits"
    ),
    "a time of day for a schedule": Mistake(
        TARGET + "    schedule: 06:30\n", "5: targets[0].schedule", "cron", "`0 6 * * *`"
    ),
    "an hour that there is not": Mistake(
        TARGET + '    schedule: "0 24 * * *"\n', "5: targets[0].schedule", "`24` is not a valid hour", "0 to 23"
    ),
    "a name with a blank": Mistake(
        TARGET.replace("name: plant", "name: plant north"), "2: targets[0].name", "`plant north`", "letters, digits"
    ),
    "a thousand as k": Mistake(
        TARGET + "    budget: {max_series: 500k}\n",
        "5: targets[0].budget.max_series",
        "`500k`",
        "a whole number in digits",
    ),
    "digits in groups": Mistake(
        TARGET + "limits:\n  high-series-cardinality.max_series: 100,000\n",
        "6: limits.high-series-cardinality.max_series",
        "`100,000`",
        "a number in digits",
    ),
    "a limit below its rule": Mistake(
        TARGET + "limits:\n  high-series-cardinality:\n    max_series: 5000\n",
        "6: limits.high-series-cardinality",
        "there is no such limit|`key: value` lines",
        "a number in digits",
    ),
    "rules as a list": Mistake(TARGET + "rules:\n  - CAR001\n", "5: rules", "a list", "`key: value` lines"),
    "off as no": Mistake(TARGET + "rules: {CAR001: no}\n", "5: rules.CAR001", "`no`", "off"),
    "a quote that is not closed": Mistake(
        TARGET + 'owners:\n  default:\n    channel: "#data\n    email: a@example.com\n',
        "7",
        "quote is not closed",
        "quotes",
    ),
    "a list that is not closed": Mistake(TARGET + "    databases: [shop, plant\nslack: {}\n", "5", "not closed", "`,`"),
    "no blank after the colon": Mistake(
        "targets:\n  - name: plant\n    engine:duckdb\n    url: duckdb:///plant.duckdb\n",
        "4",
        "cannot be read",
        "a blank after the `:`",
    ),
    "no blank after the dash": Mistake(
        "targets:\n  -name: plant\n    engine: duckdb\n    url: duckdb:///plant.duckdb\n",
        "3",
        "cannot be read",
        "after a `-`",
    ),
    "a backslash in double quotes": Mistake(
        TARGET.replace("duckdb:///plant.duckdb", '"duckdb:///C:\\data\\plant.duckdb"'),
        "4",
        "backslash",
        "single quotes",
    ),
    "a template that nobody has filled in": Mistake(
        INFLUX + "    password: {{ influx_password }}\n", "5", "single text", "${NAME}"
    ),
    "a command of another program": Mistake(INFLUX + "    password: !vault influx\n", "5", "begins with .*!", "quotes"),
    "an assignment": Mistake("targets:\n  - name = plant\n", "2: targets[0]", "expected", "`key: value` lines"),
    "what a merge left": Mistake(
        "<<<<<<< HEAD\n" + TARGET + "=======\n" + INFLUX + ">>>>>>> b\n",
        "2",
        "cannot be read",
        "this line or one above",
    ),
    "a channel that is a comment": Mistake(
        TARGET + "owners:\n  default:\n    channel: #data\n", "7: owners.default.channel", "comment", "in quotes"
    ),
    "an address without its scheme": Mistake(
        TARGET + "report:\n  base_url: reports.example.com\n",
        "6: report.base_url",
        "`reports.example.com`",
        "https://",
    ),
    "roles without their key": Mistake(
        TARGET + "    columns:\n      readings: [host]\n",
        "6: targets[0].columns.readings",
        "a list",
        "`key: value` lines",
    ),
}

MISTAKES: Final = MET | FORESEEN

HARMLESS: Final[dict[str, str | bytes]] = {
    "a byte-order mark": b"\xef\xbb\xbf" + TARGET.encode(),
    "line ends of Windows": TARGET.replace("\n", "\r\n"),
    "other words for true and false": TARGET + "slack: {reactions: {read: no}}\nrules: {CAR001: off, NAM001: on}\n",
    "numbers in quotes": TARGET + '    budget: {concurrency: "2"}\n',
    "JSON with a comma at the end": '{"targets": [{"name": "a", "engine": "sqlite", "url": "sqlite:///a.db",},],}',
    "a size for a number of bytes": TARGET + "    budget: {max_bytes_scanned: 10GB}\n",
}
"""What looks like one of them, but says clearly what is meant: it is read."""
