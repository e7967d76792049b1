"""The one core of all front ends: plain arguments in, result records out."""

from __future__ import annotations

from calibrant.workflow.measuring import Columns, measure
from calibrant.workflow.planning import plan
from calibrant.workflow.reporting import report
from calibrant.workflow.tallying import tally

__all__ = ["Columns", "measure", "plan", "report", "tally"]
