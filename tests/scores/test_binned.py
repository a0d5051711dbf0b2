"""What a table knows of its bins."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from support.binning import binned_rows, drawn_rows

from evenscore import GroupedScores
from evenscore.scores.binned import Binned


@given(binned_rows())
def test_the_extent_of_bins_is_that_of_their_people(rows):
    binned = rows.binned.binned
    key = rows.bins.key(rows.score)
    heavy = rows.weight is None or rows.weight > 0
    found = [rows.score[(key == k) & heavy] for k in np.unique(key[heavy])]
    assert binned.lowest.tolist() == [scores.min() for scores in found]
    assert binned.highest.tolist() == [scores.max() for scores in found]
    assert binned.n_open == sum(scores.min() < scores.max() for scores in found)
    assert binned.is_open(binned.score).sum() == binned.n_open


def test_mirrored():
    binned = drawn_rows(n=100).binned.binned
    there = binned.mirrored
    assert (np.diff(there.score) > 0).all()
    assert there.n_open == binned.n_open
    low, high = there.extent(-binned.score)
    assert (low.tolist(), high.tolist()) == ((-binned.highest).tolist(), (-binned.lowest).tolist())
    again = there.mirrored
    assert again.lowest.tolist() == binned.lowest.tolist()


def test_a_file_whose_bin_ends_below_its_beginning_is_refused(tmp_path):
    path = drawn_rows(n=40).binned.save(tmp_path / "t.json")
    content = json.loads(path.read_text())
    first = content["score"][0]
    beyond = math.nextafter(first, math.inf)  # in the same bin
    pairs = zip(content["score"], content["lowest"], strict=True)
    content["lowest"] = [beyond if score == first else low for score, low in pairs]
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="not those of its bins"):
        GroupedScores.load(path)


def test_closed_bins_are_scores():
    scores = np.array([1.0, 2.0])
    assert Binned(scores, scores, scores, None).n_open == 0
