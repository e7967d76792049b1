"""Events from dated documents: the store says what the library says of each document, however it was made."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.data import dated_documents, event_store
from calibrant.events import RULES, EventStore, count, default_lexicon, document_samples, extract_events
from calibrant.events.counting import candidates
from calibrant.events.files.dated import iter_dated
from calibrant.events.rules import Rules
from calibrant.events.verbs.worker import Extraction, Extractor
from calibrant.exceptions import InputError, MissingExtraError
from calibrant.structures import read_documents, save_model, train_coreference
from calibrant.structures.models import CoreferenceModel
from tests.made_up import COPIES

NURSERY = """
import os, random, signal, sys, time
from pathlib import Path
from calibrant.events.files import store_writing
from calibrant.events import extract_events

docs, folder, model, times = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
parts = folder / "documents"
fsync = os.fsync

def slowly(number):
    fsync(number)
    time.sleep(0.005)

def forked():
    child = os.fork()
    if not child:
        os.fsync = slowly
        extract_events(docs, folder, coref=model, part=4, samples=20)
        os._exit(0)
    return child

extract_events(docs, folder.with_name("warm"), coref=model, samples=20)
chance = random.Random(times)
inside = 0
for _ in range(times):
    left = set(parts.glob(".part-*.tmp"))
    child = forked()
    wanted = len(list(parts.glob("*.parquet"))) + chance.randint(0, 1)
    while len(list(parts.glob("*.parquet"))) < wanted:
        time.sleep(0.0005)
    if chance.random() < 0.5:
        time.sleep(chance.random() * 0.03)
    else:  # however slow the processor is
        while set(parts.glob(".part-*.tmp")) <= left:
            time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    inside += len(set(parts.glob(".part-*.tmp")) - left)
