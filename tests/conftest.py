import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from support.making import draw, often
from support.reference import Rows

from evenscore.scores import GroupedScores

sys.path.append(str(Path(__file__).parents[1] / "tools"))  # some tools are tested

settings.register_profile("evenscore", deadline=None, max_examples=often(30), derandomize=True)
settings.load_profile("evenscore")


CASES = [
    pytest.param(dict(n_groups=k, levels=levels, weights=w), id=f"K{k}-{levels or 'cont'}-{w}")
    for k in (2, 5)
    for levels in (None, 10, 1)
    for w in (None, "integer", "real")
]


@pytest.fixture(params=CASES)
def sample(request):
    """(rows for the naive reference, GroupedScores) of the same observations."""
    y, score, group, weight = draw(7, **request.param)
    grouped = GroupedScores.from_arrays(y, score, sensitive_features=group, sample_weight=weight)
    return Rows(y, score.tolist(), group, weight), grouped


@pytest.fixture(scope="session")
def compas_folder():
    """The folder with the COMPAS files, or a skip: they may not be distributed."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("EVENSCORE_DATA", beside)).resolve()
    if not (folder / "compas").is_dir() and not list(folder.glob("compas*.csv")):
        pytest.skip("the COMPAS files are not here: set EVENSCORE_DATA to their folder")
    return folder
