"""What `receipts` and `dead-letters` print, read from a real broker."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from streams import cli_answers, topics
from streams.errors import UsageError
from streams.settings import Settings
from tests.commands import command, heed_interrupts, run, settled, surroundings

ROW = b'{"kind":"Plane","key":"N1"}'


@pytest.fixture(name="told")
def _told(broker: str, tmp_path: Path) -> Settings:
    """Give settings with a prefix of this test's own, kept in its folder for the program."""
    told = settled(tmp_path, broker)
    topics.create(told)
    return told


def receipt(offset: int, status: str, **more: Any) -> dict[str, Any]:
    """Make a receipt for the record at an offset."""
    same = {"topic": "t.rows", "topic_id": "id", "partition": 0, "graph": "world", "kind": "Plane"}
    return same | {"offset": offset, "key": f"N{offset}", "t": "2026", "status": status} | more


def send(told: Settings, short: str, *records: tuple[bytes, list | None]) -> None:
    """Put records onto one of our topics."""
    producer = Producer({"bootstrap.servers": told.broker.servers})
    for value, headers in records:
        producer.produce(topics.full(told, short), value, b"k", headers=headers)
    producer.flush(10)


def sent_receipts(told: Settings, *given: dict[str, Any]) -> None:
    """Put receipts onto their topic."""
    send(told, "receipts", *((json.dumps(each).encode(), None) for each in given))


def refused(offset: int, reason: str, detail: str, value: bytes = ROW) -> tuple[bytes, list]:
    """Make a dead letter: its value and headers."""
    named = {"reason": reason, "detail": detail, "topic": "t.rows", "topic-id": "id"}
    named |= {"partition": "0", "offset": str(offset), "kind": "Plane"}
    own = [("trace", b"x1")]
    return value, own + [(f"error-{name}", text.encode()) for name, text in named.items()]


def test_receipts_are_shown_with_a_count_of_all(told: Settings, tmp_path: Path) -> None:
    """The last ones as a table; a receipt that came twice counts once, stored wins over refused."""
    sent_receipts(
        told,
        *(receipt(n, "created") for n in range(3)),
        receipt(2, "unchanged"),
        receipt(3, "invalid", reason='"t" is no time'),
        receipt(4, "failed"),
        receipt(4, "created"),
    )

    shown = run("receipts", "--last", "2", cwd=tmp_path)

    lines = shown.stdout.splitlines()
    assert (shown.returncode, len(lines)) == (0, 3), shown.stderr
    assert lines[0].split() == ["record", "status", "kind", "key", "t", "graph", "reason"]
    assert lines[1].startswith("t.rows/0/3  invalid")
    assert '"t" is no time' in lines[1]
    assert lines[2].startswith("t.rows/0/4  created")
    assert "5 receipts: created 4, invalid 1" in shown.stderr


def test_receipts_as_json(told: Settings, tmp_path: Path) -> None:
    """One document: the counts of all, and the receipts that were asked for."""
    sent_receipts(told, receipt(0, "created"), receipt(1, "invalid"), receipt(2, "created"))

    shown = run("receipts", "--status", "created", "--json", cwd=tmp_path)

    found = json.loads(shown.stdout)
    assert found["counts"] == {"created": 2, "invalid": 1}
    assert [each["offset"] for each in found["receipts"]] == [0, 2]


def test_no_receipts_are_no_error(told: Settings, tmp_path: Path) -> None:
    """There is simply nothing yet."""
    shown = run("receipts", cwd=tmp_path)

    assert shown.returncode == 0
    assert "0 receipts" in shown.stderr


def test_dead_letters_are_listed_by_reason(told: Settings, tmp_path: Path) -> None:
    """Each reason with how many, an example, what it means and what to do."""
    send(
        told,
        "dead-letters",
        *(refused(n, "schema", '"t" is missing') for n in range(3)),
        refused(7, "invalid", "the key is too long"),
    )

    shown = run("dead-letters", "list", cwd=tmp_path)

    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.index("3 schema (Plane, t.rows)") < shown.stdout.index("1 invalid (Plane")
    assert "What to do:" in shown.stdout
    assert "t.rows/0/7  invalid" in shown.stdout
    assert "4 dead letters: schema 3, invalid 1" in shown.stderr


def test_dead_letters_of_one_reason_as_json(told: Settings, tmp_path: Path) -> None:
    """Groups and letters of that reason only."""
    send(told, "dead-letters", refused(1, "schema", "x"), refused(2, "invalid", "y"))

    shown = run("dead-letters", "list", "--reason", "invalid", "--json", cwd=tmp_path)

    found = json.loads(shown.stdout)
    assert [group["reason"] for group in found["groups"]] == ["invalid"]
    assert [letter["record"] for letter in found["dead_letters"]] == ["t.rows/0/2"]


def test_one_dead_letter_is_shown_whole(told: Settings, tmp_path: Path) -> None:
    """Reason, detail, advice, our headers and the record's own, and the value."""
    send(told, "dead-letters", refused(5, "schema", '"t" is missing'))

    shown = run("dead-letters", "show", "t.rows/0/5", cwd=tmp_path)

    assert shown.returncode == 0, shown.stderr
    for words in ("t.rows/0/5: schema", '"t" is missing', "What to do:", "header trace: x1"):
        assert words in shown.stdout
    assert shown.stdout.endswith(f"value, {len(ROW)} bytes:\n{ROW.decode()}\n")


def test_the_bytes_of_a_dead_letter_come_out_unchanged(told: Settings, tmp_path: Path) -> None:
    """--raw gives them to be mended and sent again; --json has them in hexadecimal as well."""
    send(told, "dead-letters", refused(5, "undecodable", "not UTF-8", b"\xff\x00\n"))

    words = ("dead-letters", "show", "t.rows/0/5")
    raw = run(*words, "--raw", cwd=tmp_path, errors="surrogateescape")
    shown = json.loads(run(*words, "--json", cwd=tmp_path).stdout)

    assert raw.stdout.encode(errors="surrogateescape") == b"\xff\x00\n"
    assert shown["hex"] == "ff 00 0a"


@pytest.mark.parametrize(("record", "code"), [("t.rows/0/9", 1), ("t.rows/0", 2), ("7", 2)])
def test_a_record_that_cannot_be_shown(
    told: Settings, tmp_path: Path, record: str, code: int
) -> None:
    """One that is not there ends with 1, what is no record's name with 2."""
    assert run("dead-letters", "show", record, cwd=tmp_path).returncode == code


def test_a_status_that_is_none_is_refused() -> None:
    """With the word that was probably meant."""
    with pytest.raises(UsageError, match=r"chagned \(did you mean changed\?\)"):
        cli_answers.words("--status", ["chagned"], {"changed", "created"})


def test_following_prints_what_comes(told: Settings, tmp_path: Path) -> None:
    """Each receipt is one line, as soon as it is there; Ctrl-C ends it, and is no error."""
    following = subprocess.Popen(
        command("receipts", "--follow", "--json", "--status", "created"),
        cwd=tmp_path,
        env=surroundings(tmp_path),
        stdout=subprocess.PIPE,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - no thread of this process holds a lock it needs
    )
    sent_receipts(told, receipt(1, "invalid"), receipt(2, "created"))

    line = following.stdout.readline()
    following.send_signal(signal.SIGINT)
    rest = following.communicate(timeout=90)[0]

    assert json.loads(line)["offset"] == 2
    assert (rest, following.returncode) == (b"", 0)
