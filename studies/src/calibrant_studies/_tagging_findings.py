"""The tagging study's numbers beside the paper's and the thesis'."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from calibrant.results.intervals import ErrorDifference
from calibrant.structures.models.hmm import HMMTagger
from calibrant_studies._base import Finding, Row
from calibrant_studies._counts_checks import interval_of_share
from calibrant_studies._tagging_binnings import find_binnings
from calibrant_studies._tagging_data import PAPER_SET
from calibrant_studies._tagging_measure import ALL_TAGS, COMPARISONS, Evaluated, pooled_difference
from calibrant_studies._verdicts import Claim, Verdict, above, apart, below, between, equal

WHOLE_PERCENTS = 0.02  # widest interval that settles an accuracy given in whole percents: two of them
HALF = between(0.25, 0.75)  # "about half": nearer to one half than to nothing or to all
THESIS_SQUARED = {"hmm-ml": 0.035, "crf-basic": 0.019}
PAPER_ACCURACY = 0.887
PAPER_SENTENCES = 11_772
Models = Mapping[str, Evaluated]


class Tables(Protocol):
    """The tables that findings are read from."""

    @property
    def errors(self) -> list[Row]: ...

    @property
    def matched(self) -> list[Row]: ...

    @property
    def wins(self) -> list[Row]: ...

    @property
    def pseudocounts(self) -> list[Row]: ...

    @property
    def ablation(self) -> list[Row]: ...

    @property
    def binnings(self) -> list[Row]: ...


def find(sets: Mapping[str, Models], tables: Tables) -> Iterator[Finding]:
    """All findings, set by set."""
    for name, models in sets.items():
        if name == "twitter":
            yield from _twitter(models)
        else:
            yield from _newswire(name, models, tables)
        yield _pseudocounts(name, models, tables)
        yield from find_binnings(name, models["hmm"].texts.title, tables.binnings)
        if name in ("twitter", "wsj"):
            yield from _ablation(name, models, tables)


def _accuracy(
    key: str,
    found: Evaluated,
    note: str,
    paper: float | None = None,
    verdict: Verdict | None = None,
    claim: Claim | None = None,
) -> Finding:
    text = f"{found.texts.title}, {found.title}: accuracy"
    return Finding(f"{key}/accuracy", text, *found.accuracy, paper, verdict, note, claim)


def _maximum_likelihood(name: str, found: Evaluated) -> Finding:
    """Accuracy without pseudocounts, and how many sentences have no tags that are possible."""
    sentences = found.texts.test.sentences
    hmm = found.tagger.model
    assert isinstance(hmm, HMMTagger)
    impossible = int(hmm.impossible(sentences).sum())
    note = f"{impossible:,} of {len(sentences):,} test sentences have probability 0"
    return _accuracy(f"{name}/hmm-ml", found, note)


def _twitter(models: Models) -> Iterator[Finding]:
    yield _maximum_likelihood("twitter", models["hmm-ml"])
    for key in ("hmm", "hmm-classes", "crf-basic"):
        yield _accuracy(f"twitter/{key}", models[key], "by sentence")
    claim = equal(0.87, width=WHOLE_PERCENTS)
    yield _accuracy("twitter/crf-advanced", models["crf-advanced"], "by sentence", 0.87, claim=claim)
    claims = (("hmm-ml", "crf-basic", "about half"), ("crf-basic", "crf-advanced", "one half"))
    for before, after, paper in claims:
        for query in ("V", ALL_TAGS):
            yield _ratio(models[before], models[after], query, paper)


def _ratio(before: Evaluated, after: Evaluated, query: str, paper: str) -> Finding:
    """Ratio of two squared errors: the thesis' miscalibration is the squared error."""
    found = pooled_difference(before, after, query)
    relative = found.relative_change
    ratio, low, high = (
        None if change is None else (1 + change) ** 2
        for change in (relative.estimate, relative.low, relative.high)
    )
    stated = query == "V"
    if ratio is None or low is None or high is None:
        assert found.mse_first is not None
        assert found.mse_second is not None
        ratio = found.mse_second / found.mse_first if found.mse_first > 0 else None
        note = f"no interval: the first error's reaches 0; difference {_interval(found)}"
    else:
        note = f"root errors: {ratio**0.5:.2f}; conservative paired interval"
    key = f"twitter/{after.tagger.key}-over-{before.tagger.key}/{query.replace(' ', '-')}"
    text = f"Twitter, {query}: debiased squared error, {after.title} over {before.title}"
    words, claim = (paper, HALF) if stated else (None, None)
    return Finding(key, text, ratio, low, high, words, note=note, claim=claim)


