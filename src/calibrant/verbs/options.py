"""Options of measuring, declared once for all verbs that measure."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, get_args

if TYPE_CHECKING:
    from calibrant.progress import Progress
    from calibrant.results.measurement import Recipe
    from calibrant.seeds import Seed

Verb = TypeVar("Verb", bound=Callable[..., Any])
IntervalMethod = Literal["inverted", "sampling", "bootstrap"]
MOST_ECE_BINS = 10_000


class MeasuringOptions(TypedDict, total=False):
    """Options that `measure`, `report`, `plot`, `evaluate_tagger` and `evaluate_coreference` share.

    Attributes
    ----------
    bin_size
        Number of pairs per displayed bin (bins of equal counts); Nguyen & O'Connor (2015) use 5000. If there
        are fewer pairs, all are in one bin. None: about n^0.6, or n // 20 up to 5,000; bins of equal
        information if most scores are near 0 or 1.
    n_bins
        Number of displayed bins of equal counts, instead of `bin_size`.
    n_ece_bins
        Number of equal-width bins of the expected calibration error (ECE).
    level
        Confidence level of all intervals, between 0 and 1.
    interval
        Method of the confidence intervals. ``inverted``: the calibration error with its interval by inversion
        of a test, with tested coverage. The others add a second interval, for comparison with other work,
        beside the number that it is for. ``sampling``: CalibErr by Algorithm 2 of Nguyen & O'Connor (2015),
        in bins that keep equal scores together. ``bootstrap``: the debiased error by percentiles of resampled
        estimates.
    samples
        Number of draws of `interval` ``sampling`` and ``bootstrap``. None: 10000 and 2000.
    seed
        Seed of all random draws.
    smooth
        Also compute the smooth calibration error (Blasiok and Nakkiran 2024) and its noise floor, which takes
        about a second per view.
    exact
        Compute exact bins also for tables of more than 10 million rows, which are then read twice.
    threads
        Number of threads; results do not depend on it. None: all processors, at most 8.
    progress
        Function that is called with the stage, the work done and the whole work (or None).
    command
        Command line to record.
    """

    bin_size: int | None
    n_bins: int | None
    n_ece_bins: int
    level: float
    interval: IntervalMethod
    samples: int | None
    seed: Seed
    smooth: bool
    exact: bool
    threads: int | None
    progress: Progress | None
    command: str | None


@dataclass(frozen=True)
class Settings:
    """Settings of a measurement, checked; the defaults are those of `MeasuringOptions`."""

    views: Sequence[str] | None = None
    bin_size: int | None = None
    n_bins: int | None = None
    n_ece_bins: int = 15
    level: float = 0.95
    interval: IntervalMethod = "inverted"
    samples: int | None = None
    seed: Seed = 0
    smooth: bool = False
    exact: bool = False

    def __post_init__(self) -> None:
        from calibrant._checks import one_of, optional, positive_integer, proportion, sample_count
        from calibrant.exceptions import InputError

        proportion(self.level, "level")
        if positive_integer(self.n_ece_bins, "n_ece_bins") > MOST_ECE_BINS:
            message = f"n_ece_bins is {self.n_ece_bins}"
            raise InputError(message, f"give at most {MOST_ECE_BINS} (`n_ece_bins`)", code="parameter")
        optional(positive_integer)(self.bin_size, "bin_size")
        optional(positive_integer)(self.n_bins, "n_bins")
        optional(sample_count)(self.samples, "samples")
        if self.bin_size is not None and self.n_bins is not None:
            message = "both a bin size and a number of bins are given"
            raise InputError(message, "give one of them", code="parameter")
        one_of(self.interval, get_args(IntervalMethod), "interval")


@dataclass(frozen=True)
class Run:
    """Settings that do not change numbers: threads, progress and the command line."""

    threads: int | None = None
    progress: Progress | None = None
    command: str | None = None

    def __post_init__(self) -> None:
        from calibrant._parallel import check_threads

        check_threads(self.threads)

    def say(self, stage: str, done: int = 0, whole: int | None = None) -> None:
        """Report progress."""
        from calibrant.progress import tell

        tell(self.progress, stage, done, whole)

    def recipe(self, file: str, form: str, rows: int, **known: Any) -> Recipe:
        """Return the recipe of a measurement; ``known`` are further fields of `Recipe`."""
        from calibrant._version import __version__
        from calibrant.results.measurement import Recipe

        known = {"classes": None, "threshold": None, **known}
        return Recipe(file, form, rows, version=__version__, command=self.command, **known)


_FIELDS = [field for kind in (Settings, Run) for field in fields(kind) if field.name != "views"]
_OPTIONS = {field.name for field in _FIELDS}


def settings_of(views: Sequence[str] | None, options: MeasuringOptions) -> tuple[Settings, Run]:
    """Return the checked settings of a measurement, and those that do not change numbers.

    Examples
    --------
    >>> settings, run = settings_of(["top"], {"level": 0.9, "threads": 1})
    >>> settings.level, settings.n_ece_bins, run.threads
    (0.9, 15, 1)
    """
    settings: dict[str, Any] = {**options}
    for name in settings:
        if name not in _OPTIONS:
            raise TypeError(f"got an unexpected keyword argument {name!r}")
    run = Run(
        **{name: settings.pop(name) for name in [field.name for field in fields(Run)] if name in settings}
    )
    return Settings(views, **settings), run


def takes(source: Any) -> Callable[[Verb], Verb]:
    '''Put what ``**options`` stands for into the signature and the docstring of a verb.

    `help`, notebooks and the pages on Python's interface then list every option, and the verb declares none.

    Parameters
    ----------
    source
        `MeasuringOptions`, or the function to which the verb passes its options.

    Examples
    --------
    >>> @takes(MeasuringOptions)
    ... def count(source, *, view="binary", **options):
    ...     """Count pairs.
    ...
    ...     Parameters
    ...     ----------
    ...     **options
    ...         As in `MeasuringOptions`.
    ...     """
    >>> list(inspect.signature(count).parameters)[:4]
    ['source', 'view', 'bin_size', 'n_bins']
    >>> "Number of equal-width bins" in count.__doc__
    True
    '''

    def decorated(verb: Verb) -> Verb:
        signature = inspect.signature(verb)
        variable = inspect.Parameter.VAR_KEYWORD
        own = {name: option for name, option in signature.parameters.items() if option.kind is not variable}
        more = [option for option in _keywords(source) if option.name not in own]
        verb.__signature__ = signature.replace(parameters=[*own.values(), *more])  # type: ignore[attr-defined]
        text_of_verb = inspect.cleandoc(verb.__doc__ or "")
        described = {name for names, _ in entries(text_of_verb) for name in names}
        missing = {option.name for option in more} - described
        lines: list[str] = []
        for names, text in entries(inspect.cleandoc(source.__doc__ or "")):
            if chosen := [name for name in names if name in missing]:
                lines += [", ".join(chosen), *text]
        entry = r"(?m)^\*\*\w+\n(?: {4}.*\n?)+"
        verb.__doc__ = re.sub(entry, lambda _: "\n".join([*lines, ""]), text_of_verb, count=1)
        return verb

    return decorated


def _keywords(source: Any) -> list[inspect.Parameter]:
    """Return the keyword-only parameters of a function, or the options of measuring with their defaults."""
    only = inspect.Parameter.KEYWORD_ONLY
    if source is MeasuringOptions:
        return [
            inspect.Parameter(field.name, only, default=field.default, annotation=field.type)
            for field in _FIELDS
        ]
    return [option for option in inspect.signature(source).parameters.values() if option.kind is only]


def entries(docstring: str) -> list[tuple[list[str], list[str]]]:
    r"""Return the names and the lines of each entry in a docstring's section of parameters or attributes.

    Examples
    --------
    >>> entries("Parameters\n----------\nlow, high\n    Ends.\n")
    [(['low', 'high'], ['    Ends.'])]
    """
    section = re.search(r"(?ms)^(?:Attributes|Parameters)\n-+\n(.*?)(?=^\n|\Z)", f"{docstring}\n")
    parts = re.findall(r"(?m)^\S.*\n(?: .*\n)+", section[1] if section else "")
    return [(header.split(", "), text) for header, *text in map(str.splitlines, parts)]
