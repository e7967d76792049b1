"""Sample logs of lm-evaluation-harness: multiple-choice tasks, with the log-likelihood of each option.

A file ``samples_TASK_DATE.jsonl`` contains one sample per line. The file ``results_DATE.json`` in the same
folder contains the model, the groups of tasks and their titles. Fields are as in the releases 0.4.0 to
0.4.13, whose keys differ little: numbers became texts, and ``filter`` and ``metrics`` were added.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from calibrant._checks import shown
from calibrant.exceptions import FormatError, InputError
from calibrant.io._log_text import lines, mapping, scanned, sequence, value_of, whole
from calibrant.io.log_rows import Block, Collector, Normalise
from calibrant.io.log_scores import SampleScore, cluster_of, digest, number_of, score_of

Mode = Literal["position", "text", "accuracy"]
NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl(\.gz)?")
KEYS = ("doc_id", "doc", "target", "arguments", "filtered_resps")
KNOWN = "0.4.0 to 0.5"
RELEASES = re.compile(r"0\.[45](\..*)?")
METRICS: dict[str, Normalise] = {"acc": "none", "acc_norm": "characters", "acc_bytes": "bytes"}
OTHERS = (*KEYS, "resps", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash", "idx")
PEEK = 500
ROUNDING = 1e-3  # log-likelihoods summed in half precision may end a little above 0


def holds(path: Path, first: Mapping[str, Any]) -> bool:
    """Return True if a file of JSON lines contains samples, by its name or its keys."""
    return bool(NAME.fullmatch(path.name)) or {"doc_id", "filtered_resps"} <= first.keys()


class NoOptionsError(InputError):
    """The samples of a task have no log-likelihoods of options, or cannot be told which option is right."""


@dataclass(frozen=True)
class Run:
    """Content of a results file.

    Attributes
    ----------
    model
        Its name.
    groups
        The outermost group of each task that has one.
    titles
        The title of each task that has one.
    means
        The entries of each task's results, by metric and filter.
    """

    model: str
    groups: Mapping[str, str]
    titles: Mapping[str, str]
    means: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """One sample: what is needed of it.

    Attributes
    ----------
    line
        Line of the sample.
    id
        ``doc_id``.
    values
        Log-likelihood of each option.
    texts
        Text of each option.
    target
        As logged.
    metric, accuracy
        The logged metric that shows which option is right: ``acc``, or that of the normalization. The
        accuracy is None where none was logged.
    top
        Position of the option that is likeliest for the metric.
    """

    line: int
    id: str
    values: list[float]
    texts: list[str]
    target: Any
    metric: str
    accuracy: Any
    top: int


class HarnessLog:
    """One file of samples: a task of one model.

    Parameters
    ----------
    path
        The file.
    normalise
        Divide log-likelihoods by the options' lengths in ``characters`` (as ``acc_norm`` does) or ``bytes``.
    """

    def __init__(self, path: Path, normalise: Normalise = "none") -> None:
        self.path = path
        self.normalise = normalise
        own = [name for name, normal in METRICS.items() if normal == normalise]
        self._metrics = [*own, *(name for name in METRICS if name not in own)]
        match = NAME.fullmatch(path.name)
        self.task = match["task"] if match else path.name.removesuffix(".gz").removesuffix(".jsonl")
        self.task_from_name = match is None
        self.date = match["date"] if match else ""
        self.run = run_of(path, self.task, self.date)
        self._mode: Mode | None = None

    @property
    def model(self) -> str:
        """The model's name."""
        return self.run.model

    def blocks(self) -> Iterator[Block]:
        """Read the samples; where several filters were applied, those of the first."""
        mode = self._mode = self._mode or self._target_mode()
        collector = Collector()
        seen: set[str] = set()
        group = self.run.groups.get(self.task, self.task)
        title = self.run.titles.get(self.task, self.task)
        for sample in self._samples():
            if sample.id in seen:
                message, hint = f"sample {sample.id} is listed twice", "keep one run per file"
                raise self._error(message, hint, "duplicate", sample.line)
            seen.add(sample.id)
            gold = self._gold(sample, mode)
            values = self._scaled(sample.values, sample.texts, self.normalise, sample.line)
            names = option_names(len(values))
            collector.add(self.model, group, title, f"{self.task}/{sample.id}", names, values, gold)
            yield from collector.take()
        yield from collector.take(1)

    def scores(self, cluster: str | None = None) -> Iterator[SampleScore]:
        """Yield the metrics of each sample, by filter; the field of a cluster is one of its ``doc``."""
        for number, line in scanned(self.path):
            item = value_of(line, "doc_id")
            if not isinstance(item, (int, str)):
                yield SampleScore(f"line {number}", problem="that is not a sample")
                continue
            name, doc = str(item), {} if cluster is None else mapping(value_of(line, "doc"))
            group, problem = cluster_of({"doc": doc} | doc, cluster)
            listed = value_of(line, "metrics")
            metrics = listed if isinstance(listed, list) else [key for key in line if key not in OTHERS]
            if problem or not metrics:
                yield SampleScore(name, problem=problem or "without metrics")
                continue
            kind = str(value_of(line, "filter") or "none")
            content, prompt = digest(value_of(line, "doc_hash")), digest(value_of(line, "prompt_hash"))
            for metric in metrics:
                value = score_of(value_of(line, str(metric)))
                yield SampleScore(name, str(metric), value, kind, 1, content, prompt, group)

    def aggregates(self) -> dict[str, float]:
        """Return the harness's own mean of each metric and filter, from the results file."""
        means = self.run.means.get(self.task, {})
        return {key: value for key, value in means.items() if number_of(value) is not None}

    def _samples(self) -> Iterator[Sample]:
        chosen: str | None = None
        for number, line in lines(self.path):
            missing = [key for key in KEYS if key not in line]
            if missing:
                keys = ", ".join(list(line)[:12])
                message = f"no {missing[0]!r} in this sample, only {keys}"
                raise self._error(message, f"calibrant reads logs of lm_eval {KNOWN}", "log", number)
            name = str(line.get("filter", ""))
            chosen = name if chosen is None else chosen
            if name == chosen:
                yield self._sample(line, number)

    def _sample(self, line: dict[str, Any], number: int) -> Sample:
        answers = line["filtered_resps"]
        if not isinstance(answers, list) or not answers:
            raise self._no_options(number, "its samples have no responses")
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in answers):
            raise self._no_options(number, "its samples are texts or perplexities without log-likelihoods")
        texts = self._texts(line["arguments"], number)
        if len(texts) != len(answers):
            message = f"{len(answers)} responses to {len(texts)} requests"
            raise self._error(message, "write the log again", "log", number)
        # For acc_mutual_info the options are asked once more without a question: after the others, or (before
        # 0.4.9) each after its own.
        asked = [place for place, (context, _) in enumerate(texts) if context]
        if 0 < 2 * len(asked) == len(texts):
            answers, texts = [answers[place] for place in asked], [texts[place] for place in asked]
        if len(answers) < 2:
            raise self._no_options(number, "its samples have one option each")
        options = [option for _, option in texts]
        if len(set(options)) == 1:
            options = [context for context, _ in texts]
        values = [self._number(pair[0], place, number) for place, pair in enumerate(answers)]
        if max(values) == float("-inf"):
            message = "every option has the log-likelihood minus infinity"
            raise self._error(message, "drop the sample", "score-range", number)
        metric = next((name for name in self._metrics if line.get(name) in (0, 1)), self._metrics[0])
        scaled = self._scaled(values, options, METRICS[metric], number)
        top = max(range(len(scaled)), key=scaled.__getitem__)
        return Sample(
            number, str(line["doc_id"]), values, options, line["target"], metric, line.get(metric), top
        )

    def _texts(self, arguments: Any, number: int) -> list[tuple[str, str]]:
        if isinstance(arguments, dict):
            requests = [
                tuple(request.values()) if isinstance(request, dict) else () for request in arguments.values()
            ]
        else:
            requests = [
                tuple(request) if isinstance(request, list) else () for request in sequence(arguments)
            ]
        if not all(len(request) == 2 for request in requests):
            raise self._no_options(number, "its requests are not pairs of a context and an option")
        return [(str(context), str(option)) for context, option in requests]

    def _number(self, value: Any, place: int, number: int) -> float:
        try:
            likelihood = float("nan") if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            likelihood = float("nan")
        if not likelihood <= ROUNDING:
            message = f"the log-likelihood {shown(value)} of option {place + 1} is not a number of at most 0"
            raise self._error(message, "drop the sample or repair it", "score-range", number)
        return likelihood

    def _scaled(
        self, values: list[float], texts: Sequence[str], normalise: Normalise, line: int
    ) -> list[float]:
        """Return log-likelihoods divided by the lengths of their options."""
        if normalise == "none":
            return values
        # The option as the task has it: the delimiter before it is one blank, unless told otherwise.
        plain = [text.removeprefix(" ") for text in texts]
        lengths = [len(text if normalise == "characters" else text.encode()) for text in plain]
        if not all(lengths):
            if normalise != self.normalise:
                return values
            raise self._error("an option is empty", "leave `normalise` out", "parameter", line)
        return [value / length for value, length in zip(values, lengths, strict=True)]

    def _target_mode(self) -> Mode:
        """Return the mode by which most of the first targets can be read."""
        first = list(islice(self._samples(), PEEK))
        modes: tuple[Mode, ...] = ("position", "text")
        # The metric shows the answer too; it is used only if some targets cannot be read.
        alone = (replace(sample, accuracy=None) for sample in first)
        if any(all(_gold_of(sample, mode) is None for mode in modes) for sample in alone):
            modes = (*modes, "accuracy")
        good = Counter({mode: sum(_gold_of(sample, mode) is not None for sample in first) for mode in modes})
        best, count = good.most_common(1)[0]
        if 2 * count > len(first):
            self._check_one_reading(first, good)
            return best
        if not first:
            raise self._no_options(1, "its file is empty")
        worst = next(sample for sample in first if _gold_of(sample, best) is None)
        why = f"the target {shown(worst.target)} is not one of {len(worst.texts)} options"
        if worst.accuracy is not None:
            why += f" for which the metric {worst.metric} is {shown(worst.accuracy)}"
        raise self._no_options(worst.line, why)

    def _check_one_reading(self, samples: Sequence[Sample], good: Mapping[Mode, int]) -> None:
        """Raise if the targets are positions and texts of different options."""
        if good["position"] != good["text"]:
            return
        for sample in samples:
            position, text = (_gold_of(sample, mode) for mode in ("position", "text"))
            if position is not None and text is not None and position != text:
                message = (
                    f"the target {shown(sample.target)} is the position of option {position[0] + 1} and the "
                    f"text of option {text[0] + 1}"
                )
                hint = "log the metric acc, which shows which of the two is meant"
                raise self._error(message, hint, "class-unknown", sample.line)

    def _gold(self, sample: Sample, mode: Mode) -> list[int]:
        gold = _gold_of(sample, mode)
        if gold is not None:
            return gold
        if _gold_of(replace(sample, accuracy=None), mode) is not None:
            message = (
                f"the target is {shown(sample.target)} but the metric {sample.metric} is "
                f"{shown(sample.accuracy)}, and the likeliest option is number {sample.top}"
            )
            raise self._error(message, "the task scores in another way", "label-value", sample.line)
        message = f"the target {shown(sample.target)} is not one of its {len(sample.texts)} options"
        raise self._error(message, "drop the sample or repair it", "class-unknown", sample.line)

    def _no_options(self, line: int, why: str) -> NoOptionsError:
        hint = "calibration needs the log-likelihoods of options, which only multiple-choice tasks have"
        message = f"task {self.task}: {why}"
        return NoOptionsError(message, hint, code="log-scores", file=str(self.path), line=line)

    def _error(self, message: str, hint: str, code: str, line: int) -> InputError:
        kind = FormatError if code == "log" else InputError
        return kind(message, hint, code=code, file=str(self.path), line=line)


