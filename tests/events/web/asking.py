"""What an application answers, without a socket between."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message


def asked(
    app: ASGIApp, path: str, query: bytes, *headers: tuple[bytes, bytes], client: str = "192.0.2.1"
) -> tuple[int, str]:
    """Return the status and the text."""
    messages: list[Message] = []
    raw = path.encode("utf-8", "surrogateescape")
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": raw,
        "query_string": query,
        "headers": headers or ((b"host", b"127.0.0.1:8765"),),
        "server": ("127.0.0.1", 8765),
        "client": (client, 50_000),
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        messages.append(message)

    async def run() -> None:
        await app(scope, receive, send)

    asyncio.run(run())
    return messages[0]["status"], b"".join(each.get("body", b"") for each in messages[1:]).decode()
