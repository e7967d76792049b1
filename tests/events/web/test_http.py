"""The server as others on the machine and pages on the internet meet it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from http.client import HTTPConnection, HTTPResponse
from importlib.resources import files
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest

from calibrant.events.files.store_writing import StoreWriter
from calibrant.events.results.events import FEW_SAMPLES, UNFINISHED
from calibrant.events.web import Explorer, application
from calibrant.events.web.guard import Guard, host_of
from calibrant.events.web.pages import PAGES, ProblemPage
from calibrant.events.web.pages.reading import ReadingPage
from calibrant.events.web.serving import PORT, address_of, bound
from calibrant.exceptions import InputError
from tests.events.web.conftest import documents

Serve = Callable[..., AbstractContextManager[int]]
TOKEN = "a-token-that-is-long-enough"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str


@dataclass
class Client:
    port: int

    def get(self, path: str, *, method: str = "GET", host: str | None = None, **headers: str) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", f"127.0.0.1:{self.port}" if host is None else host)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        found: HTTPResponse = connection.getresponse()
        text = found.read().decode("utf-8")
        connection.close()
        return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, text)


@pytest.fixture(scope="module")
def client(explorer: Explorer, serve: Serve) -> Iterator[Client]:
    with serve(explorer) as port:
        yield Client(port)


PATHS = (
    "/",
    "/?by=week&rates=1",
    "/country?country=USA",
    "/compare?first=USA&second=IRQ",
    "/documents?country=USA&by=quarter&period=2001-Q1",
    "/document?id=a",
)


def test_every_page_has_an_address_here_a_template_and_a_row_of_the_guide() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guide" / "explore.md").read_text(encoding="utf-8")
    assert {urlsplit(path).path for path in PATHS} == set(PAGES)
    assert all(re.search(f"`{path}[?`]", guide) for path in PAGES)
    templates = {file.name for file in files("calibrant.events.web").joinpath("templates").iterdir()}
    made_of = {"base.html", "parts.html", "explore.css", ProblemPage.template, ReadingPage.template}
    assert templates == {page.template for page in PAGES.values()} | made_of


@pytest.mark.parametrize("path", PATHS)
def test_each_page_is_there_as_html_json_and_csv(client: Client, path: str) -> None:
    joint = "&" if "?" in path else "?"
    html, values, table = (client.get(path + joint + f"format={form}") for form in ("html", "json", "csv"))
    assert html.status == values.status == table.status == 200
    assert html.headers["content-type"] == "text/html; charset=utf-8"
    assert "events.store" in html.text
    assert json.loads(values.text)["about"]["store"] == "events.store"
    assert list(csv.DictReader(io.StringIO(table.text)))
    assert "attachment" in table.headers["content-disposition"]


def test_links_lead_from_the_first_page_to_every_page(client: Client) -> None:
    waiting, seen = ["/"], {"/"}
    while waiting and {urlsplit(path).path for path in seen} != set(PAGES):
        for link in re.findall(r'(?:href|action)="(/[^"]*)"', client.get(waiting.pop(0)).text):
            if urlsplit(link).path in PAGES and (address := unescape(link)) not in seen:
                seen.add(address)
                waiting.append(address)
    assert {urlsplit(path).path for path in seen} == set(PAGES)


def test_every_page_notes_an_unfinished_store_and_few_samples(
    store: Path, serve: Serve, client: Client
) -> None:
    with StoreWriter(store, {"samples": 8, "with_text": True}):
        pass  # a run that was killed
    with serve(Explorer(store)) as port:
        pages = [Client(port).get(path).text for path in ("/", "/country?country=USA")]
    assert all(UNFINISHED in page and FEW_SAMPLES in page for page in pages)
    assert UNFINISHED not in client.get("/").text


def test_a_single_document_is_named_in_the_singular(client: Client) -> None:
    assert "1 document may count." in client.get("/country?country=IRQ").text
    assert "1 document may count for both" in " ".join(
        client.get("/compare?first=USA&second=IRQ").text.split()
    )
    assert "3 documents may count." in client.get("/country?country=USA").text
    other = quote(documents()[3].counts[0].country)
    assert "No document can count for both" in client.get(f"/compare?first={other}&second=IRQ").text


def test_every_answer_forbids_scripts_frames_and_other_origins(client: Client) -> None:
    for path in (*PATHS, "/style.css", "/icon.svg", "/nothing", "/document?id=none"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "script" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "localhost:80@evil.example",
        "[::1]evil.example",
        "127.1",
        "0.0.0.0",
        "10.0.0.7",
        "",
    ],
)
def test_other_hosts_are_refused(client: Client, host: str) -> None:
    answer = client.get("/", host=host)
    assert answer.status == 403
    assert "documents" not in answer.text


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST:9000", "[::1]:80", "127.0.0.2"])
def test_names_of_this_machine_are_answered_whatever_the_port(client: Client, host: str) -> None:
    assert client.get("/", host=host).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "file://"])
def test_requests_of_other_pages_are_refused(client: Client, origin: str) -> None:
    assert client.get("/", Origin=origin).status == 403


def test_requests_of_its_own_pages_are_answered(client: Client) -> None:
    assert client.get("/", Origin=f"http://127.0.0.1:{client.port}").status == 200
    assert client.get("/", Sec_Fetch_Site="same-origin").status == 200
    assert client.get("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200
    assert client.get("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors").status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_but_reading_is_answered(client: Client, method: str) -> None:
    assert client.get("/", method=method).status == 405


def test_head_has_the_headers_alone(client: Client) -> None:
    answer = client.get("/", method="HEAD")
    assert answer.status == 200
    assert answer.text == ""


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/country",
        "/country?country=XXX",
        "/country?country=USA&by=day",
        "/documents?country=USA&offset=-1",
        "/documents?country=USA&offset=1e9",
        "/documents?country=USA&offset=%D9%A3",
        "/documents?country=USA&period=1999",
        "/document?id=../../manifest.json",
        "/?format=xml",
        "/%2e%2e/%2e%2e/etc/passwd",
    ],
)
def test_what_is_not_there_is_said_in_one_line(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status == 404
    assert "Traceback" not in answer.text
    assert "Page not available" in answer.text
    if "format" not in path:
        found = json.loads(client.get(path + ("&" if "?" in path else "?") + "format=json").text)
        assert "\n" not in found["message"]


class Tags(HTMLParser):
    """Which elements and attributes a page has."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_hostile_names_titles_and_texts_stay_text(client: Client, hostile: str) -> None:
    code = hostile[:40]
    paths = [
        "/",
        f"/country?{urlencode({'country': code})}",
        f"/compare?{urlencode({'first': code, 'second': 'USA'})}",
        f"/documents?{urlencode({'country': code})}",
        "/documents?country=USA",
        f"/document?{urlencode({'id': hostile})}",
        f"/document?id={quote('<script>alert(1)</script>')}",
        f"/country?country={quote(hostile)}",
        f"/{quote(hostile)}",
    ]
    for path in paths:
        page = client.get(path).text
        tags = Tags()
        tags.feed(page)
        assert not tags.found & {"script", "img", "iframe", "object", "style"}, path
        assert not {name for name in tags.attributes if name.startswith("on")} | tags.attributes & {
            "style"
        }, path
        assert page.count("</title>") == 1 + page.count("<rect"), path
        assert not re.search(r"https?://(?!www\.w3\.org)", page), path


