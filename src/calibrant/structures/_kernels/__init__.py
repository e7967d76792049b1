"""Compiled loops over sequences, spans and mentions."""

from __future__ import annotations

from calibrant._kernels.jit import load_numba

load_numba()  # some of them import it by themselves, and would not say which variable keeps it from loading
