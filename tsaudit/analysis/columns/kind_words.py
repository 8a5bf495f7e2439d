"""Words in the names of columns that tell the kind of a table's rows."""

from __future__ import annotations

from typing import Final

MONEY: Final = frozenset(
    (
        *("amount", "price", "total", "subtotal", "cost", "fee", "tax", "vat", "discount", "currency", "balance"),
        *("debit", "credit", "paid", "payment", "refund", "salary", "fare", "revenue", "quantity", "qty"),
    )
)
"""Words for what a single transaction is about."""
HAPPENED: Final = frozenset(
    (
        *("event", "action", "message", "msg", "actor", "payload", "body", "comment", "reason", "error", "exception"),
        *("referrer", "referer", "useragent", "agent", "ip", "trace", "span", "correlation", "request", "note"),
    )
)
"""Words for what is said about a single event."""
STATE: Final = frozenset(["status", "state", "stage", "phase"])
ATTEMPTS: Final = frozenset(
    ["attempt", "attempts", "retry", "retries", "retrycount", "retrylimit", "tries", "failures", "redelivered"]
)
TAKEN: Final = frozenset(
    ["locked", "lock", "lease", "leased", "claimed", "claim", "reserved", "worker", "owner", "picked", "dequeued"]
)
DUE: Final = frozenset(
    ["available", "scheduled", "visible", "due", "startafter", "notbefore", "next", "enqueued", "queued", "eta", "run"]
)
QUEUE_NAMES: Final = frozenset(["priority", "queue", "payload", "handler", "args", "job", "task", "topic"])
BEGINS: Final = frozenset(["from", "start", "begin", "since", "effective"])
ENDS: Final = frozenset(["to", "until", "end", "expiry", "through", "thru"])
VALID: Final = frozenset(["valid", "effective", "validity", "dbt", "version", "row", "record", "current"])
ATTRIBUTE: Final = frozenset(
    [
        *("attribute", "attr", "key", "property", "metric", "feature", "parameter", "param", "field", "variable"),
        *("measure", "characteristic", "signal", "observable", "kind", "name", "code", "channel", "quantity"),
    ]
)
VALUE: Final = frozenset(["value", "val", "reading", "result", "state"])
