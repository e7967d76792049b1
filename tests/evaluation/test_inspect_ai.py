"""inspect_ai finds the metrics and the hook by the entry point; where it is installed, it runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

TASK = """
import random
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import generate
from calibrant.evaluation.inspect_ai import accuracy_interval, brier_score, calibration_error

@scorer(metrics=[accuracy(), accuracy_interval(), calibration_error(), brier_score()])
def stated():
    async def score(state, target):
        rng = random.Random(f"{state.sample_id}/{state.epoch}")
        confidence = rng.choice([0.6, 0.8, 0.95])
        right = rng.random() < confidence - 0.1
        return Score(value="C" if right else "I", metadata={"confidence": confidence})
    return score

@task
def quiz():
    output = ModelOutput.from_content("mockllm/model", "yes")
    output.usage = ModelUsage(input_tokens=3, output_tokens=1, total_tokens=4)
    samples = [Sample(input=f"Question {i}?", target="yes", id=i) for i in range(60)]
    model = get_model("mockllm/model", custom_outputs=[output] * 120)
    return Task(model=model, dataset=samples, solver=generate(), scorer=stated(), epochs=2)
"""


def test_the_entry_point_names_a_module(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [(name, module)] = project["entry-points"]["inspect_ai"].items()
    assert name == "calibrant"  # the name under which inspect_ai registers the package's metrics
    assert find_spec(module) is not None
    assert "inspect" not in " ".join(project["dependencies"])


@pytest.mark.slow
@pytest.mark.parametrize("enabled", ["1", "0"])
def test_an_evaluation_has_the_metrics_and_if_asked_a_summary(tmp_path: Path, enabled: str) -> None:
    pytest.importorskip("inspect_ai", reason="needs inspect_ai")
    (tmp_path / "quiz.py").write_text(TASK, encoding="utf-8")
    code = (
        "import json; from inspect_ai import eval; [log] = eval('quiz.py', display='none', log_dir='logs');"
        "print(json.dumps({n: m.value for s in log.results.scores for n, m in s.metrics.items()}))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "CALIBRANT_INSPECT": enabled},
        capture_output=True,
        text=True,
        check=True,
    )
    metrics = json.loads(ran.stdout.splitlines()[-1])
    assert metrics["accuracy_n"] == 60
    assert metrics["calibration_error_n"] == metrics["brier_n"] == 120
    assert metrics["accuracy_low"] < metrics["accuracy"] < metrics["accuracy_high"]
    [log] = (tmp_path / "logs").glob("*.eval")
    summary = log.with_name(f"calibrant-{log.stem}.json")
    assert summary.exists() == (enabled == "1")
    if enabled == "1":
        view = json.loads(summary.read_text(encoding="utf-8"))["views"][0]
        for end, name in (("estimate", ""), ("low", "_low"), ("high", "_high")):
            assert view["calibration_error"][end] == pytest.approx(metrics[f"calibration_error{name}"])
