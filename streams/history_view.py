"""What is there to show of one entity: its versions, what each pointed at, what never changed?"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import lighthouse
from lighthouse import Kind

#: What the library says about a version itself, beside the values of the row.
ABOUT = (
    *("valid_from", "valid_to", "seen_last", "recorded_at"),
    *("by", "provenance", "fp", "entry", "entries"),
)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of an entity: what the library says about it, its values, and its relations."""

    about: dict[str, Any]
    values: dict[str, Any]
    relations: dict[str, list[Any]]

    def facts(self) -> dict[str, Any]:
        """Give relations that point at something, values and writer as one map, for a table."""
        relations = {name: keys for name, keys in self.relations.items() if keys}
        return relations | self.values | {"by": self.about.get("by")}

    def shown(self) -> dict[str, Any]:
        """Give the version as one map, for JSON."""
        return self.about | {"values": self.values, "relations": self.relations}


def versions(graph: Any, kind: Kind, key: Any, last: int) -> tuple[list[Version], int]:
    """Give the last versions of an entity, oldest first, and how many there are in all.

    Raises ValueError for a key that cannot be one, and what the library raises.
    """
    states = lighthouse.history(graph, kind, key)
    return [_version(graph, kind, key, state) for state in states[-last:]], len(states)


def version_at(graph: Any, kind: Kind, key: Any, when: str) -> Version | None:
    """Give the version that held at a time, None where there was none.

    Raises ValueError for a key or a time that cannot be one, and what the library raises.
    """
    state = lighthouse.as_of(graph, kind, key, when)
    return _version(graph, kind, key, state, when) if state else None


def constant(shown: Iterable[Version]) -> dict[str, Any]:
    """Give what all the versions have in common, by name: no column need repeat it."""
    every = [version.facts() for version in shown]
    first = every[0] if every else {}
    return {
        name: fact
        for name, fact in first.items()
        if all(name in facts and facts[name] == fact for facts in every)
    }


def columns(shown: Iterable[Version]) -> list[str]:
    """Name what differs from version to version: relations first, then values, then the writer."""
    every = list(shown)
    same = constant(every)
    relations = dict.fromkeys(name for v in every for name, keys in v.relations.items() if keys)
    values = sorted({name for version in every for name in version.values})
    return [name for name in (*relations, *values, "by") if name not in same]


def _version(graph: Any, kind: Kind, key: Any, state: dict[str, Any], when: Any = None) -> Version:
    at = when or state["valid_from"]
    return Version(
        {name: state[name] for name in ABOUT if name in state},
        {name: value for name, value in state.items() if name not in ABOUT},
        {name: lighthouse.related(graph, kind, key, name, at) for name in kind.relations},
    )
