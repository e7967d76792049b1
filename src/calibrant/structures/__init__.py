"""Tag sequences, dependency trees, spans and entities: posteriors, models, files and verbs.

This package is a wing: the core of calibrant does not import it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.structures.entity_scores import coreference_scores
    from calibrant.structures.files.arc_scores import ArcScores, read_arc_scores
    from calibrant.structures.files.coreference import iter_documents, read_documents, read_folds
    from calibrant.structures.files.coreference_posteriors import (
        PosteriorDocument,
        PosteriorWriter,
        posterior_documents,
        read_posteriors,
        write_posteriors,
    )
    from calibrant.structures.files.dependency_trees import TreeText, read_trees, write_trees
    from calibrant.structures.files.english import load_english_parser
    from calibrant.structures.files.saved_models import (
        load_coreference_model,
        load_dependency_model,
        load_model,
        load_tagger,
        save_model,
    )
    from calibrant.structures.files.span_tables import SpanColumns, SpanWriter, read_spans
    from calibrant.structures.files.tagged import TaggedText, read_tagged
    from calibrant.structures.files.writing_coreference import PairWriter, write_coreference
    from calibrant.structures.posterior.span_pairs import SpanPairs, SpanRows, pair_spans
    from calibrant.structures.results.coreference import (
        AntecedentTemperature,
        CoreferenceCandidate,
        CoreferenceEvaluation,
        CoreferenceScores,
        DocumentCoreference,
        PrecisionRecall,
        TrainedCoreference,
        WrittenPairs,
        WrittenPosteriors,
    )
    from calibrant.structures.results.parsing import (
        ParserEvaluation,
        TrainedParser,
        TreeTemperature,
        WrittenTrees,
    )
    from calibrant.structures.results.spans import MatchedSpans
    from calibrant.structures.results.tagging import (
        TagEvaluation,
        TaggerCandidate,
        TrainedTagger,
        WrittenPredictions,
    )
    from calibrant.structures.verbs.coreference import evaluate_coreference, predict_coreference
    from calibrant.structures.verbs.coreference_pairs import export_pairs
    from calibrant.structures.verbs.coreference_training import train_coreference
    from calibrant.structures.verbs.parser_training import train_parser
    from calibrant.structures.verbs.parsing import evaluate_parser, predict_trees
    from calibrant.structures.verbs.spans import match_spans
    from calibrant.structures.verbs.tagger_training import train_tagger
    from calibrant.structures.verbs.tagging import evaluate_tagger, predict_tags
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "AntecedentTemperature",
    "ArcScores",
    "CoreferenceCandidate",
    "CoreferenceEvaluation",
    "CoreferenceScores",
    "DocumentCoreference",
    "MatchedSpans",
    "PairWriter",
    "ParserEvaluation",
    "PosteriorDocument",
    "PosteriorWriter",
    "PrecisionRecall",
    "SpanColumns",
    "SpanPairs",
    "SpanRows",
    "SpanWriter",
    "TagEvaluation",
    "TaggedText",
    "TaggerCandidate",
    "TrainedCoreference",
    "TrainedParser",
    "TrainedTagger",
    "TreeTemperature",
    "TreeText",
    "WrittenPairs",
    "WrittenPosteriors",
    "WrittenPredictions",
    "WrittenTrees",
    "coreference_scores",
    "evaluate_coreference",
    "evaluate_parser",
    "evaluate_tagger",
    "export_pairs",
    "iter_documents",
    "load_coreference_model",
    "load_dependency_model",
    "load_english_parser",
    "load_model",
    "load_tagger",
    "match_spans",
    "pair_spans",
    "posterior_documents",
    "predict_coreference",
    "predict_tags",
    "predict_trees",
    "read_arc_scores",
    "read_documents",
    "read_folds",
    "read_posteriors",
    "read_spans",
    "read_tagged",
    "read_trees",
    "save_model",
    "train_coreference",
    "train_parser",
    "train_tagger",
    "write_coreference",
    "write_posteriors",
    "write_trees",
]
