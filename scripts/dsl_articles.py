"""Estimate the regressions of the articles of R's package dsl with `calibrant regress`, for the guide.

python scripts/dsl_articles.py FOLDER     writes docs/studies/dsl_articles.md

FOLDER has the package's data as CSV files: pan-chen-2018.csv.gz and others. The published numbers are those
that the articles on the package's website print (github.com/naoki-egami/dsl, branch gh-pages, July 2025).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from calibrant import regress
from calibrant.estimation import Regression
from calibrant.exceptions import InputError

TARGET = Path(__file__).resolve().parent.parent / "docs" / "studies" / "dsl_articles.md"
TITLE = "Articles of R's dsl"
Published = dict[str, tuple[float, float]]


def as_it_is(folder: Path, file: str) -> pd.DataFrame:
    """Return a table."""
    return pd.read_csv(folder / f"{file}.csv.gz")


def candidates(folder: Path, file: str) -> pd.DataFrame:
    """Return candidates with the proportions of their posts, and the probability of a labeled post."""
    posts = as_it_is(folder, "posts").groupby("cand_id")
    means = posts[["economy", "pred_economy"]].mean()  # of the labeled posts, and of all
    means["sample_prob"] = 1 - posts["post_sample_prob"].apply(lambda each: (1 - each).prod())
    return as_it_is(folder, file).merge(means, left_on="cand_id", right_index=True)


@dataclass(frozen=True)
class Example:
    """A regression of an article.

    Attributes
    ----------
    title, text, article
        Heading, description, and the name of the article.
    file
        Table.
    formula
        Formula of calibrant.
    options
        Options of `calibrant.regress`.
    published
        Estimates and standard errors that the article prints, by calibrant's term.
    r
        The call in R, in short.
    read
        Function that reads the table.
    """

    title: str
    text: str
    article: str
    file: str
    formula: str
    options: dict[str, Any]
    published: Published
    r: str
    read: Callable[[Path, str], pd.DataFrame] = as_it_is


EXAMPLES = (
    Example(
        "Pan and Chen (2018)",
        "1,412 complaints about officials in China, and if they were reported upwards (`SendOrNot`). GPT-4 "
        "predicted the covariate `countyWrong`, an accusation of county politicians; experts coded it in 500 "
        "complaints. These are the real data of Pan and Chen (2018, *American Political Science Review* "
        "112(3)); all others on this page were simulated by the package's authors or have simulated "
        "predictions.",
        "intro",
        "pan-chen-2018",
        "SendOrNot ~ countyWrong + prefecWrong + connect2b + prevalence + regionj + groupIssue",
        {"family": "logistic"},
        {
            "Intercept": (2.0978, 0.3621),
            "countyWrong": (-0.2617, 0.2230),
            "prefecWrong": (-1.1162, 0.2970),
            "connect2b": (-0.0788, 0.1197),
            "prevalence": (-0.3271, 0.1520),
            "regionj": (0.1253, 0.4566),
            "groupIssue": (-2.3222, 0.3597),
        },
        'model = "logit"',
    ),
    Example(
        "Linear regression",
        "5,000 rows with a predicted outcome, 245 of them labeled.",
        "model",
        "simulated-linear",
        "Y ~ X1 + X2 + X3 + X4 + X5",
        {},
        {
            "Intercept": (0.6450, 0.0714),
            "X1": (2.1293, 0.0685),
            "X2": (2.1033, 0.0645),
            "X3": (0.0448, 0.0687),
            "X4": (0.0022, 0.0635),
            "X5": (0.0257, 0.0593),
        },
        'model = "lm"',
    ),
    Example(
        "Logistic regression, outcome and covariate predicted",
        "5,000 rows with a predicted outcome `Y` and a predicted covariate `X1`, 487 of them labeled.",
        "model",
        "simulated-logistic",
        "Y ~ X1 + X2 + X4",
        {"family": "logistic"},
        {
            "Intercept": (-0.7386, 0.1000),
            "X1": (0.2208, 0.1044),
            "X2": (0.0242, 0.0974),
            "X4": (0.2742, 0.1022),
        },
        'model = "logit"',
    ),
    Example(
        "Fixed effects of states",
        "A panel of 48 states and 17 years with a predicted covariate `log_gsp`; 334 of 816 rows are "
        "labeled. Standard errors are clustered by state. In this example the predictions equal the gold "
        "values in all labeled rows, but are noise in the others, so the labeled rows are no random sample: "
        "the published numbers are those of the predictions, calibrant's those of the labels, and neither "
        "can be checked.",
        "model",
        "states",
        "log_pcap ~ log_gsp + log_pc + unemp",
        {"fixed": "state"},
        {"log_gsp": (0.0031, 0.0020), "log_pc": (0.5357, 0.0419), "unemp": (0.0067, 0.0021)},
        'model = "felm", fixed_effect = "oneway", index = "state", cluster = "state"',
    ),
    Example(
        "Unequal probabilities of being labeled",
        "3,000 rows with a predicted outcome. 30 % of the rows with `X1` = 1 and 10 % of the others were "
        "labeled.",
        "faq",
        "unequal-sampling",
        "Y ~ X1 + X2 + X3",
        {"family": "logistic", "inclusion_probability": "sample_prob"},
        {
            "Intercept": (-0.2157, 0.1185),
            "X1": (0.1073, 0.3349),
            "X2": (0.1074, 0.1086),
            "X3": (-0.0449, 0.1157),
        },
        'model = "logit", sample_prob = "sample_prob"',
    ),
    Example(
        "Proportions by year",
        "3,000 posts of ten years with a predicted class, 500 of them labeled.",
        "faq",
        "posts-by-day",
        "Y ~ C(year) - 1",
        {},
        {
            f"C(year)[{year}]": pair
            for year, pair in zip(
                range(2001, 2011),
                (
                    (0.6451, 0.0652),
                    (0.6234, 0.0654),
                    (0.2956, 0.0808),
                    (0.4444, 0.0693),
                    (0.6288, 0.0722),
                    (0.4275, 0.0728),
                    (0.5710, 0.0766),
                    (0.6703, 0.0674),
                    (0.4960, 0.0639),
                    (0.4761, 0.0704),
                ),
                strict=True,
            )
        },
        'model = "lm", formula = Y ~ as.factor(year) - 1',
    ),
    Example(
        "Posts of candidates",
        "The outcome is the proportion of a candidate's posts about the economy; 992 of 3,222 posts of 1,000 "
        "candidates are labeled. A candidate is labeled if a post is.",
        "aggregate",
        "candidates",
        "economy ~ gender + edu + ideology",
        {"inclusion_probability": "sample_prob", "sampling": "independent"},
        {
            "Intercept": (0.4057, 0.0696),
            "gender": (-0.0099, 0.0348),
            "edu": (0.0005, 0.0128),
            "ideology": (-0.0091, 0.0134),
        },
        'model = "lm", sample_prob = "cand_sample_prob"',
        candidates,
    ),
)


def fits(example: Example, folder: Path) -> dict[str, Regression | None]:
    """Return the regression by each method; None if the method refuses."""
    data = example.read(folder, example.file)
    found: dict[str, Regression | None] = {}
    for method in ("dsl", "recalibrated"):
        try:
            found[method] = regress(data, example.formula, method=method, **example.options)
        except InputError:
            found[method] = None
    return found


def correlations(example: Example, folder: Path) -> str:
    """Return the correlation of each predicted variable with its gold values in labeled rows."""
    data = example.read(folder, example.file)
    names = [name for name in data.columns if f"pred_{name}" in data.columns]
    return ", ".join(f"{data[name].corr(data[f'pred_{name}']):.2f}" for name in names)


def table(example: Example, found: dict[str, Regression | None]) -> Iterator[str]:
    """Yield the lines of the table of an example."""
    best = found["recalibrated"]
    assert best is not None
    yield "| term | published | `--method dsl` | `recalibrated` | labels only | naive |"
    yield "|---|---:|---:|---:|---:|---:|"
    other = found["dsl"]
    for number, one in enumerate(best.terms):
        estimate, error = example.published.get(one.term, (None, None))
        published = "-" if estimate is None else f"{estimate:.3f} ({error:.3f})"
        same = "-" if other is None else shown(other.terms[number].corrected)
        cells = (shown(one.corrected), shown(one.labels), shown(one.naive))
        yield f"| `{one.term}` | {published} | {same} | {' | '.join(cells)} |"


def shown(one: Any) -> str:
    """Return an estimate and its standard error."""
    return f"{one.estimate:.3f} ({one.standard_error:.3f})"


def farthest(example: Example, found: Regression) -> tuple[float, float]:
    """Return the largest distance from the published estimates, in standard errors, and ratio of errors."""
    terms = {one.term: one.corrected for one in found.terms}
    distances, ratios = [], []
    for name, (estimate, error) in example.published.items():
        one = terms[name]
        assert one.estimate is not None
        assert one.standard_error is not None
        distances.append(abs(one.estimate - estimate) / error)
        ratios.append(one.standard_error / error)
    return max(distances), max(ratios, key=lambda ratio: abs(ratio - 1))


def command(example: Example) -> str:
    """Return the command of an example."""
    options = "".join(f" --{name.replace('_', '-')} {value}" for name, value in example.options.items())
    return f'calibrant regress {example.file}.csv.gz --formula "{example.formula}"{options}'


def main(folder: Path) -> None:
    """Write the page."""
    results = [(example, fits(example, folder)) for example in EXAMPLES]
    lines = [HEAD]
    lines += ["| example | correlation | `--method dsl` | | `recalibrated` | |"]
    lines += ["|---|---:|---:|---:|---:|---:|"]
    for example, found in results:
        cells = [correlations(example, folder)]
        for name in ("dsl", "recalibrated"):
            one = found[name]
            cells += ["-", "-"] if one is None else [f"{value:.2f}" for value in farthest(example, one)]
        anchor = example.title.lower().replace(" ", "-").replace("(", "").replace(")", "").replace(",", "")
        lines.append(f"| [{example.title}](#{anchor}) | {' | '.join(cells)} |")
    lines.append(FOOT)
    for example, found in results:
        lines += [f"## {example.title}", "", example.text, ""]
        lines += ["```text", f"$ {command(example)}", "```", ""]
        lines += [f"In R: `dsl({example.r}, ...)`, article `{example.article}`.", ""]
        lines += [*table(example, found), ""]
    TARGET.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


HEAD = """# Articles of R's dsl

