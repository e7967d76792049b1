"""Details of lighteval: a Parquet file for each task, with one row per sample.

Columns are as in lighteval 0.13 (``doc``, ``metric``, ``model_response``) or in older releases
(``predictions``, ``gold_index``, ``choices``, ``metrics``). The means of a run are in ``results_DATE.json``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from calibrant._checks import shown
from calibrant.exceptions import InputError
from calibrant.io._log_text import mapping, sequence, whole
from calibrant.io._logs_harness import NoOptionsError, option_names
from calibrant.io.log_rows import Block, Collector
from calibrant.io.log_scores import SampleScore, cluster_of, digest, number_of, score_of

NAME = re.compile(r"details_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)\.parquet")
NEW, OLD = {"doc", "metric", "model_response"}, {"predictions", "gold_index", "choices", "metrics"}
ROUNDING = 1e-3  # log-likelihoods summed in half precision may end a little above 0


def holds(path: Path, first: Mapping[str, Any]) -> bool:
    """Return True if a Parquet file contains details, by its name and its columns."""
    if not path.name.startswith("details"):
        return False
    from calibrant.io.origin import parquet_file

    try:
        with parquet_file(str(path)) as file:
            names = set(file.schema_arrow.names)
    except (InputError, OSError, ValueError):
        return bool(NAME.fullmatch(path.name))
    return names >= NEW or names >= OLD


class DetailsLog:
    """The details of one task.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        match = NAME.fullmatch(path.name)
        self.task = match["task"] if match else path.stem
        self.date = match["date"] if match else ""
        results = self._results()
        above = path.absolute().parent
        if above.name == self.date:
            above = above.parent
        model = mapping(results.get("config_general")).get("model_name")
        self.model = str(model or above.name)
        self._means = mapping(mapping(results.get("results")).get(self.task))

    def _results(self) -> dict[str, Any]:
        """Return the results of the run: in the same folder, or in ``results`` beside ``details``."""
        name, folder = f"results_{self.date}.json", self.path.absolute().parent
        places = [folder / name, folder.parent / name]
        for above in folder.parents:
            if above.name == "details":
                model = folder.relative_to(above).parent
                places.append(above.parent / "results" / model / name)
        there = next((place for place in places if self.date and place.is_file()), None)
        return {} if there is None else mapping(whole(there, dict))

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the samples in one form: id, query, choices, gold, likelihoods, metrics and other fields."""
        import pyarrow as pa

        from calibrant.io.origin import parquet_file

        number = 0
        try:
            with parquet_file(str(self.path)) as file:
                schema = file.schema_arrow
                old = not set(schema.names) >= NEW
                wanted = sorted(OLD | {"example"}) if old else ["doc", "metric", "model_response.logprobs"]
                for batch in file.iter_batches(batch_size=256, columns=wanted):
                    batch.validate(full=True)
                    for row in batch.to_pylist():
                        number += 1
                        yield number, _old(row) if old else _new(row)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, InputError):
                raise
            reason = " ".join(str(error).split())[:120]
            message, hint = f"the Parquet file cannot be read ({reason})", "copy it again"
            raise InputError(message, hint, code="file-broken", file=str(self.path)) from error

    def scores(self, cluster: str | None = None) -> Iterator[SampleScore]:
        """Yield the metrics of each sample; the field of a cluster is one of ``doc.specific`` or ``doc``."""
        for number, row in self._rows():
            name = row["id"] or str(number)
            group, problem = cluster_of(row["fields"], cluster)
            metrics = {key: value for key, value in row["metrics"].items() if value is not None}
            if problem or not metrics:
                yield SampleScore(name, problem=problem or "without metrics")
                continue
            content = digest(row["query"])
            for metric, value in metrics.items():
                yield SampleScore(name, metric, score_of(value), "", 1, content, 0, group)

    def aggregates(self) -> dict[str, float]:
        """Return the mean of each metric from the results of the run."""
        return {key: value for key, value in self._means.items() if number_of(value) is not None}

    def blocks(self) -> Iterator[Block]:
        """Read the samples: a softmax over the log-likelihoods of the choices."""
        collector = Collector()
        for number, row in self._rows():
            choices, gold, values = row["choices"], row["gold"], row["likelihoods"]
            if len(choices) < 2 or len(values) != len(choices):
                hint = (
                    "calibration needs the log-likelihoods of options, which only multiple-choice tasks have"
                )
                message = f"task {self.task}: {len(values)} log-likelihoods of {len(choices)} choices"
                raise NoOptionsError(message, hint, code="log-scores", file=str(self.path), row=number)
            if not all(isinstance(value, (int, float)) and value <= ROUNDING for value in values):
                message = f"the log-likelihoods are {shown(values)}, not numbers of at most 0"
                raise self._error(message, "score-range", number)
            if max(values) == float("-inf"):
                raise self._error("every option has the log-likelihood minus infinity", "score-range", number)
            if not gold or not all(isinstance(place, int) and 0 <= place < len(choices) for place in gold):
                message = f"the right answer {shown(gold)} is not one of {len(choices)} choices"
                raise self._error(message, "class-unknown", number)
            item = f"{self.task}/{row['id'] or number}"
            collector.add(self.model, self.task, self.task, item, option_names(len(choices)), values, gold)
            yield from collector.take()
        yield from collector.take(1)

    def _error(self, message: str, code: str, row: int) -> InputError:
        return InputError(message, "drop the sample or repair it", code=code, file=str(self.path), row=row)


def _new(row: Mapping[str, Any]) -> dict[str, Any]:
    doc = mapping(row.get("doc"))
    gold = doc.get("gold_index")
    return {
        "id": str(doc.get("id") or ""),
        "query": doc.get("query"),
        "choices": sequence(doc.get("choices")),
        "gold": gold if isinstance(gold, list) else [gold],
        "likelihoods": sequence(mapping(row.get("model_response")).get("logprobs")),
        "metrics": mapping(row.get("metric")),
        "fields": {**doc, **mapping(doc.get("specific")), "doc": doc},
    }


def _old(row: Mapping[str, Any]) -> dict[str, Any]:
    gold, predictions = row.get("gold_index"), sequence(row.get("predictions"))
    pairs = all(isinstance(pair, list) and len(pair) == 2 for pair in predictions)
    return {
        "id": "",
        "query": row.get("example"),
        "choices": sequence(row.get("choices")),
        "gold": gold if isinstance(gold, list) else [gold],
        "likelihoods": [pair[0] for pair in predictions] if pairs else [],
        "metrics": mapping(row.get("metrics")),
        "fields": row,
    }
