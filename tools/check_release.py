"""Say whether everything that names the version names the same one; run before files are published.

    python tools/check_release.py           # what is not released yet may stand on top
    python tools/check_release.py v0.2.0    # the newest version must have this tag, and a date

A problem is one line each, and exit code 1.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problems(root: Path = ROOT, tag: str | None = None) -> list[str]:
    """One sentence for everything that does not agree with the version of the package."""
    version = _found(root / "src/evenscore/__init__.py", r'^__version__ = "(.+)"$')
    cited = _found(root / "CITATION.cff", r"^version: (.+)$")
    released = _found(root / "CITATION.cff", r"^date-released: (.+)$")
    newest = r"^## (.+)$" if tag is not None else r"^## (.+(?<!\(unreleased\)))$"
    entry = _found(root / "CHANGELOG.md", newest)
    expected = {
        f"CITATION.cff says version {cited}": cited == version,
        f"CHANGELOG.md begins with '{entry}', not with '{version} ({released})', the date of "
        "CITATION.cff": entry == f"{version} ({released})",
        f"'{released}' in CITATION.cff is not a date": re.fullmatch(r"\d{4}-\d\d-\d\d", released),
        f"The tag is {tag}": tag in (None, f"v{version}"),
    }
    return [f"{said}; the package is {version}." for said, holds in expected.items() if not holds]


def _found(file: Path, pattern: str) -> str:
    found = re.search(pattern, file.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else "nothing"


if __name__ == "__main__":
    told = problems(tag=sys.argv[1] if len(sys.argv) > 1 else None)
    sys.exit("\n".join(told) or None)
