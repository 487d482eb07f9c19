"""What an application keeps: the kinds of its entities."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lighthouse.values import is_identifier

#: Stands for the kind under declaration where a relation's target is asked for.
SELF = "self"
#: Numbers of one vector.
MOST_DIMENSIONS = 4096

#: Property names that a row's values may not use, besides the key.
RESERVED = frozenset(
    {
        "fp",
        "valid_from",
        "valid_to",
        "recorded_at",
        "by",
        "seen_last",
        "entry",
        "words",
        "provenance",
    }
)
_LABELS = frozenset(
    {
        "State", "WriteFailure", "Task", "Agent", "Episode", "Entry", "Handoff", "Lesson", "Playbook", "Step",
        "Trigger", "Entity", "Stamp", "Session", "Message", "Reference", "Forgotten",
    }
)  # fmt: skip
_EDGES = frozenset({"HAS_STATE", "NEXT"})


@dataclass(frozen=True, eq=False)
class Kind:
    """Declare a kind of entity; compared by identity.

    `label`: its node label. `key`: the property that identifies one. `times`: names of values that
    are times. `relations`: edge type to target Kind, or SELF. `text`: names of values that can be
    searched by words. `dimensions`: size of the vectors for that text, 0 for none.
    Raises TypeError and ValueError on a declaration that cannot be kept.
    """

    label: str
    key: str = "key"
    times: tuple[str, ...] = ()
    relations: Mapping[str, "Kind"] = MappingProxyType({})
    text: tuple[str, ...] = ()
    dimensions: int = 0

    def __post_init__(self) -> None:
        _check_label(self.label)
        _check_property(self.key, "key")
        times, text = _names(self.times, "times"), _names(self.text, "text")
        if self.key in times:
            raise ValueError(f"the key {self.key!r} cannot be a time")
        if both := sorted(set(times) & set(text)):
            raise ValueError(f"{both[0]!r} cannot be both text and a time")
        _check_dimensions(self.dimensions, text)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "relations", MappingProxyType(_targets(self, self.relations)))


def reach(kinds: Iterable[Kind]) -> list[Kind]:
    """List the kinds and all that their relations reach, each once, in the order met.

    Raises ValueError when two kinds of one label have different keys.
    """
    met: dict[Kind, None] = {}
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop(0)
        if kind not in met:
            met[kind] = None
            waiting += kind.relations.values()
    keys: dict[str, str] = {}
    for kind in met:
        if keys.setdefault(kind.label, kind.key) != kind.key:
            raise ValueError(f"two kinds of the label {kind.label} have different keys")
    return list(met)


def _check_label(label: object) -> None:
    if not isinstance(label, str) or not is_identifier(label):
        raise ValueError(
            f"the label {label!r} must be a letter or _, then letters, digits, _ (1 to 100)"
        )
    if label in _LABELS:
        raise ValueError(f"the label {label} belongs to the library")
    if label.endswith(("Vector", "ToEmbed")):
        raise ValueError(f"the label {label} ends in a word that the library adds itself")


def _check_property(name: object, what: str) -> None:
    if not isinstance(name, str) or not is_identifier(name):
        raise ValueError(
            f"{what}: {name!r} must be a letter or _, then letters, digits, _ (1 to 100)"
        )
    if name in RESERVED:
        raise ValueError(f"{what}: the name {name!r} is reserved")


def _names(given: Iterable[str], what: str) -> tuple[str, ...]:
    if isinstance(given, str):
        raise TypeError(f"{what} must be a tuple or list of names, not one text")
    names = tuple(given)
    for name in names:
        _check_property(name, what)
    return names


def _check_dimensions(dimensions: object, text: tuple[str, ...]) -> None:
    if type(dimensions) is not int or not 0 <= dimensions <= MOST_DIMENSIONS:
        raise ValueError(f"dimensions must be a whole number from 0 to {MOST_DIMENSIONS}")
    if dimensions and not text:
        raise ValueError("dimensions need text: name the values that are embedded")


def _targets(kind: Kind, relations: object) -> dict[str, Kind]:
    if not isinstance(relations, dict | MappingProxyType):
        raise TypeError("relations must be a map of edge type to Kind")
    targets: dict[str, Kind] = {}
    for edge, target in relations.items():
        if not isinstance(edge, str) or not is_identifier(edge):
            raise ValueError(
                f"the relation {edge!r} must be a letter or _, then letters, digits, _"
            )
        if edge in _EDGES:
            raise ValueError(f"the relation {edge} belongs to the library")
        if target != SELF and not isinstance(target, Kind):
            raise TypeError(f"the relation {edge} must point at a Kind or at SELF")
        targets[edge] = target if isinstance(target, Kind) else kind
    return targets
