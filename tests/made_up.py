"""Made-up texts that the tests and the goldens train taggers and coreference models on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from calibrant.data import dated_documents

COPIES = 12


def write_tagged(folder: Path) -> None:
    """Write texts in a made-up language: train, dev and test, as ``.tsv`` and as ``.conllu``.

    Tags follow each other by chance, words follow tags. The test text has a tag that training has not, and
    documents of four sentences.
    """
    random = np.random.default_rng(8)
    names = ["N", "V", "D"]
    follow = random.dirichlet([1, 1, 1], 3)
    words = random.dirichlet(np.full(60, 0.3), 3)
    for part, count in (("train", 120), ("dev", 40), ("test", 60)):
        table, tree = [], []
        for number in range(count):
            if part == "test" and number % 4 == 0:
                tree.append(f"# newdoc id = d{number // 4}")
            tag = 0
            for place in range(1, int(random.integers(2, 12))):
                tag = int(random.choice(3, p=follow[tag]))
                word, name = f"w{random.choice(60, p=words[tag])}", names[tag]
                if part == "test" and number % 20 == 0 and place == 1:
                    word, name = "new", "X"
                table.append(f"{word}\t{name}")
                tree.append(f"{place}\t{word}\t_\t{name}\t{names[tag].lower()}{tag}\t_\t_\t_\t_\t_")
            table.append("")
            tree.append("")
        (folder / f"{part}.tsv").write_text("\n".join(table) + "\n", encoding="utf-8")
        (folder / f"{part}.conllu").write_text("\n".join(tree) + "\n", encoding="utf-8")


def write_narrated(folder: Path) -> None:
    """Write made-up stories with entities: train, dev and test, as ``.conll`` and as ``.conllu``.

    People are named, then called by name, pronoun or role. The CoNLL-U has trees, in which every mention can
    be detected.
    """
    random = np.random.default_rng(9)
    people = {"Ann": ("She", "queen"), "Bob": ("He", "king"), "Eve": ("She", "nurse"), "Tom": ("He", "boy")}
    for part, count in (("train", 30), ("dev", 12), ("test", 12)):
        columns, trees = [], ["# global.Entity = eid"]
        for number in range(count):
            name = f"{part}-{number}"
            columns.append(f"#begin document ({name}); part 000")
            trees.append(f"# newdoc id = {name}")
            before = ""
            for _ in range(int(random.integers(3, 9))):
                who = str(random.choice(list(people)))
                code = list(people).index(who)
                role = people[who][1]
                form = random.random()
                if form < 0.35 and before:
                    who, code = before, list(people).index(before)
                    words = [(people[who][0], "PRON", 2, "nsubj", f"({code})")]
                elif form < 0.6:
                    words = [("The", "DET", 2, "det", f"({code}"), (role, "NOUN", 3, "nsubj", f"{code})")]
                else:
                    words = [(who, "PROPN", 2, "nsubj", f"({code})")]
                words.append((str(random.choice(["left", "slept", "sang"])), "VERB", 0, "root", ""))
                words.append((".", "PUNCT", len(words), "punct", ""))
                before = who
                for place, (word, tag, head, relation, entity) in enumerate(words):
                    columns.append(f"{name}\t0\t{place}\t{word}\t{entity or '-'}")
                    misc = f"Entity={entity}" if entity else "_"
                    trees.append(f"{place + 1}\t{word}\t{word}\t{tag}\t_\t_\t{head}\t{relation}\t_\t{misc}")
                columns.append("")
                trees.append("")
            columns.append("#end document")
        (folder / f"{part}.conll").write_text("\n".join(columns) + "\n", encoding="utf-8")
        (folder / f"{part}.conllu").write_text("\n".join(trees) + "\n", encoding="utf-8")


def write_copies(path: Path) -> Path:
    """Write the dated documents that ship with the package a dozen times, under other names."""
    head, _, body = dated_documents().read_text(encoding="utf-8").partition("\n")
    copies = [body.replace("newdoc id = ", f"newdoc id = {copy}-") for copy in range(COPIES)]
    path.write_text(head + "\n" + "".join(copies), encoding="utf-8")
    return path
