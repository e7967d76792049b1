"""Answers of chat and completion interfaces in OpenAI's format, one per line, with the most likely tokens.

A line is a response (``choices[0].logprobs``, or ``output`` of the Responses interface), or a line of the
Batch interface's output, which wraps one in ``response.body``. Responses of text-generation-inference
(``details.tokens``) and of Gemini (``candidates[].logprobsResult``) are read as well.

The right answer is in the same line (``answer``, ``label``, ``target`` or ``gold``, also
in the metadata of the response), or in a table by ``custom_id`` or ``id``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from calibrant._checks import shown
from calibrant.exceptions import FormatError, InputError
from calibrant.io._log_text import lines, mapping, sequence
from calibrant.io._log_tokens import Answered, answered, chat_tokens, completion_tokens
from calibrant.io._logs_harness import NoOptionsError
from calibrant.io.log_rows import Block, Collector, LeftOut
from calibrant.io.log_scores import SampleScore, cluster_of
from calibrant.records.words import counted

GOLD = ("answer", "label", "target", "gold")
RESPONSE = {
    "choices",
    "response",
    "error",
    "output",
    "generated_text",
    "candidates",
}  # one of these every line has, that of a failure too
MOST_OPTIONS = 50


def response_of(line: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the response that a line holds, in the form of chat completions; None where it holds none.

    Examples
    --------
    >>> response_of({"custom_id": "1", "response": {"body": {"choices": []}}})
    {'choices': []}
    >>> content = [{"type": "output_text", "text": "A"}]
    >>> response_of({"object": "response", "output": [{"content": content}]})["choices"]
    [{'message': {'content': 'A'}, 'logprobs': {'content': []}}]
    """
    value: Any = line
    for key in ("response", "body"):
        if isinstance(value, dict) and _choices(value) is None and isinstance(value.get(key), dict):
            value = value[key]
    choices = _choices(value) if isinstance(value, dict) else None
    return None if choices is None else {**value, "choices": choices}


def _choices(value: Mapping[str, Any]) -> list[Any] | None:
    """Return the choices of a response of OpenAI, of text-generation-inference, or of Gemini."""
    if isinstance(value.get("choices"), list):
        return sequence(value["choices"])
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        if value.get("status") in ("failed", "cancelled"):
            return None
        parts = [mapping(part) for item in value["output"] for part in sequence(mapping(item).get("content"))]
        tokens = [token for part in parts for token in sequence(part.get("logprobs"))]
        return [_choice("".join(_text_of(part) for part in parts), tokens)]
    if isinstance(value.get("generated_text"), str):
        details = mapping(value.get("details"))
        tokens, tops = sequence(details.get("tokens")), sequence(details.get("top_tokens"))
        return [_choice(value["generated_text"], _tokens(tokens, tops, "text", "logprob"))]
    candidates = sequence(value.get("candidates"))
    if candidates and all(isinstance(one, dict) for one in candidates):
        choices = []
        for candidate in candidates:
            parts = sequence(mapping(candidate.get("content")).get("parts"))
            listed = mapping(candidate.get("logprobsResult"))
            tops = [mapping(top).get("candidates") for top in sequence(listed.get("topCandidates"))]
            tokens = _tokens(sequence(listed.get("chosenCandidates")), tops, "token", "logProbability")
            text = "".join(_text_of(mapping(part)) for part in parts)
            choices.append(_choice(text or "".join(token["token"] for token in tokens), tokens))
        return choices
    return None


def _choice(text: str, tokens: list[Any]) -> dict[str, Any]:
    return {"message": {"content": text}, "logprobs": {"content": tokens}}


def _text_of(part: Mapping[str, Any]) -> str:
    return part["text"] if isinstance(part.get("text"), str) else ""


def _tokens(tokens: list[Any], tops: list[Any], name: str, value: str) -> list[dict[str, Any]]:
    """Return tokens with other names of their fields as those of chat completions."""

    def renamed(token: Any) -> dict[str, Any]:
        return {"token": str(mapping(token).get(name, "")), "logprob": mapping(token).get(value)}

    tops = [*tops, *[None] * (len(tokens) - len(tops))]
    return [
        {**renamed(token), "top_logprobs": [renamed(one) for one in sequence(top)]}
        for token, top in zip(tokens, tops, strict=False)
    ]


