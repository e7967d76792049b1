"""Which column of a table is which, and what a table notes about itself."""

from __future__ import annotations

from typing import Literal

from calibrant.exceptions import FormatError, InputError
from calibrant.io.readers import Columns
from calibrant.io.tables import THRESHOLD_KEY, Table, listed, one_role_each

Form = Literal["long", "wide"]
TOKEN, REFERENCE = "token", "reference"
TOKEN_SCORES = ("logprob", "score", "probability")


def resolve(
    table: Table, form: Form | None, score: str | None, label: str | None, named: dict[str, str | None]
) -> tuple[Columns, tuple[str, ...]]:
    """Decide what each column is; return the columns and, of a wide table, the classes.

    A ``label`` of None asks for none.
    """
    there = table.columns
    wide = {prefix: [name for name in there if name.startswith(prefix)] for prefix in ("p_", "logit_")}
    found = wide["p_"] + wide["logit_"]
    score_name = score or "score"
    if form is None and score is None and "score" in there and found:
        raise InputError(
            f"the columns fit a long table (score) and a wide one ({found[0]}, ...)",
            "say which: `form='long'` or `form='wide'`",
            code="column-ambiguous",
            file=table.name,
        )
    if form is None:
        form = "wide" if score is None and "score" not in there and found else "long"
    columns = Columns(label="" if label is None else _there(table, label, "label"))
    optional = {part: _optional(table, part, name) for part, name in named.items()}
    columns.cluster, columns.item, columns.weight = optional["cluster"], optional["item"], optional["weight"]
    if form == "long":
        columns.score = _there(table, score_name, "score")
        columns.class_column = optional["class"]
        roles = {"score": columns.score, "label": columns.label, **optional}
        one_role_each(table.name, {role: name for role, name in roles.items() if name})
        return columns, ()
    if wide["p_"] and wide["logit_"]:
        hint = "keep one kind of column"
        raise InputError("there are p_ and logit_ columns", hint, code="column-ambiguous", file=table.name)
    if len(found) < 2:
        hint = f"write one p_<class> column a class, two or more; the columns are {', '.join(there)}"
        raise InputError("no wide table", hint, code="column-missing", file=table.name)
    for name in found:
        _there(table, name, "label")
        if not name.split("_", 1)[1]:
            hint = "name the class after the underscore"
            raise InputError("the class has no name", hint, code="column", file=table.name, column=name)
    columns.logits = bool(wide["logit_"])
    columns.class_scores = tuple(found)
    return columns, tuple(name.split("_", 1)[1] for name in found)


def _there(table: Table, name: str, part: str) -> str:
    if table.columns.count(name) > 1:
        raise InputError("the name is used twice", "rename one", code="column", file=table.name, column=name)
    if name in table.columns:
        return name
    if len(table.columns) == 1 and ";" in table.columns[0]:
        hint = "write the file with commas between fields and points in decimals, or as .tsv with tabs"
        raise InputError("fields end with semicolons", hint, code="column-missing", file=table.name)
    raise InputError(
        f"there is no column {name!r}",
        f"name it with {part}= (--{part}); the columns are {listed(table.columns)}{_no_log(table.name)}",
        code="column-missing",
        file=table.name,
    )


def _no_log(name: str) -> str:
    """What to add of a file that could be a log."""
    if not name.lower().endswith((".jsonl", ".jsonl.gz")):
        return ""
    from calibrant.io._log_formats import KNOWN

    return f"; nor is this a log that is known: {KNOWN}"


def _optional(table: Table, part: str, name: str | None) -> str | None:
    if name is None:
        if part not in table.columns:
            return None
        name = part
    return _there(table, name, part)


def threshold_of(table: Table) -> float | None:
    """Return the threshold that a table notes, or None."""
    text = table.metadata.get(THRESHOLD_KEY)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        message = f"the noted threshold {text.decode('utf-8', 'replace')!r} is not a number in [0, 1)"
        raise FormatError(message, "write the table again", file=table.name)
    return value


def has_tokens(table: Table) -> bool:
    """Whether a table has the columns of a log of tokens, and no labels of its own."""
    there = table.columns
    return (
        {TOKEN, REFERENCE} <= set(there)
        and "label" not in there
        and any(name in there for name in TOKEN_SCORES)
    )
