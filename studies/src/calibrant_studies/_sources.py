"""Where a study's data come from, as its page says: a command that fetches them, or whom to ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from calibrant_studies.datasets._catalogue import NAMES, DataSet, data_set, needed_by

# Corpora of the papers that the LDC (www.ldc.upenn.edu) distributes, by the option that takes their folder.
LICENSED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "ontonotes": (
        "CoNLL-2011 or CoNLL-2012 with the words filled in (OntoNotes, LDC2013T19, and the annotation of the "
        "shared task)",
        ("coreference", "tagging"),
    ),
    "ptb": ("the Penn Treebank (LDC99T42)", ("tagging",)),
    "nyt": ("the New York Times Annotated Corpus (LDC2008T19)", ("events",)),
}
PARSED = ("coreference", "events", "sparse")  # studies that use the parser
SHIPPED = ("trees",)  # studies that use the English models
GUIDE = "../guide/data_sets.md"


def source_lines(study: str) -> str:
    """Say where a study's data come from, in Markdown.

    Examples
    --------
    >>> print(source_lines("synthetic"))
    The study reads no data set: all of its data are simulated.
    >>> print(source_lines("counts").splitlines()[-1])
    - `--data PATH` names the folder that has a folder for each data set; ...
    """
    needed = [data_set(name) for name in needed_by(study)]
    if not needed:
        return "The study reads no data set: all of its data are simulated."
    optional = [data_set(name) for name in NAMES if study in data_set(name).optional_for]
    return "\n".join(["The [data sets](" + GUIDE + "):", "", *_lines(study, needed, optional)])


def _lines(study: str, needed: list[DataSet], optional: list[DataSet]) -> Iterator[str]:
    for each in needed:
        yield f"- `{each.name}`: {_how(each)}"
    for each in optional:
        yield f"- `{each.name}`, read if it is there: {_how(each)}"
    if study in PARSED:
        link = f"{GUIDE}#models-that-are-trained-on-them"
        yield (
            f"- The parser `en_ud_ewt_gum`: [`calibrant data train`]({link}) trains it on `ud-english-ewt` "
            "and `ud-english-gum`; `CALIBRANT_MODELS` names its folder."
        )
    if study in SHIPPED:
        yield "- The models of `calibrant-english`: `pip install 'calibrant[events]'`."
    for option, (corpus, studies) in LICENSED.items():
        if study in studies:
            yield f"- If you have {corpus}, `calibrant study {study} --{option} PATH` runs on it alone."
    yield (
        "- `--data PATH` names the folder that has a folder for each data set; without it, the study looks "
        "where `calibrant data where` says."
    )


def _how(about: DataSet) -> str:
    title = about.title.rstrip(".")
    if not about.ask:
        return f"{title}. `calibrant data fetch {about.name}`."
    ask = " ".join(about.ask.split()).replace("<", "&lt;")
    return f"{title}. It cannot be fetched. {ask}"
