"""Adding a number's moments to a record in one step of the processor, which numba does not find itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

Generate = Callable[[Any, Any, Any, Any], Any]

_LANES = ir.VectorType(ir.DoubleType(), 4)


def _add_moments(typing: Any, sums: Any, at: Any, d: Any) -> tuple[Any, Generate]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), _LANES.as_pointer())

        def with_d(lanes: Any, number: int) -> Any:
            return builder.insert_element(lanes, arguments[2], ir.Constant(ir.IntType(32), number))

        first = with_d(with_d(ir.Constant(_LANES, [1.0, 1.0, 1.0, 0.0]), 1), 2)
        second = with_d(ir.Constant(_LANES, [1.0, 1.0, 1.0, 1.0]), 2)
        contract = ("contract",)  # a product and a sum may be rounded once
        product = builder.fmul(first, second, flags=contract)
        added = builder.fadd(product, builder.load(place, align=8), flags=contract)
        builder.store(added, place, align=8)
        return context.get_dummy_value()

    return types.void(sums, at, d), generate


add_moments = cast(Callable[[NDArray[np.float64], int, float], None], intrinsic(_add_moments))
"""``add_moments(sums, at, d)`` adds [1, d, d^2, 0] to the flat array ``sums`` from ``at``."""
