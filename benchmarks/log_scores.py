"""Time and memory of reading the scores of logs: python benchmarks/log_scores.py [--tasks 60] [--models 3].

Makes samples as lm-evaluation-harness writes them, about 5 KB each, decodes the JSON of one file, reads its
scores, and compares the models of all files in another process.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from calibrant.io.log_scores import read_log_scores

DATE = "2026-11-02T10-11-12.131415"


def main() -> None:
    """Print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("tasks", 60), ("models", 3), ("samples", 500), ("words", 120)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = [
            write_samples(folder / f"model{model}", task, asked.samples, asked.words)
            for model in range(asked.models)
            for task in range(asked.tasks)
        ]
        decode = msgspec.json.Decoder().decode
        result = {
            "bytes": sum(path.stat().st_size for path in made),
            "decode_s": fastest(lambda: decode_lines(made[0], decode)),
            "scores_s": fastest(lambda: read_log_scores(made[0])),
        }
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "calibrant", "compare", name], check=True, stdout=subprocess.DEVNULL
        )
        result["compare_s"] = time.perf_counter() - start
        result["compare_mib"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps({key: round(value, 3) for key, value in result.items()}))


def write_samples(folder: Path, task: int, samples: int, words: int) -> Path:
    """Write the samples of a task; the questions depend on the task alone."""
    folder.mkdir(exist_ok=True)
    path = folder / f"samples_task{task}_{DATE}.jsonl"
    texts, answers = random.Random(task), random.Random(str(path))
    with path.open("w", encoding="utf-8") as file:
        for number in range(samples):
            question = " ".join(f"{texts.getrandbits(28):x}" for _ in range(words))
            options = [f" {texts.getrandbits(90):x}" for _ in "ABCD"]
            answered = [[str(-20 * answers.random()), "False"] for _ in options]
            right = float(answers.random() < 0.6)
            sample = {
                "doc_id": number,
                "doc": {"question": question, "choices": options, "answer": 1},
                "target": "1",
                "arguments": {
                    f"gen_args_{place}": {"arg_0": f"{question}\nAnswer:", "arg_1": option}
                    for place, option in enumerate(options)
                },
                "resps": [[answer] for answer in answered],
                "filtered_resps": answered,
                "filter": "none",
                "metrics": ["acc", "acc_norm"],
                **{f"{part}_hash": f"{hash(question):064x}" for part in ("doc", "prompt", "target")},
                "acc": right,
                "acc_norm": right,
            }
            file.write(json.dumps(sample) + "\n")
    return path


def decode_lines(path: Path, decode: Callable[[bytes], object]) -> None:
    """Decode every line of a file."""
    with path.open("rb") as file:
        for line in file:
            decode(line)


def fastest(call: Callable[[], object]) -> float:
    """Return the shortest of five times in seconds."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
