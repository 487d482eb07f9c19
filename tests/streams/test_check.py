"""What `check` finds: each setting that breaks the delivery rule, and none where all is well."""

import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from falkordb import FalkorDB

from streams import check, embedded, settings, topics
from streams.check import Finding
from tests import servers


@pytest.fixture(scope="module", name="own")
def _own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FalkorDB]:
    """Give a server of this module's own: its settings are turned here."""
    with servers.ended(embedded.start_graph(tmp_path_factory.mktemp("own"))) as server:
        client = FalkorDB.from_url(server.address)
        yield client
        client.connection.close()


@pytest.fixture(name="told")
def _told(broker: str, graph_url: str) -> settings.Settings:
    """Give settings with a prefix of this test's own."""
    flags = {"broker.servers": broker, "worker.prefix": f"check-{secrets.token_hex(4)}."}
    return settings.load(overrides=flags | {"graph.url": graph_url})


def turned(own: FalkorDB, command: str, name: str, value: str) -> list[Finding]:
    """Look at the server while one of its settings has another value."""
    answer = own.execute_command(f"{command} GET", name)
    before = next(iter(answer.values())) if isinstance(answer, dict) else answer[1]
    own.execute_command(f"{command} SET", name, value)
    try:
        return check.graph_findings(own)
    finally:
        own.execute_command(f"{command} SET", name, before)
        settle(own)


def settle(own: FalkorDB) -> None:
    """Wait until a new append-only file is written: before that the server does not end."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        state = own.connection.info("persistence")
        if not state["aof_rewrite_in_progress"] and not state["aof_rewrite_scheduled"]:
            return
        time.sleep(0.05)


def named(findings: list[Finding], about: str) -> Finding:
    """Pick the finding about one thing."""
    return next(finding for finding in findings if finding.about == about)


def test_a_server_as_we_start_it_is_well(own: FalkorDB) -> None:
    """Nothing is refused and nothing warned of; the version is one of those tested."""
    findings = check.graph_findings(own)

    assert [f for f in findings if f.level != check.OK] == []
    assert named(findings, "engine version").found == "FalkorDB 4.22.1, tested"
    assert named(findings, "append-only file").found == "on, appendfsync everysec"


@pytest.mark.parametrize(
    ("command", "name", "value", "about", "level"),
    [
        ("CONFIG", "appendonly", "no", "append-only file", "refuse"),
        ("CONFIG", "maxmemory-policy", "allkeys-lru", "eviction", "refuse"),
        ("GRAPH.CONFIG", "TIMEOUT_MAX", "59999", "query time limit, TIMEOUT_MAX", "refuse"),
        ("GRAPH.CONFIG", "TIMEOUT_MAX", "60000", "query time limit, TIMEOUT_MAX", "ok"),
        ("GRAPH.CONFIG", "RESULTSET_SIZE", "9999", "result cap", "refuse"),
        ("GRAPH.CONFIG", "RESULTSET_SIZE", "10000", "result cap", "ok"),
        ("GRAPH.CONFIG", "MAX_QUEUED_QUERIES", "99", "queued queries", "warn"),
        ("GRAPH.CONFIG", "MAX_QUEUED_QUERIES", "100", "queued queries", "ok"),
    ],
)
def test_a_setting_is_judged_by_its_limit(
    own: FalkorDB, command: str, name: str, value: str, about: str, level: str
) -> None:
    """What is not well says which setting to change."""
    finding = named(turned(own, command, name, value), about)

    assert finding.level == level
    assert (finding.advice is None) == (level == "ok")
    assert level == "ok" or name in finding.advice


def test_a_loss_that_is_allowed_is_only_warned_of(own: FalkorDB) -> None:
    """[graph] allow_loss takes a server without an append-only file."""
    own.execute_command("CONFIG SET", "appendonly", "no")
    try:
        findings = check.graph_findings(own, allow_loss=True)
    finally:
        own.execute_command("CONFIG SET", "appendonly", "yes")
        settle(own)

    assert named(findings, "append-only file").level == check.WARN
    assert check.refused(findings) == []


def test_a_server_that_tells_nothing_is_warned_of(own: FalkorDB) -> None:
    """A user who may not read settings makes warnings, not a crash and not an all-clear."""
    own.execute_command(
        "ACL SETUSER", "reader", "on", ">pw", "~*", "+@all", "-config", "-module", "-graph.config"
    )
    kept = own.connection.connection_pool.connection_kwargs
    where = {"path": kept["path"]} if "path" in kept else {"port": kept["port"]}
    client = _as_reader(where)

    findings = check.graph_findings(client)

    client.connection.close()
    assert {finding.level for finding in findings} == {check.WARN}
    assert len(findings) == 8


def _as_reader(where: dict[str, Any]) -> FalkorDB:
    login = "reader:pw"
    if "path" in where:
        return FalkorDB.from_url(f"unix://{login}@{where['path']}")
    return FalkorDB.from_url(f"redis://{login}@127.0.0.1:{where['port']}")


def test_topics_that_are_missing_are_warned_of(told: settings.Settings) -> None:
    """And no longer once they are made."""
    before = check.broker_findings(told)
    topics.create(told)
    after = check.broker_findings(told)

    missing = [finding for finding in before if finding.about.startswith("topic ")]
    assert [(finding.level, finding.found) for finding in missing] == [("warn", "is not there")] * 3
    assert all("topics create" in finding.advice for finding in missing)
    assert [finding for finding in after if finding.level != check.OK] == []


def test_rows_under_another_key_are_counted(told: settings.Settings, broker: str) -> None:
    """They lose their order among the rows of their entity, which nobody would notice."""
    topics.create(told)
    producer = Producer({"bootstrap.servers": broker})
    name = topics.full(told, "rows")
    for key in (b"Plane/a", b"a", None):
        producer.produce(name, b'{"kind":"Plane","key":"a","t":"2026"}', key)
    producer.produce(name, b"{", b"x")
    producer.flush(10)

    finding = named(check.broker_findings(told), f"keys of {name}")

    assert finding.level == check.WARN
    assert finding.found == "2 of the last 4 are not <Kind>/<key>"


def test_settings_without_sources_are_warned_of(tmp_path: Path) -> None:
    """Nothing would ever be read with them."""
    file = tmp_path / "lighthouse.toml"
    file.write_text("[worker]\n")

    bare = check.settings_findings(settings.load(file))
    example = check.settings_findings(settings.load(settings.EXAMPLE))

    assert [finding.level for finding in bare] == [check.OK, check.WARN]
    assert [finding.level for finding in example] == [check.OK, check.OK]
    assert bare[0].found == str(file)
