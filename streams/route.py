"""Where does a row go, and who says it?

The settings decide by the topic; what a record says of itself never counts.
"""

import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import SimpleNamespace

import lighthouse
from lighthouse import Kind
from streams import topics
from streams.bindings import Binding, FromGroup, FromHeader, Source
from streams.decode import refuse
from streams.events import Record, Refusal, Routed, Row
from streams.settings import Settings

#: Most characters of the name of a writer.
LONGEST_NAME = 200

#: Most kinds that a refusal names, and most characters of what a record says.
_NAMED = 20
_SHOWN = 60
#: Stands for a client of the database: the library checks a tenant's id and names its graph.
_NAMES = SimpleNamespace(select_graph=str)


class _NotAllowed(Exception):
    """The source of a record does not let it be written."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """A source as it holds for one topic: writer and graph are known, or are read from a header."""

    source: Source
    kinds: Mapping[str, Kind]
    by: str | FromHeader
    graph: str | FromHeader


class Router:
    """Routes rows by the sources of the settings. May be used by several threads."""

    def __init__(self, settings: Settings) -> None:
        """Take the settings; a topic is looked up in them when its first row comes."""
        self._settings = settings
        self._bound: dict[str, _Bound | str] = {}

    def source_for(self, topic: str) -> Source | None:
        """Return the source of a topic, given by its full name; None where the settings bind none.

        Raises SettingsError when the patterns of two sources match it.
        """
        found = topics.resolve(self._settings, [topic]).get(topic)
        return found[0] if found else None

    def route(self, row: Row) -> Routed | Refusal:
        """Tell the Kind, the graph, the writer and the provenance of a row.

        Refuses as unknown-kind what the settings do not declare, and as not-allowed what the source
        of the row's topic may not write. Raises SettingsError as `source_for` does.
        """
        bound = self._for(row.record.topic)
        if isinstance(bound, str):
            return self._refused(row, bound)
        if (kind := bound.kinds.get(row.kind)) is None:
            return self._refused_kind(row, bound.source)
        by, graph = bound.by, bound.graph
        if isinstance(by, str) and isinstance(graph, str):
            return Routed(row, kind, graph, by, bound.source.provenance)
        try:
            graph = _graph_of(row.record, bound)
            by = _writer_of(row.record, bound)
        except _NotAllowed as wrong:
            return self._refused(row, str(wrong))
        return Routed(row, kind, graph, by, bound.source.provenance)

    def attribute(self, refusal: Refusal) -> Refusal:
        """Add to a refusal who wrote the record and for which graph, as far as its source says."""
        bound = self._for(refusal.record.topic)
        if isinstance(bound, str):
            return refusal
        record = refusal.record
        return replace(
            refusal, by=_known(_writer_of, record, bound), graph=_known(_graph_of, record, bound)
        )

    def _for(self, topic: str) -> _Bound | str:
        """Give what holds for a topic, or why nothing may be written from it."""
        bound = self._bound.get(topic)
        if bound is None:
            bound = self._bound[topic] = self._bind(topic)
        return bound

    def _bind(self, topic: str) -> _Bound | str:
        found = topics.resolve(self._settings, [topic]).get(topic)
        if found is None:
            return f"no [[sources]] of lighthouse.toml binds the topic {topic}: add one"
        source, groups = found
        kinds = self._settings.kinds
        if source.kinds is not None:
            kinds = {name: kind for name, kind in kinds.items() if name in source.kinds}
        by, tenant = _of_topic(source.by, groups), _of_topic(source.tenant, groups)
        try:
            return _Bound(
                source,
                kinds,
                by if isinstance(by, FromHeader) else _writer(by, source),
                tenant if isinstance(tenant, FromHeader) else _graph(tenant, source),
            )
        except _NotAllowed as wrong:
            return str(wrong)

    def _refused(self, row: Row, detail: str) -> Refusal:
        return self.attribute(refuse(row, "not-allowed", detail))

    def _refused_kind(self, row: Row, source: Source) -> Refusal:
        shown = repr(row.kind[:_SHOWN])
        if row.kind in self._settings.kinds:
            allowed = _listed(source.kinds or ())
            what = f"{_title(source)} may write {allowed}, not {shown}"
            return self._refused(
                row, f"{what}: add it to its kinds, or use the topic of a source that has it"
            )
        there = _listed(self._settings.kinds)
        detail = f"lighthouse.toml declares no kind {shown}; it declares {there}"
        return self.attribute(refuse(row, "unknown-kind", detail))


def _of_topic(binding: Binding, groups: Mapping[str, str]) -> str | FromHeader:
    return groups[binding.name] if isinstance(binding, FromGroup) else binding


def _writer_of(record: Record, bound: _Bound) -> str:
    if isinstance(bound.by, str):
        return bound.by
    return _writer(_header(record, bound.by, bound.source, "by"), bound.source)


def _graph_of(record: Record, bound: _Bound) -> str:
    if isinstance(bound.graph, str):
        return bound.graph
    return _graph(_header(record, bound.graph, bound.source, "tenant"), bound.source)


def _known(read: Callable[[Record, _Bound], str], record: Record, bound: _Bound) -> str | None:
    try:
        return read(record, bound)
    except _NotAllowed:
        return None


def _header(record: Record, header: FromHeader, source: Source, what: str) -> str:
    """Give the text of a header that is there once. Raises _NotAllowed where it is not."""
    values = [value for name, value in record.headers if name == header.name]
    try:
        if len(values) == 1 and values[0] is not None:
            return values[0].decode()
        there = f"has it {len(values)} times" if len(values) > 1 else "does not have it"
    except UnicodeDecodeError:
        there = "has no text in it"
    asked = f"{_title(source)} reads {what} from the header {header.name!r}"
    raise _NotAllowed(f"{asked}, and the record {there}: send it once, with text")


def _writer(text: str, source: Source) -> str:
    if _is_name(text):
        return text
    raise _NotAllowed(
        f"{_title(source)} gives {text[:_SHOWN]!r} as by, which is no name: 1 to {LONGEST_NAME}"
        " visible characters, without white space at the ends"
    )


def _graph(tenant: str, source: Source) -> str:
    if tenant == lighthouse.WORLD:
        return lighthouse.WORLD
    try:
        name: str = lighthouse.tenant(_NAMES, tenant)
        return name
    except ValueError as error:
        given = f"{_title(source)} gives {tenant[:_SHOWN]!r} as tenant"
        raise _NotAllowed(f'{given}, which is none: {error}; or "world"') from error


@lru_cache(maxsize=4096)
def _is_name(text: str) -> bool:
    """Say whether the library takes a text as the name of a writer: it raises on another."""
    if not 0 < len(text) <= LONGEST_NAME or text != text.strip():
        return False
    categories = {unicodedata.category(character) for character in text}
    return not any(category[0] == "C" or category in ("Zl", "Zp") for category in categories)


def _title(source: Source) -> str:
    return f'the source topic = "{source.topic}" of lighthouse.toml'


def _listed(names: Collection[str]) -> str:
    first = sorted(names)[:_NAMED]
    more = f" and {len(names) - len(first)} more" if len(names) > len(first) else ""
    return ", ".join(first) + more if first else "none"
