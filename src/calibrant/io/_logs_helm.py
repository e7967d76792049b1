"""Statistics of HELM: ``per_instance_stats.json`` of a run, with its means in ``stats.json`` beside it.

Fields are as in the source of crfm-helm 0.5.16.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from calibrant.io._log_text import head, mapping, sequence, whole
from calibrant.io.log_scores import SampleScore, cluster_of, score_of

LARGEST = 1 << 31  # number of a trial


def holds(path: Path, first: Mapping[str, Any]) -> bool:
    """Return True if a file contains the statistics of instances, by its keys."""
    start = head(path)
    return start.startswith(b"[") and b'"instance_id"' in start and b'"stats"' in start


class HelmLog:
    """The statistics of a run: a scenario with one model.

    Parameters
    ----------
    path
        The file.
    """

    date = ""

    def __init__(self, path: Path) -> None:
        self.path = path
        spec = _beside(path, "run_spec.json", dict)
        name = str(spec.get("name") or path.absolute().parent.name)
        named = re.search(r"[,:]model=([^,]+)", name)
        model = mapping(spec.get("adapter_spec")).get("model") or (named and named[1]) or "model"
        self.model = str(model)
        self.task = re.sub(r"([,:])model=[^,]+,?", r"\1", name).rstrip(",:")

    def scores(self, cluster: str | None = None) -> Iterator[SampleScore]:
        """Yield the mean of each statistic of an instance in a trial; perturbed instances are left out."""
        for number, instance in enumerate(map(mapping, whole(self.path, (list,))), 1):
            item = str(instance.get("instance_id") or number)
            group, problem = cluster_of(instance, cluster)
            if "instance_id" not in instance:
                problem = "that is not an instance"
            elif instance.get("perturbation"):
                problem = "whose text was perturbed"
            if problem or not sequence(instance.get("stats")):
                yield SampleScore(item, problem=problem or "without scores")
                continue
            trial = instance.get("train_trial_index")
            run = trial + 1 if isinstance(trial, int) and 0 <= trial < LARGEST else 1
            for stat in map(mapping, sequence(instance.get("stats"))):
                name, split = _named(stat)
                yield SampleScore(item, name, score_of(stat.get("mean")), split, run, cluster=group)

    def aggregates(self) -> dict[str, float]:
        """Return the mean of each statistic and split over the instances that were not perturbed."""
        stats = [mapping(stat) for stat in _beside(self.path, "stats.json", list)]
        plain = [stat for stat in stats if not mapping(stat.get("name")).get("perturbation")]
        return {",".join(_named(stat)): score_of(stat.get("mean")) for stat in plain if "mean" in stat}


def _named(stat: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name of a statistic, and the split of the data."""
    name = mapping(stat.get("name"))
    splits = [str(name[part]) for part in ("split", "sub_split") if name.get(part)]
    return str(name.get("name")), "/".join(splits)


def _beside(path: Path, name: str, kind: type[Any]) -> Any:
    """Return the content of another file of the run; empty if there is none."""
    other = path.with_name(name)
    return whole(other, kind) if other.is_file() else kind()
