"""Reference models for tagging, parsing and coreference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.structures.models.coreference import COREFERENCE_GROUPS, PAPER_COSTS, CoreferenceModel
    from calibrant.structures.models.crf import L2_PENALTIES, CRFTagger
    from calibrant.structures.models.crf_adagrad import Penalty
    from calibrant.structures.models.dependency import DependencyModel
    from calibrant.structures.models.features import (
        FEATURE_GROUPS,
        FEATURE_SETS,
        Template,
        Words,
        attribute_lists,
        feature_groups,
    )
    from calibrant.structures.models.hmm import HMMTagger
    from calibrant.structures.models.mentions import (
        Traits,
        detect_mentions,
        traits,
    )
    from calibrant.structures.models.parsing import parse
    from calibrant.structures.models.spacy_tagger import SpacyTagger
    from calibrant.structures.models.tuning import PSEUDOCOUNTS, Candidate, Choice, choose, token_accuracy
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "COREFERENCE_GROUPS",
    "FEATURE_GROUPS",
    "FEATURE_SETS",
    "L2_PENALTIES",
    "PAPER_COSTS",
    "PSEUDOCOUNTS",
    "CRFTagger",
    "Candidate",
    "Choice",
    "CoreferenceModel",
    "DependencyModel",
    "HMMTagger",
    "Penalty",
    "SpacyTagger",
    "Template",
    "Traits",
    "Words",
    "attribute_lists",
    "choose",
    "detect_mentions",
    "feature_groups",
    "parse",
    "token_accuracy",
    "traits",
]
