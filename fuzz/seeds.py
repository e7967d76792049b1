"""Small sound files to begin with: those of the tests, those that ship, and some written here."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
ARCHIVES = ROOT / "tests" / "archives"
LOGS = ARCHIVES / "logs"
SHIPPED = ROOT / "src" / "calibrant" / "data"
LARGEST = 40_000

TREE = """\
# newdoc id = a
# global.Entity = eid-etype-head-other
# date = 2001-02-03
# meta::genre = news
# sent_id = a-1
# speaker = Ann
# text = The king's men left
1\tThe\tthe\tDET\tDT\tDefinite=Def\t2\tdet\t_\tEntity=(e1-person-2-x(e2-person-1-
2\tking\tking\tNOUN\tNN\tNumber=Sing\t4\tnmod\t_\tEntity=e2)
3-4\tmen's\t_\t_\t_\t_\t_\t_\t_\t_
3\tmen\tman\tNOUN\tNNS\tNumber=Plur|Case=Nom\t4\tnsubj\t_\tEntity=e1)|SpaceAfter=No
4\tleft\tleave\tVERB\tVBD\t_\t0\troot\t0:root\t_
4.1\tgone\tgo\tVERB\tVBN\t_\t_\t_\t4:dep\tEntity=(e3-event-1-)

# newpar
# sent_id = a-2
1\tHe\the\tPRON\tPRP\t_\t2\tnsubj\t_\tEntity=(e1[1/2]-person-1-
2\tslept\tsleep\tVERB\tVBD\t_\t0\troot\t_\t_
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\tEntity=e1[1/2])(e1[2/2]-person-1-)

# newdoc id = b
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_
"""
COLUMNS = """\
#begin document (nw/tale); part 000
nw/tale 0 0 The DT * - - - Ann * (1|(2
nw/tale 0 1 king NN * - - - Ann * 2)
nw/tale 0 2 left VB * - - - Ann * 1)

nw/tale 0 0 He PRP * - - - Bob * (1)|(3)
#end document
#begin document (nw/tale); part 001
nw/tale 1 0 Yes UH * - - - - * -
#end document
"""
ONTONOTES = """\
#begin document (nw/tale); part 000
nw/tale 0 0 The DT (TOP(S(NP* - - - Ann (PERSON* * (1
nw/tale 0 1 king NN *) king - - Ann *) * 1)
nw/tale 0 2 left VBD (VP*))) leave 01 1 Ann * (V*) -

#end document
"""
NOVEL = "#begin document (emma); part 0\nemma\t0\t0\tEmma\t(1)\nemma\t0\t1\tslept\t_\n#end document\n"
POSTERIORS = """\
{"doc": "d1", "mentions": [[0, 0, 1], [1, 0, 1]], "antecedents": [[1], [0.25, 0.75]]}
{"doc": "d4", "mentions": [[0, 0, 1], [1, 2, 4]], "antecedents": [[1], [[0, 0.5], ["new", 0.5]]]}
{"doc": "d2", "mentions": [[0, 0, 1]], "antecedents": [[["new", 1.0]]], "clusters": ["a"]}
{"doc": "d3", "mentions": [], "antecedents": [], "clusters": []}
"""
TAGGED = "-DOCSTART-\tX\n\nI\tPRON\tO\nsee\tVERB\tO\n\nAnn\tPROPN\tB\n"
CHAT = {
    "answer": "A",
    "options": ["A", "B"],
    "custom_id": "q1",
    "task": "t",
    "subject": "s",
    "choices": [
        {
            "logprobs": {
                "content": [
                    {
                        "token": "A",
                        "logprob": -0.2,
                        "top_logprobs": [{"token": "A", "logprob": -0.2}, {"token": "B", "logprob": -2.0}],
                    }
                ]
            }
        }
    ],
    "model": "m",
}
OLD_CHAT = {
    "answer": "B",
    "options": ["A", "B"],
    "choices": [{"logprobs": {"tokens": [" B"], "token_logprobs": [-0.1], "top_logprobs": [{" A": -3.0}]}}],
}
DATED = """\
{"id": "a", "date": "1987-02-26", "text": "Troops attacked the town.", "title": "War"}
{"id": 7, "date": "1987-02-26T15:01", "text": "Rain fell.\\n\\nIt was cold.", "places": []}
"""
PROTOCOL = """\
[task]
name = "Is it kept?"
description = ""
labels = ["keep", "not keep"]
positive = "keep"
budget = 3

[annotators]
file = "annotations.csv"
item = "sentence"

[reference]
rule = "annotator"
annotator = "Ann"

