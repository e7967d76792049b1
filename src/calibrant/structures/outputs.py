"""Records that the commands print as JSON."""

from calibrant.records import Record
from calibrant.structures.results.coreference import (
    CoreferenceEvaluation,
    TrainedCoreference,
    WrittenPairs,
    WrittenPosteriors,
)
from calibrant.structures.results.parsing import ParserEvaluation, TrainedParser, WrittenTrees
from calibrant.structures.results.spans import MatchedSpans
from calibrant.structures.results.tagging import TagEvaluation, TrainedTagger, WrittenPredictions

OUTPUTS: dict[str, type[Record]] = {
    "coref eval": CoreferenceEvaluation,
    "coref pairs": WrittenPairs,
    "coref predict": WrittenPosteriors,
    "coref train": TrainedCoreference,
    "parse eval": ParserEvaluation,
    "parse predict": WrittenTrees,
    "parse train": TrainedParser,
    "spans": MatchedSpans,
    "tag eval": TagEvaluation,
    "tag predict": WrittenPredictions,
    "tag train": TrainedTagger,
}
