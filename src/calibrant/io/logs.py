"""Logs of evaluations, read as prediction tables: language models' answers with the probabilities of options.

`open_predictions` reads them too; here are the recognition, and the choices that only logs have.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from calibrant.exceptions import FormatError
from calibrant.io._log_table import LogTable
from calibrant.io._logs_harness import NoOptionsError
from calibrant.io.log_formats import KNOWN, LogKind, recognise_log
from calibrant.io.log_rows import Normalise, View
from calibrant.io.opening import Columns, predictions_of
from calibrant.io.predictions import Predictions

__all__ = ["LogKind", "NoOptionsError", "open_log", "recognise_log"]


def open_log(
    path: str | os.PathLike[str],
    *,
    view: View = "options",
    model: str | None = None,
    log_format: str | None = None,
    normalise: Normalise = "none",
    gold: Mapping[str, str] | None = None,
    scorer: str | None = None,
    allow_dropped: bool = False,
) -> Predictions:
    """Open a log, or a folder of logs, as a long table of predictions.

    Columns: ``model``, ``task``, ``subject``, ``item``, ``class`` (the option), ``score`` and ``label``.
    The scores of an item are a softmax over its options.

    Parameters
    ----------
    path
        Samples of lm-evaluation-harness, a log of inspect_ai, details of lighteval, responses in OpenAI's
        format, or a folder of one of these.
    view
        ``"options"``: one row per option. ``"top"``: one row per item, with its largest score and label 1 if
        that option is right.
    model
        For a folder: read only the logs of this model.
    log_format
        Format, if it is not to be recognized: ``lm-eval``, ``inspect``, ``openai``, ``lighteval`` or one of
        another package.
    normalise
        ``"characters"`` or ``"bytes"``: log-likelihoods divided by the lengths of the options, whose largest
        is what ``acc_norm`` and ``acc_bytes`` of lm-evaluation-harness score. ``"none"``: as ``acc``.
    gold
        The right answer of each response by its ``custom_id`` or ``id``, where the lines do not say.
    scorer
        For inspect_ai: the scorer whose scores are read, if several disagree.
    allow_dropped
        Leave out samples that cannot be read, also if they are more than 5 %, or one has an answer.

    Returns
    -------
    Predictions
        Nothing but heads has been read yet.

    Raises
    ------
    FormatError
        If it is not a supported log or version; the message names what it contains.
    NoOptionsError
        While reading, if the log contains no probabilities of answers.
    InputError
        While reading; the error names the file, the line and the problem.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> tops = [{"token": "A", "logprob": -0.2}, {"token": "B", "logprob": -2.0}]
    >>> content = [{"token": "A", "logprob": -0.2, "top_logprobs": tops}]
    >>> line = {"answer": "A", "options": ["A", "B"], "choices": [{"logprobs": {"content": content}}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "answers.jsonl")
    ...     _ = file.write_text(json.dumps(line))
    ...     open_log(file).read().score.round(3).tolist()
    [0.858, 0.142]
    """
    kind = recognise_log(path, log_format)
    if kind is None:
        message = "the file is not a supported log"
        raise FormatError(message, f"supported logs are {KNOWN}", code="log", file=os.fspath(path))
    table = LogTable(
        path,
        kind,
        view=view,
        normalise=normalise,
        gold=gold,
        scorer=scorer,
        allow_dropped=allow_dropped,
    )
    table = table if model is None else table.of_model(model)
    return predictions_of(table, Columns(), log=table if view == "options" else None)
