"""The coreference study's parts: each trains what it needs and returns rows by table."""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.structures.documents import Document
from calibrant.structures.posterior import AntecedentPosterior
from calibrant.structures.posterior.coreference_queries import is_new, is_singleton
from calibrant_studies import _coreference_models as models
from calibrant_studies import _coreference_pairs as pairing
from calibrant_studies._base import Row
from calibrant_studies._coreference_data import Texts, clusters_of, recall_rows
from calibrant_studies._coreference_models import COSTS, Fitted, Setting
from calibrant_studies._coreference_pairs import TRIVIAL, Listed, RuleRates
from calibrant_studies._coreference_scores import (
    HEADLINE,
    Labels,
    counted,
    ends,
    f1_row,
    model_labels,
    resampled,
    rule_labels,
)

Tables = dict[str, list[Row]]
PENALTY = 3e-5  # where a part does not choose among several on dev
FEWER_EPOCHS = 4  # of the models of the ablation, the whole one too: there are many
SAMPLES = (1_000, 100)
ALL, HIGH = "all pairs", f"pairs from {TRIVIAL:g}"


def main(texts: Texts, seed: int) -> Tables:
    """Measure with gold mentions: F1, calibration of pairs by kind, samples, temperature."""
    best, candidates = models.chosen(texts, seed)
    listed = pairing.listed(best.test, texts.split["test"])
    tables = {
        "chosen": candidates,
        "f1": f1_rows(best, seed),
        "errors": error_rows(best, listed),
        "skill": [skill_row(best, listed, seed)],
        "strata": strata_rows(best, listed),
        "samples": sample_rows(best, listed, seed),
        "temperature": temperature_rows(best, "no costs", seed),
        "curves": [],
    }
    recalibrated = pairing.listed(best.test.tempered(best.temperature), texts.split["test"])
    sampled = pairing.listed(best.test, texts.split["test"], samples=SAMPLES[0], seed=seed)
    for name, found in (("exact", listed), ("1,000 samples", sampled), ("after temperature", recalibrated)):
        tables["curves"] += [
            {**texts.name, "scores": name, **row} for row in pairing.curve_rows(found.pairs())
        ]
    return tables


def condition(texts: Texts, seed: int) -> Tables:
    """Other mentions or trees: F1 and calibration of pairs."""
    best = models.fitted(texts, [Setting(texts.features, PENALTY)])[0]
    tables = {
        "f1": f1_rows(best, seed),
        "errors": error_rows(best, pairing.listed(best.test, texts.split["test"])),
    }
    if texts.mentions == "detected":
        tables["recall"] = recall_rows(texts)
        every = pairing.listed(best.test, texts.split["test"], spurious=True)
        tables["errors"] += [
            {**row, "query": f"{row['query']}, wrong mentions too"} for row in error_rows(best, every)[:2]
        ]
    return tables


def costs(texts: Texts, seed: int) -> Tables:
    """Measure the effect of softmax-margin costs in training on F1 and on probabilities."""
    settings = [Setting(texts.features, PENALTY, values) for values in COSTS.values()]
    tables: Tables = {"costs": [], "curves": []}
    for name, found in zip(COSTS, models.fitted(texts, settings), strict=True):
        tables["costs"] += temperature_rows(found, name, seed)
        listed = pairing.listed(found.test, texts.split["test"])
        tables["curves"] += [
            {**texts.name, "scores": name, **row} for row in pairing.curve_rows(listed.pairs())
        ]
    return tables


