"""The tagging study's numbers beside the paper's and the thesis'."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, Protocol

from calibrant.results.intervals import ErrorDifference
from calibrant.structures.models.hmm import HMMTagger
from calibrant_studies._base import Finding, Row, Verdict
from calibrant_studies._tagging_measure import ALL_TAGS, COMPARISONS, Evaluated, pooled_difference

THESIS_SQUARED = {"hmm-ml": 0.035, "crf-basic": 0.019}
PAPER_ACCURACY = 0.887
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


def find(sets: Mapping[str, Models], tables: Tables) -> Iterator[Finding]:
    """All findings, set by set."""
    for name, models in sets.items():
        if name == "twitter":
            yield from _twitter(models)
        else:
            yield from _newswire(name, models, tables)
        yield _pseudocounts(name, models, tables)
        if name in ("twitter", "wsj"):
            yield from _ablation(name, models, tables)


def _accuracy(key: str, found: Evaluated, paper: float | None, verdict: Verdict | None, note: str) -> Finding:
    text = f"{found.texts.title}, {found.title}: accuracy"
    return Finding(f"{key}/accuracy", text, *found.accuracy, paper, verdict, note)


def _maximum_likelihood(name: str, found: Evaluated) -> Finding:
    """Accuracy without pseudocounts, and how many sentences have no tags that are possible."""
    sentences = found.texts.test.sentences
    hmm = found.tagger.model
    assert isinstance(hmm, HMMTagger)
    impossible = int(hmm.impossible(sentences).sum())
    note = f"{impossible:,} of {len(sentences):,} test sentences are impossible"
    return _accuracy(f"{name}/hmm-ml", found, None, None, note)


def _twitter(models: Models) -> Iterator[Finding]:
    yield _maximum_likelihood("twitter", models["hmm-ml"])
    for key in ("hmm", "hmm-classes", "crf-basic"):
        yield _accuracy(f"twitter/{key}", models[key], None, None, "by sentence")
    advanced = models["crf-advanced"]
    _, low, high = advanced.accuracy
    verdict: Verdict = "agrees" if low <= 0.87 <= high else "differs"
    yield _accuracy("twitter/crf-advanced", advanced, 0.87, verdict, "by sentence")
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
    verdict: Verdict | None
    if ratio is None or low is None or high is None:
        assert found.mse_first is not None
        assert found.mse_second is not None
        ratio = found.mse_second / found.mse_first if found.mse_first > 0 else None
        verdict = _verdict(found.mse_second < found.mse_first) if stated else None
        note = f"no interval: the first error's reaches 0; difference {_interval(found)}"
    else:
        verdict = _verdict(low <= 0.5 <= high) if stated else None
        note = f"root errors: {ratio**0.5:.2f}; conservative paired interval"
        note += "; not settled: the interval holds 1" if low <= 1 <= high else ""
    key = f"twitter/{after.tagger.key}-over-{before.tagger.key}/{query.replace(' ', '-')}"
    text = f"Twitter, {query}: debiased squared error, {after.title} over {before.title}"
    return Finding(key, text, ratio, low, high, paper if stated else None, verdict, note)


def _interval(found: ErrorDifference) -> str:
    squares = found.mse_difference
    return f"{squares.estimate:.2g} [{squares.low:.2g}, {squares.high:.2g}]"


def _verdict(holds: bool) -> Verdict:
    return "agrees" if holds else "differs"


def _newswire(name: str, models: Models, tables: Tables) -> Iterator[Finding]:
    title, tag = models["hmm"].texts.title, models["hmm"].texts.tag
    yield _maximum_likelihood(name, models["hmm-ml"])
    yield _accuracy(f"{name}/hmm", models["hmm"], PAPER_ACCURACY, "not comparable", "other sentences")
    yield _accuracy(f"{name}/crf-basic", models["crf-basic"], None, None, "all sentences")
    advanced = models["crf-advanced"]
    near: dict[str, tuple[float | None, Verdict | None, str]] = {
        "wsj": (0.96, _verdict(abs(advanced.accuracy[0] - 0.96) < 0.01), "agrees within one point"),
        "conll2000": (0.96, "not comparable", "tags of the Brill tagger"),
        "ewt": (None, None, "by sentence"),
    }
    yield _accuracy(f"{name}/crf-advanced", advanced, *near[name])
    for key, value in THESIS_SQUARED.items():
        row = _error_row(tables.errors, models[key], tag)
        yield Finding(
            f"{name}/{key}/{tag}/squared",
            f"{title}, {tag}: plug-in squared error, {models[key].title}",
            row["plug-in, squared"],
            paper=None if name == "ewt" else value,
            verdict=None if name == "ewt" else "not comparable",
            note=f"root {row['plug-in']:.3f}, b = {row['b']:,}; accuracy {row['accuracy']:.3f}",
        )
    yield _difference(
        f"{name}/{tag}/difference",
        f"{title}, {tag}, all sentences: squared error, HMM (maximum likelihood) minus CRF-basic",
        pooled_difference(models["hmm-ml"], models["crf-basic"], tag),
        "above 0",
    )
    yield from _equal(name, models, tables)


def _difference(key: str, text: str, found: ErrorDifference, paper: Literal["above 0", "about 0"]) -> Finding:
    squares = found.mse_difference
    value, low, high = squares.estimate, squares.low, squares.high
    assert value is not None
    assert low is not None
    assert high is not None
    around = low <= 0 <= high
    note = "debiased; paired interval"
    if paper == "above 0" and around:
        note += "; not settled: the interval holds 0"
    verdict = _verdict(value > 0 if paper == "above 0" else around)
    return Finding(key, text, value, low, high, paper, verdict, note)


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
    yield Finding(f"{key}/sentences", text, sentences, None, None, paper, "not comparable", accuracies)
    for model, word, above in ((hmm, "underconfident", True), (crf, "overconfident", False)):
        yield _direction(key, model, _error_row(tables.matched, model, ALL_TAGS), word, above)
    yield _difference(
        f"{key}/all-tags/difference",
        f"{title}, all tags, equal accuracy: squared error, HMM minus CRF",
        pooled_difference(hmm, crf, ALL_TAGS),
        "above 0",
    )
    yield _difference(
        f"{key}/{tag}/difference",
        f"{title}, {tag}, equal accuracy: squared error, HMM minus CRF",
        pooled_difference(hmm, crf, tag),
        "about 0",
    )
    yield from _wins(key, title, tables)


def _direction(key: str, model: Evaluated, row: Row, word: str, above: bool) -> Finding:
    slope = row["slope"]
    side = row["slope, low"] > 1 if above else row["slope, high"] < 1
    note = (
        f"above 1 underconfident, below 1 overconfident; frequency minus score from 0.5 on: "
        f"{row['gap from 0.5']:.3f} [{row['gap, low']:.3f}, {row['gap, high']:.3f}]"
    )
    text = f"{model.texts.title}, all tags, equal accuracy: Cox slope, {model.title}"
    name = f"{key}/{model.tagger.key}/slope"
    return Finding(name, text, slope, row["slope, low"], row["slope, high"], word, _verdict(side), note)


def _wins(key: str, title: str, tables: Tables) -> Iterator[Finding]:
    for events, paper in (("tags", "CRF better in 39 of 47"), ("tag pairs", "HMM better in 29 of 100")):
        wanted = (title, COMPARISONS["equal"], events)
        row = next(r for r in tables.wins if (r["set"], r["models"], r["events"]) == wanted)
        crf, hmm = row["CRF better, by sign"], row["HMM better, by sign"]
        decided = row["classes"] - row["too few"]
        agrees = 2 * crf > decided and (events == "tags" or hmm > 0)
        note = (
            f"by sign; {row['too few']} of {row['classes']} undecided (fewer than 10); after Holm: CRF "
            f"{row['CRF better, Holm']}, HMM {row['HMM better, Holm']}; after Benjamini-Hochberg: CRF "
            f"{row['CRF better, BH']}, HMM {row['HMM better, BH']}"
        )
        value = f"CRF {crf}, HMM {hmm} of {decided}"
        text = f"{title}, {events}, equal accuracy: which has the smaller error"
        name = f"{key}/{events.replace(' ', '-')}/wins"
        yield Finding(name, text, value, None, None, paper, _verdict(agrees), note)


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
    falls = last["high"] is not None and last["high"] < first["debiased"]
    yield Finding(
        f"{name}/ablation/{tag}",
        f"{title}, {tag}: debiased error of the CRF with all groups of features",
        last["debiased"],
        last["low"],
        last["high"],
        "falls as features are added",
        _verdict(falls),
        f"words alone {first['debiased']:.3f}; accuracy {first['accuracy']:.3f} and {last['accuracy']:.3f}",
    )
