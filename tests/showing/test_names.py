"""Names where there is little room."""

from hypothesis import given
from hypothesis import strategies as st

from evenscore.showing.names import LONGEST, short_names, shorten


def test_shortened():
    assert shorten("abc") == "abc"
    long = "a" * 20 + "b" * 20
    assert len(shorten(long)) == LONGEST == 28
    assert shorten(long).startswith("aaaa")
    assert shorten(long).endswith("bbbb")
    assert "…" in shorten(long)
    assert len(shorten(long, 9)) == 9


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=60), max_size=6))
def test_names_are_at_most_as_long_as_asked(groups):
    names = short_names(groups)
    assert len(names) == len(groups)
    for name, group in zip(names, groups, strict=True):
        assert len(name) <= LONGEST + len(" (6)")  # the number of one of several alike is on top
        assert name.startswith(group[:16])


def test_names_differ_even_if_their_short_forms_do_not():
    groups = ["x" * 20 + str(k) + "y" * 20 for k in range(3)]
    assert len(set(short_names(groups))) == 3
    assert short_names([1, "1", True]) == ("1 (1)", "1 (2)", "True")
    assert short_names([("Female", "Black"), None, " "]) == ("Female × Black", "None", "' '")
