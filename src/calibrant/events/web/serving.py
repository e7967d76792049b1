"""Serve the pages of an explorer over HTTP."""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from calibrant._checks import one_of
from calibrant.events.web._html import render, style, warm
from calibrant.events.web.explorer import Explorer
from calibrant.events.web.guard import MOST_FORM, WRITES, Guard, Guarded, is_loopback
from calibrant.events.web.pages import PAGES, Address, Page, ProblemPage
from calibrant.exceptions import CalibrantError, FormatError, InputError
from calibrant.lazy import from_extra
from calibrant.records.formats import rows_as_csv

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp
    from uvicorn import Server


HOST = "127.0.0.1"
PORT = 8765
TRIED = 20  # further ports to try if no port was given
SHORTEST_TOKEN = 16
SECONDS_TO_END = 2
NEEDED = "the explorer needs Starlette and Uvicorn"
FORMATS = ("html", "json", "csv")
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<path fill="#56b4e9" d="M1 9h5V5h5v4h4v5H1z"/>'
    '<path fill="none" stroke="#175ecc" stroke-width="2" d="M1 11h5V7h5v4h4"/></svg>'
)


def application(explorer: Explorer, *, host: str = HOST, token: str | None = None) -> ASGIApp:
    """Return the explorer as an ASGI application, with all checks of requests.

    Parameters
    ----------
    explorer
        Explorer that makes the pages.
    host
        Address that the server is bound to.
    token
        Token that each request must send; required unless only this machine can reach the address.

    Raises
    ------
    InputError
        If other machines can reach the server and there is no token, or the token is too short.
    MissingExtraError
        If Starlette is not installed.

    Examples
    --------
    >>> from calibrant.data import event_store
    >>> application(Explorer(event_store("reuters-21578")), host="0.0.0.0")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: other machines can reach 0.0.0.0: give a token of at least 16 characters
    """
    readings = explorer.readings
    if readings is not None and not is_loopback(host):
        message = f"other machines can reach {host}, and could answer for the reader"
        raise InputError(message, "read on this machine, at 127.0.0.1", code="parameter")
    hint = f"give a token of at least {SHORTEST_TOKEN} characters"
    if token is None and not is_loopback(host):
        raise InputError(f"other machines can reach {host}", hint, code="parameter")
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise InputError("the token is too short", hint, code="parameter")
    from_extra("starlette", NEEDED, "web")
    from starlette.applications import Starlette
    from starlette.responses import RedirectResponse, Response
    from starlette.routing import Route

    def page(request: Request) -> Response:
        return answer(explorer, request)

    def style_sheet(request: Request) -> Response:
        return Response(style(), media_type="text/css; charset=utf-8")

    def icon(request: Request) -> Response:
        return Response(ICON, media_type="image/svg+xml")

    async def missing(request: Request, error: Exception) -> Response:
        return answer(explorer, request)

    key = secrets.token_urlsafe(24)

    async def read(request: Request) -> Response:
        if request.method != "POST":
            return answer(explorer, request, key)
        assert readings is not None, "the route takes answers only with readings"
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_FORM:
                return written(ProblemPage(413, "The form is too large."), "html")
        form = dict(parse_qsl(body.decode("latin-1"), encoding="utf-8", errors="replace"))
        if not hmac.compare_digest(form.get("key", "").encode(), key.encode()):
            return written(ProblemPage(403, "The form is of an earlier run; open /read again."), "html")
        assert readings is not None  # because the route exists only with readings
        try:
            readings.answer(form.get("item", ""), form.get("answer", ""))
        except CalibrantError as error:
            return written(ProblemPage(404, str(error)), "html")
        except OSError as error:
            reason = error.strerror or str(error)
            return written(ProblemPage(500, f"The answer could not be written: {reason}."), "html")
        return RedirectResponse("/read", 303)

    routes = [Route(path, page) for path in PAGES]
    routes += [Route("/style.css", style_sheet), Route("/icon.svg", icon)]
    routes += [] if readings is None else [Route(WRITES, read, methods=["GET", "POST"])]
    app = Starlette(routes=routes, exception_handlers={404: missing})
    app.router.redirect_slashes = False  # no answer contains an address made from the request
    return Guarded(app, Guard(host, token, readings is not None))


def answer(explorer: Explorer, request: Request, key: str = "") -> Response:
    """Return the requested page as a response; ``key`` is that of the form of answers."""
    query = request.query_params
    form = query.get("format", "html")
    try:
        one_of(form, FORMATS, "format")
        page: Page | ProblemPage = page_of(explorer, request.url.path, query, key)
    except FormatError as error:
        page = ProblemPage(500, str(error))
    except InputError as error:
        page = ProblemPage(404, str(error))
    except CalibrantError as error:
        page = ProblemPage(500, str(error))
    return written(page, form if form in FORMATS else "html")


