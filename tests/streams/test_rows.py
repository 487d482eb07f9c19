"""The stages of the rows agent: each record of a batch is routed or refused, written, answered."""

import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest
from falkordb import FalkorDB

from streams import outbox, reading, topics
from streams.errors import ServerMissing
from streams.events import Outcome, Record, Refusal
from streams.identity import TopicIds
from streams.measures import Measures
from streams.outbox import Outbox
from streams.pressure import Abandoned, Pressure
from streams.route import Router
from streams.rows import Answers, RowStages
from streams.settings import Settings
from streams.write import Graphs, Writer
from tests.working import graph_name, row, told


@dataclass(frozen=True)
class Slice:
    """Some values as records of one topic, under their own keys."""

    topic: str
    values: list[tuple[bytes, bytes]]

    def records(self, topic_id: str) -> list[Record]:
        """Give the records."""
        return [
            Record(self.topic, topic_id, 0, at, 0, key, value)
            for at, (key, value) in enumerate(self.values)
        ]


@pytest.fixture(name="own")
def _own(tmp_path: Path, graph_url: str, broker: str, db: FalkorDB) -> Iterator[Settings]:
    """Give settings of this test's own; its graph is deleted afterwards."""
    own = told(tmp_path, graph_url, broker)
    yield own
    if graph_name(own) in db.list_graphs():
        db.select_graph(graph_name(own)).delete()


@pytest.fixture(name="measured")
def _measured() -> Measures:
    return Measures()


@pytest.fixture(name="stages")
def _stages(own: Settings, graph_url: str, measured: Measures) -> Iterator[RowStages]:
    graphs = Graphs(lambda: FalkorDB.from_url(graph_url))
    box = Outbox(topics.client_config(own))
    pressure = Pressure(lambda: False)
    yield RowStages(
        ids=TopicIds(lambda names: dict.fromkeys(names, "the-id")),
        router=Router(own),
        writer=Writer(graphs, own.kinds.values(), pressure),
        outbox=box,
        answers=outputs(own),
        pressure=pressure,
        measures=measured,
        max_record_bytes=2_000,
    )
    box.close()
    graphs.close()


def outputs(own: Settings) -> Answers:
    """Name the topics of the answers."""
    return Answers(topics.full(own, topics.RECEIPTS), topics.full(own, topics.DEAD_LETTERS))


def line(under: bytes = b"", **fields: object) -> tuple[bytes, bytes]:
    """Make a record of a Thing."""
    made = row("a", "2026-01-01", n=1) | fields
    return under or f"{made['kind']}/{made['key']}".encode(), orjson.dumps(made)


def found(own: Settings, topic: str) -> list:
    """Read all messages of a topic."""
    return list(reading.records(topics.client_config(own), topic))


def test_a_batch_is_routed_written_and_answered(
    own: Settings, stages: RowStages, measured: Measures
) -> None:
    """Every record has one receipt, the refused ones a dead letter, and all are counted."""
    name = topics.full(own, "rows")
    batch = Slice(
        name,
        [
            line(),
            line(b"off"),
            line(t="2026-01-02", values={"n": 2}),
            line(key=" b"),
            line(kind="Nothing"),
            (b"k", b"{"),
            (b"k", b'"' + b"x" * 3_000 + b'"'),
        ],
    )

    prepared = stages.prepare([batch])
    answers = stages.write(prepared)
    stages.answer(answers)

    statuses = Counter(
        each.reason if isinstance(each, Refusal) else each.status for each in answers
    )
    assert statuses == Counter(
        ["created", "unchanged", "changed", "invalid", "unknown-kind", "undecodable", "too-large"]
    )
    assert [len(call.rows) for call in prepared.calls] == [4]
    receipts = [orjson.loads(m.value()) for m in found(own, outputs(own).receipts)]
    assert Counter(each["status"] for each in receipts) == statuses
    assert {(each["topic"], each["topic_id"]) for each in receipts} == {(name, "the-id")}
    dead = found(own, outputs(own).dead_letters)
    assert {m.value() for m in dead} == {batch.values[n][1] for n in (3, 4, 5, 6)}
    total = measured.registry.get_sample_value
    assert total("lighthouse_off_key_records_total", {"topic": name}) == 1
    assert total("lighthouse_receipts_total") == 7
    assert total("lighthouse_dead_letters_total", {"reason": "too-large"}) == 1
    assert total("lighthouse_batch_records_sum") == 4


def test_a_refusal_names_the_source_of_its_topic(own: Settings, stages: RowStages) -> None:
    """Who wrote a record that could not be read, and for which graph, comes from the settings."""
    answers = stages.write(stages.prepare([Slice(topics.full(own, "rows"), [(b"k", b"{")])]))

    assert [(each.by, each.graph) for each in answers] == [("feed", graph_name(own))]


def test_answers_too_large_for_the_broker_shrink_and_the_work_goes_on(
    own: Settings, stages: RowStages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead letter goes out without its value, a receipt without its reason or key."""
    # The limit is the client's here: Tansu takes records of any size.
    monkeypatch.setattr(outbox, "LARGEST_BYTES", 20_000)
    small = Outbox(topics.client_config(own))
    monkeypatch.setattr(stages, "_outbox", small)
    large = Record(topics.full(own, "rows"), "the-id", 0, 1, 0, b"k", b"x" * 50_000)
    keyed = Record(topics.full(own, "rows"), "the-id", 0, 2, 0, b"k" * 50_000, b"x")
    refusals = [Refusal(large, "schema", "wrong"), Refusal(keyed, "schema", "wrong")]
    fine = Outcome(large, "world", "Thing", "a", "2026", "created")

    stages.answer([*refusals, fine])
    small.close()

    dead = {dict(m.headers())["error-offset"]: m for m in found(own, outputs(own).dead_letters)}
    assert dict(dead[b"1"].headers())["error-value"] == b"at-source"
    assert (dead[b"1"].value(), dead[b"2"].value()) == (b"", b"")
    assert (dead[b"1"].key(), dead[b"2"].key()) == (b"k", None)
    receipts = found(own, outputs(own).receipts)  # those that fit may be there twice
    kept = {(orjson.loads(m.value()).get("reason"), m.key()) for m in receipts}
    assert kept == {("wrong", b"k"), (None, None), (None, b"k")}


def test_a_stop_while_the_broker_is_away_abandons_the_batch(own: Settings) -> None:
    """The wait for a topic's id, as that for answers, ends when the work is given up."""

    def away(_: object) -> dict[str, str]:
        raise ServerMissing

    pressure = Pressure(lambda: True)
    stages = RowStages(
        ids=TopicIds(away),
        router=Router(own),
        writer=Writer(Graphs(FalkorDB), (), pressure),
        outbox=None,  # type: ignore[arg-type]
        answers=outputs(own),
        pressure=pressure,
        measures=Measures(),
        max_record_bytes=2_000,
    )

    with pytest.raises(Abandoned):
        stages.prepare([Slice(f"t-{secrets.token_hex(2)}", [line()])])
