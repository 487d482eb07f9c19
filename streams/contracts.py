"""What may a record look like? The contracts of `schemas/`, found, loaded and compiled once.

The schemas are data: this module, the documentation and the tests read the same files.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson

from streams.errors import StreamsError

#: The schemas there are; each is the file of that name.
NAMES = ("rows", "receipts", "dead-letters")
#: Most problems of one value that are told: the first ones say enough to mend it.
MOST_PROBLEMS = 3

_PACKED = Path(__file__).parent / "schemas"
_IN_REPOSITORY = Path(__file__).parent.parent / "schemas"
#: Most characters of a name or a message that a record's content decides.
_SHOWN = 60
_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
_TYPES = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number with a fraction or an exponent",
    dict: "an object",
    list: "a list",
    type(None): "null",
}


@dataclass(frozen=True, slots=True, eq=False)
class Contract:
    """One schema. `fits(value)` says whether a parsed value has its shape; `version` is its own."""

    name: str
    version: str
    schema: Mapping[str, Any]
    fits: Callable[[object], bool]
    _errors: Callable[[object], Iterator[jsonschema_rs.ValidationError]]

    def problems(self, value: object, most: int = MOST_PROBLEMS) -> list[str]:
        """List what is wrong with a value: at most `most` sentences naming fields."""
        found = islice(self._errors(_outline(value)), most)
        return [_sentence(self.schema, error) for error in found]


def folder() -> Path:
    """Return the folder of the schemas: within the package when installed, else the repository's.

    Raises StreamsError when neither is there.
    """
    for place in (_PACKED, _IN_REPOSITORY):
        if (place / f"{NAMES[0]}.json").is_file():
            return place
    raise StreamsError(f"the installation is broken: {_PACKED} has no schemas", path=_PACKED)


@cache
def contract(name: str) -> Contract:
    """Return one of NAMES, compiled. Raises StreamsError when its file is not there."""
    schema = orjson.loads((folder() / f"{name}.json").read_bytes())
    compiled = jsonschema_rs.Draft202012Validator(schema)
    return Contract(name, schema["version"], schema, compiled.is_valid, compiled.iter_errors)


def type_name(value: object) -> str:
    """Return what a person calls the JSON type of a parsed value."""
    return _TYPES.get(type(value), type(value).__name__)


def _outline(value: object) -> object:
    """Empty what lies deeper than the schemas look: jsonschema-rs raises beyond 255 levels."""
    if isinstance(value, dict):
        return {
            name: type(inner)() if isinstance(inner, dict | list) else inner
            for name, inner in value.items()
        }
    return [] if isinstance(value, list) else value


def _sentence(schema: Mapping[str, Any], error: jsonschema_rs.ValidationError) -> str:
    problem = error.kind
    where = ".".join(str(step)[:_SHOWN] for step in error.instance_path)
    if isinstance(problem, jsonschema_rs.ValidationErrorKind.Required):
        return f'"{problem.property}" is missing{_meaning(schema, problem.property)}'
    if isinstance(problem, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
        unknown = ", ".join(f'"{name[:_SHOWN]}"' for name in problem.unexpected[:MOST_PROBLEMS])
        known = ", ".join(schema["properties"])
        return f"{unknown}: no such field; a {schema['title']} has {known}"
    if isinstance(problem, jsonschema_rs.ValidationErrorKind.Type):
        what = f'"{where}"' if where else f"a {schema['title']}"
        return f"{what} must be {_allowed(schema, error)}, not {type_name(error.instance)}"
    return f'"{where}": {error.message[:_SHOWN]}'


def _meaning(schema: Mapping[str, Any], name: str) -> str:
    """Give the first sentence of what the schema says of a field."""
    text = schema["properties"].get(name, {}).get("description", "")
    return f" ({text[0].lower()}{text[1:].partition('. ')[0].rstrip('.')})" if text else ""


def _allowed(schema: Mapping[str, Any], error: jsonschema_rs.ValidationError) -> str:
    """Name the types that a place takes, in the order in which the schema names them."""
    place: Any = schema
    for step in error.schema_path:
        place = place[step]
    return " or ".join(_WORDS[name] for name in ([place] if isinstance(place, str) else place))
