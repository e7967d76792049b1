"""The coreference study's models and their training texts; two are trained at a time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from calibrant.structures.models.coreference import PAPER_COSTS, CoreferenceModel, FeatureSet
from calibrant.structures.models.coreference_encoding import NEED_TREES
from calibrant.structures.posterior import AntecedentPosterior, antecedent_losses, fit_antecedent_temperature
from calibrant_studies._base import Row
from calibrant_studies._coreference_data import Texts, clusters_of
from calibrant_studies._coreference_scores import HEADLINE, counted, f1_row, model_labels

L1_PENALTIES = (1e-5, 3e-5, 1e-4)
NO_COSTS = (0.0, 0.0, 0.0)
COSTS = {"no costs": NO_COSTS, "small costs": (0.0, 0.5, 0.3), "the paper's costs": PAPER_COSTS}
BUNDLES = {
    "words of mentions": ("head", "edges", "string"),
    "words around": ("context",),
    "pairs of heads": ("head pairs",),
    "match, containment": ("match", "containment"),
    "gender, number": ("gender", "number"),
    "distance": ("distance",),
    "length, nesting": ("length", "nesting"),
    "speaker, quotation": ("speaker", "quotation"),
    "relation, governor": ("relation", "governor"),  # these and the next need trees
    "arcs between mentions": ("arc",),
    "rank, parallel roles": ("rank", "parallel"),
}
WORKERS = 2


@dataclass(frozen=True)
class Setting:
    """Training settings of one model.

    Attributes
    ----------
    features, l1, costs, without, epochs
        As `CoreferenceModel` takes them.
    """

    features: FeatureSet
    l1: float
    costs: tuple[float, float, float] = NO_COSTS
    without: tuple[str, ...] = ()
    epochs: int = 8


@dataclass(frozen=True)
class Fitted:
    """A trained model with its distributions on dev and test, and its temperature on dev.

    Attributes
    ----------
    texts, setting, model
        Training texts, setting, and model.
    dev, test
        Antecedents of the mentions of the condition.
    temperature
        Temperature with the smallest loss on dev.
    """

    texts: Texts
    setting: Setting
    model: CoreferenceModel
    dev: AntecedentPosterior
    test: AntecedentPosterior
    temperature: float

    def loss(self, temperature: float = 1.0) -> float:
        """Return the mean loss per test mention, in nats."""
        clusters = clusters_of(self.texts.split["test"])
        losses = antecedent_losses(self.test.tempered(temperature), clusters)
        known = losses[losses == losses]  # NaN: no gold entity
        return float(known.mean())


def fitted(texts: Texts, settings: Sequence[Setting]) -> list[Fitted]:
    """Train models on one condition's texts; training holds no lock, so two run side by side."""
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(lambda setting: _fit(texts, setting), settings))


def fitted_to_each(conditions: Sequence[Texts], setting: Setting) -> list[Fitted]:
    """Train one setting on several conditions."""
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(lambda texts: _fit(texts, setting), conditions))


def _fit(texts: Texts, setting: Setting) -> Fitted:
    model = CoreferenceModel(**vars(setting))
    model.fit(texts.split["train"])
    dev, test = (model.posterior(texts.split[part]) for part in ("dev", "test"))
    found = fit_antecedent_temperature(dev, clusters_of(texts.split["dev"]))
    return Fitted(texts, setting, model, dev, test, found.temperature)


def dev_f1(found: Fitted, seed: int) -> float:
    """CoNLL F1 on dev of the entities that count."""
    documents = found.texts.split["dev"]
    labels = model_labels(found.dev, seed, (HEADLINE,))[HEADLINE]
    table = counted(found.texts.gold["dev"], documents, labels, singletons=True)
    return float(f1_row({}, "", table, None, seed)["CoNLL F1"])


def chosen(texts: Texts, seed: int) -> tuple[Fitted, list[Row]]:
    """Train with every penalty and keep the one that is best on dev."""
    candidates = fitted(texts, [Setting(texts.features, l1) for l1 in L1_PENALTIES])
    scores = [dev_f1(candidate, seed) for candidate in candidates]
    best = candidates[scores.index(max(scores))]
    rows = [
        {
            **texts.name,
            "features": texts.features,
            "l1": f"{candidate.setting.l1:g}",
            "weights": len(candidate.model.to_state()["place"]),
            "dev CoNLL F1": score,
            "dev temperature": candidate.temperature,
            "chosen": "yes" if candidate is best else "",
        }
        for candidate, score in zip(candidates, scores, strict=True)
    ]
    return best, rows


def ablation_settings(setting: Setting) -> dict[str, Setting]:
    """The whole setting, and the same without each bundle of feature groups in turn."""
    found = {"(all are there)": setting}
    for name, groups in BUNDLES.items():
        if setting.features == "syntax" or not set(groups) & set(NEED_TREES):
            found[name] = replace(setting, without=groups)
    return found