[[systems]]
name = "first"
file = "first.csv"
decision = "threshold"
threshold = 0.25
probability = "p"

[[systems]]
name = "other"
file = "other.csv"
label = "label"

[folds]
file = "folds.csv"
test_train_ratio = 0.25

[evaluation]
metrics = ["accuracy", "f1:keep"]
level = 0.9
alternative = "greater"
baseline = "first"
power = 0.7
samples = 200
seed = 3
distance = "ordinal"
"""


def files(folder: Path, pattern: str) -> Iterator[bytes]:
    """Small files of a folder and its folders."""
    for path in sorted(folder.rglob(pattern)):
        if path.is_file() and path.stat().st_size <= LARGEST:
            yield path.read_bytes()


def zipped(members: dict[str, bytes]) -> bytes:
    """A zip file: here also the shape in which a folder is handed to a target."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


def saved(write: Callable[[Path], Any], name: str) -> bytes:
    """Return the bytes that a writer writes."""
    with TemporaryDirectory() as folder:
        write(Path(folder, name))
        return Path(folder, name).read_bytes()


def conllu() -> Iterator[bytes]:
    """Trees with entities, days, speakers, empty nodes."""
    yield TREE.encode()
    yield gzip.compress(TREE.encode())
    yield b"\n\n".join((SHIPPED / "events.conllu").read_bytes().split(b"\n\n")[:2]) + b"\n"


def tagged() -> Iterator[bytes]:
    """A word and its tags a line; and the other small lists that commands take."""
    yield TAGGED.encode()
    yield TAGGED.replace("\t", " ").encode()
    yield ONTONOTES.encode()
    yield gzip.compress(TAGGED.encode())
    yield b"document\ttest_fold\nemma\t0\nulysses\t1\n"
    yield b"q1\tA\nq2\tB\n"
    yield b"code,name\nIRQ,Iraq\nUSA,United States\nUSA,US*\n"
    yield b"attack\nkill\n"


def coreference() -> Iterator[bytes]:
    """Columns of CoNLL-2012 and of LitBank, trees, distributions over antecedents."""
    yield from (COLUMNS.encode(), ONTONOTES.encode(), NOVEL.encode(), TREE.encode(), POSTERIORS.encode())
    yield gzip.compress(POSTERIORS.encode())


def _tables() -> Iterator[Any]:
    import pyarrow as pa

    score, label = [0.2, 0.9, 0.5, 0.25], [0, 1, 1, 0]
    rest = {
        "class": ["a", "b", "a", "b"],
        "item": [1, 1, 2, 2],
        "cluster": ["x", "x", "y", "y"],
        "weight": [1.0, 2.0, 0.5, 1.0],
    }
    yield pa.table({"score": score, "label": label})
    yield pa.table({"score": score, "label": label, **rest})
    yield pa.table({"label": ["a", "b"], "p_a": [0.3, 0.5], "p_b": [0.7, 0.5], "item": ["1", "2"]})
    yield pa.table({"label": ["a", "b"], "logit_a": [0.3, -5.0], "logit_b": [7.0, 5.0]})


def text_tables() -> Iterator[bytes]:
    """CSV, TSV and JSON lines, packed and not; ratings and results too."""
    import pyarrow.csv as csv

    for table in _tables():
        plain = saved(partial(csv.write_csv, table), "a.csv")
        yield plain
        yield plain.replace(b'"', b"").replace(b",", b"\t")
        lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
        yield lines
        yield gzip.compress(lines)
        yield gzip.compress(plain)
    yield b"# calibrant threshold=0.1\nscore,label\n0.2,0\n0.5,1\n"
    yield b'score,label,item\n0.5,1,"a, ""b""\nc"\n'
    yield b"item,annotator,label,document\n1,Ann,a,d\n1,Bob,b,d\n2,Ann,a,d\n2,Bob,a,d\n"
    yield b"item,system,value,fold\n1,x,0.5,1\n1,y,1,1\n2,x,0,2\n2,y,0.25,2\n"
    yield b'{"tokens": ["a", "b"], "labels": [0, 1], "logits": [[0.1, 0.2], [0.5, -1.5]]}\n'
    yield b'{"token": "a", "logprob": -0.5, "top_logprobs": [{"token": "a", "logprob": -0.5}], "label": 1}\n'
    yield from files(SHIPPED / "summaries", "*.csv")


