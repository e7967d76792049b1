"""A lazy frame on a cluster that loses a worker in the middle of a query has the tally of memory."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from calibrant.metrics.tally import Tally
from calibrant.verbs import tally

PARTS = 6


@pytest.mark.slow
def test_a_worker_that_is_killed_in_a_query_changes_no_count(cluster: Any, tmp_path: Path) -> None:
    dask, distributed = import_module("dask.dataframe"), import_module("distributed")
    signs = str(tmp_path)

    def part(number: int) -> Any:
        """Some pairs; the later parts wait until a worker is lost."""
        import numpy
        import pandas

        draw = numpy.random.default_rng(number)
        score = draw.random(2_000) ** 3
        Path(signs, f"begun-{number}").touch()
        while number >= 2 and not Path(signs, "go").exists():
            time.sleep(0.02)
        return pandas.DataFrame({"score": score, "label": (draw.random(2_000) < score).astype(int)})

    Path(signs, "go").touch()
    pairs = [part(number) for number in range(PARTS)]
    expected = Tally.from_arrays(
        y_true=np.concatenate([frame["label"] for frame in pairs]),
        y_prob=np.concatenate([frame["score"] for frame in pairs]),
        exact=False,
    )
    for sign in tmp_path.iterdir():
        sign.unlink()

    def lose() -> None:
        while len(list(tmp_path.glob("begun-*"))) < 2:  # workers may begin with parts that wait
            time.sleep(0.02)
        cluster.replace_worker()
        (tmp_path / "go").touch()

    loser = Thread(target=lose)
    loser.start()
    with distributed.Client(cluster.address):
        found = tally(dask.from_map(part, range(PARTS), meta=pairs[0]))
    loser.join()
    np.testing.assert_array_equal(found.n, expected.n)
    np.testing.assert_array_equal(found.positives, expected.positives)
    np.testing.assert_allclose(found.sum_score, expected.sum_score, rtol=1e-12)
