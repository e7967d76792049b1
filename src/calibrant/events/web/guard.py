"""Checks of every request before a page is made, and headers of every answer.

A page on the internet can make a browser send requests to this machine, but it cannot choose their Host and
Origin. Names that were made to point here (DNS rebinding) are not accepted as hosts, and a request from
another page's script has that page's origin.
"""

from __future__ import annotations

import hmac
import ipaddress
import math
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

METHODS = ("GET", "HEAD")
WRITES = "/read"  # the only path that a form may be sent to
MOST_FORM = 4096  # bytes
VERSIONS = ("1.0", "1.1")  # versions of HTTP; the parser accepts any two digits
ONCE = ("host", "origin", "sec-fetch-site", "sec-fetch-mode")  # headers that the checks use
COOKIE = "calibrant-explorer"
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach an address or ``localhost``."""
    if host.removesuffix(".") == "localhost":
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def host_of(header: str) -> str:
    """Return the name in a Host header in lower case, without its port; empty if it is invalid.

    Examples
    --------
    >>> host_of("LocalHost:8765"), host_of("[::1]:80"), host_of("::1"), host_of("localhost:80@evil.example")
    ('localhost', '::1', '::1', '')
    """
    text = header.strip().lower()
    if "%" in text:  # the zone of an address may contain any text
        return ""
    if text.startswith("[") and "]" in text:
        name, _, rest = text[1:].partition("]")
    elif text.count(":") == 1:
        name, colon, number = text.partition(":")
        rest = colon + number
    else:
        name, rest = text, ""
    port = rest.removeprefix(":")
    return name if port == "" or (rest != port and port.isascii() and port.isdigit()) else ""


@dataclass(frozen=True)
class Guard:
    """Checks that decide if a request is answered.

    Attributes
    ----------
    host
        Address that the server is bound to.
    token
        Token that a request must send, first in the address and then as a cookie; None: no token.
    writes
        True if readers' answers are accepted: by POST, at one path, from a page of this server.
    """

    host: str
    token: str | None = field(default=None, repr=False)
    writes: bool = False

    def allows_host(self, header: str) -> bool:
        """Return True if a request for this host is meant for this server.

        Names that others could point here are refused. A server bound to a network address accepts numeric
        addresses and this machine's name.
        """
        name = host_of(header)
        if is_loopback(name) or name == self.host.lower():
            return True
        if is_loopback(self.host):
            return False
        return _address(name) is not None or name.rstrip(".") == socket.gethostname().lower()

    def refusal(
        self, method: str, headers: Sequence[tuple[str, str]], path: str = "/"
    ) -> tuple[int, str] | None:
        """Return status and reason of a refusal, or None; tokens are checked separately."""
        values_of = {name: [value for other, value in headers if other.lower() == name] for name in ONCE}
        sent = self.writes and method == "POST" and path == WRITES
        if method not in METHODS and not sent:
            return 405, "This server answers GET and HEAD only."
        if len(values_of["host"]) != 1 or any(len(values) > 1 for values in values_of.values()):
            return 400, "A request must name one host and at most one origin."
        host = values_of["host"][0]
        if not self.allows_host(host):
            return 403, "This server does not answer to that host name. Use the address that it printed."
        if any(
            origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}")
            for origin in values_of["origin"]
        ):
            return 403, "Requests from other pages are refused."
        elsewhere = any(site not in ("none", "same-origin") for site in values_of["sec-fetch-site"])
        if elsewhere and values_of["sec-fetch-mode"] != ["navigate"]:
            return 403, "Requests from other pages are refused."
        # A browser always states the origin of a form that it sends.
        if sent and not values_of["origin"]:
            return 403, "Send the form of the page."
        if sent and any(site != "same-origin" for site in values_of["sec-fetch-site"]):
            return 403, "Requests from other pages are refused."
        return None

    def is_token(self, given: str | None) -> bool:
        """Return True if the token is correct, by a comparison in constant time."""
        return (
            given is not None
            and self.token is not None
            and hmac.compare_digest(given.encode(), self.token.encode())
        )


class WrongTokens:
    """Waiting times of addresses after wrong tokens.

    The first five wrong tokens cause no wait. Each further one doubles the wait, from 0.5 to 60 seconds.
    Wrong tokens during the wait do not extend it. An address is forgotten after ten minutes without a wrong
    token.

    Examples
    --------
    >>> wrong = WrongTokens(clock=lambda: 0.0)
    >>> for _ in range(7):
    ...     wrong.add("192.0.2.1")
    >>> wrong.wait("192.0.2.1"), wrong.wait("192.0.2.2")
    (1.0, 0.0)
    """

    FREE = 5
    FIRST, LONGEST = 0.5, 60.0  # seconds
    FORGOTTEN = 600.0  # seconds
    MOST = 10_000  # addresses

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Return the seconds until a wrong token from this address is counted again."""
        count, last = self._of(address)
        if count <= self.FREE:
            return 0.0
        return max(0.0, last + min(self.LONGEST, self.FIRST * 2.0 ** (count - self.FREE - 1)) - self._clock())

    def add(self, address: str) -> None:
        """Record a wrong token."""
        count, _ = self._of(address)
        self._seen[_network(address)] = (min(count + 1, 1_000), self._clock())
        self._seen.move_to_end(_network(address))
        if len(self._seen) > self.MOST:
            self._seen.popitem(last=False)

    def _of(self, address: str) -> tuple[int, float]:
        count, last = self._seen.get(_network(address), (0, -math.inf))
        return (count, last) if self._clock() - last < self.FORGOTTEN else (0, -math.inf)


