"""Row vector times matrix, with sums held in vector registers.

This is where forward-backward spends its time. Compiled from a loop, each sum would be read from memory
and written back for each few rows of the matrix, which takes twice as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from calibrant._kernels._jit import jit

Floats = NDArray[np.float64]
Columns = Callable[[Floats, Floats, Floats, int, int], None]

LANES = 8  # numbers a vector; the compiler splits it where the processor's vectors are shorter
STRANDS = 2  # sums of even and odd rows, so that an addition need not wait for the one before
VECTOR = ir.VectorType(ir.DoubleType(), LANES)
INDICES = ir.VectorType(ir.IntType(32), LANES)
build: Any = cgutils  # has no types


def _columns(vectors: int) -> Columns:
    """Make the operation that fills ``vectors`` vectors of ``out``, from column ``first`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row, matrix, out = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[:3], arguments[:3], strict=True)
        )
        first, width = arguments[3:]
        index = width.type

        def vector_at(array: Any, place: Any, vector: int) -> Any:
            start = builder.gep(array, [builder.add(place, ir.Constant(index, vector * LANES))])
            return builder.bitcast(start, VECTOR.as_pointer())

        zero = ir.Constant(VECTOR, [0.0] * LANES)
        sums = [[build.alloca_once_value(builder, zero) for _ in range(vectors)] for _ in range(STRANDS)]
        step = ir.Constant(index, STRANDS)
        with build.for_range_slice(builder, ir.Constant(index, 0), width, step, inc=True) as (even, _):
            for strand, strand_sums in enumerate(sums):
                i = builder.add(even, ir.Constant(index, strand))
                weight = builder.load(builder.gep(row, [i]))
                weights = builder.insert_element(
                    ir.Constant(VECTOR, ir.Undefined), weight, ir.Constant(ir.IntType(32), 0)
                )
                weights = builder.shuffle_vector(weights, weights, ir.Constant(INDICES, [0] * LANES))
                place = builder.add(builder.mul(i, width), first)
                for vector, total in enumerate(strand_sums):
                    entries = builder.load(vector_at(matrix, place, vector), align=8)
                    builder.store(builder.fadd(builder.load(total), builder.fmul(weights, entries)), total)
        for vector, (even_rows, odd_rows) in enumerate(zip(*sums, strict=True)):
            total = builder.fadd(builder.load(even_rows), builder.load(odd_rows))
            builder.store(total, vector_at(out, first, vector), align=8)
        return context.get_dummy_value()

    def typed(_: Any, row: Any, matrix: Any, out: Any, first: Any, width: Any) -> Any:
        return types.void(row, matrix, out, first, width), generate

    return cast(Columns, intrinsic(typed))


_two_vectors = _columns(2)
_one_vector = _columns(1)


@jit
def times(row: Floats, matrix: Floats, out: Floats) -> None:
    """Row vector times square matrix, both contiguous; the width is a multiple of 8."""
    width = len(out)
    for first in range(0, width - LANES, 2 * LANES):
        _two_vectors(row, matrix, out, first, width)
    if width % (2 * LANES):
        _one_vector(row, matrix, out, width - LANES, width)
