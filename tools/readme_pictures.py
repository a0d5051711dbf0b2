"""Make the README's pictures again: the demo's two scores side by side, and its report.

    python tools/readme_pictures.py

Writes docs/images/before_after.png, and docs/images/report.png with a Chromium from the PATH.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import evenscore as es
from evenscore.cli.demo import CUTS, RATES, TOLERANCE, WORDS
from evenscore.showing.plots import CutRatesDisplay, figure, save

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
LEARNED = 0.03  # the tolerance that the demo's scorer is given
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]


def before_and_after() -> None:
    """Both error rates of women and men over the cuts in use, by the demo's two scores."""
    data = es.datasets.load_adult()
    blind = [k for k, name in enumerate(data.feature_names) if not name.startswith("sex")]
    X, y, groups = data.X[:, blind], data.y[data.train], data.groups[data.train]
    ordinary = es.EvenScorer(random_state=0).fit(X[data.train], y)
    constraint = es.RateConstraint(*RATES, cuts=CUTS, tolerance=LEARNED)
    fair = es.EvenScorer(constraint, random_state=0)
    fair.fit(X[data.train], y, sensitive_features=groups)
    made, axes = figure(len(RATES), 2, figsize=(11.0, 10.0), sharey="row")
    for column, (scorer, name) in enumerate(((ordinary, "Ordinary score"), (fair, "Fair score"))):
        result = es.audit(
            data.y[data.test],
            scorer.decision_function(X[data.test]),
            sensitive_features=data.groups[data.test],
            cuts=CUTS,
            tolerance=TOLERANCE,
            words=WORDS,
            trained_on=False,
        )
        for row, rate in enumerate(RATES):
            ax = axes[row, column]
            top = ax.get_ylim()[1] if column else 0.0
            CutRatesDisplay.from_audit(result, rate=rate).plot(ax)
            ax.set_ylim(0.0, max(top, ax.get_ylim()[1]))
            title = f"{name}, AUC {result.auc.value:.3f}: {ax.get_title().lower()}"
            ax.set_title(title, fontsize=11)
    save(made, IMAGES / "before_after.png", dpi=110)


def report() -> None:
    """The top of the demo's report, as a browser shows it."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("A screenshot needs Chromium on the PATH.")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        demo = [sys.executable, "-m", "evenscore.cli", "demo", "--html", page]
        subprocess.run(demo, check=True, capture_output=True)
        size = ["--window-size=1180,1500", f"--user-data-dir={folder}/profile"]
        shot = f"--screenshot={IMAGES / 'report.png'}"
        subprocess.run([browser, *FLAGS, *size, shot, page.as_uri()], check=True)


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    before_and_after()
    report()
