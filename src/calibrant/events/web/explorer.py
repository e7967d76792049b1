"""The Python interface of the explorer."""

from __future__ import annotations

from calibrant.events.web._store_in_memory import StoreInMemory
from calibrant.events.web.pages.comparison import ComparisonPage
from calibrant.events.web.pages.country import CountryPage
from calibrant.events.web.pages.document import DocumentPage
from calibrant.events.web.pages.documents import DocumentsPage
from calibrant.events.web.pages.overview import OverviewPage
from calibrant.metrics.periods import By


class Explorer(StoreInMemory):
    r"""Explorer of a store of events.

    Counts are read once and kept in memory; texts and evidence are read when a document is requested.

    Parameters
    ----------
    store
        Folder of the store.
    documents
        File of the run's documents, for texts that the store does not contain.
    dev
        Labeled documents, as in `calibrant.events.event_table`; they add the total interval.
    progress
        Called with a stage, the number of documents done, and their total (None if unknown).

    Attributes
    ----------
    about : About
        Description of the store.
    countries : tuple of str
        Codes, by decreasing mean.

    Raises
    ------
    InputError
        If the store does not exist, or the documents cannot be read.
    FormatError
        If the whole store is damaged, or a later release wrote it.
    MissingExtraError
        If DuckDB is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from datetime import date
    >>> from calibrant.events.files.store import StoredCount, StoredDocument
    >>> from calibrant.events.files.store_writing import StoreWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with StoreWriter(f"{folder}/s", {"samples": 8, "with_text": False}) as writer:
    ...         count = StoredCount("IRQ", 0.5, True, b"\x0f")
    ...         writer.write(StoredDocument("d1", date(2001, 9, 11), counts=[count]))
    ...     Explorer(f"{folder}/s").country("IRQ", by="year").series.mean
    0.5
    """

    def prepare(self) -> None:
        """Compute the counts of the overview in advance, so that the first request is fast."""
        for by in self._cuts:
            self.overview(by=by)

    def overview(self, *, by: By | None = None, rates: bool = False) -> OverviewPage:
        """Return the page of the countries with the most documents.

        Parameters
        ----------
        by
            Length of a period; None: `default_by`.
        rates
            True if charts show counts divided by the documents of the period.

        Raises
        ------
        InputError
            If ``by`` is not known.
        """
        return OverviewPage.of(self, by=by, rates=rates)

    def country(self, country: str, *, by: By | None = None, rates: bool = False) -> CountryPage:
        """Return the page of one country.

        Parameters
        ----------
        country
            Code or name of the country.
        by, rates
            As in `overview`.

        Raises
        ------
        InputError
            If the store has no document of the country, or several countries fit the name.
        """
        return CountryPage.of(self, country, by=by, rates=rates)

    def compare(
        self, first: str, second: str, *, by: By | None = None, rates: bool = False
    ) -> ComparisonPage:
        """Return the page that compares two countries, with the probability that one has more documents.

        Parameters
        ----------
        first, second
            Codes or names of the countries.
        by, rates
            As in `overview`.

        Raises
        ------
        InputError
            If the store has no document of one country, or the countries are the same.
        """
        return ComparisonPage.of(self, first, second, by=by, rates=rates)

    def documents(
        self,
        country: str,
        *,
        by: By | None = None,
        period: str | None = None,
        order: str = "uncertain",
        offset: int = 0,
    ) -> DocumentsPage:
        """Return the page of documents that may count for a country.

        Parameters
        ----------
        country
            Code or name of the country.
        by, period
            Length of a period, and the period; None: all periods.
        order
            ``uncertain`` (nearest 50 % first), ``probability`` or ``date``.
        offset
            Number of documents to skip.

        Raises
        ------
        InputError
            If the country or the period is not in the store.
        """
        return DocumentsPage.of(self, country, by=by, period=period, order=order, offset=offset)

    def document(self, name: str) -> DocumentPage:
        """Return the page of a document, with the countries for which it counts and the evidence.

        Parameters
        ----------
        name
            Id of the document.

        Raises
        ------
        InputError
            If no document with this id counts.
        FormatError
            If its part of the store cannot be read.
        """
        return DocumentPage.of(self, name)
