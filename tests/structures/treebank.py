"""A small artificial language with trees, for the tests of parsing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from calibrant.structures import TreeText

NOUNS, VERBS = ("dog", "cat", "king", "bird", "Ann"), ("sees", "bites", "likes")


Word = tuple[str, str, int, str]


def treebank(size: int, seed: int = 0, name: str = "small.conllu") -> TreeText:
    """Return sentences such as "the dog sees Ann with the bird .", whose preposition can attach to both."""
    random = np.random.default_rng(seed)
    columns = [list(zip(*_sentence(random), strict=True)) for _ in range(size)]
    sentences, tags, heads, relations = ([list(own[at]) for own in columns] for at in range(4))
    names = [f"s{number}" for number in range(size)]
    documents = [f"d{number // 5}" for number in range(size)]
    return TreeText(sentences, tags, heads, relations, names, documents, name)


def _sentence(random: np.random.Generator) -> list[Word]:
    words: list[Word] = []
    subject = _noun(random, words)
    words.append((str(random.choice(VERBS)), "VERB", 0, "root"))
    verb = len(words)
    thing = _noun(random, words)
    words[subject - 1] = (*words[subject - 1][:2], verb, "nsubj")
    words[thing - 1] = (*words[thing - 1][:2], verb, "obj")
    if random.random() < 0.5:
        words.append(("with", "ADP", 0, "case"))
        place = len(words)
        inner = _noun(random, words)
        words[place - 1] = ("with", "ADP", inner, "case")
        low = random.random() < 0.7  # the rest is uncertain
        words[inner - 1] = (*words[inner - 1][:2], thing if low else verb, "nmod" if low else "obl")
    words.append((".", "PUNCT", verb, "punct"))
    return words


def _noun(random: np.random.Generator, words: list[Word]) -> int:
    """Add a noun, with or without an article, and return its number."""
    if random.random() < 0.5:
        words.append(("the", "DET", len(words) + 2, "det"))
    words.append((str(random.choice(NOUNS)), "NOUN", 0, ""))
    return len(words)


def as_conllu(text: TreeText) -> str:
    """Return a text as CoNLL-U, with a multiword token and an empty node in each sentence."""
    lines, document = [], None
    for place, sentence in enumerate(text.sentences):
        assert text.tags is not None
        assert text.heads is not None
        assert text.relations is not None
        if text.document_ids is not None and text.document_ids[place] != document:
            document = text.document_ids[place]
            lines.append(f"# newdoc id = {document}")
        lines.append(f"# sent_id = {text.sentence_ids[place]}")
        lines.append("1-2\t" + "\t".join(["both", *["_"] * 8]))
        for number, word in enumerate(sentence, 1):
            given = text.tags[place][number - 1], text.heads[place][number - 1]
            relation = text.relations[place][number - 1]
            lines.append(f"{number}\t{word}\t_\t{given[0]}\t_\t_\t{given[1]}\t{relation}\t_\tSpaceAfter=No")
            if number == 1:
                lines.append("1.1\tgone" + "\t_" * 8)
        lines.append("")
    return "\n".join(lines) + "\n"


def write_trees(folder: Path) -> None:
    """Write train.conllu, dev.conllu and test.conllu."""
    for name, size, seed in (("train", 60, 0), ("dev", 60, 1), ("test", 80, 2)):
        (folder / f"{name}.conllu").write_text(as_conllu(treebank(size, seed)), encoding="utf-8")
