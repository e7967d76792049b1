"""The one core of all front ends: plain arguments in, result records out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.verbs.coreference import evaluate_coreference, predict_coreference
    from calibrant.verbs.coreference_pairs import export_pairs
    from calibrant.verbs.coreference_training import train_coreference
    from calibrant.verbs.demonstration import demonstrate
    from calibrant.verbs.estimating import estimate
    from calibrant.verbs.evaluating import agree, compare
    from calibrant.verbs.event_doubts import uncertain_documents
    from calibrant.verbs.event_extraction import extract_events
    from calibrant.verbs.event_figures import draw_events
    from calibrant.verbs.event_tables import event_table
    from calibrant.verbs.figures import plot, save_figure
    from calibrant.verbs.grouping import group_changes
    from calibrant.verbs.measuring import Columns, measure
    from calibrant.verbs.monitoring import monitor
    from calibrant.verbs.planning import plan
    from calibrant.verbs.protocol_steps import protocol, write_example
    from calibrant.verbs.recalibrating import apply, fit
    from calibrant.verbs.reporting import report
    from calibrant.verbs.slicing import slice_tables, slices
    from calibrant.verbs.tagger_training import train_tagger
    from calibrant.verbs.tagging import evaluate_tagger, predict_tags
    from calibrant.verbs.tallying import tally, tally_by
    from calibrant.verbs.tallying_files import tally_files

__all__ = [
    "Columns",
    "agree",
    "apply",
    "compare",
    "demonstrate",
    "draw_events",
    "estimate",
    "evaluate_coreference",
    "evaluate_tagger",
    "event_table",
    "export_pairs",
    "extract_events",
    "fit",
    "group_changes",
    "measure",
    "monitor",
    "plan",
    "plot",
    "predict_coreference",
    "predict_tags",
    "protocol",
    "report",
    "save_figure",
    "slice_tables",
    "slices",
    "tally",
    "tally_by",
    "tally_files",
    "train_coreference",
    "train_tagger",
    "uncertain_documents",
    "write_example",
]

__getattr__, __dir__ = lazily(__name__)
