"""What lines does a file hold, and which of them can be read into columns?

CSV, JSON lines (both also gzipped) and Parquet. A line that cannot be read says why.
"""

import contextlib
import csv
import gzip
import io
import json
import math
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from streams.errors import UsageError

FORMATS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
#: Longest cell of a CSV file in bytes; above every limit of the memory and of a broker.
CELL_LIMIT = 2**31 - 1
#: Rows of a Parquet file held at a time.
PARQUET_ROWS = 1000


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file: its fields, or its bytes and why there are no fields.

    `number` counts from 1 as an editor does (a Parquet file: its rows). `position` is how far the
    file is read, in the unit of the feed's `size`.
    """

    number: int
    position: int
    fields: dict[str, Any] | None = None
    raw: bytes | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Feed:
    """A file to be read once: its columns (None where only each line knows), size and lines."""

    columns: tuple[str, ...] | None
    size: int
    lines: Iterator[Line]


def format_of(path: Path) -> str:
    """Tell csv, jsonl or parquet by the name of a file; UsageError where the name does not say."""
    name = path.with_suffix("") if path.suffix == ".gz" else path
    if name.suffix.lower() in FORMATS:
        return FORMATS[name.suffix.lower()]
    raise UsageError(f"{path}: name its format: --format csv, jsonl or parquet")


@contextlib.contextmanager
def opened(path: Path, form: str | None = None) -> Iterator[Feed]:
    """Open a file as a feed of lines.

    Raises UsageError when there is no such file, when it is not of the format, or when Parquet
    is asked for without pyarrow.
    """
    form = form or format_of(path)
    with _bytes_of(path) as raw:
        if form == "parquet":
            yield _parquet(path, raw)
            return
        packed = path.suffix == ".gz"
        with _readable(path), gzip.open(raw) if packed else raw as data:
            if form == "jsonl":
                yield Feed(None, path.stat().st_size, _jsonl_lines(data, raw))
                return
            # Bytes that are not UTF-8 go through unchanged: the memory is to refuse them, not we.
            with io.TextIOWrapper(data, "utf-8-sig", errors="surrogateescape", newline="") as text:
                yield _csv(path, text, raw)


def _bytes_of(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UsageError(f"{path}: the gzip data is damaged: {error}") from error


def _csv(path: Path, text: TextIO, raw: BinaryIO) -> Feed:
    csv.field_size_limit(CELL_LIMIT)
    reader = csv.reader(text)
    columns = tuple(next(reader, ()))
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise UsageError(f"{path}: two columns are called {twice!r}")
    return Feed(columns, path.stat().st_size, _csv_lines(reader, columns, raw))


def _csv_lines(reader: Any, columns: tuple[str, ...], raw: BinaryIO) -> Iterator[Line]:
    number = reader.line_num + 1
    for cells in reader:
        position = raw.tell()
        if len(cells) == len(columns):
            yield Line(number, position, dict(zip(columns, cells, strict=True)))
        elif cells:
            problem = f"{len(cells)} cells under {len(columns)} columns"
            yield Line(number, position, problem=problem)
        number = reader.line_num + 1


def _jsonl_lines(data: Iterable[bytes], raw: BinaryIO) -> Iterator[Line]:
    for number, line in enumerate(data, 1):
        content = line.rstrip(b"\r\n")
        if content:
            fields, problem = _fields(content)
            yield Line(number, raw.tell(), fields, content, problem)


def _fields(content: bytes) -> tuple[dict | None, str | None]:
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError) as error:
        return None, f"not JSON: {error}"
    return (fields, None) if isinstance(fields, dict) else (None, "not a JSON object")


def _parquet(path: Path, raw: BinaryIO) -> Feed:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        hint = 'pip install "lighthouse-streams[parquet]"'
        raise UsageError(f"{path}: reading Parquet needs pyarrow: {hint}") from error
    try:
        file = parquet.ParquetFile(raw)
    except pa.ArrowInvalid as error:
        raise UsageError(f"{path}: {error}") from error
    return Feed(tuple(file.schema_arrow.names), file.metadata.num_rows, _parquet_lines(file))


def _parquet_lines(file: Any) -> Iterator[Line]:
    number = 0
    for batch in file.iter_batches(PARQUET_ROWS):
        for row in _plain(batch).to_pylist():
            number += 1
            yield Line(number, number, {name: _value(value) for name, value in row.items()})


def _plain(batch: Any) -> Any:
    # Nanoseconds have no Python type: they are cut to the microseconds that the memory keeps.
    import pyarrow as pa

    for at, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            kind = pa.timestamp("us", field.type.tz)
            batch = batch.set_column(at, field.name, batch.column(at).cast(kind, safe=False))
    return batch


def _value(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.decode(errors="surrogateescape")
    if isinstance(value, float) and math.isnan(value):
        return None
    return value
