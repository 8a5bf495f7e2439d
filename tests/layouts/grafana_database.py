"""Grafana's own database: dashboards, annotations, and the instances of alerts."""

from __future__ import annotations

import json
import random

from tests.builders import NOW
from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import Tables, an_id, evenly, stamp, word

_STATEMENTS = (
    """CREATE TABLE `dashboard` (`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, `version` INTEGER NOT NULL,
        `slug` TEXT NOT NULL, `title` TEXT NOT NULL, `data` TEXT NOT NULL, `org_id` INTEGER NOT NULL,
        `created` DATETIME NOT NULL, `updated` DATETIME NOT NULL, `updated_by` INTEGER NULL, `gnet_id` INTEGER NULL,
        `plugin_id` TEXT NULL, `folder_id` INTEGER NOT NULL DEFAULT 0, `is_folder` INTEGER NOT NULL DEFAULT 0,
        `has_acl` INTEGER NOT NULL DEFAULT 0, `uid` TEXT NULL, `is_public` INTEGER NOT NULL DEFAULT 0)""",
    "CREATE INDEX `IDX_dashboard_org_id` ON `dashboard` (`org_id`)",
    "CREATE UNIQUE INDEX `UQE_dashboard_org_id_uid` ON `dashboard` (`org_id`,`uid`)",
    """CREATE TABLE `dashboard_version` (`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
        `dashboard_id` INTEGER NOT NULL,
        `parent_version` INTEGER NOT NULL, `restored_from` INTEGER NOT NULL, `version` INTEGER NOT NULL,
        `created` DATETIME NOT NULL, `created_by` INTEGER NOT NULL, `message` TEXT NOT NULL, `data` TEXT NOT NULL)""",
    """CREATE UNIQUE INDEX `UQE_dashboard_version_dashboard_id_version`
        ON `dashboard_version` (`dashboard_id`,`version`)""",
    """CREATE TABLE `annotation` (`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, `org_id` INTEGER NOT NULL,
        `alert_id` INTEGER NULL, `user_id` INTEGER NULL, `dashboard_id` INTEGER NULL, `panel_id` INTEGER NULL,
        `category_id` INTEGER NULL, `type` TEXT NOT NULL, `title` TEXT NOT NULL, `text` TEXT NOT NULL,
        `metric` TEXT NULL, `prev_state` TEXT NOT NULL, `new_state` TEXT NOT NULL, `data` TEXT NOT NULL,
        `epoch` INTEGER NOT NULL, `region_id` INTEGER DEFAULT 0, `tags` TEXT NULL, `created` INTEGER DEFAULT 0,
        `updated` INTEGER DEFAULT 0, `epoch_end` INTEGER NOT NULL DEFAULT 0)""",
    "CREATE INDEX `IDX_annotation_org_id_alert_id` ON `annotation` (`org_id`,`alert_id`)",
    "CREATE INDEX `IDX_annotation_org_id_type` ON `annotation` (`org_id`,`type`)",
    """CREATE INDEX `IDX_annotation_org_id_dashboard_id_epoch_end_epoch`
        ON `annotation` (`org_id`,`dashboard_id`,`epoch_end`,`epoch`)""",
    "CREATE INDEX `IDX_annotation_org_id_epoch_end_epoch` ON `annotation` (`org_id`,`epoch_end`,`epoch`)",
    """CREATE TABLE `alert_rule` (`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, `org_id` INTEGER NOT NULL,
        `title` TEXT NOT NULL, `condition` TEXT NOT NULL, `data` TEXT NOT NULL, `updated` DATETIME NOT NULL,
        `interval_seconds` INTEGER NOT NULL DEFAULT 60, `version` INTEGER NOT NULL DEFAULT 0, `uid` TEXT NOT NULL,
        `namespace_uid` TEXT NOT NULL, `rule_group` TEXT NOT NULL, `for` INTEGER NOT NULL DEFAULT 0)""",
    """CREATE TABLE `alert_instance` (`rule_org_id` INTEGER NOT NULL, `rule_uid` TEXT NOT NULL, `labels` TEXT NOT NULL,
        `labels_hash` TEXT NOT NULL, `current_state` TEXT NOT NULL, `current_state_since` INTEGER NOT NULL,
        `last_eval_time` INTEGER NOT NULL, `current_state_end` INTEGER NOT NULL DEFAULT 0, `current_reason` TEXT NULL,
        PRIMARY KEY (`rule_org_id`,`rule_uid`,`labels_hash`))""",
    """CREATE TABLE `migration_log` (`id` INTEGER PRIMARY KEY, `migration_id` TEXT, `sql` TEXT, `success` INTEGER,
        `error` TEXT, `timestamp` DATETIME)""",
)


