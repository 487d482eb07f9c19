"""Batches are taken apart as aiokafka does it, and a header name that is no text harms nothing."""

import pytest
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from aiokafka.record.memory_records import MemoryRecords

from streams.raw_batches import Records

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


class NoText(str):
    """A header's name that is sent as bytes which are no text."""

    __slots__ = ()

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        """Give bytes that are not UTF-8."""
        return b"\xff\xfe"


def batch(first: int, bad: set[int], codec: str = "none") -> bytes:
    """Make a batch of ten records; those at the offsets `bad` have a header name that is no text."""
    builder = _DefaultRecordBatchBuilderPy(2, CODECS[codec], 0, -1, -1, 0, 1_000_000)
    for number in range(10):
        name = NoText("x") if first + number in bad else "trace"
        key = None if number == 3 else b"k%d" % number
        builder.append(number, 1_700_000_000_000 + number, key, b"v" * number, [(name, b"\x00")])
    raw = bytearray(builder.build())
    raw[:8] = first.to_bytes(8)
    return bytes(raw)


def read(records: object) -> list[tuple]:
    """Take all batches apart."""
    found = []
    while records.has_next():
        taken = records.next_batch()
        found += [
            (r.offset, r.timestamp, r.key, r.value, tuple(r.headers), taken.next_offset)
            for r in taken
        ]
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_good_batches_are_read_as_aiokafka_reads_them(codec: str) -> None:
    """Offsets, times, keys, values and headers are the same, compressed or not."""
    raw = batch(0, set(), codec) + batch(10, set(), codec)

    found = read(Records(raw))

    assert len(found) == 20
    assert found == read(MemoryRecords(raw))
    assert Records(raw).size_in_bytes() == len(raw)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("bad", [{10}, {14}, {19}, {11, 12}])
def test_a_name_that_is_no_text_is_kept_as_surrogates(bad: set[int], codec: str) -> None:
    """Every record of the batch, and of those around it, is there once; aiokafka would raise."""
    raw = batch(0, set(), codec) + batch(10, bad, codec) + batch(20, set(), codec)

    found = read(Records(raw))

    assert [record[0] for record in found] == list(range(30))
    names = {record[0]: record[4][0][0] for record in found}
    assert {offset for offset, name in names.items() if name != "trace"} == bad
    assert {names[offset] for offset in bad} == {"\udcff\udcfe"}
    assert [record[3] for record in found[10:20]] == [b"v" * number for number in range(10)]
    with pytest.raises(UnicodeDecodeError):
        read(MemoryRecords(raw))


def test_a_fetch_that_ends_within_a_batch_gives_the_whole_ones() -> None:
    """What a broker cuts off at the size of a fetch comes with the next one."""
    raw = batch(0, set()) + batch(10, set())[:-5]

    assert [record[0] for record in read(Records(raw))] == list(range(10))
