"""Make the README's pictures again: the demo's two scores side by side, and its report.

    python tools/readme_pictures.py

Writes docs/images/before_after.png, and docs/images/report.png with a Chromium from the PATH.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import evenscore as es
from evenscore.showing.plots import RocGapDisplay, figure, save

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
RATES = (1 / 8, 1 / 4)


def before_and_after() -> None:
    """The gap curves of the demo's scores on the same people."""
    data = es.datasets.load_adult()
    X, y, groups = data.X[data.train], data.y[data.train], data.groups[data.train]
    ordinary = es.BoostedScorer(random_state=0).fit(X, y)
    constraint = es.RocConstraint(on="both", rates=RATES)
    fair = es.BoostedScorer(constraint, tolerance=0.02, random_state=0)
    fair.fit(X, y, sensitive_features=groups)
    made, axes = figure(1, 2, figsize=(11.0, 5.4), sharey=True)
    for ax, scorer, told in zip(axes, (ordinary, fair), ("ordinary", "fair"), strict=True):
        result = es.audit(
            data.y[data.test],
            scorer.decision_function(data.X[data.test]),
            sensitive_features=data.groups[data.test],
            constraints=constraint,
        )
        RocGapDisplay.from_audit(result).plot(ax)
        ax.set_title(f"{told}: AUC {result.auc.value:.3f}")
    save(made, IMAGES / "before_after.png", dpi=110)


def report() -> None:
    """The top of the demo's report, as a browser shows it."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("A screenshot needs Chromium on the PATH.")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        subprocess.run(["evenscore", "demo", "--html", page], check=True, capture_output=True)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        size = ["--window-size=1180,1500", f"--user-data-dir={folder}/profile"]
        shot = f"--screenshot={IMAGES / 'report.png'}"
        subprocess.run([browser, *flags, *size, shot, page.as_uri()], check=True)


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    before_and_after()
    report()