def option_names(count: int) -> list[str]:
    """Name options by letters, and from the 27th on by numbers.

    Examples
    --------
    >>> option_names(3)
    ['A', 'B', 'C']
    """
    return [chr(65 + place) if place < 26 else str(place + 1) for place in range(count)]


def _gold_of(sample: Sample, mode: Mode) -> list[int] | None:
    """Return the positions of the right options as a mode reads the target; None if it cannot."""
    if mode == "position":
        gold = _positions(sample.target)
    elif mode == "text":
        texts = [text.strip() for text in sample.texts]
        target = str(sample.target).strip()
        gold = [texts.index(target)] if texts.count(target) == 1 else []
    elif len(sample.values) == 2 and sample.accuracy in (0, 1):
        return [sample.top if sample.accuracy else 1 - sample.top]
    else:
        return None
    if not gold or not all(0 <= place < len(sample.values) for place in gold):
        return None
    right = sample.top in gold
    return gold if sample.accuracy is None or sample.accuracy == right else None


def _positions(target: Any) -> list[int]:
    if isinstance(target, str):
        try:
            target = json.loads(target)
        except (ValueError, RecursionError):
            return []
    places = target if isinstance(target, list) else [target]
    good = all(isinstance(place, int) and not isinstance(place, bool) for place in places)
    return places if good else []


