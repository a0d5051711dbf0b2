"""The real data sets: the published sizes and counts, the split, and where COMPAS comes from."""

from __future__ import annotations

import csv
import hashlib
import io
import lzma
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.making import data_folder

from evenscore.datasets import compas_source
from evenscore.datasets.dataset import Backend, Dataset, stratified_split
from evenscore.datasets.real import load_adult, load_bank, load_compas, load_german
from evenscore.datasets.tables import feature_matrix, split_rows, to_columns

PERSONAL = ["name", "first", "last", "dob", "c_case_number", "r_case_number", "vr_case_number"]
SECRET = "Zzyzx"


COMPAS_FOLDER = data_folder("compas/compas-scores.csv")
needs_compas = pytest.mark.skipif(
    COMPAS_FOLDER is None, reason="the COMPAS files are not bundled; set EVENSCORE_DATA"
)

LOADERS: dict[str, Callable[[], Dataset]] = {
    "german": load_german,
    "adult": load_adult,
    "bank": load_bank,
    "compas": lambda: load_compas(COMPAS_FOLDER),
    "two-years": lambda: load_compas(COMPAS_FOLDER, version="two-years"),
    "two-years-all": lambda: load_compas(COMPAS_FOLDER, version="two-years-all"),
}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=() if name in ("german", "adult", "bank") else needs_compas)
        for name in LOADERS
    ],
)
def data(request: pytest.FixtureRequest) -> Dataset:
    """Reading all six takes two seconds, which the first test of each is charged with."""
    return LOADERS[request.param]()


# name: shape, train, test, positives, both groups and their sizes
RACES = ("Caucasian", "African-American")
EXPECTED = {
    "german": ((1000, 61), 700, 300, 700, ("female", "male"), [310, 690]),
    "adult": ((48842, 107), 32561, 16281, 7841 + 3846, ("female", "male"), [16192, 32650]),
    "bank": ((41188, 59), 32950, 8238, 4640, ("other", "working age"), [41188 - 39210, 39210]),
    "compas": ((9388, 16), 7510, 1878, 3187, ("other", RACES[1]), [9388 - 4672, 4672]),
    "compas (two-years)": ((5278, 10), 4222, 1056, 2483, RACES, [2103, 3175]),
    "compas (two-years-all)": ((6150, 10), 4920, 1230, 2867, RACES, [2454, 3696]),
}


@pytest.mark.slow
def test_the_published_sizes_and_counts(data: Dataset) -> None:
    shape, n_train, n_test, positives, group_order, sizes = EXPECTED[data.name]
    assert data.X.shape == shape
    assert (len(data.train), len(data.test)) == (n_train, n_test)
    assert int(data.y.sum()) == positives
    assert data.group_order == group_order
    assert [int(np.sum(data.groups == g)) for g in group_order] == sizes
    assert [part.dtype.kind for part in (data.X, data.y, data.train, data.test)] == list("fiii")
    assert np.isfinite(data.X).all()
    assert set(data.y.tolist()) == {0, 1}
    assert len(repr(data)) < 200
    assert "licence" in data.description


def test_splits_cover_every_row_once_with_the_cells_in_proportion(data: Dataset) -> None:
    train, test = data.split(random_state=3)
    assert (len(train), len(test)) == (len(data.train), len(data.test))
    for parts in ((train, test), (data.train, data.test)):
        np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(len(data.X)))
    for label in (0, 1):
        for group in data.group_order:
            cell = (data.y == label) & (data.groups == group)
            share = len(test) * cell.sum() / len(data.y)
            assert abs(cell[test].sum() - share) < 1
    np.testing.assert_array_equal(data.split(3)[1], test)
    assert not np.array_equal(data.split(6)[1], test)
    if data.name != "adult":
        np.testing.assert_array_equal(data.split(0)[1], data.test)


def test_feature_names_are_unique_and_one_hot_blocks_sum_to_one(data: Dataset) -> None:
    assert len(set(data.feature_names)) == len(data.feature_names) == data.X.shape[1]
    blocks: dict[str, list[int]] = {}
    for k, name in enumerate(data.feature_names):
        if "=" in name:
            blocks.setdefault(name.split("=")[0], []).append(k)
    assert blocks
    for columns in blocks.values():
        np.testing.assert_array_equal(data.X[:, columns].sum(axis=1), 1.0)
        assert set(np.unique(data.X[:, columns])) == {0.0, 1.0}


