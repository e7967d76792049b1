"""What the commands on taggers share: options, and their results as text."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calibrant.cli import _text as text
from calibrant.cli._options import added

if TYPE_CHECKING:
    from calibrant.results.tagging import TagEvaluation, TrainedTagger, WrittenPredictions

Function = TypeVar("Function", bound=Callable[..., Any])
MOST_TAGS = 8
STDOUT = "-"
SPACY_COLUMNS = ("upos", "xpos", "upos+feats")


def column(default: str) -> Callable[[Function], Function]:
    """The option that says where tags are."""
    return click.option(
        "--column",
        metavar="COLUMN",
        help="Where the tags are: upos, xpos or upos+feats of CoNLL-U, or a column's number in other texts, "
        f"the token's being 1.  [default: {default}]",
    )


_TAGGING = (
    click.argument("sources", metavar="MODEL FILE", nargs=-1, required=True),
    click.option(
        "--spacy",
        metavar="PIPELINE",
        help="A folder or name of a spaCy pipeline, instead of MODEL. --column says what to ask it for: upos "
        "(the default) and upos+feats of its morphologizer, xpos or a number of its tagger.",
    ),
    column("that of training; else upos, or 2"),
    click.option(
        "--cluster",
        type=click.Choice(["sentence", "document"]),
        default="sentence",
        show_default=True,
        help="What is dependent: intervals take it as one unit.",
    ),
)


def tagging(function: Function) -> Function:
    """Add the model, the text, and how they are read."""
    return added(function, _TAGGING)


def tagger_and_file(sources: Sequence[str], spacy: str | None, column: str | None) -> tuple[Any, str, str]:
    """Return the model (a path, or a loaded pipeline), its name, and the file."""
    if spacy is None:
        if len(sources) != 2:
            raise click.UsageError("Give MODEL and FILE, or --spacy PIPELINE and FILE.")
        return sources[0], sources[0], sources[1]
    if len(sources) != 1:
        raise click.UsageError("Give either MODEL or --spacy PIPELINE, then one FILE.")
    from calibrant.models.spacy_tagger import SpacyTagger

    kind: Any = column or "upos"
    if kind not in SPACY_COLUMNS and kind.isdecimal():
        kind = "xpos"
    return SpacyTagger(spacy, column=kind), spacy, sources[0]


def training_lines(found: TrainedTagger) -> list[str]:
    """Word how a tagger was trained."""
    kind = {"crf": f"CRF, {found.features} features", "hmm": "HMM"}[found.model]
    lines = [
        f"{found.train}: {text.counted(found.tokens, 'token')} in "
        f"{text.counted(found.sentences, 'sentence')}, "
        f"{text.counted(found.words, 'word')}, {text.counted(len(found.tags), 'tag')}",
        "",
        f"{kind}; " + "; ".join(f"{name} {value}" for name, value in _shared(found).items()),
    ]
    name = next(iter(found.settings))
    if found.candidates:
        rows = [
            [
                f"{each.settings[name]:g}",
                text.number(each.accuracy),
                "chosen" if each.settings[name] == found.settings[name] else "",
            ]
            for each in found.candidates
        ]
        lines += text.table([[name, "accuracy", ""], *rows], left=1)
        lines.append(
            f"  on {found.dev}" + ("; that of the best is a little too high" if len(rows) > 1 else "")
        )
        if found.dev == found.train:
            lines.append("  note: this is the training text, which says nothing of other texts")
    else:
        lines.append(f"  {name} {found.settings[name]:g}: no text was given to choose it by (--dev)")
    if found.iterations is not None and found.iterations >= found.settings["max_iterations"]:
        lines.append(f"  note: training stopped after {found.iterations} iterations (--max-iterations)")
    model = shlex.quote(found.output or "MODEL")
    return [
        *lines,
        "",
        f"Wrote {found.output} after {found.seconds:.1f} seconds",
        "",
        "Next",
        f"  calibrant tag eval {model} FILE    accuracy and calibration on another text",
    ]


def _shared(found: TrainedTagger) -> dict[str, Any]:
    return {name.replace("_", " "): value for name, value in list(found.settings.items())[1:]}


def writing_lines(found: WrittenPredictions) -> list[str]:
    """Word what was written."""
    table = shlex.quote(found.output)
    where = "to standard output" if found.output == STDOUT else found.output
    lines = [
        f"Wrote {where}: {text.counted(found.rows, 'row')}, one a tag of a token "
        f"({text.counted(found.tokens, 'token')} in {text.counted(found.sentences, 'sentence')}, "
        f"{text.counted(found.tags, 'tag')})"
    ]
    if found.threshold:
        lines.append(
            f"  {text.count(found.dropped)} scores below {found.threshold:g} left out; errors are of those "
            "written, so other than those of all"
        )
    lines += [f"  {line}" for line in _unseen(found.unseen_tags, found.tokens)]
    if found.output == STDOUT:
        return lines
    return [
        *lines,
        "",
        "Next",
        f"  calibrant measure {table} --event pooled    calibration of all tags together",
        f"  calibrant report {table} --event pooled -o report.html    the same to look at",
    ]


def evaluation_lines(
    found: TagEvaluation, spacy: bool, column: str | None, events: Sequence[str]
) -> list[str]:
    """Word an evaluation: accuracy, then the measurement."""
    from calibrant.cli import _measured

    measured, interval = found.measured, found.accuracy_interval
    level = text.percent(interval.level)
    rows = [
        (
            "Accuracy",
            text.number(found.accuracy),
            f"{level} interval {text.between(interval.low, interval.high)}",
        )
    ]
    if found.unseen_words:
        share = f"{text.counted(found.unseen_words, 'token')} ({found.unseen_words / found.tokens:.1%})"
        rows.append(("  on words not seen in training", text.number(found.unseen_words_accuracy), share))
    elif found.unseen_words is None:
        rows.append(("  on words not seen in training", "-", found.reasons["unseen_words"]))
    lines = [
        f"{measured.recipe.file}: {text.counted(found.tokens, 'token')} in {text.count(found.sentences)} "
        f"sentences, {len(measured.recipe.classes or ())} tags, by {found.model}",
        "",
        *text.labelled(rows, indent=0),
        *_unseen(found.unseen_tags, found.tokens),
        "",
    ]
    lines += _measured.tables(measured)
    model = f"--spacy {shlex.quote(found.model)}" if spacy else shlex.quote(found.model)
    file = "FILE" if measured.recipe.file == "stdin" else shlex.quote(measured.recipe.file)
    chosen = "" if column is None else f" --column {shlex.quote(column)}"
    chosen += "" if found.cluster == "sentence" else f" --cluster {found.cluster}"
    asked = "".join(f" --event {shlex.quote(event)}" for event in events or ["pooled"])
    return [
        *lines,
        "",
        *_measured.recipe_lines(measured),
        "",
        "Next",
        f"  calibrant tag predict {model} {file}{chosen} -o pred.parquet",
        f"  calibrant report pred.parquet{asked} -o report.html    the same to look at",
    ]


def _unseen(tags: dict[str, int], tokens: int) -> list[str]:
    """Word the gold tags that the model has not."""
    if not tags:
        return []
    shown = ", ".join(f"{tag} ({count:,})" for tag, count in list(tags.items())[:MOST_TAGS])
    more = f" and {len(tags) - MOST_TAGS} more" if len(tags) > MOST_TAGS else ""
    count = sum(tags.values())
    have = "token has a gold tag" if count == 1 else "tokens have gold tags"
    lines = [f"note: {count:,} {have} that the model has never seen, a miss of every tag: {shown}{more}"]
    if 2 * count > tokens:
        lines.append(
            "note: these are most of the text; is it the column that the model was trained on (--column)?"
        )
    return lines