def binary_tables() -> Iterator[bytes]:
    """Parquet, Arrow IPC as file and as stream, and archives of NumPy arrays."""
    import pyarrow as pa
    from pyarrow import parquet

    tables = list(_tables())
    tables.append(pa.table({"logits": [[[0.1, 0.2], [0.5, -1.5]], [[3.0, 1.0]]], "labels": [[0, 1], [-100]]}))
    tables.append(tables[1].set_column(2, "class", tables[1]["class"].dictionary_encode()))
    for table in tables:
        yield saved(partial(parquet.write_table, table), "a.parquet")
        for make in (pa.ipc.new_file, pa.ipc.new_stream):
            sink = pa.BufferOutputStream()
            with make(sink, table.schema) as writer:
                writer.write_table(table)
            yield bytes(sink.getvalue())
    probs, labels = np.array([[0.3, 0.7], [0.9, 0.1], [0.5, 0.5]]), np.array([1, 0, 1])
    logits = np.log(probs)
    more: dict[str, Any] = {"classes": np.array(["a", "b"]), "clusters": np.array([1, 1, 2])}
    for arrays in (
        {"probs": probs, "labels": labels},
        {"logits": logits, "labels": labels, "weights": np.ones(3), **more},
        {"probs": probs, "labels": labels, "threshold": np.array(0.1)},
        {"predictions": logits[None], "label_ids": np.array([[1, 0, -100]])},
    ):
        yield saved(partial(np.savez_compressed, **arrays), "a.npz")


def logs() -> Iterator[bytes]:
    """Logs of each format, and a saved data set."""
    patterns = (
        "samples_*.jsonl",
        "results_*.json",
        "*.eval",
        "choices.json",
        "results.json*",
        "test_run_1.json",
    )
    for pattern in (*patterns, "run1.jsonl", "quiz.parquet"):
        for data in files(LOGS, pattern):
            yield data if pattern != "samples_*.jsonl" else b"".join(data.splitlines(keepends=True)[:3])
    stats = [{"name": {"name": "exact_match", "split": "test"}, "count": 1, "mean": 1.0}]
    yield json.dumps([{"instance_id": "id1", "train_trial_index": 0, "stats": stats}]).encode()
    names = {"generator_1": "a", "generator_2": "b", "annotator": "c"}
    yield json.dumps([{"instruction": "Sing.", "preference": 1.5, **names}]).encode()
    content = [{"type": "output_text", "text": "A", "logprobs": [{"token": "A", "logprob": -0.1}]}]
    body = {"object": "response", "output": [{"content": content}]}
    yield f"{json.dumps({'custom_id': 'q', 'response': {'body': body}, 'answer': 'A'})}\n".encode()
    token = {"text": "A", "logprob": -0.1}
    details = {"tokens": [token], "top_tokens": [[token]]}
    yield f"{json.dumps({'generated_text': 'A', 'details': details, 'answer': 'A'})}\n".encode()
    listed = {"chosenCandidates": [{"token": "A", "logProbability": -0.1}]}
    yield f"{json.dumps({'candidates': [{'logprobsResult': listed}], 'answer': 'A'})}\n".encode()
    for response in (CHAT, OLD_CHAT):
        yield f"{json.dumps(response)}\n".encode()
        yield f"{json.dumps({'custom_id': 'q', 'response': {'body': response}, 'answer': 'A'})}\n".encode()
    folder = LOGS / "datasets-5.2.0"
    yield zipped({each.name: each.read_bytes() for each in sorted(folder.iterdir())})


def models() -> Iterator[bytes]:
    """Taggers, a parser, and a model of coreference."""
    from calibrant.structures import save_model
    from calibrant.structures.documents import Document, Mention
    from calibrant.structures.models import CoreferenceModel, DependencyModel, HMMTagger

    yield from files(ARCHIVES, "*.model")
    mentions = [Mention(0, 0, 1), Mention(0, 2, 3), Mention(1, 0, 1), Mention(1, 2, 4)]
    sentences = [["Ann", "met", "Eve"], ["She", "hurt", "the", "king"]]
    documents = [Document(name, sentences, mentions, ["a", "b", "a", "c"]) for name in ("d1", "d2")]
    resolver = CoreferenceModel(bits=8, epochs=1).fit(documents)
    yield saved(partial(save_model, resolver), "a.model")
    words, tags = [["I", "see"], ["you", "go"]], [["PRON", "VERB"], ["PRON", "VERB"]]
    yield saved(lambda path: save_model(HMMTagger().fit(words, tags), path, column="upos"), "a.model")
    parser = DependencyModel(bits=8, label_bits=8, epochs=1)
    parser.fit(words, tags, [[2, 0], [2, 0]], [["nsubj", "root"], ["nsubj", "root"]])
    yield saved(partial(save_model, parser), "a.model")


