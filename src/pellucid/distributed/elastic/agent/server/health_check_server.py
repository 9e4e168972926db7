"""``HealthCheckServer``: tells over HTTP whether an agent is alive."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["HealthCheckServer", "create_healthcheck_server"]


class HealthCheckServer:
    """Answers GET on ``port`` with 200 if ``alive_callback``, the time in seconds at
    which the agent last was alive, is at most ``timeout`` seconds ago; else with 503.
    """

    def __init__(
        self, alive_callback: Callable[[], int], port: int, timeout: int
    ) -> None:
        self._alive_callback, self._port, self._timeout = alive_callback, port, timeout
        self._server: ThreadingHTTPServer | None = None

    @property
    def alive_callback(self) -> Callable[[], int]:
        """When the agent last was alive."""
        return self._alive_callback

    def is_alive(self) -> bool:
        """What is answered."""
        return time.time() - self._alive_callback() <= self._timeout

    def start(self) -> None:
        """Begins to answer, on a thread."""
        health = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if health.is_alive() else 503)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("", self._port), Answer)
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Ends."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


def create_healthcheck_server(
    alive_callback: Callable[[], int], port: int, timeout: int
) -> HealthCheckServer:
    """A server that is not started."""
    return HealthCheckServer(alive_callback, port, timeout)