@pytest.mark.parametrize("path", PATHS)
def test_hostile_values_of_every_parameter_stay_text(client: Client, hostile: str, path: str) -> None:
    page, query = urlsplit(path).path, dict(parse_qsl(urlsplit(path).query))
    for name in {*query, "by", "from", "nothing"}:
        for value in (hostile, "\0", "9" * 5000, "../..", "%00%0d%0aSet-Cookie: a=b"):
            answer = client.get(f"{page}?{urlencode({**query, name: value})}")
            assert answer.status in (200, 404)
            assert "set-cookie" not in answer.headers
            tags = Tags()
            tags.feed(answer.text)
            assert not tags.found & {"script", "img", "iframe", "object", "style"}


def test_a_token_is_asked_for_and_then_kept_as_a_cookie(explorer: Explorer, serve: Serve) -> None:
    with serve(explorer, host="0.0.0.0", token=TOKEN) as port:
        client = Client(port)
        for path in ("/", "/style.css", "/document?id=a&format=json", "/?token=wrong", "/?token="):
            refused = client.get(path)
            assert refused.status == 401
            assert "events.store" not in refused.text
        welcome = client.get(f"/country?country=USA&token={TOKEN}")
        assert welcome.status == 303
        assert welcome.headers["location"] == "/country?country=USA"
        cookie = welcome.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert client.get("/", Cookie=cookie.partition(";")[0]).status == 200
        assert client.get("/", Cookie="calibrant-explorer=wrong").status == 401
        assert client.get("/", Authorization=f"Bearer {TOKEN}").status == 200
        assert client.get("/", Authorization=f"Basic {TOKEN}").status == 401
        assert client.get("/", host="evil.example", Authorization=f"Bearer {TOKEN}").status == 403
        assert client.get("/", host="192.168.1.7:80", Authorization=f"Bearer {TOKEN}").status == 200


def test_the_way_back_after_a_token_stays_on_this_server(explorer: Explorer, serve: Serve) -> None:
    with serve(explorer, token=TOKEN) as port:
        found = Client(port).get(f"//evil.example/?token={TOKEN}")
        assert not found.headers.get("location", "").startswith("//")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org"])
def test_others_are_served_with_a_token_only(explorer: Explorer, host: str) -> None:
    with pytest.raises(InputError, match="token"):
        application(explorer, host=host)
    with pytest.raises(InputError, match="16"):
        application(explorer, host=host, token="short")


def test_a_guard_does_not_show_its_token() -> None:
    assert TOKEN not in repr(Guard("0.0.0.0", TOKEN))


@pytest.mark.parametrize(
    ("header", "name"), [("a:80", "a"), ("[::1]", "::1"), ("[::1]:80", "::1"), ("A.b", "a.b"), ("", "")]
)
def test_hosts_are_read_with_and_without_a_port(header: str, name: str) -> None:
    assert host_of(header) == name


def test_a_port_that_is_taken_is_said_and_another_one_found() -> None:
    with bound("127.0.0.1", 0) as first:
        first.listen()
        port = first.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 cannot be used"):
            bound("127.0.0.1", port)
    with bound("127.0.0.1", None) as one, bound("127.0.0.1", None) as other:
        numbers = []
        for each in (one, other):
            numbers.append(each.getsockname()[1])
        assert numbers[0] >= PORT
        one.listen()
    with pytest.raises(InputError, match="is not an address of this machine"):
        bound("no-such-host.invalid", None)


def test_the_address_to_open_has_the_token() -> None:
    assert address_of("127.0.0.1", 8765, None) == "http://127.0.0.1:8765/"
    assert address_of("::", 1, TOKEN) == f"http://[::]:1/?token={TOKEN}"


def test_every_page_says_what_is_counted_and_is_linked_from_another(client: Client) -> None:
    linked: set[str] = set()
    for path in PATHS:
        text = client.get(path).text
        assert "These pages count <bdi>documents in which an actor" in text, path
        targets = re.findall(r'(?:href|action)="([^"]*)"', text)
        linked |= {urlsplit(target).path for target in targets} - {urlsplit(path).path}
    assert set(PAGES) <= linked
