"""Each command takes what its verb takes, under the same names."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import click
import pytest

import calibrant
from calibrant import evaluation, events, structures
from calibrant.cli import main, schema
from calibrant.cli.group import OPTIONS, option_of
from calibrant.exceptions import InputError
from calibrant.io import Columns
from calibrant.recalibrate.methods import SETTINGS
from tests.command_line import Run

CORE = ("measure", "slices", "report", "plot", "plan", "fit", "apply", "convert")
AT_THE_TOP = (*CORE, "agree", "compare", "monitor", "protocol", "estimate", "judge", "sample")
VERBS: dict[str, Callable[..., Any]] = {
    **{name: getattr(calibrant, name) for name in AT_THE_TOP},
    "plan-estimate": calibrant.plan_estimate,
    "plan-judge": calibrant.plan_judge,
    "plan-regress": calibrant.plan_regress,
    "plan-runs": evaluation.plan_runs,
    "threshold": evaluation.threshold,
    "tag train": structures.train_tagger,
    "tag predict": structures.predict_tags,
    "tag eval": structures.evaluate_tagger,
    "parse train": structures.train_parser,
    "parse predict": structures.predict_trees,
    "parse eval": structures.evaluate_parser,
    "spans": structures.match_spans,
    "coref train": structures.train_coreference,
    "coref predict": structures.predict_coreference,
    "coref eval": structures.evaluate_coreference,
    "coref pairs": structures.export_pairs,
    "events lexicon": events.compare_lexicons,
    "events relations": events.country_relations,
    "events run": events.extract_events,
    "events table": events.event_table,
    "events uncertain": events.uncertain_documents,
    "events sample": events.sample_readings,
}
# Options for the terminal alone: how to print, and files and figures that are made from the record.
PRINTING = {
    "--json",
    "--format",
    "--table",
    "--meanings",
    "--width",
    "--most",
    "--title",
    "--fail-if",
    "--full",
}
FILES = {
    "measure": {"--plot"},
    "slices": {"--plot", "--output"},
    "report": {"--output"},
    "judge": {"--output"},
    "fit": {"--output"},
    "monitor": {"--plot"},
    "protocol": {"--output", "--example"},
}
# One option in place of two arguments, and a number of processes for an executor; and the store by its name.
OTHER = {
    "agree": {"--candidate", "--margin"},  # of may_replace, which the command calls with a candidate
    "threshold": {  # of guaranteed_threshold, which the command calls with a risk
        *("--risk", "--delta", "--missed", "--two-sided", "--loss", "--by", "--cluster-size", "--save"),
    },
    "tag train": {"--workers"},
    "tag predict": {"--spacy"},
    "tag eval": {"--spacy"},
    "events run": {"--output"},
    "events sample": {"--output"},
}


def command_of(name: str) -> click.Command:
    found: click.Command = main
    for word in name.split():
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None
        found = inner
    return found


def parameters(verb: Callable[..., Any]) -> set[str]:
    """The verb's parameters, and the fields of the settings that it takes as one."""
    names = set(inspect.signature(verb).parameters)
    names |= parameters(calibrant.report) if verb is calibrant.plot else set()  # it passes them on
    settings = structures.SpanColumns if verb is structures.match_spans else Columns
    names |= {each.name for each in dataclasses.fields(settings)} if "columns" in names else set()
    return names | set(SETTINGS) if verb is calibrant.fit else names


@pytest.mark.parametrize("name", VERBS)
def test_each_option_of_a_command_is_a_parameter_of_its_verb(name: str) -> None:
    known = {option_of(parameter) for parameter in parameters(VERBS[name])}
    known |= PRINTING | FILES.get(name, set()) | OTHER.get(name, set())
    named = [option for each in command_of(name).params for option in each.opts if option.startswith("--")]
    assert not set(named) - known


@pytest.mark.parametrize("name", OPTIONS)
def test_every_irregular_name_is_one_of_a_verb(name: str) -> None:
    assert any(name in parameters(verb) for verb in VERBS.values())


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        (
            "take days (`unit='day'`), or leave `labels=False` and `detect=True`",
            "take days (--unit day), or leave --no-labels and --detect",
        ),
        ("see `calibrant --help`", "see `calibrant --help`"),
    ],
)
def test_a_hint_that_names_parameters_names_options_on_the_command_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, hint: str, told: str
) -> None:
    def refuse(**_: Any) -> None:
        raise InputError("no such thing", hint)

    monkeypatch.setattr(schema.command, "callback", refuse)
    ran = run("schema", "measure")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"calibrant: no such thing: {told}\n"
