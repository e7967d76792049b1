"""Product of a row vector and a matrix, of probabilities (sums of products) and of scores (largest sums).

The algorithms of chains spend most of their time here. Results stay in vector registers; a compiled loop
would read and write them for every few rows of the matrix, at half the speed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from calibrant._kernels.jit import Floats, jit

Columns = Callable[[Floats, Floats, Floats, int, int], None]
Merge = Callable[[Any, Any, Any], Any]

LANES = 8  # numbers per vector; the compiler splits it if the processor's vectors are shorter
STRANDS = 2  # results of even and odd rows, so that operations do not wait for each other
VECTOR = ir.VectorType(ir.DoubleType(), LANES)
INDICES = ir.VectorType(ir.IntType(32), LANES)
build: Any = cgutils  # has no types


def _columns(vectors: int, empty: float, merge: Merge, join: Merge) -> Columns:
    """Return the operation (row, matrix, out, first, width) that writes some columns of ``out``.

    Column j gets ``merge`` over i of ``join(row[i], matrix[i, j])``, starting with ``empty``, for the
    ``vectors * LANES`` columns from ``first``.
    """

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

        def repeated(value: Any) -> Any:
            single = builder.insert_element(
                ir.Constant(VECTOR, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
            )
            return builder.shuffle_vector(single, single, ir.Constant(INDICES, [0] * LANES))

        start = ir.Constant(VECTOR, [empty] * LANES)
        results = [[build.alloca_once_value(builder, start) for _ in range(vectors)] for _ in range(STRANDS)]
        rows = (ir.Constant(index, 0), width, ir.Constant(index, STRANDS))
        with build.for_range_slice(builder, *rows, inc=True) as (even, _):
            for strand in range(STRANDS):
                i = builder.add(even, ir.Constant(index, strand))
                weights = repeated(builder.load(builder.gep(row, [i])))
                place = builder.add(builder.mul(i, width), first)
                for vector, result in enumerate(results[strand]):
                    entries = builder.load(vector_at(matrix, place, vector), align=8)
                    value = join(builder, weights, entries)
                    builder.store(merge(builder, builder.load(result), value), result)
        for vector, (even_rows, odd_rows) in enumerate(zip(*results, strict=True)):
            result = merge(builder, builder.load(even_rows), builder.load(odd_rows))
            builder.store(result, vector_at(out, first, vector), align=8)
        return context.get_dummy_value()

    def typed(_: Any, row: Any, matrix: Any, out: Any, first: Any, width: Any) -> Any:
        return types.void(row, matrix, out, first, width), generate

    return cast(Columns, intrinsic(typed))


def _add(builder: Any, left: Any, right: Any) -> Any:
    return builder.fadd(left, right)


def _multiply(builder: Any, left: Any, right: Any) -> Any:
    return builder.fmul(left, right)


def _larger(builder: Any, left: Any, right: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", left, right), left, right)


_two_sums, _one_sum = (_columns(vectors, 0.0, _add, _multiply) for vectors in (2, 1))
_two_best, _one_best = (_columns(vectors, -np.inf, _larger, _add) for vectors in (2, 1))


@jit
def times(row: Floats, matrix: Floats, out: Floats) -> None:
    """Write the product of a row vector and a square matrix, all contiguous; the width is a multiple of 8."""
    width = len(out)
    for first in range(0, width - LANES, 2 * LANES):
        _two_sums(row, matrix, out, first, width)
    if width % (2 * LANES):
        _one_sum(row, matrix, out, width - LANES, width)


@jit
def best_sums(row: Floats, matrix: Floats, out: Floats) -> None:
    """Write the largest sum of an entry of the row and one of each column, with arguments as in `times`."""
    width = len(out)
    for first in range(0, width - LANES, 2 * LANES):
        _two_best(row, matrix, out, first, width)
    if width % (2 * LANES):
        _one_best(row, matrix, out, width - LANES, width)
