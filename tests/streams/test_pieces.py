"""A piece gives the records of a slice as the broker gave them, and ends in one of two ways."""

from types import SimpleNamespace

from aiokafka.structs import ConsumerRecord

from streams.acknowledge import Progress
from streams.pieces import Chunk, Piece

PLACE = ("t.rows", 2)


def raw(offset: int, value: bytes | None, timestamp: int | None = 1_700_000_000_000) -> object:
    """Make a record as the Kafka client gives it."""
    headers = (("h", b"\xff"), ("h", None))
    return ConsumerRecord("t.rows", 2, offset, timestamp, 0, b"k", value, None, 1, 0, headers)


def piece(progress: Progress, acked: list[str]) -> Piece:
    """Make a piece of three records, whose event notes its end."""
    records = (raw(7, b"abc"), raw(8, None), raw(9, b"", timestamp=None))
    chunk = Chunk("t.rows", 2, records, progress.deliver(PLACE, 9))
    app = SimpleNamespace(consumer=SimpleNamespace(progress=progress))
    return Piece(
        SimpleNamespace(
            value=chunk,
            app=app,
            message=SimpleNamespace(generation_id=4),
            ack=lambda: acked.append("let go of"),
        )
    )


def test_records_are_as_the_broker_gave_them() -> None:
    """Place, key, value, headers and time come through; a record without a time has -1."""
    made = piece(Progress(), [])
    records = made.records("the-id")

    assert [(r.topic, r.topic_id, r.partition, r.offset) for r in records] == [
        ("t.rows", "the-id", 2, offset) for offset in (7, 8, 9)
    ]
    assert [(r.key, r.value, r.timestamp) for r in records] == [
        (b"k", b"abc", 1_700_000_000_000),
        (b"k", None, 1_700_000_000_000),
        (b"k", b"", -1),
    ]
    assert {r.headers for r in records} == {(("h", b"\xff"), ("h", None))}
    assert (made.topic, made.count(), made.size(), made.era()) == ("t.rows", 3, 3, 4)


def test_only_an_acknowledged_piece_moves_the_offset() -> None:
    """Either end lets go of the event, so that a stop does not wait for it."""
    progress, acked = Progress(), []

    piece(progress, acked).let_go()
    assert progress.committable(PLACE) is None

    progress.forget([PLACE])
    piece(progress, acked).acknowledge()
    assert progress.committable(PLACE) == 10
    assert acked == ["let go of", "let go of"]