def test_raw_is_aligned_with_the_features(data: Dataset) -> None:
    for k, name in enumerate(data.feature_names):
        variable, _, category = name.partition("=")
        if variable in ("days_in_jail", "decile_score (repeated)"):
            continue
        column = data.raw[variable]
        expected = column == category if category else column
        np.testing.assert_array_equal(data.X[:, k], expected.astype(float))


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", None])
def test_frame(backend: Backend | None) -> None:
    if backend:
        pytest.importorskip(backend)
    data = load_german()
    frame = data.frame(backend)
    assert frame.shape == (1000, 21)
    assert list(frame["age"][:3].to_numpy()) == list(data.raw["age"][:3])


def test_frames_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    data = load_german()
    with pytest.raises(ValueError, match=r"backend.*'R'"):
        data.frame("R")  # type: ignore[arg-type]
    monkeypatch.setattr("evenscore.datasets.dataset.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pandas, polars or pyarrow"):
        data.frame()
    with pytest.raises(ImportError, match="polars"):
        data.frame("polars")


# What the README of each distribution says, checked on the raw table.


@pytest.mark.slow
def test_adult_facts() -> None:
    data = load_adult()
    raw = data.raw
    np.testing.assert_array_equal(data.train, np.arange(32561))
    assert int(np.sum(raw["sex"][data.train] == "Male")) == 21790
    assert int(data.y[data.train].sum()) == 7841
    assert set(raw["income"].tolist()) == {"<=50K", ">50K"}
    missing = np.zeros(len(data.X), dtype=bool)
    for column in raw.values():
        if column.dtype.kind == "U":
            missing |= column == "?"
    assert (int(missing[data.train].sum()), int(missing[data.test].sum())) == (2399, 1221)
    assert "workclass=?" in data.feature_names
    assert not any("fnlwgt" in name for name in data.feature_names)


@pytest.mark.slow
def test_bank_facts() -> None:
    data = load_bank()
    assert "duration" in data.feature_names
    assert not any("marital" in name for name in data.feature_names)
    assert "marital" in data.raw
    ages = data.raw["age"]
    np.testing.assert_array_equal(data.groups == "working age", (ages >= 25) & (ages <= 60))


BUNDLED_SHA256 = {
    "german.data": "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    "bank-additional-full.csv": "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
}


def test_bundled_content_is_the_distributed_one() -> None:
    folder = resources.files("evenscore.datasets") / "bundled"
    for name, checksum in BUNDLED_SHA256.items():
        content = lzma.decompress((folder / f"{name}.xz").read_bytes())
        assert hashlib.sha256(content).hexdigest() == checksum, name
    assert not any("compas" in file.name for file in folder.iterdir())


# COMPAS, the real files


@needs_compas
def test_compas_features_are_the_sixteen_of_the_authors() -> None:
    data = load_compas(COMPAS_FOLDER)
    numbers = [name for name in data.feature_names if "=" not in name]
    assert numbers[:4] == ["age", "juv_fel_count", "juv_misd_count", "priors_count"]
    assert numbers[4:6] == ["decile_score", "v_decile_score"]
    assert numbers[6:] == ["decile_score (repeated)", "days_in_jail"]
    assert sum(name.startswith("race=") for name in data.feature_names) == 6
    days = data.X[:, data.feature_names.index("days_in_jail")]
    assert (days.min(), days.max()) == (-1, 2152)
    assert not set(PERSONAL) & set(data.raw)


@pytest.mark.slow
@needs_compas
def test_compas_from_the_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENSCORE_DATA", str(COMPAS_FOLDER))
    assert load_compas().X.shape == (9388, 16)
    monkeypatch.setenv("EVENSCORE_DATA", str(Path(str(COMPAS_FOLDER)) / "compas"))
    assert load_compas().X.shape == (9388, 16)


# COMPAS, made-up files in the published form


