"""Precision and recall of the rules of names, by reading.

`python scripts/named_rule.py` writes docs/studies/named_rule.md from docs/studies/named_rule.csv.
`python scripts/named_rule.py DOCUMENTS` makes the scores of that table again (about five minutes of processor
time), from the documents of Socialist Worker; answers that are there stay.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from calibrant import estimate
from calibrant.events.extraction import extract
from calibrant.events.files.dated import iter_dated
from calibrant.events.rules import RULES
from calibrant.events.verbs.worker import Extraction, Extractor
from calibrant.structures.documents import Document
from calibrant.structures.posterior import AntecedentPosterior

FOLDER = Path(__file__).parents[1] / "docs" / "studies"
TABLE, PAGE = FOLDER / "named_rule.csv", FOLDER / "named_rule.md"
ARTICLES, DRAWN, BEFORE, SEED = 6714, 1600, "2004", 56
ENGLISH = "calibrant-english"
RULES_READ = {
    "named": RULES["default"],
    "entity": replace(RULES["default"], named=False),
    "paper": RULES["paper"],
}
TITLES = {
    "named": "`default`: an agent that names a country counts for it",
    "entity": "`default`, but with the paper's rule of names",
    "paper": "`paper`",
}
SURE = 0.9
FEWEST = 0.05  # a difference, or a probability, that puts a document into its stratum
STRATA = {
    "differ": f"the rules of names differ by at least {FEWEST} for some country",
    "count": f"others with a probability of at least {FEWEST} by some rules",
    "parsed": "others with a verb of the rules and a name",
    "skipped": "without one of these",
}


def scores(path: str) -> pd.DataFrame:
    """Return the probability of each country in each document of the sample, by each of the rules."""
    wanted = set(np.random.default_rng(SEED).choice(ARTICLES, DRAWN, replace=False).tolist())
    extractor = Extractor(Extraction(ENGLISH, ENGLISH, None, RULES["default"], 100, 0, False))
    rows = []
    for number, item in enumerate(iter_dated(path)):
        if number not in wanted or str(item.date) >= BEFORE:
            continue
        kept: list[AntecedentPosterior] = []

        def posterior(text: Document, kept: list[AntecedentPosterior] = kept) -> AntecedentPosterior:
            if not kept:
                kept.append(extractor.model.posterior([text]))
            return kept[0]

        parsed = extractor._may_count(item)
        document = extractor.parsed(item)[0] if parsed else None
        found: dict[str, dict[str, float]] = {}
        for name, rules in RULES_READ.items():
            if document is None:
                break
            events = extract(document, posterior, extractor.lexicon, rules, samples=100, seed=0)
            if events is not None:
                for country, share in zip(events.countries, events.bits.mean(axis=0), strict=True):
                    found.setdefault(country, {})[name] = float(share)
        rows += [
            {"document": item.id, "parsed": parsed, "actor": country, **found.get(country, {})}
            for country in sorted(found) or [""]
        ]
    return pd.DataFrame(rows).fillna(dict.fromkeys(RULES_READ, 0.0))


def check(path: str) -> None:
    """Print how the scores of the table differ from those that are computed now."""
    now = scores(path).set_index(["document", "actor"])
    then = pd.read_csv(TABLE, keep_default_na=False).set_index(["document", "actor"])
    then = then[then["named"] != ""]
    both = now.join(then, how="outer", rsuffix="_then")
    for name in RULES_READ:
        change = (both[name].fillna(0) - pd.to_numeric(both[f"{name}_then"]).fillna(0)).abs()
        print(f"{name}: largest change {change.max():.2f}, sum {now[name].sum():.1f}")


class Sample:
    """Documents of the table, with the answers of those that were read."""

    def __init__(self) -> None:
        pairs = pd.read_csv(TABLE, dtype={"says": str})
        self.pairs = pairs.fillna(dict.fromkeys(RULES_READ, 0.0))
        first = self.pairs.groupby("document").first()
        self.documents = first[["stratum", "inclusion_probability"]].reset_index(names="item")
        self.is_read = self.documents["inclusion_probability"].notna().to_numpy()

    def total(self, values: pd.Series) -> np.ndarray:
        """Return the sum of the values of each document's pairs."""
        sums = values.groupby(self.pairs["document"]).sum()
        return np.asarray(self.documents["item"].map(sums), np.float64)

    def mean(self, values: np.ndarray) -> tuple[float, float, float]:
        """Return the mean of a value over all documents, from those that were read, with its interval."""
        read = self.documents[self.is_read].assign(label=values[self.is_read])
        span = max(1.0, float(np.abs(values[self.is_read]).max()))
        share = (
            estimate(
                self.documents[["item"]].assign(score=0.0),
                read,
                methods=["labels"],
                population="superpopulation",
                label_range=(-span, span),
            )
            .estimates[0]
            .share
        )
        low, high = share.low, share.high
        return float(share), -span if low is None else low, span if high is None else high

    def ratio(self, above: np.ndarray, below: np.ndarray) -> tuple[float, float, float]:
        """Return a ratio of two means; its interval has the ratios for which a difference may be 0 (Fieller).

        The difference is that of the first value and the ratio times the second one.
        """

        def at(place: int) -> Callable[[float], float]:
            return lambda ratio: self.mean(above - ratio * below)[place]

        ends = []
        for place in (1, 2):
            edge = 0.0 if place == 1 else 1.0
            bounds = at(place)(0.0), at(place)(1.0)
            ends.append(brentq(at(place), 0.0, 1.0, xtol=1e-4) if bounds[0] * bounds[1] < 0 else edge)
        return self.mean(above)[0] / self.mean(below)[0], min(ends), max(ends)


