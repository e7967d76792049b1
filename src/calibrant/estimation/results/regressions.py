"""Records of regressions with predicted variables."""

from __future__ import annotations

from typing import Annotated

from calibrant._checks import Floats
from calibrant.records import Quantity, Record, Table, hidden, name, number, rows, setting, warning
from calibrant.records.words import decimal
from calibrant.results.errors import IntervalLevel

COEFFICIENTS, TEST = "Coefficients", "Test"
EFFECTS, MEANS, PROXIES = "Effects", "Means", "Proxies"


class RegressionTerm(Record, frozen=True, kw_only=True):
    """Coefficient of one term: corrected, from the labels alone, and from the predictions alone."""

    term: Annotated[str, name("Term", "Term of the formula, as formulaic names it.")]
    corrected: Annotated[
        Quantity,
        number(
            "Corrected",
            "Coefficient from all predictions, corrected by the labels; report this one.",
            group=COEFFICIENTS,
            headline=True,
        ),
    ]
    standard_error: Annotated[
        float,
        number(
            "Standard error",
            "Standard error of the corrected coefficient, robust to heteroskedasticity (CR2), and to "
            "dependence within clusters if these are named.",
            group=TEST,
            headline=True,
            short="s.e.",
        ),
    ]
    t: Annotated[
        float,
        number("t", "Corrected coefficient / standard error.", group=TEST, headline=True, digits=2),
    ]
    freedom: Annotated[
        float,
        number(
            "Degrees of freedom",
            "Satterthwaite's degrees of freedom of the standard error.",
            group=TEST,
            short="df",
            digits=1,
        ),
    ]
    p_value: Annotated[
        float,
        number(
            "p-value",
            "Two-sided p-value of Student's t test that the coefficient is 0.",
            group=TEST,
            unit="p-value",
            headline=True,
            short="p",
        ),
    ]
    weight: Annotated[
        float,
        number(
            "Weight",
            "Weight of the predictions: 0 ignores them, and 1 is the weight of dsl.",
            group=TEST,
            digits=2,
        ),
    ]
    labels: Annotated[
        Quantity,
        number(
            "Labels only",
            "Coefficient from the labeled rows alone, weighted by 1 / inclusion probability.",
            group=COEFFICIENTS,
            headline=True,
        ),
    ]
    naive: Annotated[
        Quantity,
        number(
            "Naive",
            "Coefficient from all predictions as if they were gold. Its interval ignores their errors; do "
            "not report it.",
            group=COEFFICIENTS,
            headline=True,
        ),
    ]


class RegressionEffect(Record, frozen=True, kw_only=True):
    """Average marginal effect of one variable: corrected, from the labels alone, and from predictions."""

    effect: Annotated[
        str, name("Effect", "Variable whose derivative is averaged, or two categories that are compared.")
    ]
    corrected: Annotated[
        Quantity,
        number(
            "Corrected",
            "Effect on the mean outcome from all predictions, corrected by the labels.",
            group=EFFECTS,
            headline=True,
        ),
    ]
    standard_error: Annotated[
        float,
        number(
            "Standard error",
            "Standard error of the corrected effect, with that of the mean over the rows.",
            group=EFFECTS,
            headline=True,
            short="s.e.",
        ),
    ]
    p_value: Annotated[
        float,
        number(
            "p-value",
            "Two-sided p-value of Student's t test that the effect is 0.",
            group=EFFECTS,
            unit="p-value",
            headline=True,
            short="p",
        ),
    ]
    labels: Annotated[
        Quantity,
        number("Labels only", "Effect from the labeled rows alone.", group=EFFECTS, headline=True),
    ]
    naive: Annotated[
        Quantity,
        number("Naive", "Effect from all predictions as if they were gold.", group=EFFECTS, headline=True),
    ]


class PredictedMean(Record, frozen=True, kw_only=True):
    """Mean outcome of all rows if some variables had given values, and the others were as observed."""

    at: Annotated[str, name("At", "Values of the variables.")]
    corrected: Annotated[
        Quantity,
        number(
            "Corrected",
            "Mean from all predictions, corrected by the labels.",
            group=MEANS,
            headline=True,
        ),
    ]
    standard_error: Annotated[
        float,
        number(
            "Standard error",
            "Standard error of the corrected mean, with that of the mean over the rows.",
            group=MEANS,
            headline=True,
            short="s.e.",
        ),
    ]
    labels: Annotated[
        Quantity,
        number("Labels only", "Mean from the labeled rows alone.", group=MEANS, headline=True),
    ]
    naive: Annotated[
        Quantity,
        number("Naive", "Mean from all predictions as if they were gold.", group=MEANS, headline=True),
    ]


