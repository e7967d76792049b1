"""Serve the pages of an explorer over HTTP."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from calibrant.events.web._answers import answer, icon, style_sheet
from calibrant.events.web._html import warm
from calibrant.events.web.explorer import Explorer
from calibrant.events.web.guard import Guard, Guarded, is_loopback
from calibrant.events.web.pages import PAGES
from calibrant.exceptions import InputError
from calibrant.lazy import from_extra

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from uvicorn import Server

HOST = "127.0.0.1"
PORT = 8765
TRIED = 20  # ports after the first, where none was asked for
SHORTEST_TOKEN = 16
SECONDS_TO_END = 2
NEEDED = "the explorer needs Starlette and Uvicorn"


def application(explorer: Explorer, *, host: str = HOST, token: str | None = None) -> ASGIApp:
    """The explorer as an ASGI application, with all its checks.

    Parameters
    ----------
    explorer
        That makes the pages.
    host
        What the server is bound to.
    token
        That each request must bring; needed unless the address is this machine alone.

    Raises
    ------
    InputError
        If there is no token although others can reach the server, or it is too short.
    MissingExtraError
        If Starlette is not installed.

    Examples
    --------
    >>> application(None, host="0.0.0.0")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: others can reach 0.0.0.0: give a token of at least 16 characters
    """
    hint = f"give a token of at least {SHORTEST_TOKEN} characters"
    if token is None and not is_loopback(host):
        raise InputError(f"others can reach {host}", hint, code="parameter")
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise InputError("the token is short", hint, code="parameter")
    from_extra("starlette", NEEDED, "web")
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    def page(request: Request) -> Response:
        return answer(explorer, request)

    async def missing(request: Request, error: Exception) -> Response:
        return answer(explorer, request)

    routes = [Route(path, page) for path in PAGES]
    routes += [Route("/style.css", style_sheet), Route("/icon.svg", icon)]
    app = Starlette(routes=routes, exception_handlers={404: missing})
    app.router.redirect_slashes = False  # no answer has an address made of what was asked
    return Guarded(app, Guard(host, token))


def serve(
    explorer: Explorer,
    *,
    host: str = HOST,
    port: int | None = None,
    token: str | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve an explorer until the process is told to end.

    Parameters
    ----------
    explorer
        That makes the pages.
    host
        Address to bind to.
    port
        None: 8765, or the next one that is free. 0: any that is free.
    token
        As in `application`; None on an address that others can reach: a random one.
    ready
        Called with the address to open once requests are taken.

    Raises
    ------
    InputError
        If the address or port cannot be used.
    MissingExtraError
        If the server's libraries are not installed.
    KeyboardInterrupt
        When it was told to end.

    Examples
    --------
    >>> serve(None, token="secret")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: the token is short: give a token of at least 16 characters
    """
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    server = server_of(application(explorer, host=host, token=token))
    with bound(host, port) as listening:
        explorer.prepare()
        warm(explorer.overview())
        listening.listen(128)
        if ready is not None:
            ready(address_of(host, listening.getsockname()[1], token))
        server.run(sockets=[listening])


def server_of(application: ASGIApp) -> Server:
    """A server that says nothing of itself and ends soon when it is told to.

    Raises
    ------
    MissingExtraError
        If Uvicorn is not installed.
    """
    uvicorn = from_extra("uvicorn", NEEDED, "web")
    from calibrant.events.web._connections import PromptConnection

    server: Server = uvicorn.Server(
        uvicorn.Config(
            application,
            http=PromptConnection,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=SECONDS_TO_END,
        )
    )
    return server


def address_of(host: str, port: int, token: str | None) -> str:
    """What to open in a browser.

    Examples
    --------
    >>> address_of("::1", 80, None), address_of("0.0.0.0", 8765, "s3cret")
    ('http://[::1]:80/', 'http://0.0.0.0:8765/?token=s3cret')
    """
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"?token={token}" if token is not None else "")


def bound(host: str, port: int | None) -> socket.socket:
    """A socket at an address; without a port at the first that is free."""
    ports = [port] if port is not None else range(PORT, PORT + TRIED + 1)
    try:
        family, _, _, _, place = socket.getaddrinfo(
            host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        hint = "give an address of this machine, such as 127.0.0.1"
        raise InputError(f"there is no address {host!r:.60}", hint, code="parameter") from error
    reason: OSError | None = None
    for number in ports:
        # With its protocol named, asyncio lets it send at once what is small (TCP_NODELAY).
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind((place[0], number))
        except (OSError, OverflowError) as error:
            found.close()
            reason = error if isinstance(error, OSError) else OSError(str(error))
            continue
        return found
    tried = f"port {port}" if port is not None else f"ports {PORT} to {PORT + TRIED}"
    why = (reason.strerror if reason is not None else None) or str(reason)
    message = f"{tried} of {host} cannot be used ({why.lower()})"
    raise InputError(message, "give another `port`, or none", code="parameter")
