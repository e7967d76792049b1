"""Write the dated corpus that ships, from the texts below, with the parses of a spaCy pipeline.

    python scripts/events_corpus.py PIPELINE

The texts were written for this project. Mentions are in brackets, after the name of their entity. Some
words are there to be hostile to whoever shows them. The parses are as the pipeline gives them, with the
corrections in FIXES.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

from calibrant.structures.documents import Document, Mention
from calibrant.structures.models.parsing import parse

OUTPUT = Path(__file__).resolve().parent.parent / "src" / "calibrant" / "data" / "events.conllu"

TEXTS = {
    "1864-02-03 eider": """
        [army Austrian troops] crossed [river the Eider] at dawn .
        [army They] attacked [town the town] before noon , and [danes the Danish garrison] withdrew .""",
    "1864-02-21 fjord": """
        [ship A Danish frigate] was seen off [coast the coast] .
        [ship It] shelled [fort the fort] for two hours .
        [fishers Fishermen from [village a near village]] watched [ship it] leave .""",
    "1864-04-14 islands": """
        [fleet The Spanish squadron] has seized [isles the Chincha Islands] , which belong to [peru Peru] .
        [fleet It] met no resistance .
        [peru The Peruvian government] has protested .""",
    "1864-04-30 quarrel": """
        [envoy The envoy of [spain Spain]] and [minister the minister of [peru Peru]] met again .
        [envoy He] says that [sailors they] were attacked first .
        Neither would say by whom .""",
    "1864-07-09 harvest": """
        [farmers The farmers of [valley the valley]] have brought in [harvest the harvest] .
        [harvest It] is better than in [year the last year] .""",
    "1865-01-27 treaty": """
        [peru Peru] and [spain Spain] have signed [treaty a treaty] .
        [crowd A crowd] attacked [sailors Spanish sailors] in [port the port] a week later .
        [police The police] say [crowd they] came from [tavern a tavern] .""",
    "1865-09-25 blockade": """
        [fleet Spanish ships] have blockaded [coast the coast of [chile Chile]] .
        [fleet They] bombed no town , but [fleet they] destroyed [hulk an old hulk] .""",
    "1865-11-26 papudo": """
        [corvette A Chilean corvette] attacked [gunboat a Spanish gunboat] off [port the port] .
        [corvette She] flew [flag a British flag] until [corvette she] was near .
        [gunboat The gunboat] struck [colours her colours] .""",
    "1866-02-07 abtao": """
        [fleet Spanish frigates] met [allies the ships of [peru Peru] and [chile Chile]] .
        [allies They] were attacked from afar , and [allies they] fired back .
        Nobody won .""",
    "1866-03-31 valparaiso": """
        [fleet The Spanish fleet] bombarded [city Valparaíso] for three hours .
        [city The city] had no guns .
        [merchants British merchants] say that [fleet it] destroyed [stores their stores] .""",
    "1866-05-02 callao": """
        [fleet The squadron] attacked [port Callao] at noon .
        [batteries The Peruvian batteries] answered , and [batteries they] killed [men many men] .
        [fleet The Spaniards] withdrew in [evening the evening] .""",
    "1866-06-24 custoza": """
        [italy The Italian army] attacked near [place Custoza] .
        [austria The Austrians] attacked [italy it] in turn , and [italy it] fell back .""",
    "1866-07-20 <b>lissa</b>": """
        [fleet An Austrian squadron] attacked [italy the Italian fleet] off [island Lissa] .
        [fleet It] rammed [ship the flagship] , and [ship she] sank .
        [paper A paper] prints : <script>alert("they")</script> & <img src=x onerror=alert(1)> ; '"]]> .""",
    "1866-12-18 leaving": """
        [army French troops] are leaving [mexico Mexico] .
        [rebels The rebels] attacked [army them] on [road the road] .
        [army They] had attacked [villages many villages] before .""",
}
# Document, sentence and word (from 0), lemma: where the pipeline is wrong and it matters.
FIXES = [("blockade", 0, 3, "blockade")]


def marked(text: str) -> tuple[list[str], list[tuple[int, int, str]]]:
    """Words of a sentence, and its mentions with their entities."""
    words: list[str] = []
    open_: list[tuple[int, str]] = []
    found: list[tuple[int, int, str]] = []
    for piece in text.split():
        if re.fullmatch(r"\[[a-z]+", piece):
            open_.append((len(words), piece[1:]))
            continue
        word = piece.rstrip("]") if open_ else piece
        words.append(word)
        for _ in range(len(piece) - len(word)):
            start, entity = open_.pop()
            found.append((start, len(words), entity))
    assert not open_, text
    return words, sorted(found)


def documents() -> list[Document]:
    """The texts, without trees."""
    found = []
    for head, text in TEXTS.items():
        day, _, name = head.partition(" ")
        sentences, mentions, clusters = [], [], []
        for number, line in enumerate(line.strip() for line in text.strip().splitlines()):
            words, spans = marked(line)
            sentences.append(words)
            mentions += [Mention(number, start, end) for start, end, _ in spans]
            clusters += [entity for _, _, entity in spans]
        found.append(Document(name, sentences, mentions, clusters, date=day))
    return found


def brackets(document: Document, sentence: int, word: int) -> str:
    """The value of Entity= at a word: what closes, longest last, and what opens, longest first."""
    there = [
        (mention, entity)
        for mention, entity in zip(document.mentions or (), document.clusters or (), strict=True)
        if mention.sentence == sentence
    ]
    opens = [(mention, entity) for mention, entity in there if mention.start == word]
    opens.sort(key=lambda pair: -pair[0].end)
    text = "".join(f"({entity}" + (")" if mention.end == word + 1 else "") for mention, entity in opens)
    closes = [pair for pair in there if pair[0].end == word + 1 and pair[0].start < word]
    closes.sort(key=lambda pair: -pair[0].start)
    return text + "".join(f"{entity})" for _, entity in closes)


def conllu(document: Document) -> list[str]:
    """The lines of a document."""
    lines = [f"# newdoc id = {document.name}", f"# date = {document.date}"]
    for number, (words, tree) in enumerate(zip(document.sentences, document.trees or (), strict=True)):
        lines.append(f"# text = {' '.join(words)}")
        for place, word in enumerate(words):
            entity = brackets(document, number, place)
            fields = [
                str(place + 1),
                word,
                tree.lemmas[place],
                tree.tags[place],
                "_",
                tree.features[place] or "_",
                str(tree.heads[place]),
                tree.relations[place],
                "_",
                f"Entity={entity}" if entity else "_",
            ]
            lines.append("\t".join(fields))
        lines.append("")
    return lines


def fixed(document: Document) -> Document:
    """The document with its lemmas corrected."""
    trees = list(document.trees or ())
    for name, sentence, word, lemma in FIXES:
        if name == document.name:
            lemmas = list(trees[sentence].lemmas)
            lemmas[word] = lemma
            trees[sentence] = replace(trees[sentence], lemmas=lemmas)
    return replace(document, trees=trees)


def main(pipeline: str) -> None:
    """Write the file."""
    lines = ["# global.Entity = eid"]
    for document in parse(documents(), pipeline):
        lines += conllu(fixed(document))
    OUTPUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
