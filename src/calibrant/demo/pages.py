"""The page of `calibrant demo`: one story in steps, the same words for a terminal and for a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from calibrant import plots
from calibrant.demo.results import Demonstration, TaggerStory
from calibrant.events import plots as event_plots
from calibrant.events.results.events import EventCount, EventTable
from calibrant.pages import text
from calibrant.pages.figures import Picture
from calibrant.pages.groups import error_points, group_table, note_on
from calibrant.pages.sections import Lines, TextTable
from calibrant.plots.style import figure_of
from calibrant.records import Printed, Quantity, Table, words
from calibrant.records.record import plain
from calibrant.results.drawing import bin_limits
from calibrant.results.groups import GroupedChanges
from calibrant.results.measurement import Measurement

CURVES = (
    "Each point is a twentieth of the probabilities: what the model says, against how often it is right. On "
    "the diagonal the two agree; below it the model is too sure. The vertical lines are 95 % intervals."
)
SERIES = (
    "Inner band: the doubt about who did it. Outer band: with the doubt about the model's probabilities "
    "too. Dashed: the best guess."
)
TITLE = "How far can the probabilities of a model be trusted?"
LEAD = "One story, on data that come with calibrant."
SHARED, GROUPED = "one map for all", "a map a group"
NEXT: tuple[tuple[str, Lines], ...] = (
    (
        "Your own predictions: one a row, columns score (from 0 to 1) and label (1 if it happened, or 0)",
        (
            ("calibrant measure test.csv", "how far off they are"),
            ("calibrant report test.csv -o report.html", "the same to look at"),
        ),
    ),
    (
        "Many classes: a row an item and class, with the columns class, item, and cluster (the sentence)",
        (
            ("calibrant fit dev.csv --method histogram --group frequency -o map.json", "mend"),
            ("calibrant report test.csv --model map.json --dev dev.csv -o report.html", "before and after"),
        ),
    ),
    (
        "Counts over time: those of this story",
        (
            ("calibrant events table socialist-worker --by quarter", "the numbers"),
            ("calibrant explore socialist-worker", "needs pip install 'calibrant[web]'"),
        ),
    ),
)


@dataclass(frozen=True)
class StoryStep:
    """One step of the story.

    Attributes
    ----------
    heading
        Of the step.
    before
        What is asked, a paragraph each.
    table
        The numbers, or None.
    after
        What they say, a paragraph each; verdicts of better and worse are computed.
    """

    heading: str
    before: tuple[str, ...]
    table: TextTable | None
    after: tuple[str, ...]


@dataclass(frozen=True)
class StoryPage(Printed):
    """The story, ready to be shown.

    Attributes
    ----------
    title, lead
        Of the page.
    steps
        Of the story.
    next
        What to type for one's own data: what it is for, and commands with a remark each.
    found
        The record behind every number.

    Examples
    --------
    >>> from calibrant.demo.verbs import demonstrate
    >>> [step.heading for step in story_page(demonstrate()).steps][:2]
    ['A model that looks good', 'How far its probabilities can be trusted']
    """

    title: str
    lead: str
    steps: tuple[StoryStep, ...]
    next: tuple[tuple[str, Lines], ...]
    found: Demonstration

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain Python values: every text, and the numbers behind it."""
        return {
            "title": self.title,
            "lead": self.lead,
            "steps": plain(self.steps),
            "next": [{"for": what, "commands": [line for line, _ in lines]} for what, lines in self.next],
            "demonstration": plain(self.found),
        }

    def to_tables(self) -> tuple[Table, ...]:
        """Return the tables of the record."""
        return self.found.to_tables()

    def to_html(self) -> str:
        """Return the page as one self-contained HTML document."""
        from calibrant.pages.group_figures import group_pictures
        from calibrant.pages.html import render_story

        tagger = self.found.tagger
        versions = {"before": tagger.before, SHARED: tagger.shared, GROUPED: tagger.grouped}
        drawn = ([curves(versions)], group_pictures(changes_of(tagger), "story"), series(self.found.events))
        return render_story(self, ((), (), *drawn))


