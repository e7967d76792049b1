"""The bars of events: what the rules add to coreference."""

from __future__ import annotations

from collections.abc import Callable

import events_cases
from parts import THREADS, Bar, Found, Row, Scale, _timing
from processes import run_case


def events(scale: Scale) -> Found:
    """The rules over 100 samples of clusterings, against scoring and sampling them."""
    if not events_cases.corpus().exists():
        print("skipped: CALIBRANT_DATA names no folder with ud-english-gum", flush=True)
        return [], []
    rows: list[Row] = []
    shares: list[float] = []
    for threads in THREADS:
        coreference = run_case("event_coreference", threads=threads, repeats=scale.repeats)
        rules = run_case("event_rules", threads=threads, repeats=scale.repeats, rules="default")
        documents = coreference.result
        rows += [
            _timing(f"{documents} documents: coreference, 100 samples", documents, threads, coreference),
            _timing(f"{documents} documents: rules over them", documents, threads, rules),
        ]
        shares.append(rules.seconds / coreference.seconds)
    return [Bar("rules over 100 samples: time / coreference scored and sampled", 0.25, "x", *shares)], rows


PARTS: dict[str, Callable[[Scale], Found]] = {"events": events}
