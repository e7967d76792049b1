"""Errors by slice: what is adjusted holds, what is shrunken is not inflated, what is planted is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import betainc, expit, logit, ndtri
from scipy.stats import beta

from calibrant.exceptions import InputError
from calibrant.metrics import calibration_error, slice_errors
from calibrant.metrics.slices import SignedError, SquaredError, shrunken, shrunken_positive
from calibrant.metrics.tally import Tally
from tests.quantities import defined

QUADRATURE = np.clip(beta.ppf((np.arange(4000) + 0.5) / 4000, 0.5, 0.5), 1e-12, 1 - 1e-12)


def tally(random: np.random.Generator, n: int, shift: float = 0.0, slope: float = 1.0) -> Tally:
    """Pairs whose logits are off by a shift and a slope."""
    q = np.clip(random.beta(0.5, 0.5, n), 1e-12, 1 - 1e-12)
    return Tally.from_arrays(y_true=random.random(n) < expit(slope * logit(q) + shift), y_prob=q)


def truth(shift: float, slope: float) -> tuple[float, float]:
    """The signed and the squared error of such a model."""
    gap = QUADRATURE - expit(slope * logit(QUADRATURE) + shift)
    return float(gap.mean()), float((gap**2).mean())


class World:
    """Many slices, some of them bad, with their true errors."""

    def __init__(self, random: np.random.Generator, sizes: list[int], bad: float, spread: float) -> None:
        count = len(sizes)
        chosen = random.random(count) < bad
        shift = np.where(chosen, random.normal(0, spread, count), 0)
        slope = np.where(chosen, np.exp(random.normal(0, 0.3, count)), 1)
        self.tallies = {(f"{i}",): tally(random, sizes[i], shift[i], slope[i]) for i in range(count)}
        self.truth = np.array([truth(*each) for each in zip(shift, slope, strict=True)])

    def of(self, found: Any, measure: str) -> tuple[list[Any], np.ndarray[Any, Any]]:
        """Estimates and truths of one error, row by row."""
        column = ("signed", "squared").index(measure)
        rows = [row for row in found.slices if row.reason is None]
        return [getattr(row, measure) for row in rows], self.truth[[int(row.keys[0]) for row in rows], column]


class Record:
    """Results of repeated simulations, for one of the two errors."""

    def __init__(self) -> None:
        self.any_miss: list[bool] = []
        self.missed_of_found: list[float] = []
        self.raw_bias: list[float] = []
        self.shrunken_bias: list[float] = []
        self.raw_loss: list[float] = []
        self.shrunken_loss: list[float] = []

    def add(self, estimates: list[Any], truths: np.ndarray[Any, Any], signed: bool) -> None:
        def missed(each: Any, value: float) -> bool:
            return each.low is not None and not each.low - 1e-9 <= value <= each.high + 1e-9

        misses = [missed(each, value) for each, value in zip(estimates, truths, strict=True)]
        found = [each.found for each in estimates]
        self.any_miss.append(any(misses))
        wrong = sum(miss and hit for miss, hit in zip(misses, found, strict=True))
        self.missed_of_found.append(wrong / max(1, sum(found)))
        raw = np.array([each.estimate for each in estimates])
        shrunk = np.array([each.shrunken.estimate for each in estimates])
        for values, bias in ((raw, self.raw_bias), (shrunk, self.shrunken_bias)):
            place = int(np.argmax(np.abs(values) if signed else values))
            side = np.sign(values[place]) if signed else 1
            bias.append(float(side * (values[place] - truths[place])))
        self.raw_loss.append(float(np.mean((raw - truths) ** 2)))
        self.shrunken_loss.append(float(np.mean((shrunk - truths) ** 2)))


def simulated(
    repeats: int, sizes: list[int], bad: float, spread: float, adjust: Any, seed: int
) -> dict[str, Record]:
    random = np.random.default_rng(seed)
    records = {"signed": Record(), "squared": Record()}
    for _ in range(repeats):
        world = World(random, sizes, bad, spread)
        found = slice_errors(world.tallies, level=0.9, adjust=adjust)
        for measure, record in records.items():
            record.add(*world.of(found, measure), measure == "signed")
    return records


# By simulation.


def at_most(share: float, repeats: int) -> float:
    """Return the bound that a fraction of repeats exceeds with a probability of 0.001."""
    return share + 3.1 * float(np.sqrt(share * (1 - share) / repeats))


def test_simultaneous_intervals_hold_together() -> None:
    records = simulated(20, [60, 150, 400] * 8, 0.3, 0.6, "simultaneous", seed=1)
    for record in records.values():
        assert np.mean(record.any_miss) <= at_most(0.1, 20)


@pytest.mark.slow
def test_of_the_slices_found_a_share_of_intervals_misses_at_most() -> None:
    records = simulated(20, [100, 400] * 12, 0.3, 0.8, "fcr", seed=2)
    for record in records.values():
        assert np.mean(record.missed_of_found) <= 0.1


@pytest.mark.slow
def test_the_worst_slice_is_flattered_raw_and_not_when_shrunken() -> None:
    records = simulated(25, [100, 400] * 15, 1.0, 0.3, "none", seed=3)
    for record in records.values():
        error = np.std(record.raw_bias) / 5
        assert np.mean(record.raw_bias) > 3 * error
        assert abs(np.mean(record.shrunken_bias)) < 0.4 * np.mean(record.raw_bias)
        assert np.mean(record.shrunken_loss) < 0.9 * np.mean(record.raw_loss)


@pytest.mark.slow
@pytest.mark.parametrize("bad", [0.0, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("adjust", ["simultaneous", "fcr"])
def test_what_is_adjusted_holds_among_two_hundred_slices(bad: float, adjust: str) -> None:
    records = simulated(60, [60, 150, 400, 1000] * 50, bad, 0.6, adjust, seed=4)
    for record in records.values():
        if adjust == "simultaneous":
            assert np.mean(record.any_miss) <= at_most(0.1, 60)
        error = np.std(record.missed_of_found) / 60**0.5
        assert np.mean(record.missed_of_found) <= 0.1 + 2 * error
        assert np.mean(record.shrunken_loss) < np.mean(record.raw_loss)


def test_bad_slices_among_hundreds_are_found_and_come_first() -> None:
    random = np.random.default_rng(5)
    tallies = {(f"good {i}",): tally(random, 300) for i in range(200)}
    tallies |= {(f"bad {i}",): tally(random, 300, shift=-1.5) for i in range(5)}
    ways: list[tuple[Any, Any, int]] = [("simultaneous", "error", 1), ("fcr", "signed", 3)]
    for adjust, rank, most in ways:
        found = slice_errors(tallies, adjust=adjust, rank=rank)
        assert {row.slice[:3] for row in found.slices[:5]} == {"bad"}
        assert {row.slice for row in found.slices[:5]} <= {row.slice for row in found.found()}
        assert sum(row.slice.startswith("good") for row in found.found()) <= most


def test_clusters_widen_intervals_and_keep_calibrated_slices_from_being_found() -> None:
    random = np.random.default_rng(6)
    alone, clustered = {}, {}
    for place in range(40):
        q = np.repeat(random.uniform(0.3, 0.7, 40), 10)
        y = np.repeat(random.random(40), 10) < q  # ten pairs share a draw
        alone[(f"{place}",)] = Tally.from_arrays(y_true=y, y_prob=q)
        clustered[(f"{place}",)] = Tally.from_arrays(
            y_true=y, y_prob=q, clusters=np.repeat(np.arange(40), 10)
        )
    assert len(slice_errors(alone, rank="signed").found()) > 6
    ranks: list[Any] = ["error", "signed"]
    for rank in ranks:
        assert len(slice_errors(clustered, rank=rank).found()) <= 1
    assert slice_errors(clustered).slices[0].clusters == 40


# By definition.


def test_estimates_are_those_of_the_whole_library() -> None:
    random = np.random.default_rng(7)
    q = random.random(500)
    y = random.random(500) < q**2
    row = slice_errors({("a",): Tally.from_arrays(y_true=y, y_prob=q)}).slices[0]
    assert row.signed.estimate == pytest.approx(q.mean() - y.mean())
    assert row.signed.standard_error == pytest.approx(np.std(q - y, ddof=1) / 500**0.5, rel=0.1)
    assert row.error.estimate == pytest.approx(calibration_error(y, q).estimate)
    assert (row.n, row.positives) == (500, y.sum())
    assert [row.mean_score, row.frequency] == pytest.approx([q.mean(), y.mean()])


@pytest.mark.parametrize("adjust", ["simultaneous", "fcr", "none"])
def test_levels_of_intervals_are_those_of_the_adjustment(adjust: Any) -> None:
    random = np.random.default_rng(8)
    tallies = {(f"{i}",): tally(random, 400, shift=0.15 * (i % 4)) for i in range(12)}
    found = slice_errors(tallies, adjust=adjust)
    chosen = [row for row in found.slices if row.signed.found]
    assert 0 < len(chosen) < 12
    level = {"simultaneous": 1 - 0.05 / 12, "fcr": 1 - 0.05 * len(chosen) / 12, "none": 0.95}[adjust]
    for row in found.slices:
        wanted = SignedError.of(tallies[(str(row.keys[0]),)]).interval(level)
        given = [row.signed.low, row.signed.high]
        if adjust == "fcr" and not row.signed.found:
            assert given == [None, None]
            assert row.signed.reason is not None
        else:
            assert given == pytest.approx(wanted)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_an_interval_of_the_signed_error_leaves_out_zero_where_its_test_rejects(level: float) -> None:
    random = np.random.default_rng(9)
    for _ in range(50):
        error = SignedError.of(tally(random, int(random.integers(30, 300)), shift=random.normal(0, 1)))
        low, high = error.interval(level)
        assert (low > 0 or high < 0) == (error.p_value < 1 - level)
        assert error.mean_score - 1 <= low <= error.estimate <= high <= error.mean_score


def test_equal_scores_get_the_binomial_test() -> None:
    tallied = Tally.from_arrays(y_true=[1] + [0] * 39, y_prob=[0.2] * 40)
    error = SignedError.of(tallied)
    assert error.binomial_n == pytest.approx(40)
    exact = 2 * betainc(39, 2, 0.8)
    assert error.p_value == pytest.approx(exact)


def test_the_squared_error_excludes_zero_exactly_where_the_test_rejects() -> None:
    random = np.random.default_rng(10)
    seen = set()
    for _ in range(60):
        error = SquaredError.of(tally(random, 300, shift=random.normal(0, 0.5)))
        assert isinstance(error, SquaredError)
        low, high = error.interval(0.95)
        assert (low > 0) == (defined(error.p_value) < 0.05)
        assert low <= error.estimate <= high
        seen.add(low > 0)
    assert seen == {True, False}


def test_shrinkage_goes_to_the_mean_without_spread_and_nowhere_without_noise() -> None:
    random = np.random.default_rng(11)
    noise = random.normal(0, 1, 400)
    flat = shrunken(3 + noise, np.ones(400))
    assert flat.mean == pytest.approx(3, abs=0.15)
    assert np.ptp(flat.estimate) < 0.5 * np.ptp(noise)
    values = random.normal(0, 1, 50)
    assert shrunken(values, np.full(50, 1e-8)).estimate == pytest.approx(values, abs=1e-3)


def test_shrinkage_of_normal_truths_is_that_of_the_normal_model() -> None:
    random = np.random.default_rng(12)
    variance = random.uniform(0.5, 2, 2000)
    truths = random.normal(5, 1, 2000)
    values = truths + random.normal(0, variance**0.5)
    found = shrunken(values, variance)
    best = 5 + (values - 5) / (1 + variance)
    assert found.spread == pytest.approx(1, abs=0.1)
    assert np.mean((found.estimate - best) ** 2) < 0.01


def test_shrinkage_of_positive_truths_is_that_of_their_distribution() -> None:
    random = np.random.default_rng(13)
    truths = random.gamma(0.5, 0.01, 2000)
    slope = np.full(2000, 1e-3)
    variance = np.full(2000, 2e-6)
    values = truths + random.normal(0, (variance + slope * truths) ** 0.5)
    found = shrunken_positive(values, variance, slope, np.zeros(2000))
    assert found.mean == pytest.approx(0.005, rel=0.15)
    assert found.spread == pytest.approx(0.5**0.5 * 0.01, rel=0.25)
    assert (found.estimate >= 0).all()
    best = np.argsort(-found.estimate)[:40]
    assert abs((found.estimate - truths)[best].mean()) < 0.25 * (values - truths)[best].mean() + 5e-4
    assert np.mean((found.estimate - truths) ** 2) < 0.85 * np.mean((values - truths) ** 2)


def test_the_order_of_slices_changes_nothing() -> None:
    random = np.random.default_rng(14)
    tallies: dict[Any, Tally] = {(f"{i}", None if i % 2 else "x"): tally(random, 50) for i in range(20)}
    turned = dict(reversed(tallies.items()))
    assert slice_errors(tallies).to_json() == slice_errors(turned).to_json()


# Edges.


def test_small_slices_get_a_reason_and_do_not_count_as_comparisons() -> None:
    random = np.random.default_rng(15)
    tallies = {(name,): tally(random, n) for name, n in (("a", 400), ("b", 12), ("c", 1))}
    found = slice_errors(tallies)
    assert [row.reason for row in found.slices] == [None, "12 pairs, fewer than 30", "1 pair, fewer than 30"]
    assert found.measured == 1
    assert found.slices[1].signed.estimate is None
    assert found.slices[0].signed.low == SignedError.of(tallies[("a",)]).interval(0.95)[0]
    few = Tally.from_arrays(y_true=[0, 1] * 20, y_prob=[0.5] * 40, clusters=[1, 2] * 20)
    assert slice_errors({("a",): few}).slices[0].reason == "2 clusters, fewer than 5"


def test_all_slices_may_be_too_small() -> None:
    random = np.random.default_rng(16)
    found = slice_errors({(name,): tally(random, 9) for name in "ab"})
    assert found.measured == 0
    assert len(found.slices) == 2
    assert found.signed.mean is None
    assert found.signed.reason


def test_few_slices_are_not_shrunken() -> None:
    random = np.random.default_rng(17)
    row = slice_errors({("a",): tally(random, 100)}).slices[0]
    assert row.signed.shrunken.estimate is None
    assert row.signed.shrunken.reason == "fewer than 4 slices were measured"


def test_scores_of_zero_and_one_have_an_interval_that_says_little() -> None:
    sure = Tally.from_arrays(y_true=[1] * 50, y_prob=[1.0] * 50)
    row = slice_errors({("sure",): sure}).slices[0]
    assert (row.signed.estimate, row.signed.p_value) == (0, 1)
    assert row.signed.high == pytest.approx(1 - 0.025 ** (1 / 50))
    assert row.squared.estimate is None
    assert "score is 0 or 1" in (row.squared.reason or "")
    wrong = Tally.from_arrays(y_true=[1] * 49 + [0], y_prob=[1.0] * 50)
    assert slice_errors({("wrong",): wrong}).slices[0].mean_score == 1


def test_slices_whose_items_add_up_have_no_signed_error() -> None:
    q = np.random.default_rng(18).random(100)
    pooled = Tally.from_arrays(
        y_true=np.tile([1, 0], 100),
        y_prob=np.column_stack([q, 1 - q]).ravel(),
        clusters=np.repeat(range(100), 2),
    )
    row = slice_errors({("a",): pooled, ("b",): pooled}).slices[0]
    assert row.signed.estimate is None
    assert "add up" in (row.signed.reason or "")
    assert row.squared.estimate is not None


def test_rows_are_flat_and_json_is_plain() -> None:
    random = np.random.default_rng(19)
    found = slice_errors({("x", None): tally(random, 60)}, by=["a b", "c.d"])
    row = found.to_rows()[0]
    assert (row["by_a b"], row["by_c.d"], row["n"]) == ("x", "(none)", 60)
    squared = found.slices[0].squared.estimate or 0.0
    assert row["error"] == pytest.approx(max(0.0, squared) ** 0.5)
    assert found.to_json().startswith('{"schema_version": 1')
    assert found.slices[0].slice == "x, (none)"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tallies": {}}, "there are no slices"),
        ({"tallies": {"a": None}}, "are not tuples"),
        ({"by": ["a", "b"]}, "by has 2 values"),
        ({"by": 3}, "by is 3: pass a list of names"),
        ({"adjust": "holm"}, "adjust is 'holm'"),
        ({"rank": "worst"}, "rank is 'worst'"),
        ({"level": 95}, "level is 95"),
        ({"least": 0}, "least is 0"),
    ],
    ids=["none", "keys", "names", "by", "adjust", "rank", "level", "least"],
)
def test_bad_arguments_are_refused_by_name(change: dict[str, Any], words: str) -> None:
    good = {"tallies": {("a",): Tally.from_arrays(y_true=[0, 1], y_prob=[0.2, 0.7])}}
    with pytest.raises(InputError, match=words):
        slice_errors(**{**good, **change})


def test_tallies_with_and_without_clusters_do_not_mix() -> None:
    one = Tally.from_arrays(y_true=[0, 1], y_prob=[0.2, 0.7])
    other = Tally.from_arrays(y_true=[0, 1], y_prob=[0.2, 0.7], clusters=["a", "b"])
    with pytest.raises(InputError, match="some tallies have clusters"):
        slice_errors({("a",): one, ("b",): other})
    with pytest.raises(InputError, match="different numbers of keys"):
        slice_errors({("a",): one, ("b", "c"): one})


def test_simultaneous_intervals_of_rare_events_hold_together() -> None:
    z = np.linspace(-21, 7, 4001)
    density = np.exp(-(((z + 7) / 2) ** 2) / 2)
    gap = 1 / (1 + np.exp(-z)) - 1 / (1 + np.exp(-(0.6 * z - 2)))
    theta = float(np.sum(density * gap**2) / density.sum())
    random = np.random.default_rng(29)
    held = 0
    for _ in range(15):
        tallies = {}
        for key in range(12):
            odds = random.normal(-7, 2, 2000)
            y = random.random(2000) < 1 / (1 + np.exp(-(0.6 * odds - 2)))
            tallies[(str(key),)] = Tally.from_arrays(y_true=y, y_prob=1 / (1 + np.exp(-odds)))
        rows = slice_errors(tallies, by=["key"]).slices
        for row in rows:
            assert (row.squared.low is None) == (row.positives < 10)
            assert row.squared.low is not None or "positives or negatives" in (row.squared.reason or "")
        given = [row.squared for row in rows if row.squared.low is not None]
        held += all((each.low or 0) <= theta <= (each.high or 0) for each in given)
    assert held >= 13


@pytest.mark.parametrize(("clusters", "noted"), [(5, True), (6, True), (8, True), (12, False)])
def test_slices_with_too_few_clusters_to_be_found_are_noted(clusters: int, noted: bool) -> None:
    random = np.random.default_rng(clusters)
    tallies = {}
    for place in range(8):
        q = random.random(40 * clusters)
        y = random.random(len(q)) < q**3  # as wrong in each cluster
        units = np.repeat(np.arange(clusters), 40)
        tallies[(f"{place}",)] = Tally.from_arrays(y_true=y, y_prob=q, clusters=units)
    found = slice_errors(tallies)
    assert len(found.found()) == (0 if noted else 8)
    said = [note for note in found.notes if note.startswith("These slices have too few clusters")]
    assert len(said) == noted
    smallest = min(row.squared.adjusted_p_value or 0 for row in found.slices)
    one = SquaredError.of(tallies[("0",)])
    assert isinstance(one, SquaredError)
    limit = 8 * one.least_p_value
    # The test shares its level between components, which the limit does not count.
    assert limit * 0.98 < smallest < limit * 4, "errors that are nearly equal come close to the limit"
    assert not set(said) & set(slice_errors(tallies, rank="signed").notes)
    assert len(slice_errors(tallies, rank="signed").found()) == 8


@pytest.mark.slow
def test_intervals_of_slices_with_few_overconfident_scores_cover() -> None:
    random = np.random.default_rng(3)
    covered = []
    for _ in range(40):
        score = np.where(random.random(480) < 0.5, 0.995, 0.005)
        label = random.random(480) < np.where(score > 0.5, 0.97, 0.03)
        part = np.arange(480) % 8
        tallies = {
            (str(g),): Tally.from_arrays(y_true=label[part == g], y_prob=score[part == g]) for g in range(8)
        }
        for row in slice_errors(tallies, adjust="none").slices:
            covered.append(defined(row.error.low) <= 0.025 <= defined(row.error.high))
    assert np.mean(covered) > 0.95


@pytest.mark.slow
def test_calibrated_slices_of_very_unequal_clusters_are_rarely_found() -> None:
    random, missed = np.random.default_rng(5), 0
    for _ in range(150):
        tallies = {}
        for place in range(4):
            size = np.maximum(3, np.round(40 * np.exp(random.normal(-0.5, 1, 10)))).astype(int)
            units = np.repeat(np.arange(10), size)
            q = random.beta(2, 2, len(units))
            shift = random.normal(0, 0.5, 10)[units]
            y = ndtri(q) * np.sqrt(1.25) + shift + random.normal(size=len(q)) > 0
            tallies[(f"{place}",)] = Tally.from_arrays(y_true=y, y_prob=q, clusters=units)
        table = slice_errors(tallies, rank="signed")
        missed += any((row.signed.low or 0) > 0 or (row.signed.high or 0) < 0 for row in table.slices)
    assert missed / 150 < 0.11, "5 % of tables; 15 to 20 % with Student's t of as many clusters as there are"


@pytest.mark.slow
def test_the_difference_of_rare_events_in_clusters_is_covered() -> None:
    random, covered, tables = np.random.default_rng(3), 0, 500
    units = np.repeat(np.arange(40), 40)
    for _ in range(tables):
        q = expit(random.normal(-3, 1, len(units)))
        shift = random.normal(0, 0.5, 40)[units]
        y = ndtri(q) * np.sqrt(1.25) + shift + random.normal(size=len(q)) > 0
        tally = Tally.from_arrays(y_true=y, y_prob=q, clusters=units)
        signed = slice_errors({("all",): tally}, adjust="none").slices[0].signed
        covered += (signed.low or 0) <= 0 <= (signed.high or 0)
    assert covered / tables > 0.94, "91 to 93 % without the noise of clusters in the binomial interval"


def test_a_note_counts_slices_of_few_effective_clusters() -> None:
    random = np.random.default_rng(0)
    q = random.random(400)
    tallies = {
        (name,): Tally.from_arrays(
            y_true=random.random(400) < q, y_prob=q, clusters=np.arange(400) % clusters
        )
        for name, clusters in (("few", 9), ("enough", 10))
    }
    first, second = slice_errors(tallies).notes
    assert first.startswith("The clusters of 1 slice count as fewer than 10 equal ones")
    assert second.startswith("In 2 slices, few clusters have positives, or negatives")


def test_calibrated_slices_whose_clusters_have_equal_labels_are_rarely_found() -> None:
    # A third of samples have no event: the squared error was found in 33 % of tables.
    rng, found, cluster = np.random.default_rng(0), 0, np.arange(1000) // 50
    for _ in range(60):
        label = (rng.random(20) < 0.05)[cluster]
        table = slice_errors(
            {("a",): Tally.from_arrays(y_true=label, y_prob=[0.05] * 1000, clusters=cluster)}
        )
        found += any(row.signed.found or row.squared.found for row in table.slices)
        assert any(note.startswith("In 1 slice, few clusters have positives") for note in table.notes)
    assert found <= 3


def test_slices_that_hardly_differ_are_sorted_by_p_value() -> None:
    random = np.random.default_rng(11)
    tallies = {}
    for place in range(8):
        q = random.random(60)
        shift = 0.09 if place == 5 else 0.0
        tallies[(f"{place}",)] = Tally.from_arrays(y_true=random.random(60) < q - shift, y_prob=q)
    found = slice_errors(tallies, rank="signed")
    assert found.signed.spread is not None
    assert found.signed.spread < 0.005, "the example shrinks all slices to their mean"
    p_values = [row.signed.p_value or 0 for row in found.slices]
    assert p_values == sorted(p_values)


def test_slices_without_errors_whose_scores_are_next_to_0_and_1_are_measured() -> None:
    score = np.where(np.arange(200) % 2, 1.0, np.logspace(-160, -155, 200))
    clusters = np.arange(200) // 4
    tally = Tally.from_arrays(y_true=score > 0.5, y_prob=score, clusters=clusters)
    found = slice_errors({("a",): tally}).slices[0]
    assert found.error.low is None
    error = SignedError(1e-157, 0.5, error=1e-156, binomial_n=200.0, clusters=50.0, balanced=False)
    assert error.interval(0.95) == pytest.approx((-0.0707, 0.0707), abs=0.001)


def test_slices_of_few_labels_that_contradict_their_scores_are_noted() -> None:
    rng = np.random.default_rng(0)
    z = np.where(rng.random(300) < 0.5, -1, 1) * rng.uniform(20, 60, 300)
    y = rng.random(300) < 1 / (1 + np.exp(-z / 10))
    sharp = Tally.from_arrays(y_true=y, y_prob=1 / (1 + np.exp(-z)))
    q = rng.random(300)
    mild = Tally.from_arrays(y_true=rng.random(300) < q, y_prob=q)
    (note,) = slice_errors({("sharp",): sharp, ("mild",): mild}).notes
    assert note.startswith("In 1 slice, fewer than 10 labels are on the other side of 0.5")
    assert not slice_errors({("mild",): mild}).notes


def test_the_difference_of_few_labels_that_contradict_extreme_scores_is_noted() -> None:
    y = np.repeat([1, 0], [8, 92])  # too few positives for an interval of the error
    sure = Tally.from_arrays(y_true=y, y_prob=np.where(np.arange(100) < 5, 1 - 1e-6, 1e-6))
    mild = Tally.from_arrays(y_true=y, y_prob=np.linspace(0.3, 0, 100))
    found = slice_errors({("sure",): sure, ("mild",): mild})
    assert {row.error.low for row in found.slices} == {None}
    (note,) = found.notes
    assert note.startswith("In 1 slice, fewer than 10 labels are on the other side of 0.5")


def test_the_difference_of_rare_labels_is_covered_if_scores_are_too_high() -> None:
    random, covered, tables = np.random.default_rng(4), 0, 400
    true = expit(-2 + 1.5 * random.normal(size=1_000_000)).mean() - 0.02
    for _ in range(tables):
        q = expit(-2 + 1.5 * random.normal(size=100))
        tally = Tally.from_arrays(y_true=random.random(100) < 0.02, y_prob=q)
        low, high = SignedError.of(tally).interval(0.95)
        covered += low <= true <= high
    assert covered / tables > 0.92, "80 % with an upper end of at most the sample's mean score"


@pytest.mark.parametrize("label", [0, 1])
def test_equal_labels_of_few_clusters_do_not_find_an_error(label: int) -> None:
    # At a rate of 5 %, a third of samples of 20 clusters of equal labels have no event; p was 1e-22.
    score = abs(label - 0.05)
    tally = Tally.from_arrays(y_true=[label] * 1000, y_prob=[score] * 1000, clusters=np.arange(1000) // 50)
    found = SignedError.of(tally)
    low, high = found.interval(0.95)
    assert found.p_value > 0.5
    assert min(abs(low), abs(high)) <= 0.0501
    assert high - low > 0.1
