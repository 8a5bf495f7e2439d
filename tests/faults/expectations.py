"""What an audit has to make of each fault: written down before anything was run.

A fault is a row of `docs/reliability.md`. How an engine's protocol can show it is up to the engine's own module; where
it cannot, that module says why.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class Outcome(enum.StrEnum):
    """What an audit ends as."""

    NOT_AUDITED = "not audited"
    """TGT001: verdict unknown, exit code 3, an incident, a queued message that names the cause. Nothing was judged."""
    PARTLY = "partly audited"
    """The same, beside what could be judged before the server was gone."""
    GAPS = "gaps"
    """What could not be measured is a gap with its cause, rules that need it are unknown, and the rest was judged."""
    COMPLETE = "complete"
    """As without the fault: it was overcome, and every figure is the true one."""


class Moment(enum.StrEnum):
    """When a fault begins."""

    CONNECT = "connect"
    """With the first connection: nothing ever works."""
    LIST = "list"
    """The server greets, logs in and tells its version; the question for its databases and all that follow fail."""
    MEASURE = "measure"
    """Databases and measurements were listed; it begins with the first statement that reads a measurement's data."""
    ANSWER = "answer"
    """Every response is well-formed, and some cannot be true."""


MOMENTS: Final[dict[Moment | None, tuple[str, str]]] = {
    Moment.CONNECT: ("From the first connection on", "Nothing ever works."),
    Moment.LIST: (
        "After the greeting",
        "The server greets, logs in and reports its version. Every statement after that meets the fault.",
    ),
    Moment.MEASURE: (
        "In the middle of the audit",
        "Databases and measurements were listed. The statements that read the measurement's data meet the fault.",
    ),
    Moment.ANSWER: (
        "Responses that cannot be true",
        "Every response has the form that it should have. What it says contradicts itself, or another response.",
    ),
    None: ("Databases that are files", "What can happen to a file, and to the folder it is in."),
}
_SLOW_NAMES: Final = {"429", "503", "drip-head", "drip-body", "drip-error", "silence", "stall", "pipe", "device"}


@dataclass(frozen=True, slots=True)
class Fault:
    """One row."""

    name: str
    title: str
    """How the row is called in the table."""
    cause: str
    """What the one line of its cause must match, whatever the case."""
    expected: frozenset[Outcome]
    """Which of these it is depends on how far the audit had come; never anything else."""
    moment: Moment | None
    """None for a file."""
    why: str = ""
    """Why this is to be expected, where that is not plain."""
    heavy: bool = False
    """Whether it sends very much: such cells run a few at a time."""

    @property
    def is_slow(self) -> bool:
        """Whether the peer keeps the audit waiting: then its deadline has to end it, and is a short one."""
        return self.heavy or self.name in _SLOW_NAMES


def _any(*words: str) -> str:
    return "|".join(words)


_SLOW: Final = _any(
    "cancell?ed after|given up|stopped after|time|within|no longer|not respond|slow|deadline|used up|more than",
    "too (long|large|much|big|wide)|endless|bytes|MB",
)
_LOST: Final = _any(
    "broke|clos|lost|reset|cut|incomplete|ended|not respond|gone|end of|eof|no response|not like|empty",
)
_STRANGE: Final = _any(
    "JSON|sense|not (an? )?(InfluxDB|Timestream|GreptimeDB|MongoDB|PostgreSQL)|unexpected|empty",
    "no (column|database|list)|not like|responds, (but|not)|not an object|none of the|not requested|shape|null",
    "malformed|understand|annotated|lists no|invalid|not return a cursor|without a message|server's greeting",
)
_PACKETS: Final = "expected|packet|protocol|version|message|response id|length|SSH"