def arcs() -> Iterator[bytes]:
    """Scores of arcs: archives with and without names, JSON lines."""
    random = np.random.default_rng(2)
    given = {f"s{n}": random.normal(size=(n + 1, n)) for n in (1, 2, 4)}
    yield saved(lambda path: np.savez(path, **given), "a.npz")  # type: ignore[arg-type]
    yield saved(lambda path: np.savez_compressed(path, *(own.T for own in given.values())), "a.npz")
    yield "\n".join(
        json.dumps({"id": name, "scores": own.round(2).tolist()}) for name, own in given.items()
    ).encode()
    yield b'{"scores": [[0.4, 1.0, 0], [null, 0.0, 0.5], [0.6, 0, 0.5]]}\n'


def recalibrators() -> Iterator[bytes]:
    """Every method, alone and over groups of classes."""
    from calibrant import recalibrate
    from calibrant.io import save_recalibrator
    from calibrant.recalibrate.methods import METHODS

    random = np.random.default_rng(3)
    score = random.random(60)
    label = random.random(60) < score**2
    classes = [f"T{code}" for code in random.integers(0, 3, 60)]
    rows = random.dirichlet(np.ones(3), 60)
    code = [int(random.choice(3, p=row)) for row in rows]
    found: list[Any] = [
        getattr(recalibrate, method.estimator)().fit(score, label)
        for method in METHODS.values()
        if method.maps != "rows"
    ]
    found.append(
        recalibrate.PerGroup(recalibrate.Isotonic(), [["T0", "T1"], ["T2"]]).fit(score, label, classes)
    )
    found += [
        getattr(recalibrate, method.estimator)().fit(rows, code)
        for method in METHODS.values()
        if method.maps != "scores"
    ]
    for model in found:
        yield saved(partial(save_recalibrator, model), "a.json")


def tallies() -> Iterator[bytes]:
    """Counts of pairs, of both kinds."""
    from calibrant.io import save_tally
    from calibrant.metrics import Tally

    tally = Tally.from_arrays(y_true=[0, 1, 1], y_prob=[0.2, 0.7, 0.9], clusters=["a", "b", "b"])
    yield saved(lambda path: save_tally(tally, path), "a.parquet")
    yield saved(lambda path: save_tally(tally.without_clusters().compress(), path), "a.parquet")
    yield from files(ARCHIVES, "*.parquet")


