"""What was this process told? `lighthouse.toml` and the environment, read once and checked.

The environment (LIGHTHOUSE_<SECTION>_<NAME>) wins over the file, a command's flag over both. No
other module reads the environment.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from lighthouse import Kind
from streams import bindings, declared_kinds
from streams.bindings import Source, WrongKeyError
from streams.errors import SettingsError

#: What `[graph] url` and `[broker] servers` say for the servers that come with the package.
EMBEDDED = "embedded"
#: The settings that count where no file is: the demo's kinds and sources, each line explained.
EXAMPLE = Path(__file__).with_name("example.toml")
#: The agents of this version, one for each contract that it reads.
AGENTS = ("rows",)

_FILE = "lighthouse.toml"
_VARIABLE = "LIGHTHOUSE_"
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
#: Options that the delivery rule rests on, and those that these settings have their own names for.
_OWN_OPTIONS = frozenset(
    "bootstrap.servers metadata.broker.list group.id group.instance.id enable.auto.commit"
    " enable.auto.offset.store auto.offset.reset acks request.required.acks enable.idempotence"
    " transactional.id partitioner".split()
)
#: Their values may hold passwords, and are not shown.
_SECRET = ("url", "options")
_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[^\s,:/\[\]]+)"
_ADDRESS = re.compile(rf"{_HOST}:\d{{1,5}}")
_ADDRESSES = re.compile(rf"{_HOST}:\d{{1,5}}(?:,{_HOST}:\d{{1,5}})*")
_URL = re.compile(r"(?:redis|rediss|falkor|falkors)://\S+|unix:///.+")
_GROUP = re.compile(r"[A-Za-z0-9._-]{1,200}")
_PREFIX = re.compile(r"[A-Za-z0-9._-]{0,100}")
#: How Kubernetes tells the address of a service that is named like one of our sections.
_OF_A_SERVICE = re.compile(r"SERVICE_.*|PORT(_.*)?")


def _formed(pattern: re.Pattern[str], *words: str) -> BeforeValidator:
    def check(value: object) -> object:
        if isinstance(value, str) and (value in words or pattern.fullmatch(value)):
            return value
        raise ValueError("it has another form")

    return BeforeValidator(check)


def _agents(value: object) -> object:
    names = [word.strip() for word in value.split(",")] if isinstance(value, str) else value
    if (
        not isinstance(names, list | tuple)
        or not names
        or any(name not in AGENTS for name in names)
    ):
        raise ValueError("it names an agent that is not there")
    return tuple(dict.fromkeys(names))


def _options(value: object) -> object:
    for name, option in value.items() if isinstance(value, dict) else ():
        if name in _OWN_OPTIONS:
            raise ValueError(f"{name!r} is set by the worker itself")
        if not isinstance(option, str | int | float):
            raise ValueError(f"{name!r} must be text, a number or a truth value")
    return value


def _folder(value: object) -> object:
    return (
        Path(value).expanduser().absolute()
        if isinstance(value, str | Path) and str(value)
        else value
    )


def _whole(default: int, least: int, most: int, unit: str) -> Any:
    allowed = f"a whole number of {unit} from {least} to {most}"
    return Field(default, ge=least, le=most, description=allowed)


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)


class Graph(_Section):
    """`[graph]`: where FalkorDB is. `allow_loss` takes a server that keeps nothing on disk."""

    url: Annotated[str, _formed(_URL, EMBEDDED)] = Field(
        EMBEDDED, description='"embedded", or redis://..., rediss://..., unix:///...'
    )
    data: Annotated[Path, BeforeValidator(_folder)] = Field(
        Path("~/.local/share/lighthouse-streams"), description="a folder's path"
    )
    allow_loss: bool = Field(False, description="true, false")


class Broker(_Section):
    """`[broker]`: where Kafka is; `options` go to its clients under librdkafka's names."""

    servers: Annotated[str, _formed(_ADDRESSES, EMBEDDED)] = Field(
        EMBEDDED, description='"embedded", or host:port[,host:port...]'
    )
    options: Annotated[dict[str, Any], BeforeValidator(_options)] = Field(
        {}, repr=False, description="a table of security.protocol, sasl.*, ssl.* and the like"
    )


class Worker(_Section):
    """`[worker]`: how a process takes part: its group, its agents, its batches, its health page."""

    group: Annotated[str, _formed(_GROUP)] = Field(
        "lighthouse", description="a consumer group's name: 1 to 200 of letters, digits, . _ -"
    )
    prefix: Annotated[str, _formed(_PREFIX)] = Field(
        "lighthouse.",
        description="what all topics begin with: at most 100 of letters, digits, . _ -",
    )
    agents: Annotated[tuple[str, ...], BeforeValidator(_agents)] = Field(
        AGENTS, description=f"a list of {', '.join(AGENTS)}"
    )
    # A batch is answered with a line for each record, and a server may cap an answer at 10,000.
    batch_records: int = _whole(500, 1, 5_000, "records")
    batch_ms: int = _whole(200, 1, 60_000, "milliseconds")
    grace_seconds: int = _whole(30, 1, 3_600, "seconds")
    http: Annotated[str, _formed(_ADDRESS)] = Field(
        "127.0.0.1:8077", description="host:port, where port 0 takes a free one"
    )