_TITLES: Final = {
    "refused": "connection refused",
    "dns": "unknown host name",
    "wrong-server": "a different kind of server on the port",
    "401": "wrong password or token (401)",
    "403": "permission denied (403)",
    "404": "not found (404)",
    "429": "rate limit, or too many connections (429)",
    "500": "internal server error (500)",
    "503": "service unavailable (503)",
    "html": "sign-in page of a proxy (HTML, 200)",
    "closed": "connection closed without a response",
    "cut": "truncated response",
    "empty": "empty response",
    "null": "`null`, or only nulls",
    "shape": "well-formed response of the wrong shape",
    "redirect": "redirect to another host",
    "drip-head": "headers sent one byte at a time",
    "drip-body": "response sent one byte at a time",
    "drip-error": "error message sent one byte at a time",
    "silence": "no response, connection left open",
    "stall": "response that stalls halfway",
    "endless": "endless response",
    "long-line": "endless line or packet",
    "bomb": "decompression bomb (over 1 GB)",
    "restart": "server restart",
    "rights": "access revoked",
}
_CAUSES: Final = {
    "refused": "refused|not respond|no server",
    "dns": "name|resolve|not known|no such host|could not translate|not respond|getaddr",
    "wrong-server": _any(_STRANGE, _LOST, _PACKETS),
    "401": "401|password|credential|authori[sz]|authenticat|login|token|denied",
    "403": "403|denied|permission|forbidden|not authori[sz]ed|may not|rights|grant|rejects|log ?in",
    "404": "404|not found|does not exist|failed to find|unknown|no such|not like",
    "429": "429|too many|throttl|busy|limit|exceed",
    "500": "500|internal|server error|fail|not like|closed|input/output",
    "503": "503|gave up|unavailable|available|busy|starting|shut|not ready|not like|quota",
    "html": _any("html|page", _STRANGE, _PACKETS),
    "closed": _LOST,
    "cut": _any(_LOST, _STRANGE),
    "empty": _any(_LOST, _STRANGE),
    "null": _STRANGE,
    "shape": _STRANGE,
    "redirect": _any("redirect|302|could not reach|HTTP 3|moved", _STRANGE),
    "drip-head": _SLOW,
    "drip-body": _SLOW,
    "drip-error": _any(_SLOW, "500|fail|internal"),
    "silence": _SLOW,
    "stall": _SLOW,
    "endless": _any(_SLOW, _STRANGE, _PACKETS),
    "long-line": _any(_SLOW, _STRANGE, _PACKETS),
    "bomb": _any(_SLOW, _STRANGE, "larger"),
    "restart": _any(_LOST, "restart|refused|shut|terminat|administrator"),
    "rights": "401|403|denied|permission|privilege|authori[sz]|authenticat|password|credential|access|administrators",
}
_UNREACHABLE: Final = ("refused", "dns", "wrong-server")
_MIDDLE: Final = ("restart", "rights")
_ANSWERS: Final = tuple(name for name in _TITLES if name not in (*_UNREACHABLE, *_MIDDLE))
_HEAVY: Final = ("endless", "long-line", "bomb")
_OF_ONE_STATEMENT: Final = ("429", "500", "null", "shape")
"""After these the next statement may go well."""
_OF_THE_CONNECTION: Final = ("closed", "cut", "drip-body", "silence", "stall", *_HEAVY)

_NOTHING: Final = frozenset({Outcome.NOT_AUDITED})
_PARTS: Final = frozenset({Outcome.GAPS, Outcome.NOT_AUDITED})
"""Gaps, as long as something else of the target could be read."""
_GONE: Final = _PARTS | {Outcome.PARTLY}
_CUT: Final = frozenset({Outcome.GAPS, Outcome.PARTLY, Outcome.COMPLETE})
"""Of a file that changes in the middle: something of it was read."""
_WHOLE: Final = frozenset({Outcome.COMPLETE})


def _network(name: str, moment: Moment, expected: frozenset[Outcome] = _NOTHING, why: str = "") -> Fault:
    return Fault(name, _TITLES[name], _CAUSES[name], expected, moment, why, heavy=name in _HEAVY)


NETWORK: Final = (
    *(_network(name, Moment.CONNECT) for name in (*_UNREACHABLE, *_ANSWERS)),
    *(_network(name, Moment.LIST) for name in _ANSWERS),
    _network(
        "restart",
        Moment.MEASURE,
        _GONE | _WHOLE,
        "complete where the driver reconnects; partly audited where the server is still down on the second try",
    ),
    _network("rights", Moment.MEASURE, _PARTS),
    *(_network(name, Moment.MEASURE, _PARTS) for name in _OF_ONE_STATEMENT),
    *(_network(name, Moment.MEASURE, _GONE) for name in _OF_THE_CONNECTION),
)


