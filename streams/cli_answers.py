"""What became of records: their receipts, and the dead letters of those that were refused."""

import contextlib
import difflib
import sys
from collections import Counter, deque
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from streams import console, dead_letters, receipts
from streams.cli_context import Json, settings_of
from streams.errors import UsageError
from streams.events import REFUSED, STORED

dead_letters_app = typer.Typer(no_args_is_help=True, help="List and show refused records.")

Last = Annotated[int, typer.Option(min=1, help="Show only the last ones.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Show what comes, until Ctrl-C.")]
Status = Annotated[list[str] | None, typer.Option(help="Only receipts of this status.")]
Reason = Annotated[list[str] | None, typer.Option(help="Only dead letters of this reason.")]
Name = Annotated[str, typer.Argument(metavar="TOPIC/PARTITION/OFFSET", help="As `list` names it.")]
Raw = Annotated[bool, typer.Option("--raw", help="Write the record's bytes, and nothing else.")]

#: Characters of a reason that fit into a line of a table.
REASON_CHARACTERS = 90


def show_receipts(
    context: typer.Context,
    last: Last = 20,
    follow: Follow = False,
    status: Status = None,
    as_json: Json = False,
) -> None:
    """Show what became of records, the latest last; a count of all of them ends it.

    Example: lighthouse-streams receipts --last 50 --status invalid
    """
    wanted = words("--status", status, STORED | REFUSED)
    found = receipts.read(settings_of(context), follow)
    if follow:
        _follow(found, wanted, as_json)
        return
    counts: Counter[str] = Counter()
    kept: deque[dict[str, Any]] = deque(maxlen=last)
    for receipt in found:
        counts[receipt["status"]] += 1
        if receipt["status"] in wanted:
            kept.append(receipt)
    if as_json:
        console.show_json({"counts": counts, "receipts": list(kept)})
        return
    head = ("record", "status", "kind", "key", "t", "graph", "reason")
    console.show_table(head, [_cells(receipt) for receipt in kept])
    console.note(counted(counts, "receipts"))


def words(option: str, given: Iterable[str] | None, known: Iterable[str]) -> frozenset[str]:
    """Give the words that an option asks for, all where it is absent.

    Raises UsageError for one that is none of those known.
    """
    every = frozenset(known)
    for word in given or ():
        if word not in every:
            near = difflib.get_close_matches(word, every, 1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise UsageError(f"{option} {word}{meant}: take one of {', '.join(sorted(every))}")
    return frozenset(given) if given else every


def counted(counts: Counter[str], what: str) -> str:
    """Say how many there are, and of which sorts."""
    each = ", ".join(f"{word} {number:,}" for word, number in counts.most_common())
    return f"{counts.total():,} {what}" + (f": {each}" if each else "")


def _follow(found: Iterable[dict[str, Any]], wanted: frozenset[str], as_json: bool) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        for receipt in found:
            if receipt["status"] in wanted:
                _line(receipt, as_json)


def _line(receipt: dict[str, Any], as_json: bool) -> None:
    if as_json:
        console.show_json(receipt)
        return
    shown = [str(cell) for cell in _cells(receipt) if cell is not None]
    console.say("  ".join(shown))


def _cells(receipt: dict[str, Any]) -> list[Any]:
    record = f"{receipt['topic']}/{receipt['partition']}/{receipt['offset']}"
    reason = receipt.get("reason")
    shown = reason and (reason[:REASON_CHARACTERS] + "…" * (len(reason) > REASON_CHARACTERS))
    about = [receipt.get(name) for name in ("status", "kind", "key", "t", "graph")]
    return [record, *about, shown]


@dead_letters_app.command("list")
def list_dead_letters(
    context: typer.Context, last: Last = 20, reason: Reason = None, as_json: Json = False
) -> None:
    """List refused records: how many of each reason, with an example, and the latest.

    Example: lighthouse-streams dead-letters list --reason invalid
    """
    wanted = words("--reason", reason, REFUSED)
    found = [each for each in dead_letters.read(settings_of(context)) if each.reason in wanted]
    groups, latest = dead_letters.grouped(found), found[-last:]
    if as_json:
        letters = [_json(each) for each in latest]
        console.show_json({"groups": [_group(group) for group in groups], "dead_letters": letters})
        return
    for group in groups:
        of = f"{group.kind or 'no kind'}, {group.topic}"
        console.say(f"{group.count:,} {group.reason} ({of})", "bold")
        console.say(f"  such as {group.example.place}: {group.example.error.get('detail', '')}")
        console.say(f"  {group.example.advice()}")
    head = ("record", "reason", "kind", "key", "detail")
    console.show_table(head, [_row(each) for each in latest])
    console.note(counted(Counter(each.reason for each in found), "dead letters"))


@dead_letters_app.command("show")
def show_dead_letter(
    context: typer.Context, record: Name, raw: Raw = False, as_json: Json = False
) -> None:
    """Show one refused record: why, and its bytes as they were.

    Example: lighthouse-streams dead-letters show lighthouse.rows/3/81208
    """
    topic, partition, offset = place(record)
    found = dead_letters.show(settings_of(context), partition, offset, topic)
    if found is None:
        console.note(f"no dead letter of {record}: `dead-letters list` names them", "yellow")
        raise typer.Exit(1)
    if raw:
        sys.stdout.buffer.write(found.value or b"")
    elif as_json:
        console.show_json(_json(found) | {"hex": found.hex()})
    else:
        _show(found)


def place(record: str) -> tuple[str, int, int]:
    """Read topic/partition/offset; UsageError when it is none."""
    topic, _, rest = record.partition("/")
    partition, _, offset = rest.partition("/")
    if not (topic and partition.isdecimal() and offset.isdecimal()):
        raise UsageError(f"{record}: name it as topic/partition/offset: lighthouse.rows/3/812")
    return topic, int(partition), int(offset)


def _show(found: dead_letters.DeadLetter) -> None:
    console.say(f"{found.place}: {found.reason}", "bold")
    console.say(found.error.get("detail", ""))
    console.say(found.advice())
    rest = {name: text for name, text in found.error.items() if name not in ("reason", "detail")}
    console.show_table(("", ""), rest.items())
    for name, value in found.headers:
        console.say(f"header {name}: {(value or b'').decode(errors='backslashreplace')}")
    key = "none" if found.key is None else found.key.decode(errors="backslashreplace")
    console.say(f"key {key}")
    console.say("no value" if found.value is None else f"value, {len(found.value):,} bytes:")
    console.say(found.text() or "")


def _row(found: dead_letters.DeadLetter) -> list[Any]:
    detail = found.error.get("detail", "")
    shown = detail[:REASON_CHARACTERS] + "…" * (len(detail) > REASON_CHARACTERS)
    return [found.place, found.reason, found.error.get("kind"), found.error.get("key"), shown]


def _json(found: dead_letters.DeadLetter) -> dict[str, Any]:
    return {
        "record": found.place,
        "error": dict(found.error),
        "headers": [[name, value] for name, value in found.headers],
        "key": found.key,
        "value": found.text(),
    }


def _group(group: dead_letters.Group) -> dict[str, Any]:
    shown = {name: getattr(group, name) for name in ("reason", "topic", "kind", "count")}
    times = {"oldest_ms": group.oldest, "newest_ms": group.newest}
    return shown | times | {"example": _json(group.example)}
