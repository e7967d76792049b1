"""A page as HTML: templates with autoescape on, one inline style sheet, and no request.

The only script is the one that searches a long table of classes; the content-security policy allows it by
its hash.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import accumulate

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from calibrant.pages import text
from calibrant.pages.groups import group_part
from calibrant.pages.sections import ClassTable, Kind, Lines, Picture, Section, no_figures
from calibrant.records import fields_of, words
from calibrant.results.groups import GroupedChanges
from calibrant.results.measurement import Measurement

EVERYTHING: tuple[Kind, ...] = ("curves", "smooth", "histograms")
# Models times views; all figures of one take about 80 kB, its curve alone 30 kB.
ALL_DRAWN = 8
CURVES_DRAWN = 20
LEFT_OUT = {
    1: "Smooth curves and histograms are left out, to keep a page of this many models and views small.",
    0: "Figures are left out, to keep a page of this many models and views small.",
}


def render(
    page: object, sections: Sequence[Section], classes: ClassTable | None, groups: GroupedChanges | None
) -> str:
    """Return the page of a report, with figures of its sections, classes and groups, as one HTML document."""
    kinds = _kinds(sections)
    figures: list[dict[Kind, list[dict[str, str]]]] = [{kind: [] for kind in EVERYTHING} for _ in sections]
    class_figures: list[Picture] = []
    group_figures: list[Picture] = []
    left_out = ["" if chosen == EVERYTHING else LEFT_OUT[len(chosen)] for chosen in kinds]
    if no_figures():
        left_out = [no_figures() for _ in sections]
    else:
        from calibrant.pages.figures import class_picture, group_pictures, pictures

        figures = [
            {kind: _safe(drawn) for kind, drawn in pictures(section, f"s{n}", chosen).items()}
            for n, (section, chosen) in enumerate(zip(sections, kinds, strict=True), start=1)
        ]
        drawn = class_picture(classes) if classes is not None else None
        class_figures = [] if drawn is None else [drawn]
        group_figures = [] if groups is None else group_pictures({"after": groups}, "all")
    script = script_hash = None
    if classes is not None and classes.searched:
        file = resources.files("calibrant.pages").joinpath("templates/search.js")
        script = Markup(file.read_text(encoding="utf-8"))
        # The content-security policy of the page allows this script alone.
        script_hash = f"sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
    return (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            figures=figures,
            left_out=left_out,
            class_figures=_safe(class_figures),
            script=script,
            script_hash=script_hash,
            groups=None if groups is None else group_part(groups),
            group_figures=_safe(group_figures),
        )
    )


def render_protocol(
    page: object, figures: Mapping[str, Sequence[Picture]], calibration: Section | None, recipe: Lines
) -> str:
    """Return the page of an evaluation as one HTML document."""
    kinds: tuple[Kind, ...] = ("curves",)
    drawn: list[Picture] = []
    if calibration is not None and not no_figures():
        from calibrant.pages.figures import pictures

        drawn = pictures(calibration, "calibration", kinds)["curves"]
    safe = {kind: _safe(figure) for kind, figure in {**figures, "calibration": drawn}.items()}
    return _environment().get_template("protocol.html").render(page=page, figures=safe, recipe=recipe)


def render_story(page: object, figures: Sequence[Sequence[Picture]]) -> str:
    """Return the page of a story, with the figures of each step, as one HTML document."""
    safe = [_safe(drawn) for drawn in figures]
    return _environment().get_template("story.html").render(page=page, figures=safe)


def render_record(page: object, figures: Sequence[Sequence[Picture]]) -> str:
    """Return the page of one record, with the figures of each part, as one HTML document."""
    from calibrant._version import __version__

    safe = [_safe(drawn) for drawn in figures]
    return _environment().get_template("record.html").render(page=page, figures=safe, version=__version__)


def _kinds(sections: Sequence[Section]) -> list[tuple[Kind, ...]]:
    """Choose what is drawn of each section, so that the page stays below a megabyte."""
    sizes = [len(section.models) for section in sections]
    if sum(sizes) <= ALL_DRAWN:
        return [EVERYTHING for _ in sections]
    return [("curves",) if so_far <= CURVES_DRAWN else () for so_far in accumulate(sizes)]


def _safe(drawn: Sequence[Picture]) -> list[dict[str, str]]:
    # The markup comes from an XML serializer, which escaped every text in it.
    return [{"svg": Markup(figure.svg), "title": figure.title, "caption": figure.caption} for figure in drawn]


def templates_of(package: str) -> Environment:
    """Return the templates of a package, with escaping, and errors for unknown names."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _environment() -> Environment:
    environment = templates_of("calibrant.pages")
    environment.filters.update(number=text.number, count=words.count, percent=words.percent)
    environment.globals.update(span=text.span, terms={field.name: field for field in fields_of(Measurement)})
    return environment
