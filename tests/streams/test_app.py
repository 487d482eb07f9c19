"""The Faust app reads the topics that it is told, also those that come later."""

import asyncio
from pathlib import Path

import pytest

from streams import app, topics
from streams.pieces import Piece
from streams.settings import Settings
from tests.working import make_topic, publish, row, told

LATER = "[[sources]]\ntopic = 'rows\\.[a-z]+'\nby = 'x'\n"


@pytest.fixture(name="own")
def _own(tmp_path: Path, broker: str) -> Settings:
    """Give settings with a source for topics that are not there yet."""
    return told(tmp_path, "redis://127.0.0.1:1", broker, more=LATER)


def test_a_running_reader_reads_more_topics(own: Settings) -> None:
    """A topic that it is told while it runs is read from its beginning, and told only once new."""
    first, second = topics.full(own, "rows"), topics.full(own, "rows.later")
    publish(own, [row("a", "2026-01-01")])
    pieces: list[Piece] = []

    async def put(piece: Piece) -> None:
        pieces.append(piece)
        piece.acknowledge()

    async def main() -> list[list[str]]:
        reader = app.Reader(own, own.broker.servers, [first], put)
        await reader.start()
        try:
            assert make_topic(own, "rows.later") == second
            publish(own, [row("a", "2026-01-01")], topic="rows.later")
            told_new = [reader.read_also([first]), reader.read_also([first, second])]
            async with asyncio.timeout(90):
                while len({piece.topic for piece in pieces}) < 2:
                    await asyncio.sleep(1)
                    told_new.append(reader.read_also([second]))
            told_new.append(reader.read_also([second]))
            assert sorted(reader.topics()) == sorted([first, second])
            assert not reader.is_rebalancing()
            assert reader.crash() is None
            assert {place[0] for place in reader.lags()} == {first, second}
        finally:
            await reader.stop()
        return told_new

    told_new = asyncio.run(main())
    assert told_new[:2] == [[], [second]]
    assert not any(told_new[2:])


def test_a_reader_leaves_no_files_and_touches_no_signals(
    own: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Faust would make a folder where it is started; a reader without tables needs none."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)

    async def main() -> None:
        async def put(piece: Piece) -> None:
            piece.let_go()

        reader = app.Reader(own, own.broker.servers, [topics.full(own, "rows")], put)
        await reader.start()
        await reader.stop()

    asyncio.run(main())
    assert list(folder.iterdir()) == []
