"""Sources: a topic is bound to who writes, for which tenant, which kinds, with what provenance."""

from typing import Any

import pytest

from streams import bindings
from streams.bindings import FromGroup, FromHeader, Source, WrongKeyError

KINDS = ("Plane", "Airport")
PREFIX = "lighthouse."


def one(**table: Any) -> Source:
    """Build the source of one table, with a topic and a writer unless they are given."""
    return bindings.sources([{"topic": "rows", "by": "feed", **table}], KINDS, PREFIX)[0]


def test_a_short_table_means_the_world_and_all_kinds() -> None:
    """Only a topic and a writer are needed: the world, every kind, no provenance, not trusted."""
    source = one()

    assert (source.tenant, source.kinds, source.provenance) == ("world", None, None)
    assert (source.contract, source.trusted, source.pattern) == ("rows", False, None)


@pytest.mark.parametrize(
    ("topic", "is_pattern"),
    [
        ("rows", False),
        # these three are part of Kafka's names, so they make no pattern
        ("rows.a-b_c", False),
        ("rows.(a|b)", True),
        (r"rows\.a", True),
        ("rows.[a-z]+", True),
    ],
)
def test_a_name_is_told_from_a_pattern(topic: str, *, is_pattern: bool) -> None:
    """A topic is a pattern only when it holds more than the characters of a topic's name."""
    assert (one(topic=topic).pattern is not None) == is_pattern


def test_a_pattern_is_matched_behind_the_prefix() -> None:
    """A pattern fits whole names that begin with the prefix, whose dot is a dot."""
    pattern = one(topic="rows[.](?P<tenant>[a-z]+)|rows", by={"group": "tenant"}).pattern

    assert pattern is not None
    assert pattern.fullmatch("lighthouse.rows.acme")
    assert pattern.fullmatch("lighthouse.rows")
    assert not pattern.fullmatch("lighthouseXrows.acme")
    assert not pattern.fullmatch("rows")


@pytest.mark.parametrize(
    ("topic", "contract"),
    [("rows", "rows"), ("entries.a", "entries"), (r"messages\.(?P<t>.+)", "messages")],
)
def test_the_first_part_of_a_topic_is_its_contract(topic: str, contract: str) -> None:
    """A topic whose first part is a contract needs no `contract`."""
    assert one(topic=topic).contract == contract


def test_a_contract_can_be_named() -> None:
    """Any other topic names its contract."""
    assert one(topic="planes", contract="rows").contract == "rows"


def test_groups_and_headers_bind() -> None:
    """Writer and tenant may come from a group of the pattern, or a trusted source's header."""
    source = one(
        topic="rows[.](?P<tenant>[a-z]+)",
        by={"header": "agent"},
        tenant={"group": "tenant"},
        trusted=True,
    )

    assert source.by == FromHeader("agent")
    assert source.tenant == FromGroup("tenant")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"topic": 3}, "sources[0].topic: 3 is not a topic"),
        ({"topic": ""}, "sources[0].topic: '' is not a topic"),
        ({"topic": "rows.("}, "sources[0].topic: 'rows.(' is not a regular expression"),
        # what the worker writes must not come back as input
        ({"topic": "receipts"}, "sources[0].topic: 'receipts' is a topic that the worker writes"),
        ({"topic": "dead-letters"}, "sources[0].topic: 'dead-letters' is a topic that the worker"),
        ({"topic": "planes"}, "sources[0].contract: is missing"),
        ({"contract": "row"}, "sources[0].contract: 'row' is not known; allowed: rows, entries"),
        ({"by": ""}, "sources[0].by: '' cannot name a writer"),
        ({"by": " feed"}, "sources[0].by: ' feed' cannot name a writer"),
        ({"by": "x" * 201}, "1 to 200 visible characters"),
        ({"by": 3}, "sources[0].by: 3 is not a binding"),
        ({"by": {"group": "a", "header": "b"}}, "is not a binding"),
        ({"by": {"topic": "a"}}, "is not a binding"),
        ({"by": {"group": "a"}}, "sources[0].by: the topic has no group 'a'"),
        (
            {"topic": "rows(?P<b>x)", "contract": "rows", "by": {"group": "a"}},
            "allowed: the pattern's named groups (b)",
        ),
        ({"by": {"header": "a"}}, "sources[0].by: a header is read only from a trusted source"),
        ({"tenant": {"header": "a"}}, "sources[0].tenant: a header is read only from a trusted"),
        ({"tenant": "ACME"}, "sources[0].tenant: 'ACME' is not a tenant"),
        ({"tenant": ""}, "sources[0].tenant: '' is not a tenant"),
        (
            {"kinds": ["Boat"]},
            "sources[0].kinds: the kind 'Boat' is not declared; allowed: Airport",
        ),
        ({"kinds": []}, "sources[0].kinds: [] is not a list of kinds"),
        ({"kinds": "Plane"}, "sources[0].kinds: 'Plane' is not a list of kinds"),
        ({"provenance": "guess"}, "sources[0].provenance: 'guess' is not known; allowed: sensor"),
        ({"trusted": "yes"}, "sources[0].trusted: 'yes' is not a truth value"),
        ({"topics": "rows"}, "sources[0].topics: unknown key; allowed: topic, contract"),
    ],
)
def test_a_wrong_table_names_its_key(table: dict[str, Any], told: str) -> None:
    """Each mistake names the table, the key, and what may stand there."""
    with pytest.raises(WrongKeyError) as caught:
        one(**table)

    assert told in str(caught.value)
    assert "; allowed: " in str(caught.value)


@pytest.mark.parametrize("missing", ["topic", "by"])
def test_topic_and_writer_are_asked_for(missing: str) -> None:
    """A table without a topic or without a writer is refused."""
    table = {"topic": "rows", "by": "feed"}
    del table[missing]

    with pytest.raises(WrongKeyError, match=rf"sources\[0\]\.{missing}: is missing"):
        bindings.sources([table], KINDS, PREFIX)


def test_a_topic_is_bound_once() -> None:
    """Two tables for one topic are refused: which of them counts would be chance."""
    table = {"topic": "rows", "by": "feed"}

    with pytest.raises(WrongKeyError, match=r"sources\[1\]\.topic: 'rows' is bound already"):
        bindings.sources([table, table], KINDS, PREFIX)


@pytest.mark.parametrize("tables", [3, ["rows"]])
def test_sources_are_a_list_of_tables(tables: object) -> None:
    """Anything but a list of tables is refused."""
    with pytest.raises(WrongKeyError, match="sources"):
        bindings.sources(tables, KINDS, PREFIX)