def shown(interval: tuple[float, float, float], scale: float = 1.0, digits: int = 2) -> str:
    """Return a number with its interval."""
    value, low, high = (f"{scale * number:.{digits}f}" for number in interval)
    return f"{value} [{low}, {high}]"


def tables() -> dict[str, str]:
    """Return the tables of the page, in Markdown."""
    sample = Sample()
    pairs = sample.pairs
    verb = (pairs["says"] == "verb").astype(float)
    any_words = verb + (pairs["says"] == "other")
    strata = ["| articles | in the sample | read |", "|---|---:|---:|"]
    for stratum, what in STRATA.items():
        own = sample.documents["stratum"] == stratum
        strata.append(f"| {what} | {own.sum():,} | {(own & sample.is_read).sum()} |")
    rules = [
        "| rules | events per 1,000 articles | precision, a verb of the rules | precision, any words | "
        "recall, a verb of the rules | recall, any words |",
        "|---|---:|---|---|---|---|",
    ]
    scored = {TITLES[name]: pairs[name] for name in RULES_READ}
    scored[f"`default`, only probabilities of at least {SURE}"] = pairs["named"].where(
        pairs["named"] >= SURE, 0
    )
    for title, score in scored.items():
        found = sample.total(score)
        cells = [f"{1000 * found.mean():.1f}"]
        for truth in (verb, any_words):
            cells.append(shown(sample.ratio(sample.total(truth * score), found)))
        for truth in (verb, any_words):
            cells.append(shown(sample.ratio(sample.total(truth * score), sample.total(truth))))
        rules.append(f"| {title} | {' | '.join(cells)} |")
    for title, truth in (("states with a verb of the rules", verb), ("states in any words", any_words)):
        rules.append(f"| the text {title} | {shown(sample.mean(sample.total(truth)), 1000, 1)} | | | | |")
    gain = (pairs["named"] - pairs["entity"]).clip(lower=0)
    added = ["| | a verb of the rules | any words |", "|---|---|---|"]
    cells = [
        shown(sample.ratio(sample.total(truth * gain), sample.total(gain))) for truth in (verb, any_words)
    ]
    added.append(f"| fraction of the added probability that is right | {' | '.join(cells)} |")
    cells = [
        shown(sample.ratio(sample.total(truth * gain), sample.total(truth))) for truth in (verb, any_words)
    ]
    added.append(f"| recall that it adds | {' | '.join(cells)} |")
    return {"strata": "\n".join(strata), "rules": "\n".join(rules), "added": "\n".join(added)}


def main() -> None:
    """Write the page's tables, or compare the scores."""
    if sys.argv[1:]:
        check(sys.argv[1])
        return
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables().items():
        start, end = f"<!-- table: {name} -->\n", "<!-- end -->"
        before, _, rest = text.partition(start)
        text = before + start + table + "\n" + end + rest.partition(end)[2]
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