def published_form(label: str = "is_recid", n: int = 40) -> str:
    """A small file in the form of the published ones, personal columns included."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(n):
        score, priors = int(rng.integers(1, 11)), int(rng.integers(0, 5))
        row: dict[str, str | int] = dict.fromkeys(PERSONAL, f"{SECRET}-{k}")
        row |= {
            "id": k,
            "sex": ("Male", "Female")[k % 2],
            "age": 20 + k,
            "age_cat": ("Less than 25", "25 - 45", "Greater than 45")[k % 3],
            "race": ("African-American", "Caucasian")[k // 2 % 2],
            "juv_fel_count": 0,
            "decile_score": score,
            "juv_misd_count": 0,
            "priors_count": priors,
            "days_b_screening_arrest": "" if k == 0 else -1,
            "c_jail_in": "" if k == 0 else "2013-08-13 06:03:42",
            "c_jail_out": "" if k == 0 else "2013-08-15 05:41:20",
            "c_charge_degree": ("F", "M")[k % 2],
            "c_charge_desc": "Theft, grand\r\nsecond line",
            "is_recid": k // 4 % 2,
            label: k // 4 % 2,
            "v_decile_score": score,
            "score_text": "Low",
        }
        rows.append([*row.values(), score, priors])
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(
        [[*row, "decile_score", "priors_count"], *rows]  # both occur twice, as published
    )
    return out.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "compas-scores.csv"
    path.write_bytes(published_form().encode())
    return path


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No EVENSCORE_DATA, an empty cache and no network; returns the cache folder."""
    monkeypatch.delenv("EVENSCORE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    return tmp_path / "cache" / "evenscore"


def serve(monkeypatch: pytest.MonkeyPatch, content: bytes) -> list[str]:
    asked: list[str] = []

    def urlopen(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO(content)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return asked


def test_personal_columns_are_dropped_on_reading(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())  # no part of the first name
    data = load_compas(file)
    assert data.X.shape[0] == 39  # the row without a screening date is left out
    assert not set(PERSONAL) & set(data.raw)
    assert not any(SECRET in str(column.tolist()) for column in data.raw.values())
    # Less than two days, rounded down.
    assert set(data.X[:, data.feature_names.index("days_in_jail")]) == {1.0}


def test_published_and_reduced_form_give_the_same_data(file: Path, tmp_path: Path) -> None:
    reduced = tmp_path / "reduced.csv"
    text = compas_source.without_personal_columns(published_form(), "a file")
    reduced.write_bytes(text.encode())
    assert SECRET not in text
    one, other = load_compas(file), load_compas(str(reduced))
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.test, other.test)
    assert list(one.raw) == list(other.raw)


@pytest.mark.parametrize("sub", [".", "compas"])
def test_a_folder_is_searched(tmp_path: Path, sub: str) -> None:
    folder = tmp_path / "data"
    (folder / sub).mkdir(parents=True)
    (folder / sub / "compas-scores-two-years.csv").write_bytes(
        published_form("two_year_recid").encode()
    )
    assert load_compas(folder, version="two-years-all").X.shape == (40, 10)
    assert load_compas(folder, version="two-years").X.shape == (39, 10)


def one_sentence(error: BaseException) -> str:
    message = str(error)
    assert message.endswith(".")
    assert "\n" not in message
    assert SECRET not in message
    return message


def test_files_and_versions_that_are_not_there(file: Path) -> None:
    for path, version, name in (
        (file.parent / "nowhere", "paper", "nowhere"),
        (file.parent, "two-years", r"compas-scores-two-years\.csv"),
    ):
        with pytest.raises(FileNotFoundError, match=name) as caught:
            load_compas(path, version=version)  # type: ignore[arg-type]
        one_sentence(caught.value)
    with pytest.raises(ValueError, match=r"two-years.*'2016'"):
        load_compas(file, version="2016")  # type: ignore[arg-type]


def edit_column(file: Path, name: str, change: Callable[[str], str]) -> None:
    header, *rows = list(csv.reader(io.StringIO(file.read_bytes().decode(), newline="")))
    k = header.index(name)
    out = io.StringIO(newline="")
    for row in rows:
        row[k] = change(row[k])
    csv.writer(out).writerows([header, *rows])
    file.write_bytes(out.getvalue().encode())


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("age", "old", "numbers"),
        ("race", "1", "text"),
        ("is_recid", "2", "0 and 1"),
        ("c_jail_in", "13 August", "written"),
        ("c_jail_in", "", "empty"),
        ("decile_score", "77", "twice"),
    ],
)
def test_a_column_with_other_content_is_named(
    file: Path, column: str, value: str, reason: str
) -> None:
    edit_column(file, column, lambda _: value)
    with pytest.raises(ValueError, match=reason) as caught:
        load_compas(file)
    message = one_sentence(caught.value)
    assert repr(column) in message
    assert str(file) in message


def test_a_file_of_another_kind_is_named(file: Path) -> None:
    whole = published_form().encode()
    for content, reason in (
        (b"", "empty"),
        (b"race,age\n", "no rows"),
        (b"race,age\nOther,3,4\n", "Row 2 .*3 fields"),
        (b"race,age\n\xff\xfe,3\n", "UTF-8"),
        (b"race\n" + b"x" * 200_000, "not a readable table"),
        (whole.replace(b"c_charge_degree", b"degree"), "'c_charge_degree'"),
        (published_form("two_year_recid").encode(), "'two_year_recid'"),
    ):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=reason) as caught:
            load_compas(file)
        assert str(file) in one_sentence(caught.value)
    assert load_compas(file, version="two-years").X.shape == (39, 10)  # it has what that one needs
    file.write_bytes(whole)
    edit_column(file, "is_recid", lambda _: "-1")
    with pytest.raises(ValueError, match="No row"):
        load_compas(file)


