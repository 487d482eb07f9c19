"""The schemas say what they mean: they are valid, documented, and one with the code."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from streams import contracts, events, settings, topics
from streams.errors import StreamsError
from tests.streams import asyncapi_shape

SCHEMAS = {name: contracts.contract(name) for name in contracts.NAMES}
FULL = {"kind": "Plane", "key": "N1", "t": "2026-01-01", "values": {}}
DOCUMENT = asyncapi_shape.read(contracts.folder() / "asyncapi.yaml")
MESSAGES = DOCUMENT["components"]["messages"]


def described(schema: dict[str, Any], at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a schema and every schema of a field in it, each with its path."""
    yield at, schema
    for where in ("properties", "$defs"):
        for name, inner in schema.get(where, {}).items():
            yield from described(inner, f"{at}/{where}/{name}")
    if isinstance(other := schema.get("additionalProperties"), dict):
        yield from described(other, f"{at}/additionalProperties")


PARTS = [
    pytest.param(name, part, id=f"{name}{at}")
    for name, contract in SCHEMAS.items()
    for at, part in described(dict(contract.schema))
]


@pytest.mark.parametrize("name", contracts.NAMES)
def test_a_schema_is_valid_json_schema_and_names_its_version(name: str) -> None:
    """Each schema is valid by the metaschema of 2020-12; its $id carries the version it states."""
    schema = SCHEMAS[name].schema

    jsonschema_rs.meta.validate(schema)

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:lighthouse-streams:{name}:{SCHEMAS[name].version}"


def test_the_metaschema_refuses_a_schema_that_is_none() -> None:
    """The check above can fail."""
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.meta.validate({**SCHEMAS["rows"].schema, "type": "thing"})


@pytest.mark.parametrize(("name", "part"), PARTS)
def test_every_field_is_documented_by_examples_that_fit_it(name: str, part: dict[str, Any]) -> None:
    """Each field has a title, a description and examples, and each example is valid there."""
    fits = jsonschema_rs.Draft202012Validator(
        {**part, "$defs": SCHEMAS[name].schema.get("$defs", {})}
    )

    assert part["title"] and part["description"].endswith(".") and part["examples"]
    assert [example for example in part["examples"] if not fits.is_valid(example)] == []


def test_statuses_of_receipts_are_those_of_the_code() -> None:
    """receipts.json and events.py name the same statuses, class by class."""
    defined = SCHEMAS["receipts"].schema["$defs"]

    assert set(defined["stored"]["enum"]) == events.STORED
    assert set(defined["refused"]["enum"]) == events.REFUSED
    assert not events.STORED & events.REFUSED


def test_reasons_of_dead_letters_are_the_refused_statuses() -> None:
    """dead-letters.json knows a reason for each refused status, and no other."""
    reasons = SCHEMAS["dead-letters"].schema["properties"]["error-reason"]["enum"]

    assert set(reasons) == events.REFUSED
    assert len(reasons) == len(set(reasons))


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        # what is missing is named, with its meaning
        ("rows", {**FULL, "t": ...}, '"t" is missing (from when the row is true'),
        # a full row has values; the sentence says which row may do without
        ("rows", {**FULL, "values": ...}, "only a partial row may leave it out"),
        # what is unknown is named, and what is known
        ("rows", {**FULL, "tail": 1}, '"tail": no such field; a row has kind, key, t, values,'),
        # types are named in words
        ("rows", {**FULL, "key": None}, '"key" must be text or a whole number, not null'),
        ("rows", {**FULL, "key": True}, '"key" must be text or a whole number, not true or false'),
        ("rows", {**FULL, "values": []}, '"values" must be an object or null, not a list'),
        ("rows", {**FULL, "partial": 1}, '"partial" must be true or false, not a whole number'),
        ("rows", [], "a row must be an object, not a list"),
        # any other keyword has the validator's own words
        ("dead-letters", {"error-value": "elsewhere"}, '"error-value": "at-source" was expected'),
    ],
)
def test_a_problem_names_the_field_and_what_is_expected(name: str, value: Any, told: str) -> None:
    """A value that does not fit is explained so that its writer can mend it."""
    if isinstance(value, dict):
        value = {field: inner for field, inner in value.items() if inner is not ...}

    told_problems = SCHEMAS[name].problems(value, 20)

    assert not SCHEMAS[name].fits(value)
    assert [problem for problem in told_problems if told in problem]


def test_what_fits_has_no_problems() -> None:
    """A value of the right shape fits, and nothing is said of it."""
    assert SCHEMAS["rows"].fits(FULL)
    assert SCHEMAS["rows"].problems(FULL) == []