def monitors() -> Iterator[bytes]:
    """States of monitors: each unit, against both, with restarts and without."""
    import pyarrow as pa

    from calibrant.evaluation import monitor

    random = np.random.default_rng(4)
    score = random.random(60)
    label = (random.random(60) < score**2).astype(int)
    day = [f"2026-11-{1 + place // 20:02}" for place in range(60)]
    table = pa.table(
        {"score": score, "label": label, "day": day, "cluster": [str(k // 4) for k in range(60)]}
    )
    for unit in ("day", "cluster", "item", "dependent-day"):
        for restart, reference in ((False, None), (True, None), (False, "2026-11-01")):
            options: dict[str, Any] = {"unit": unit, "restart": restart, "reference": reference}
            options["against"] = "calibrated" if reference is None else "reference"

            def watched(path: Path, options: dict[str, Any] = options) -> None:
                monitor(table, time="day", state=path, **options)

            yield saved(watched, "a.json")


def protocols() -> Iterator[bytes]:
    """Descriptions of evaluations."""
    yield PROTOCOL.encode()
    yield from files(SHIPPED, "*.toml")


def entities() -> Iterator[bytes]:
    """Tagged tokens, one per line, as they are and packed."""
    text = b"Ada\tB-person\nLovelace\tI-person\n\nShe O\r\nmet O\r\n\r\nBob\tnoun\tB-group\n"
    yield from (text, gzip.compress(text))


def documents() -> Iterator[bytes]:
    """Dated documents, as JSON lines and as trees."""
    yield from (DATED.encode(), TREE.encode())
    yield gzip.compress(DATED.encode())


def document_tables() -> Iterator[bytes]:
    """Dated documents in tables."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    rows = {"id": ["a", "b"], "date": ["2001-09-11", "2001-09-12"], "text": ["They left.", 'He "left".']}
    yield b'id,date,text\na,2001-09-11,"They, left."\nb,2001-09-12,"He ""left""."\n'
    yield b"t;d;i\nThey left.;11.9.2001;a\n"
    days = pa.array([date(2001, 9, 11), date(2001, 9, 12)])
    for table in (pa.table(rows), pa.table({**rows, "date": days, "id": pa.array([1, 2])})):
        yield saved(partial(pq.write_table, table), "a.parquet")


def tensors() -> Iterator[bytes]:
    """Labels, scores and rows of truth values, as PyTorch writes them."""
    for values, kind in (
        (np.array([0, 2, 1], "<i8"), "Long"),
        (np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]], "<f4"), "Float"),
        (np.array([[1, 0, 0], [0, 0, 1]], "|b1"), "Bool"),
    ):
        shape, steps = values.shape, [step // values.itemsize for step in values.strides]
        tuples = [
            b"".join(b"K%c" % each for each in some) + b"\x85\x86"[len(shape) - 1 :][:1]
            for some in (shape, steps)
        ]
        pickled = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x00((X\x07\x00\x00\x00storageq\x01"
        pickled += b"ctorch\n%bStorage\nq\x02X\x01\x00\x00\x000q\x03X\x03\x00\x00\x00cpuq\x04" % kind.encode()
        pickled += b"K%ctq\x05QK\x00" % values.size + b"".join(tuples)
        pickled += b"\x89ccollections\nOrderedDict\n)RtR."
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w") as archive:
            for name, data in (("data.pkl", pickled), ("data/0", values.tobytes()), ("version", b"3\n")):
                archive.writestr(f"archive/{name}", data)
        yield sink.getvalue()


def published() -> Iterator[bytes]:
    """A table of results, and tag counts."""
    groups = [
        f"group{place}_{part}" for place in range(5) for part in ("rmse_uncal", "rmse_cal", "num_scores")
    ]
    header = ["technique", *groups, "collective_pre", "collective_post", "numel"]
    names = ("histogram_binning", "isotonic_regression", "isotonic_scaling_binning")
    rows = [[name, *["0.02", "0.01", "30"] * 6] for name in names]
    yield "".join(",".join(row) + "\r\n" for row in (header, *rows)).encode()
    yield b'{"N": 12, "N/N": 7, "<UNKNOWN>": 0}'


def ontonotes() -> Iterator[bytes]:
    """A document of the Wall Street Journal with constituents, plain and in gzip."""
    text = ONTONOTES.replace("nw/tale", "nw/wsj/00/wsj_0001")
    yield text.encode()
    yield gzip.compress(text.encode())


def treebank() -> Iterator[bytes]:
    """Trees with brackets for words, and traces."""
    yield b"( (S (NP-SBJ-1 (NNP Ann) (-LRB- -LRB-)) (VP (VBD left) (NP (-NONE- *-1)))))\n( (INTJ (UH Yes)))\n"


def news() -> Iterator[bytes]:
    """An article, and an archive of it."""
    article = (
        b'<?xml version="1.0" encoding="UTF-8"?>\n<nitf><head><docdata><doc-id id-string="7"/>'
        b'<identified-content><classifier class="online_producer">Top/News/World</classifier>'
        b'</identified-content></docdata><pubdata date.publication="19900803T000000"/></head><body>'
        b'<body.head><hedline><hl1>Troops</hl1></hedline></body.head><body.content><block class="full_text">'
        b"<p>Iraq <i>attacked</i>.</p></block></body.content></body></nitf>\n"
    )
    yield article
    for mode in ("w:gz", "w"):
        sink = io.BytesIO()
        with tarfile.open(fileobj=sink, mode=mode) as archive:
            member = tarfile.TarInfo("03/7.xml")
            member.size = len(article)
            archive.addfile(member, io.BytesIO(article))
        yield sink.getvalue()


def stores() -> Iterator[bytes]:
    """A store of events, its folder as a zip file."""
    from calibrant.events import StoredCount, StoredDocument, StoredEvidence, StoreWriter

    counts = [StoredCount("IRQ", 0.5, True, b"\x0f\x01"), StoredCount("USA", 0.1, False, b"\x01\x00")]
    evidence = [StoredEvidence("IRQ", "attack", 0.5, 0, 0, 5, 1, 9, 12)]
    made = [
        StoredDocument("a", date(2001, 2, 3), False, counts, evidence, "", "Troops attacked. Rain fell."),
        StoredDocument("b", date(2001, 2, 4), True),
        StoredDocument("c", date(2001, 2, 4)),
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder, "store")
        settings = {"samples": 10, "with_text": True, "rules": "default"}
        with StoreWriter(path, settings, part=2) as writer:
            for document in made:
                writer.write(document)
            writer.finish()
        found = sorted(each for each in path.rglob("*") if each.is_file() and not each.name.startswith("."))
        yield zipped({str(each.relative_to(path)): each.read_bytes() for each in found})
