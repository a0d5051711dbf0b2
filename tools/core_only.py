"""What works without extras, and what is said of the rest; run by `check_wheel.py`."""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import evenscore as es
from evenscore.extras import EXTRAS

present = [name for name in (*EXTRAS, "pandas", "polars", "pyarrow") if find_spec(name)]
assert not present, f"{present} came without being asked for"

rng = np.random.default_rng(0)
X, group = rng.normal(size=(400, 3)), np.tile(["a", "b"], 200)
y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)

scorer = es.LinearScorer("inter_group", tolerance=0.05).fit(X, y, sensitive_features=group)
score = scorer.decision_function(X)
assert es.metrics.auc_gap(y, score, sensitive_features=group, constraint="inter_group") < 0.1
es.repair(y, X[:, 0], sensitive_features=group, constraints="inter_group")

result = es.audit(y, score, sensitive_features=group)
with tempfile.TemporaryDirectory() as folder:
    html, stored = Path(folder, "report.html"), Path(folder, "audit.json")
    result.to_html(html)
    result.to_json(stored)
    assert "</html>" in html.read_text()
    assert es.AuditResult.from_json(stored).gaps[0].value == result.gaps[0].value
assert "AUC" in str(result)

said = ""
try:
    es.BoostedScorer("inter_group").fit(X, y, sensitive_features=group)
except ImportError as error:
    said = str(error)
assert said == "BoostedScorer needs LightGBM: pip install 'evenscore[boosted]'.", said

command = Path(sys.executable).with_name("evenscore")
columns = ["--label", "y", "--score", "s", "--group", "g"]
for arguments, sentence in (
    (["audit", __file__, *columns], "Reading a CSV or Parquet file needs DuckDB"),
    (["demo", "--html", str(Path(tempfile.gettempdir(), "demo.html"))], "BoostedScorer needs"),
):
    done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done
    assert done.stderr.startswith(sentence), done.stderr
    assert "Traceback" not in done.stderr
