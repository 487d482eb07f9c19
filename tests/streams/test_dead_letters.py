"""A dead letter holds the record's own bytes, says why it was refused, and is found again."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from streams import contracts, dead_letters, topics
from streams.events import Outcome, Record, Refusal
from streams.outbox import Headers, Letter, Outbox
from streams.settings import Settings
from tests.working import told

NOW = datetime(2026, 3, 1, 8, 30, 0, 250, tzinfo=UTC)
RECORD = Record(
    "t.rows", "the-id", 2, 41, 1_700_000_000_000, b"\xffkey", b"\x00\xff", (("trace", b"\xfe"),)
)
FULL = Outcome(RECORD, "world", "Thing", 5, "2026-01-01", "stale", by="feed")
EARLY = Refusal(RECORD, "undecodable", "no text")
FITS = contracts.contract("dead-letters").fits


def texts(headers: Headers | None) -> dict[str, str]:
    """Give headers as text, the last of a name."""
    pairs = headers or []
    return {
        name: value.decode("latin-1") if isinstance(value, bytes) else str(value)
        for name, value in pairs
    }


@pytest.mark.parametrize("answer", [FULL, EARLY])
def test_the_bytes_are_unchanged_and_the_reason_stands_beside(answer: Outcome | Refusal) -> None:
    """Key and value are the record's; its headers are kept; ours fit their contract."""
    letter = dead_letters.letter("t.dead", answer, NOW)
    headers = texts(letter.headers)

    assert (letter.topic, letter.key, letter.value) == ("t.dead", b"\xffkey", b"\x00\xff")
    assert (letter.headers or [])[0] == ("trace", b"\xfe")
    assert FITS(headers)
    assert headers["error-topic"] == "t.rows"
    assert headers["error-topic-id"] == "the-id"
    assert (headers["error-partition"], headers["error-offset"]) == ("2", "41")
    assert headers["error-timestamp"] == "1700000000000"
    assert headers["error-first-at"] == "2026-03-01T08:30:00"
    assert headers["error-attempts"] == "1"


def test_what_is_not_known_has_no_header() -> None:
    """A record that could not be read names no kind, key, graph; one that could does."""
    early = texts(dead_letters.letter("t.dead", EARLY, NOW).headers)
    full = texts(dead_letters.letter("t.dead", FULL, NOW).headers)

    assert not {"error-kind", "error-key", "error-graph", "error-by"} & early.keys()
    assert (full["error-kind"], full["error-key"]) == ("Thing", "5")
    assert (full["error-graph"], full["error-by"]) == ("world", "feed")


def test_a_library_that_says_no_more_than_stale_is_explained() -> None:
    """The detail says in words what it means and what to do, for this very row."""
    stale = texts(dead_letters.letter("t.dead", FULL, NOW).headers)["error-detail"]
    told_why = replace(FULL, reason="before the first State")
    own_words = texts(dead_letters.letter("t.dead", told_why, NOW).headers)["error-detail"]

    assert stale.startswith("Thing 5 at 2026-01-01: the graph already holds another state")
    assert "replay" in stale
    assert own_words == "before the first State"


def test_a_detail_is_cut() -> None:
    """At most 2,000 characters, whatever was said."""
    long = Refusal(RECORD, "schema", "x" * 5_000)

    assert len(texts(dead_letters.letter("t.dead", long, NOW).headers)["error-detail"]) == 2_000


