"""The tally of a folder of Parquet files on local PySpark, in a separate environment: FOLDER PARTS."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    from engines_cases import digest
    from pyspark.sql import SparkSession

    from calibrant.verbs import tally

    files = [str(file) for file in sorted(Path(sys.argv[1]).glob("*.parquet"))[: int(sys.argv[2])]]
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.memory", "4g").getOrCreate()
    frame = session.read.parquet(*files)
    start = time.perf_counter()
    found = digest(tally(frame))
    print(json.dumps({"seconds": time.perf_counter() - start, "result": found}))


if __name__ == "__main__":
    main()
