"""Is a document an AsyncAPI 3.0 document? The parts of the specification that ours uses, strictly.

What is not listed here is refused, so a part used for the first time is added here from the
specification. `problems` also checks what a schema cannot: that every reference leads somewhere.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml

_TEXT = {"type": "string", "minLength": 1}
_REF = {
    "type": "object",
    "properties": {"$ref": {"type": "string"}},
    "required": ["$ref"],
    "additionalProperties": False,
}
_SCHEMA = {"anyOf": [_REF, {"type": "object", "not": {"required": ["$ref"]}}]}


def _object(required: str = "", **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _map(of: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "propertyNames": {"pattern": r"^[\w\d.\-]+$"},
        "additionalProperties": of,
        "minProperties": 1,
    }


def _kafka(**properties: Any) -> dict[str, Any]:
    return _object(
        "kafka", kafka=_object("bindingVersion", bindingVersion={"const": "0.5.0"}, **properties)
    )


_CHANNEL = _object(
    "address messages",
    address=_TEXT,
    title=_TEXT,
    description=_TEXT,
    messages=_map(_REF),
    bindings=_kafka(
        topic=_TEXT,
        topicConfiguration=_object(
            **{
                "cleanup.policy": {"type": "array", "items": {"enum": ["compact", "delete"]}},
                "retention.ms": {"type": "integer", "minimum": -1},
            }
        ),
    ),
)
_OPERATION = _object(
    "action channel messages",
    action={"enum": ["send", "receive"]},
    channel=_REF,
    title=_TEXT,
    summary=_TEXT,
    messages={"type": "array", "items": _REF, "minItems": 1},
    bindings=_kafka(groupId=_SCHEMA),
)
_EXAMPLE = _object(
    name=_TEXT, summary=_TEXT, headers={"type": "object"}, payload={"type": ["object", "string"]}
)
_MESSAGE = _object(
    "name payload",
    name=_TEXT,
    title=_TEXT,
    summary=_TEXT,
    description=_TEXT,
    contentType={"type": "string", "pattern": "^[a-z]+/[a-z.+-]+$"},
    headers=_SCHEMA,
    payload=_SCHEMA,
    bindings=_kafka(key=_SCHEMA),
    examples={"type": "array", "items": _EXAMPLE | {"minProperties": 1}},
)
_VARIABLE = _object(description=_TEXT, default=_TEXT, examples={"type": "array", "items": _TEXT})
_DOCUMENT = _object(
    "asyncapi info channels operations",
    asyncapi={"const": "3.0.0"},
    id={"type": "string", "format": "uri"},
    info=_object(
        "title version",
        title=_TEXT,
        version=_TEXT,
        description=_TEXT,
        tags={"type": "array", "items": _object("name", name=_TEXT, description=_TEXT)},
    ),
    defaultContentType=_TEXT,
    servers=_map(
        _object(
            "host protocol",
            host=_TEXT,
            protocol={"const": "kafka"},
            description=_TEXT,
            variables=_map(_VARIABLE),
        )
    ),
    channels=_map(_CHANNEL),
    operations=_map(_OPERATION),
    components=_object(messages=_map(_MESSAGE), schemas=_map(_SCHEMA)),
)
_SHAPE = jsonschema_rs.Draft202012Validator(_DOCUMENT, validate_formats=True)


def read(file: Path) -> Any:
    """Parse a YAML or JSON file."""
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def problems(document: dict[str, Any], folder: Path) -> list[str]:
    """List what makes `document` no AsyncAPI 3.0 document; its references start at `folder`."""
    shape = [
        f"{'/'.join(map(str, e.instance_path))}: {e.message}" for e in _SHAPE.iter_errors(document)
    ]
    lost = [ref for ref in references(document) if resolve(ref, document, folder) is None]
    return shape + [f"{ref} leads nowhere" for ref in lost] + _foreign_messages(document)


def references(node: Any) -> Iterator[str]:
    """Yield every `$ref` below a node."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for inner in node.values():
            yield from references(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from references(inner)


def resolve(ref: str, document: Any, folder: Path) -> Any:
    """Give what a reference leads to, None where there is nothing."""
    file, _, pointer = ref.partition("#")
    if file:
        document = read(folder / file) if (folder / file).is_file() else None
    for step in filter(None, pointer.split("/")):
        document = document.get(step) if isinstance(document, dict) else None
    return document


def _foreign_messages(document: dict[str, Any]) -> list[str]:
    """An operation may name only messages of its own channel, through that channel."""
    found = []
    for name, operation in document.get("operations", {}).items():
        channel = operation.get("channel", {}).get("$ref", "")
        found += [
            f"operations/{name}: {message} is no message of {channel}"
            for message in operation.get("messages", [])
            if not message.get("$ref", "").startswith(f"{channel}/messages/")
        ]
    return found
