"""Which graph a memory lives in: one shared world, and one graph for each tenant."""

import secrets

import pytest
from falkordb import FalkorDB

from lighthouse import WORLD, Kind, ensure_schema, history, remember, tenant, world

THING = Kind("Thing")


def test_the_shared_graph_is_the_world(db: FalkorDB) -> None:
    """It is named `world`."""
    assert WORLD == "world"
    assert world(db).name == "world"


@pytest.mark.parametrize("tenant_id", ["a", "0", "a-b_c", "9_-", "world", "x" * 63])
def test_a_tenant_has_the_graph_of_its_name(db: FalkorDB, tenant_id: str) -> None:
    """1 to 63 of a-z, 0-9, `_` and `-`, with a letter or a digit first; no name meets the world."""
    assert tenant(db, tenant_id).name == f"tenant:{tenant_id}"


@pytest.mark.parametrize(
    "tenant_id",
    [
        *[
            "",
            "A",
            "aB",
            "_a",
            "-a",
            "a b",
            " a",
            "a ",
            "a\n",
            "\na",
            "a.b",
            "a:b",
            "a/b",
            "x" * 64,
        ],
        *["é", "\uff41", "a\u0663", "\u0663", "a\0", None, 5, b"a", ["a"], True],
    ],
)
def test_another_id_is_refused(db: FalkorDB, tenant_id: object) -> None:
    """Upper case, other alphabets' digits, a line break at the end, and what is no text."""
    with pytest.raises(ValueError, match="tenant id"):
        tenant(db, tenant_id)


def test_naming_a_graph_writes_nothing(db: FalkorDB) -> None:
    """A graph comes to be with its schema, not by being asked for."""
    name = f"t{secrets.token_hex(6)}"

    tenant(db, name)
    world(db)

    assert f"tenant:{name}" not in db.list_graphs()


def test_tenants_do_not_see_each_other(db: FalkorDB) -> None:
    """A row of one is in no other graph, though both have the schema and the key."""
    one, other = (tenant(db, f"t{secrets.token_hex(6)}") for _ in range(2))
    for graph in (one, other):
        ensure_schema(graph, [THING])

    remember(one, THING, [{"key": "k", "t": "2026-01-01"}], by="feed")

    assert len(history(one, THING, "k")) == 1
    assert history(other, THING, "k") == []
    one.delete()
    other.delete()
