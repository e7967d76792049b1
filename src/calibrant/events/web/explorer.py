"""A store of events, ready to be looked at: what Python is to have of its pages."""

from __future__ import annotations

from calibrant.events.web._store_in_memory import StoreInMemory
from calibrant.events.web.pages.comparison import ComparisonPage
from calibrant.events.web.pages.country import CountryPage
from calibrant.events.web.pages.document import DocumentPage
from calibrant.events.web.pages.documents import DocumentsPage
from calibrant.events.web.pages.overview import OverviewPage
from calibrant.metrics.periods import By


class Explorer(StoreInMemory):
    r"""A store of events, ready to be looked at.

    Counts are held in memory and read once; texts and evidence are read when a document is asked for.

    Parameters
    ----------
    store
        Its folder.
    documents
        The file that the store was made from, for texts that the store does not hold.
    dev
        Labelled documents, as in `calibrant.events.event_table`: adds the total interval.
    progress
        Called now and then with a stage and how far it is.

    Attributes
    ----------
    about : About
        What every page says of the store.
    countries : tuple of str
        Codes, by falling mean.

    Raises
    ------
    InputError
        If there is no such store, or the documents cannot be read.
    FormatError
        If the store is damaged as a whole, or of a later release.
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
        """Count what overviews show, so that nobody waits for it."""
        for by in self._cuts:
            self.overview(by=by)

    def overview(self, *, by: By | None = None, rates: bool = False) -> OverviewPage:
        """The countries with the most documents.

        Parameters
        ----------
        by
            How time is cut; None: `default_by`.
        rates
            Whether charts show shares of all documents of a period.

        Raises
        ------
        InputError
            If ``by`` is not known.
        """
        return OverviewPage.of(self, by=by, rates=rates)

    def country(self, country: str, *, by: By | None = None, rates: bool = False) -> CountryPage:
        """One country's series.

        Parameters
        ----------
        country
            Its code or its name.
        by, rates
            As in `overview`.

        Raises
        ------
        InputError
            If the store has no document of it, or several countries go by that name.
        """
        return CountryPage.of(self, country, by=by, rates=rates)

    def compare(
        self, first: str, second: str, *, by: By | None = None, rates: bool = False
    ) -> ComparisonPage:
        """Two countries, and how probable it is that one has more documents than the other.

        Parameters
        ----------
        first, second
            Their codes or names.
        by, rates
            As in `overview`.

        Raises
        ------
        InputError
            If the store has no document of one of them, or they are the same.
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
        """Documents that may count for a country.

        Parameters
        ----------
        country
            Its code or its name.
        by, period
            How time is cut, and which period; None: all of it.
        order
            ``uncertain`` (nearest 50 % first), ``probability`` or ``date``.
        offset
            How many to leave out at the beginning.

        Raises
        ------
        InputError
            If the country or the period is not in the store.
        """
        return DocumentsPage.of(self, country, by=by, period=period, order=order, offset=offset)

    def document(self, name: str) -> DocumentPage:
        """A document: for whom it counts, and why.

        Parameters
        ----------
        name
            Its id.

        Raises
        ------
        InputError
            If no document of this id counts.
        FormatError
            If its part cannot be read any more.
        """
        return DocumentPage.of(self, name)
