import csv
import io
import math

import pytest
from evenscore.paper.table import Number, Table


def test_a_difference_is_judged_by_rounding_and_twice_the_noise():
    assert Number(0.914, published=0.91).verdict == "within noise"
    assert Number(0.916, published=0.91).verdict == "beyond noise"
    assert Number(0.916, published=0.91, noise=0.001).verdict == "within noise"
    assert Number(0.918, published=0.91, noise=0.001).verdict == "beyond noise"
    assert Number(0.918).verdict == ""
    assert Number(math.nan, published=0.91).verdict == ""


def test_numbers_say_how_far_they_are_from_the_published():
    number = Number(0.9, 0.01, published=0.91)
    assert str(number) == "0.900 ± 0.010"
    assert number.comparison == "published 0.91, -0.010"
    assert str(Number(math.nan)) == "–"
    assert Number(0.9).comparison == ""


def table():
    rows = (
        ("A | B", "x", Number(1 / 3, 0.1, published=0.33), "text"),
        ("C", "y", Number(0.5, published=0.1), "|z|"),
    )
    return Table("t", "Title", ("data", "kind", "|Δ|", "told"), rows, labels=2, note="A note.")


def test_csv_holds_every_number_unrounded():
    lines = list(csv.DictReader(io.StringIO(table().to_csv())))
    assert [line["measure"] for line in lines] == ["|Δ|", "told"] * 2
    first = lines[0]
    assert first["data"] == "A | B"
    assert float(first["value"]) == 1 / 3
    assert float(first["difference"]) == 1 / 3 - 0.33
    assert first["verdict"] == "within noise"
    assert lines[2]["verdict"] == "beyond noise"
    assert lines[2]["deviation"] == ""
    assert lines[1]["value"] == "text"


def test_markdown_keeps_its_columns_and_marks_what_is_beyond_noise():
    lines = table().to_markdown().splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4
    for row in rows:
        assert row.replace("\\|", "").count("|") == 5
    assert "**0.500 (0.10)**" in rows[3]
    assert "A note." in lines


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="A row of t has 1 cells, not 2"):
        Table("t", "T", ("a", "b"), (("x",),))
