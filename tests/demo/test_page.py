"""The story of the demonstration: what it states follows from its numbers, whatever these are."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeVar

import pytest
from msgspec import structs

from calibrant.demo import StoryPage, demonstrate, story_page
from calibrant.demo.results import Demonstration
from calibrant.results.groups import GroupedChanges, MarginalChange, Verdict

Change = TypeVar("Change", bound=MarginalChange)


@pytest.fixture(scope="module")
def found() -> Demonstration:
    return demonstrate()


@pytest.fixture(scope="module")
def story(found: Demonstration) -> StoryPage:
    return story_page(found)


def having(change: Change, verdict: Verdict) -> Change:
    """The same change with this verdict."""
    return structs.replace(change, verdict=verdict)


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
        ("better", "This is an improvement: sampling error does not explain the change."),
        ("worse", "This is worse: sampling error does not explain the change."),
        ("inconclusive", "The change is inconclusive: sampling error may explain it."),
    ],
)
def test_the_change_of_all_tags_has_the_verdict_of_the_record(
    found: Demonstration, verdict: Verdict, said: str
) -> None:
    shared = found.tagger.shared_changes
    words = retold(found, shared=structs.replace(shared, total=having(shared.total, verdict)))
    assert said in words
    assert len(re.findall("sampling error (does not|may) explain", words)) == 1


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("better", "One map for all tags improves them too."),
        ("worse", "One map for all tags makes them worse."),
        ("inconclusive", "With one map for all tags, their change is inconclusive."),
    ],
)
def test_what_one_map_does_to_the_rarest_is_computed(
    found: Demonstration, verdict: Verdict, said: str
) -> None:
    shared = found.tagger.shared_changes
    last = shared.groups[-1]
    changed = having(last, verdict)
    words = retold(found, shared=structs.replace(shared, groups=(*shared.groups[:-1], changed)))
    assert said in words


def test_groups_that_are_better_are_counted(found: Demonstration) -> None:
    grouped = found.tagger.grouped_changes
    for count in (6, 5):
        groups = [
            having(group, "better" if place < count else "inconclusive")
            for place, group in enumerate(grouped.groups)
        ]
        now = retold(found, grouped=structs.replace(grouped, groups=tuple(groups)))
        assert f"One map per group improves {count} of 6 groups" in now


def test_the_table_of_groups_explains_its_verdicts(story: StoryPage) -> None:
    note = story.steps[3].after[0]
    assert "Holm's method for the 7 comparisons of a calibration map" in note
    assert "include the sampling error of the calibration map" in note


def test_an_increase_of_the_brier_score_is_named_only_if_there_is_one(found: Demonstration) -> None:
    tagger = found.tagger
    free = replace(tagger, grouped=structs.replace(tagger.grouped, brier=tagger.before.brier - 0.001))
    assert "lose detail" in " ".join(story_page(found).steps[3].after)
    assert "lose detail" not in " ".join(story_page(replace(found, tagger=free)).steps[3].after)


def test_the_first_step_agrees_with_the_record(found: Demonstration, story: StoryPage) -> None:
    first = found.tagger.first
    right = 100 * first.positives / first.n
    assert first.n == found.tagger.words == 25_094
    assert f"{right:.1f} %" in story.steps[0].before[0]
    assert right == pytest.approx(92.2, abs=0.05)


def test_counts_of_the_table_are_those_of_the_record(found: Demonstration, story: StoryPage) -> None:
    table = story.steps[4].table
    assert table is not None
    years = sorted({row.period for row in found.events.counts})
    assert [row[0] for row in table.rows] == years
    row = found.events.counts[0]
    assert table.rows[0][2:4] == (str(row.best), f"{row.count.low:.0f} to {row.count.high:.0f}")
    assert f"of {found.read} certain predictions" in story.steps[4].after[0]


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
