"""How contents become columns of a query: names stand in its text, values in flat rows."""

from collections.abc import Iterable
from typing import Any

from lighthouse import clock
from lighthouse.kinds import Kind
from lighthouse.values import exact, words
from lighthouse.write.rows import Content

#: Names of values in one query, which become columns of its text; rows that name more go into several.
MOST_NAMES = 256


class Columns:
    """The columns that a set of contents of one kind needs, from the place `first` of a row on."""

    __slots__ = ("_exact", "_kind", "_names", "_times", "first")

    def __init__(self, kind: Kind, contents: Iterable[Content], first: int) -> None:
        names: dict[str, None] = {}
        times: dict[str, None] = {}
        rounded: dict[str, None] = {}
        for content in contents:
            names.update(dict.fromkeys(content.values))
            times.update(dict.fromkeys(content.times))
            rounded.update((name, None) for name, value in content.values.items() if exact(value))
        self._kind = kind
        self._names = sorted(names)
        self._times = sorted(times)
        self._exact = sorted(rounded)
        self.first = first

    def state(self, row: str = "r") -> str:
        """Write the properties that a State takes from a row of the query."""
        place = self.first
        parts = []
        if self._kind.text:
            parts.append(f"words: {row}[{place}]")
            place += 1
        for edge in self._kind.relations:
            parts.append(f"`to:{edge}`: {row}[{place}]")
            place += 1
        for name in (*self._names, *(f"{name}:exact" for name in self._exact)):
            parts.append(f"`{name}`: {row}[{place}]")
            place += 1
        for name in self._times:
            parts += [
                f"`{name}`: localdatetime({row}[{place}])",
                f"`{name}:us`: {row}[{place + 1}]",
            ]
            place += 2
        return "".join(f", {part}" for part in parts)

    def entity(self, state: str = "s") -> str:
        """Write the properties that an entity takes from its new State."""
        names = ["words"] if self._kind.text else []
        names += [*self._names, *(f"{name}:exact" for name in self._exact)]
        for name in self._times:
            names += [name, f"{name}:us"]
        return "".join(f", `{name}`: {state}.`{name}`" for name in names)

    def cell(self, name: str, row: str = "r") -> str:
        """Write the value of a name of this batch; null where no row of it has one."""
        if name not in self._names:
            return "null"
        before = self.first + bool(self._kind.text) + len(self._kind.relations)
        return f"{row}[{before + self._names.index(name)}]"

    def row(self, content: Content) -> list[Any]:
        """Give the cells of one content."""
        values, times = content.values, content.times
        cells: list[Any] = []
        if self._kind.text:
            cells.append(words(values.get(name) for name in self._kind.text))
        cells += [list(content.targets[edge]) or None for edge in self._kind.relations]
        cells += map(values.get, self._names)
        if self._exact:
            cells += [exact(values.get(name)) for name in self._exact]
        for name in self._times:
            us = times.get(name)
            cells += (None, None) if us is None else (clock.seconds(us), us)
        return cells


def instant(us: int | None) -> tuple[str | None, int | None]:
    """Give the two cells of a time: the engine's text, and the microseconds."""
    return (None, None) if us is None else (clock.seconds(us), us)
