"""`calibrant compare`: whether systems differ by more than chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calibrant.cli._options import LEVEL, SEED, Printing, printing

if TYPE_CHECKING:
    from calibrant.results import Comparison, SystemPair


@click.command(
    "compare",
    short_help="Do systems differ by more than chance? Tests on folds or items.",
    epilog="Example: calibrant compare folds.csv --alternative greater --test-train-ratio 0.25",
)
@click.argument("file", metavar="FILE")
@click.option("--system", default="system", show_default=True, help="Column that names the system.")
@click.option("--fold", metavar="NAME", help="Column of the fold of cross-validation.  [default: fold]")
@click.option(
    "--item", metavar="NAME", help="Column of the item, where scores are of items.  [default: item]"
)
@click.option("--score", default="score", show_default=True, help="Column of scores.")
@click.option(
    "--repeat",
    metavar="NAME",
    help="Column of the repeat of cross-validation; k folds in each tell the ratio.  [default: repeat]",
)
@click.option(
    "--cluster",
    metavar="NAME",
    help="Column of what items belong to, such as a document.  [default: cluster]",
)
@click.option(
    "--alternative",
    type=click.Choice(["two-sided", "greater", "less"]),
    default="two-sided",
    show_default=True,
    help="What a test looks for: that the first system of a pair (the one that comes first in FILE) has the "
    "greater score, the lesser, or either.",
)
@click.option(
    "--test-train-ratio",
    type=float,
    help="Size of a fold's test data over that of its training data: 1 / (k - 1) for k folds.",
)
@click.option(
    "--lower-is-better", is_flag=True, help="Scores are errors: the better system has the lower one."
)
@click.option("--baseline", metavar="SYSTEM", help="Compare each system with this one only.")
@click.option(
    "--power",
    type=float,
    default=0.8,
    show_default=True,
    help="Of the smallest difference that the items can show.",
)
@LEVEL
@click.option(
    "--samples", type=click.IntRange(min=100), default=2000, show_default=True, help="Resamples of each test."
)
@SEED
@printing
def command(file: str, lower_is_better: bool, printing: Printing, **options: Any) -> None:
    """Compare the systems of FILE by their scores on the same folds or items.

    FILE is a table (.csv, .tsv, .jsonl, .parquet or .arrow, text also as .gz, or - for standard input) with a
    row a score: columns system, fold or item, and score. Folds of cross-validation need the corrected test,
    and that needs the ratio of test to training data.
    """
    from calibrant.workflow import compare

    found = compare(file, higher_is_better=not lower_is_better, **options)
    printing.show(found, lambda: lines_of(found, file))


def lines_of(found: Comparison, file: str) -> list[str]:
    """Word a comparison."""
    from calibrant.cli import _text as text

    head = f"{file}: {text.counted(len(found.systems), 'system')} on {text.counted(found.n, found.unit)}"
    head += f" in {text.counted(found.clusters, 'cluster')}" if found.clusters else ""
    head += f" in {text.counted(found.repeats, 'repeat')}" if found.repeats else ""
    corrected = found.test_train_ratio is not None
    rows = [["", "mean", "sd", f"{text.percent(found.level)} interval", *(["corrected"] * corrected)]]
    for system in found.systems:
        mean = system.mean
        row = [system.system, text.number(mean.mean), text.number(mean.standard_deviation)]
        row += [text.between(mean.low, mean.high)]
        rows.append(row + [text.between(mean.corrected_low, mean.corrected_high)] * corrected)
    lines = [head, "", *text.table(rows, indent=0), ""]
    for pair in found.pairs:
        lines += [*_pair(found, pair), ""]
    # What every pair says again is said once.
    notes = {
        key: reason for key, reason in found.reasons.items() if not (key == "test_train_ratio" and corrected)
    }
    if found.unit == "item":
        notes.pop("test_train_ratio", None)
    elif not corrected:
        notes["corrected t-test"] = notes.pop("test_train_ratio")
    return [*lines, *text.notes(notes)] if notes else lines[:-1]


def _pair(found: Comparison, pair: SystemPair) -> list[str]:
    from calibrant.cli import _text as text

    test = pair.test
    rows = [
        (
            "difference",
            text.number(test.difference),
            f"{test.wins} higher, {test.ties} equal, {test.losses} lower",
        )
    ]
    plain = f"{_against(test.t, test.critical, test.alternative)}, {text.p_value(test.p_value)}"
    interval = f"{text.percent(found.level)} interval"
    if test.t is None:
        rows.append(("t", "-", test.reasons["t"]))
    else:
        rows.append(("t", text.number(test.t, 3), plain))
        rows.append(("", "", f"{interval} {text.between(test.low, test.high)}"))
    if test.corrected_t is not None:
        verdict = _against(test.corrected_t, test.critical, test.alternative)
        rows.append(
            (
                "corrected t",
                text.number(test.corrected_t),
                f"{verdict}, {text.p_value(test.corrected_p_value)}",
            )
        )
        rows.append(("", "", f"{interval} {text.between(test.corrected_low, test.corrected_high)}"))
    for resampled in (pair.bootstrap, pair.permutation):
        if resampled is None or resampled.method == "t":  # the t-test above is the same
            continue
        name = resampled.method
        if resampled.p_value is None:
            rows.append((name, "-", resampled.reasons["p_value"]))
            continue
        remark = text.p_value(resampled.p_value)
        if resampled.low is not None:
            remark += f", interval {text.between(resampled.low, resampled.high)}"
        rows.append((name, "", ": ".join([remark, *filter(None, [resampled.reasons.get("warning")])])))
    if pair.mcnemar is not None:
        only = f"{pair.mcnemar.first_only} against {pair.mcnemar.second_only} right alone"
        rows.append(("McNemar", "", f"{text.p_value(pair.mcnemar.p_value)}, {only}"))
    if len(found.pairs) > 1 and pair.holm_p_value is not None:
        holm, hochberg = text.p_value(pair.holm_p_value), text.p_value(pair.benjamini_hochberg_p_value)
        adjusted = f"Holm {holm}, Benjamini-Hochberg {hochberg}"
        rows.append((f"of {len(found.pairs)} pairs", "", adjusted))
    return [f"{pair.first} - {pair.second}", *text.labelled(rows), *_conclusion(found, pair)]


def _against(t: float | None, critical: float | None, alternative: str) -> str:
    from calibrant.cli import _text as text

    if t is None or critical is None:
        return "-"
    value = text.number(critical, 3)
    if alternative == "two-sided":
        return f"{'beyond' if abs(t) > critical else 'within'} +-{value}"
    if alternative == "less":
        return f"{'below' if t < -critical else 'not below'} -{value}"
    return f"{'above' if t > critical else 'not above'} {value}"


def _conclusion(found: Comparison, pair: SystemPair) -> list[str]:
    from calibrant.cli import _text as text

    level = text.percent(found.level)
    if pair.better is not None:
        return [f"  {pair.better} is better, at {level}"]
    if "better" in pair.reasons:
        return ["  which is better cannot be said without the ratio of test to training data"]
    lines = [f"  no difference is shown, at {level}"]
    plan = pair.detectable
    if plan is not None and plan.detectable is not None:
        more = "" if plan.more is None else f"; to settle this one takes {text.count(plan.more)} more"
        shown = f"{text.count(plan.n)} items show one of {text.number(plan.detectable)}"
        lines.append(f"  {shown} in {text.percent(plan.power)} of cases{more}")
    return lines
