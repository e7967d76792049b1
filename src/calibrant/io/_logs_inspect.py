"""Logs of inspect_ai, ``.eval`` (a zip file) or ``.json``: the parts that calibration needs.

Probabilities are, in this order: the log-probabilities of a multiple-choice answer, if the model gave them; a
confidence in [0, 1] in the metadata of a score; or the proportion of epochs that gave each answer. Versions 1
and 2 of the log's schema are supported.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from calibrant._checks import shown
from calibrant.exceptions import FormatError, InputError
from calibrant.io._log_text import Members, head, mapping, sequence, value_of, whole
from calibrant.io._log_tokens import answered, chat_tokens
from calibrant.io._logs_harness import NoOptionsError, option_names
from calibrant.io.log_rows import Block, Collector, LeftOut
from calibrant.io.log_scores import SampleScore, cluster_of, digest, number_of, score_of
from calibrant.records.words import counted

Evidence = Literal["log-probabilities", "confidence", "epochs"]
VERSIONS = (1, 2)
VALUES = {"C": True, "I": False, 1: True, 0: False}
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
CONFIDENCE = ("confidence", "probability")
CONTRADICTION = "whose recorded value contradicts the answer and the target"
SHUFFLED = "Choices were shuffled before generating a response"
LARGEST = 1 << 31  # number of an epoch
Sample = dict[str, Any]


def holds(path: Path, first: Mapping[str, Any]) -> bool:
    """Return True if a file is a log; JSON files are recognized by their beginning."""
    if path.name.lower().endswith(".eval"):
        return True
    start = head(path)
    return b'"version"' in start and b'"eval"' in start


class InspectLog:
    """One log: a task of one model.

    Parameters
    ----------
    path
        The file.
    scorer
        Name of the scorer whose scores are read; None if there is one, or all agree.
    """

    def __init__(self, path: Path, scorer: str | None = None) -> None:
        self.path, self.scorer = path, scorer
        self._zipped = path.suffix == ".eval"
        head = self._head()
        version = head.get("version")
        if type(version) is not int or version not in VERSIONS or not isinstance(head.get("eval"), dict):
            message = f"version {shown(version)} of the log's schema"
            hint = "calibrant reads versions 1 and 2 of inspect_ai's logs; use inspect log convert"
            raise FormatError(message, hint, code="version", file=str(path))
        run = head["eval"]
        self.model = str(run.get("model", "model"))
        self.task = str(run.get("task", path.stem)).rsplit("/", 1)[-1]
        self.date = _in_utc(str(run.get("created", "")))
        epochs = [mapping(run.get("config")).get("epochs")]
        epochs += [mapping(sample).get("epoch") for sample in sequence(head.get("samples"))]
        self.repeats = max(map(_whole, epochs)) > 1
        self.status = str(head.get("status", "started"))
        self.unlisted = self.items = 0
        self.voted = False  # probabilities are proportions of votes
        self.listed = 0.0
        self.left_out = LeftOut("sample")

    @property
    def notes(self) -> list[str]:
        """Notes on the samples read so far."""
        notes = []
        if self.status != "success":
            notes.append(f"{self.task}: the run did not end well (its status is {shown(self.status)})")
        if self.items:
            notes.append(
                f"{self.task}: the log-probabilities listed for the options add up to "
                f"{self.listed / self.items:.3f} on average; not listed: {counted(self.unlisted, 'option')}"
            )
        if self.voted:
            notes.append(
                f"{self.task}: the probability of an option is its proportion of the answers over epochs, so "
                "that the accuracy is that of the majority's answer"
            )
        notes += [f"{self.task}: {note}" for note in self.left_out.notes()]
        return notes

    def _head(self) -> dict[str, Any]:
        if not self._zipped:
            content: dict[str, Any] = whole(self.path, dict)
            return content
        members = Members(self.path)
        try:
            for name in ("header.json", "_journal/start.json"):
                if name in members:
                    head = members.json(name)
                    return head if isinstance(head, dict) else {}
            shown_names = ", ".join(members.names[:5])
            message = f"no header in this zip file, only {shown_names or 'nothing'}"
            raise FormatError(message, "is this a log of inspect_ai?", code="log", file=str(self.path))
        finally:
            members.close()

    def _samples(self) -> Iterator[tuple[str, Sample]]:
        """Yield the samples that ended without an error, with names for messages; count the others."""
        self.left_out = LeftOut("sample")
        for where, sample in self._every():
            if not isinstance(sample, dict):
                message, hint = "no sample, but something else", "write the log again"
                raise FormatError(message, hint, code="log", file=where)
            if sample.get("error") or "id" not in sample:
                self.left_out.add("that ended with an error", _text(sample))
            else:
                yield where, sample

    def _every(self, *, scan: bool = False) -> Iterator[tuple[str, Any]]:
        """Yield all samples with names for messages, as `scanned` does with ``scan``."""
        if not self._zipped:
            for number, sample in enumerate(sequence(self._head().get("samples")), 1):
                yield f"{self.path}, sample {number}", sample
            return
        members = Members(self.path)
        try:
            for name in members.names:
                inside = name.startswith("samples/") and name.endswith(".json")
                if inside and (name.count("/") == 1 or name.endswith("/sample.json")):
                    yield f"{self.path}, {name}", (members.scanned if scan else members.json)(name)
        finally:
            members.close()

    def blocks(self) -> Iterator[Block]:
        """Read the samples that ended without an error."""
        evidence = self._evidence()
        self.unlisted = self.items = 0
        self.listed = 0.0
        if evidence == "epochs":
            yield from self._over_epochs()
            return
        collector, seen = Collector(), set()
        for where, sample in self._samples():
            cluster = f"{self.task}/{sample.get('id')}"
            epoch = _whole(sample.get("epoch"))
            item = f"{cluster}/{epoch}" if epoch != 1 else cluster
            if item in seen:
                message = f"sample {sample.get('id')} is listed twice"
                raise InputError(message, "write the log again", code="duplicate", file=where)
            seen.add(item)
            outcome = (self._options if evidence == "log-probabilities" else self._stated)(sample, where)
            if isinstance(outcome, str):
                self._leave_out(sample, outcome)
                continue
            self.left_out.read += 1
            names, values, gold = outcome
            subject = _subject(sample, self.task)
            collector.add(
                self.model, self.task, subject, item, names, values, gold, cluster=cluster, logs=False
            )
            yield from collector.take()
        yield from collector.take(1)

    def scores(self, cluster: str | None = None) -> Iterator[SampleScore]:
        """Yield the scores of each sample in each epoch: C, P, N and I as 1, 0.5, 0 and 0; numbers stay.

        The field of a cluster is one of the sample's metadata.
        """
        for where, sample in self._every(scan=True):
            item = value_of(sample, "id") if isinstance(sample, dict) else None
            if not isinstance(item, (int, str)):
                yield SampleScore(where.rsplit(", ", 1)[-1], problem="that is not a sample")
                continue
            name, metadata = str(item), mapping(value_of(sample, "metadata"))
            group, problem = cluster_of({"metadata": metadata} | metadata, cluster)
            if value_of(sample, "error"):
                problem = "that ended with an error"
            scores = _scores({"scores": value_of(sample, "scores")})
            if problem or not scores:
                yield SampleScore(name, problem=problem or "without scores")
                continue
            epoch = _whole(value_of(sample, "epoch"))
            choices = sequence(value_of(sample, "choices"))
            content = digest(repr(sorted(map(str, choices)) if choices else value_of(sample, "target")))
            prompt = digest(repr(value_of(sample, "input")))
            for scorer, score in scores.items():
                value = score.get("value")
                parts = {f"{scorer}.{key}": part for key, part in mapping(value).items()} or {scorer: value}
                for metric, part in parts.items():
                    yield SampleScore(name, metric, _grade(part), "", epoch, content, prompt, group)

    def aggregates(self) -> dict[str, float]:
        """Return the accuracy or mean of each scorer that the log states."""
        stated: dict[str, float] = {}
        for score in sequence(mapping(self._head().get("results")).get("scores")):
            score, metrics = mapping(score), mapping(mapping(score).get("metrics"))
            name, scorer = str(score.get("name")), str(score.get("scorer") or score.get("name"))
            if score.get("reducer") not in (None, "mean"):
                continue
            for metric in ("accuracy", "mean"):
                value = number_of(mapping(metrics.get(metric)).get("value"))
                if value is not None:
                    stated.setdefault(name if name == scorer else f"{scorer}.{name}", value)
        return stated

    def _evidence(self) -> Evidence:
        seen: Counter[str] = Counter()
        epochs = 0
        for _, sample in self._samples():
            epochs = max(epochs, _whole(sample.get("epoch")))
            if _logprobs(sample) is not None and sample.get("choices"):
                return "log-probabilities"
            stated = _scores(sample).values()
            if any(_is_number(_confidence(score)) and _right(score) is not None for score in stated):
                return "confidence"
            if sequence(sample.get("choices")) and any(map(_letter, _scores(sample).values())) and epochs > 1:
                return "epochs"
            seen["samples"] += 1
            seen["with log-probabilities"] += _logprobs(sample) is not None
            seen["with choices"] += bool(sample.get("choices"))
        if not seen:
            message, hint = "no sample was completed without an error", "run the evaluation again"
            raise InputError(message, hint, code="empty", file=str(self.path))
        counts = ", ".join(f"{count} {what}" for what, count in seen.items()) + f", {epochs or 1} epoch(s)"
        hint = (
            "calibration needs choices with log-probabilities "
            "(GenerateConfig(logprobs=True, top_logprobs=20)), a numeric confidence in the metadata of a "
            "score, or choices over several epochs"
        )
        message = f"task {self.task} has nothing to calibrate ({counts})"
        raise NoOptionsError(message, hint, code="log-scores", file=str(self.path))

    def _score(self, sample: Sample, where: str, *parts: str) -> dict[str, Any]:
        """Return the score of the scorer; of several scorers, those that recorded something must agree."""
        scores = _scores(sample)
        if self.scorer is not None:
            if scores and self.scorer not in scores:
                message = f"there is no scorer {self.scorer!r}"
                hint = f"the scorers are {', '.join(scores)}"
                raise InputError(message, hint, code="parameter", file=where)
            return scores.get(self.scorer, {})
        recorded = {name: [_part(score, part) for part in parts] for name, score in scores.items()}
        recorded = {
            name: values for name, values in recorded.items() if any(value is not None for value in values)
        }
        if any(values != first for first in [*recorded.values()][:1] for values in recorded.values()):
            message = f"the scorers {', '.join(recorded)} recorded different {parts[0]}s"
            hint = "choose one with `columns={'scorer': ...}`"
            raise InputError(message, hint, code="parameter", file=where)
        return scores[next(iter(recorded))] if recorded else {}

    def _leave_out(self, sample: Sample, reason: str) -> None:
        # The answer that a score recorded tells more than the text.
        letters = filter(None, map(_letter, _scores(sample).values()))
        self.left_out.add(reason, next(letters, _text(sample)))

    def _options(self, sample: Sample, where: str) -> tuple[list[str], list[float], list[int]] | str:
        if any(str(score.get("explanation")).startswith(SHUFFLED) for score in _scores(sample).values()):
            message = "the solver shuffled the choices, and the log does not map letters to choices"
            hint = "shuffle the choices of the data set instead"
            raise NoOptionsError(message, hint, code="log-scores", file=where)
        logprobs, names = _logprobs(sample), option_names(len(sequence(sample.get("choices"))))
        gold = _letters(sample.get("target"), names)
        if len(names) < 2 or not gold:
            message = f"the target {shown(sample.get('target'))} is not one of {len(names)} choices"
            raise InputError(message, "drop the sample or repair it", code="class-unknown", file=where)
        if logprobs is None:
            return "without log-probabilities"
        score = self._score(sample, where, "answer", "value")
        recorded = _letter(score)
        if score and recorded not in names:
            return "that gave no answer"
        if _contradicts(score, names, gold):
            return CONTRADICTION
        try:
            answer = answered(chat_tokens(logprobs), names, recorded=recorded, last=True)
        except (KeyError, TypeError, AttributeError) as error:
            message = "its log-probabilities are not as inspect_ai writes them"
            raise FormatError(message, "write the log again", code="log", file=where) from error
        except InputError as error:
            error.file = where
            raise
        if answer is None:
            return "whose recorded answer is not among the tokens"
        self.items += 1
        self.listed += answer.listed
        self.unlisted += answer.unlisted
        return names, answer.values, gold

    def _stated(self, sample: Sample, where: str) -> tuple[list[str], list[float], list[int]] | str:
        """Return one option: that the answer is right, with the stated confidence."""
        score = self._score(sample, where, "confidence", "value")
        value, right = _confidence(score), _right(score)
        names = option_names(len(sequence(sample.get("choices"))))
        if not _is_number(value):
            return (
                "that gave no confidence"
                if value is None
                else f"with the confidence {shown(value)}, no number"
            )
        if right is None:
            return f"with the value {shown(score.get('value'))}, which is neither right nor wrong"
        if _contradicts(score, names, _letters(sample.get("target"), names)):
            return CONTRADICTION
        if not 0 <= value <= 1:
            message = f"the confidence {value!r} is not a probability in [0, 1]"
            raise InputError(message, "divide percentages by 100, or drop it", code="score-range", file=where)
        return ["answer"], [float(value)], [0] if right else []

    def _over_epochs(self) -> Iterator[Block]:
        self.voted = True
        votes: dict[str, Counter[str]] = {}
        first: dict[str, Sample] = {}
        seen: set[tuple[str, Any]] = set()
        for where, sample in self._samples():
            key = str(sample.get("id"))
            epoch = (key, _whole(sample.get("epoch")))
            if epoch in seen:
                message = f"sample {key} is listed twice in one epoch"
                raise InputError(message, "write the log again", code="duplicate", file=where)
            seen.add(epoch)
            first.setdefault(key, {name: sample.get(name) for name in ("choices", "target", "metadata")})
            score = self._score(sample, where, "answer", "value")
            names = option_names(len(sequence(sample.get("choices"))))
            if _contradicts(score, names, _letters(sample.get("target"), names)):
                self._leave_out(sample, CONTRADICTION)
            else:
                votes.setdefault(key, Counter())[_letter(score) or ""] += 1
        collector = Collector()
        for key, counts in votes.items():
            names = option_names(len(sequence(first[key].get("choices"))))
            gold = _letters(first[key].get("target"), names)
            if not gold or not any(counts[name] for name in names):
                self.left_out.add("that gave no answer in any epoch" if gold else "without a right choice")
                continue
            self.left_out.read += 1
            shares = [counts[name] / counts.total() for name in names]
            subject = _subject(first[key], self.task)
            collector.add(
                self.model, self.task, subject, f"{self.task}/{key}", names, shares, gold, logs=False
            )
        yield from collector.take(1)


def _in_utc(time: str) -> str:
    """Return a time in UTC, so that the later of two is the larger text; any other text as it is."""
    with suppress(ValueError, OverflowError):
        time = datetime.fromisoformat(time).astimezone(UTC).isoformat()
    return time


def _logprobs(sample: Sample) -> dict[str, Any] | None:
    choices = sequence(mapping(sample.get("output")).get("choices"))
    logprobs = mapping(mapping(choices[0]).get("logprobs")) if choices else {}
    return logprobs if logprobs.get("content") else None


def _scores(sample: Sample) -> dict[str, dict[str, Any]]:
    scores = mapping(sample.get("scores"))
    return {name: score for name, score in scores.items() if isinstance(score, dict)}


def _text(sample: Sample) -> str:
    choices = sequence(mapping(sample.get("output")).get("choices"))
    text = mapping(mapping(choices[0]).get("message")).get("content") if choices else ""
    return text if isinstance(text, str) else ""


def _part(score: dict[str, Any], part: str) -> Any:
    """Return what a score recorded; an answer only if it is a letter."""
    if part == "answer":
        return _letter(score)
    return _confidence(score) if part == "confidence" else score.get(part)


def _letter(score: dict[str, Any]) -> str | None:
    """Return the one letter that was scored as answer."""
    answer = score.get("answer")
    return answer.strip() if isinstance(answer, str) and len(answer.strip()) == 1 else None


def _right(score: dict[str, Any]) -> bool | None:
    """Return True for a right answer, False for a wrong one, and None for any other value."""
    value = score.get("value")
    return VALUES.get(value) if isinstance(value, (str, int, float)) else None


def _contradicts(score: dict[str, Any], names: list[str], gold: list[int]) -> bool:
    """Return True if the one right option was scored as wrong, or another option as right."""
    answer, right = _letter(score), _right(score)
    if answer not in names or right is None or len(gold) != 1:
        return False
    return right != (names.index(answer) == gold[0])


def _grade(value: Any) -> float:
    """Return a score as inspect_ai itself converts it to a number; NaN for what it does not know."""
    if isinstance(value, str):
        grade = GRADES.get(value, GRADES.get(value.lower()) if len(value) > 1 else None)
        with suppress(ValueError):
            return float(value) if grade is None else grade
        return math.nan
    return score_of(value)


def _confidence(score: dict[str, Any]) -> Any:
    """Return the confidence that a score states; a number in a text as a number."""
    stated = (mapping(score.get("metadata")).get(key) for key in CONFIDENCE)
    value = next((entry for entry in stated if entry is not None), None)
    with suppress(ValueError):
        return float(value) if isinstance(value, str) else value
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _whole(value: Any) -> int:
    return (
        value if isinstance(value, int) and abs(value) < LARGEST else 1
    )  # the log of one epoch may state none


def _letters(target: Any, names: list[str]) -> list[int]:
    texts = target if isinstance(target, list) else [target]
    letters = [part.strip() for text in texts for part in str(text).split(",")]
    places = [names.index(letter) for letter in letters if letter in names]
    return places if len(places) == len(letters) else []


def _subject(sample: Sample, task: str) -> str:
    subject = mapping(sample.get("metadata")).get("subject")
    return subject if isinstance(subject, str) and subject else task
