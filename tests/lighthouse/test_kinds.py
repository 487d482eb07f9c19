"""What an application may declare as a kind of entity, and what each wrong declaration says."""

from dataclasses import FrozenInstanceError
from types import MappingProxyType

import pytest

from lighthouse import SELF, Kind
from lighthouse.kinds import reach

RESERVED_LABELS = [
    *[
        "State",
        "WriteFailure",
        "Task",
        "Agent",
        "Episode",
        "Entry",
        "Handoff",
        "Lesson",
        "Playbook",
    ],
    *["Step", "Trigger", "Entity", "Stamp", "Session", "Message", "Reference", "Forgotten"],
]
RESERVED_NAMES = [
    *[
        "fp",
        "valid_from",
        "valid_to",
        "recorded_at",
        "by",
        "seen_last",
        "entry",
        "words",
        "provenance",
    ],
]
NO_IDENTIFIERS = [
    "",
    "1a",
    "a b",
    "a-b",
    "a.b",
    "a:b",
    "é",
    "a`",
    "a\n",
    "x" * 101,
    "\uff41",
    5,
    None,
    b"a",
]
ROOM = Kind("Room")


def test_a_label_is_enough() -> None:
    """The key is called `key`; there are no times, relations, texts or vectors."""
    kind = Kind("Thing")

    assert (kind.label, kind.key, kind.times, kind.text, kind.dimensions) == (
        "Thing",
        "key",
        (),
        (),
        0,
    )
    assert dict(kind.relations) == {}


def test_lists_are_kept_as_tuples_and_relations_as_a_read_only_map() -> None:
    """What the caller does to its own list or map afterwards changes nothing."""
    times, text, relations = ["built"], ["note"], {"IN": ROOM}
    kind = Kind("Thing", times=times, text=text, relations=relations, dimensions=4096)

    times.append("more")
    text.append("more")
    relations["MORE"] = ROOM

    assert (kind.times, kind.text, kind.dimensions) == (("built",), ("note",), 4096)
    assert isinstance(kind.relations, MappingProxyType)
    assert dict(kind.relations) == {"IN": ROOM}


def test_self_stands_for_the_kind_under_declaration() -> None:
    """`SELF`, the text `self`, is replaced by the Kind itself; such a Kind can still be printed."""
    kind = Kind("Thing", relations={"NEAR": SELF, "IN": ROOM})

    assert SELF == "self"
    assert kind.relations["NEAR"] is kind
    assert kind.relations["IN"] is ROOM
    assert "Thing" in repr(kind)


def test_a_kind_cannot_be_changed() -> None:
    """Assignment raises FrozenInstanceError, and so does a name that it does not have."""
    for name in ("label", "key", "times", "relations", "text", "dimensions", "more"):
        with pytest.raises(FrozenInstanceError):
            setattr(ROOM, name, "Other")


def test_kinds_are_compared_by_identity() -> None:
    """Two equal declarations are two Kinds, with hashes of their own."""
    one, other = Kind("Thing"), Kind("Thing")

    assert one != other
    assert len({one, other, one}) == 2
    assert [other, one].index(one) == 1


@pytest.mark.parametrize(
    "label", ["a", "_", "A1_b", "x" * 100, "Vectors", "ToEmbedded", "state", "self"]
)
def test_an_identifier_is_a_label(label) -> None:
    """Labels near the reserved ones are free: they differ in case or go on."""
    assert Kind(label).label == label


@pytest.mark.parametrize(
    "label", [*NO_IDENTIFIERS, *RESERVED_LABELS, "ThingVector", "Vector", "ThingToEmbed"]
)
def test_a_label_that_cannot_be_kept_is_refused(label) -> None:
    """No identifier of 1 to 100, one of the library's, or one that ends as its vector labels do."""
    with pytest.raises(ValueError, match="label"):
        Kind(label)


@pytest.mark.parametrize("name", [*NO_IDENTIFIERS, *RESERVED_NAMES])
@pytest.mark.parametrize("argument", ["key", "times", "text"])
def test_a_property_that_cannot_be_kept_is_refused(argument, name) -> None:
    """Neither as key nor among times or texts; the error says which argument it was."""
    with pytest.raises(ValueError, match=f"^{argument}: "):
        Kind("Thing", **{argument: name if argument == "key" else ["good", name]})


