"""The one core of all front ends: plain arguments in, result records out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.workflow.coreference import evaluate_coreference, predict_coreference
    from calibrant.workflow.coreference_pairs import export_pairs
    from calibrant.workflow.coreference_training import train_coreference
    from calibrant.workflow.demonstration import demonstrate
    from calibrant.workflow.estimating import estimate
    from calibrant.workflow.evaluating import agree, compare
    from calibrant.workflow.event_doubts import uncertain_documents
    from calibrant.workflow.event_extraction import extract_events
    from calibrant.workflow.event_figures import draw_events
    from calibrant.workflow.event_tables import event_table
    from calibrant.workflow.figures import draw_predictions, save_figure
    from calibrant.workflow.grouping import group_changes
    from calibrant.workflow.measuring import Columns, measure
    from calibrant.workflow.monitoring import monitor
    from calibrant.workflow.planning import plan
    from calibrant.workflow.protocol_steps import protocol, write_example
    from calibrant.workflow.recalibrating import apply_recalibrator, fit_recalibrator
    from calibrant.workflow.reporting import report
    from calibrant.workflow.slicing import slice_tables, slices
    from calibrant.workflow.tagger_training import train_tagger
    from calibrant.workflow.tagging import evaluate_tagger, predict_tags
    from calibrant.workflow.tallying import tally, tally_by
    from calibrant.workflow.tallying_files import tally_files

__all__ = [
    "Columns",
    "agree",
    "apply_recalibrator",
    "compare",
    "demonstrate",
    "draw_events",
    "draw_predictions",
    "estimate",
    "evaluate_coreference",
    "evaluate_tagger",
    "event_table",
    "export_pairs",
    "extract_events",
    "fit_recalibrator",
    "group_changes",
    "measure",
    "monitor",
    "plan",
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
