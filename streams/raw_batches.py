"""How is a record read whose header name is not text? Its bytes are kept, its batch goes on.

aiokafka decodes the names of headers while it takes a batch of records apart, and raises out of the
fetch where one is not UTF-8: the partition would stand still for ever. Here such a batch is taken
apart once more, the bytes that are no text as lone surrogates, and the worker refuses that record.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.record.default_records import _DefaultRecordBatchPy
from aiokafka.record.memory_records import _MemoryRecordsPy


def keep_header_names() -> None:
    """Have aiokafka read batches in this way, in the whole process; repeating it does nothing."""
    fetcher.MemoryRecords = Records


class Records:
    """The batches of a fetch, as aiokafka's own MemoryRecords gives them."""

    def __init__(self, raw: bytes) -> None:
        self._records = _MemoryRecordsPy(raw)

    def size_in_bytes(self) -> int:
        """Give the bytes of the fetch."""
        return self._records.size_in_bytes()

    def has_next(self) -> bool:
        """Say whether there is another batch."""
        return self._records.has_next()

    def next_batch(self) -> Any:
        """Give the next batch; None behind the last one."""
        raw = self._records._next_slice
        batch: Any = self._records.next_batch()
        return batch if raw is None or batch.is_control_batch else _Batch(batch, raw)


class _Batch:
    def __init__(self, batch: Any, raw: Any) -> None:
        self._batch, self._raw = batch, raw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __iter__(self) -> Iterator[Any]:
        read = 0
        try:
            for record in self._batch:
                yield record
                read += 1
        except UnicodeDecodeError:
            yield from islice(_leniently(self._raw), read, None)


def _leniently(raw: Any) -> Iterator[Any]:
    batch: Any = _DefaultRecordBatchPy(raw)
    batch._maybe_uncompress()
    batch._buffer = _Lenient(batch._buffer)
    return iter(batch)


class _Lenient(bytearray):
    """Bytes whose parts decode to text in any case."""

    def __getitem__(self, place: Any) -> Any:
        part = super().__getitem__(place)
        return _Lenient(part) if isinstance(part, bytearray) else part

    def decode(self, encoding: str = "utf-8", errors: str = "surrogateescape") -> str:
        """Decode, bytes that are no text to lone surrogates."""
        return bytes(self).decode(encoding, errors)
