"""Limits of each ratio: a column of the table of bars."""

from __future__ import annotations

import re

# The first pattern found in a bar's text names what limits it.
LIMITS = (
    (r"^skewed.*(np\.sort|read pass)", "cuts that fall in ties of 10 and 30 % of the pairs: one more pass"),
    (
        r"15 bins: time / np\.sort",
        "the key of a score and the increment of a table, pair by pair, in two passes",
    ),
    (r"15 bins: time / read pass", "the same arithmetic; bool labels are quicker to read, ours take as long"),
    (
        r"bins: time / (np\.sort|read pass)",
        "caches: the table of key ranges and the sums of the bins outgrow them",
    ),
    (r"bins: extra memory", "the table of key ranges, and the pairs in rows where an edge falls"),
    (r"15 bins of equal mass: fastest peer", "the peer's one sort against our two passes"),
    (r"default interval", "one group-by of the pairs by cluster, which both sides need"),
    (r"Algorithm 2", "drawing the normals"),
    (r"measure --exact", "three readings of the file"),
    (r"^measure.*without clusters", "codes of the names, and sums by cluster and bin"),
    (r"^measure.*clusters: peak memory", "the pairs twice: as read, and in the order of their clusters"),
    (r"^measure.*time / reading", "decoding Parquet, which the reference does too; the tally is the rest"),
    (r"measure.*memory", "a batch of the file for each thread"),
    (r"2,000 rows of CSV", "importing numpy, pyarrow and scipy.special; for the report also Matplotlib"),
    (r"^import|--help", "starting the interpreter; importing click"),
    (r"^(first|next) call", "nothing: a count of notices"),
    (r"CRF marginals: python-crfsuite", "the peer's Python call for each tag at each token"),
    (r"CRF marginals: CRFsuite", "multiplications of 45 x 45 tables, one per token"),
    (r"HMM marginals", "the same multiplications, in compiled code on both sides"),
    (
        r"one processor / two$|CRF marginals: one processor",
        "a call of 40 ms: starting threads takes what they save",
    ),
    (r"^marginals: largest difference", "rounding"),
    (r"time / single-tag marginals", "47 x 47 probabilities a token, each added to a table"),
    (r"pairs of 47 tags.*memory", "one batch of sentences and the tallies by sentence"),
    (r"features", "strings: hashing and looking up each attribute"),
    (r"histogram.*largest difference", "position of a cut between two scores"),
    (r"isotonic: largest difference", "rounding"),
    (
        r"largest difference from (betacal|netcal|scikit-learn|uncertainty)",
        "where the peer's optimizer stops, and its penalty",
    ),
    (r"histogram binning.*netcal / ours", "selection of the cuts: two passes"),
    (r"isotonic: scikit-learn / ours", "one tally of the pairs; the fit itself is on its rows"),
    (
        r"(Platt|temperature|beta calibration): fastest peer",
        "one tally; the optimizer's steps are over its rows",
    ),
    (r"Venn-Abers of a compressed tally: time", "the tally"),
    (r"Venn-Abers.*error", "rows of the grid, in which the order of scores is lost"),
    (r"exact Venn-Abers: venn-abers", "one sort"),
    (r"exact Venn-Abers: largest", "rounding"),
    (r"^apply.*time", "writing Parquet, which the reference does too"),
    (r"^apply.*memory", "a batch read and a batch written"),
    (r"exact pair matrix", "n cubed over six multiplications, against 1,000 draws"),
    (r"NetworkX / ours", "the peer's Python objects"),
    (r"mentions, exact pairs tallied", "one row of pairs at a time"),
    (r"texts a second", "features of pairs of mentions"),
    (r"further memory", "nothing is kept of a text that is done"),
    (r"training on GUM", "features are made once; then gradients over them"),
    (r"explorer: first page", "DuckDB's sums over the store"),
    (r"explorer: 95th", "one document read from its Parquet part"),
    (r"^rules over", "trees are walked once a document, not once a sample"),
    (
        r"in files, kernel",
        "decoding Parquet; the kernel takes the rest, and the reference uses both processors too",
    ),
    (r"in files, DuckDB", "decoding Parquet in DuckDB, and making Arrow batches of its vectors"),
    (r"^judge.*seconds", "reading names of prompts, and one table of answers per pair of systems"),
    (r"^threshold.*seconds", "reading, and one sort of the scores"),
    (r"^threshold.*memory", "the scores, and what they are sorted by"),
    (r"^estimate.*seconds", "reading the names of documents and finding the labeled ones"),
    (r"^regress.*seconds", "reading, and two copies of the covariates"),
    (r"^regress.*memory", "two copies of the covariates"),
    (r"^regress, naive", "rounding"),
    (r"^agree.*seconds", "starting the interpreter, and importing"),
    (r"^parse predict", "features of all pairs of words"),
    (r"parsed stories, each", "coreference: scores of pairs of mentions"),
    (r"parsed stories: memory", "one part of the store"),
    (r"raw stories", "each process loads the parser (3 s); three processes on two processors"),
    (
        r"two processes / two Dask",
        "leader, scheduler and workers share two processors; documents go over TCP",
    ),
    (r"one process / two", "the leading process, which reads and writes"),
    (r"fraction of the leading process", "reading documents and sending them"),
    (r"memory of the leading process", "names of tasks and parts"),
)


def limit_of(bar: str) -> str:
    """Return the limit of the bar of this name.

    Raises
    ------
    KeyError
        If no pattern names it: every bar says what limits it.
    """
    for pattern, limit in LIMITS:
        if re.search(pattern, bar):
            return limit
    raise KeyError(bar)
