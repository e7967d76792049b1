"""A page as HTML: templates with autoescape on, one inline style sheet, no script and no request."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from calibrant.report import _text as text
from calibrant.report._figures import Picture, class_picture, pictures
from calibrant.report._sections import ClassTable, Lines, Section
from calibrant.report.glossary import TERMS


def render(
    *,
    title: str,
    sections: Sequence[Section],
    classes: ClassTable | None,
    recipes: Sequence[tuple[str, Lines]],
    command: str | None,
    version: str,
) -> str:
    """Return a page as one HTML document."""
    figures = [
        {
            kind: [_safe(picture) for picture in drawn]
            for kind, drawn in pictures(section, f"s{number}").items()
        }
        for number, section in enumerate(sections, start=1)
    ]
    drawn = class_picture(classes) if classes is not None else None
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=title,
            sections=sections,
            figures=figures,
            classes=classes,
            class_figures=[] if drawn is None else [_safe(drawn)],
            recipes=recipes,
            command=command,
            version=version,
        )
    )


def _safe(picture: Picture) -> dict[str, str]:
    # The markup comes from an XML serializer, which escaped every text in it.
    return {"svg": Markup(picture.svg), "title": picture.title, "caption": picture.caption}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("calibrant.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=text.number, count=text.count, percent=text.percent)
    environment.globals.update(span=text.span, terms=TERMS)
    return environment