def _made(instances: int) -> Script:
    noise = random.Random(2)
    boards, versions = [], []
    for i, at in enumerate(evenly(80, 700), 1):
        title = f"{word(i)} {word(i * 3)}".title()
        data = json.dumps({"title": title, "panels": [{"id": p, "type": "timeseries"} for p in range(6)]})
        uid = f"{noise.getrandbits(50):x}"[:9]
        changed = next(evenly(1, noise.uniform(1, 300)))
        slug = title.lower().replace(" ", "-")
        boards.append((i, 3, slug, title, data, 1, stamp(at), stamp(changed), 1, None, None, 0, 0, 0, uid, 0))
        versions += [(3 * i + v, i, v - 1, 0, v, stamp(changed), 1, "", data) for v in range(1, 4)]
    notes = []
    for i, at in enumerate(evenly(2_500, 60), 1):
        epoch = int(at.timestamp() * 1000)
        by_alert = i % 5 > 0
        states = (("Normal", "Alerting") if i % 2 else ("Alerting", "Normal")) if by_alert else ("", "")
        text = f"High CPU {{host=web{i % 12:02}}} - {states[1]}" if by_alert else f"deploy {word(i)}"
        tags = None if by_alert else '["deploy"]'
        head = (i, 1, 1 + i % 6 if by_alert else 0, 0 if by_alert else 2, 1 + i % 80, i % 6, None)
        tail = (epoch, 0, tags, epoch, epoch, epoch)
        notes.append((*head, "", "", text, None, *states, "{}", *tail))
    rules = [
        (i, 1, f"Alert {word(i)}", "C", "[]", stamp(NOW), 60, 4, f"r{noise.getrandbits(40):x}", "general", "main", 300)
        for i in range(1, 7)
    ]
    alive = []
    since = int(NOW.timestamp())
    for i in range(36 + instances):
        rule = rules[i % 6][8] if i < 36 else rules[0][8]
        labels = [["alertname", "High CPU"], ["host", f"web{i // 6:02}"]]
        labels += [["trace_id", an_id(noise)]] if i >= 36 else []
        hashed = f"{noise.getrandbits(160):040x}"
        alive.append((1, rule, json.dumps(labels), hashed, "Normal", since - 60 * i, since - i % 60, since, None))
    log = [
        (i, f"create table {word(i)} v1", f"CREATE TABLE {word(i)}", 1, "", stamp(at))
        for i, at in enumerate(evenly(300, 800))
    ]
    rows: Tables = {"dashboard": boards, "dashboard_version": versions, "annotation": notes, "alert_rule": rules}
    return Script(_STATEMENTS, rows | {"alert_instance": alive, "migration_log": log})


LAYOUTS = (
    Layout(
        name="grafana-sqlite",
        engine="sqlite",
        source="https://github.com/grafana/grafana/tree/main/pkg/services/sqlstore/migrations",
        clean=lambda: _made(0),
        dirty=lambda: _made(4_000),
        wanted=(Wanted("TAG002|CAR004", "alert_instance*", "an alert by trace_id: Grafana keeps an instance of each"),),
    ),
)
