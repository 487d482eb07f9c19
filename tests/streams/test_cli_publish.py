"""`publish` as people run it: options over a mapping file, what is told, and how it ends."""

import gzip
import json
from pathlib import Path

import pytest
from confluent_kafka import Message

from streams import cli_publish, offsets, publish, topics
from streams.errors import UsageError
from streams.mapping import Mapping
from streams.settings import Settings
from tests.commands import run, settled

PLANES = "tail,at,seats,to\nN1,2026-01-01,55,EWR\nN2,2026-01-02,NA,IAH\n"
MAPPED = ("--kind", "Plane", "--key", "tail", "--time", "at")


@pytest.fixture(name="told")
def _told(broker: str, tmp_path: Path) -> Settings:
    """Give settings with a prefix of this test's own, kept in its folder for the program."""
    told = settled(tmp_path, broker, more="max_record_bytes = 2000")
    topics.create(told)
    (tmp_path / "a.csv").write_text(PLANES)
    return told


def stored(told: Settings) -> list[Message]:
    """Read what the topic of rows holds."""
    with offsets.reader(topics.client_config(told), "look") as consumer:
        places = offsets.partitions(consumer, [topics.full(told, "rows")])
        return list(offsets.last(consumer, places, 100))


def test_a_file_is_published_and_counted(told: Settings, tmp_path: Path) -> None:
    """The count is the answer; the progress bar goes beside it."""
    ended = run("publish", "a.csv", *MAPPED, "--relation", "AT=to", cwd=tmp_path)

    rows = {m.key(): json.loads(m.value()) for m in stored(told)}
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == f"2 rows published to {topics.full(told, 'rows')}\n"
    assert "publishing" in ended.stderr
    assert rows[b"Plane/N1"]["values"] == {"seats": 55}
    assert rows[b"Plane/N2"] == {
        "kind": "Plane",
        "key": "N2",
        "t": "2026-01-02",
        "values": {},
        "relations": {"AT": "IAH"},
    }


def test_what_is_not_published_is_named_and_ends_with_1(told: Settings, tmp_path: Path) -> None:
    """Line, size and what to do; the lines around it are published."""
    (tmp_path / "a.csv").write_text(f"{PLANES}N3,2026-01-03,{'x' * 3000},EWR\nN4,2026\nN5,2026,,\n")

    shown = run("publish", "a.csv", *MAPPED, cwd=tmp_path)
    as_json = json.loads(run("publish", "a.csv", *MAPPED, "--json", cwd=tmp_path).stdout)

    assert shown.returncode == 1
    assert shown.stdout.startswith("3 rows published")
    assert "line 4 (3," in shown.stderr
    assert "larger than the broker takes (2,000 bytes)" in shown.stderr
    assert "line 5 not published: 2 cells under 4 columns" in shown.stderr
    assert as_json["published"] == 3
    assert [unsent["number"] for unsent in as_json["unsent"]] == [4, 5]


def test_json_lines_without_a_mapping_are_rows_already(told: Settings, tmp_path: Path) -> None:
    """They go out byte for byte, gzipped files too."""
    line = b'{"kind": "Plane", "key": "N1", "t": "2026-01-01", "values": {}}'
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(line + b"\n"))

    ended = run("publish", "a.jsonl.gz", cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert [(m.key(), m.value()) for m in stored(told)] == [(b"Plane/N1", line)]


def test_a_topic_that_is_not_there_ends_with_2(told: Settings, tmp_path: Path) -> None:
    """It says how topics are made, and makes none."""
    ended = run("publish", "a.csv", *MAPPED, "--topic", "rwos", cwd=tmp_path)

    assert ended.returncode == 2
    assert "topics create" in ended.stderr
    assert topics.full(told, "rwos") not in topics.existing(topics.admin(told))


def test_options_win_over_the_mapping_file(tmp_path: Path) -> None:
    """What an option does not say stays as the file has it."""
    file = tmp_path / "m.toml"
    file.write_text('kind = "A"\nkey = "k"\ntime = "t"\n[values]\nx = "y"\n')
    options = {"kind": "B", "key": None, "value": None, "relation": ["AT=to"], "null": ["-"]}

    made = cli_publish.mapping_of(file, options)

    assert made == Mapping("B", "k", "t", {"x": "y"}, {"AT": "to"}, null=("-",))
    assert cli_publish.mapping_of(None, {"kind": None, "value": None}) is None


@pytest.mark.parametrize("word", ["x", "=x", "x="])
def test_a_pair_has_two_sides(word: str) -> None:
    """--value and --relation take NAME=COLUMN."""
    with pytest.raises(UsageError, match="--value takes NAME=COLUMN"):
        cli_publish.mapping_of(None, {"value": [word]})


def test_a_csv_file_needs_a_mapping(tmp_path: Path) -> None:
    """It says which options make one."""
    (tmp_path / "a.csv").write_text(PLANES)

    ended = run("publish", "a.csv", "--dry-run", cwd=tmp_path)

    assert ended.returncode == 2
    assert "--kind, --key and --time, or --mapping FILE" in ended.stderr


def test_many_lines_are_not_all_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """The first twenty are, and how many more there are."""
    unsent = [publish.Unsent(number, 0, "why") for number in range(25)]

    with pytest.raises(Exception, match="1"):
        cli_publish.finish(publish.Result(3, unsent), "t", as_json=False)

    told = capsys.readouterr().err.splitlines()
    assert len(told) == 21
    assert "and 5 more" in told[-1]
