"""Requests that no browser makes: shapes of HTTP, paths, parameters and hosts made to confuse the server."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as some
from starlette.types import ASGIApp

from calibrant.events.web import Explorer, application
from calibrant.events.web.guard import COOKIE, WrongTokens
from tests.events.web.asking import asked

HOST = b"Host: 127.0.0.1\r\nConnection: close\r\n"
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
SECONDS = 5.0  # an answer takes milliseconds; this is for a busy machine
LONG = "9" * 20_000


@pytest.fixture(scope="module")
def port(explorer: Explorer, serve: Callable[..., AbstractContextManager[int]]) -> Iterator[int]:
    with serve(explorer) as found:
        yield found


@pytest.fixture(scope="module")
def app(explorer: Explorer) -> ASGIApp:
    return application(explorer)


def sent(port: int, request: bytes, *, whole: bool = True) -> bytes:
    """All that the server answers to these bytes, until it closes; ``whole``: it waits for no more."""
    answered = b""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection,
        suppress(OSError),  # refused before all was sent
    ):
        connection.sendall(request)
        if not whole:
            connection.shutdown(socket.SHUT_WR)
        while block := connection.recv(1 << 16):
            answered += block
    return answered


def statuses(answered: bytes) -> list[int]:
    return [int(status) for status in STATUS.findall(answered)]


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="no host"),
        pytest.param(b"GET / HTTP/1.1\r\n" + HOST * 2 + b"\r\n", id="two hosts"),
        pytest.param(
            b"GET / HTTP/1.1\r\n" + HOST + b"Host: evil.example\r\n\r\n", id="another host after it"
        ),
        pytest.param(b"GET / HTTP/1.1\r\n" + HOST + b"\x00: a\r\n\r\n", id="NUL"),
        pytest.param(b"GET / HTTP/1.1\r\n" + HOST + b"A B: c\r\n\r\n", id="blank in a name"),
        pytest.param(b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n", id="negative length"),
        pytest.param(
            b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            id="two lengths",
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
            id="a chunk without size",
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip\r\n\r\n", id="another encoding"
        ),
        pytest.param(b"GET / HTTP/9.9\r\n" + HOST + b"\r\n", id="another version"),
        pytest.param(b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n", id="two blanks"),
        pytest.param(b"GET /\r\n\r\n", id="version 0.9"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="version 2"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40), id="TLS"),
        pytest.param(b"CONNECT evil.example:443 HTTP/1.1\r\n" + HOST + b"\r\n", id="a tunnel"),
        pytest.param(b"GET /?" + LONG.encode() * 10 + b" HTTP/1.1\r\n" + HOST + b"\r\n", id="a long address"),
        pytest.param(b"GET / HTTP/1.1\r\n" + HOST + b"A: b\r\n" * 50_000 + b"\r\n", id="many headers"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_no_request_is_refused(port: int, request_: bytes) -> None:
    answered = sent(port, request_, whole=False)
    assert all(400 <= status < 500 or status == 505 for status in statuses(answered)), answered[:200]
    assert b"Traceback" not in answered
    assert b"events.store" not in answered
    assert statuses(sent(port, b"GET /icon.svg HTTP/1.1\r\n" + HOST + b"\r\n")) == [200]


def test_another_version_of_http_is_refused_with_the_status_for_it(port: int) -> None:
    assert statuses(sent(port, b"GET / HTTP/9.9\r\n" + HOST + b"\r\n")) == [505]


INNER = b"GET /document?id=a HTTP/1.1\r\nHost: evil.example\r\n\r\n"


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param(b"Content-Length: %d\r\n" % len(INNER), INNER, id="as a body"),
        pytest.param(
            b"Transfer-Encoding: chunked\r\n", b"%x\r\n%s\r\n0\r\n\r\n" % (len(INNER), INNER), id="as a chunk"
        ),
        pytest.param(
            b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            b"%x\r\n%s\r\n0\r\n\r\n" % (len(INNER), INNER),
            id="with both lengths",
        ),
        pytest.param(b"", INNER, id="after the first"),
        pytest.param(b"Upgrade: h2c\r\nConnection: Upgrade\r\n", INNER, id="after an upgrade"),
        pytest.param(b"Expect: 100-continue\r\n", INNER, id="after an expectation"),
    ],
)
def test_a_request_inside_another_passes_the_same_guard(port: int, headers: bytes, body: bytes) -> None:
    answered = sent(port, b"GET /icon.svg HTTP/1.1\r\n" + HOST + headers + b"\r\n" + body)
    assert b"attack" not in answered  # the document's evidence
    assert set(statuses(answered)) <= {200, 400, 403, 405}
    assert statuses(answered).count(200) <= 1


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1\t.evil.example",
        "127.0.0.1,evil.example",
        "evil.example#127.0.0.1",
        "127.0.0.1#@evil.example",
        "127.0.0.1/evil",
        "127.0.0.1:80:80",
        "127.0.0.1:-1",
        "127.0.0.1:٣",
        "localhost%00.evil.example",
        "ⓛocalhost",
        "ｌocalhost",
        "127。0。0。1",
        "0177.0.0.1",
        "2130706433",
        "[::1",
        "::1]",
        "[::1%25lo]",
        "[::1%/evil?]",
        "[::ffff:10.0.0.7]",
        "localhost..",
        LONG,
    ],
)
def test_hosts_that_only_look_like_this_machine_are_refused(app: ASGIApp, host: str) -> None:
    for query in (b"", b"format=json"):
        status, text = asked(app, "/", query, (b"host", host.encode()))
        assert status == 403
        assert "documents" not in text


def test_an_absolute_address_does_not_stand_for_the_host(port: int) -> None:
    for address in (b"http://evil.example/", b"http://127.0.0.1/", b"//evil.example/"):
        good = sent(port, b"GET " + address + b" HTTP/1.1\r\n" + HOST + b"\r\n")
        bad = sent(port, b"GET " + address + b" HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        assert statuses(bad) == [403]
        assert statuses(good) in ([200], [404])
        assert b"evil.example" not in good


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param("Origin: http://127.0.0.1\r\nOrigin: http://evil.example", id="two origins"),
        pytest.param(
            "Origin: http://evil.example\r\nOrigin: http://127.0.0.1", id="two origins, the right one last"
        ),
        pytest.param("Origin: ", id="an empty origin"),
        pytest.param("Origin: http://127.0.0.1 http://evil.example", id="a list of origins"),
        pytest.param("Origin: http://127.0.0.1.evil.example", id="an origin that begins alike"),
        pytest.param("Sec-Fetch-Site: same-site", id="another port"),
        pytest.param("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors", id="a script elsewhere"),
    ],
)
def test_origins_are_compared_whole_and_each_counts(port: int, headers: str) -> None:
    answered = sent(port, b"GET / HTTP/1.1\r\n" + HOST + headers.encode() + b"\r\n\r\n")
    assert statuses(answered)[0] in (400, 403)


@pytest.mark.parametrize(
    "path",
    [
        "/%00",
        "/document%00?id=a",
        "/document/?id=a",
        "/%2fdocument?id=a",
        "/..%2f..%2fetc%2fpasswd",
        "/..%5c..%5cetc%5cpasswd",
        "/%c0%ae%c0%ae/etc/passwd",
        "/%ff%fe",
        "/style.css/../document?id=a",
        "/document;id=a",
        "/" + "a/" * 20_000,
        f"/document?id={LONG}",
        f"/documents?country=USA&offset={LONG}",
        "/documents?country=USA&offset=18446744073709551616",
        "/documents?country=USA&offset=0x10",
        "/documents?country=USA&offset=",
        "/documents?country=USA&order=1;drop",
        "/documents?country=USA&period=%00",
        "/document?id=%00",
        "/document?id=%ff",
        "/document?id=%ed%a0%80",
        "/document?id=" + quote("' OR 1=1 --"),
        "/document?id=*",
        "/country?country=%F0%9F%98%80",
        "/?by=__class__",
        "/?format=__class__",
        "/?" + "&".join(f"a{number}=b" for number in range(5_000)) + "&by=day",
    ],
)
def test_addresses_that_lead_nowhere_are_answered_in_one_line(port: int, path: str) -> None:
    answered = sent(port, f"GET {path} HTTP/1.1\r\n".encode() + HOST + b"\r\n")
    assert statuses(answered) == [404]
    assert b"Traceback" not in answered
    assert b"root:" not in answered
    assert b"attack" not in answered


def test_of_a_parameter_that_is_there_twice_the_pages_and_the_token_take_one(app: ASGIApp) -> None:
    status, text = asked(app, "/document", b"id=a&id=b&format=html&format=json")
    assert status == 200
    assert json.loads(text)["id"] == "b"


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PATCH", "PROPFIND", "get", "GETS", "M-SEARCH"])
def test_other_methods_are_refused_with_nothing_of_the_store(port: int, method: str) -> None:
    answered = sent(port, f"{method} /document?id=a HTTP/1.1\r\n".encode() + HOST + b"\r\n")
    assert statuses(answered) == [405]
    assert b"attack" not in answered


@pytest.mark.parametrize(
    "header",
    [
        "Range: bytes=0-0",
        "Range: bytes=0-0,1-1,2-2",
        f"Range: bytes={LONG}-",
        "If-Range: *\r\nRange: bytes=-1",
        "If-None-Match: *",
        "If-Modified-Since: Thu, 01 Jan 2099 00:00:00 GMT",
        "Accept: application/x-evil",
        "X-HTTP-Method-Override: DELETE",
        "X-Forwarded-Host: evil.example",
        "Forwarded: host=evil.example",
        "X-Original-URL: /document?id=a",
        "Cookie: " + "a=b; " * 5_000,
    ],
)
def test_headers_that_are_not_asked_for_change_nothing(port: int, header: str) -> None:
    plain = sent(port, b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
    answered = sent(port, b"GET / HTTP/1.1\r\n" + HOST + header.encode() + b"\r\n\r\n")
    assert statuses(answered) == [200]
    assert answered.partition(b"\r\n\r\n")[2] == plain.partition(b"\r\n\r\n")[2]
    assert b"evil" not in answered


def test_many_at_once_get_what_one_alone_gets(port: int) -> None:
    paths = [
        "/?format=json",
        "/country?country=USA&format=json",
        "/document?id=a&format=json",
        "/nothing?format=csv",
    ]
    requests = [f"GET {path} HTTP/1.1\r\n".encode() + HOST + b"\r\n" for path in paths]

    def body(request: bytes) -> bytes:
        return sent(port, request).partition(b"\r\n\r\n")[2]

    alone = [body(request) for request in requests]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(body, requests * 16))
    assert found == alone * 16


def test_those_who_say_nothing_keep_nobody_waiting(port: int) -> None:
    waiting = [socket.create_connection(("127.0.0.1", port), timeout=SECONDS) for _ in range(40)]
    try:
        for each in waiting:
            each.sendall(b"GET / HTTP/1.1\r\nHost: ")
        started = time.monotonic()
        assert statuses(sent(port, b"GET /icon.svg HTTP/1.1\r\n" + HOST + b"\r\n")) == [200]
        assert time.monotonic() - started < SECONDS
    finally:
        for each in waiting:
            each.close()


@pytest.mark.parametrize(
    "first", [b"", b"GET / HTTP/1.1\r\nHost: ", b"GET /icon.svg HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET"]
)
def test_a_connection_that_does_not_ask_in_time_is_closed(
    explorer: Explorer,
    serve: Callable[..., AbstractContextManager[int]],
    monkeypatch: pytest.MonkeyPatch,
    first: bytes,
) -> None:
    monkeypatch.setattr("calibrant.events.web._connections.SECONDS_TO_ASK", 0.3)
    with serve(explorer) as port, socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
        connection.sendall(first)
        started = time.monotonic()
        with suppress(OSError):  # closed while this sends
            while time.monotonic() - started < SECONDS:
                connection.sendall(b"a")
                connection.settimeout(0.05)
                with suppress(TimeoutError):
                    if not connection.recv(1 << 16):
                        break
        assert time.monotonic() - started < SECONDS


TOKEN = "a-token-that-is-long-enough"


def test_guesses_of_the_token_are_slowed_down(explorer: Explorer) -> None:
    app = application(explorer, host="0.0.0.0", token=TOKEN)
    right = (b"authorization", f"Bearer {TOKEN}".encode())
    host = (b"host", b"127.0.0.1")
    found = [asked(app, "/", f"token=guess-{number}".encode())[0] for number in range(20)]
    assert found == [401] * 6 + [429] * 14
    assert asked(app, "/", b"", host, (b"authorization", b"Bearer guess"))[0] == 429
    assert asked(app, "/", b"", host)[0] == 401
    assert asked(app, "/", b"", host, right)[0] == 200


@pytest.mark.parametrize("header", ["authorization", "cookie", "query"])
def test_a_valid_token_is_answered_while_its_address_waits(explorer: Explorer, header: str) -> None:
    app = application(explorer, host="0.0.0.0", token=TOKEN)
    for number in range(10):
        asked(app, "/", f"token=guess-{number}".encode())
    host = (b"host", b"127.0.0.1")
    if header == "query":
        assert asked(app, "/", f"token={TOKEN}".encode(), host)[0] == 303
        return
    text = f"Bearer {TOKEN}" if header == "authorization" else f"{COOKIE}={TOKEN}"
    assert asked(app, "/", b"", host, (header.encode(), text.encode()))[0] == 200


def test_waits_after_wrong_tokens_grow_end_and_are_forgotten() -> None:
    now = [0.0]
    wrong = WrongTokens(clock=lambda: now[0])
    waits = []
    for _ in range(16):
        wrong.add("2001:db8::1")
        waits.append(wrong.wait("2001:db8::ffff"))  # of the same network
    assert waits == [0.0] * 5 + [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0] + [60.0] * 4
    assert wrong.wait("2001:db8:0:1::1") == 0
    now[0] = 60.0
    assert wrong.wait("2001:db8::1") == 0
    now[0] = 700.0
    wrong.add("2001:db8::1")
    assert wrong.wait("2001:db8::1") == 0


NAMES = some.sampled_from(
    [
        "country",
        "first",
        "second",
        "id",
        "by",
        "rates",
        "period",
        "order",
        "offset",
        "format",
        "from",
        "to",
        "own",
    ]
)
KNOWN = some.sampled_from(
    ["USA", "IRQ", "a", "week", "quarter", "2001-Q1", "json", "csv", "1", "date", "uncertain"]
)
PIECE = some.binary(max_size=12) | some.text(max_size=12).map(str.encode)


@given(
    path=some.sampled_from(["/", "/country", "/compare", "/documents", "/document"]),
    given_=some.lists(some.tuples(NAMES, KNOWN.map(str.encode) | PIECE), max_size=6),
    rest=PIECE,
)
def test_no_query_makes_a_page_fail(
    app: ASGIApp, path: str, given_: list[tuple[str, bytes]], rest: bytes
) -> None:
    query = "&".join(f"{name}={quote(value)}" for name, value in given_).encode() + rest.replace(b"\n", b"")
    status, text = asked(app, path, query)
    assert status in (200, 400, 404)
    assert "Traceback" not in text


@given(
    header=some.binary(max_size=40), name=some.sampled_from([b"host", b"origin", b"cookie", b"authorization"])
)
def test_no_header_makes_the_guard_fail(app: ASGIApp, name: bytes, header: bytes) -> None:
    others = () if name == b"host" else ((b"host", b"localhost"),)
    status, text = asked(app, "/", b"", *others, (name, header))
    assert status in (200, 403)
    assert "Traceback" not in text
