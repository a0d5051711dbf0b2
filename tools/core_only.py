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
fair = es.EvenScorer(es.RateConstraint("fpr", "fnr", tolerance=0.2), random_state=0)
position = fair.fit(X, y, sensitive_features=group).decision_function(X)
assert position.min() >= 0.0
assert position.max() <= 1.0
assert es.EvenScorer(random_state=0).fit(X, y).score(X, y) > 0.6
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
    es.RepairedScorer(constraints="inter_group").fit(X, y, sensitive_features=group)
except ImportError as error:
    said = str(error)
needed = "RepairedScorer without an estimator needs LightGBM: pip install 'evenscore[boosted]'."
assert said == needed, said

command = Path(sys.executable).with_name("evenscore")
columns = ["--label", "y", "--score", "s", "--group", "g"]
done = subprocess.run(
    [command, "audit", __file__, *columns], capture_output=True, text=True, check=False
)
assert done.returncode == 2, done
assert done.stderr.startswith("Reading a CSV or Parquet file needs DuckDB"), done.stderr
assert "Traceback" not in done.stderr
with tempfile.TemporaryDirectory() as folder:
    story = Path(folder, "demo.html")
    subprocess.run([command, "demo", "--quiet", "--html", story], check=True)
    assert "</html>" in story.read_text()
