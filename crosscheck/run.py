"""Run the cases of the peers that are installed; compare with docs/peers.json, or write it."""

from __future__ import annotations
