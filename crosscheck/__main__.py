"""``make crosscheck``: run every peer that is installed, and compare with the record.

``--update`` writes docs/peers.json and the tables of docs/peers.md instead; ``--only PEER`` runs one;
``--environment judges`` runs those of the environment of scripts/peers-venv.sh judges.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from crosscheck import record


def main() -> int:
    """Run; 1 if something differs without a reason, or otherwise than recorded."""
    parser = argparse.ArgumentParser(prog="make crosscheck", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the record and its page")
    parser.add_argument("--only", metavar="PEER", help="run one peer")
    parser.add_argument("--environment", default="", help="run the peers of another environment")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    versions: dict[str, str] = {}
    faults: list[str] = []
    for peer in record.PEERS:
        if options.only not in (None, peer.name) or peer.environment != options.environment:
            continue
        if not peer.installed:
            print(f"{peer.name}: not installed")
            continue
        versions[peer.name] = peer.version
        before = len(rows)
        for case in peer.cases():
            for one in case.inputs():
                found = case.run(one)
                rows.append(record.row(case, one.name, found))
                faults += [f"{peer.name} | {case.theirs} | {one.name}: {fault}" for fault in found.faults]
        same = sum(row["verdict"] == "equal" for row in rows[before:])
        print(f"{peer.name} {peer.version}: {same} equal, {len(rows) - before - same} different", flush=True)
    if options.update:
        if not faults:
            record.write(versions, rows)
    else:
        known = record.load()
        alike = [row for row in rows if known["peers"].get(row["peer"]) == versions[row["peer"]]]
        faults += [f"not as recorded: {line}" for line in record.stale(known["rows"], alike)]
    print("\n".join(faults))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