def page_of(explorer: Explorer, path: str, query: QueryParams, key: str = "") -> Page:
    """Return the page at a path; raise `InputError` if there is no page."""
    address = Address.of(query)
    shown = address.shown
    match path:
        case "/":
            return explorer.overview(**shown, own_scales=address.flag("own"))
        case "/country":
            return explorer.country(address.text("country"), **shown)
        case "/compare":
            return explorer.compare(address.text("first"), address.text("second"), **shown)
        case "/documents":
            return explorer.documents(
                address.text("country"),
                **shown,
                period=query.get("period"),
                order=query.get("order", "uncertain"),
                offset=address.number("offset"),
            )
        case "/document":
            return explorer.document(address.text("id"))
        case "/read":
            return explorer.reading(key, query.get("item"))
    raise InputError("this page does not exist", "start at /", code="parameter")


def written(page: Page | ProblemPage, form: str) -> Response:
    """Return a page as an HTTP response."""
    from starlette.responses import Response

    status = page.status if isinstance(page, ProblemPage) else 200
    if form == "json":
        return Response(page.to_json(), status, media_type="application/json")
    if form == "csv":
        headers = {"Content-Disposition": 'attachment; filename="calibrant.csv"'}
        return Response(as_csv(page.to_rows()), status, headers, media_type="text/csv; charset=utf-8")
    return Response(render(page), status, media_type="text/html; charset=utf-8")


def as_csv(rows: list[dict[str, Any]]) -> str:
    r"""Return rows as CSV.

    Examples
    --------
    >>> as_csv([{"id": "=1+1", "probability": -0.5}])
    "id,probability\r\n'=1+1,-0.5\r\n"
    """
    names = list(rows[0]) if rows else []
    return rows_as_csv([names, *([row.get(name) for name in names] for row in rows)]) if rows else ""


def serve(
    explorer: Explorer,
    *,
    host: str = HOST,
    port: int | None = None,
    token: str | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve an explorer until the process is stopped.

    Parameters
    ----------
    explorer
        Explorer that makes the pages.
    host
        Address to bind to.
    port
        Port; None: 8765, or the next free port; 0: any free port.
    token
        As in `application`. If None and other machines can reach the address, a random token is used.
    ready
        Called with the address to open when the server accepts requests.

    Raises
    ------
    InputError
        If the address or port cannot be used.
    MissingExtraError
        If the server's libraries are not installed.
    KeyboardInterrupt
        If the process is interrupted.

    Examples
    --------
    >>> from calibrant.data import event_store
    >>> serve(Explorer(event_store("reuters-21578")), token="secret")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: the token is too short: give a token of at least 16 characters
    """
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    server = server_of(application(explorer, host=host, token=token))
    with bound(host, port) as listening:
        explorer.prepare()
        warm(explorer.overview())
        listening.listen(128)
        if ready is not None:
            path = "/" if explorer.readings is None else WRITES
            ready(address_of(host, listening.getsockname()[1], token, path))
        server.run(sockets=[listening])


def server_of(application: ASGIApp) -> Server:
    """Return a server that does not identify itself and stops quickly."""
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


def address_of(host: str, port: int, token: str | None, path: str = "/") -> str:
    """Return the address to open in a browser.

    Examples
    --------
    >>> address_of("::1", 80, None), address_of("0.0.0.0", 8765, "s3cret")
    ('http://[::1]:80/', 'http://0.0.0.0:8765/?token=s3cret')
    """
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}{path}" + (f"?token={token}" if token is not None else "")


def bound(host: str, port: int | None) -> socket.socket:
    """Return a socket bound to an address; without a port, to the first free port."""
    ports = [port] if port is not None else range(PORT, PORT + TRIED + 1)
    try:
        family, _, _, _, place = socket.getaddrinfo(
            host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        hint = "give an address of this machine, such as 127.0.0.1"
        raise InputError(f"{host!r:.60} is not an address of this machine", hint, code="parameter") from error
    reason: OSError | None = None
    for number in ports:
        # With the protocol given, asyncio sends small packets at once (TCP_NODELAY).
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((place[0], number))
        except (OSError, OverflowError) as error:
            listener.close()
            reason = error if isinstance(error, OSError) else OSError(str(error))
            continue
        return listener
    tried = f"port {port}" if port is not None else f"ports {PORT} to {PORT + TRIED}"
    why = (reason.strerror if reason is not None else None) or str(reason)
    message = f"{tried} of {host} cannot be used ({why.lower()})"
    raise InputError(message, "give another `port`, or leave it out", code="parameter")
