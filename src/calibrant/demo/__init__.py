"""The story of `calibrant demo`, the only package that uses several wings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.demo.pages import StoryPage, StoryStep, story_page
    from calibrant.demo.results import Demonstration, TaggerStory
    from calibrant.demo.verbs import demonstrate
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "Demonstration",
    "StoryPage",
    "StoryStep",
    "TaggerStory",
    "demonstrate",
    "story_page",
]
