"""How do log records look on standard error: readable lines, or one JSON object a line?"""

import json
import logging
import sys
from datetime import UTC, datetime

LINE = "%(asctime)s %(levelname)-7s %(message)s"


class JsonLines(logging.Formatter):
    """Write a log record as one JSON object: time, level, logger, message, and the error if any."""

    def format(self, record: logging.LogRecord) -> str:
        """Give the record as one line of JSON."""
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["error"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def configure(as_json: bool, level: int = logging.INFO) -> None:
    """Send every log record to standard error in the one form or the other."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else logging.Formatter(LINE, "%H:%M:%S"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # What Faust and the Kafka client tell of every join is for those who look for a fault in them.
    for chatty in ("faust", "mode", "aiokafka", "asyncio"):
        logging.getLogger(chatty).setLevel(max(level, logging.WARNING))
