"""The distribution: what the wheel holds, what the lock pins, where containers are bound."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests import servers

ROOT = Path(__file__).parent.parent


def test_the_wheel_holds_both_packages_and_the_schemas(tmp_path: Path) -> None:
    """Beside the code it has the contracts, the example and the demo's sample, and no test."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)

    (wheel,) = tmp_path.glob("lighthouse_streams-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())

    assert {"lighthouse/__init__.py", "streams/__init__.py", "streams/example.toml"} <= names
    assert {f"streams/schemas/{file.name}" for file in (ROOT / "schemas").iterdir()} <= names
    assert [name for name in names if name.startswith("streams/demo_data/")]
    assert not [name for name in names if name.startswith(("tests/", "schemas/"))]


def test_the_lock_names_versions_and_hashes_only() -> None:
    """No address and no option of a registry stands in it, and each package has hashes."""
    lock = (ROOT / "requirements.lock").read_text()

    assert "://" not in lock
    assert not re.search(r"^--", lock, re.MULTILINE)
    entries = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)[1:]
    assert entries
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_lock_holds_every_dependency() -> None:
    """Each package that pyproject.toml names, those of the extras too, is in the lock."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    named = [*project["dependencies"], *(name for extra in extras for name in extra)]
    locked = re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)

    assert {re.split(r"[<>=\[]", name)[0] for name in named} <= set(locked)


def test_containers_are_bound_to_this_machine() -> None:
    """Every port that compose publishes is one of 127.0.0.1."""
    compose = (ROOT / "docker-compose.yml").read_text()

    published = re.findall(r'ports: \["([^"]+)"\]', compose)

    assert compose.count("ports:") == len(published) == 3
    assert [port for port in published if not port.startswith("127.0.0.1:")] == []


@pytest.mark.parametrize("image", [servers.FALKORDB_IMAGE, servers.KAFKA_IMAGE])
def test_containers_have_the_versions_of_the_tests(image: str) -> None:
    """Compose pins what the tests run on where Docker answers."""
    assert f"image: {image}\n" in (ROOT / "docker-compose.yml").read_text()


def test_kafka_has_one_version() -> None:
    """The jars of `make kafka` are of the version that compose runs."""
    pom = (ROOT / "tests" / "kafka" / "pom.xml").read_text()

    assert servers.KAFKA_IMAGE.endswith(f":{re.findall(r'<version>([^<]+)<', pom)[1]}")


def test_the_makefile_lists_its_targets() -> None:
    """`make` alone names every target, with what it does."""
    shown = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout

    for target in ("demo", "test", "lint", "bench", "kafka", "up", "down", "lock", "help"):
        assert re.search(rf"make {target} +\w", shown), target
