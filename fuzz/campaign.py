"""``make fuzz NAME=conllu SECONDS=600``: fuzz one reader, and say what came of it.

Inputs that reached something new stay in ``.cache/fuzz/NAME/corpus``, what was found in
``.cache/fuzz/NAME/findings``, and each run adds a line to ``.cache/fuzz/log.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORKER = ROOT / "fuzz" / "worker.py"
CACHE = ROOT / ".cache" / "fuzz"
NAMES = ("conllu", "tagged", "coreference", "arcs", "text-tables", "binary-tables", "logs", "models",
         "recalibrators", "tallies", "monitors", "protocol", "entities", "documents", "document-tables",
         "stores", "tensors", "published", "ontonotes", "treebank", "news")  # fmt: skip
STATUS = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+) corp: (\d+)")


def fuzz(name: str, seconds: int) -> dict[str, int | str]:
    """Fuzz a reader for so long; a process that dies is a finding, and another takes over."""
    corpus, findings = CACHE / name / "corpus", CACHE / name / "findings"
    folder = Path("/dev/shm" if Path("/dev/shm").is_dir() else "/tmp", f"calibrant-fuzz-{name}")
    for each in (corpus, findings, folder):
        each.mkdir(parents=True, exist_ok=True)
    before = {path.name for path in findings.glob("*.bin")}
    runs = coverage = crashes = 0
    end = time.monotonic() + seconds
    while (left := int(end - time.monotonic())) > 0:
        command = [
            sys.executable,
            str(WORKER),
            name,
            str(folder),
            str(corpus),
            str(findings),
        ]
        options = [f"-max_total_time={left}", f"-artifact_prefix={findings}/"]
        process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True, errors="replace")
        assert process.stderr is not None
        last = 0
        tail: list[str] = []
        for line in process.stderr:
            tail = [*tail[-40:], line]
            found = STATUS.match(line)
            if found:
                last, coverage = int(found[1]), max(coverage, int(found[2]))
            if line.startswith("FOUND") or (found and "pulse" in line):
                print(line.rstrip(), flush=True)
        runs += last
        if process.wait():
            crashes += 1
            kept = findings / f"crash-{int(time.time())}"
            kept.with_suffix(".txt").write_text("".join(tail))
            shutil.copytree(folder, kept)  # the last input
            print(f"the process ended with {process.returncode}", "".join(tail[-12:]), flush=True)
            if not last:
                break
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "name": name,
        "seconds": round(seconds - max(0, end - time.monotonic())),
        "processor_seconds": round(used.ru_utime + used.ru_stime),
        "executions": runs,
        "coverage": coverage,
        "corpus": len(list(corpus.iterdir())),
        "crashes": crashes,
        "findings": len({path.name for path in findings.glob("*.bin")} - before),
        "day": time.strftime("%Y-%m-%d %H:%M"),
    }


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--seconds", type=int, default=600)
    given = parser.parse_args()
    found = fuzz(given.name, given.seconds)
    with (CACHE / "log.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(found) + "\n")
    print(json.dumps(found))
    sys.exit(bool(found["findings"] or found["crashes"]))


if __name__ == "__main__":
    main()
