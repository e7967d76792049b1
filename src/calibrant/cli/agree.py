"""`calibrant agree`: how far annotators agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calibrant.cli._options import LEVEL, Printing, printing

if TYPE_CHECKING:
    from calibrant.results import Agreement, IntervalEstimate

MOST_CELLS = 12


@click.command(
    "agree",
    short_help="How far annotators agree: kappa, alpha and others, with intervals.",
    epilog="Example: calibrant agree labels.csv --distance ordinal --labels low,middle,high",
)
@click.argument("file", metavar="FILE")
@click.option("--item", default="item", show_default=True, help="Column that names the item.")
@click.option("--annotator", default="annotator", show_default=True, help="Column that names who labelled.")
@click.option("--label", default="label", show_default=True, help="Column of labels.")
@click.option(
    "--cluster",
    metavar="NAME",
    help="Column of what items belong to, such as a document; its items may depend on each other.  "
    "[default: cluster]",
)
@click.option(
    "--labels", metavar="A,B,...", help="Labels of the task, in order; any other is refused.  [default: all]"
)
@click.option(
    "--distance",
    type=click.Choice(["nominal", "ordinal", "interval", "ratio"]),
    default="nominal",
    show_default=True,
    help="Distance between labels in Krippendorff's alpha.",
)
@click.option(
    "--weights", type=click.Choice(["linear", "quadratic"]), help="Weights of Cohen's kappa, by order."
)
@click.option(
    "--disputed",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="How many of the items with the least agreement to list.",
)
@LEVEL
@printing
def command(file: str, labels: str | None, printing: Printing, **options: Any) -> None:
    """Say how far annotators (people or systems) agree on the items of FILE.

    FILE is a table (.csv, .tsv, .jsonl, .parquet or .arrow, text also as .gz, or - for standard input) with a
    row a label: columns item, annotator and label. Items may lack labels of some annotators.
    """
    from calibrant.workflow import agree

    names = None if labels is None else [name.strip() for name in labels.split(",")]
    found = agree(file, labels=names, **options)
    printing.show(found, lambda: lines_of(found, file))


def lines_of(found: Agreement, file: str) -> list[str]:
    """Word an agreement."""
    from calibrant.cli import _text as text
    from calibrant.results.agreement import COEFFICIENTS

    gaps = f"; {text.counted(found.missing, 'label')} missing" if found.missing else ""
    parts = {"item": found.items, "annotator": found.annotators, "label": len(found.labels)}
    head = f"{file}: {', '.join(text.counted(number, noun) for noun, number in parts.items())}"
    rows = []
    for name, shown in COEFFICIENTS.items():
        value = getattr(found, name)
        if value.estimate is None and name in ("cohen_kappa", "scott_pi") and found.annotators > 2:
            continue
        interval = f"{text.percent(found.level)} interval {text.between(value.low, value.high)}"
        reason = value.reasons.get("estimate") or value.reasons.get("low")
        rows.append((shown, text.number(value.estimate), reason or interval))
    lines = [head + gaps, "", *text.labelled(rows, indent=0), "", *_pairs(found), *_classes(found)]
    lines += [*_annotators(found), *_disputed(found)]
    kind = f" of {text.counted(found.clusters, 'cluster')}" if found.clusters else ""
    of_all = [{"warning": found.reasons["warning"]}] if "warning" in found.reasons else []
    reasons = {shown: getattr(found, name).reasons for name, shown in COEFFICIENTS.items()}
    warned = {shown: own["warning"] for shown, own in reasons.items() if "warning" in own}
    if warned and not of_all:
        of_all = [{"warning": f"{', '.join(warned)}: {next(iter(warned.values()))}"}]
    return [*lines, f"Intervals: goodness-of-fit test{kind}", *text.notes(*of_all)]


def _with(value: IntervalEstimate) -> list[str]:
    from calibrant.cli import _text as text

    return [text.number(value.estimate), text.between(value.low, value.high)]


def _pairs(found: Agreement) -> list[str]:
    from calibrant.cli import _text as text

    if found.annotators == 2 and len(found.labels) <= MOST_CELLS:
        pair = found.by_pair[0]
        body = [
            [label, *(text.count(cell) for cell in line)]
            for label, line in zip(found.labels, pair.confusion, strict=True)
        ]
        head = f"Labels of {pair.first} (rows) and of {pair.second} (columns)"
        return [head, *text.table([["", *found.labels], *body]), ""]
    if found.annotators == 2 or not found.by_pair:
        return []
    body = [
        [
            f"{pair.first}, {pair.second}",
            text.count(pair.items),
            *_with(pair.raw_agreement)[:1],
            *_with(pair.cohen_kappa),
        ]
        for pair in found.by_pair
    ]
    return ["Pairs", *text.table([["", "items", "agreement", "kappa", "interval"], *body]), ""]


def _classes(found: Agreement) -> list[str]:
    from calibrant.cli import _text as text

    body = [
        [each.label, text.count(each.labels), *_with(each.specific_agreement)[:1], *_with(each.kappa)]
        for each in found.by_class
    ]
    return ["Labels", *text.table([["", "given", "agreement", "kappa", "interval"], *body]), ""]


def _annotators(found: Agreement) -> list[str]:
    from calibrant.cli import _text as text

    if found.annotators == 2:
        return []
    body = [
        [
            each.annotator,
            text.count(each.items),
            *_with(each.agreement),
            text.number(each.alpha_without),
        ]
        for each in found.by_annotator
    ]
    header = ["", "items", "agreement with others", "interval", "alpha without"]
    return ["Annotators", *text.table([header, *body]), ""]


def _disputed(found: Agreement) -> list[str]:
    from calibrant.cli import _text as text

    if not found.disputed:
        return []
    body = [
        [each.item, text.number(each.agreement, 2), ", ".join(f"{k}: {v}" for k, v in each.labels.items())]
        for each in found.disputed
    ]
    return ["Most disputed items", *text.table([["", "agreement", "labels"], *body], left=3), ""]