def _interval(found: ErrorDifference) -> str:
    squares = found.mse_difference
    return f"{squares.estimate:.2g} [{squares.low:.2g}, {squares.high:.2g}]"


def _newswire(name: str, models: Models, tables: Tables) -> Iterator[Finding]:
    title, tag = models["hmm"].texts.title, models["hmm"].texts.tag
    yield _maximum_likelihood(name, models["hmm-ml"])
    same = name == PAPER_SET
    claim = equal(PAPER_ACCURACY, width=WHOLE_PERCENTS)
    note = "the paper's sentences" if same else "other sentences"
    yield _accuracy(f"{name}/hmm", models["hmm"], note, PAPER_ACCURACY, *_comparable(same, claim))
    yield _accuracy(f"{name}/crf-basic", models["crf-basic"], "all sentences")
    near: dict[str, tuple[str, float | None, Verdict | None, Claim | None]] = {
        "conll2000": ("tags of the Brill tagger", 0.96, "not comparable", None),
        "ewt": ("by sentence", None, None, None),
    }
    claimed = ("by sentence", 0.96, None, equal(0.96, width=WHOLE_PERCENTS))
    yield _accuracy(f"{name}/crf-advanced", models["crf-advanced"], *near.get(name, claimed))
    for key, value in THESIS_SQUARED.items():
        row = _error_row(tables.errors, models[key], tag)
        note = f"root {row['plug-in']:.3f}, b = {row['b']:,}; accuracy {row['accuracy']:.3f}"
        text = f"{title}, {tag}: plug-in squared error, {models[key].title}"
        place = f"{name}/{key}/{tag}/squared"
        if same:
            # The debiased error has an interval, which a verdict needs.
            value_here, low, high = (row[part] ** 2 for part in ("debiased", "low", "high"))
            text = text.replace("plug-in", "debiased")
            note = f"{note}; plug-in {row['plug-in, squared']:.3f}"
            yield Finding(place, text, value_here, low, high, value, None, note, equal(value, width=value))
        else:
            paper = None if name == "ewt" else value
            verdict: Verdict | None = None if name == "ewt" else "not comparable"
            yield Finding(place, text, row["plug-in, squared"], paper=paper, verdict=verdict, note=note)
    yield _difference(
        f"{name}/{tag}/difference",
        f"{title}, {tag}, all sentences: squared error, HMM (maximum likelihood) minus CRF-basic",
        pooled_difference(models["hmm-ml"], models["crf-basic"], tag),
        "above 0",
        above(0),
    )
    yield from _equal(name, models, tables)


def _comparable(same: bool, claim: Claim) -> tuple[Verdict | None, Claim | None]:
    """Verdict and claim: only on the paper's own sentences is its number the same quantity."""
    return (None, claim) if same else ("not comparable", None)


def _difference(key: str, text: str, found: ErrorDifference, paper: str, claim: Claim) -> Finding:
    squares = found.mse_difference
    note = "debiased; paired interval"
    return Finding(key, text, squares.estimate, squares.low, squares.high, paper, note=note, claim=claim)


def _about_equal(found: ErrorDifference) -> Claim:
    """Claim equal errors; an interval wider than half of the larger squared error settles nothing."""
    return equal(0.0, width=max(found.mse_first or 0.0, found.mse_second or 0.0) / 2)


def _error_row(rows: list[Row], model: Evaluated, query: str) -> Row:
    wanted = (model.texts.title, model.title, query)
    return next(row for row in rows if (row["set"], row["model"], row["query"]) == wanted)


def _equal(name: str, models: Models, tables: Tables) -> Iterator[Finding]:
    """The paper's comparison, at equal accuracy."""
    hmm, crf = models["equal-hmm"], models["equal-crf"]
    title, tag, key = hmm.texts.title, hmm.texts.tag, f"{name}/equal"
    whole = len(hmm.texts.train.sentences)
    accuracies = f"accuracy on test: HMM {hmm.accuracy[0]:.3f}, CRF {crf.accuracy[0]:.3f}"
    sentences = f"{hmm.tagger.sentences:,} and {crf.tagger.sentences:,} of {whole:,}"
    text = f"{title}, equal accuracy on dev: sentences of the HMM and of CRF-basic"
    paper = "11,772 and 3,000 of 11,772"
    if name == PAPER_SET:
        claim = equal(PAPER_SENTENCES, width=0)
        label = f"{title}: sentences of train"
        yield Finding(f"{name}/sentences", label, whole, whole, whole, PAPER_SENTENCES, claim=claim)
    yield Finding(f"{key}/sentences", text, sentences, None, None, paper, "not comparable", accuracies)
    for model, word, claim in ((hmm, "underconfident", above(1)), (crf, "overconfident", below(1))):
        yield _direction(key, model, _error_row(tables.matched, model, ALL_TAGS), word, claim)
    yield _difference(
        f"{key}/all-tags/difference",
        f"{title}, all tags, equal accuracy: squared error, HMM minus CRF",
        pooled_difference(hmm, crf, ALL_TAGS),
        "above 0",
        above(0),
    )
    single = pooled_difference(hmm, crf, tag)
    yield _difference(
        f"{key}/{tag}/difference",
        f"{title}, {tag}, equal accuracy: squared error, HMM minus CRF",
        single,
        "about 0",
        _about_equal(single),
    )
    yield from _wins(key, title, tables)


