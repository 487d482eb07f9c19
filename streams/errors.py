"""What streams raises, and the exit code of a command that ends with it.

A refused record is a receipt, never an exception: these say that the caller or the world is not as
it must be. None is an OSError or a ValueError: code that catches those from a system call or from a
parser would take ours for theirs and wrap it once more.

StreamsError             1  anything that ends a command
├── UsageError           2  a command was given something it cannot use
│   └── SettingsError    2  lighthouse.toml or the environment says what cannot be
└── ServerMissing        3  a server is not there, or cannot be started
"""


class StreamsError(Exception):
    """The work could not be done."""

    #: The exit code of a command that ends with it.
    exit_code = 1

    def __init__(self, message: str | None = None, **facts: object) -> None:
        """Take the message, by default the class's own docstring, and facts kept as attributes.

        Facts are what a caller may want to look at without reading the text: topic, partition,
        offset, key, graph, path, name.
        """
        super().__init__(message or type(self).__doc__)
        for name, value in facts.items():
            setattr(self, name, value)


class UsageError(StreamsError):
    """The command was given something that it cannot use."""

    exit_code = 2


class SettingsError(UsageError):
    """The settings say something that cannot be."""


class ServerMissing(StreamsError):
    """A server is not there."""

    exit_code = 3
