"""Writes Kafka records into the memory `lighthouse`: the worker, and the command line around it."""

__version__ = "0.1.0"

__all__ = ["__version__"]
