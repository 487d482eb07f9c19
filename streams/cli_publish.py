"""How does `publish` put a file of rows onto a topic?"""

# The options that map columns are read together, by their names: from the context.
# ruff: noqa: ARG001

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from streams import console, feed, mapping, publish, topics
from streams.cli_context import Json, settings_of
from streams.errors import UsageError

#: Lines that were not published and are shown one by one; --json names them all.
SHOWN = 20
#: Records between two looks at the progress bar, where no --rate makes each of them an event.
BAR_EVERY = 200
#: Records that --dry-run prints where --limit does not say.
DRY = 3

File = Annotated[Path, typer.Argument(help="CSV, JSON lines (either also .gz) or Parquet.")]
MapFile = Annotated[
    Path | None, typer.Option("--mapping", help="A file (TOML or JSON) that maps the columns.")
]
Kind = Annotated[str | None, typer.Option(help="The kind of every row.")]
Key = Annotated[str | None, typer.Option(help="The column of the key.")]
Time = Annotated[str | None, typer.Option(help="The column of the time.")]
Values = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=COLUMN", help="A value. Without any: every column left over."),
]
Relations = Annotated[
    list[str] | None, typer.Option(metavar="TYPE=COLUMN", help="A relation and its target's key.")
]
Entry = Annotated[str | None, typer.Option(help="The column of the entry that is the evidence.")]
Partial = Annotated[bool | None, typer.Option("--partial", help="Change only what a row names.")]
Texts = Annotated[list[str] | None, typer.Option(help="A column never read as a number.")]
NumberKey = Annotated[bool | None, typer.Option("--number-key", help="Keys are whole numbers.")]
Nulls = Annotated[list[str] | None, typer.Option(help="A text that means absent. [empty and NA]")]
TimeFormat = Annotated[str | None, typer.Option(help="As strptime takes it; or epoch, epoch_ms.")]
Zone = Annotated[str | None, typer.Option(help="Of times without an offset. [UTC]")]
Topic = Annotated[str, typer.Option(help="The topic, without the prefix.")]
Format = Annotated[str | None, typer.Option("--format", help="csv, jsonl or parquet.")]
Rate = Annotated[float | None, typer.Option(min=0.001, help="Rows a second.")]
Shift = Annotated[
    str | None, typer.Option(help="Move the times: +3d12h, -90m; or now: the last row is now.")
]
Limit = Annotated[int | None, typer.Option(min=1, help="Take only so many lines.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the first records, send nothing.")]

#: The options that lie over a mapping file, and what they are called there.
MAPPED = {"value": "values", "relation": "relations"} | {
    name: name
    for name in (
        *("kind", "key", "time", "entry", "partial", "text"),
        *("number_key", "null", "time_format", "timezone"),
    )
}


def command(
    context: typer.Context,
    file: File,
    mapping_file: MapFile = None,
    kind: Kind = None,
    key: Key = None,
    time: Time = None,
    value: Values = None,
    relation: Relations = None,
    entry: Entry = None,
    partial: Partial = None,
    text: Texts = None,
    number_key: NumberKey = None,
    null: Nulls = None,
    time_format: TimeFormat = None,
    timezone: Zone = None,
    topic: Topic = "rows",
    form: Format = None,
    rate: Rate = None,
    shift: Shift = None,
    limit: Limit = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Publish a file of rows to a topic and wait until the broker has every one.

    Columns are mapped by options, by a mapping file, or by both; options win. JSON lines without
    any mapping are rows already.

    Example: lighthouse-streams publish flights.csv --kind Plane --key tail --time at
    --relation AT=airport
    """
    columns = mapping_of(mapping_file, context.params)
    form = form or feed.format_of(file)
    if columns is None and form != "jsonl":
        raise UsageError(f"{file}: name its columns: --kind, --key and --time, or --mapping FILE")
    moved = shift_of(shift, file, form, columns)
    with opened(file, form, columns, moved) as (records, size):
        if dry_run:
            show_first(records, limit or DRY)
            return
        config = settings_of(context)
        client, name = topics.client_config(config), topics.full(config, topic)
        largest = publish.largest(client, name, config.topics.max_record_bytes)
        producer = publish.connect(client, name, largest)
        result = watched(producer, name, islice(records, limit), size, largest, rate)
    finish(result, name, as_json)


def mapping_of(file: Path | None, options: dict[str, Any]) -> mapping.Mapping | None:
    """Make the mapping of a file and the options over it; None where neither says anything."""
    given = mapping.load(file) if file else {}
    for option, name in MAPPED.items():
        if options.get(option):
            pairs = option in ("value", "relation")
            given[name] = _pairs(option, options[option]) if pairs else options[option]
    return mapping.build(given) if given else None


def shift_of(
    text: str | None, file: Path, form: str, columns: mapping.Mapping | None
) -> timedelta | None:
    """Read --shift; `now` reads the file once to find its last time."""
    if text is None:
        return None
    if text.strip() == "now":
        return publish.until_now(file, form, columns)
    return mapping.shift_of(text)


@contextmanager
def opened(
    file: Path, form: str, columns: mapping.Mapping | None, moved: timedelta | None
) -> Iterator[tuple[Iterator[publish.Outgoing], int]]:
    """Open a file as records to publish, with its size in the unit of their positions."""
    with feed.opened(file, form) as lines:
        held = mapping.checked(columns, lines.columns) if columns else None
        yield publish.outgoing(lines, held, moved), lines.size


def watched(
    producer: Any,
    topic: str,
    records: Iterable[publish.Outgoing],
    size: int,
    max_bytes: int,
    rate: float | None = None,
) -> publish.Result:
    """Publish under a progress bar; the answer is `publish.send`'s."""
    with console.progress("rows") as bar:
        task = bar.add_task("publishing", total=size or None, count=0)

        def moved_on(sent: int, record: publish.Outgoing) -> None:
            if sent % BAR_EVERY == 0 or rate:
                bar.update(task, completed=record.position, count=sent)

        counted = _counted(records, moved_on)
        result = publish.send(producer, topic, counted, max_bytes=max_bytes, rate=rate)
        bar.update(task, completed=size, total=size, count=result.published)
    return result


def show_first(records: Iterable[publish.Outgoing], count: int) -> None:
    """Print the first records as they would go out, one JSON object a line."""
    for record in publish.first(records, count):
        console.show_json(record)


def finish(result: publish.Result, topic: str, as_json: bool) -> None:
    """Say what is published and what is not; exit code 1 when a line is not."""
    if as_json:
        unsent = [asdict(line) for line in result.unsent]
        console.show_json({"topic": topic, "published": result.published, "unsent": unsent})
    else:
        console.say(f"{result.published:,} rows published to {topic}")
        for line in result.unsent[:SHOWN]:
            size = f" ({line.size:,} bytes)" if line.size else ""
            console.note(f"line {line.number:,}{size} not published: {line.reason}", "red")
        if len(result.unsent) > SHOWN:
            console.note(f"and {len(result.unsent) - SHOWN:,} more; --json names them all", "red")
    if result.unsent:
        raise typer.Exit(1)


def _counted(
    records: Iterable[publish.Outgoing], moved_on: Callable[[int, publish.Outgoing], None]
) -> Iterator[publish.Outgoing]:
    for sent, record in enumerate(records, 1):
        yield record
        moved_on(sent, record)


def _pairs(option: str, words: list[str]) -> dict[str, str]:
    pairs = dict(word.partition("=")[::2] for word in words)
    for name, column in pairs.items():
        if not name or not column:
            raise UsageError(f"--{option} takes NAME=COLUMN, not {name or column!r}")
    return pairs
