"""A made-up document with entities: pronouns, names, nested mentions, quotations and speakers."""

from __future__ import annotations

from calibrant.structures.documents import Document, Mention, Tree

TEXT = """[Captain Ahab] came to [the deck of [the old ship]] .
[Starbuck] , [the mate] , saw [him] .
" [I] see [you] , [Captain Ahab] " , said [Starbuck] .
[Ahab] turned to [[his] mate] and [they] looked at [the ship] .
[It] was [Ahab] [himself] who steered [it] ."""
ENTITIES = ["a", "d", "s", "m", "m", "a", "m", "a", "a", "m", "a", "a", "m", "p", "s", "s", "a", "a", "s"]


def read(text: str) -> tuple[list[list[str]], list[Mention]]:
    """Words and bracketed mentions of some lines."""
    sentences, mentions = [], []
    for row, line in enumerate(text.splitlines()):
        words: list[str] = []
        open_at: list[int] = []
        for token in line.split():
            open_at += [len(words)] * (len(token) - len(token.lstrip("[")))
            words.append(token.strip("[]"))
            for _ in range(len(token) - len(token.rstrip("]"))):
                mentions.append(Mention(row, open_at.pop(), len(words)))
        sentences.append(words)
    return sentences, sorted(mentions)


def flat_tree(words: list[str]) -> Tree:
    """A tree in which every word hangs on the last."""
    heads = [len(words)] * (len(words) - 1) + [0]
    relations = ["dep"] * (len(words) - 1) + ["root"]
    return Tree(heads, relations, [""] * len(words), ["NOUN"] * len(words), [""] * len(words))


SENTENCES, MENTIONS = read(TEXT)
DOCUMENT = Document(
    "ship",
    SENTENCES,
    MENTIONS,
    ENTITIES,
    trees=[flat_tree(words) for words in SENTENCES],
    speakers=["", "", "Starbuck", "Ahab", "Ahab"],
)
