"""The bars of events from documents: parsed stories a second, and two processes against one."""

from __future__ import annotations

from collections.abc import Callable

import event_store_cases
from parts import Bar, Found, Scale, _timing
from processes import run_case


def event_store(scale: Scale) -> Found:
    """Newswire with coreference for every story; and whole runs from raw text, on one process and two."""
    if not event_store_cases.available():
        print("skipped: CALIBRANT_DATA and CALIBRANT_MODELS name no stories and no parser", flush=True)
        return [], []
    stories = event_store_cases.PARSED
    parsed = run_case("event_documents", threads=1, repeats=scale.repeats)
    rows = [_timing(f"{stories} parsed stories: rules, coreference, 100 samples", stories, 1, parsed)]
    one, two = (run_case("event_run", threads=2, repeats=1, workers=workers) for workers in (1, 2))
    for workers, run in ((1, one), (2, two)):
        rows.append(
            _timing(f"{run.result} raw stories, a whole run, processes: {workers}", run.result, 2, run)
        )
    return [
        Bar("parsed stories with coreference", 200, "a second", stories / parsed.seconds, None, least=True),
        Bar(
            "raw stories, whole runs: one process / two",
            1.7,
            "x",
            None,
            one.seconds / two.seconds,
            least=True,
        ),
    ], rows


PARTS: dict[str, Callable[[Scale], Found]] = {"event_store": event_store}