def test_a_record_refused_again_counts_and_keeps_when_it_was_first() -> None:
    """Our headers of the first time are replaced, not doubled; a forged one does no harm."""
    first = dead_letters.letter("t.dead", FULL, NOW)
    record = replace(RECORD, headers=tuple(first.headers or ()), offset=77)
    again = dead_letters.letter("t.dead", replace(FULL, record=record), NOW + timedelta(days=1))
    forged = replace(RECORD, headers=(("error-attempts", b"x"), ("error-first-at", b"\xff")))
    taken = texts(dead_letters.letter("t.dead", replace(FULL, record=forged), NOW).headers)

    headers = texts(again.headers)
    assert len(again.headers or ()) == len(first.headers or ())
    assert (headers["error-attempts"], headers["error-offset"]) == ("2", "77")
    assert headers["error-first-at"] == "2026-03-01T08:30:00"
    assert (taken["error-attempts"], taken["error-first-at"]) == ("1", "2026-03-01T08:30:00")


def test_a_letter_too_large_for_the_broker_goes_out_without_its_value() -> None:
    """First the value goes, and says where it is; then the record's headers; then its key."""
    whole = dead_letters.letter("t.dead", FULL, NOW)
    steps = [whole]
    while (smaller := dead_letters.smaller(steps[-1])) is not None:
        steps.append(smaller)

    assert [(each.key, each.value) for each in steps[1:]] == [
        (b"\xffkey", b""),
        (b"\xffkey", b""),
        (None, b""),
    ]
    assert texts(steps[1].headers)["error-value"] == "at-source"
    assert "trace" in texts(steps[1].headers)
    assert "trace" not in texts(steps[2].headers)
    assert FITS(texts(steps[3].headers))


def test_only_refused_records_get_a_letter() -> None:
    """Stored is stored; whatever is refused, by the library or before it, is kept."""
    assert dead_letters.is_refused(FULL)
    assert dead_letters.is_refused(EARLY)
    assert not dead_letters.is_refused(replace(FULL, status="unchanged"))


@pytest.fixture(name="own")
def _own(tmp_path: Path, broker: str) -> Settings:
    """Give settings whose topic of dead letters holds a few."""
    own = told(tmp_path, "redis://127.0.0.1:1", broker)
    name = topics.full(own, topics.DEAD_LETTERS)
    answers: list[Outcome | Refusal] = [
        replace(FULL, record=replace(RECORD, offset=number)) for number in range(3)
    ]
    answers += [replace(EARLY, record=replace(RECORD, offset=9, value=None))]
    letters = [dead_letters.letter(name, each, NOW) for each in answers]
    box = Outbox(topics.client_config(own))
    # The first came twice, as after a killed worker; the last is none of ours.
    box.send([*letters, letters[0], Letter(name, b"?", b"?")])
    box.close()
    return own


def test_letters_are_listed_by_reason_topic_and_kind(own: Settings) -> None:
    """Each record counts once, the largest group stands first."""
    groups = dead_letters.listing(own)

    assert [(group.reason, group.topic, group.kind, group.count) for group in groups] == [
        ("stale", "t.rows", "Thing", 3),
        ("", "", None, 1),
        ("undecodable", "t.rows", None, 1),
    ]
    assert 0 < groups[0].oldest <= groups[0].newest


def test_one_letter_is_shown_with_its_bytes_and_what_to_do(own: Settings) -> None:
    """Found by where the refused record stood, or by where the letter stands."""
    by_source = dead_letters.show(own, 2, 1, "t.rows")
    assert by_source is not None
    by_place = dead_letters.show(own, by_source.partition, by_source.offset)

    assert by_place == by_source
    assert (by_source.place, by_source.reason) == ("t.rows/2/1", "stale")
    assert (by_source.key, by_source.value) == (b"\xffkey", b"\x00\xff")
    assert (by_source.text(), by_source.hex()) == ("\x00\\xff", "00 ff")
    assert by_source.headers == (("trace", b"\xfe"),)
    assert "What to do:" in by_source.advice()
    assert dead_letters.show(own, 2, 99, "t.rows") is None


def test_a_tombstone_has_no_text(own: Settings) -> None:
    """A record without a value is kept without one."""
    found = dead_letters.show(own, 2, 9, "t.rows")

    assert found is not None
    assert (found.value, found.text(), found.hex()) == (None, None, None)
