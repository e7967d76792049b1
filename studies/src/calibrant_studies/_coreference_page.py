"""The coreference study's tables as its page shows them: fewer columns, an interval beside its number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calibrant_studies._base import Row, number

# Published results with their sources. Other splits, mentions and scoring: beside ours, not against.
LITERATURE = (
    {
        "data": "LitBank, ten folds, gold mentions",
        "system": "BERT, trained on LitBank",
        "CoNLL F1": 79.3,
        "source": "Bamman, Lewke & Mansoor (2020), LREC; second-hand, not checked in the paper",
    },
    {
        "data": "LitBank, ten folds, predicted mentions",
        "system": "BERT, trained on LitBank",
        "CoNLL F1": 68.1,
        "source": "the same, second-hand, not checked in the paper",
    },
    {
        "data": "LitBank and PreCo; setting not stated",
        "system": "BookNLP, small / big",
        "CoNLL F1": "76.4 / 79.0",
        "source": "README of github.com/booknlp/booknlp",
    },
    {
        "data": "OntoGUM (GUM by OntoNotes' rules, no singletons)",
        "system": "dcoref (rules)",
        "CoNLL F1": 39.7,
        "source": "README of the code of Zhu, Pradhan & Zeldes (2021), ACL",
    },
    {
        "data": "OntoGUM",
        "system": "SpanBERT",
        "CoNLL F1": 64.6,
        "source": "the same",
    },
)


def arrange(tables: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """Tables for the page, from those of the record."""
    makers = {
        "f1": _f1,
        "recall": _recall,
        "errors": _error,
        "skill": _skill,
        "strata": _stratum,
        "samples": _sampled,
        "temperature": _tempered,
        "costs": _costs,
        "ablation": _ablation,
    }
    found = {
        f"page-{key}": [make(row) for row in tables[key]] for key, make in makers.items() if tables.get(key)
    }
    return {**found, "literature": [dict(row) for row in LITERATURE]}


def interval(row: Row, value: str, low: str, high: str, form: str = ".4f") -> str:
    """A number with the ends of its interval."""
    if row[value] is None:
        return number(None)
    ends = "" if row[low] is None else f" [{row[low]:{form}}, {row[high]:{form}}]"
    return f"{row[value]:{form}}{ends}"


def _name(row: Row) -> Row:
    return {key: row[key] for key in ("set", "mentions", "trees")}


def _f1(row: Row) -> Row:
    return {
        **_name(row),
        "singletons": row["singletons"],
        "entities from": row["model"],
        **{metric: f"{row[metric]:.1f}" for metric in ("muc", "b_cubed", "ceaf_e", "lea")},
        "CoNLL F1": interval(row, "CoNLL F1", "low", "high", ".1f"),
        "above the rules": interval(row, "above the rules", "above, low", "above, high", ".1f"),
    }


def _recall(row: Row) -> Row:
    shares = {key: f"{100 * row[key]:.1f}" for key in ("recall", "precision")}
    return {**{key: row[key] for key in ("set", "trees", "split", "gold", "detected")}, **shares}


def _errors(row: Row) -> Row:
    return {
        "pairs": row["pairs"],
        "coreferent": row["coreferent"],
        "plug-in (b)": f"{row['plug-in']:.4f} ({row['b']:,})",
        "debiased": interval(row, "debiased", "low", "high"),
        "Cox slope": interval(row, "slope", "slope, low", "slope, high", ".2f"),
        "gap from 0.5": interval(row, "gap from 0.5", "gap, low", "gap, high", ".3f"),
    }


def _error(row: Row) -> Row:
    return {**_name(row), "scores": row["model"], "query": row["query"], **_errors(row)}


def _skill(row: Row) -> Row:
    names = ("Brier skill", "Brier skill to rules", "log skill", "log skill to rules")
    shown = {name: interval(row, name, f"{name}, low", f"{name}, high", ".3f") for name in names}
    return {"set": row["set"], "pairs": row["pairs"], **shown}


def _stratum(row: Row) -> Row:
    return {
        "set": row["set"],
        "by": row["by"],
        "kind": row["kind"],
        "documents": row["documents"],
        **_errors(row),
    }


def _sampled(row: Row) -> Row:
    names = (
        "noise variance, predicted",
        "noise variance, seen",
        "error from noise alone",
        "gap from noise alone",
    )
    shown = {name: row[name] for name in names}
    return {"set": row["set"], "scores": row["scores"], "query": row["query"], **shown, **_errors(row)}


def _tempered(row: Row) -> Row:
    return {
        "set": row["set"],
        "when": row["when"],
        "temperature": f"{row['temperature']:.3f}",
        "loss per mention": row["loss per mention"],
        "CoNLL F1": f"{row['F1 of probable entities']:.1f}",
        "query": row["query"],
        **_errors(row),
    }


def _costs(row: Row) -> Row:
    return {
        "set": row["set"],
        "costs": row["costs"],
        **{key: value for key, value in _tempered(row).items() if key not in ("set", "CoNLL F1")},
        "F1 of best antecedents": f"{row['F1 of best antecedents']:.1f}",
        "F1 of probable entities": f"{row['F1 of probable entities']:.1f}",
        "above the rules": interval(row, "above the rules", "above, low", "above, high", ".1f"),
    }


def _ablation(row: Row) -> Row:
    return {
        "set": row["set"],
        "without": row["without"],
        "weights": row["weights"],
        "CoNLL F1 on dev": f"{row['dev CoNLL F1']:.1f}",
        "CoNLL F1": f"{row['CoNLL F1']:.1f}",
        "change": interval(row, "change", "change, low", "change, high", ".1f"),
        "loss per mention": row["loss per mention"],
        "debiased error, pairs from 0.01": interval(row, "debiased", "low", "high"),
        "Cox slope": f"{row['slope']:.2f}",
    }
