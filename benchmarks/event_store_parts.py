"""The bars of events from documents: parsed stories a second, memory, and two processes against one."""

from __future__ import annotations

from collections.abc import Callable

import event_store_cases
from parts import Bar, Found, Scale, _timing
from processes import run_case

FEW, MANY = 5_000, 20_000  # a part of the store holds 2,000
MIB = 1 << 20


def event_store(scale: Scale) -> Found:
    """Newswire with coreference for every story; and whole runs from raw text, on one process and two."""
    if not event_store_cases.available():
        print(
            "skipped: CALIBRANT_DATA and CALIBRANT_MODELS name no stories and no parser, or spaCy is missing",
            flush=True,
        )
        return [], []
    stories = event_store_cases.PARSED
    parsed = run_case("event_documents", threads=1, repeats=scale.repeats)
    rows = [_timing(f"{stories} parsed stories: rules, coreference, 100 samples", stories, 1, parsed)]
    few, many = (
        run_case("event_memory", threads=1, repeats=1, warm=False, documents=number) for number in (FEW, MANY)
    )
    for run in (few, many):
        rows.append(_timing(f"{run.result} parsed stories, a whole run from CoNLL-U", run.result, 1, run))
    more = None if few.memory is None or many.memory is None else (many.memory - few.memory) / MIB
    one, two = (run_case("event_run", threads=2, repeats=1, workers=workers) for workers in (1, 2))
    for workers, run in ((1, one), (2, two)):
        rows.append(
            _timing(f"{run.result} raw stories, a whole run, processes: {workers}", run.result, 2, run)
        )
    return [
        Bar(
            "parsed stories, each with coreference: on one processor",
            200,
            "a second",
            stories / parsed.seconds,
            None,
            least=True,
        ),
        Bar(f"parsed stories: memory of {MANY:,} beyond that of {FEW:,}", 32, "MiB", more, None),
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
