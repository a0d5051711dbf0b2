"""Write the pages of the API reference, docs/reference, from the public names.

    python tools/api_pages.py

Every public name is on exactly one page: a name that no page has is an error here, and the tests
compare the pages with what this makes.
"""

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import evenscore as es

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"

PAGES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "auditing": (
        "Auditing",
        "`es.audit` takes columns, `es.audit_frame` a frame of any engine, `es.audit_scores` a "
        "table of scores that was made before. All give an `AuditResult`.",
        ("audit", "audit_frame", "audit_scores", "AuditResult", "Estimate", "Words", "ALL_OTHERS",
         "GroupedScores"),
    ),
    "gaps": (
        "Cuts and constraints",
        "Which cuts will be used, and what should be equal between groups there.",
        ("Cuts", "RateConstraint", "rate_names", "AucConstraint", "constraint_names",
         "RocConstraint", "CurveConstraint", "GapFamily", "RocCurve"),
    ),
    "learning": (
        "Scorers",
        "Estimators in scikit-learn's style that learn a score under constraints.",
        ("EvenScorer", "LinearScorer", "RepairedScorer", "FairScorer"),
    ),
    "repairing": ("Repair", "One increasing map per group.", ("repair", "Repair")),
    "choosing": (
        "Choosing",
        "What each claim costs, AUC against gaps, a choice with proof, how many people it takes.",
        ("claim_prices", "ClaimPrices", "tradeoff_path", "TradeoffPath", "certified_choice",
         "CertifiedChoice", "plan", "Plan"),
    ),
}  # fmt: skip
MODULES: dict[str, tuple[str, str]] = {
    "metrics": ("Metrics", "Functions of columns, `es.metrics`."),
    "plots": ("Plots", "Displays in scikit-learn's style, drawn with matplotlib, `es.plots`."),
    "datasets": ("Data", "Real data and samples of known laws, `es.datasets`."),
    "paper": ("The paper", "Its algorithms, bounds and laws, `es.paper`."),
}
PARTS = {
    "auditing": (
        "evenscore.inference.cuts.CutTable",
        "evenscore.inference.cut_certificates.CutCertificate",
        "evenscore.inference.certificates.Certificate",
    ),
}
"""What public objects are made of, where readers look for it; nobody imports these."""
FILES = {"datasets": "data"}
"""Pages whose file is not called after its module."""

_MADE = "<!-- Made by tools/api_pages.py from the public names. -->"


def texts() -> dict[str, str]:
    """File name to page."""
    grouped = [name for _, _, names in PAGES.values() for name in names]
    elsewhere = {*MODULES, *es.metrics.__all__}
    missing = sorted({*es.__all__} - {*grouped} - elsewhere)
    if missing:
        raise ValueError(f"No page of the reference has {', '.join(missing)}.")
    made = {}
    for name, (title, intro, names) in PAGES.items():
        parts = [f"::: {one}" for one in PARTS.get(name, ())]
        made[f"{name}.md"] = _page(title, intro, [*(_entry(es, one) for one in names), *parts])
    for name, (title, intro) in MODULES.items():
        module = getattr(es, name)
        made[f"{FILES.get(name, name)}.md"] = _page(
            title, intro, [_entry(module, one) for one in module.__all__ if not _apart(module, one)]
        )
    made["index.md"] = _index()
    made["command.md"] = _command()
    return made


def _apart(module: ModuleType, name: str) -> bool:
    """Modules inside a module, and names that the reference of the package has."""
    value = getattr(module, name)
    return inspect.ismodule(value) or (module is not es.metrics and name in es.__all__)


def _entry(module: ModuleType, name: str) -> str:
    """A directive of mkdocstrings, by where the object is defined."""
    value: Any = getattr(module, name)
    home = getattr(value, "__module__", None) or module.__name__
    if not (inspect.isclass(value) or callable(value)):
        return f"### {name}\n\n`es.{name}` is `{value!r}`."
    return f"::: {home}.{value.__name__}"


def _page(title: str, intro: str, entries: list[str]) -> str:
    return "\n\n".join([f"# {title}", _MADE, intro, *entries]) + "\n"


def _index() -> str:
    rows = [
        f"| [{title}]({name}.md) | {', '.join(f'`{one}`' for one in names)} |"
        for name, (title, _, names) in PAGES.items()
    ]
    for name, (title, _) in MODULES.items():
        module = getattr(es, name)
        names = ", ".join(f"`{one}`" for one in module.__all__)
        rows.append(f"| [{title}]({FILES.get(name, name)}.md) | `es.{name}`: {names} |")
    rows.append("| [The command](command.md) | `evenscore audit`, `fit`, `score`, … |")
    text = "Everything that is public, by what it is for. `es` is `import evenscore as es`."
    return (
        "\n\n".join(["# Reference", _MADE, text, "\n".join(["| | |", "|---|---|", *rows])]) + "\n"
    )


def _command() -> str:
    """Every command with its arguments and options, as `--help` has them."""
    from typer.main import get_command

    from evenscore.cli.commands import app

    parts = []
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        about = inspect.cleandoc(command.help).replace("\b\n", "")
        rows = [
            f"| {', '.join(f'`{one}`' for one in _names(option))} | {_said(option)} |"
            for option in command.params
            if "--help" not in option.opts
        ]
        table = "\n".join(["| option | what it is |", "|---|---|", *rows])
        parts.append(f"## evenscore {name}\n\n```text\n{about}\n```\n\n{table}")
    return _page("The command", "What `--help` says of every command.", parts)


def _names(option: Any) -> list[str]:
    if option.param_type_name == "argument":
        return [(option.metavar or option.name).strip("[]{}")]
    return [*option.opts, *option.secondary_opts]


def _said(option: Any) -> str:
    """Without what would be read as Markdown."""
    text = " ".join(str(option.help or "").split())
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file, text in texts().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
