"""Run the benchmark: `python -m tests.bench [--quick] [--out FILE] [--compare FILE]`."""

import argparse
import tempfile
from pathlib import Path

from falkordb import FalkorDB

from streams import embedded
from tests.bench import report, writes
from tests.bench.report import Figure

#: Each figure of the library, its floor, and the ratio that it is to reach.
_BARS = (
    ("created", "floor create", 0.45),
    ("changed", "floor change", 0.45),
    ("changed, relation moved", "floor move", 0.40),
    ("unchanged", "floor find", 0.30),
    ("unchanged, seen later", "floor find", None),
    ("inserted", "floor change", 0.25),
)


def main() -> None:
    """Measure on servers of our own, print the table, write the file."""
    wanted = _arguments()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="lighthouse-bench-") as folder:
        figures += _library(Path(folder), 4 if wanted.quick else 15)
        figures += _worker(Path(folder), 5_000 if wanted.quick else 40_000)
    report.show(figures, report.ratios(wanted.compare) if wanted.compare else None)
    report.write(wanted.out, figures)
    print(f"written to {wanted.out}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, under a minute")
    parser.add_argument("--out", type=Path, default=Path("bench.json"), help="where the figures go")
    parser.add_argument(
        "--compare", type=Path, help="figures of an earlier run to hold these against"
    )
    return parser.parse_args()


def _library(folder: Path, repeats: int) -> list[Figure]:
    server = embedded.start_graph(folder / "library")
    try:
        seconds = writes.measure(FalkorDB.from_url(server.address).select_graph("bench"), repeats)
    finally:
        server.stop()
    rates = {
        name: report.rate(took, writes.CHAIN if name[0].isdigit() else writes.BATCH)
        for name, took in seconds.items()
    }
    floors = [Figure(name, rates[name]) for name in rates if name.startswith("floor")]
    ours = [
        Figure(name, rates[name], floor, rates[name] / rates[floor], bar)
        for name, floor, bar in _BARS
    ]
    one, many = rates["240 rows of one entity"], rates["240 rows of 240 entities"]
    return [
        *floors,
        *ours,
        Figure("240 rows of one entity", one, "240 rows of 240 entities", one / many, 0.8),
    ]


def _worker(folder: Path, rows: int) -> list[Figure]:
    from tests.bench import worker

    direct, end_to_end = worker.measure(folder / "worker", rows)
    return [
        Figure("remember called directly", direct),
        Figure(
            "topic to receipts", end_to_end, "remember called directly", end_to_end / direct, 0.6
        ),
    ]


if __name__ == "__main__":
    main()
