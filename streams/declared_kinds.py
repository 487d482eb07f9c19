"""Which kinds does the memory keep? The `[kinds.X]` tables, or a module of Kind objects."""

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lighthouse import SELF, Kind
from streams.bindings import WrongKeyError

_ALLOWED = ("key", "times", "text", "relations", "dimensions")


def kinds(declared: object, folder: Path) -> Mapping[str, Kind]:
    """Build the kinds by name, from the `[kinds]` tables or a module that `folder` may hold.

    Raises WrongKeyError when one cannot be kept.
    """
    if isinstance(declared, str):
        return MappingProxyType(_from_module(declared, folder))
    if not isinstance(declared, dict):
        raise WrongKeyError(
            "kinds", f"{declared!r} is not known", '[kinds.Name] tables, or "package.module"'
        )
    built: dict[str, Kind] = {}
    for name in declared:
        _build(name, declared, built, ())
    return MappingProxyType({name: built[name] for name in declared})


def _build(
    name: str, declared: dict[str, Any], built: dict[str, Kind], path: tuple[str, ...]
) -> Kind:
    if name in built:
        return built[name]
    table, at = declared[name], f"kinds.{name}"
    _check_keys(table, at)
    relations: dict[str, Any] = {
        edge: _target(target, f"{at}.relations.{edge}", declared, built, (*path, name))
        for edge, target in _relations(table, at).items()
    }
    try:
        built[name] = Kind(
            name,
            **{key: _plain(value) for key, value in table.items()} | {"relations": relations},
        )
    except (TypeError, ValueError) as error:
        raise WrongKeyError(at, str(error), "a kind that the library takes") from error
    return built[name]


def _check_keys(table: object, at: str) -> None:
    if not isinstance(table, dict):
        raise WrongKeyError(at, f"{table!r} is not a table", f"[{at}] with {', '.join(_ALLOWED)}")
    for key in table:
        if key not in _ALLOWED:
            raise WrongKeyError(f"{at}.{key}", "unknown key", ", ".join(_ALLOWED))


def _relations(table: dict[str, Any], at: str) -> dict[str, Any]:
    relations = table.get("relations", {})
    if not isinstance(relations, dict):
        raise WrongKeyError(f"{at}.relations", f"{relations!r} is not a table", '{ EDGE = "Kind" }')
    return relations


def _target(
    target: object, at: str, declared: dict[str, Any], built: dict[str, Kind], path: tuple[str, ...]
) -> Kind | str:
    if target in (SELF, path[-1]):
        return SELF
    if not isinstance(target, str) or target not in declared:
        allowed = ", ".join(('"self"', *declared))
        raise WrongKeyError(at, f"the kind {target!r} is not declared", allowed)
    if target in path:
        circle = " -> ".join((*path[path.index(target) :], target))
        raise WrongKeyError(
            at, f"the kinds point at each other ({circle})", "a circle only of a kind to itself"
        )
    return _build(target, declared, built, path)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _from_module(name: str, folder: Path) -> dict[str, Kind]:
    try:
        with _found_from(folder):
            module = importlib.import_module(name)
    except Exception as error:  # whatever the module's own code raises
        what = f"the module {name!r} cannot be imported: {type(error).__name__}: {error}"
        raise WrongKeyError(
            "kinds", what, "a module on Python's path, or beside the settings file"
        ) from error
    found: dict[str, Kind] = {}
    for value in vars(module).values():
        if isinstance(value, Kind) and found.setdefault(value.label, value) is not value:
            raise WrongKeyError(
                "kinds", f"the module {name!r} has two kinds {value.label}", "one for each label"
            )
    if not found:
        raise WrongKeyError(
            "kinds", f"the module {name!r} holds no Kind object", "a module of Kind objects"
        )
    return found


@contextmanager
def _found_from(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
