"""The page of `calibrant demo`: a story in steps, with the same text for a terminal and for a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from calibrant.demo.results import Demonstration, TaggerStory
from calibrant.events.results.events import EventCount, EventTable
from calibrant.pages import text
from calibrant.pages.groups import error_points, group_table, note_on
from calibrant.pages.sections import Lines, Picture, TextTable, no_figures
from calibrant.parts import installing
from calibrant.records import Printed, Quantity, Table, words
from calibrant.records.record import plain
from calibrant.results.drawing import bin_limits
from calibrant.results.groups import GroupedChanges
from calibrant.results.measurement import Measurement

CURVES = (
    "Each point is the mean of 5 % of the cases: the probability against how often the model is right. On "
    "the diagonal the two agree. Below it the model is overconfident. The vertical lines are 95 % "
    "intervals."
)
SERIES = (
    "Inner band: 95 % interval. Outer band: total interval, which also includes the uncertainty of the "
    "model's probabilities. Dashed line: 1-best count."
)
TITLE = "How far can the probabilities of a model be trusted?"
LEAD = "A demo on data that ship with calibrant."
SHARED, GROUPED = "one map for all", "one map per group"
NEXT: tuple[tuple[str, Lines], ...] = (
    (
        "Your predictions: one per row, with columns score (from 0 to 1) and label (0 or 1)",
        (
            ("calibrant measure test.csv", "the calibration error"),
            ("calibrant report test.csv -o report.html", "the same with figures"),
        ),
    ),
    (
        "Many classes: one row per item and class, with columns class, item and cluster (sentence)",
        (
            ("calibrant fit dev.csv --method histogram --group frequency -o map.json", "recalibrate"),
            ("calibrant report test.csv --model map.json --dev dev.csv -o report.html", "before and after"),
        ),
    ),
    (
        "Counts over time, as in this demo",
        (
            ("calibrant events table socialist-worker --by quarter", "the numbers"),
            ("calibrant explore socialist-worker", f"needs {installing('web')}"),
        ),
    ),
)


@dataclass(frozen=True)
class StoryStep:
    """One step of the story.

    Attributes
    ----------
    heading
        Heading of the step.
    before
        Paragraphs above the table.
    table
        Table of the numbers, or None.
    after
        Paragraphs below the table; verdicts of better and worse are computed.
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
        Title and first sentence of the page.
    steps
        Steps of the story.
    next
        Commands to run next: their purpose, and each command with a remark.
    demo
        Record that contains all numbers.

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
    demo: Demonstration

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain Python values: all texts and numbers."""
        return {
            "title": self.title,
            "lead": self.lead,
            "steps": plain(self.steps),
            "next": [{"for": what, "commands": [line for line, _ in lines]} for what, lines in self.next],
            "demonstration": plain(self.demo),
        }

    def to_tables(self) -> tuple[Table, ...]:
        """Return the tables of the record."""
        return self.demo.to_tables()

    def to_html(self) -> str:
        """Return the page as one self-contained HTML document."""
        from calibrant.pages.html import render_story

        if no_figures():
            return render_story(self, ((),) * len(self.steps))
        from calibrant.pages.figures import group_pictures

        tagger = self.demo.tagger
        versions = {"before": tagger.before, SHARED: tagger.shared, GROUPED: tagger.grouped}
        drawn = ([curves(versions)], group_pictures(changes_of(tagger), "story"), series(self.demo.events))
        return render_story(self, ((), (), *drawn))


def story_page(demo: Demonstration) -> StoryPage:
    """Return the page of a demonstration.

    Examples
    --------
    >>> from calibrant.demo.verbs import demonstrate
    >>> len(story_page(demonstrate()).steps)
    5
    """
    tagger = demo.tagger
    steps = (_looks_good(tagger), _trusted(tagger), _recalibrated(tagger), _rare(tagger), _counted(demo))
    return StoryPage(TITLE, LEAD, steps, NEXT, demo)


def changes_of(story: TaggerStory) -> dict[str, GroupedChanges]:
    """Return the changes by each of the two recalibrators, by their names in the story."""
    return {SHARED: story.shared_changes, GROUPED: story.grouped_changes}


def _looks_good(story: TaggerStory) -> StoryStep:
    first = story.first
    right = first.positives / first.n
    sure = right + (first.mean_error.estimate or 0.0)
    return StoryStep(
        "A model that looks good",
        (
            f"A tagger assigns one of {story.classes} part-of-speech tags to each word. On {story.words:,} "
            f"words from the web, its top prediction is right {words.percent(right, 1)} of the time. Its "
            f"average probability is {words.percent(sure, 1)}.",
        ),
        None,
        (),
    )


def _trusted(story: TaggerStory) -> StoryStep:
    low = "" if story.threshold is None else f" of at least {words.percent(story.threshold)}"
    return StoryStep(
        "How far its probabilities can be trusted",
        (
            "The tagger gives a probability to every tag of each word. A tag with a probability of 30 % "
            f"should be right in 30 of 100 cases. All probabilities{low}, and how often they are right:",
        ),
        _ranges(story),
        (
            f"{story.before.interval.summary()} This distance is the calibration error. It is 0 "
            f"if all probabilities can be trusted. {story.before.direction()}",
        ),
    )


def _ranges(story: TaggerStory) -> TextTable:
    rows = [
        (
            f"{100 * row['edge_low']:.0f} to {words.percent(row['edge_high'])}",
            words.percent(row["score"], 1),
            words.percent(row["frequency"], 1),
            f"{words.points(limits['low'])} to {words.percent(limits['high'], 1)}",
            words.count(row["n"]),
        )
        for row, limits in zip(story.ranges.to_rows(), story.range_intervals.to_rows(), strict=True)
    ]
    head = ("probability", "on average", "it is right", "95 % interval", "cases")
    return TextTable("", head, tuple(rows))


def _recalibrated(story: TaggerStory) -> StoryStep:
    change = story.shared_changes.total
    said = {
        "better": "This is an improvement: sampling error does not explain the change.",
        "worse": "This is worse: sampling error does not explain the change.",
    }.get(change.verdict or "", "The change is inconclusive: sampling error may explain it.")
    return StoryStep(
        "Recalibrated on other text",
        (
            "A calibration map replaces each probability by how often the model is right at it. One map "
            f"for all tags, learned from {story.dev_words:,} words of another text (dev), changes the "
            f"calibration error from {error_points(change.before)} to {error_points(change.after)} "
            f"percentage points. {said}",
        ),
        None,
        (),
    )


def _rare(story: TaggerStory) -> StoryStep:
    return StoryStep(
        "The rare tags",
        (
            "The calibration error of groups of tags in percentage points, from the most frequent tags (NN "
            "nouns, IN prepositions) to the rarest. A cell without a verdict is inconclusive:",
        ),
        group_table(changes_of(story), head="tags", total=False, inconclusive=""),
        (
            note_on(changes_of(story)),
            _rarest(story) + _price(story) + f" {CHOSEN}",
        ),
    )


def _rarest(story: TaggerStory) -> str:
    """Return the verdict on the rarest group, and the number of groups that have improved."""
    shared, grouped = story.shared_changes.groups, story.grouped_changes.groups
    errors = [group.before.calibration_error.estimate or 0.0 for group in shared]
    largest = "The rarest tags have the largest error. " if errors[-1] == max(errors) else ""
    one_map = {
        "better": "One map for all tags improves them too.",
        "worse": "One map for all tags makes them worse.",
    }.get(shared[-1].verdict or "", "With one map for all tags, their change is inconclusive.")
    better = [group.verdict for group in grouped].count("better")
    who = largest or "The last group contains the rarest tags. "
    return f"{who}{one_map} One map per group improves {better} of {len(grouped)} groups."


# The authors of the story chose the groups and the kind of map after they had seen the test text.
CHOSEN = "(Groups and maps were chosen with knowledge of these results. Choose yours on dev data.)"


def _price(story: TaggerStory) -> str:
    """Return a sentence on the increase of the Brier score; empty if it does not increase."""
    before, after = story.before.brier, story.grouped.brier
    if after <= before:
        return ""
    return (
        " These maps have few steps and lose detail: the mean squared error (Brier score) increases from "
        f"{text.number(before)} to {text.number(after)}."
    )


def _counted(demo: Demonstration) -> StoryStep:
    by_country: dict[str, list[EventCount]] = {}
    for row in demo.events.counts:
        by_country.setdefault(row.name, []).append(row)
    series = list(by_country.items())
    years = [row.period for row in series[0][1]]
    totals = " and ".join(
        f"{sum(row.best for row in rows if row.best is not None):,} for {country} (expected count: "
        f"{sum(row.count.estimate or 0.0 for row in rows):,.0f})"
        for country, rows in series
    )
    return StoryStep(
        "Counts over time, with their uncertainty",
        (
            f"In how many articles of Socialist Worker, {years[0]} to {years[-1]}, do the United States "
            "and Iraq use force? A model extracts who did what, often uncertain who "
            '"they" are:',
        ),
        _counts(series),
        (
            "1-best counts the top predictions as if they were certain. The 95 % interval includes "
            "the model's uncertainty, and the total interval also the uncertainty of its probabilities. "
            f"Over all years, the 1-best count is {totals}. No interval includes errors of parser "
            f"and rules: {demo.right} of {demo.read} certain predictions were right.",
        ),
    )


def _counts(series: Sequence[tuple[str, Sequence[EventCount]]]) -> TextTable:
    head = ["year", "articles"]
    for country, _ in series:
        head += [f"{country}: 1-best", "95 %", "total"]
    rows = []
    for counts in zip(*(rows for _, rows in series), strict=True):
        cells = [counts[0].period, words.count(counts[0].documents)]
        for row in counts:
            best = words.UNDEFINED if row.best is None else words.count(row.best)
            cells += [best, _whole(row.count), _whole(row.total)]
        rows.append(tuple(cells))
    return TextTable("", tuple(head), tuple(rows))


def _whole(count: Quantity | None) -> str:
    if count is None or count.low is None or count.high is None:
        return words.UNDEFINED
    return f"{count.low:.0f} to {count.high:.0f}"


def curves(versions: Mapping[str, Measurement]) -> Picture:
    """Draw the calibration curves of several versions of the same scores."""
    drawn = [(name, m.sums, bin_limits(m)) for name, m in versions.items()]
    from calibrant import plots
    from calibrant.plots.style import figure_of

    figure = figure_of(plots.calibration_curves(drawn))
    svg = plots.inline_svg(figure, name="story-curves", description="Calibration curves before and after")
    return Picture(svg, "Before and after", CURVES)


def series(events: EventTable) -> list[Picture]:
    """Draw each country's counts over time, with both intervals."""
    from calibrant.events.plots import event_series
    from calibrant.plots import inline_svg

    pictures = []
    for country in dict.fromkeys(row.country for row in events.counts):
        rows = tuple(row for row in events.counts if row.country == country)
        called = rows[0].name
        figure = event_series(replace(events, counts=rows), columns=1)
        name = f"story-series-{country.lower()}"
        svg = inline_svg(figure, name=name, description=f"Counts per year of {called}, with intervals")
        pictures.append(Picture(svg, f"Articles per year by country: {called}", SERIES))
    return pictures
