import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from support.making import draw, often, table_of
from support.reference import Rows

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT), str(ROOT / "tools")]  # the reproduction and some tools are tested

settings.register_profile("evenscore", deadline=None, max_examples=often(30), derandomize=True)
settings.load_profile("evenscore")


CASES = [
    pytest.param(dict(n_groups=k, levels=levels, weights=w), id=f"K{k}-{levels or 'cont'}-{w}")
    for k, levels, w in (
        (2, None, "real"),
        (2, 10, "integer"),
        (2, 1, None),
        (5, None, None),
        (5, 10, "real"),
    )
]


@pytest.fixture(params=CASES)
def sample(request):
    """(rows for the naive reference, GroupedScores) of the same observations."""
    y, score, group, weight = draw(7, **request.param)
    return Rows(y, score.tolist(), group, weight), table_of(y, score, group, weight)


@pytest.fixture(scope="session")
def compas_folder():
    """The folder with the COMPAS files, or a skip: they may not be distributed."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("EVENSCORE_DATA", beside)).resolve()
    if not (folder / "compas").is_dir() and not list(folder.glob("compas*.csv")):
        pytest.skip("the COMPAS files are not here: set EVENSCORE_DATA to their folder")
    return folder