The articles on the website of the R package [dsl](http://naokiegami.com/dsl) (design-based supervised \
learning) print regressions of data that the package contains. This page estimates them again with \
[`calibrant regress`](../guide/regress.md).

The package trains a random forest on the labels, with random splits, so its numbers change from run to run: \
two versions of an article print 0.645 and 0.647. `--method dsl` solves the same moment equation with the \
predictions as they are, so its numbers are close but not equal.

Estimates have standard errors in parentheses. *Labels only* and *naive* are the regressions of the labeled \
rows alone, and of the predictions as if they were gold.

## Summary

*Correlation* is that of predictions and gold values in labeled rows. For each method, the first column is \
the largest distance of an estimate from the published one, in published standard errors. The second is the \
standard error that differs most, divided by the published one.
"""
FOOT = """
If predictions are correlated with nothing, `--method dsl` has standard errors up to twice as large as the \
published ones, because it gives the predictions the weight 1. The random forest of the package learns to \
ignore them, and so does the weight of `recalibrated`.

A dash means that `--method dsl` needs an indicator per state, for which there are too few clusters.

`python scripts/dsl_articles.py FOLDER` writes this page; FOLDER has the package's data as CSV files. \
[From R's dsl](../guide/regress.md#from-rs-dsl) lists the options side by side.
"""

if __name__ == "__main__":
    main(Path(sys.argv[1]))