# COMPAS, download


def test_failed_downloads_say_how_to_supply_the_file(
    offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for reason in ("no route to host", "SHA-256"):
        with pytest.raises(OSError, match=reason) as caught:
            load_compas()
        message = one_sentence(caught.value)
        assert "compas-scores.csv" in message
        assert "EVENSCORE_DATA" in message
        assert not offline.exists()
        serve(monkeypatch, published_form().encode())  # other bytes than those published


@pytest.fixture
def accepted(offline: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The made-up file is served, and its checksum taken for the published one."""
    content = published_form().encode()
    checksum = hashlib.sha256(content).hexdigest()
    monkeypatch.setitem(compas_source.PUBLISHED_SHA256, "compas-scores.csv", checksum)
    return serve(monkeypatch, content)


def test_a_download_is_kept_without_personal_columns(accepted: list[str], offline: Path) -> None:
    first = load_compas()
    [asked] = accepted
    assert re.match(r"https://.*propublica.*/compas-scores\.csv$", asked)
    assert [f.name for f in offline.iterdir()] == ["compas-scores.csv"]
    assert SECRET.encode() not in (offline / "compas-scores.csv").read_bytes()
    again = load_compas()
    assert len(accepted) == 1
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.raw["c_charge_desc"], again.raw["c_charge_desc"])


def test_the_environment_variable_comes_before_the_download(
    accepted: list[str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENSCORE_DATA", str(file.parent))
    load_compas()
    assert accepted == []


def test_an_interrupted_write_leaves_nothing_and_the_data_are_still_given(
    accepted: list[str], offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    assert load_compas().X.shape[0] == 39
    assert list(offline.iterdir()) == []


# The pieces


def test_a_split_takes_the_largest_remainders() -> None:
    y = np.array([0] * 5 + [1] * 5)
    groups = np.array(["a"] * 3 + ["b"] * 2 + ["a"] * 3 + ["b"] * 2)
    # Shares of 3 test rows: .9, .6, .9, .6; the two largest remainders, then the earlier tie.
    _, test = stratified_split(y, groups, ("a", "b"), 3, 0)
    counts = [int(np.sum((y[test] == c) & (groups[test] == g))) for c in (0, 1) for g in "ab"]
    assert counts == [1, 1, 1, 0]
    with pytest.raises(ValueError, match="10 test rows"):
        stratified_split(y, groups, ("a", "b"), 10, 0)
    with pytest.raises(ValueError, match="group order"):
        stratified_split(y, groups, ("a",), 1, 0)


def test_columns_are_typed_by_their_content() -> None:
    rows = split_rows("1,1.5,x,,\n2,,1,,3\n", "a text")
    table = to_columns(["int", "float", "text", "nothing", "hole"], rows, "a text")
    assert [column.dtype.kind for column in table.values()] == ["i", "f", "U", "U", "f"]
    assert np.isnan(table["float"][1])


def test_codes_stay_text() -> None:
    rows = split_rows("1,7\n2,07\n", "a text")
    table = to_columns(["number", "code"], rows, "a text", codes=["code"])
    assert table["number"].tolist() == [1, 2]
    assert table["code"].tolist() == ["7", "07"]
    assert feature_matrix(table)[1] == ["number", "code=07", "code=7"]


def test_columns_keep_their_order_and_categories_are_sorted() -> None:
    columns = {"b": np.array(["y", "?", "x"]), "n": np.array([3, 4, 5]), "a": np.array(["z"] * 3)}
    X, names = feature_matrix(columns)
    assert names == ["b=?", "b=x", "b=y", "n", "a=z"]
    np.testing.assert_array_equal(X, [[0, 0, 1, 3, 1], [1, 0, 0, 4, 1], [0, 1, 0, 5, 1]])


def test_a_dataset_refuses_parts_of_different_length() -> None:
    known = load_german()
    with pytest.raises(ValueError, match="y has 999 rows"):
        replace(known, y=known.y[1:])
    with pytest.raises(ValueError, match="2 feature names"):
        replace(known, feature_names=("x", "z"))
    with pytest.raises(ValueError, match="raw table"):
        replace(known, raw={}).frame()