def story_page(found: Demonstration) -> StoryPage:
    """Word the demonstration for its reader.

    Examples
    --------
    >>> from calibrant.demo.verbs import demonstrate
    >>> len(story_page(demonstrate()).steps)
    5
    """
    tagger = found.tagger
    steps = (_looks_good(tagger), _trusted(tagger), _mended(tagger), _rare(tagger), _counted(found))
    return StoryPage(TITLE, LEAD, steps, NEXT, found)


def changes_of(found: TaggerStory) -> dict[str, GroupedChanges]:
    """What each of the two recalibrators does, under the names that the story gives them."""
    return {SHARED: found.shared_changes, GROUPED: found.grouped_changes}


def _looks_good(found: TaggerStory) -> StoryStep:
    first = found.first
    right = first.positives / first.n
    sure = right - (first.calibration_in_the_large.estimate or 0.0)
    return StoryStep(
        "A model that looks good",
        (
            f"A tagger gives each word of a text its part of speech, one of {found.classes} tags. On "
            f"{found.words:,} words from the web its first choice is right {words.percent(right, 1)} of the "
            f"time, and it is {words.percent(sure, 1)} sure of it on average.",
        ),
        None,
        (),
    )


def _trusted(found: TaggerStory) -> StoryStep:
    low = "" if found.threshold is None else f", from {words.percent(found.threshold)} on"
    return StoryStep(
        "How far its probabilities can be trusted",
        (
            "It has a probability for every tag of each word. Of 100 cases where it says 30 %, it should be "
            f"right in 30. All its probabilities{low}:",
        ),
        _ranges(found),
        (
            f"{text.error_verdict(found.before.interval)} This distance is the calibration error, with its "
            f"95 % interval; 0 if all can be trusted. {text.direction_verdict(found.before)}",
        ),
    )


def _ranges(found: TaggerStory) -> TextTable:
    rows = [
        (
            f"{100 * row['edge_low']:.0f} to {words.percent(row['edge_high'])}",
            words.percent(row["score"], 1),
            words.percent(row["frequency"], 1),
            f"{text.points(limits['low'])} to {words.percent(limits['high'], 1)}",
            words.count(row["n"]),
        )
        for row, limits in zip(found.ranges.to_rows(), found.range_intervals.to_rows(), strict=True)
    ]
    head = ("it says", "on average", "it is right", "95 % interval", "cases")
    return TextTable("", head, tuple(rows))


def _mended(found: TaggerStory) -> StoryStep:
    change = found.shared_changes.total
    said = {
        "better": "It is better: the change is larger than sampling error explains.",
        "worse": "It is worse: the change is larger than sampling error explains.",
    }.get(change.verdict or "", "The change is inconclusive: sampling error explains it as well.")
    return StoryStep(
        "Mended on other text",
        (
            f"A map from what it says to how often it is right is learned from {found.dev_words:,} words of "
            "another text (dev): one map for all tags. On the test text it changes the error from "
            f"{error_points(change.before)} to {error_points(change.after)} points. "
            f"{said}",
        ),
        None,
        (),
    )


def _rare(found: TaggerStory) -> StoryStep:
    return StoryStep(
        "The rare tags",
        (
            "The error by group, from the most frequent tags (NN nouns, IN prepositions) to the rarest, in "
            "points. A cell without a verdict is inconclusive:",
        ),
        group_table(changes_of(found), head="tags", total=False, inconclusive=""),
        (
            note_on(changes_of(found)),
            _rarest(found) + _price(found) + f" {CHOSEN}",
        ),
    )


