"""KS and Gini by group."""

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.metrics import roc_auc_score

import evenscore as es
from evenscore.auditing.blocks import Separation


def test_gini_is_twice_the_auc_less_one_with_its_interval():
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, 500), rng.choice(["a", "b"], 500)
    score = rng.normal(size=500) + y
    result = es.audit(y, score, sensitive_features=group, constraints="bnsp")
    block = result.block(Separation)
    assert block.groups == ("everyone", "a", "b")
    for k, auc in enumerate((result.auc, *result.auc_by_group)):
        inside = group == block.groups[k] if k else group == group
        expected = 2.0 * roc_auc_score(y[inside], score[inside]) - 1.0
        assert block.gini.value[k] == pytest.approx(expected)
        assert block.gini.low[k] == pytest.approx(2.0 * auc.low - 1.0)
        assert block.gini.high[k] == pytest.approx(2.0 * auc.high - 1.0)
        both = (score[inside & (y == label)] for label in (0, 1))
        assert block.ks.value[k] == pytest.approx(ks_2samp(*both).statistic)
    [table] = block.tables()
    assert table.rows[0][1].startswith(f"{block.ks.value[0]:.3f} (")