def test_at_most_three_problems_are_told() -> None:
    """A value that is wrong in many ways is explained in three sentences."""
    assert len(SCHEMAS["receipts"].problems({})) == 3


def test_a_value_of_a_thousand_levels_is_explained_all_the_same() -> None:
    """Problems are found beside values that are nested deeper than the validator goes."""
    deep: dict[str, Any] = {}
    for _ in range(1_000):
        deep = {"a": deep}

    assert (
        SCHEMAS["rows"]
        .problems({"kind": "Plane", "key": "N1", "values": deep})[0]
        .startswith('"t" is')
    )


def test_the_packed_schemas_are_read_where_there_are_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed package reads the schemas inside it; without any the installation is broken."""
    monkeypatch.setattr(contracts, "_PACKED", tmp_path)
    assert contracts.folder() != tmp_path

    (tmp_path / "rows.json").write_text("{}")
    assert contracts.folder() == tmp_path

    monkeypatch.setattr(contracts, "_PACKED", tmp_path / "nowhere")
    monkeypatch.setattr(contracts, "_IN_REPOSITORY", tmp_path / "nowhere")
    with pytest.raises(StreamsError, match="has no schemas"):
        contracts.folder()


def test_the_asyncapi_document_is_valid() -> None:
    """asyncapi.yaml has the shape of AsyncAPI 3.0, and its references lead somewhere."""
    assert asyncapi_shape.problems(DOCUMENT, contracts.folder()) == []


@pytest.mark.parametrize(
    ("path", "planted", "told"),
    [
        # an action that the specification does not have
        ("operations/takeRows/action", "take", "is not one of"),
        # references to a file, a component and a channel that are not there
        ("components/messages/row/payload/$ref", "./row.json", "leads nowhere"),
        ("channels/rows/messages/row/$ref", "#/components/messages/none", "leads nowhere"),
        ("operations/takeRows/channel/$ref", "#/channels/none", "leads nowhere"),
        # an operation on a message of another channel
        (
            "operations/takeRows/messages",
            [{"$ref": "#/channels/receipts/messages/receipt"}],
            "no message",
        ),
        # an unknown member, and one that is missing
        ("channels/rows/publish", {}, "'publish' was unexpected"),
        ("info/version", None, "null is not of type"),
        ("asyncapi", "2.6.0", '"3.0.0" was expected'),
    ],
)
def test_a_document_that_is_not_valid_is_found(path: str, planted: Any, told: str) -> None:
    """The check above can fail, for each thing that it looks at."""
    document = copy.deepcopy(DOCUMENT)
    *steps, last = path.split("/")
    node = document
    for step in steps:
        node = node[step]
    node[last] = planted

    found = asyncapi_shape.problems(document, contracts.folder())

    assert [problem for problem in found if told in problem]


@pytest.mark.parametrize(
    ("name", "number"),
    [(name, number) for name in MESSAGES for number in range(len(MESSAGES[name]["examples"]))],
)
def test_the_examples_of_a_message_fit_its_schemas(name: str, number: int) -> None:
    """Headers and payload of each example are valid by the schemas that the message names."""
    message, example = MESSAGES[name], MESSAGES[name]["examples"][number]

    for part in ("headers", "payload"):
        if part in example:
            schema = message[part]
            if "$ref" in schema:
                schema = asyncapi_shape.resolve(schema["$ref"], DOCUMENT, contracts.folder())
            jsonschema_rs.Draft202012Validator(schema).validate(example[part])


def test_the_document_names_each_schema_and_its_version() -> None:
    """Every contract is referred to, and the document has the version of the contracts."""
    referred = set(asyncapi_shape.references(DOCUMENT))

    assert {f"./{name}.json" for name in contracts.NAMES} <= referred
    assert {contract.version for contract in SCHEMAS.values()} == {DOCUMENT["info"]["version"]}


def test_the_channels_are_the_topics_that_the_worker_makes() -> None:
    """Addresses, clean-up and retention are those of the topics of the example settings."""
    planned = topics.planned(settings.load(settings.EXAMPLE))

    bindings = {c["address"]: c["bindings"]["kafka"] for c in DOCUMENT["channels"].values()}

    assert set(bindings) == {topic.name for topic in planned}
    for topic in planned:
        told = bindings[topic.name]["topicConfiguration"]
        assert bindings[topic.name]["topic"] == topic.name
        assert (told["cleanup.policy"], told["retention.ms"]) == (
            [topic.cleanup],
            topic.retention_ms,
        )