class ProxyErrors(Record, frozen=True, kw_only=True):
    """Weight of one of several proxies, and how often it errs on one value of the labels."""

    proxy: Annotated[str, name("Proxy", "Column of predictions.")]
    variable: Annotated[str, name("Variable", "Predicted variable.")]
    value: Annotated[str | None, name("Gold value", "Value of the labels; null for numbers without classes.")]
    labels: Annotated[int, number("Labels", "Labels with this value.", group=PROXIES, headline=True)]
    error: Annotated[
        float | None,
        number(
            "Error rate",
            "Proportion of these labels that the proxy has wrong, weighted by 1 / inclusion probability; for "
            "probabilities, the mean probability of the other value. Null for numbers without classes.",
            group=PROXIES,
            headline=True,
        ),
    ]
    weight: Annotated[
        float,
        number(
            "Weight",
            "Weight of the proxy in the mean of all proxies that the regression uses; they add up to 1.",
            group=PROXIES,
            headline=True,
            digits=2,
        ),
    ]
    relative_variance: Annotated[
        float,
        number(
            "Relative variance",
            "Variance of the coefficients with this proxy alone, relative to that of the labels alone (their "
            "mean, for few labels among many rows).",
            group=PROXIES,
            headline=True,
            digits=2,
        ),
    ]


class Regression(Record, frozen=True, kw_only=True):
    """Regression with predicted variables, corrected by gold labels of some rows."""

    formula: Annotated[str, setting("Formula", "Formula of the regression.", headline=True)]
    family: Annotated[
        str,
        setting("Family", "linear, logistic (coefficients are log-odds) or poisson (logarithms of rates)."),
    ]
    predicted: Annotated[
        str, setting("Predicted", "Predicted variables, and the columns of their predictions.", headline=True)
    ]
    method: Annotated[
        str,
        setting("Method", "Method of the corrected coefficients: recalibrated, ppi++ or dsl.", headline=True),
    ]
    documents: Annotated[int, setting("Rows", "Number of rows.", headline=True)]
    labelled: Annotated[int, setting("Labeled", "Number of rows with gold values.", headline=True)]
    clusters: Annotated[
        int | None,
        setting("Clusters", "Number of clusters; null if rows are treated as independent.", headline=True),
    ]
    fixed: Annotated[
        str | None, setting("Fixed effects", "Column whose fixed effects are absorbed; null without.")
    ]
    sampling: Annotated[
        str,
        setting(
            "Sampling",
            "Design of the labeled sample. simple: all rows had the same probability of being labeled, which "
            "is assumed if no probabilities are given; fixed: a fixed number of rows per group of equal "
            "probability; independent: each row independently, with its probability.",
            headline=True,
        ),
    ]
    level: IntervalLevel
    few_warning: Annotated[str | None, warning("Few labels carry the estimates.")] = None
    clusters_warning: Annotated[str | None, warning("The labels come from few effective clusters.")] = None
    selection_warning: Annotated[
        str | None, warning("The data contradict the probabilities of being labeled.")
    ] = None
    command: Annotated[
        str | None, setting("Command", "Command line that reproduces the result; null if there is none.")
    ] = None
    terms: Annotated[
        tuple[RegressionTerm, ...], rows("Coefficients", "One entry per term, in the order of the formula.")
    ]
    effects: Annotated[
        tuple[RegressionEffect, ...],
        rows("Average marginal effects", "One entry per variable or comparison; empty if not asked for."),
    ] = ()
    means: Annotated[
        tuple[PredictedMean, ...],
        rows("Predicted means", "One entry per combination of values; empty if not asked for."),
    ] = ()
    relative_variance: Annotated[
        float | None,
        setting(
            "Relative variance",
            "Variance of the coefficients with all proxies, relative to that of the labels alone (the mean, "
            "for few labels among many rows); null with one proxy.",
        ),
    ] = None
    proxies: Annotated[
        tuple[ProxyErrors, ...],
        rows("Proxies", "One entry per proxy and gold value; empty if no variable has several proxies."),
    ] = ()
    adjusted: Annotated[Floats | None, hidden()] = None

    def main_tables(self) -> tuple[Table, ...]:
        """Return the coefficients, and the effects and means that were asked for."""
        shown = ["effects"] * bool(self.effects) + ["means"] * bool(self.means)
        shown += ["proxies"] * bool(self.proxies)
        return *super().main_tables(), *(one for one in self.to_tables() if one.name in shown)

    def summary(self) -> str:
        """Return the design, the weight of the predictions, and terms whose naive estimate misleads."""
        wrong = [
            one.term
            for one in self.terms
            if one.naive.estimate is not None
            and one.corrected.low is not None
            and one.corrected.high is not None
            and not one.corrected.low <= one.naive.estimate <= one.corrected.high
        ]
        text = f"{self.labelled:,} of {self.documents:,} rows have gold values; sampling: {self.sampling}. "
        weights = sorted({decimal(one.weight, 2) for one in self.terms}, key=float)
        text += f"Weight of the predictions: {' to '.join(weights[:: max(1, len(weights) - 1)])}."
        if self.relative_variance is not None:
            least = min(one.relative_variance for one in self.proxies)
            text += (
                f" Variance relative to labels alone, if labels are few among the rows: "
                f"{decimal(self.relative_variance, 2)}; {decimal(least, 2)} with the best proxy alone."
            )
        if wrong:
            text += f" The naive estimate is outside the corrected interval of {', '.join(wrong)}."
        return text
