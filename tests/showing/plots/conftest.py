"""A fixture for all tests of plots: no window, no figure left open, no setting changed."""

import matplotlib
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def closed_figures():
    plt.close("all")  # what an example in a docstring left open is none of these tests' business
    settings = dict(matplotlib.rcParams)
    yield
    plt.close("all")
    assert dict(matplotlib.rcParams) == settings
