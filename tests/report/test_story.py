"""The story of the demonstration: what it states follows from its numbers, whatever these are."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from calibrant.report import StoryPage, story_page
from calibrant.results.demonstration import Demonstration
from calibrant.results.groups import GroupedChanges, MarginalChange
from calibrant.workflow import demonstrate

LOW_HIGH = {"better": (1e-4, 3e-4), "worse": (-3e-4, -1e-4), "open": (-1e-4, 1e-4)}


@pytest.fixture(scope="module")
def found() -> Demonstration:
    return demonstrate()


@pytest.fixture(scope="module")
def story(found: Demonstration) -> StoryPage:
    return story_page(found)


def having(change: MarginalChange, verdict: str) -> MarginalChange:
    """The same change with a paired interval that says this."""
    assert change.difference is not None
    low, high = LOW_HIGH[verdict]
    return replace(change, difference=replace(change.difference, mse_low=low, mse_high=high))


def retold(
    found: Demonstration, *, shared: GroupedChanges | None = None, grouped: GroupedChanges | None = None
) -> str:
    """The story's statements with other changes."""
    was = found.tagger
    tagger = replace(
        was, shared_changes=shared or was.shared_changes, grouped_changes=grouped or was.grouped_changes
    )
    steps = story_page(replace(found, tagger=tagger)).steps
    return " ".join(text for step in steps for text in (*step.before, *step.after))


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("better", "Better, by more than chance."),
        ("worse", "Worse, by more than chance."),
        ("open", "These data do not tell whether that is more than chance."),
    ],
)
def test_mended_is_said_only_where_the_paired_interval_excludes_zero(
    found: Demonstration, verdict: str, said: str
) -> None:
    shared = found.tagger.shared_changes
    words = retold(found, shared=replace(shared, total=having(shared.total, verdict)))
    assert said in words
    assert sum(words.count(other) for other in ("Better, by", "Worse, by", "do not tell whether")) == 1


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("better", "One map for all mends them too."),
        ("worse", "One map for all makes them worse."),
        ("open", "Whether one map for all mends them is not told."),
    ],
)
def test_what_one_map_does_to_the_rarest_is_computed(found: Demonstration, verdict: str, said: str) -> None:
    shared = found.tagger.shared_changes
    last = shared.groups[-1]
    changed = replace(last, change=having(last.change, verdict))
    words = retold(found, shared=replace(shared, groups=(*shared.groups[:-1], changed)))
    assert said in words


def test_groups_that_are_better_are_counted(found: Demonstration) -> None:
    grouped = found.tagger.grouped_changes
    first, *others = grouped.groups
    changed = replace(first, change=having(first.change, "open"))
    was = retold(found)
    now = retold(found, grouped=replace(grouped, groups=(changed, *others)))
    assert "makes 6 of 6 groups better" in was
    assert "makes 5 of 6 groups better" in now


def test_the_price_is_named_only_where_there_is_one(found: Demonstration) -> None:
    tagger = found.tagger
    free = replace(tagger, grouped=replace(tagger.grouped, brier=tagger.before.brier - 0.001))
    assert "Price: " in " ".join(story_page(found).steps[3].after)
    assert "Price: " not in " ".join(story_page(replace(found, tagger=free)).steps[3].after)


def test_the_first_step_agrees_with_the_record(found: Demonstration, story: StoryPage) -> None:
    first = found.tagger.first
    right = 100 * first.positives / first.n
    assert first.n == found.tagger.words == 25_094
    assert f"{right:.1f} %" in story.steps[0].before[0]
    assert right == pytest.approx(92.2, abs=0.05)


def test_counts_of_the_table_are_those_of_the_record(found: Demonstration, story: StoryPage) -> None:
    table = story.steps[4].table
    assert table is not None
    years = sorted({row.period for row in found.events.rows})
    assert [row[0] for row in table.rows] == years
    row = found.events.rows[0]
    assert table.rows[0][2:4] == (str(row.best), f"{row.low:.0f} to {row.high:.0f}")
    assert f"of {found.read} articles that the model was sure of" in story.steps[4].after[0]


def test_the_page_is_self_contained(story: StoryPage) -> None:
    html = story.to_html()
    assert "<script" not in html
    assert re.findall(r"(?:src|href)=\"(?!#|data:)[^\"]*", html) == []
    assert "http" not in html.replace("http-equiv", "").replace("http://www.w3.org/", "")
    assert html.count("<figure>") == 4
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_the_story_for_machines_has_words_and_numbers(story: StoryPage) -> None:
    told = story.to_dict()
    assert [step["heading"] for step in told["steps"]] == [step.heading for step in story.steps]
    assert len(told["demonstration"]["tagger"]["shared_changes"]["groups"]) == 6
    assert [table.name for table in story.to_tables()] == ["one-map", "map-a-group", "counts"]
