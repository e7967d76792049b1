"""Two text classifiers on binary unigrams: Bernoulli naive Bayes and L2 logistic regression.

They are the pair of Nguyen and O'Connor (2015, section 4.1): a generative model whose independence
assumptions are wrong for text, and its discriminative twin. scikit-learn does the fitting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.exceptions import InputError, MissingExtraError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Tokenizer = Callable[[str], Sequence[str]]
Kind = Literal["naive_bayes", "logistic_regression"]
KINDS: tuple[Kind, ...] = ("naive_bayes", "logistic_regression")


def words(text: str) -> list[str]:
    """Split a text at blanks, in lower case: the tokenizer when none is given.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    list of str

    Examples
    --------
    >>> words("So GOOD today")
    ['so', 'good', 'today']
    """
    return text.lower().split()


def tweet_tokenizer() -> Tokenizer:
    """Return NLTK's tokenizer for tweets, which needs no downloaded data.

    Words are put in lower case (emoticons are not), nothing else is normalized.

    Returns
    -------
    callable
        Takes a text and returns its tokens.

    Raises
    ------
    MissingExtraError
        If nltk is not installed.

    Examples
    --------
    >>> tweet_tokenizer()("@you GREAT day #sun :-D")
    ['@you', 'great', 'day', '#sun', ':-D']
    """
    try:
        from nltk.tokenize.casual import TweetTokenizer
    except ImportError as error:
        hint = "pip install calibrant-studies"
        raise MissingExtraError("the tweet tokenizer needs nltk", hint) from error
    split: Tokenizer = TweetTokenizer(preserve_case=False).tokenize
    return split


class UnigramClassifier:
    """A binary text classifier on the presence or absence of each training unigram.

    Unigrams that training has not seen are ignored. Training is deterministic: logistic regression is
    convex and solved by L-BFGS from zero, naive Bayes has a closed form.

    Parameters
    ----------
    kind
        ``"naive_bayes"`` (Bernoulli: absent words count too) or ``"logistic_regression"``.
    strength
        Above 0. For naive Bayes the smoothing added to each count (scikit-learn's ``alpha``); for
        logistic regression the inverse of the L2 penalty (scikit-learn's ``C``).
    tokenizer
        Takes a text, returns its tokens. Default: `words`.

    Attributes
    ----------
    vocabulary : list of str
        The unigrams, sorted; set by `fit`.
    coef : ndarray of shape (len(vocabulary),)
        Log-odds that each present unigram adds; set by `fit`. Both models are log-linear, so this and
        ``intercept`` are the whole model.
    intercept : float
        Log-odds of a text without any known unigram; set by `fit`.

    Raises
    ------
    InputError
        If ``kind`` is unknown or ``strength`` is not above 0.

    References
    ----------
    Nguyen and O'Connor (2015), "Posterior calibration and exploratory analysis for natural language
    processing models", section 4.1.

    Examples
    --------
    >>> model = UnigramClassifier("naive_bayes", strength=1.0)
    >>> model = model.fit(["good day", "so good", "bad day", "so bad"], [1, 1, 0, 0])
    >>> model.predict_proba(["good", "bad", "unknown"]).round(3).tolist()
    [0.9, 0.1, 0.5]
    """

    def __init__(self, kind: Kind, *, strength: float = 1.0, tokenizer: Tokenizer = words) -> None:
        if kind not in KINDS:
            raise InputError(f"kind is {kind!r}", f"use one of {', '.join(KINDS)}", code="parameter")
        if not (np.isfinite(strength) and strength > 0):
            raise InputError(f"strength is {strength!r}", "give a finite number above 0", code="parameter")
        self.kind: Kind = kind
        self.strength = float(strength)
        self.tokenizer = tokenizer
        self.vocabulary: list[str] = []
        self.coef: NDArray[np.float64] = np.zeros(0)
        self.intercept: float | None = None

    def fit(self, texts: Iterable[str], labels: ArrayLike) -> UnigramClassifier:
        """Train on texts and their labels.

        Parameters
        ----------
        texts
            n texts.
        labels
            Shape (n,), 0 or 1, both present.

        Returns
        -------
        UnigramClassifier
            This model, trained.

        Raises
        ------
        InputError
            If the labels are not 0 and 1, one of them is absent, or the lengths differ.

        Examples
        --------
        >>> UnigramClassifier("logistic_regression").fit(["good", "bad"], [1, 0]).vocabulary
        ['bad', 'good']
        """
        token_sets = [set(self.tokenizer(text)) for text in texts]
        y = np.asarray(labels)
        if y.shape != (len(token_sets),):
            found = f"labels have shape {y.shape} for {len(token_sets)} texts"
            raise InputError(found, "give one label a text", code="length")
        if set(np.unique(y).tolist()) != {0, 1}:
            raise InputError(
                "labels must be 0 and 1, and both must occur", "check the labels", code="label-value"
            )
        self.vocabulary = sorted(set().union(*token_sets))
        if not self.vocabulary:
            raise InputError("no text has a token", "check the texts", code="empty")
        self._fit_indicators(self._indicators(token_sets), y.astype(np.int64))
        return self

    def _fit_indicators(self, indicators: csr_matrix, y: NDArray[np.int64]) -> None:
        if self.kind == "naive_bayes":
            from sklearn.naive_bayes import BernoulliNB

            bayes = BernoulliNB(alpha=self.strength, binarize=None).fit(indicators, y)
            log_present = bayes.feature_log_prob_
            log_absent = np.log1p(-np.exp(log_present))
            odds = log_present - log_absent
            self.coef = odds[1] - odds[0]
            at_zero = bayes.class_log_prior_ + log_absent.sum(axis=1)
            self.intercept = float(at_zero[1] - at_zero[0])
        else:
            from sklearn.linear_model import LogisticRegression

            model = LogisticRegression(C=self.strength, tol=1e-8, max_iter=5000).fit(indicators, y)
            self.coef = model.coef_[0].copy()
            self.intercept = float(model.intercept_[0])

    def predict_proba(self, texts: Iterable[str]) -> NDArray[np.float64]:
        """Probability that each text's label is 1.

        Parameters
        ----------
        texts
            n texts.

        Returns
        -------
        ndarray of float64, shape (n,)
            In [0, 1].

        Raises
        ------
        InputError
            If the model has not been trained.

        Examples
        --------
        >>> model = UnigramClassifier("logistic_regression").fit(["good", "bad"], [1, 0])
        >>> bool(model.predict_proba(["good"])[0] > 0.5)
        True
        """
        from scipy.special import expit

        if self.intercept is None:
            raise InputError("the model has not been trained", "call fit first", code="undefined")
        indicators = self._indicators([set(self.tokenizer(text)) for text in texts])
        probability: NDArray[np.float64] = expit(indicators @ self.coef + self.intercept)
        return probability

    def _indicators(self, token_sets: Sequence[set[str]]) -> csr_matrix:
        from scipy.sparse import csr_matrix

        column = {token: j for j, token in enumerate(self.vocabulary)}
        rows = [sorted(column[token] for token in tokens if token in column) for tokens in token_sets]
        indices = np.array([j for row in rows for j in row], dtype=np.int32)
        pointers = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int32)
        shape = (len(rows), len(self.vocabulary))
        return csr_matrix((np.ones(len(indices)), indices, pointers), shape=shape)