class Topics(_Section):
    """`[topics]`: how topics are created, and the largest record that they take, in bytes."""

    partitions: int = _whole(6, 1, 1_000, "partitions")
    replication: int = _whole(1, 1, 100, "copies")
    receipts_days: int = _whole(30, 1, 36_500, "days")
    max_record_bytes: int = _whole(1_048_576, 1_024, 67_108_864, "bytes")


@dataclass(frozen=True, slots=True)
class Settings:
    """All that a process was told. `file`: the settings file that was read."""

    graph: Graph
    broker: Broker
    worker: Worker
    topics: Topics
    kinds: Mapping[str, Kind]
    sources: tuple[Source, ...]
    file: Path


_SECTIONS: Mapping[str, type[_Section]] = {
    "graph": Graph,
    "broker": Broker,
    "worker": Worker,
    "topics": Topics,
}
_TABLES = (*_SECTIONS, "kinds", "sources")


def load(path: Path | None = None, overrides: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings: from `path`, else LIGHTHOUSE_CONFIG, else ./lighthouse.toml, else EXAMPLE.

    `overrides` are a command's flags by dotted path ("graph.url"); None is a flag not given.
    Raises SettingsError, which names the file or variable, the key, what is wrong and what may be.
    """
    file = _file(path)
    told = _read(file)
    origins: dict[str, str] = {}
    for key, (value, origin) in (_from_environment() | _from_flags(overrides or {})).items():
        section, _, name = key.partition(".")
        told.setdefault(section, {})[name] = value
        origins[key] = origin
    sections = _sections(told, origins, file)
    try:
        kinds = declared_kinds.kinds(told.get("kinds", {}), file.parent)
        sources = bindings.sources(told.get("sources", []), kinds, sections["worker"].prefix)
    except WrongKeyError as error:
        raise SettingsError(f"{file}: {error}", path=file) from error
    return Settings(**sections, kinds=kinds, sources=sources, file=file)


def _file(path: Path | None) -> Path:
    named = path or os.environ.get(f"{_VARIABLE}CONFIG")
    if named:
        return Path(named).expanduser().absolute()
    here = Path(_FILE).absolute()
    return here if here.exists() else EXAMPLE


def _read(file: Path) -> dict[str, Any]:
    try:
        told = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}", path=file) from error
    except ValueError as error:
        raise SettingsError(f"{file}: is not TOML in UTF-8: {error}", path=file) from error
    for name, table in told.items():
        if name not in _TABLES:
            raise SettingsError(
                f"{file}: {name}: unknown key; allowed: {', '.join(_TABLES)}", path=file
            )
        if name in _SECTIONS and not isinstance(table, dict):
            raise SettingsError(
                f"{file}: {name}: {table!r} is no table; allowed: [{name}]", path=file
            )
    return told


def _from_environment() -> dict[str, tuple[object, str]]:
    found: dict[str, tuple[object, str]] = {}
    for variable, text in os.environ.items():
        section, _, name = variable.removeprefix(_VARIABLE).partition("_")
        model = _SECTIONS.get(section.lower()) if variable.startswith(_VARIABLE) else None
        if model is None or _OF_A_SERVICE.fullmatch(name):
            continue
        scalars = {
            key.upper(): field for key, field in model.model_fields.items() if key != "options"
        }
        if name not in scalars:
            allowed = ", ".join(f"{_VARIABLE}{section}_{known}" for known in scalars)
            raise SettingsError(f"{variable}: unknown variable; allowed: {allowed}", name=variable)
        value = _typed(scalars[name].annotation, text)
        found[f"{section}.{name}".lower()] = (value, variable)
    return found


def _typed(annotation: object, text: str) -> object:
    if annotation is int and re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    return _TRUTH.get(text.lower(), text) if annotation is bool else text


def _from_flags(overrides: Mapping[str, Any]) -> dict[str, tuple[object, str]]:
    return {
        key: (value, "the command line") for key, value in overrides.items() if value is not None
    }


def _sections(told: Mapping[str, Any], origins: Mapping[str, str], file: Path) -> dict[str, Any]:
    built: dict[str, _Section] = {}
    wrong: list[str] = []
    for name, model in _SECTIONS.items():
        try:
            built[name] = model.model_validate(told.get(name, {}))
        except ValidationError as error:
            wrong += [
                _explained(name, model, dict(detail), origins, file) for detail in error.errors()
            ]
    if wrong:
        raise SettingsError("\n".join(wrong), path=file)
    return built


def _explained(
    section: str,
    model: type[_Section],
    detail: dict[str, Any],
    origins: Mapping[str, str],
    file: Path,
) -> str:
    name = str(detail["loc"][0])
    key = f"{section}.{name}"
    origin = origins.get(key, str(file))
    if name not in model.model_fields:
        return f"{origin}: {key}: unknown key; allowed: {', '.join(model.model_fields)}"
    what = str(detail.get("ctx", {}).get("error") or detail["msg"])
    shown = "" if name in _SECRET else f"{detail['input']!r}: "
    return f"{origin}: {key}: {shown}{what}; allowed: {model.model_fields[name].description}"
