"""The protocol on files in CoNLL columns: entities, surface forms, and bad files."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from calibrant.evaluation import (
    Protocol,
    entity_scores,
    entity_sums,
    f_of,
    form_clusters,
    protocol,
    surface_sums,
)
from calibrant.evaluation.pages.page import protocol_page
from calibrant.exceptions import InputError
from tests.quantities import defined

Write = Callable[..., Path]
LABELS = ["O", "B-x", "I-x"]
FILES = ("gold", "one", "two")


def columns(tags: list[str], sentence: list[int], words: list[str]) -> str:
    lines = []
    for place, (tag, word) in enumerate(zip(tags, words, strict=True)):
        lines += (
            ["", f"{word}\t{tag}"] if place and sentence[place] != sentence[place - 1] else [f"{word}\t{tag}"]
        )
    return "\n".join(lines) + "\n"


@pytest.fixture
def evaluation(tmp_path: Path) -> Write:
    """Write 60 sentences, two systems, and what a test changes."""

    def write(
        metrics: str = '["entity_f1", "surface_f1"]', labels: str = str(LABELS), **changed: str
    ) -> Path:
        for name, text in zip(FILES, texts(), strict=True):
            (tmp_path / f"{name}.conll").write_text(changed.get(name, text), encoding="utf-8")
        lines = ["[task]", f"labels = {labels}", "[reference]", 'file = "gold.conll"']
        for name in FILES[1:]:
            lines += ["[[systems]]", f'name = "{name}"', f'file = "{name}.conll"']
        lines += ["[evaluation]", f"metrics = {metrics}", "samples = 200"]
        path = tmp_path / "eval.toml"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


def drawn() -> tuple[list[int], list[str], list[list[str]]]:
    rng = np.random.default_rng(3)
    sentence = np.repeat(np.arange(60), 5)
    words = np.where(rng.random(300) < 0.2, "Ada", [f"w{number}" for number in range(300)])
    gold = rng.choice(LABELS, 300, p=[0.7, 0.2, 0.1])
    systems = [np.where(rng.random(300) < share, gold, "O") for share in (0.9, 0.5)]
    return sentence.tolist(), words.tolist(), [tags.tolist() for tags in (gold, *systems)]


def texts() -> list[str]:
    sentence, words, outputs = drawn()
    return [columns(tags, sentence, words) for tags in outputs]


@pytest.fixture
def found(evaluation: Write) -> Protocol:
    return protocol(evaluation())


def test_scores_and_intervals_are_those_of_the_functions(found: Protocol) -> None:
    sentence, words, outputs = drawn()
    groups = form_clusters(outputs, sentence, words)
    for system, tags in zip(found.systems, outputs[1:], strict=True):
        for name, sums, clusters in (
            ("entity_f1", entity_sums(outputs[0], tags, sentence), sentence),
            ("surface_f1", surface_sums(outputs[0], tags, sentence, words), groups),
        ):
            value = system.values[name]
            assert value == entity_scores(sums, clusters=clusters)["f1"]
            assert value.estimate == pytest.approx(f_of(sums.sum(axis=0)[None])[0])
            assert defined(value.low) < defined(value.estimate) < defined(value.high)


def test_sentences_are_the_units_and_groups_of_them_for_forms(found: Protocol) -> None:
    sentence, words, outputs = drawn()
    entity, surface = found.comparisons
    assert (entity.unit, entity.units) == ("sentence", 60)
    assert (surface.unit, surface.units) == (
        "sentence group",
        len(set(form_clusters(outputs, sentence, words).tolist())),
    )
    assert surface.units < 60
    assert [pair.better for pair in (entity.pairs[0], surface.pairs[0])] == ["one", "one"]
    assert found.notes == ()


def with_documents(text: str, size: int = 3) -> str:
    """Mark a document before every few sentences, as in the files of CoNLL-2003."""
    sentences = text.rstrip("\n").split("\n\n")
    marked = [
        f"-DOCSTART- -X- O\n\n{each}" if not place % size else each for place, each in enumerate(sentences)
    ]
    return "\n\n".join(marked) + "\n"


def test_documents_of_a_reference_in_columns_are_the_units(evaluation: Write, found: Protocol) -> None:
    sentence, words, outputs = drawn()
    document = np.array(sentence) // 3
    marked = protocol(evaluation(gold=with_documents(texts()[0]), one=with_documents(texts()[1])))
    assert [each.unit for each in marked.comparisons] == ["document", "document group"]
    assert marked.comparisons[0].units == 20
    assert marked.reference.items == found.reference.items
    groups = form_clusters(outputs, sentence, words, document)
    for system, tags in zip(marked.systems, outputs[1:], strict=True):
        entities, forms = (
            entity_sums(outputs[0], tags, sentence),
            surface_sums(outputs[0], tags, sentence, words),
        )
        assert system.values["entity_f1"] == entity_scores(entities, clusters=document)["f1"]
        assert system.values["surface_f1"] == entity_scores(forms, clusters=groups)["f1"]


def test_documents_that_only_an_output_marks_are_noted(evaluation: Write) -> None:
    one_each = {name: with_documents(text, 1) for name, text in zip(FILES, texts(), strict=True)}
    assert protocol(evaluation(**one_each)).notes == ()
    (note,) = protocol(evaluation(one=with_documents(texts()[1]))).notes
    assert note.startswith("one names documents and the reference does not, so intervals ignore that items")


def test_few_documents_of_a_score_are_a_warning_of_the_printed_table(evaluation: Write) -> None:
    found = protocol(evaluation('["entity_f1"]', gold=with_documents(texts()[0], 12)))
    for system, note in zip(found.systems, found.scores().notes, strict=True):
        warning = system.values["entity_f1"].warning
        assert warning is not None
        assert "fewer than 30: its interval may cover less" in warning
        assert note == f"{system.name}, entity_f1: {warning}"
        assert note in found.to_text()


def test_a_metric_of_one_type_counts_the_entities_of_this_type_only(evaluation: Write) -> None:
    # Alternate sentences have entities of the type y.
    typed = [
        "\n\n".join(each.replace("-x", "-y") if place % 2 else each for place, each in enumerate(parts))
        for parts in (text.split("\n\n") for text in texts())
    ]
    metrics = '["entity_f1:y", "surface_recall:y"]'
    labels = '["O", "B-x", "I-x", "B-y", "I-y"]'
    found = protocol(evaluation(metrics, labels, **dict(zip(FILES, typed, strict=True))))
    sentence, words, outputs = drawn()
    gold, *systems = (
        np.where(np.array(sentence) % 2, np.char.replace(tags, "-x", "-y"), "O").tolist() for tags in outputs
    )
    groups = form_clusters([gold, *systems], sentence, words)
    for system, tags in zip(found.systems, systems, strict=True):
        entities = entity_scores(entity_sums(gold, tags, sentence), clusters=sentence)
        forms = entity_scores(surface_sums(gold, tags, sentence, words), clusters=groups)
        assert system.values["entity_f1:y"] == entities["f1"]
        assert system.values["surface_recall:y"] == forms["recall"]
    assert [each.metric for each in found.comparisons] == ["entity_f1:y", "surface_recall:y"]
    with pytest.raises(InputError, match="'z', not a type of the task: the types are x, y"):
        protocol(evaluation('["entity_f1:z"]', labels))


def test_few_documents_of_a_difference_are_a_warning_of_the_printed_table(evaluation: Write) -> None:
    found = protocol(evaluation('["entity_f1"]', gold=with_documents(texts()[0], 15)))
    (pair,) = found.comparisons[0].pairs
    (table,) = found.comparisons[0].to_tables()
    warnings = (pair.bootstrap.warning, pair.permutation.warning)
    assert None not in warnings
    assert table.notes == tuple(warnings)
    assert all(f"{warning}" in found.to_text() for warning in warnings)


def test_nothing_is_said_of_the_detectable_difference_of_two_equal_outputs(evaluation: Write) -> None:
    found = protocol(evaluation('["entity_f1"]', two=texts()[1]))
    assert found.comparisons[0].pairs[0].detectable is None
    assert not any("of cases" in finding.text for finding in found.findings)


def test_other_tokens_are_noted_and_aligned_by_place(evaluation: Write, found: Protocol) -> None:
    changed = protocol(evaluation(one=texts()[1].replace("Ada", "Bob")))
    assert changed.systems[0].values == found.systems[0].values
    assert "tokens that differ from the reference" in changed.notes[0]


def test_line_ends_blanks_and_gzip_make_no_difference(
    evaluation: Write, found: Protocol, tmp_path: Path
) -> None:
    path = evaluation(one=texts()[1].replace("\t", " ").replace("\n", "\r\n") + "\r\n\r\n")
    packed = tmp_path / "two.conll.gz"
    packed.write_bytes(gzip.compress((tmp_path / "two.conll").read_bytes()))
    path.write_text(
        path.read_text(encoding="utf-8").replace('"two.conll"', '"two.conll.gz"'), encoding="utf-8"
    )
    assert [each.values for each in protocol(path).systems] == [each.values for each in found.systems]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"one": "Ada B-x\nmet\n"}, "one.conll, line 2: a token has no tag: 'met'"),
        ({"one": "Ada B-x\n\nmet B-y\n"}, "one.conll, line 3: tag 'B-y' is not one of the task's labels"),
        ({"one": "Ada B-x\n"}, "one has no output for 299 of the reference's 300 items, such as 1-2"),
        ({"one": "\n"}, "one.conll"),
        ({"gold": "Ada\t\n"}, "gold.conll, line 1: a token has no tag"),
        ({"labels": '["B-x", "I-x"]'}, "entity_f1 evaluates entities, but the labels lack O"),
        ({"labels": '["O", "B-x", "X"]'}, "entity_f1 evaluates entities, but the labels have 'X'"),
    ],
)
def test_a_bad_file_is_named_in_a_line(evaluation: Write, change: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        protocol(evaluation(**change))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_entities_need_the_tokens_of_the_reference(evaluation: Write, tmp_path: Path) -> None:
    path = evaluation()
    (tmp_path / "gold.csv").write_text("item,label\n1-1,O\n", encoding="utf-8")
    path.write_text(path.read_text(encoding="utf-8").replace("gold.conll", "gold.csv"), encoding="utf-8")
    with pytest.raises(InputError, match="entity_f1 needs the sentences and tokens of the reference"):
        protocol(path)


def test_a_truncated_or_mixed_file_is_refused(evaluation: Write, tmp_path: Path) -> None:
    path = evaluation()
    packed = gzip.compress((tmp_path / "one.conll").read_bytes())
    (tmp_path / "one.conll.gz").write_bytes(packed[: len(packed) // 2])
    path.write_text(
        path.read_text(encoding="utf-8").replace('"one.conll"', '"one.conll.gz"'), encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"one\.conll\.gz"):
        protocol(path)
    (tmp_path / "one.conll.gz").write_bytes(b"PAR1" + bytes(range(256)) * 4)
    with pytest.raises(InputError, match=r"one\.conll\.gz"):
        protocol(path)


def test_sentences_are_called_sentences(evaluation: Write) -> None:
    for metric in ("accuracy", "entity_f1", "surface_f1"):
        found = protocol(evaluation(metrics=f'["{metric}"]'))
        assert found.scores().title.endswith("300 items of 60 sentences, 2 systems")
        assert ("Sentences", "60") in protocol_page(found).steps[1].lines


def conllu(tags: list[str], sentence: list[int], words: list[str], documents: bool = False) -> str:
    """The same in CoNLL-U: comments, a multiword token and an empty node are no tokens."""
    lines: list[str] = []
    for place, (tag, word) in enumerate(zip(tags, words, strict=True)):
        if not place or sentence[place] != sentence[place - 1]:
            start = place
            mark = ["# newdoc id = d"] if documents and sentence[place] % 3 == 0 else []
            lines += ["", *mark, f"# sent_id = s{sentence[place]}", "1-2\tdu" + 8 * "\t_"]
        at = place - start + 1
        lines.append("\t".join([str(at), word, "_", tag, tag.lower(), *"____", "_"]))
    return "\n".join([*lines, f"{at}.1" + 9 * "\t_"]) + "\n"


def universal(path: Path, column: str = "", documents: bool = False) -> Path:
    """Write the files of an evaluation in CoNLL-U, with another column, and return the evaluation."""
    sentence, words, outputs = drawn()
    text = path.read_text(encoding="utf-8")
    for name, tags in zip(FILES, outputs, strict=True):
        (path.parent / f"{name}.conllu").write_text(
            conllu(tags, sentence, words, documents), encoding="utf-8"
        )
        key = f'\nlabel = "{column}"' if column else ""
        text = text.replace(f'"{name}.conll"', f'"{name}.conllu"{key}')
    path.write_text(text, encoding="utf-8")
    return path


def test_conllu_has_the_numbers_of_the_same_tags_in_two_columns(evaluation: Write, found: Protocol) -> None:
    other = protocol(universal(evaluation()))
    assert [each.values for each in other.systems] == [each.values for each in found.systems]
    assert other.reference.documents == found.reference.documents == 60


def test_a_key_names_the_column_of_conllu(evaluation: Write, found: Protocol) -> None:
    labels = str([label.lower() for label in LABELS])
    other = protocol(universal(evaluation('["accuracy"]', labels), "xpos"))
    plain = protocol(evaluation('["accuracy"]'))
    assert [each.values for each in other.systems] == [each.values for each in plain.systems]


def test_documents_of_conllu_are_the_units(evaluation: Write) -> None:
    found = protocol(universal(evaluation('["accuracy"]'), documents=True))
    assert found.reference.documents == 20
    assert found.scores().title.endswith("300 items of 20 documents, 2 systems")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\tO\t", "\tX\t", "one.conllu, line 4: tag 'X' is not one of the task's labels"),
        ("\n\n", "\n", "one.conllu, line 11: the line is not word 6 of a sentence in ten columns"),
        ("\t_\n", "\n", "one.conllu, line 3: the line is not word 1"),
        ('"one.conllu"', '"one.conllu"\nlabel = "tag"', "one.conllu: there is no column 'tag' with tags"),
    ],
)
def test_a_bad_line_of_conllu_is_named(evaluation: Write, old: str, new: str, message: str) -> None:
    path = universal(evaluation())
    for file in (path, path.parent / "one.conllu"):
        file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        protocol(path)
    assert message in str(caught.value)
