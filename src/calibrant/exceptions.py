"""The errors that calibrant raises.

Each error has a stable ``code``, a ``message`` that describes the problem and its place, and a ``hint``
about its solution.
"""

from __future__ import annotations

from typing import Self


def printable(text: str, *, keep: str = "") -> str:
    r"""Return a text with escapes for control characters and characters that a terminal cannot show.

    Parameters
    ----------
    text
        Text, which may contain names from files.
    keep
        Characters that are not replaced.

    Returns
    -------
    str
        Text in which every character is printable.

    Examples
    --------
    >>> printable("the column 'a\x1b[2J\ud800'")
    "the column 'a\\x1b[2J\\ud800'"
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in keep else sign.encode("unicode_escape").decode()
        for sign in text
    )


class CalibrantError(Exception):
    """Base of every error that calibrant raises on purpose.

    Parameters
    ----------
    message
        Description of the problem, with the argument or file, the row and the value.
    hint
        Description of its solution.
    code
        Stable identifier, listed in the documentation.

    Examples
    --------
    >>> str(CalibrantError("the file is empty", "write at least one row"))
    'the file is empty: write at least one row'
    """

    def __init__(self, message: str, hint: str = "", *, code: str = "error") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        return printable(f"{self.message}: {self.hint}" if self.hint else self.message, keep="\n")


class InputError(CalibrantError, ValueError):
    """Error of invalid values: wrong shape, range, type or length.

    Parameters
    ----------
    message, hint, code
        As in `CalibrantError`.
    file, line, row, column
        Place of the value, if known. Rows count from 0 in arrays and from 1 in files (the first row of data
        is row 1); lines of text count from 1, including blank lines.

    Examples
    --------
    >>> str(InputError("score 1.2 is above 1", file="dev.csv", row=3, column="score"))
    'dev.csv, row 3, column score: score 1.2 is above 1'
    """

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        code: str = "input",
        file: str | None = None,
        line: int | None = None,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        super().__init__(message, hint, code=code)
        self.at(file=file, line=line, row=row, column=column)

    def at(
        self,
        *,
        file: str | None = None,
        line: int | None = None,
        row: int | None = None,
        column: str | None = None,
    ) -> Self:
        """Set the place of the values in a file, for an error from code that only knew the values.

        Parameters
        ----------
        file, line, row, column
            Place of the values. It replaces the earlier one, which counts from 0 in an array.

        Returns
        -------
        InputError
            The same error, for ``raise``.

        Examples
        --------
        >>> str(InputError("score 1.2 is above 1", row=2).at(file="dev.csv", row=3, column="score"))
        'dev.csv, row 3, column score: score 1.2 is above 1'
        """
        self.file = file
        self.line = line
        self.row = row
        self.column = column
        return self

    def __str__(self) -> str:
        place = [self.file] if self.file is not None else []
        place += [f"line {self.line}"] if self.line is not None else []
        place += [f"row {self.row}"] if self.row is not None else []
        place += [f"column {self.column}"] if self.column is not None else []
        text = super().__str__()
        return f"{printable(', '.join(place))}: {text}" if place else text


class FormatError(InputError):
    """Error of an invalid file: truncated, with a wrong ending, or of a newer version.

    Examples
    --------
    >>> raise FormatError("not a Parquet file", file="dev.parquet")
    Traceback (most recent call last):
    calibrant.exceptions.FormatError: dev.parquet: not a Parquet file
    """


class MissingExtraError(CalibrantError, ImportError):
    """Error of a missing optional dependency.

    Examples
    --------
    >>> str(MissingExtraError("the sentiment study needs nltk", "pip install calibrant-studies"))
    'the sentiment study needs nltk: pip install calibrant-studies'
    """
