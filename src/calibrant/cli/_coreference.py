"""What the commands on coreference share: options, and their results as text."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calibrant.cli import _text as text
from calibrant.cli._options import added

if TYPE_CHECKING:
    from calibrant.results.coreference import (
        CoreferenceEvaluation,
        CoreferenceScores,
        TrainedCoreference,
        WrittenPairs,
        WrittenPosteriors,
    )
    from calibrant.results.errors import Estimate

Function = TypeVar("Function", bound=Callable[..., Any])
STDOUT = "-"

POSSESSIVE_ENDINGS = click.option(
    "--possessive-endings/--no-possessive-endings",
    default=True,
    help="Whether 's belongs to a detected mention, as in GUM; in LitBank it does not.  [default: it does]",
)
_COREFERENCE = (
    click.option(
        "--detect",
        is_flag=True,
        help="Detect mentions in the trees of FILE, instead of taking those that are marked.",
    ),
    POSSESSIVE_ENDINGS,
    click.option(
        "--parser",
        metavar="PIPELINE",
        help="A spaCy pipeline that makes the trees, where FILE has none.",
    ),
    click.option(
        "--clustering",
        type=click.Choice(["probable", "expected", "antecedents"]),
        default="probable",
        show_default=True,
        help="Entities of high probability, of high expected pairwise F, or those of each mention's best "
        "antecedent.",
    ),
)


def coreference(function: Function) -> Function:
    """Add how mentions are found, and entities made."""
    return added(function, _COREFERENCE)


def training_lines(found: TrainedCoreference) -> list[str]:
    """Word how a model was trained."""
    lines = [
        f"{', '.join(found.train)}: {text.count(found.mention_count)} {found.mentions} mentions in "
        f"{text.counted(found.documents, 'document')}",
        "",
        f"Antecedent model, {found.features} features",
    ]
    if found.candidates:
        names = list(found.candidates[0].settings)
        rows = [
            [
                *(f"{each.settings[name]:g}" for name in names),
                text.number(each.conll_f1),
                text.number(each.log_loss),
                "chosen" if each.settings.items() <= found.settings.items() else "",
            ]
            for each in found.candidates
        ]
        lines += text.table([[*names, "CoNLL F1", "log loss", ""], *rows], left=0)
        lines.append(
            f"  on {found.dev}" + ("; those of the best are a little too good" if len(rows) > 1 else "")
        )
        if found.log_loss is not None and found.temperature != 1:
            lines.append(
                f"  temperature {found.temperature:.4g}: log loss {text.number(found.log_loss)} instead of "
                f"{text.number(found.log_loss_before)}"
            )
        if found.dev in found.train:
            lines.append("  note: this is a training text, which says nothing of other texts")
    else:
        settings = ", ".join(f"{name} {value}" for name, value in found.settings.items())
        lines.append(f"  {settings}: no text was given to choose by (--dev)")
    model = shlex.quote(found.output or "MODEL")
    return [
        *lines,
        "",
        f"Wrote {found.output} after {found.seconds:.1f} seconds",
        "",
        "Next",
        f"  calibrant coref eval {model} FILE    scores and calibration on another text",
    ]


def writing_lines(found: WrittenPosteriors) -> list[str]:
    """Word what was written of a model's posteriors."""
    where = "to standard output" if found.output == STDOUT else found.output
    kind = "detected" if found.detected else "given"
    lines = [
        f"Wrote {where}: {text.count(found.mentions)} {kind} mentions in {text.count(found.documents)} "
        "documents"
    ]
    if found.gold_mentions is None:
        lines.append("  note: the text has no gold entities")
    elif found.detected:
        lines.append(
            f"  {text.count(found.labelled)} of them are gold mentions, of which there are "
            f"{text.count(found.gold_mentions)}"
        )
    if found.clusters is not None:
        lines.append(f"Wrote {found.clusters}: the entities found")
    if found.output == STDOUT:
        return lines
    posteriors = shlex.quote(found.output)
    return [
        *lines,
        "",
        "Next",
        f"  calibrant coref pairs {posteriors} -o pairs.parquet    the probability of each pair",
        f"  calibrant coref eval {posteriors}    scores and calibration",
    ]


def pairs_lines(found: WrittenPairs) -> list[str]:
    """Word what was written of pairs."""
    where = "to standard output" if found.output == STDOUT else found.output
    how = (
        "exact probabilities"
        if found.samples is None
        else f"shares of {text.counted(found.samples, 'sample')}"
    )
    lines = [
        f"Wrote {where}: {text.count(found.rows)} pairs of {text.counted(found.mentions, 'mention')} in "
        f"{text.counted(found.documents, 'document')}; {how}"
    ]
    if found.dropped:
        lines.append(
            f"  {text.count(found.dropped)} scores below {found.threshold:g} left out; errors are of those "
            "written, so other than those of all"
        )
    if found.left_out:
        lines.append(
            f"  {text.count(found.left_out)} pairs of a mention without a gold entity left out (--no-labels)"
        )
    if not found.labelled:
        lines.append("  note: without labels, so this cannot be measured")
    if found.output == STDOUT or not found.labelled:
        return lines
    table = shlex.quote(found.output)
    return [
        *lines,
        "",
        "Next",
        f"  calibrant measure {table}    calibration of the pairs, documents as units",
        f"  calibrant report {table} -o report.html    the same to look at",
    ]


def evaluation_lines(found: CoreferenceEvaluation) -> list[str]:
    """Word an evaluation: scores, then the measurement of pairs."""
    from calibrant.cli import _measured

    kind = "detected" if found.detected else "given"
    lines = [
        f"{found.text}: {text.count(found.mentions)} {kind} mentions in {text.count(found.documents)} "
        f"documents, by {found.model}",
        "",
        *score_lines(found.scores),
        "",
    ]
    if found.pairs is None:
        return [*lines, f"Pairs of mentions: {found.reasons['pairs']}"]
    if found.left_out:
        lines.append(
            f"note: {text.count(found.left_out)} pairs have a mention without a gold entity: left out"
        )
    lines += [*_measured.tables(found.pairs.events[0]), ""]
    if found.pairs_above is None:
        lines.append(f"Of at least {found.threshold:g}: {found.reasons['pairs_above']}")
    else:
        lines += [f"Of at least {found.threshold:g} alone: {text.count(found.pairs_above.recipe.rows)} pairs"]
        lines += _measured.tables(found.pairs_above.events[0])
    return [*lines, "", *_measured.recipe_lines(found.pairs)]


def score_lines(scores: CoreferenceScores) -> list[str]:
    """Show the scores."""
    from calibrant.results.coreference import HEADINGS

    rows = [["", "precision", "recall", "F1", f"{text.percent(scores.level)} interval of F1"]]
    for name, title in HEADINGS.items():
        metric = getattr(scores, name)
        rows.append(
            [
                title,
                text.number(metric.precision.estimate),
                text.number(metric.recall.estimate),
                *_with_interval(metric.f1),
            ]
        )
    rows.append(["CoNLL F1", "", "", *_with_interval(scores.conll_f1)])
    counts = (
        f"  {text.count(scores.gold_mentions)} gold mentions in {text.count(scores.gold_entities)} entities, "
        f"{text.count(scores.predicted_mentions)} predicted in {text.count(scores.predicted_entities)}"
        + ("" if scores.singletons else "; entities of one mention left out")
    )
    return ["Entities", *text.table(rows), counts, *(f"  {note}" for note in text.notes(scores.reasons))]


def _with_interval(estimate: Estimate) -> list[str]:
    return [text.number(estimate.estimate), text.between(estimate.low, estimate.high)]