@pytest.mark.parametrize("edge", [*NO_IDENTIFIERS, "HAS_STATE", "NEXT"])
def test_a_relation_that_cannot_be_kept_is_refused(edge) -> None:
    """No identifier, or one of the two edges that hold a history together."""
    with pytest.raises(ValueError, match="relation"):
        Kind("Thing", relations={"IN": ROOM, edge: ROOM})


@pytest.mark.parametrize("edge", ["ABOUT", "CITES", "FROM", "next", "NEXT_TO"])
def test_other_edges_of_the_library_are_not_refused(edge) -> None:
    """The contract leaves them to the caller."""
    assert Kind("Thing", relations={edge: ROOM}).relations[edge] is ROOM


@pytest.mark.parametrize("target", ["Room", "SELF", None, 5, Kind, "", ["self"]])
def test_a_target_is_a_kind_or_self(target) -> None:
    """A label is no target: the Kind says by which property one is identified."""
    with pytest.raises(TypeError, match="IN"):
        Kind("Thing", relations={"IN": target})


@pytest.mark.parametrize("relations", [None, [], [("IN", ROOM)], "IN", ROOM, {"IN"}])
def test_relations_are_a_map(relations) -> None:
    """A list of pairs is not read as one."""
    with pytest.raises(TypeError, match="relations must be a map"):
        Kind("Thing", relations=relations)


@pytest.mark.parametrize("argument", ["times", "text"])
@pytest.mark.parametrize("given", ["built", "", None, 5])
def test_times_and_text_are_lists_of_names(argument, given) -> None:
    """One text would be read letter by letter."""
    with pytest.raises(TypeError):
        Kind("Thing", **{argument: given})


def test_the_key_is_no_time() -> None:
    """It may be listed as text, where it is never found; as a time it is refused."""
    assert Kind("Thing", key="serial", text=["serial"]).text == ("serial",)
    with pytest.raises(ValueError, match="'serial' cannot be a time"):
        Kind("Thing", key="serial", times=["serial"])


def test_no_value_is_both_text_and_a_time() -> None:
    """A time has no words."""
    with pytest.raises(ValueError, match="'built' cannot be both"):
        Kind("Thing", times=["built"], text=["note", "built"])


@pytest.mark.parametrize("dimensions", [-1, 4097, True, 1.0, "3", None])
def test_dimensions_are_a_whole_number_up_to_4096(dimensions) -> None:
    """A truth value or a float is not read as a number."""
    with pytest.raises(ValueError, match="dimensions must be a whole number from 0 to 4096"):
        Kind("Thing", text=["note"], dimensions=dimensions)


def test_vectors_need_text() -> None:
    """Without a text there is nothing to embed."""
    with pytest.raises(ValueError, match="dimensions need text"):
        Kind("Thing", dimensions=1)

    assert Kind("Thing", text=["note"], dimensions=1).dimensions == 1


def test_relations_are_followed_through_all_kinds_once() -> None:
    """What is reached in several steps counts, and a circle ends."""
    city = Kind("City", relations={"NEAR": SELF})
    house = Kind("House", relations={"IN": city, "NEXT_TO": SELF})
    thing = Kind("Thing", relations={"IN": house, "OWNED_IN": city})

    assert reach([thing]) == [thing, house, city]
    assert reach([city, thing, city]) == [city, thing, house]
    assert reach([]) == []


def test_one_label_has_one_key() -> None:
    """Two Kinds of a label with different keys cannot be taken in together, nor far apart."""
    serial = Kind("Thing", key="serial")
    far = Kind("House", relations={"HAS": Kind("Box", relations={"HOLDS": serial})})

    assert len(reach([Kind("Thing"), Kind("Thing")])) == 2
    with pytest.raises(ValueError, match="Thing have different keys"):
        reach([Kind("Thing"), serial])
    with pytest.raises(ValueError, match="Thing have different keys"):
        reach([Kind("Thing"), far])
