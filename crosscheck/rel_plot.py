"""relplot: the smooth error, and its binned one."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np

from calibrant.metrics import expected_calibration_error, smooth_calibration_error
from crosscheck import inputs
from crosscheck.bins import OWN_BIN, errors
from crosscheck.comparison import Case, Comparison, compare
from crosscheck.inputs import Input

POINTS = 20_001  # at which their residuals are evaluated in the proof; 200 by default
MENDED = 2e-5
KERNEL = (
    "In the peer, scores of 0 and 1 count half, since their mirror image is left out; the "
    "kernel is cut off at a distance of 1/2; residuals are evaluated at 200 points; and the "
    "search for the bandwidth stops at 1/1024. With the whole kernel, at 20,001 points and at "
    "calibrant's bandwidth, the results agree within 2e-5."
)


def smooth(one: Input) -> Comparison:
    from relplot import smECE

    score = one.score.astype(np.float64)
    ours = smooth_calibration_error(one.label, one.score)
    return compare(
        ours, float(smECE(score, one.label)), KERNEL, lambda: abs(mended(one, ours) - ours) < MENDED
    )


def mended(one: Input, bandwidth: float) -> float:
    """Their error at a bandwidth, with a kernel that is reflected at 0 and 1 however far it reaches."""
    from relplot import config
    from relplot.kernels import ReflectedGaussianKernel
    from relplot.metrics import smECE_sigma

    def convolve(kernel: Any, values: Any, count: int) -> Any:
        at = np.linspace(0, 1, count)
        near, far = at[:, None] - at[None, :], at[:, None] + at[None, :]
        images = [distance + 2 * k for k in range(-3, 4) for distance in (near, far)]
        total = sum(np.exp(-0.5 * (image / kernel.sigma) ** 2) for image in images)
        return total @ values / (np.sqrt(2 * np.pi) * kernel.sigma)

    with (
        patch.object(ReflectedGaussianKernel, "convolve", convolve),
        patch.object(config, "smECE_mesh_pts", POINTS),
    ):
        return float(smECE_sigma(one.score.astype(np.float64), one.label, bandwidth))


def binned(one: Input) -> Comparison:
    from relplot.metrics import binnedECE

    score = one.score.astype(np.float64)

    def theirs() -> float:
        return float(binnedECE(score, one.label, nbins=10))

    def because() -> Any:
        index = (score / 0.1).astype(int)
        return errors(index, one.label, score, "l1"), theirs()

    ours = expected_calibration_error(one.label, one.score, n_bins=10)
    return compare(ours, theirs, f"{OWN_BIN} Its bins are whole parts of q / 0.1.", because)


def _smooth() -> tuple[Input, ...]:
    return (*inputs.binary(), inputs.HALF)


def _binned() -> tuple[Input, ...]:
    return (*inputs.binary(), inputs.ENDS)


CASES = (
    Case(
        "relplot",
        "smECE(q, y)",
        "smooth_calibration_error(y, q)",
        _smooth,
        smooth,
    ),
    Case(
        "relplot",
        "binnedECE(q, y)",
        "expected_calibration_error(y, q, n_bins=10)",
        _binned,
        binned,
    ),
)
