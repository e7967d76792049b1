"""Files: predictions, tagged text, tallies and models, in and out; what is written is whole or absent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.io.batch import Batch
    from calibrant.io.class_table import read_class_table
    from calibrant.io.coreference import iter_documents, read_documents, read_folds
    from calibrant.io.coreference_posteriors import (
        PosteriorDocument,
        PosteriorWriter,
        posterior_documents,
        read_posteriors,
        write_posteriors,
    )
    from calibrant.io.dated import DatedText, check_dated, iter_dated
    from calibrant.io.estimation import DocumentLabels, ScoredDocuments, read_document_labels, read_scored
    from calibrant.io.evaluation_tables import RatingTable, ResultTable, read_ratings, read_results
    from calibrant.io.lexicons import read_lexicon
    from calibrant.io.logs import LogKind, NoOptionsError, open_log, recognise_log
    from calibrant.io.predictions import Predictions, open_predictions
    from calibrant.io.saved import load_tally, save_tally
    from calibrant.io.saved_models import load_coreference_model, load_model, load_tagger, save_model
    from calibrant.io.saved_recalibrators import SavedRecalibrator, load_recalibrator, save_recalibrator
    from calibrant.io.store import Counts, EventStore, Manifest, StoredCount, StoredDocument, StoredEvidence
    from calibrant.io.store_writing import StoreWriter
    from calibrant.io.tagged import TaggedText, read_tagged
    from calibrant.io.verbs import read_verbs
    from calibrant.io.writing_coreference import write_coreference
    from calibrant.io.writing_pairs import PairWriter
    from calibrant.io.writing_predictions import PredictionWriter

__all__ = [
    "Batch",
    "Counts",
    "DatedText",
    "DocumentLabels",
    "EventStore",
    "LogKind",
    "Manifest",
    "NoOptionsError",
    "PairWriter",
    "PosteriorDocument",
    "PosteriorWriter",
    "PredictionWriter",
    "Predictions",
    "RatingTable",
    "ResultTable",
    "SavedRecalibrator",
    "ScoredDocuments",
    "StoreWriter",
    "StoredCount",
    "StoredDocument",
    "StoredEvidence",
    "TaggedText",
    "check_dated",
    "iter_dated",
    "iter_documents",
    "load_coreference_model",
    "load_model",
    "load_recalibrator",
    "load_tagger",
    "load_tally",
    "open_log",
    "open_predictions",
    "posterior_documents",
    "read_class_table",
    "read_document_labels",
    "read_documents",
    "read_folds",
    "read_lexicon",
    "read_posteriors",
    "read_ratings",
    "read_results",
    "read_scored",
    "read_tagged",
    "read_verbs",
    "recognise_log",
    "save_model",
    "save_recalibrator",
    "save_tally",
    "write_coreference",
    "write_posteriors",
]

__getattr__, __dir__ = lazily(__name__)
