import matplotlib.pyplot as plt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.cbook import is_math_text

from evenscore.showing.names import as_label, group_names, in_lines, literal


@settings(max_examples=20)
@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_literal_text_is_never_a_formula_and_has_only_printable_characters(text):
    found = literal(text)
    assert not is_math_text(found)
    assert found.isprintable()
    if text.isprintable():
        # What matplotlib shows of a text without formulas.
        assert found.replace(r"\$", "$") == text


@pytest.mark.parametrize(
    "name", ["$x$", r"$\frac$", "$", r"\$", "_hidden", "<script>", "é ß 日"[:3]]
)
def test_a_name_is_drawn_letter_by_letter(name):
    figure, ax = plt.subplots()
    ax.plot([0, 1], [0, 1], label=as_label(literal(name)))
    [text] = ax.legend().get_texts()
    shown, formula = text._preprocess_math(text.get_text())
    assert (shown.strip(), formula) == (name, False)
    figure.canvas.draw()


def test_names_differ_even_if_their_short_forms_do_not():
    groups = ["x" * 20 + str(k) + "y" * 20 for k in range(3)]
    names = group_names(groups)
    assert len(set(names)) == 3
    assert group_names([1, "1", True]) == ("1 (1)", "1 (2)", "True")
    assert group_names([("Female", "Black"), None, " "]) == ("Female × Black", "None", "' '")


@pytest.mark.parametrize(
    ("text", "longest", "lines"),
    [
        ("share of people selected", 36, ["share of people selected"]),
        (
            "share of all applicants granted a loan",
            36,
            ["share of all applicants", "granted a loan"],
        ),
        ("one two three", 5, ["one", "two", "three"]),
        ("an unbelievablylongword", 8, ["an", "unbelievablylongword"]),
        ("", 8, [""]),
    ],
)
def test_a_long_text_is_broken_into_few_lines_of_much_the_same_length(text, longest, lines):
    assert in_lines(text, longest).split("\n") == lines
