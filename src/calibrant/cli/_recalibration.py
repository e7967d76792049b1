"""What `calibrant fit` and `calibrant apply` say of their work."""

from __future__ import annotations

import shlex

from calibrant.cli import _text as text
from calibrant.io.predictions import listed
from calibrant.results.recalibration import AppliedRecalibrator, FittedRecalibrator

MAPS = {
    "shared": "one map for all classes",
    "class": "a map for each class",
    "frequency": "a map for each group of similarly frequent classes",
}


def fitted_lines(found: FittedRecalibrator, source: str) -> list[str]:
    """Word how a recalibrator was fitted, and what to type next."""
    low, high = (text.number(score) for score in found.score_range)
    rows = [("method", found.method, "")]
    if found.group is not None:
        how = MAPS.get(found.group, f"a map for each group of {found.group}")
        rows.append(("maps", f"{found.maps:,}", how))
    rows.append(("fitted on", f"{found.pairs:,}", f"{_of(found)} of {source}"))
    rows.append(("scores", f"{low} to {high}", "beyond them the map is extrapolated"))
    if found.threshold is not None:
        rows.append(("threshold", f"{found.threshold:g}", "scores below it took no part and stay"))
    notes = [f"note: {note}" for note in found.notes]
    output = shlex.quote(found.output or "model.json")
    dev = "" if found.view == "wide" or source == "-" else f" --dev {shlex.quote(source)}"
    return [
        *text.labelled(rows),
        *notes,
        "",
        f"Wrote {found.output} after {found.seconds:.1f} s",
        "",
        "Next, on other data than it was fitted on",
        f"  calibrant report TEST --model {output}{dev} -o report.html    before and after",
        f"  calibrant apply {output} TEST -o OUT    write mended scores",
    ]


def _of(found: FittedRecalibrator) -> str:
    if found.view == "binary":
        return "pairs"
    return f"{'rows' if found.group is None else 'pairs'} with {found.classes:,} classes"


def applied_lines(found: AppliedRecalibrator) -> list[str]:
    """Word what was written, and what to type next."""
    lines = [
        f"Wrote {found.output}: {text.counted(found.rows, 'row')}, "
        f"{text.counted(found.scores, 'score')} mended by {found.model}"
    ]
    if found.below:
        lines.append(f"note: {found.below:,} scores below the threshold of the fit stay as they are")
    if found.beyond:
        lines.append(
            f"note: {found.beyond:,} scores lie outside the range of the fit: the map is extrapolated"
        )
    if found.new_classes:
        lines.append(f"note: classes that were not there at the fit: {listed(found.new_classes, most=5)}")
    if found.threshold is not None:
        lines.append(
            f"note: {found.source} left out scores below {found.threshold:g}; those written may be lower now"
        )
    if found.again:
        lines.append(f"note: {found.source} had been recalibrated before; measure whether that helps")
    return [*lines, "", "Next", f"  calibrant measure {shlex.quote(found.output)}    if it has labels"]
