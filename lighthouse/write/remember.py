"""Keeping what is true: rows and updates into versioned history, one receipt for each."""

from collections.abc import Iterable
from typing import Any

from lighthouse import clock
from lighthouse.errors import SchemaMissing
from lighthouse.failures import Failure, keep_failures
from lighthouse.kinds import Kind
from lighthouse.queries import READY, ask, require_ready
from lighthouse.values import Key, check_name
from lighthouse.write.batches import Batch, Receipt, Refused
from lighthouse.write.columns import MOST_NAMES
from lighthouse.write.rows import Row, check_row, key_of
from lighthouse.write.splice import Writer

#: Rows of one database write, and its units: one per row, per target and per 1,000 characters.
MOST_ROWS = 500
MOST_UNITS = 2_000


def remember(
    graph: Any, kind: Kind, rows: Iterable[dict], by: str, provenance: str | None = None
) -> list[Receipt]:
    """Keep rows: each the full picture of one entity from its time on.

    A row is `{"key", "t", "values"?, "relations"?, "entry"?}`. Rows of one entity take effect in the
    order given; a late row goes into the history at its time.
    Gives one receipt per row, `{"key", "status", "reason"?}`. Statuses: created, changed, inserted,
    unchanged; refused, and kept as a WriteFailure: stale, conflict, missing, invalid, failed.
    Raises ValueError (`by`, `provenance`), TypeError (`rows`), SchemaMissing, Unavailable, and the
    client's connection errors; the same rows may then be sent again.
    """
    return _take(graph, kind, rows, _writer(by, provenance), partial=False)


def update_many(
    graph: Any, kind: Kind, rows: Iterable[dict], by: str, provenance: str | None = None
) -> list[Receipt]:
    """Keep partial rows: only what each names changes, from its time on; None takes a value away.

    Each is judged against the State that holds at its time, so a repeated one is `unchanged`. Receipts
    and errors as of `remember`; `stale` with a reason when it lies before the current State, `busy`
    when other writers moved the entity five times while it was tried.
    """
    return _take(graph, kind, rows, _writer(by, provenance), partial=True)


def update(
    graph: Any,
    kind: Kind,
    key: Key,
    t: object,
    by: str,
    values: dict | None = None,
    relations: dict | None = None,
    entry: str | None = None,
    provenance: str | None = None,
) -> Receipt:
    """Change some values or relations of one entity from `t` on; `update_many` of one row."""
    row = {"key": key, "t": t, "values": values, "relations": relations, "entry": entry}
    return update_many(graph, kind, [row], by, provenance)[0]


def _writer(by: str, provenance: str | None) -> Writer:
    check_name(by, "by")
    if provenance is not None and not (isinstance(provenance, str) and len(provenance) <= 40):
        raise ValueError("provenance must be text of at most 40 characters")
    if provenance is not None:
        check_name(provenance, "provenance")
    return Writer(by, provenance, clock.present())


def _take(
    graph: Any, kind: Kind, rows: Iterable[dict], writer: Writer, partial: bool
) -> list[Receipt]:
    receipts: list[Receipt] = []
    refused: list[Refused] = []
    checked: list[Row] = []
    latest = writer.recorded + clock.AHEAD
    for place, given in enumerate(rows):
        try:
            row = check_row(kind, place, given, latest, partial)
            checked.append(row)
            receipts.append({"key": row.key, "status": "", "reason": None})
        except (ValueError, TypeError) as error:
            receipts.append({"key": key_of(given), "status": "invalid", "reason": str(error)})
            refused.append(Refused(place, "invalid", str(error), _time_of(given)))
    if refused and not checked:
        require_ready(graph)
    checked = _with_evidence(graph, checked, receipts, refused)
    for rows_of_write in _writes(checked):
        batch = Batch(graph, kind, writer, partial)
        batch.take(rows_of_write)
        for place, status, reason in batch.settled:
            receipts[place]["status"], receipts[place]["reason"] = status, reason
        refused += batch.refused
    # Last, so that a call that an outage ends, and that is sent again, has counted nothing.
    _keep(graph, kind, receipts, refused)
    return [_plain(receipt) for receipt in receipts]


def _with_evidence(
    graph: Any, rows: list[Row], receipts: list[Receipt], refused: list[Refused]
) -> list[Row]:
    """Leave out the rows whose entry does not exist; looked up once for the whole call."""
    named = list(dict.fromkeys(row.entry for row in rows if row.entry is not None))
    if not named:
        return rows
    text = f"{READY} UNWIND $ids AS i OPTIONAL MATCH (n:Entry {{id: i}}) RETURN n.id"
    found = ask(graph, text, {"ids": named})
    if not found:
        raise SchemaMissing
    there = {row[0] for row in found}
    kept = []
    for row in rows:
        if row.entry is None or row.entry in there:
            kept.append(row)
            continue
        reason = f"the entry '{row.entry}' does not exist"
        receipts[row.place] |= {"status": "missing", "reason": reason}
        said = row.content.text
        refused.append(Refused(row.place, "missing", f"{reason}: {said}", row.t))
    return kept


def _writes(rows: list[Row]) -> Iterable[list[Row]]:
    """Part rows into database writes, in order, by rows, by units, and by the names of their values."""
    write: list[Row] = []
    units = 0
    names: set[str] = set()
    for row in rows:
        more = set(row.values) - names
        full = (
            len(write) == MOST_ROWS
            or units + row.load > MOST_UNITS
            or len(names) + len(more) > MOST_NAMES
        )
        if write and full:
            yield write
            write, units, names = [], 0, set()
            more = set(row.values)
        write.append(row)
        units += row.load
        names |= more
    if write:
        yield write


def _keep(graph: Any, kind: Kind, receipts: list[Receipt], refused: list[Refused]) -> None:
    if refused:
        keep_failures(
            graph,
            [
                Failure(one.reason, kind.label, receipts[one.place]["key"], one.detail, t=one.t)
                for one in sorted(refused, key=lambda one: one.place)
            ],
        )


def _time_of(given: object) -> int | None:
    if not isinstance(given, dict):
        return None
    try:
        return clock.required(given.get("t"), "t")
    except (ValueError, TypeError):
        return None


def _plain(receipt: Receipt) -> Receipt:
    if receipt["reason"] is None:
        del receipt["reason"]
    return receipt