def _rarest(found: TaggerStory) -> str:
    """Say how the rarest group fares, and how many groups have gained."""
    shared, grouped = found.shared_changes.groups, found.grouped_changes.groups
    errors = [group.before.calibration_error.estimate or 0.0 for group in shared]
    largest = "The rarest tags have the largest error. " if errors[-1] == max(errors) else ""
    one_map = {
        "better": "One map for all makes them better too.",
        "worse": "One map for all makes them worse.",
    }.get(shared[-1].verdict or "", "Whether one map for all makes them better is inconclusive.")
    better = [group.verdict for group in grouped].count("better")
    who = largest or "The rarest tags: "
    return f"{who}{one_map} A map for each group makes {better} of {len(grouped)} groups better."


# The groups and the kind of map come from whoever wrote the story, who had looked at the test text.
CHOSEN = "(Groups and maps were chosen with these results in view; choose yours on dev.)"


def _price(found: TaggerStory) -> str:
    """Say what the maps cost in sharpness; nothing where they cost none."""
    before, after = found.before.brier, found.grouped.brier
    if after <= before:
        return ""
    return (
        f" Price: maps of few steps blur; the mean squared error goes from {text.number(before)} to "
        f"{text.number(after)}."
    )


def _counted(found: Demonstration) -> StoryStep:
    by_country: dict[str, list[EventCount]] = {}
    for row in found.events.counts:
        by_country.setdefault(row.country, []).append(row)
    series = list(by_country.items())
    years = [row.period for row in series[0][1]]
    totals = ", and ".join(
        f"{sum(row.best for row in rows):,} for {country} where "
        f"{sum(row.count.estimate or 0.0 for row in rows):,.0f} are expected"
        for country, rows in series
    )
    return StoryStep(
        "Counts over time, with and without the doubt",
        (
            "In how many articles of a newspaper does a country use force? A model reads who does what, "
            'and is often not sure who "they" are. The paper is Socialist Worker, '
            f"{years[0]} to {years[-1]}, the countries are the United States and Iraq:",
        ),
        _counts(series),
        (
            "guess: as if its best guess were sure. doubt: 95 % interval that keeps its doubt. wider: with "
            f"the doubt about its probabilities as well. In all years the guess counts {totals}. No interval "
            f"has wrong parses and rules: of {found.read} articles that the model was sure of, a reader "
            f"found {found.right} right.",
        ),
    )


def _counts(series: Sequence[tuple[str, Sequence[EventCount]]]) -> TextTable:
    head = ["year", "articles"]
    for country, _ in series:
        head += [f"{country}: guess", "doubt", "wider"]
    rows = []
    for found in zip(*(rows for _, rows in series), strict=True):
        cells = [found[0].period, words.count(found[0].documents)]
        for row in found:
            cells += [words.count(row.best), _whole(row.count), _whole(row.total)]
        rows.append(tuple(cells))
    return TextTable("", tuple(head), tuple(rows))


def _whole(count: Quantity | None) -> str:
    if count is None or count.low is None or count.high is None:
        return words.UNDEFINED
    return f"{count.low:.0f} to {count.high:.0f}"


def curves(versions: Mapping[str, Measurement]) -> Picture:
    """Draw the calibration curves of several versions of the same scores."""
    drawn = [(name, m.sums, bin_limits(m)) for name, m in versions.items()]
    figure = figure_of(plots.calibration_curves(drawn))
    svg = plots.inline_svg(figure, name="story-curves", description="Calibration curves before and after")
    return Picture(svg, "Before and after", CURVES)


def series(events: EventTable) -> list[Picture]:
    """Draw each country's counts over time, with both intervals."""
    pictures = []
    for country in dict.fromkeys(row.country for row in events.counts):
        rows = tuple(row for row in events.counts if row.country == country)
        figure = event_plots.event_series(replace(events, counts=rows), columns=1)
        name = f"story-series-{country.lower()}"
        svg = plots.inline_svg(figure, name=name, description=f"Counts a year of {country}, with intervals")
        pictures.append(Picture(svg, f"Articles a year in which {country} uses force", SERIES))
    return pictures
