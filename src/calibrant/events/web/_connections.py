"""Connections that close if no request arrives in time."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS_TO_ASK = 10.0


class PromptConnection(H11Protocol):
    """Connection that closes if a whole request does not arrive within some seconds.

    The time starts when the connection opens, and again with the first byte after each answer. More bytes do
    not extend it, so a client that sends single bytes cannot keep a connection open.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the timer unless it runs; stop it while a request is answered."""
        if not getattr(self.cycle, "response_complete", True):  # no cycle exists before the first request
            self._stop()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(SECONDS_TO_ASK, self.transport.close)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
