"""One file over HTTP: continued where it was cut, and taken only if it is the file that was meant."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from calibrant import __version__
from calibrant.exceptions import CalibrantError
from calibrant_studies.datasets._catalogue import Original
from calibrant_studies.datasets._digests import digest_of

SERVER = "https://raw.githubusercontent.com"
BLOCK = 1 << 13  # bytes; so many at most are lost where a connection is cut
PATIENCE = (10, 30)  # seconds to connect, and between two pieces
TRIES = 4  # in a row without a byte more
PAUSE = 1.0  # seconds before the second try; doubled before each further one
LONGEST_PAUSE = 30.0  # seconds
BUSY = frozenset({429, 500, 502, 503, 504})
# Ranges count the bytes that are sent, so that these must be those of the file.
HEADERS = {"User-Agent": f"calibrant/{__version__}", "Accept-Encoding": "identity"}
AGAIN = "run the command again: what has arrived is kept"

Seen = Callable[[int], None]


class UnfinishedError(Exception):
    """The answer broke off or did not come; asking again may help.

    Parameters
    ----------
    reason
        For the reader.
    pause
        Seconds that the server asks for.
    """

    def __init__(self, reason: str, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.pause = pause


class Resumer:
    """A downloader for pooch that continues what it has, and checks what it got.

    Parameters
    ----------
    original
        The file.
    part
        Where what has arrived is kept until it is whole.
    session
        Session of requests.
    seen
        Called with the number of bytes that are there.
    """

    def __init__(self, original: Original, part: Path, session: Any, seen: Seen) -> None:
        self._original = original
        self._part = part
        self._session = session
        self._seen = seen

    def __call__(self, url: str, output_file: str, pooch: object) -> None:
        """Download ``url`` to ``output_file``, as pooch calls it."""
        continued = self._have() > 0
        self._complete(url)
        wrong = self._wrong()
        if wrong and continued:  # what was there may have been of something else
            self._part.unlink()
            self._complete(url)
            wrong = self._wrong()
        if wrong:
            self._part.unlink()
            hint = "it is not the file that was meant; nothing of it is kept"
            raise CalibrantError(
                f"{url}: the checksum is {wrong}, not {self._original.digest}", hint, code="checksum"
            )
        os.replace(self._part, output_file)

    def _have(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def _complete(self, url: str) -> None:
        """Ask until the file is whole, or too many tries in a row brought nothing."""
        failures = 0
        while True:
            before = self._have()
            if self._original.size is not None and before >= self._original.size:
                return
            try:
                self._receive(url, before)
                if self._original.size is None or self._have() >= self._original.size:
                    return
                raise UnfinishedError("the connection was cut")
            except UnfinishedError as error:
                failures = 1 if self._have() > before else failures + 1
                if failures >= TRIES:
                    raise CalibrantError(f"{url}: {error}", AGAIN, code="download") from error
                time.sleep(min(max(error.pause, PAUSE * 2 ** (failures - 1)), LONGEST_PAUSE))

    def _receive(self, url: str, have: int) -> None:
        """Append what one answer brings."""
        import requests

        headers = {**HEADERS, "Range": f"bytes={have}-"} if have else HEADERS
        try:
            with self._session.get(url, headers=headers, stream=True, timeout=PATIENCE) as answer:
                self._check(url, answer)
                follows = answer.status_code == 206 and _start(answer) == have
                if answer.status_code == 206 and not follows:
                    self._part.unlink()
                    raise UnfinishedError("the server continued at another place")
                self._write(answer, have if follows else 0)
        except requests.ConnectTimeout as error:
            raise UnfinishedError(
                f"{urlsplit(url).netloc} did not answer in {PATIENCE[0]} seconds"
            ) from error
        except requests.Timeout as error:
            raise UnfinishedError(f"nothing came for {PATIENCE[1]} seconds") from error
        except requests.exceptions.ChunkedEncodingError as error:
            raise UnfinishedError("the connection was cut") from error
        except requests.ConnectionError as error:
            raise UnfinishedError(_unreachable(url, error)) from error
        except requests.RequestException as error:
            raise CalibrantError(f"{url}: {error}", AGAIN, code="download") from error

    def _check(self, url: str, answer: Any) -> None:
        status = answer.status_code
        if status == 416:  # nothing follows what is there, so that it is not the beginning of this file
            self._part.unlink(missing_ok=True)
            raise UnfinishedError("the server has not so much of it")
        if status in BUSY:
            pause = answer.headers.get("Retry-After", "")
            said = f"the server answers {status} ({answer.reason})"
            raise UnfinishedError(said, float(pause) if pause.isdigit() else 0.0)
        if status not in (200, 206):
            hint = "the content has changed, or another server answers"
            raise CalibrantError(
                f"{url}: the server answers {status} ({answer.reason})", hint, code="download"
            )

    def _write(self, answer: Any, have: int) -> None:
        """Write what comes after ``have`` bytes; what is longer than the file is cut off where that shows."""
        size = self._original.size
        with self._part.open("ab" if have else "wb") as file:
            for block in answer.iter_content(BLOCK):
                file.write(block)
                have += len(block)
                self._seen(have if size is None else min(have, size))
                if size is not None and have > size:
                    return

    def _wrong(self) -> str:
        """The digest of what has arrived, if it is not the one that was meant."""
        found = digest_of(self._part.read_bytes(), self._original.digest)
        return "" if found == self._original.digest else found


def address(original: Original, server: str) -> str:
    """Where a file is on a server of files by repository, commit and path.

    Examples
    --------
    >>> address(Original("a/b", "0f", "c d.txt", 1, "sha256:0"), "http://localhost:80/")
    'http://localhost:80/a/b/0f/c%20d.txt'
    """
    return f"{server.rstrip('/')}/{quote(original.place)}"


def _start(answer: Any) -> int:
    """The first byte that an answer to a range has; -1 if it does not say."""
    first = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
    return int(first) if first.isdigit() else -1


def _unreachable(url: str, error: Exception) -> str:
    """Say why no connection came about, or that it was cut."""
    from requests.exceptions import ProxyError, SSLError

    host = urlsplit(url).netloc
    if isinstance(error, SSLError):
        return f"the certificate of {host} is not trusted"
    if isinstance(error, ProxyError):
        return f"the proxy before {host} does not let this through"
    text = str(error)
    if "timed out" in text:
        return f"nothing came for {PATIENCE[1]} seconds"
    if "NameResolution" in text or "getaddrinfo" in text or "Name or service" in text:
        return f"{host} is not known here: there is no network, or it needs a proxy (HTTPS_PROXY)"
    return (
        f"{host} cannot be reached" if "establish" in text or "refused" in text else "the connection was cut"
    )
