"""Print the lowest version of every dependency that pyproject.toml admits, as pip's constraints.

    python tools/lowest_versions.py boosted files test > lowest.txt
    pip install -c lowest.txt '.[boosted,files,test]'

Arguments are the extras to include. Every requirement must have a lower bound, so that the bounds
that are promised are the bounds that are tested; it may have a cap.
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def lowest_versions(project: dict, extras: list[str]) -> list[str]:
    """Lines `name==version` for the core and some extras of the table [project].

    >>> project = {"dependencies": ["numpy>=2.0"], "optional-dependencies": {"a": ["x[y]>=1"]}}
    >>> lowest_versions(project, ["a"])
    ['numpy==2.0', 'x==1']
    """
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    return [_lowest(requirement) for requirement in wanted]


def _lowest(requirement: str) -> str:
    found = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)(?:,<[\d.]+)?", requirement)
    if found is None:
        raise ValueError(f"{requirement!r} is not of the form name>=version.")
    return f"{found[1]}=={found[2]}"


if __name__ == "__main__":
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    print("\n".join(lowest_versions(project, sys.argv[1:])))
