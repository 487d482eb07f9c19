"""Which embedded servers does a command need, and who ends them?"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from streams import embedded
from streams.embedded import Server
from streams.settings import EMBEDDED, Settings


@dataclass(frozen=True, slots=True)
class Running:
    """The embedded servers of a data folder; None for one that the settings name elsewhere."""

    graph: Server | None
    broker: Server | None

    @property
    def broker_attached(self) -> bool:
        """Say whether the broker ran before, or is not ours at all."""
        return self.broker is None or self.broker.attached


@contextlib.contextmanager
def running(settings: Settings) -> Iterator[Running]:
    """Give the embedded servers that the settings ask for.

    What this call has started it ends afterwards, the broker first; what ran already goes on.
    Raises ServerMissing when one cannot be started.
    """
    with contextlib.ExitStack() as stack:
        graph = broker = None
        if settings.graph.url == EMBEDDED:
            graph = _kept(stack, embedded.start_graph(settings.graph.data))
        if settings.broker.servers == EMBEDDED:
            broker = _kept(stack, embedded.start_broker(settings.graph.data))
        yield Running(graph, broker)


def _kept(stack: contextlib.ExitStack, server: Server) -> Server:
    if not server.attached:
        stack.callback(server.stop)
    return server
