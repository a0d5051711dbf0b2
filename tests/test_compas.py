"""Golden values: the COMPAS decile scores, African-American against Caucasian defendants."""

import pytest

from evenscore import datasets, metrics


def test_areas_between_curves(compas_folder):
    # Becker et al. (2024) give .016 and .273; the digits are those of exact areas.
    data = datasets.load_compas(compas_folder, version="two-years-all")
    arguments = (data.y, data.raw["decile_score"])
    groups = dict(sensitive_features=data.groups)
    assert metrics.abroca(*arguments, **groups) == pytest.approx(0.015815, abs=1e-6)
    cross = metrics.area_between_curves(*arguments, **groups, constraint="inter_group")
    assert cross == pytest.approx(0.273152, abs=1e-6)