def _direction(key: str, model: Evaluated, row: Row, word: str, claim: Claim) -> Finding:
    slope = row["slope"]
    note = (
        f"above 1 underconfident, below 1 overconfident; frequency minus score from 0.5 on: "
        f"{row['gap from 0.5']:.3f} [{row['gap, low']:.3f}, {row['gap, high']:.3f}]"
    )
    text = f"{model.texts.title}, all tags, equal accuracy: Cox slope, {model.title}"
    name = f"{key}/{model.tagger.key}/slope"
    return Finding(name, text, slope, row["slope, low"], row["slope, high"], word, note=note, claim=claim)


def _wins(key: str, title: str, tables: Tables) -> Iterator[Finding]:
    for events, paper in (("tags", "CRF better in 39 of 47"), ("tag pairs", "HMM better in 29 of 100")):
        wanted = (title, COMPARISONS["equal"], events)
        row = next(r for r in tables.wins if (r["set"], r["models"], r["events"]) == wanted)
        crf, hmm = row["CRF better, by sign"], row["HMM better, by sign"]
        decided = row["classes"] - row["too few"]
        share = crf / decided
        note = (
            f"CRF {crf}, HMM {hmm} by sign; Wilson's interval takes {events} as independent; "
            f"{row['too few']} of {row['classes']} undecided (fewer than 10); after Holm: CRF "
            f"{row['CRF better, Holm']}, HMM {row['HMM better, Holm']}; after Benjamini-Hochberg: CRF "
            f"{row['CRF better, BH']}, HMM {row['HMM better, BH']}"
        )
        text = f"{title}, {events}, equal accuracy: fraction where the CRF has the smaller error"
        name = f"{key}/{events.replace(' ', '-')}/wins"
        ends = interval_of_share(share, decided)
        yield Finding(name, text, share, *ends, paper, note=note, claim=above(0.5))


def _pseudocounts(name: str, models: Models, tables: Tables) -> Finding:
    hmm = models["hmm"]
    rows = [row for row in tables.pseudocounts if (row["set"], row["model"]) == (hmm.texts.title, hmm.title)]
    chosen = next(row for row in rows if float(row["pseudocount"]) == hmm.tagger.setting)
    worst, best = (choose(rows, key=lambda row: float(row["error"])) for choose in (max, min))
    ends = [
        f"{row['error']:.3f} (pseudocount {row['pseudocount']}, accuracy {row['accuracy on test']:.3f})"
        for row in (best, worst)
    ]
    note = f"over all pseudocounts from {ends[0]} to {ends[1]}"
    text = (
        f"{hmm.texts.title}, all tags: debiased error of the HMM with the pseudocount of dev, "
        f"{chosen['pseudocount']}"
    )
    return Finding(f"{name}/hmm/pseudocount", text, chosen["error"], chosen["low"], chosen["high"], note=note)


def _ablation(name: str, models: Models, tables: Tables) -> Iterator[Finding]:
    title, tag = models["hmm"].texts.title, models["hmm"].texts.tag
    rows = [row for row in tables.ablation if row["set"] == title and row["query"] == tag]
    first, last = rows[0], rows[-1]
    yield Finding(
        f"{name}/ablation/{tag}",
        f"{title}, {tag}: debiased error of the CRF, words alone minus all groups of features",
        first["debiased"] - last["debiased"],
        *apart((first["low"], first["high"]), (last["low"], last["high"])),
        "falls as features are added",
        note=f"from the ends of both intervals, conservative; {first['debiased']:.3f} and "
        f"{last['debiased']:.3f}; accuracy {first['accuracy']:.3f} and {last['accuracy']:.3f}",
        claim=above(0),
    )
