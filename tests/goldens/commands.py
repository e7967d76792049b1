"""The command lines whose texts are stored, and how they are run inside this process."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner

import calibrant
from calibrant import __version__
from calibrant.cli import main
from calibrant.outputs import outputs
from tests.goldens.inputs import PREPARED, write_inputs

MASKS = {
    rf"(?<![\d.]){re.escape(__version__)}(?![\d.])": "VERSION",
    r"\b\d[\d.,]* (s|ms|min|seconds|minutes)\b": "TIME",
    r"(?i)(?<=seconds)\s*([|&, ])\s*\d[\d.e-]*": r" \1 TIME",
    re.escape(str(Path(calibrant.__file__).parent)): "PACKAGE",
}
"""Regular expressions of texts that differ from run to run, and their replacements."""

COMMANDS = {
    "measure-binary": "measure binary.csv",
    "measure-settings": "measure binary.csv --n-bins 4 --n-ece-bins 5 --level 0.9 --smooth --seed 3",
    "measure-sampling": "measure binary.csv --interval sampling --samples 100",
    "measure-bootstrap": "measure binary.csv --interval bootstrap --samples 100",
    "measure-weights": "measure weights.csv",
    "measure-clusters": "measure clusters.csv --smooth",
    "measure-two-clusters": "measure two-clusters.csv",
    "measure-wide": "measure wide.csv --bin-size 40",
    "measure-wide-views": "measure wide.csv --view top --view class:red --view pooled --view classwise",
    "measure-wide-unseen": "measure wide-unseen.csv --view classwise",
    "measure-classes": "measure classes.csv",
    "measure-classes-clustered": "measure classes-clustered.csv --view pooled --view class:blue",
    "measure-threshold": "measure tags.csv --view pooled",
    "measure-all-positive": "measure all-positive.csv --smooth",
    "measure-constant": "measure constant.csv",
    "measure-extreme": "measure extreme.csv",
    "measure-one": "measure one.csv",
    "measure-log": "measure logs/toy__small",
    "measure-wrong": "measure wrong.csv",
    "measure-no-table": "measure binary.csv --table none",
    "monitor-item": "monitor stream.csv --time date --unit item -o monitor.svg",
    "monitor-day": "monitor stream.csv --time date",
    "monitor-restart": "monitor stream.csv --time date --unit item --restart --alpha 0.05 --epsilon 0.01",
    "monitor-reference": "monitor stream.csv --time date --against reference --reference 2026-01-05",
    "monitor-dependent": "monitor stream.csv --time date --unit dependent-day",
    "plan-error": "plan --error 0.05",
    "plan-difference": "plan --error 0.06 --difference 0.03 --beta 2 1 --cluster-size 5 "
    "--label-correlation 0.1",
    "plan-pilot": "plan --error 0.05 --pilot binary.csv",
    "estimate": "estimate documents.csv --labels labels.csv --by year",
    "estimate-chances": "estimate documents.csv --labels sampled.csv --sampling independent",
    "plan-estimate": "plan-estimate documents.csv --labels labels.csv --width 0.1",
    "plan-regress": "plan-regress documents.csv --labels labels.csv --formula label~1 --predicted "
    "label=score --term Intercept --width 0.1",
    "sample": "sample documents.csv --size 20 --seed 1 -o drawn.csv",
    "sample-uncertainty": "sample documents.csv --size 20 --design uncertainty -o drawn.csv",
    "estimate-undefined": "estimate documents.csv --labels labels.csv --by quarter --method ppi++ "
    "--method dsl",
    "regress": "regress documents.csv --labels labels.csv --formula label~1 --predicted label=score",
    "regress-effects": "regress documents.csv --labels labels.csv --formula label~score --predicted "
    "label=score --effects --at score=0.2,0.8 --family logistic",
    "regress-chances": "regress documents.csv --labels sampled.csv --formula label~1 --predicted label=score "
    "--family logistic --method dsl",
    "judge": "judge judged.csv --bias length --method labels",
    "judge-classes": "judge judged-classes.csv",
    "judge-several": "judge judged-several.csv --judge first,second --method all -o judged.svg",
    "plan-judge-width": "plan-judge judged.csv --width 0.1",
    "plan-judge-difference": "plan-judge judged.csv --difference 0.05 --prompts 1000",
    "judge-preferences": "judge preferences.csv --bias position",
    "slices": "slices parts.csv --by part --by length:3 --least 20",
    "slices-small": "slices parts.csv --by part,length:2 --rank signed --adjust fcr --most 2",
    "slices-wide": "slices wide.csv --by item:2 --view top --least 5",
    "report-binary": "report binary.csv -o page.html",
    "report-models": "report binary.csv other.csv --name one --name two --title Both -o page.html",
    "report-wide": "report wide.csv --view top --view class:red -o page.html",
    "report-undefined": "report all-positive.csv -o page.html",
    "report-recalibrated": "report classes-clustered.csv --model class-map.json --dev classes.csv "
    "--group frequency --groups 2 -o page.html",
    "report-method": "report binary.csv --dev other.csv --method isotonic -o page.html",
    "report-log": "report logs -o page.html",
    "plot-curve": "plot binary.csv other.csv -o figure.svg",
    "plot-log-odds": "plot binary.csv --what log-odds -o figure.svg",
    "plot-smooth": "plot binary.csv --what smooth -o figure.svg",
    "plot-confidence": "plot wide.csv --what confidence -o figure.svg",
    "plot-classes": "plot classes.csv --what classes -o figure.svg",
    "fit-isotonic": "fit binary.csv -o fitted.json",
    "fit-platt": "fit weights.csv --method platt-smoothed -o fitted.json",
    "fit-beta": "fit binary.csv --method beta -o fitted.json",
    "fit-histogram": "fit binary.csv --method histogram --n-bins auto -o fitted.json",
    "fit-scaling-binning": "fit binary.csv --method scaling-binning --n-bins 4 -o fitted.json",
    "fit-venn-abers": "fit two-clusters.csv --method venn-abers -o fitted.json",
    "fit-temperature": "fit wide.csv --method temperature -o fitted.json",
    "fit-matrix": "fit wide.csv --method matrix -o fitted.json",
    "fit-bbq": "fit binary.csv --method bbq -o fitted.json",
    "fit-vector": "fit wide.csv --method vector --penalty 0.001 -o fitted.json",
    "fit-class": "fit classes.csv --method platt --group class --min-scores 20 -o fitted.json",
    "fit-frequency": "fit classes.csv --method histogram --n-bins 3 --group frequency --groups 2 "
    "--counts counts.tsv -o fitted.json",
    "fit-auto": "fit classes.csv --method platt --group frequency --groups auto -o fitted.json",
    "apply": "apply map.json one.csv -o applied.csv",
    "apply-classes": "apply class-map.json classes.csv -o better.jsonl",
    "apply-thresholds": "apply thresholds.json one.csv -o decided.csv",
    "convert-wide": "convert classes.csv --to wide -o wide.npz",
    "convert-long": "convert wide.csv --to long -o long.jsonl",
    "agree": "agree ratings.csv --disputed 3",
    "agree-two": "agree two.csv --labels low,middle,high --distance ordinal --weights quadratic --disputed 2",
    "agree-missing": "agree missing.csv --disputed 2",
    "agree-same": "agree same.csv --disputed 0",
    "agree-candidate": "agree candidates.csv --candidate model --candidate other --margin 0.15",
    "threshold": "threshold binary.csv --coverage 0.7",
    "threshold-clusters": "threshold clusters.csv --view binary --confidence 0.6",
    "threshold-ranking": "threshold binary.csv --score-kind uncertainty",
    "threshold-risk": "threshold binary.csv --risk 0.45 --save saved.json",
    "threshold-risk-sides": "threshold binary.csv --risk 0.45 --two-sided",
    "threshold-risk-missed": "threshold clusters.csv --risk 0.3 --missed",
    "compare-folds": "compare folds.csv --test-train-ratio 0.25 --samples 200",
    "compare-repeats": "compare repeats.csv --alternative greater --baseline a_b --samples 200",
    "compare-items": "compare items.csv --samples 200",
    "compare-equal": "compare equal.csv --samples 200 --lower-is-better",
    "compare-no-ratio": "compare folds.csv",
    "plan-runs-difference": "plan-runs runs.csv --difference 0.1 --item-cost 4",
    "plan-runs-width": "plan-runs items.csv --half-width 0.1",
    "protocol": "protocol summaries/eval.toml -o page.html",
    "protocol-example": "protocol --example sentiment",
    "tag-train": "tag train tagged/train.tsv --dev tagged/dev.tsv --model hmm -o new.model",
    "tag-train-crf": "tag train tagged/train.tsv --max-iterations 3 --features basic -o new.model",
    "tag-predict": "tag predict tagger.model tagged/dev.conllu -o predicted.csv",
    "tag-eval": "tag eval tagger.model tagged/test.conllu --view pooled --view top --n-bins 4",
    "tag-eval-classwise": "tag eval tagger.model tagged/test.conllu --cluster document --view classwise",
    "parse-train": "parse train trees/train.conllu --dev trees/dev.conllu --folds 0 --epochs 2 --bits 14 "
    "-o new.model",
    "parse-predict": "parse predict parser.model trees/test.conllu -o predicted.conllu",
    "parse-eval": "parse eval parser.model trees/test.conllu --n-bins 4",
    "parse-eval-labeled": "parse eval parser.model trees/test.conllu --dev trees/dev.conllu --query labeled "
    "--cluster document --view classwise --n-bins 3",
    "spans": "spans spans.csv gold-spans.csv -o matched.csv",
    "spans-types": "spans spans.csv gold-spans.csv --match type --repeats mean -o matched.csv",
    "coref-train": "coref train narrated/train.conll --dev narrated/dev.conll --l1 0.00001 --l1 1 --epochs 1 "
    "-o new.model",
    "coref-predict": "coref predict coref.model narrated/test.conllu --detect -o predicted.jsonl",
    "coref-pairs": "coref pairs posteriors.jsonl -o pairs.csv",
    "coref-eval": "coref eval posteriors.jsonl --samples 100 --n-bins 4",
    "coref-eval-detected": "coref eval coref.model narrated/test.conllu --detect --no-singletons --smooth "
    "--n-bins 3",
    "events-run": "events run events.conllu -o new.store --coref coref.model --workers 1",
    "events-lexicon": "events lexicon events.conllu lexicon.csv",
    "events-relations": "events relations events.conllu --coref coref.model --samples 20",
    "events-table-entities": "events table events.store --by year --count entities",
    "events-table": "events table events.store --by quarter --country ESP --country CHL",
    "events-table-total": "events table current-events --by year --country IRQ",
    "events-table-samples": "events table reuters-21578 --by year --country IRN --interval samples",
    "events-table-years": "events table current-events --by year --from 2010 --to 2012",
    "events-uncertain": "events uncertain events.store --most 2",
    "events-sample": "events sample current-events --country IRQ --size 40 --seed 2 -o readings.csv",
    "events-plot": "events plot events.store -o figure.svg --by year --most 2",
    "data-list": "data list ud-english-ewt",
    "data-where": "data where",
    "data-fetch": "data fetch none",
    "demo": "demo -o page.html",
    "study": "study synthetic",
    "unknown-command": "measures binary.csv",
}
"""Command line by name of the golden."""

SLOW = (
    "report-*", "plot-*", "monitor-[!r]*", "fit-[!ipf]*", "fit-auto", "agree*[!e]", "agree-same",
    "measure-clusters",
    "measure-[st][!e]*", "measure-threshold", "protocol", "coref-*", "parse-*", "events-*", "demo", "study",
    "tag-train-crf",
    "tag-eval-classwise", "slices-small",
)  # fmt: skip
"""Patterns of the names that take longer, which the test suite leaves to `make goldens-compare`."""


FAILED = "--- exit code"


@contextmanager
def workplace(folder: Path) -> Iterator[None]:
    """Write the inputs into a folder and work there, with no real data in reach."""
    write_inputs(folder)
    variables = {"CALIBRANT_DATA": "data", "OMP_NUM_THREADS": "1", "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
    with chdir(folder), patch.dict(os.environ, variables):
        yield


def run(line: str) -> tuple[int, str, str]:
    """Run a command line; return its exit code, its standard output and its standard error."""
    words = shlex.split(line)
    with (
        patch.object(sys, "argv", ["calibrant", *words]),
        patch.object(sys, "unraisablehook", sys.unraisablehook),
    ):
        ran = CliRunner().invoke(main, words, prog_name="calibrant")
    err = "".join(each for each in ran.stderr.splitlines(True) if "compiling kernels" not in each)
    return ran.exit_code, ran.stdout, err


def prepare(line: str) -> None:
    """Run the commands that make what a command line reads and is not there yet."""
    for name, making in PREPARED.items():
        if name in line.split() and making != line and not Path(name).exists():
            prepare(making)
            code, _, err = run(making)
            if code:
                raise RuntimeError(f"calibrant {making}: {err}")


def command_of(line: str) -> str:
    """Return the name of the command that a line runs.

    Examples
    --------
    >>> command_of("tag eval tagger.model test.conllu"), command_of("measure binary.csv")
    ('tag eval', 'measure')
    """
    words = line.split()
    return next((name for name in (" ".join(words[:2]), words[0]) if name in outputs()), words[0])


def text_of(name: str) -> str:
    """Run a command; return all its text, with its exit code and its standard error."""
    prepare(COMMANDS[name])
    code, out, err = _run_anew(f"{COMMANDS[name]} --full")
    if code == 2 and "No such option '--full'" in err:  # a command that prints no record
        code, out, err = _run_anew(COMMANDS[name])
    out += f"{FAILED} {code}\n" * (code != 0) + f"--- standard error\n{err}" * bool(err)
    return masked(out)


def json_of(name: str) -> str:
    """Run a command with ``--json``; return what it prints."""
    line = f"{COMMANDS[name]} --json"
    code, out, err = _run_anew(line)
    if code:
        raise RuntimeError(f"calibrant {line}: {err}")
    return out


def _run_anew(line: str) -> tuple[int, str, str]:
    shutil.rmtree("new.store", ignore_errors=True)
    return run(line)


def masked(text: str) -> str:
    """Put names in the places of what differs from run to run."""
    for pattern, name in MASKS.items():
        text = re.sub(pattern, name, text)
    return text