def _answer(name: str, title: str, cause: str, expected: frozenset[Outcome] = frozenset({Outcome.GAPS})) -> Fault:
    return Fault(name, title, cause, expected, Moment.ANSWER)


ANSWERS: Final = (
    _answer("twice", "a table listed twice", "twice"),
    _answer("undescribed", "a table without columns", "without columns|figures is wrong", _PARTS),
    _answer("nan", "counts that are no numbers (NaN)", "is nan|not known", _PARTS),
    _answer("negative", "negative counts", "is -6|not known", _PARTS),
    _answer("above", "a part that is larger than the whole", r"is [\d,.e+]+, and \w+ [\d,.e+]+"),
    _answer("unreadable-rows", "tables of which no row may be read", "denied", _PARTS),
    _answer("disputed", "two figures that contradict each other", "one of the two figures is wrong"),
)

_OPEN: Final = "no such file|not exist|missing|unable to open|cannot open|no file|not found"
_FORMAT: Final = _any(
    "is a (sqlite|duckdb) database|not a (valid )?(database|duckdb|sqlite)|not (an? )?(sqlite|duckdb)|format",
    "malformed|corrupt|no valid|magic|header|encrypted|disk image",
)
_SHORT: Final = _any(_FORMAT, "short|truncat|read|I/O|sense|internal")


def _file(name: str, title: str, cause: str, expected: frozenset[Outcome] = _NOTHING, why: str = "") -> Fault:
    return Fault(name, title, cause, expected, None, why)


_READ_ALREADY: Final = "complete where the engine had already read all of it"
FILES: Final = (
    _file("missing", "no such file", _OPEN),
    _file("no-folder", "missing folder", _OPEN),
    _file("dangling", "dangling symbolic link", _OPEN),
    _file("link-loop", "symbolic link loop", _any(_OPEN, "symbolic|loop|many levels")),
    _file("directory", "a folder instead of a file", "directory|folder"),
    _file("pipe", "a named pipe instead of a file", "pipe|regular"),
    _file("device", "an endless device instead of a file (`/dev/zero`)", "device|regular"),
    _file("unreadable", "no permission to read it", "permission|denied"),
    _file("unreadable-folder", "no permission to enter its folder", "permission|denied"),
    _file("long-name", "file name too long", _any("too long", _OPEN)),
    _file("zero", "empty file", _any("empty|nothing", _FORMAT)),
    _file("garbage", "random bytes", _FORMAT),
    _file("zeros", "a terabyte of zeros", _FORMAT),
    _file("page", "an HTML page", _FORMAT),
    _file("other-engine", "a database of the other engine", _FORMAT),
    _file("compressed", "the database, gzipped", _FORMAT),
    _file("head-only", "truncated after its header", _SHORT),
    _file(
        "half",
        "truncated in the middle",
        _SHORT,
        _NOTHING | _PARTS,
        "gaps where the schema can still be read",
    ),
    _file("newer", "written by a future version", _any("version|newer", _FORMAT)),
    _file("locked", "locked by a writer", "lock|busy|another process"),
    _file("no-tables", "database without tables", "nothing|no (table|measurement)|empty|match"),
    _file("read-only-folder", "read-only file in a read-only folder", "", _WHOLE, "an audit only reads"),
    _file("left-journal", "write-ahead log left by a crashed writer", "", _WHOLE, "what is in the log counts"),
    _file("deleted", "deleted during the audit", "", _WHOLE, "the open file still exists"),
    _file("replaced", "replaced by another file during the audit", "", _WHOLE, "the open file still exists"),
    _file("overwritten", "overwritten with random bytes during the audit", _SHORT, _CUT, _READ_ALREADY),
    _file("truncated", "truncated during the audit", _SHORT, _CUT, _READ_ALREADY),
    _file("rights-lost", "permission to read it revoked during the audit", "", _WHOLE, "the file is already open"),
)