def _network(address: str) -> str:
    """Return the address, or the first half of an IPv6 address."""
    parsed = _address(address)
    # One client controls the second half of its IPv6 address.
    return address if parsed is None or parsed.version == 4 else parsed.exploded[:19]


class Guarded:
    """Application behind a guard.

    Parameters
    ----------
    application
        Application that makes the pages.
    guard
        Checks of the requests.
    """

    def __init__(self, application: ASGIApp, guard: Guard) -> None:
        self._application = application
        self._guard = guard
        self._wrong = WrongTokens()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request if `Guard` accepts it."""
        from starlette.responses import PlainTextResponse

        if scope["type"] != "http":
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *added]}
            await send(message)

        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        refused = self._guard.refusal(scope["method"], headers, scope["path"])
        if scope["http_version"] not in VERSIONS:
            refused = 505, "This server speaks HTTP/1.0 and HTTP/1.1."
        if refused is None and not scope["query_string"].isascii():
            refused = 400, "Write characters other than ASCII as %XX in the address."
        if refused is not None:
            await PlainTextResponse(refused[1] + "\n", refused[0])(scope, receive, send_with_headers)
            return
        if self._guard.token is not None:
            answer = self._asking_for_token(self._guard, scope, headers)
            if answer is not None:
                await answer(scope, receive, send_with_headers)
                return
        await self._application(scope, receive, send_with_headers)

    def _asking_for_token(
        self, guard: Guard, scope: Scope, headers: Sequence[tuple[str, str]]
    ) -> Response | None:
        """Return the answer to a request without a valid token, or None."""
        from starlette.responses import PlainTextResponse, RedirectResponse

        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == "token"), None)
        brought = _brought(headers)
        if guard.is_token(given):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            path = "/" + quote(scope["path"].lstrip("/"))  # two slashes would name another host
            answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(COOKIE, given or "", httponly=True, samesite="lax")
            return answer
        if guard.is_token(brought):
            return None
        if given is not None or brought is not None:
            # Only after the check: users behind one address must not lock each other out.
            address = (scope.get("client") or ("",))[0]
            wait = self._wrong.wait(address)
            if wait > 0:
                seconds = math.ceil(wait)
                text = f"Too many wrong tokens came from this address. Try again in {seconds} s.\n"
                return PlainTextResponse(text, 429, {"Retry-After": str(seconds)})
            self._wrong.add(address)
        text = "A token is required: open the address that the server printed, or send a bearer token.\n"
        return PlainTextResponse(text, 401, {"WWW-Authenticate": "Bearer"})


def _brought(headers: Iterable[tuple[str, str]]) -> str | None:
    """Return the token in a cookie or in an Authorization header."""
    from http.cookies import CookieError, SimpleCookie

    for name, value in headers:
        if name.lower() == "authorization" and value[:7].lower() == "bearer ":
            return value[7:].strip()
        if name.lower() == "cookie":
            try:
                morsel = SimpleCookie(value).get(COOKIE)
            except CookieError:
                continue
            if morsel is not None:
                return morsel.value
    return None
