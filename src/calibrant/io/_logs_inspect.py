"""Logs of inspect_ai, ``.eval`` (a zip file) or ``.json``: the parts that calibration needs.

Probabilities are, in this order: the log-probabilities of a multiple-choice answer, if the model gave them; a
confidence in [0, 1] in the metadata of a score; or the proportion of epochs that gave each answer. Versions 1
and 2 of the log's schema are supported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from calibrant._checks import shown
from calibrant.exceptions import FormatError, InputError
from calibrant.io._log_text import Members, mapping, opened, sequence, whole
from calibrant.io._log_tokens import answered, chat_tokens
from calibrant.io._logs_harness import NoOptionsError, option_names
from calibrant.io.log_rows import Block, Collector
from calibrant.records.words import counted

Evidence = Literal["log-probabilities", "confidence", "epochs"]
VERSIONS = (1, 2)
HEAD = 1 << 16
VALUES = {"C": True, "I": False, 1: True, 0: False}
CONFIDENCE = ("confidence", "probability")
SHUFFLED = "Choices were shuffled before generating a response"
Sample = dict[str, Any]


def holds(path: Path, first: Mapping[str, Any]) -> bool:
    """Return True if a file is a log; JSON files are recognized by their beginning."""
    if path.name.lower().endswith(".eval"):
        return True
    with opened(path) as stream:
        head = stream.read(HEAD)
    return b'"version"' in head and b'"eval"' in head


class InspectLog:
    """One log: a task of one model.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    FormatError
        It is broken, or of a version that is not known.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
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
        self.unlisted = self.items = self.unused = self.failed = 0
        self.listed = 0.0

    @property
    def notes(self) -> list[str]:
        """Notes on the samples read so far."""
        found = []
        if self.status != "success":
            found.append(f"{self.task}: the run did not end well (its status is {shown(self.status)})")
        if self.items:
            found.append(
                f"{self.task}: the log-probabilities listed for the options add up to "
                f"{self.listed / self.items:.3f} on average; not listed: {counted(self.unlisted, 'option')}"
            )
        if self.unused:
            found.append(f"{self.task}: left out: {counted(self.unused, 'sample')} that gave no answer")
        if self.failed:
            found.append(f"{self.task}: left out: {counted(self.failed, 'sample')} that ended with an error")
        return found

    def _head(self) -> dict[str, Any]:
        if not self._zipped:
            found: dict[str, Any] = whole(self.path, dict)
            return found
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
        """Samples that ended well, each with its name for errors."""
        self.failed = 0
        for where, sample in self._every():
            if not isinstance(sample, dict):
                message, hint = "no sample, but something else", "write the log again"
                raise FormatError(message, hint, code="log", file=where)
            if sample.get("error") or "id" not in sample:
                self.failed += 1
            else:
                yield where, sample

    def _every(self) -> Iterator[tuple[str, Any]]:
        if not self._zipped:
            for number, sample in enumerate(sequence(self._head().get("samples")), 1):
                yield f"{self.path}, sample {number}", sample
            return
        members = Members(self.path)
        try:
            for name in members.names:
                inside = name.startswith("samples/") and name.endswith(".json")
                if inside and (name.count("/") == 1 or name.endswith("/sample.json")):
                    yield f"{self.path}, {name}", members.json(name)
        finally:
            members.close()

    def blocks(self) -> Iterator[Block]:
        """Read the samples that ended without an error.

        Raises
        ------
        NoOptionsError
            Nothing in the log speaks of calibration.
        InputError
            With the sample, for a log-probability that is not a number of at most 0, or a repeated sample.
        """
        evidence = self._evidence()
        self.unlisted = self.items = self.unused = 0
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
            found = (self._options if evidence == "log-probabilities" else _stated)(sample, where)
            if found is None:
                self.unused += 1
                continue
            names, values, gold = found
            subject = _subject(sample, self.task)
            collector.add(
                self.model, self.task, subject, item, names, values, gold, cluster=cluster, logs=False
            )
            yield from collector.take()
        yield from collector.take(1)

    def _evidence(self) -> Evidence:
        seen: Counter[str] = Counter()
        epochs = 0
        for _, sample in self._samples():
            epochs = max(epochs, _whole(sample.get("epoch")))
            if _logprobs(sample) is not None and sample.get("choices"):
                return "log-probabilities"
            if _confidence(sample) is not None:
                return "confidence"
            if sequence(sample.get("choices")) and _answer(sample) and epochs > 1:
                return "epochs"
            seen["samples"] += 1
            seen["with log-probabilities"] += _logprobs(sample) is not None
            seen["with choices"] += bool(sample.get("choices"))
        if not seen:
            message, hint = "no sample was completed without an error", "run the evaluation again"
            raise InputError(message, hint, code="empty", file=str(self.path))
        there = ", ".join(f"{count} {what}" for what, count in seen.items()) + f", {epochs or 1} epoch(s)"
        hint = (
            "calibration needs choices with log-probabilities "
            "(GenerateConfig(logprobs=True, top_logprobs=20)), a numeric confidence in the metadata of a "
            "score, or choices over several epochs"
        )
        message = f"task {self.task} has nothing to calibrate ({there})"
        raise NoOptionsError(message, hint, code="log-scores", file=str(self.path))

    def _options(self, sample: Sample, where: str) -> tuple[list[str], list[float], list[int]] | None:
        if any(str(score.get("explanation")).startswith(SHUFFLED) for score in _scores(sample)):
            message = "the solver shuffled the choices, and the log does not map letters to choices"
            hint = "shuffle the choices of the data set instead"
            raise NoOptionsError(message, hint, code="log-scores", file=where)
        logprobs, names = _logprobs(sample), option_names(len(sequence(sample.get("choices"))))
        gold = _letters(sample.get("target"), names)
        if len(names) < 2 or not gold:
            message = f"the target {shown(sample.get('target'))} is not one of {len(names)} choices"
            raise InputError(message, "drop the sample or repair it", code="class-unknown", file=where)
        try:
            found = None if logprobs is None else answered(chat_tokens(logprobs), names, last=True)
        except (KeyError, TypeError, AttributeError) as error:
            message = "its log-probabilities are not as inspect_ai writes them"
            raise FormatError(message, "write the log again", code="log", file=where) from error
        except InputError as error:
            error.file = where
            raise
        if found is None:
            return None
        self.items += 1
        self.listed += found.listed
        self.unlisted += found.unlisted
        return names, found.values, gold

    def _over_epochs(self) -> Iterator[Block]:
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
            votes.setdefault(key, Counter())[_answer(sample) or ""] += 1
        collector = Collector()
        for key, counts in votes.items():
            names = option_names(len(sequence(first[key].get("choices"))))
            gold = _letters(first[key].get("target"), names)
            total = sum(counts[name] for name in names)
            if not total or not gold:
                self.unused += 1
                continue
            shares = [counts[name] / total for name in names]
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
    found = mapping(mapping(choices[0]).get("logprobs")) if choices else {}
    return found if found.get("content") else None