def holds(path: Path, first: Mapping[str, Any]) -> bool:
    """Return True if a file of JSON lines contains responses: their choices are objects, not texts."""
    response = response_of(first)
    if response is None:  # the first request of the Batch interface may have failed
        return "custom_id" in first and isinstance(first.get("response") or first.get("error"), dict)
    return all(isinstance(choice, dict) for choice in response["choices"])


class AnswerLog:
    """A file of responses.

    Parameters
    ----------
    path
        The file.
    gold
        Right answers by ``custom_id`` or ``id``; None if they are in the lines.
    """

    def __init__(self, path: Path, gold: Mapping[str, str] | None = None) -> None:
        self.path = path
        self.task = path.name.removesuffix(".gz").removesuffix(".jsonl")
        self.task_from_name = True
        self.date = ""
        self._gold = gold
        self._options: list[str] | None = None
        self.items = self.unlisted = 0
        self.listed = 0.0
        self.left_out = LeftOut("response")
        self._several = ""  # reason with the first such response
        self._first = ""
        first = next((response for _, _, response, _ in self._responses() if response), None) or {}
        self.model = str(first.get("model") or first.get("modelVersion") or "model")

    @property
    def notes(self) -> list[str]:
        """Notes on the responses read so far."""
        notes = [f"options: {', '.join(self._options)}"] if self._options else []
        if self.items:
            notes.append(
                f"the log-probabilities listed for the options add up to {self.listed / self.items:.3f} on "
                f"average; not listed: {counted(self.unlisted, 'option')}"
            )
        notes += self.left_out.notes()
        return notes

    def _responses(self) -> Iterator[tuple[int, dict[str, Any], dict[str, Any] | None, str]]:
        for number, line in lines(self.path):
            response = response_of(line)
            names = (line.get("custom_id"), line.get("id"), line.get("key"), (response or {}).get("id"))
            name = next((name for name in names if name not in (None, "")), number)
            yield number, line, response, str(name)

    def _right(self, line: Mapping[str, Any], response: Mapping[str, Any], name: str, number: int) -> str:
        if self._gold is not None:
            if name not in self._gold:
                message = f"there is no right answer for {shown(name)}"
                raise self._error(message, "add it to the table of answers", "missing-value", number)
            return self._gold[name].strip()
        for place in (line, line.get("metadata"), response.get("metadata")):
            for key in GOLD:
                if isinstance(place, Mapping) and isinstance(place.get(key), (str, int)):
                    return str(place[key]).strip()
        keys = ", ".join(list(line)[:12])
        table = "give a table of answers (`columns={'gold': ...}`)"
        hint = f"write it as {' or '.join(GOLD)} into the line, or {table}"
        raise self._error(f"there is no right answer, only {keys}", hint, "column-missing", number)

    def _check_model(self, response: Mapping[str, Any], number: int) -> None:
        if (model := str(response.get("model") or response.get("modelVersion") or self.model)) != self.model:
            message = f"a response of {shown(model)}, after those of {shown(self.model)}"
            raise self._error(message, "write the responses of each model to a file", "parameter", number)

    def _all_options(self) -> list[str]:
        answers: set[str] = set()  # where no line lists options, they are the different right answers
        for number, line, response, name in self._responses():
            if response is not None and not sequence(line.get("options")):
                answers.add(self._right(line, response, name, number))
            if len(answers) > MOST_OPTIONS:
                hint = "list the possible answers of each line in its key options"
                message = f"more than {MOST_OPTIONS} different right answers are too many to be options"
                raise NoOptionsError(message, hint, code="log-scores", file=str(self.path), line=number)
        return sorted(answers)

    def scores(self, cluster: str | None = None) -> Iterator[SampleScore]:
        """Yield 1 for each answer that equals the right one, apart from blanks at the ends, and else 0.

        Several choices of a response are its runs. The field of a cluster is one of the line or its metadata.
        """
        missing: InputError | None = None
        scored = False
        for number, line, response, name in self._responses():
            group, problem = cluster_of(mapping(line.get("metadata")) | line, cluster)
            if problem or response is None:
                yield SampleScore(name, problem="that failed" if response is None else problem)
                continue
            self._check_model(response, number)
            try:
                right = self._right(line, response, name, number)
            except InputError as error:
                missing = missing or error
                yield SampleScore(name, problem="without a right answer")
                continue
            for run, choice in enumerate(response["choices"], 1):
                message = mapping(mapping(choice).get("message"))
                text = message.get("content") or mapping(choice).get("text")
                if not isinstance(text, str) and not message.get("refusal"):
                    yield SampleScore(name, problem="without a text")
                    continue
                same = isinstance(text, str) and text.strip() == right
                scored = True
                yield SampleScore(name, "exact_match", float(same), "", run, cluster=group)
        if missing is not None and not scored:
            raise missing

    def aggregates(self) -> dict[str, float]:
        """Return nothing: responses state no mean."""
        return {}

    def blocks(self) -> Iterator[Block]:
        """Read the responses."""
        if self._options is None:
            self._options = self._all_options()
        self.items = self.unlisted = 0
        self.listed = 0.0
        self.left_out = LeftOut("response")
        collector, seen = Collector(), set()
        for number, line, response, name in self._responses():
            if name in seen:
                raise self._error(f"{shown(name)} is listed twice", "keep one response", "duplicate", number)
            seen.add(name)
            options = [str(option).strip() for option in sequence(line.get("options")) or self._options]
            if response is None and not line.keys() & RESPONSE:
                keys = ", ".join(list(line)[:12])
                hint = "write the responses as they came, one per line"
                raise self._error(f"no response, only {keys}", hint, "log", number)
            if response and ("" in options or len(set(options)) < max(2, len(options))):
                message = f"the options are {', '.join(options[:8])}"
                hint = "list at least two different options, and no empty one"
                raise self._error(message, hint, "duplicate" if options[1:] else "log-scores", number)
            answer = None if response is None else self._answered(response, options, number)
            if response is None:
                self.left_out.add("that failed")
                continue
            if answer is None:
                self._leave_out(response)
                continue
            if len(answer.named) > 1:
                several = f"with several tokens that are different options, such as {shown(name)}"
                self._several = self._several or f"{several} ({', '.join(answer.named[:8])})"
                self.left_out.add(self._several)
                continue
            right = self._right(line, response, name, number)
            if right not in options:
                message = f"the right answer {shown(right)} is not among the options {', '.join(options[:8])}"
                raise self._error(message, "repair one of them", "class-unknown", number)
            self.items += 1
            self.left_out.read += 1
            self.listed += answer.listed
            self.unlisted += answer.unlisted
            task, subject = str(line.get("task") or self.task), str(line.get("subject") or self.task)
            self._check_model(response, number)
            place = [options.index(right)]
            collector.add(self.model, task, subject, name, options, answer.values, place, logs=False)
            yield from collector.take()
        if not self.items:
            self._nothing()
        yield from collector.take(1)

    def _leave_out(self, response: Mapping[str, Any]) -> None:
        """Count a response whose tokens are no option, or have no log-probabilities."""
        choice = mapping((sequence(response.get("choices")) or [None])[0])
        logprobs = mapping(choice.get("logprobs"))
        tokens = sequence(logprobs.get("content")) or sequence(logprobs.get("tokens"))
        text = mapping(choice.get("message")).get("content") or choice.get("text") or ""
        if not text and logprobs.get("content"):
            text = "".join(str(mapping(token).get("token")) for token in tokens)
        self.left_out.add("that gave no option" if tokens else "without log-probabilities", str(text))

    def _answered(self, response: Mapping[str, Any], options: list[str], number: int) -> Answered | None:
        choices = response["choices"]
        logprobs = choices[0].get("logprobs") if choices and isinstance(choices[0], dict) else None
        if not isinstance(logprobs, dict):
            return None
        try:
            tokens = (completion_tokens if "tokens" in logprobs else chat_tokens)(logprobs)
            self._first = self._first or next((token for token, _, _ in tokens), "")
            return answered(tokens, options)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, InputError):
                error.file, error.line = str(self.path), number
                raise
            message = "the log-probabilities are not as the interface writes them"
            raise self._error(message, "write the responses as they came", "log", number) from error

    def _nothing(self) -> None:
        options = " " + ", ".join(self._options[:8]) if self._options else ""
        message = f"no response has log-probabilities at a token that is one of the options{options}"
        hint = "ask chat completions for logprobs and top_logprobs, and for an answer of one token"
        if self._several:
            several = next(note for note in self.left_out.notes() if note.endswith(self._several))
            message, hint = f"nothing to read; {several}", "ask for answers that are only the option"
        elif self._first:
            message += f"; the first token is {shown(self._first)}"
            hint = "ask for an answer that is one of the options, as a single token"
        raise NoOptionsError(message, hint, code="log-scores", file=str(self.path))

    def _error(self, message: str, hint: str, code: str, line: int) -> InputError:
        kind = FormatError if code == "log" else InputError
        return kind(message, hint, code=code, file=str(self.path), line=line)