def ablation(texts: Texts, seed: int) -> Tables:
    """Each group of features left out: F1, and the error of pairs that are not trivial."""
    settings = models.ablation_settings(Setting(texts.features, PENALTY, epochs=FEWER_EPOCHS))
    rows = []
    full: Labels | None = None
    test, gold = texts.split["test"], texts.gold["test"]
    for without, found in zip(settings, models.fitted(texts, list(settings.values())), strict=True):
        labels = model_labels(found.test, seed, (HEADLINE,))[HEADLINE]
        if full is None:
            full = labels
        table, other = (counted(gold, test, each, singletons=True) for each in (labels, full))
        lost = ends(resampled(table, seed) - resampled(other, seed), len(table))
        listed = pairing.listed(found.test, test)
        error = pairing.error_row(listed.pairs(listed.score >= TRIVIAL))
        row = f1_row(texts.name, "model", table, None, seed)
        change = row["CoNLL F1"] - f1_row(texts.name, "", other, None, seed)["CoNLL F1"]
        rows.append(
            {
                **texts.name,
                "without": without,
                "weights": len(found.model.to_state()["place"]),
                "dev CoNLL F1": models.dev_f1(found, seed),
                "CoNLL F1": row["CoNLL F1"],
                "change": change,
                "change, low": 100 * lost[0],
                "change, high": 100 * lost[1],
                "loss per mention": found.loss(),
                **{key: error[key] for key in ("debiased", "low", "high", "slope")},
            }
        )
    return {"ablation": rows}


def all_folds(splits: Sequence[Texts], seed: int) -> Tables:
    """Ten splits: every document is tested once, by a model that has not seen it."""
    fitted = models.fitted_to_each(splits, Setting(splits[0].features, PENALTY))
    documents: list[Document] = [document for texts in splits for document in texts.split["test"]]
    name = {**splits[0].name, "set": f"{splits[0].name['set']}, ten folds"}
    rules = rule_labels(documents, trees=False)
    labels: dict[str, Labels] = {"rules": rules}
    for found in fitted:
        for key, each in model_labels(found.test, seed).items():
            labels.setdefault(key, []).extend(each)
    f1 = f1_of(name, documents, documents, labels, seed)
    tables: Tables = {"f1": f1, "errors": [], "curves": []}
    for kind, samples in (("exact", None), ("1,000 samples", SAMPLES[0]), ("after temperature", None)):
        parts = []
        for found in fitted:
            tempered = found.test.tempered(found.temperature) if kind == "after temperature" else found.test
            test = found.texts.split["test"]
            parts.append(pairing.listed(tempered, test, samples=samples, seed=seed))
        listed = pairing.together(parts)
        tables["errors"] += pair_errors({**name, "model": kind}, listed)
        tables["curves"] += [{**name, "scores": kind, **row} for row in pairing.curve_rows(listed.pairs())]
        if kind == "exact":
            tables["strata"] = strata_of(name, listed, documents, trees=False)
    return tables


def f1_rows(found: Fitted, seed: int) -> list[Row]:
    """Return F1 of the rules and of the model, with and without singletons."""
    texts = found.texts
    test = texts.split["test"]
    labels = {"rules": rule_labels(test, trees=texts.trees != "none"), **model_labels(found.test, seed)}
    return f1_of(texts.name, texts.gold["test"], test, labels, seed)


def f1_of(
    name: Row, gold: Sequence[Document], test: Sequence[Document], labels: dict[str, Labels], seed: int
) -> list[Row]:
    """Return one row per clustering; the first is the baseline."""
    rows = []
    for singletons in (True, False):
        baseline = None
        for model, entities in labels.items():
            table = counted(gold, test, entities, singletons=singletons)
            counts = "yes" if singletons else "no"
            rows.append(f1_row(name, model, table, baseline, seed, singletons=counts))
            baseline = table if baseline is None else baseline
    return rows


def pair_errors(name: Row, listed: Listed) -> list[Row]:
    """Errors of all pairs, and of those that are not trivial."""
    kept = {ALL: listed.pairs(), HIGH: listed.pairs(listed.score >= TRIVIAL)}
    return [{**name, "query": query, **pairing.error_row(pairs)} for query, pairs in kept.items()]


def error_rows(found: Fitted, listed: Listed) -> list[Row]:
    """Errors of pairs, of new mentions and of singletons, at temperature 1."""
    name = {**found.texts.name, "model": "exact"}
    rows = pair_errors(name, listed)
    clusters = clusters_of(found.texts.split["test"])
    for query in (is_new, is_singleton):
        pairs = query(found.test, clusters).pairs()
        rows.append({**name, "query": query.__name__.replace("_", " "), **pairing.error_row(pairs)})
    return rows