def _scores(sample: Sample) -> list[dict[str, Any]]:
    return [each for each in mapping(sample.get("scores")).values() if isinstance(each, dict)]


def _answer(sample: Sample) -> str | None:
    """The one letter that was scored as answer."""
    for score in _scores(sample):
        answer = score.get("answer")
        if isinstance(answer, str) and len(answer.strip()) == 1:
            return answer.strip()
    return None


def _confidence(sample: Sample) -> tuple[float, bool] | None:
    for score in _scores(sample):
        for key in CONFIDENCE:
            value = mapping(score.get("metadata")).get(key)
            right = score.get("value")
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                continue
            if isinstance(right, (str, int, float)) and right in VALUES:
                return value, VALUES[right]
    return None


def _stated(sample: Sample, where: str) -> tuple[list[str], list[float], list[int]] | None:
    """A single option: that the answer is right, with the confidence that was stated."""
    found = _confidence(sample)
    if found is None:
        return None
    value, right = found
    if not 0 <= value <= 1:
        message = f"the confidence {value!r} is not a probability in [0, 1]"
        raise InputError(message, "divide percentages by 100, or drop it", code="score-range", file=where)
    return ["answer"], [float(value)], [0] if right else []


def _whole(value: Any) -> int:
    """A number of epochs; 1 where there is none."""
    return value if isinstance(value, int) else 1


def _letters(target: Any, names: list[str]) -> list[int]:
    texts = target if isinstance(target, list) else [target]
    letters = [part.strip() for text in texts for part in str(text).split(",")]
    places = [names.index(letter) for letter in letters if letter in names]
    return places if len(places) == len(letters) else []


def _subject(sample: Sample, task: str) -> str:
    subject = mapping(sample.get("metadata")).get("subject")
    return subject if isinstance(subject, str) and subject else task
