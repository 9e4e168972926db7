"""The destinations of events, as logging handlers."""

from __future__ import annotations

import logging

__all__ = ["get_logging_handler"]

handlers: dict[str, logging.Handler] = {
    "console": logging.StreamHandler(),
    "dynamic_rendezvous": logging.NullHandler(),
    "null": logging.NullHandler(),
}


def get_logging_handler(destination: str = "null") -> logging.Handler:
    """The handler of a destination."""
    return handlers[destination]
