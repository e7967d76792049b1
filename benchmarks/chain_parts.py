"""The bars of tag sequences: posteriors against CRFsuite and hmmlearn, pairs of tags, features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tagging_data
from parts import MIB, THREADS, Bar, Found, Row, Scale, _timing
from processes import Timing, run_case

TAGS, PAPER_TAGS, PAPER_TOKENS = 45, 47, 33_306
PEER_SENTENCES = 1_000  # that python-crfsuite is asked for every marginal of
NEARLY_LINEAR = 1.7


def _needs_text(part: Callable[[Scale], Found]) -> Callable[[Scale], Found]:
    """Skip a part, saying so, where the tagged text is missing."""

    def run(scale: Scale) -> Found:
        if not tagging_data.available():
            print("skipped: CALIBRANT_DATA names no folder with wsj-pos and conll2000", flush=True)
            return [], []
        return part(scale)

    return run


def _times(more: float, ours: list[float], theirs: list[float], text: str) -> Bar:
    """How many times as long the peer takes."""
    ratio = [peer / mine for peer, mine in zip(theirs, ours, strict=True)]
    return Bar(f"{text} / ours", more, "x", *ratio, least=True)


def _tokens(sentences: int | None = None) -> int:
    return sum(map(len, tagging_data.test()[0][:sentences]))


@_needs_text
def chains(scale: Scale) -> Found:
    """All single-tag marginals, and the best sequences, of a trained CRF and of an HMM."""
    tagging_data.potentials("basic")
    repeats = 2 * scale.repeats + 1
    tokens, asked = _tokens(), _tokens(PEER_SENTENCES)
    cases: dict[str, tuple[str, dict[str, Any]]] = {
        "CRF marginals, calibrant": ("chain_marginals", {}),
        "CRFsuite's feature lookup": ("crfsuite_set", {"marginal": False}),
        "CRFsuite's feature lookup and forward-backward": ("crfsuite_set", {"marginal": True}),
        "CRF marginals, python-crfsuite": ("crfsuite_marginals", {"sentences": PEER_SENTENCES}),
        "CRF best sequences, calibrant": ("chain_viterbi", {}),
        "CRF best sequences, python-crfsuite, lookup included": ("crfsuite_tag", {}),
        "HMM marginals, calibrant": ("hmm_marginals", {}),
        "HMM marginals, hmmlearn": ("hmmlearn_marginals", {}),
    }
    rows: list[Row] = []
    found: dict[str, list[Timing]] = {case: [] for case in (*(case for case, _ in cases.values()), "lookup")}
    for threads in THREADS:
        for text, (case, more) in cases.items():
            slow = case in ("crfsuite_marginals", "hmmlearn_marginals")
            timing = run_case(case, threads=threads, repeats=3 if slow else repeats, **more)
            found["lookup" if "marginal" in more and not more["marginal"] else case].append(timing)
            size = asked if case == "crfsuite_marginals" else tokens
            rows.append(_timing(text, size * TAGS, threads, timing))
    seconds = {case: [timing.seconds for timing in timings] for case, timings in found.items()}
    ours = seconds["chain_marginals"]
    own = [both - one for both, one in zip(seconds["crfsuite_set"], seconds["lookup"], strict=True)]
    asking = [tokens / asked * each for each in seconds["crfsuite_marginals"]]
    speed_up = ours[0] / ours[1]
    differences = [
        Bar(f"marginals: largest difference from {peer}", limit, "", *(t.result for t in found[case]))
        for peer, case, limit in (
            ("python-crfsuite", "crfsuite_marginals", 1e-6),
            ("hmmlearn", "hmmlearn_marginals", 1e-9),
        )
    ]
    return [
        _times(20, ours, asking, "CRF marginals: python-crfsuite's Tagger.marginal"),
        _times(2, ours, own, "CRF marginals: CRFsuite's forward-backward"),
        _times(4, seconds["hmm_marginals"], seconds["hmmlearn_marginals"], "HMM marginals: hmmlearn"),
        Bar("CRF marginals: one processor / two", NEARLY_LINEAR, "x", None, speed_up, least=True),
        *differences,
    ], rows


@_needs_text
def pairs(scale: Scale) -> Found:
    """All pairs of tags streamed into tallies, against the marginals of single tags; and the memory."""
    tagging_data.potentials("basic")
    rows: list[Row] = []
    ratios: list[float] = []
    peaks: dict[bool, list[float]] = {False: [], True: []}
    size = {"paper_size": True}
    for threads in THREADS:
        common: dict[str, Any] = {"threads": threads, "repeats": scale.repeats}
        marginals = run_case("chain_marginals", **size, **common)
        tags = run_case("tally", what="tags", **size, **common)
        tallied = run_case("tally", what="pairs", **size, **common)
        by_cluster = run_case("tally", what="pairs", by_cluster=True, **size, **common)
        of_tags = PAPER_TOKENS * PAPER_TAGS
        rows += [
            _timing("single tags, 47 tags: marginals", of_tags, threads, marginals),
            _timing("single tags, 47 tags: tallied", of_tags, threads, tags),
            _timing("pairs of 47 tags: tallied", tallied.result, threads, tallied),
            _timing("pairs of 47 tags: tallied by sentence", by_cluster.result, threads, by_cluster),
        ]
        ratios.append(tallied.seconds / marginals.seconds)
        for clusters, found in peaks.items():
            peak = run_case("process_peak", threads=threads, repeats=1, by_cluster=clusters)
            found.append(peak.result / MIB)
    text = f"pairs of {PAPER_TAGS} tags, {PAPER_TOKENS:,} tokens"
    return [
        Bar(f"{text}: time / single-tag marginals", 6, "x", *ratios),
        Bar(f"{text}: peak memory of the process", 500, "MiB", *peaks[False]),
        Bar(f"{text}, by sentence: peak memory of the process", 500, "MiB", *peaks[True]),
    ], rows


@_needs_text
def features(scale: Scale) -> Found:
    """From tokens to potentials against making ItemSequences; and where the time of `tag eval` goes."""
    bars: list[Bar] = []
    rows: list[Row] = []
    tokens = _tokens()
    for name in ("basic", "advanced"):
        tagging_data.tagger_model(name)
        ours: list[float] = []
        theirs: list[float] = []
        for threads in THREADS:
            common: dict[str, Any] = {"features": name, "threads": threads, "repeats": 2 * scale.repeats + 1}
            first = run_case("potentials", forget=True, **common)
            again = run_case("potentials", forget=False, **common)
            peer = run_case("item_sequences", **common)
            rows += [
                _timing(f"{name} features: potentials, words new", tokens, threads, first),
                _timing(f"{name} features: potentials, words seen before", tokens, threads, again),
                _timing(f"{name} features: python-crfsuite's ItemSequences", tokens, threads, peer),
            ]
            ours.append(first.seconds)
            theirs.append(peer.seconds)
        bars.append(_times(1, ours, theirs, f"{name} features: making python-crfsuite's ItemSequences"))
    for threads in THREADS:
        rows += _shares(
            run_case("evaluation", features="advanced", threads=threads, repeats=scale.repeats), threads
        )
    return bars, rows


def _shares(timing: Timing, threads: int) -> list[Row]:
    """Return the time of each stage of the last call."""
    stages: dict[str, float] = timing.result
    whole = sum(stages.values())
    rows = [_timing("tag eval, 2,012 sentences, advanced features", 0, threads, timing)]
    for stage, seconds in stages.items():
        part = Timing(seconds, None, None, seconds)
        rows.append(_timing(f"tag eval: {stage} ({100 * seconds / whole:.0f} %)", 0, threads, part))
    return rows


PARTS: dict[str, Callable[[Scale], Found]] = {"chain": chains, "pairs": pairs, "features": features}
