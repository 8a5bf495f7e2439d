"""`tsaudit what-if`: shows the effect of changing tags before anybody changes them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from tsaudit.cli import options, screen
from tsaudit.cli.errors import Exit
from tsaudit.engines.registry import ENGINES
from tsaudit.text import duration, listed, many, number, plural

if TYPE_CHECKING:
    from tsaudit.config.settings import Settings
    from tsaudit.model.profile import Profile
    from tsaudit.what_if import Answer

    _BucketType = click.ParamType[tuple[str, int]]
else:
    # Before 8.4, click's types take no parameter.
    _BucketType = click.ParamType


class BucketParam(_BucketType):
    """A tag and the number of values it may have, written `tag:n`."""

    name = "bucket"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        tag, _, count = value.rpartition(":")
        if not tag or not (count.isascii() and count.isdigit()) or not 0 < int(count[:10]) < 10**9:
            self.fail(f"`{value}` is not a bucketing; write TAG:N with N of 1 or more, e.g. user_id:64", param, ctx)
        return tag, int(count)


@click.command("what-if")
@click.argument("target")
@click.argument("measurement")
@options.config_option
@click.option("--database", metavar="NAME", help="The database, if several have the measurement.")
@click.option("--drop", metavar="TAG", multiple=True, help="Drop this tag; may be given several times.")
@click.option("--to-field", metavar="TAG", multiple=True, help="Turn this tag into a field.")
@click.option(
    "--bucket", type=BucketParam(), metavar="TAG:N", multiple=True, help="Hash the tag's values into N buckets."
)
@click.option("--collisions", is_flag=True, help="Read rows of the live database, and look for points that collide.")
@options.format_option("text", "json")
def what_if(
    target: str,
    measurement: str,
    config: str | None,
    database: str | None,
    drop: tuple[str, ...],
    to_field: tuple[str, ...],
    bucket: tuple[tuple[str, int], ...],
    collisions: bool,
    form: str,
) -> None:
    """Show how many series would remain after dropping or bucketing tags.

    Dropping one tag is computed from the last snapshot, without connecting to the database. Several tags, buckets, and
    collisions need the live database, within the target's window and budget.
    """
    tags = [*drop, *to_field, *(tag for tag, _ in bucket)]
    if not tags:
        raise click.UsageError("say what to change: --drop TAG, --to-field TAG, or --bucket TAG:N")
    if len(set(tags)) < len(tags):
        raise click.UsageError("each tag can only be changed in one way")
    settings = options.load_settings(config, "history")
    chosen = options.chosen(settings, [target])[0]

    from tsaudit.what_if import TagReduction, UnknownNameError, answer, stored_answer

    change = TagReduction(frozenset({*drop, *to_field}), dict(bucket))
    last = _last_profile(settings, target)
    try:
        found = None if collisions else stored_answer(last, measurement, change, database)
        if found is None:
            chosen = options.chosen(options.load_settings(config, "targets"), [target])[0]
            with screen.progress() as watched:
                watched.say(target, "counting what would remain")
                found = answer(chosen, last, measurement, change, database=database, with_collisions=collisions)
    except UnknownNameError as error:
        raise click.UsageError(str(error)) from error
    if form == "json":
        screen.as_json(dataclasses.asdict(found))
    else:
        _print(found, to_field, chosen.engine)
    if found.left is None or (collisions and found.collisions is None):
        click.get_current_context().exit(Exit.NOT_AUDITED)


def _last_profile(settings: Settings, target: str) -> Profile | None:
    with options.open_store(settings) as store:
        profiles = (store.profile(target, day) for day in sorted(store.past_days(target), reverse=True))
        return next((p for p in profiles if p is not None), None)


def _print(found: Answer, to_field: tuple[str, ...], engine: str) -> None:
    screen.line(f"{found.database}/{found.measurement}")
    screen.table([*_series(found), *_points(found), ("read", _read(found))], indent="  ")
    if to_field:
        screen.line()
        for line in ENGINES[engine].words.as_field.splitlines():
            screen.line(line)


def _series(found: Answer) -> list[tuple[str, str]]:
    left = found.left
    if left is None:
        return [("series", found.left_how)]
    rows = [("series now", number(left.now)), ("series after", number(left.after))]
    if left.determined_by:
        others = len(left.determined_by)
        each = plural(others, "determines", "each determine")
        rows.append(("because", f"{listed(left.determined_by)} {each} it"))
        if left.together is not None:
            dropped = plural(others, "that is dropped", "those are dropped")
            rows.append(("together", f"{number(left.together)} if {dropped} too"))
    return [*rows, ("measured", found.left_how)]


def _points(found: Answer) -> list[tuple[str, str]]:
    points = found.collisions
    if points is None:
        return [("collisions", found.collisions_how)]
    text = f"{number(points.after)} of {many(points.rows, 'row')} read would repeat the tags and time of another"
    return [("collisions", f"{text}; {number(points.now)} do now"), ("measured", found.collisions_how)]


def _read(found: Answer) -> str:
    if not found.costs:
        return "nothing: did not connect to the database"
    return "; ".join(
        f"{c.fact}: {many(c.statements, 'statement')}, {many(c.rows, 'row')}, {duration(c.seconds)}"
        for c in found.costs
    )
