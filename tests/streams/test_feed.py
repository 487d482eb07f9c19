"""What lines a file gives: CSV, JSON lines, Parquet, gzipped or not, whole or damaged."""

import gzip
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from streams import feed
from streams.errors import UsageError


def lines(path: Path, form: str | None = None) -> list[feed.Line]:
    """Read every line of a file."""
    with feed.opened(path, form) as opened:
        return list(opened.lines)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.csv", "csv"),
        ("a.csv.gz", "csv"),
        ("a.jsonl", "jsonl"),
        ("a.NDJSON", "jsonl"),
        ("a.b.jsonl.gz", "jsonl"),
        ("a.parquet", "parquet"),
    ],
)
def test_the_name_of_a_file_tells_its_format(name: str, form: str) -> None:
    """The ending says the format, under .gz too and in capitals."""
    assert feed.format_of(Path(name)) == form


@pytest.mark.parametrize("name", ["a", "a.txt", "a.gz", "a.json"])
def test_a_name_that_does_not_tell_asks_for_the_format(name: str) -> None:
    """Another ending is not guessed at."""
    with pytest.raises(UsageError, match="--format csv, jsonl or parquet"):
        feed.format_of(Path(name))


def test_csv_gives_fields_with_the_line_an_editor_shows(tmp_path: Path) -> None:
    """A quoted cell may hold a line break; the next line is still numbered as an editor does."""
    path = tmp_path / "a.csv"
    path.write_text('key,note\na,"one\ntwo"\n\nb,\n')

    found = lines(path)

    assert [(line.number, line.fields) for line in found] == [
        (2, {"key": "a", "note": "one\ntwo"}),
        (5, {"key": "b", "note": ""}),
    ]
    assert found[-1].position == path.stat().st_size


@pytest.mark.parametrize("cells", ["a", "a,b,c"])
def test_a_csv_line_of_another_width_says_so(tmp_path: Path, cells: str) -> None:
    """A line cut short, or one cell too many, is no row: which values it lacks cannot be known."""
    path = tmp_path / "a.csv"
    path.write_text(f"x,y\n1,2\n{cells}\n3,4\n")

    first, second, third = lines(path)

    assert (first.fields, third.fields) == ({"x": "1", "y": "2"}, {"x": "3", "y": "4"})
    assert second.fields is None
    assert second.problem == f"{cells.count(',') + 1} cells under 2 columns"


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    """Spreadsheets put one in front."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfkey\na\n")

    assert lines(path)[0].fields == {"key": "a"}


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """Which of the two is meant cannot be known."""
    path = tmp_path / "a.csv"
    path.write_text("x,x\n1,2\n")

    with pytest.raises(UsageError, match="two columns are called 'x'"):
        lines(path)


def test_json_lines_keep_their_bytes(tmp_path: Path) -> None:
    """What is no JSON object says why, and its bytes are there to be passed on."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\r\n\n[1]\n\xff\n{"a":\n')

    good, array, bytes_, cut = lines(path)

    assert (good.number, good.fields, good.raw) == (1, {"a": 1}, b'{"a": 1}')
    assert (array.number, array.fields, array.problem) == (3, None, "not a JSON object")
    assert (bytes_.fields, bytes_.raw) == (None, b"\xff")
    assert (cut.fields, cut.raw) == (None, b'{"a":')


def test_a_gzipped_file_reads_the_same(tmp_path: Path) -> None:
    """The position is that in the packed file, so a progress bar ends at its size."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n{"a": 2}\n'))

    found = lines(path)

    assert [line.fields for line in found] == [{"a": 1}, {"a": 2}]
    assert found[-1].position == path.stat().st_size


def test_a_damaged_gzip_file_says_so(tmp_path: Path) -> None:
    """A file cut in the middle is a matter of usage, not a traceback."""
    path = tmp_path / "a.csv.gz"
    whole = gzip.compress(b"key\n" + b"".join(b"%d\n" % n for n in range(10_000)))
    path.write_bytes(whole[: len(whole) // 2])

    with pytest.raises(UsageError, match="gzip data is damaged"):
        lines(path)


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    """Numbers, lists and truth stay; times become ISO text, nanoseconds cut; NaN is absent."""
    path = tmp_path / "a.parquet"
    columns = {
        "whole": pa.array([1]),
        "real": pa.array([0.5]),
        "nan": pa.array([float("nan")]),
        "list": pa.array([["a", "b"]]),
        "yes": pa.array([True]),
        "nano": pa.array([1_700_000_000_123_456_789], pa.timestamp("ns")),
        "zoned": pa.array([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")),
        "day": pa.array([date(2026, 1, 2)]),
        "price": pa.array([Decimal("1.50")]),
        "sum": pa.array([Decimal("12.00")]),
    }
    parquet.write_table(pa.table(columns), path)

    (line,) = lines(path)

    assert line.number == line.position == 1
    assert line.fields == {
        "whole": 1,
        "real": 0.5,
        "nan": None,
        "list": ["a", "b"],
        "yes": True,
        "nano": "2023-11-14T22:13:20.123456",
        "zoned": "2026-01-01T00:00:00+00:00",
        "day": "2026-01-02",
        "price": 1.5,
        "sum": 12,
    }


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, form: str) -> None:
    """The error names the file and the cause."""
    with pytest.raises(UsageError, match=r"none\.x: No such file"):
        lines(tmp_path / "none.x", form)


def test_what_is_no_parquet_is_named(tmp_path: Path) -> None:
    """A file of another format is a matter of usage."""
    path = tmp_path / "a.parquet"
    path.write_text("x\n")

    with pytest.raises(UsageError, match=r"a\.parquet: .*Parquet"):
        lines(path)
