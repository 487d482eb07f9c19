"""Receipts say what became of a record, by their contract, and their reader keeps one of each."""

import secrets
from pathlib import Path
from typing import Any

import orjson
import pytest

from streams import contracts, receipts, topics
from streams.events import Outcome, Record, Refusal
from streams.outbox import Letter, Outbox
from tests.working import told

RECORD = Record("t.rows", "the-id", 2, 41, 1_700_000_000_000, b"Thing/a", b"{}")
FITS = contracts.contract("receipts").fits


def outcome(status: str, **more: Any) -> Outcome:
    """Make an outcome of RECORD."""
    given = {"graph": "world", "kind": "Thing", "key": "a", "t": "2026-01-01"} | more
    return Outcome(RECORD, status=status, **given)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        # stored: what was written where
        (outcome("created"), {"status": "created"}),
        # a repeat says so
        (outcome("unchanged", again=True), {"status": "unchanged", "again": True}),
        # refused by the library: in its words, or without any
        (outcome("invalid", reason="no time"), {"status": "invalid", "reason": "no time"}),
        (outcome("stale"), {"status": "stale"}),
        # a number stays a number
        (outcome("created", key=5), {"status": "created", "key": 5}),
        # refused by the worker: only what could be read
        (
            Refusal(RECORD, "undecodable", "not JSON"),
            {"status": "undecodable", "reason": "not JSON", "graph": None, "kind": None}
            | {"key": None, "t": None},
        ),
    ],
)
def test_a_receipt_names_the_record_and_what_became_of_it(
    answer: Outcome | Refusal, expected: dict[str, Any]
) -> None:
    """It has the record's key, its identity, and fits the contract."""
    letter = receipts.letter("t.receipts", answer)
    receipt = orjson.loads(letter.value or b"")

    same = {"topic": "t.rows", "topic_id": "the-id", "partition": 2, "offset": 41}
    same |= {"graph": "world", "kind": "Thing", "key": "a", "t": "2026-01-01"}
    assert receipt == same | expected
    assert FITS(receipt)
    assert (letter.topic, letter.key) == ("t.receipts", b"Thing/a")
    assert receipts.identity(receipt) == ("t.rows", "the-id", 2, 41)


@pytest.mark.parametrize("key", ["\ud800", 2**70, -(2**63) - 1])
def test_what_cannot_be_written_as_json_is_shown_as_text(key: Any) -> None:
    """Half a character, or a number beyond 64 bits, cannot keep a receipt from being sent."""
    letter = receipts.letter("t.receipts", Refusal(RECORD, "invalid", "no key", key=key))
    receipt = orjson.loads(letter.value or b"")

    assert receipt["key"] == str(key).encode(errors="backslashreplace").decode()
    assert FITS(receipt)


def test_a_receipt_shrinks_until_nothing_is_left() -> None:
    """Without the reason, then without the key, then not at all."""
    whole = receipts.letter("t.receipts", outcome("invalid", reason="r" * 5000))
    first = receipts.smaller(whole)
    second = receipts.smaller(first) if first else None

    assert len(whole.value or b"") < 1_500
    assert first and second
    assert "reason" not in orjson.loads(first.value or b"")
    assert (first.key, second.key, second.value) == (b"Thing/a", None, first.value)
    assert receipts.smaller(second) is None


def test_the_first_receipt_of_a_record_counts_and_stored_wins_over_refused() -> None:
    """Of several of one record the reader passes on one, and one more where it was stored after."""
    given = [
        {"topic": "t", "topic_id": id_, "partition": 0, "offset": offset, "status": status}
        for id_, offset, status in [
            ("1", 0, "created"),
            ("1", 0, "unchanged"),
            ("1", 1, "failed"),
            ("1", 1, "stale"),
            ("1", 1, "changed"),
            ("1", 1, "failed"),
            ("2", 0, "invalid"),
        ]
    ]

    passed = list(receipts.first_or_stored(given))

    assert [(each["topic_id"], each["offset"], each["status"]) for each in passed] == [
        ("1", 0, "created"),
        ("1", 1, "failed"),
        ("1", 1, "changed"),
        ("2", 0, "invalid"),
    ]


def test_reading_gives_one_receipt_of_each_record(tmp_path: Path, broker: str) -> None:
    """Read from the topic to its end, whatever else lies there."""
    own = told(tmp_path, "redis://127.0.0.1:1", broker)
    name = topics.full(own, topics.RECEIPTS)
    records = [
        Record("t.rows", secrets.token_hex(4), n % 3, n, 0, b"%d" % n, b"") for n in range(500)
    ]
    answers = [Outcome(r, "world", "Thing", "a", "2026", "created") for r in records]
    again = [Outcome(r, "world", "Thing", "a", "2026", "unchanged") for r in records[:100]]
    box = Outbox(topics.client_config(own))
    box.send([receipts.letter(name, each) for each in [*answers, *again]])
    box.send(
        [Letter(name, b"x", b"no receipt"), Letter(name, b"x", b"{}"), Letter(name, b"", b"3")]
    )
    box.close()

    found = list(receipts.read(own))

    assert len(found) == 500
    assert {each["status"] for each in found} == {"created"}
    assert {each["offset"] for each in found} == set(range(500))
