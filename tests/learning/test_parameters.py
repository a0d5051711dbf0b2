import numpy as np
import pytest

import evenscore as es
from evenscore.learning.parameters import described, seed_of

SCORERS = (es.LinearScorer, es.EvenScorer, es.paper.PaperScorer)


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: scorer.__name__)
def test_every_parameter_is_described_once(scorer):
    section = scorer.__doc__.split("Parameters\n")[1].split("Attributes\n")[0]
    for name in scorer().get_params():
        entries = [line for line in section.splitlines() if line.startswith(f"    {name} : ")]
        assert len(entries) == 1, name
    assert scorer.__doc__.count("    gaps_ : list of Estimate\n") == 1


def test_shared_descriptions_keep_the_indentation_and_other_lines():
    text = "random_state is a word\n  random_state\n  bandwidth"
    found = described(text, es.FairScorer.__doc__).split("\n")
    assert (found[0], found[-1], len(found)) == ("random_state is a word", "  bandwidth", 4)
    assert found[1].startswith("  random_state : int")
    assert found[2].startswith("      Draws")


def test_a_scorer_of_somebody_else_may_have_no_docstring():
    class Bare(es.FairScorer):
        pass

    assert Bare.__doc__ in (None, es.FairScorer.__doc__)


def test_seeds_of_all_kinds():
    generator = np.random.default_rng(0)
    assert seed_of(3) == 3
    assert seed_of(None) is None
    assert seed_of(generator) is generator
    assert seed_of(np.random.RandomState(1)) == seed_of(np.random.RandomState(1))
