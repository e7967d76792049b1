"""The record of an error as a function of the bin size or the sample size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats


@dataclass(frozen=True)
class ErrorCurve:
    """Calibration MSE of one model as a function of the bin size or the sample size.

    Attributes
    ----------
    name
        Name of the predictions, such as ``"calibrated"``.
    against
        Quantity that varies: ``"bin_size"`` or ``"sample_size"``.
    size
        (points,) sizes, ascending.
    plug_in
        (points,) plug-in calibration MSE (the square of the papers' CalibErr), in [0, 1].
    debiased
        (points,) debiased MSE at the same sizes, signed; None if not computed.
    expected
        (points,) expected plug-in MSE of a calibrated model, ``E[p (1 - p)] / b``; None if not computed.
    truth
        Squared error of the population from which the pairs were drawn; None if unknown.

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
        """Return one row per size; a column that was not computed contains None."""
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
