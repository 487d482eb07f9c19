"""Kinds: built from the settings' tables in the order of their relations, or from a module."""

import sys
from pathlib import Path
from typing import Any

import pytest

from streams import declared_kinds
from streams.bindings import WrongKeyError

HERE = Path()


def test_a_table_becomes_a_kind() -> None:
    """Key, times, text and dimensions of a table are the kind's, and its name is the label."""
    table = {"key": "tail", "times": ["built"], "text": ["model"], "dimensions": 3}

    plane = declared_kinds.kinds({"Plane": table}, HERE)["Plane"]

    assert (plane.label, plane.key) == ("Plane", "tail")
    assert (plane.times, plane.text, plane.dimensions) == (("built",), ("model",), 3)


def test_a_relation_may_point_at_a_kind_declared_later() -> None:
    """Kinds are built in the order of their relations and listed in the order of the file."""
    kinds = declared_kinds.kinds({"Plane": {"relations": {"AT": "Airport"}}, "Airport": {}}, HERE)

    assert kinds["Plane"].relations["AT"] is kinds["Airport"]
    assert list(kinds) == ["Plane", "Airport"]


@pytest.mark.parametrize("target", ["self", "Part"])
def test_a_relation_to_itself(target: str) -> None:
    """The word self, or the kind's own name, is the kind itself."""
    part = declared_kinds.kinds({"Part": {"relations": {"OF": target}}}, HERE)["Part"]

    assert part.relations["OF"] is part


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({"A": {"relations": {"X": "B"}}}, "kinds.A.relations.X: the kind 'B' is not declared"),
        ({"A": {"relations": {"X": 3}}}, "kinds.A.relations.X: the kind 3 is not declared"),
        ({"A": {"relations": "B"}}, "kinds.A.relations: 'B' is not a table"),
        (
            {"A": {"relations": {"X": "B"}}, "B": {"relations": {"Y": "A"}}},
            "kinds.B.relations.Y: the kinds point at each other (A -> B -> A)",
        ),
        ({"A": {"keys": "x"}}, "kinds.A.keys: unknown key; allowed: key, times"),
        ({"A": 3}, "kinds.A: 3 is not a table"),
        # what the library itself refuses is passed on in its words
        ({"State": {}}, "kinds.State: the label State belongs to the library"),
        ({"A": {"key": "valid_from"}}, "kinds.A: key: the name 'valid_from' is reserved"),
        ({"A": {"dimensions": 3}}, "kinds.A: dimensions need text"),
        (3, "kinds: 3 is not known"),
    ],
)
def test_a_wrong_kind_names_its_key(declared: Any, told: str) -> None:
    """Each mistake names the kind and the key."""
    with pytest.raises(WrongKeyError) as caught:
        declared_kinds.kinds(declared, HERE)

    assert told in str(caught.value)


@pytest.fixture(name="module")
def _module(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    """Give a writer of modules whose names no other test has, forgotten afterwards."""
    name = f"kinds_of_{abs(hash(request.node.nodeid))}"

    def write(text: str) -> str:
        (tmp_path / f"{name}.py").write_text(f"from lighthouse import Kind\n{text}\n")
        return name

    yield write
    sys.modules.pop(name, None)


def test_a_module_beside_the_file_gives_kinds(module: Any, tmp_path: Path) -> None:
    """A module's Kind objects are taken by label, and Python's path is left as it was."""
    before = list(sys.path)

    kinds = declared_kinds.kinds(module("boat = Kind('Boat')\nship = boat"), tmp_path)

    assert list(kinds) == ["Boat"]
    assert sys.path == before


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "holds no Kind object"),
        ("a, b = Kind('Boat'), Kind('Boat')", "has two kinds Boat"),
        ("1 / 0", "cannot be imported: ZeroDivisionError"),
        ("def", "cannot be imported: SyntaxError"),
    ],
)
def test_a_module_that_cannot_be_used_is_told(
    text: str, told: str, module: Any, tmp_path: Path
) -> None:
    """A module without kinds, with two of one label, or that fails, is a wrong setting."""
    with pytest.raises(WrongKeyError) as caught:
        declared_kinds.kinds(module(text), tmp_path)

    assert told in str(caught.value)


def test_a_module_that_is_not_there_is_told(tmp_path: Path) -> None:
    """A name that no module has is a mistake of the settings."""
    with pytest.raises(WrongKeyError, match="cannot be imported: ModuleNotFoundError"):
        declared_kinds.kinds("no_such_module_of_kinds", tmp_path)
