"""Effects of the departures of the authors' code from their text, on the sparse study's own taggers."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from calibrant.metrics.groups import calibration_changes
from calibrant_studies._base import Row
from calibrant_studies._sparse_maps import PAPER_SHARING, Sharing
from calibrant_studies._sparse_measure import change_row
from calibrant_studies._sparse_rules import (
    CODE,
    DEPARTURES,
    TEXT,
    Part,
    groups,
    ordered,
    recalibrated,
    table,
)
from calibrant_studies._sparse_scores import GROUPS, Tagset
from calibrant_studies.arrays import Floats

SPLITS = 20  # random halves of scaling binning
SHOWN = ("SMCE", "GMCE 1", f"GMCE {GROUPS}")
SPLIT = "scaling binning"
RULES = {"text": TEXT, **{name: frozenset({name}) for name in DEPARTURES}, "code": CODE}
# Departures that change the scores, with the technique that each is about; others change what is measured.
OF_MAPS = {"ordered halves": SPLIT, "test means": SPLIT, "repeated bins": "histogram binning"}


def rule_rows(tagset: Tagset) -> list[Row]:
    """Plug-in errors by the text's rules, with each departure alone, and by the code's rules.

    Where the halves of scaling binning are random, an error is the median over `SPLITS` draws, and ``low``
    and ``high`` are the middle 95 % of them.
    """
    rows: list[Row] = []
    for name, departures in RULES.items():
        given = (tagset.dev, tagset.test), tagset.tags, _all_counts(tagset), departures
        drawn = 0 if "ordered halves" in departures else SPLITS
        more = [list(table(*given, techniques=[SPLIT], seed=seed)) for seed in range(1, drawn)]
        place = {(row["sharing"], row["measure"]): place for place, row in enumerate(more[0])} if more else {}
        for row in table(*given):
            if row["measure"] not in SHOWN and name not in ("text", "code"):
                continue
            low = high = None
            if more and row["technique"] == SPLIT:
                others = [run[place[row["sharing"], row["measure"]]]["after"] for run in more]
                low, row["after"], high = np.quantile([row["after"], *others], (0.025, 0.5, 0.975)).tolist()
            rows.append({"tagger": tagset.title, "rules": name, **row, "low": low, "high": high})
    return rows


def _all_counts(tagset: Tagset) -> dict[str, int]:
    """Return the counts of all tags in training; others have 0 and join the last group."""
    return tagset.counts | {tag: 0 for tag in tagset.tags if tag not in tagset.counts}


def effect_rows(tagset: Tagset) -> list[Row]:
    """Return the effects of the maps' departures on the debiased error: the text's error minus the code's.

    The rows of ``SCW - TFG`` compare the two ways of sharing by the code's maps instead.
    """
    dev, test = _parts(tagset)
    rows: list[Row] = []
    after: dict[tuple[str, str], Floats] = {}
    for departure, technique in OF_MAPS.items():
        for sharing in PAPER_SHARING:
            text, code = (
                recalibrated(dev, test, technique, sharing, departures) for departures in (TEXT, {departure})
            )
            name = {
                "tagger": tagset.title,
                "technique": technique,
                "sharing": sharing,
                "departure": departure,
            }
            rows += [name | row for row in _changes(tagset, test, text, code)]
    for technique in ("scaling binning", "histogram binning"):
        for sharing in PAPER_SHARING:
            after[technique, sharing] = recalibrated(dev, test, technique, sharing, OF_MAPS)
        name = {
            "tagger": tagset.title,
            "technique": technique,
            "sharing": "SCW - TFG",
            "departure": "all maps",
        }
        both = (after[technique, sharing] for sharing in PAPER_SHARING)
        rows += [name | row for row in _changes(tagset, test, *both)]
    return rows


def _parts(tagset: Tagset, departures: Collection[str] = TEXT) -> tuple[Part, Part]:
    grouped = groups(_all_counts(tagset), departures)
    dev, test = (ordered(scores, tagset.tags, grouped) for scores in (tagset.dev, tagset.test))
    return dev, test


def _changes(tagset: Tagset, test: Part, before: Floats, after: Floats) -> Iterator[Row]:
    scores = tagset.test.part(test.row)
    found = calibration_changes(
        scores.label,
        before,
        after,
        scores.code,
        tagset.groups(),
        names=tagset.tags,
        clusters=scores.sentence,
        threshold=0.0,
        class_mean=False,
    )
    yield from (row for row in map(change_row, found) if row["measure"] in SHOWN)


def affected_rows(tagset: Tagset) -> list[Row]:
    """Return the number of test scores that each departure affects, under the code's rules."""
    dev, test = _parts(tagset, CODE)
    rows: list[Row] = []
    for sharing in PAPER_SHARING:
        isotonic = recalibrated(dev, test, "isotonic regression", sharing, CODE)
        moved = _repeated(dev, test, sharing)
        rows.append(
            {
                "tagger": tagset.title,
                "sharing": sharing,
                "n": len(test.score),
                "exactly 1 before": int((test.score == 1).sum()),
                "exactly 1 after isotonic regression": int((isotonic == 1).sum()),
                "without a value after isotonic regression": int(np.isnan(isotonic).sum()),
                "recalibrated again by histogram binning": int(moved.sum()),
            }
        )
    return rows


def _repeated(dev: Part, test: Part, sharing: Sharing) -> NDArray[np.bool_]:
    once, again = (
        recalibrated(dev, test, "histogram binning", sharing, departures)
        for departures in (CODE - {"repeated bins"}, CODE)
    )
    changed: NDArray[np.bool_] = (once != again) & ~np.isnan(again)
    return changed