def run_of(path: Path, task: str, date: str) -> Run:
    """Return the results file of a samples file: that of the same date, else one that contains the task."""
    same = path.with_name(f"results_{date}.json")
    if date and same.is_file():
        return _run(whole(same, dict), same)
    others = () if date else sorted(path.parent.glob("results*.json"), reverse=True)
    for results in (path.with_name("results.json"), *others):
        content = whole(results, dict) if results.is_file() else {}
        if task in mapping(content.get("results")) or task in mapping(content.get("configs")):
            return _run(content, results)
    return Run(path.absolute().parent.name or "model", {}, {})  # the harness makes one folder per model


def _run(content: dict[str, Any], path: Path) -> Run:
    version = str(content.get("lm_eval_version", "0.4"))
    if not RELEASES.fullmatch(version):
        message = f"written by lm_eval {shown(version)}"
        hint = f"calibrant reads logs of lm_eval {KNOWN}"
        raise FormatError(message, hint, code="version", file=str(path))
    config = mapping(content.get("config"))
    arguments = config.get("model_args")
    if isinstance(arguments, dict):
        arguments = arguments.get("pretrained") or arguments.get("model")
    elif isinstance(arguments, str):
        named = re.search(r"(?:^|,)(?:pretrained|model)=([^,]+)", arguments)
        arguments = named[1] if named else None
    model = content.get("model_name") or arguments or config.get("model") or path.absolute().parent.name
    subtasks = mapping(content.get("group_subtasks"))
    inside = {group: sequence(tasks) for group, tasks in subtasks.items() if sequence(tasks)}
    results = {**mapping(content.get("results")), **mapping(content.get("groups"))}
    titles = {
        str(task): str(entry["alias"]).strip(" -") or str(task)
        for task, entry in results.items()
        if isinstance(entry, dict) and entry.get("alias")
    }
    groups = {task: _outermost(task, inside) for task in titles if task not in inside}
    means = {task: entry for task, entry in results.items() if isinstance(entry, dict)}
    return Run(str(model), {task: group for task, group in groups.items() if group}, titles, means)


def _outermost(task: str, inside: Mapping[str, Sequence[str]]) -> str:
    """Return the outermost group of a task; empty for a task without a group."""
    outer, name = "", task
    for _ in range(len(inside)):
        above = next((group for group, tasks in inside.items() if name in tasks), None)
        if above is None:
            break
        outer = name = above
    return outer
