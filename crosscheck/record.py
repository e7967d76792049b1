"""Record of the comparisons: rows, the record, and the tables of its page."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from calibrant_studies._base import markdown
from crosscheck.comparison import TOLERANCE, Case, Comparison

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "docs" / "peers.json"
PAGE = ROOT / "docs" / "peers.md"
TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
KEY = ("peer", "theirs", "ours", "input")
SOLVER = 1e-6  # difference, below which a verdict may depend on the processor


@dataclass(frozen=True)
class Peer:
    """A library to be compared with: its distribution, what it is imported as, and our modules of cases.

    A peer of another environment runs only there, where the other libraries have other versions.
    """

    name: str
    package: str
    modules: tuple[str, ...]
    environment: str = ""

    @property
    def installed(self) -> bool:
        """Return True if the peer is installed."""
        return find_spec(self.package) is not None

    @property
    def version(self) -> str:
        """Its version."""
        return version(self.name)

    def cases(self) -> Iterator[Case]:
        """Everything that it is compared on."""
        for module in self.modules:
            cases = importlib.import_module(f"crosscheck.{module}").CASES
            yield from (case for case in cases if case.peer == self.name)


PEERS = (
    Peer("scikit-learn", "sklearn", ("scikit_learn_measures", "scikit_learn_maps")),
    Peer("scipy", "scipy", ("statistics",)),
    Peer("statsmodels", "statsmodels", ("statistics", "agreement")),
    Peer("krippendorff", "krippendorff", ("agreement",)),
    Peer("netcal", "netcal", ("net_cal",)),
    Peer("uncertainty-calibration", "calibration", ("uncertainty_calibration",)),
    Peer("torchmetrics", "torchmetrics", ("torch_metrics",)),
    Peer("relplot", "relplot", ("rel_plot",)),
    Peer("mapie", "mapie", ("others",)),
    Peer("pycalib", "pycalib", ("others",)),
    Peer("model-diagnostics", "model_diagnostics", ("others",)),
    Peer("betacal", "betacal", ("others",)),
    Peer("venn-abers", "venn_abers", ("others",)),
    Peer("ppi-python", "ppi_py", ("judges",), "judges"),
    Peer("truescore", "truescore", ("judges",), "judges"),
    Peer("glide-py", "glide", ("judges",), "judges"),
    Peer("judgy", "judgy", ("judges",), "judges"),
    Peer("evalstats", "evalstats", ("judges",), "judges"),
    Peer("cje-eval", "cje", ("judges",), "judges"),
)


def row(case: Case, data: str, found: Comparison) -> dict[str, Any]:
    """One row of the record."""
    ours, theirs = (f"{value:.10g}" if isinstance(value, float) else value for value in found.shown())
    apart = found.difference
    return {
        "peer": case.peer,
        "theirs": case.theirs,
        "ours": case.ours,
        "input": data,
        "our_value": ours,
        "their_value": theirs,
        "difference": None if apart is None else float(f"{apart:.1e}"),
        "verdict": found.reason or "equal",
    }


def stale(recorded: list[dict[str, Any]], rows: list[dict[str, Any]]) -> list[str]:
    """Verdicts of rows that are not those of the record.

    Where a solver stops near the minimum depends on the processor: below a difference of `SOLVER` any passes.
    """

    def verdict(row: dict[str, Any]) -> str:
        near = isinstance(row.get("difference"), float) and row["difference"] < SOLVER
        return "equal" if near else str(row["verdict"])

    old = {tuple(one[name] for name in KEY): verdict(one) for one in recorded}
    new = {tuple(one[name] for name in KEY): verdict(one) for one in rows}
    peers = {one["peer"] for one in rows}
    found = [f"{' | '.join(key)}: {verdict}" for key, verdict in new.items() if old.get(key) != verdict]
    gone = [key for key in old if key[0] in peers and key not in new]
    return found + [f"{' | '.join(key)}: is compared no more" for key in gone]


def load() -> dict[str, Any]:
    """The record."""
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def write(versions: dict[str, str], rows: list[dict[str, Any]]) -> None:
    """Write the record and its page; peers that did not run keep their rows."""
    old = load() if RECORD.exists() else {"peers": {}, "rows": []}
    order = [peer.name for peer in PEERS]
    kept = [one for one in old["rows"] if one["peer"] not in versions]
    rows = sorted(kept + rows, key=lambda one: order.index(one["peer"]))
    peers = {name: found for name in order if (found := {**old["peers"], **versions}.get(name))}
    head = json.dumps({"schema_version": 1, "tolerance": TOLERANCE, "peers": peers}, indent=1)
    lines = ",\n  ".join(json.dumps(one, ensure_ascii=False) for one in rows)
    RECORD.write_text(f'{head[:-2]},\n "rows": [\n  {lines}\n ]\n}}\n', encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), load()), encoding="utf-8")


def page(text: str, record: dict[str, Any]) -> str:
    """The page with its tables filled from the record."""
    bodies = {"peers": markdown(_overview(record))}
    for name in record["peers"]:
        rows = [one for one in record["rows"] if one["peer"] == name]
        bodies[name] = f"{markdown(_calls(rows))}\n\n{_differences(rows)}".rstrip()
    return TABLE.sub(lambda found: f"{found[1]}{bodies[found[2]]}\n{found[3]}", text)


def _overview(record: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for name, number in record["peers"].items():
        rows = [one for one in record["rows"] if one["peer"] == name]
        same = sum(one["verdict"] == "equal" for one in rows)
        found.append(
            {
                "peer": name,
                "version": number,
                "compared": len(rows),
                "equal": same,
                "different, for a reason": len(rows) - same,
            }
        )
    return found


def _calls(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for every call: on how many inputs it equals ours."""
    calls: dict[tuple[str, str], list[bool]] = {}
    for one in rows:
        calls.setdefault((one["theirs"], one["ours"]), []).append(one["verdict"] == "equal")
    return [
        {"peer": f"`{theirs}`", "calibrant": f"`{ours}`", "equal on": f"{sum(same)} of {len(same)}"}
        for (theirs, ours), same in calls.items()
    ]


def _differences(rows: list[dict[str, Any]]) -> str:
    """A line for every reason of a call, with the input on which it shows most."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in rows:
        if one["verdict"] != "equal":
            found.setdefault((one["theirs"], one["verdict"]), []).append(one)
    lines = []
    for (theirs, reason), group in found.items():
        most = max(group, key=lambda one: one["difference"] or 0.0)
        others = f" (and {len(group) - 1} more)" if len(group) > 1 else ""
        values = f"peer {_shown(most['their_value'])}, calibrant {_shown(most['our_value'])}"
        lines.append(f"- `{theirs}` on *{most['input']}*{others}: {values}. {reason}")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    return "undefined" if value is None else f"`{value}`"
