"""What clusters and their web programs keep in PostgreSQL: events, usage of pods, sessions."""

from __future__ import annotations

import random
from datetime import timedelta

from tests.builders import NOW
from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import ANALYZE, an_id, evenly, word

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def _suffix(noise: random.Random, length: int) -> str:
    return "".join(noise.choice(_LETTERS) for _ in range(length))


_EVENTS = (
    """CREATE TABLE kube_events (uid uuid PRIMARY KEY, namespace text NOT NULL, kind text NOT NULL, name text NOT NULL,
        reason text NOT NULL, type text NOT NULL, message text NOT NULL, component text, host text,
        count integer NOT NULL, first_timestamp timestamptz NOT NULL, last_timestamp timestamptz NOT NULL)""",
    "CREATE INDEX kube_events_last_timestamp ON kube_events (last_timestamp)",
    "CREATE INDEX kube_events_namespace_name ON kube_events (namespace, name)",
)
_REASONS = (
    ("Scheduled", "Successfully assigned {ns}/{pod} to node-{n}", "default-scheduler"),
    ("Pulled", 'Container image "registry.example.com/{app}:1.{n}.3" already present on machine', "kubelet"),
    ("Killing", "Stopping container {app}", "kubelet"),
    ("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503", "kubelet"),
    ("BackOff", "Back-off restarting failed container {app} in pod {pod}_{ns}({uid})", "kubelet"),
)


def _events() -> Script:
    noise = random.Random(19)
    rows = []
    for at in evenly(7_000, 3):
        app, ns, n = word(noise.randrange(12)), noise.choice(("shop", "billing", "ops")), noise.randrange(9)
        pod = f"{app}-{_suffix(noise, 10)}-{_suffix(noise, 5)}"
        reason, text, component = noise.choice(_REASONS)
        kind = "Warning" if reason in ("Unhealthy", "BackOff") else "Normal"
        text = text.format(ns=ns, pod=pod, n=n, app=app, uid=an_id(noise))
        count = noise.randrange(1, 20)
        who = (an_id(noise), ns, "Pod", pod, reason, kind, text, component, f"node-{n}", count)
        rows.append((*who, at - timedelta(minutes=count), at))
    return Script(_EVENTS, {"kube_events": rows}, (ANALYZE,))


_USAGE = (
    """CREATE TABLE pod_usage (time timestamptz NOT NULL, namespace text NOT NULL, pod text NOT NULL,
        container text NOT NULL, cpu_cores double precision, memory_bytes bigint,
        PRIMARY KEY (namespace, pod, container, time))""",
    "CREATE INDEX pod_usage_time ON pod_usage (time)",
)


def _usage(jobs: int) -> Script:
    """Pods of stateful sets, and those of jobs that run for three minutes each."""
    noise = random.Random(20)
    rows = []
    for n, at in enumerate(evenly(8_000, 4)):
        app = n % 40
        used = (round(noise.uniform(0, 2), 3), noise.randrange(10**8))
        rows.append((at, ("shop", "ops")[app % 2], f"{word(app // 4)}-{app % 4}", "main", *used))
    for begin in evenly(jobs, 4, NOW - timedelta(minutes=3)):
        pod = f"report-{28_500_000 + int(begin.timestamp()) // 60 % 10**6}-{_suffix(noise, 5)}"
        rows += [(begin + timedelta(minutes=m), "ops", pod, "main", 0.5, noise.randrange(10**8)) for m in range(3)]
    return Script(_USAGE, {"pod_usage": rows}, (ANALYZE,))


_SESSIONS = (
    """CREATE TABLE django_session (session_key varchar(40) PRIMARY KEY, session_data text NOT NULL,
        expire_date timestamptz NOT NULL)""",
    "CREATE INDEX django_session_session_key_like ON django_session (session_key varchar_pattern_ops)",
    "CREATE INDEX django_session_expire_date ON django_session (expire_date)",
    """CREATE TABLE user_sessions (id bigserial PRIMARY KEY, token varchar(64) NOT NULL UNIQUE, user_id bigint NOT NULL,
        ip inet, user_agent text, created_at timestamptz NOT NULL, last_seen_at timestamptz NOT NULL,
        revoked_at timestamptz)""",
    "CREATE INDEX user_sessions_user_id ON user_sessions (user_id)",
    "CREATE INDEX user_sessions_last_seen_at ON user_sessions (last_seen_at)",
)
_BROWSERS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:124.0) Gecko/20100101 Firefox/124.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/123.0.0.0 Safari/537.36",
)


def _sessions() -> Script:
    noise = random.Random(22)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    django, own = [], []
    for n, at in enumerate(evenly(5_000, 14), 1):
        key = "".join(noise.choice(letters) for _ in range(32))
        data = f".eJxVjDsOwjAQBe_iGlnr{noise.getrandbits(600):0150x}:1rqA{noise.getrandbits(180):045x}"
        django.append((key, data, at + timedelta(days=14)))
        ip = f"84.{noise.randrange(256)}.{noise.randrange(256)}.{noise.randrange(256)}"
        seen = min(at + timedelta(hours=noise.uniform(0, 90)), NOW - timedelta(seconds=n % 60))
        revoked = at + timedelta(hours=1) if n % 30 == 0 else None
        token = f"{noise.getrandbits(256):064x}"
        own.append((n, token, noise.randrange(1, 3_000), ip, noise.choice(_BROWSERS), at, seen, revoked))
    return Script(_SESSIONS, {"django_session": django, "user_sessions": own}, (ANALYZE,))


LAYOUTS = (
    Layout(
        name="kubernetes-events-postgresql",
        engine="postgresql",
        source="https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/",
        clean=_events,
    ),
    Layout(
        name="pod-usage-postgresql",
        engine="postgresql",
        source="https://kubernetes.io/docs/tasks/debug/debug-cluster/resource-metrics-pipeline/",
        clean=lambda: _usage(0),
        dirty=lambda: _usage(2_500),
        wanted=(Wanted("TAG002|CAR004", "pod_usage.pod", "each run of a job is a pod, and a series, of its own"),),
    ),
    Layout(
        name="sessions-postgresql",
        engine="postgresql",
        source="https://docs.djangoproject.com/en/stable/topics/http/sessions/",
        clean=_sessions,
    ),
)
