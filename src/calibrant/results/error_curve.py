"""The record of an error as one size varies: against the bin size, or against the sample size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats


@dataclass(frozen=True)
class ErrorCurve:
    """Calibration MSE of one model while the bin size, or the sample size, varies.

    Attributes
    ----------
    name
        Which predictions, such as ``"calibrated"``.
    against
        What varies: ``"bin_size"`` or ``"sample_size"``.
    size
        (points,) the sizes, ascending.
    plug_in
        (points,) plug-in calibration MSE (the square of the papers' CalibErr), in [0, 1].
    debiased
        (points,) debiased MSE at the same sizes, signed; None where not computed.
    expected
        (points,) the plug-in that a calibrated model is expected to get, ``E[p (1 - p)] / b``; None
        where not computed.
    truth
        The error of the population that the pairs were drawn from, squared; None where unknown.

    Examples
    --------
    >>> import numpy as np
    >>> curve = ErrorCurve("calibrated", "bin_size", np.array([2, 4]), np.array([0.1, 0.05]))
    >>> curve.to_rows()[1]["plug_in"]
    0.05
    """

    name: str
    against: Literal["bin_size", "sample_size"]
    size: NDArray[np.int64]
    plug_in: Floats
    debiased: Floats | None = None
    expected: Floats | None = None
    truth: float | None = None

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a size; a column that was not computed is None throughout."""
        columns = {"plug_in": self.plug_in, "debiased": self.debiased, "expected": self.expected}
        return [
            {
                "name": self.name,
                self.against: int(size),
                **{key: None if values is None else values[row].item() for key, values in columns.items()},
                "truth": self.truth,
            }
            for row, size in enumerate(self.size)
        ]
