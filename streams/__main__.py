"""Runs the command line as `python -m streams`."""

from streams.cli import main

main()
