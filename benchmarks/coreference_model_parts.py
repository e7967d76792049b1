"""The bars of the coreference model: news texts a second, memory, and training."""

from __future__ import annotations

from collections.abc import Callable

import coreference_model_cases as cases
from parts import MIB, THREADS, Bar, Found, Row, Scale, _timing
from processes import Timing, run_case

COPIES = 10
LONGEST_TRAINING = 15 * 60.0


def coreference_model(scale: Scale) -> Found:
    """Features, scores and samples of news texts; the same for ten times as many; training on GUM."""
    if not cases.available():
        print("skipped: CALIBRANT_DATA names no folder with ud-english-gum", flush=True)
        return [], []
    text = f"{cases.TEXTS} news texts of {cases.WORDS} words, {cases.SAMPLES} samples"
    words = cases.TEXTS * cases.WORDS
    rows: list[Row] = []
    speeds: list[float] = []
    memory: list[float] = []
    training: list[float] = []
    for threads in THREADS:
        once = run_case("news_texts", threads=threads, repeats=2 * scale.repeats + 1)
        more = run_case("news_texts", threads=threads, repeats=1, copies=COPIES)
        stages = run_case("news_stages", threads=threads, repeats=scale.repeats)
        trained = run_case("gum_training", threads=threads, repeats=1)
        rows += [
            _timing(text, words, threads, once),
            _timing(f"the same, {COPIES} times as many texts", COPIES * words, threads, more),
            *(
                _timing(f"{text}: {stage}", words, threads, Timing(seconds, None, None, seconds))
                for stage, seconds in stages.result.items()
            ),
            _timing("training on GUM", 0, threads, trained),
        ]
        speeds.append(cases.TEXTS / once.seconds)
        memory.append(((more.memory or 0) - (once.memory or 0)) / MIB)
        training.append(trained.seconds)
    return [
        Bar(f"{text}: texts a second", 20, "", *speeds, least=True),
        Bar(f"{COPIES} times as many news texts: further memory", 8, "MiB", *memory),
        Bar("training on GUM", LONGEST_TRAINING, "s", *training),
    ], rows


PARTS: dict[str, Callable[[Scale], Found]] = {"coreference_model": coreference_model}