print(inside, os.waitpid(forked(), 0)[1])
"""


def shuffled(path: Path, output: Path) -> Path:
    head, *documents = path.read_text(encoding="utf-8").split("# newdoc")
    random.Random(4).shuffle(documents)
    output.write_text(head + "".join(f"# newdoc{each}" for each in documents), encoding="utf-8")
    return output


def test_the_store_says_what_the_library_says_of_each_document(tmp_path: Path, coref: Path) -> None:
    found = extract_events(dated_documents(), tmp_path / "s", coref=coref, seed=5, with_text=True)
    assert (found.documents, found.skipped, found.kept) == (14, 1, 0)
    stored = {each.id: each for each in EventStore(tmp_path / "s").documents()}
    model = Extractor(settings(coref)).model
    matched = 0
    for document in read_documents(dated_documents()):
        posterior = model.posterior([document])
        expected = document_samples(document, posterior, default_lexicon(), RULES["default"], 100, seed=5)
        best_found = candidates(document, default_lexicon(), RULES["default"])
        best = count(best_found, posterior.clusters_of(posterior.best_antecedents()))[0] > 0
        sure = {code for code, is_there in zip(best_found.countries, best, strict=True) if is_there}
        each = stored[document.name]
        matched += bool(each.counts)
        assert {one.country for one in each.counts} == {*expected.countries, *sure}
        for one in each.counts:
            bits = np.unpackbits(np.frombuffer(one.samples, np.uint8), bitorder="little", count=100)
            place = expected.countries.index(one.country) if one.country in expected.countries else None
            assert (bits == (expected.bits[:, place] if place is not None else 0)).all()
            assert one.probability == bits.mean()
            assert one.best == (one.country in sure)
        labels = [*posterior.sample(100, seed=5), posterior.clusters_of(posterior.best_antecedents())]
        numbers = count(best_found, np.stack(labels))
        assert each.entities is not None or not each.counts
        for one, entities in zip(each.counts, each.entities or (), strict=True):
            assert list(entities) == numbers[:, best_found.countries.index(one.country)].tolist()
    assert matched == found.matched >= 10


def test_a_run_names_the_model_and_its_training_texts(tmp_path: Path, coref: Path) -> None:
    found = extract_events(dated_documents(), tmp_path / "unnamed", coref=coref)
    assert found.coref == str(coref)
    assert found.trained_on == "unknown texts"
    assert "was trained on unknown texts" in found.notes[0]
    about, named = "A war at sea", tmp_path / "named.model"
    train_coreference(dated_documents(), output=named, epochs=1, about=about)
    found = extract_events(dated_documents(), tmp_path / "named", coref=named)
    assert found.trained_on == about
    assert f"{named} was trained on {about}. On other kinds of text" in found.notes[0]
    sources = EventStore(tmp_path / "named").manifest.sources
    assert (sources["coref"], sources["coref trained on"]) == (str(named), about)


def test_the_model_of_fiction_that_ships_says_how_to_get_one_for_news(tmp_path: Path) -> None:
    found = extract_events(dated_documents(), tmp_path / "s")
    assert (found.coref, found.trained_on) == (
        "litbank",
        "LitBank: 80 works of English fiction, 1719 to 1922",
    )
    assert "On news" in found.notes[0]
    assert "calibrant data train" in found.notes[0]


def test_evidence_points_at_the_words_of_the_text(tmp_path: Path, coref: Path) -> None:
    extract_events(dated_documents(), tmp_path / "s", coref=coref, with_text=True)
    document = EventStore(tmp_path / "s").document("papudo")
    assert document is not None
    assert document.text is not None
    surest = document.evidence[0]
    assert document.text[surest.mention_from : surest.mention_to] == "A Chilean corvette"
    assert document.text[surest.agent_from : surest.agent_to] == "A Chilean corvette"
    assert (surest.country, surest.verb, surest.probability) == ("CHL", "attack", 1.0)
    shares = [each.probability for each in document.evidence]
    assert shares == sorted(shares, reverse=True)


def test_without_being_asked_no_text_is_stored(tmp_path: Path, coref: Path) -> None:
    extract_events(dated_documents(), tmp_path / "s", coref=coref)
    assert all(each.text is None and each.title is None for each in EventStore(tmp_path / "s").documents())
    stored = b"".join(file.read_bytes() for file in (tmp_path / "s").rglob("*") if file.is_file())
    assert b"corvette" not in stored


def settings(model: Path, **changes: Any) -> Extraction:
    plain = Extraction(str(model), None, None, RULES["default"], samples=50, seed=0, with_text=True)
    return replace(plain, **changes)


@pytest.mark.parametrize("rules", RULES.values(), ids=lambda rules: rules.name)
def test_skipping_changes_nothing(many: Path, coref: Path, rules: Rules) -> None:
    quick, slow = (Extractor(settings(coref, rules=rules, skip=skip)) for skip in (True, False))
    skipped = 0
    for item in iter_dated(many):
        found, wanted = quick.stored(item), slow.stored(item)
        assert replace(found, skipped=False) == wanted
        skipped += found.skipped
        assert not (found.skipped and wanted.counts)
    assert skipped >= COPIES


def test_skipping_changes_nothing_for_raw_text(data: Path, coref: Path) -> None:
    pytest.importorskip("spacy")
    parser = os.environ.get("CALIBRANT_MODELS")
    if not parser:
        pytest.skip("needs a parser: set CALIBRANT_MODELS to the folder that holds one")
    settings_of = [
        settings(coref, parser=f"{parser}/en_ud_ewt_gum", samples=20, skip=skip) for skip in (True, False)
    ]
    quick, slow = map(Extractor, settings_of)
    texts = iter_dated(data / "current-events" / "documents.jsonl.gz")
    chosen = [item for place, item in enumerate(texts) if place % 97 == 0 and place < 97 * 150]
    results = [(quick.stored(item), slow.stored(item)) for item in chosen]
    assert all(replace(found, skipped=False) == wanted for found, wanted in results)
    assert 0 < sum(found.skipped for found, _ in results) < len(results)


def test_order_parts_and_threads_change_nothing(tmp_path: Path, many: Path, coref: Path) -> None:
    def digest(name: str, documents: Path, **how: Any) -> str:
        found = extract_events(documents, tmp_path / name, coref=coref, samples=20, **how)
        assert found.documents == 14 * COPIES
        return EventStore(tmp_path / name).digest()

    whole = digest("a", many)
    assert digest("b", shuffled(many, tmp_path / "shuffled.conllu"), part=9) == whole
    with ThreadPoolExecutor(3) as pool:
        assert digest("c", many, executor=pool) == whole
    assert digest("d", many, seed=1) != whole


@pytest.mark.slow
def test_three_processes_change_nothing(tmp_path: Path, many: Path, coref: Path) -> None:
    for name, workers in (("a", 1), ("b", 3)):
        extract_events(many, tmp_path / name, coref=coref, samples=20, workers=workers, part=10)
    assert EventStore(tmp_path / "a").digest() == EventStore(tmp_path / "b").digest()
    parts = [sorted((tmp_path / name / "documents").glob("*.parquet")) for name in "ab"]
    assert [part.read_bytes() for part in parts[0]] == [part.read_bytes() for part in parts[1]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are copies")
@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_run_killed_again_and_again_makes_the_same_store(
    tmp_path: Path, many: Path, coref: Path, times: int
) -> None:
    command = [sys.executable, "-c", NURSERY, str(many), str(tmp_path / "s"), str(coref), str(times)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    inside, last = map(int, done.stdout.split())
    assert last == 0, done.stderr
    assert inside or times < 20, "no kill met a part that was being written"
    store = EventStore(tmp_path / "s")
    assert store.document_count == 14 * COPIES
    assert store.manifest.finished
    assert store.digest() == EventStore(tmp_path / "warm").digest()
    assert not list((tmp_path / "s" / "documents").glob("*.damaged")), "a part was neither whole nor absent"


def test_a_grown_corpus_is_added_to_the_store(tmp_path: Path, many: Path, coref: Path) -> None:
    extract_events(dated_documents(), tmp_path / "s", coref=coref)
    found = extract_events(many, tmp_path / "s", coref=coref)
    assert (found.documents, found.kept) == (14 * COPIES, 0)
    assert EventStore(tmp_path / "s").document_count == 14 * (COPIES + 1)
    again = extract_events(many, tmp_path / "s", coref=coref)
    assert again.kept == 14 * COPIES
    same = ("documents", "skipped", "matched", "countries", "notes")
    assert [getattr(again, name) for name in same] == [getattr(found, name) for name in same]
    assert min(again.skipped, again.matched, again.countries) > 0


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({"samples": 50}, "samples is 100 in the store and 50 in this run"),
        ({"seed": 3}, "seed is 0 in the store and 3 in this run"),
        ({"rules": "paper"}, "another rules"),
        ({"verbs": ["attack", "raid"]}, "another rules"),
        ({"with_text": True}, "with_text is False in the store and True in this run"),
        ({"possessive_endings": False}, "another possessive_endings"),
    ],
    ids=str,
)
def test_other_settings_are_not_mixed(
    tmp_path: Path, coref: Path, changed: dict[str, Any], wanted: str
) -> None:
    extract_events(dated_documents(), tmp_path / "s", coref=coref)
    with pytest.raises(InputError, match=wanted):
        extract_events(dated_documents(), tmp_path / "s", coref=coref, **changed)


def test_stores_by_the_paper_s_rules_can_be_gone_on_with(tmp_path: Path, coref: Path) -> None:
    extract_events(dated_documents(), tmp_path / "s", coref=coref, rules="paper")
    shipped = EventStore(event_store("reuters-21578-paper")).manifest
    assert EventStore(tmp_path / "s").manifest.settings["rules"] == shipped.settings["rules"]


def test_another_model_or_lexicon_is_not_mixed(tmp_path: Path, coref: Path) -> None:
    extract_events(dated_documents(), tmp_path / "s", coref=coref)
    copied = tmp_path / "moved.model"
    copied.write_bytes(coref.read_bytes())
    extract_events(dated_documents(), tmp_path / "s", coref=copied)  # the same model under another name
    other = tmp_path / "other.model"
    save_model(CoreferenceModel(bits=10, least=1, epochs=1).fit(read_documents(dated_documents())), other)
    with pytest.raises(InputError, match="another coref"):
        extract_events(dated_documents(), tmp_path / "s", coref=other)
    lexicon = tmp_path / "own.csv"
    lexicon.write_text("code,name\nCHL,Chilean\nPER,Chilean\n")
    with pytest.raises(InputError, match="another lexicon"):
        extract_events(dated_documents(), tmp_path / "s", coref=coref, lexicon=lexicon)
    found = extract_events(dated_documents(), tmp_path / "t", coref=coref, lexicon=lexicon)
    assert found.notes[1:] == ("the lexicon gives 'Chilean' to CHL and PER; it counts for CHL",)
    assert EventStore(tmp_path / "t").counts().countries == ("CHL",)


def test_the_verbs_asked_for_are_the_ones_that_count(tmp_path: Path, coref: Path) -> None:
    verbs = tmp_path / "verbs.txt"
    verbs.write_text("bombard\n")
    found = extract_events(dated_documents(), tmp_path / "s", coref=coref, verbs=verbs)
    assert found.verbs == ("bombard",)
    assert EventStore(tmp_path / "s").counts().names == ("valparaiso",)


def test_a_verb_that_is_mostly_a_noun_is_noted_only_if_it_was_asked_for(tmp_path: Path, coref: Path) -> None:
    text = dated_documents().read_text(encoding="utf-8")
    cut = text.index("# newdoc id = callao")
    lines = [line.split("\t") for line in text[cut:].split("\n")]
    asked = [line for line in lines if len(line) == 10 and line[2] == "attack"]
    assert asked
    for line in asked:
        line[3] = "NOUN"
    file = tmp_path / "nouns.conllu"
    file.write_text(text[: text.index("# newdoc")] + "\n".join(map("\t".join, lines)), encoding="utf-8")
    found = extract_events(file, tmp_path / "s", coref=coref, samples=20, verbs=["attack", "kill"])
    times = len(asked)
    assert found.notes[-1] == f"attack is a noun in 100 % of {times:,} occurrences; only verbs count"
    found = extract_events(file, tmp_path / "t", coref=coref, samples=20)
    assert not any("noun" in note for note in found.notes)


def raw(folder: Path, text: str = "They attacked Peru.") -> Path:
    file = folder / "docs.jsonl"
    file.write_text(json.dumps({"id": "a", "date": "1866-05-02", "text": text}) + "\n")
    return file


def test_raw_text_needs_the_english_models_or_a_pipeline(
    tmp_path: Path, coref: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "calibrant_english", None)
    with pytest.raises(MissingExtraError, match=r"raw text needs the English models.*`parser`.*events"):
        extract_events(raw(tmp_path), tmp_path / "s", coref=coref)
    assert not (tmp_path / "s").exists()
    pytest.importorskip("spacy")
    with pytest.raises(InputError, match="the spaCy pipeline does not exist"):
        extract_events(raw(tmp_path), tmp_path / "u", coref=coref, parser="no_such_parser")


def test_bad_documents_stop_the_run_before_anything_is_made(tmp_path: Path, coref: Path) -> None:
    file = raw(tmp_path)
    file.write_text(file.read_text() * 2)
    with pytest.raises(InputError, match="two documents have the id"):
        extract_events(file, tmp_path / "s", coref=coref)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("samples", [1, 2, 19])
def test_samples_too_few_for_intervals_are_refused_before_anything_is_written(
    tmp_path: Path, samples: int
) -> None:
    with pytest.raises(InputError, match=f"samples is {samples}: give a whole number of at least 20"):
        extract_events(dated_documents(), tmp_path / "s", samples=samples)
    assert not (tmp_path / "s").exists()


def test_documents_with_the_text_of_another_are_noted(tmp_path: Path, coref: Path) -> None:
    text = Path(dated_documents()).read_text()
    whole = text[text.index("# newdoc") :].split("# newdoc")[1:3]
    again = [each.replace(" id = ", " id = again-", 1) for each in whole]
    docs = tmp_path / "docs.conllu"
    head = text[: text.index("# newdoc")]
    docs.write_text(head + "".join(f"# newdoc{each}" for each in (*whole, *again)))
    found = extract_events(docs, tmp_path / "store", coref=coref, samples=20)
    note = "2 documents have the same text as an earlier one; each counts separately: "
    (noted,) = [each for each in found.notes if note in each]
    assert noted.count("again-") == 2
    pytest.importorskip("spacy")
    (tmp_path / "empty.jsonl").write_text(
        "".join(f'{{"id": {number}, "date": "2003-03-01", "text": ""}}\n' for number in range(3))
    )
    found = extract_events(tmp_path / "empty.jsonl", tmp_path / "none", coref=coref)
    assert not any("same text" in each for each in found.notes)
    assert any(each.startswith("3 documents have no text, and so no events") for each in found.notes)


def test_labels_of_an_unknown_scheme_are_named_with_the_document(tmp_path: Path, coref: Path) -> None:
    text = dated_documents().read_text(encoding="utf-8")
    cut = text.index("# newdoc id = callao")
    lines = [line.split("\t") for line in text[cut:].split("\n")]
    for line in lines:
        if len(line) == 10:
            line[7] = "SUBJ"
    file = tmp_path / "odd.conllu"
    file.write_text(text[:cut] + "\n".join("\t".join(line) for line in lines), encoding="utf-8")
    with pytest.raises(InputError, match=r"document 'callao': the dependency labels \(SUBJ\)"):
        extract_events(file, tmp_path / "s", coref=coref)


def test_tags_of_another_scheme_are_refused_since_no_word_would_be_a_verb(
    tmp_path: Path, coref: Path
) -> None:
    text = dated_documents().read_text(encoding="utf-8")
    file = tmp_path / "penn.conllu"
    file.write_text(text.replace("\tVERB\t", "\tVBD\t"), encoding="utf-8")
    extract_events(file, tmp_path / "s", coref=coref, samples=20)  # most are known
    lines = [line.split("\t") for line in text.split("\n")]
    for line in lines:
        if len(line) == 10:
            line[3] = f"{line[3]}X"
    file.write_text("\n".join(map("\t".join, lines)), encoding="utf-8")
    with pytest.raises(InputError, match=r"document '\w+': the tags \(\w+, .*\) are not the parts of speech"):
        extract_events(file, tmp_path / "t", coref=coref, samples=20)


def test_a_file_that_is_no_file_of_documents_says_what_is_read(tmp_path: Path, coref: Path) -> None:
    file = tmp_path / "story.txt"
    file.write_text("Peru attacked.")
    with pytest.raises(InputError, match=r"no file of documents: give a folder of \.txt files"):
        extract_events(file, tmp_path / "s", coref=coref)


def test_a_dask_scheduler_needs_dask(tmp_path: Path, coref: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match="needs Dask"):
        extract_events(dated_documents(), tmp_path / "s", coref=coref, executor="tcp://127.0.0.1:1")


def test_memory_does_not_hold_the_documents(tmp_path: Path, coref: Path, monkeypatch: Any) -> None:
    """Only a few batches are read ahead of what was written."""
    from calibrant.events.verbs import extraction as event_extraction

    item = next(iter_dated(dated_documents()))
    taken, most = 0, 0
    written: list[str] = []

    def endless(*_: Any, **__: Any) -> Any:
        nonlocal taken
        for number in range(400):
            taken += 1
            yield replace(item, id=str(number))

    def note(stage: str, done: int, total: int | None) -> None:
        nonlocal most
        most = max(most, taken - done)
        written.append(stage)

    monkeypatch.setattr(event_extraction, "iter_unread", endless)
    monkeypatch.setattr(event_extraction, "BATCH", 16)
    with ThreadPoolExecutor(2) as pool:
        extract_events(
            dated_documents(),
            tmp_path / "s",
            coref=coref,
            executor=pool,
            workers=2,
            progress=note,
            samples=20,
        )
    assert len(written) == 25
    assert most <= 16 * 4 * 2


def test_the_model_that_ships_goes_by_its_name(tmp_path: Path) -> None:
    found = extract_events(dated_documents(), tmp_path / "s")
    assert found.matched >= 8
    with pytest.raises(InputError, match=r"an included model: .*litbank"):
        extract_events(dated_documents(), tmp_path / "t", coref="litbonk")


def test_documents_that_changed_since_the_store_was_made_are_kept_and_noted(
    tmp_path: Path, coref: Path
) -> None:
    text = Path(dated_documents()).read_text()
    docs, store = tmp_path / "docs.conllu", tmp_path / "store"
    docs.write_text(text)
    before = extract_events(docs, store, coref=coref, samples=20)
    assert not any(
        "differ" in each
        for each in (*before.notes, *extract_events(docs, store, coref=coref, samples=20).notes)
    )
    day = text.index("# date = ") + len("# date = ")
    docs.write_text(f"{text[:day]}1931{text[day + 4 :]}")
    again = extract_events(docs, store, coref=coref, samples=20)
    assert again.kept == before.documents
    assert [each for each in again.notes if each.startswith("1 document differs from the store in date")]