def skill_row(found: Fitted, listed: Listed, seed: int) -> Row:
    """Skill of the pair probabilities against the base rate and the rules."""
    texts = found.texts
    trees = texts.trees != "none"
    dev = pairing.listed(found.dev, texts.split["dev"])
    rates = RuleRates.learn(dev, rule_labels(texts.split["dev"], trees=trees))
    baseline = rates.scores(listed, rule_labels(texts.split["test"], trees=trees))
    return {**texts.name, "pairs": len(listed.score), **pairing.skill_columns(listed, baseline, seed)}


def strata_rows(found: Fitted, listed: Listed) -> list[Row]:
    """Errors of pairs from `TRIVIAL` up, kind by kind."""
    texts = found.texts
    return strata_of(texts.name, listed, texts.split["test"], trees=texts.trees != "none")


def strata_of(name: Row, listed: Listed, documents: Sequence[Document], *, trees: bool) -> list[Row]:
    """Errors of pairs from `TRIVIAL` up, kind by kind."""
    rows = []
    kinds = pairing.strata(listed, documents, trees=trees)
    for by, masks in kinds.items():
        for kind, mask in masks.items():
            kept = mask & (listed.score >= TRIVIAL)
            share = {"all pairs": int(mask.sum()), "all coreferent": int(listed.label[mask].sum())}
            if 0 < listed.label[kept].sum() < kept.sum():
                error = pairing.error_row(listed.pairs(kept))
                rows.append({**name, "by": by, "kind": kind, **share, **error})
    return rows


def sample_rows(found: Fitted, listed: Listed, seed: int) -> list[Row]:
    """Compare exact probabilities with frequencies among samples."""
    test = found.texts.split["test"]
    name = found.texts.name
    rows = []
    for samples in (None, *SAMPLES):
        scored = listed if samples is None else pairing.listed(found.test, test, samples=samples, seed=seed)
        row: Row = {**name, "scores": "exact" if samples is None else f"{samples:,} samples"}
        row |= {
            "noise variance, predicted": None,
            "noise variance, seen": None,
            "Brier added, seen": None,
            "error from noise alone": None,
            "gap from noise alone": None,
        }
        if samples is not None:
            row |= pairing.sampled_row(listed, scored, samples)
        for query, pairs in ((ALL, scored.pairs()), (HIGH, scored.pairs(scored.score >= TRIVIAL))):
            rows.append({**row, "query": query, **pairing.error_row(pairs)})
    return rows


def temperature_rows(found: Fitted, costs_name: str, seed: int) -> list[Row]:
    """Before and after a temperature that dev chose."""
    texts = found.texts
    test, gold = texts.split["test"], texts.gold["test"]
    rules = counted(gold, test, rule_labels(test, trees=texts.trees != "none"), singletons=True)
    rows = []
    for when, temperature in (("before", 1.0), ("after", found.temperature)):
        posterior: AntecedentPosterior = found.test.tempered(temperature)
        labels = model_labels(posterior, seed, ("best antecedents", HEADLINE))
        f1 = {
            key: f1_row({}, key, counted(gold, test, each, singletons=True), rules, seed)
            for key, each in labels.items()
        }
        best = f1[HEADLINE]
        listed = pairing.listed(posterior, test)
        for error in pair_errors({}, listed):
            rows.append(
                {
                    **texts.name,
                    "costs": costs_name,
                    "when": when,
                    "temperature": temperature,
                    "loss per mention": found.loss(temperature),
                    "F1 of best antecedents": f1["best antecedents"]["CoNLL F1"],
                    "F1 of probable entities": f1["probable entities"]["CoNLL F1"],
                    "above the rules": best["above the rules"],
                    "above, low": best["above, low"],
                    "above, high": best["above, high"],
                    **error,
                }
            )
    return rows
