"""Census income (KDD): the published counts where the files are here, made-up files elsewhere."""

from __future__ import annotations

import gzip
import hashlib
import tomllib
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from support.making import data_folder

from evenscore.datasets import Dataset, load_census
from evenscore.datasets.census_source import FILES

SOURCE = tomllib.loads((resources.files("evenscore.datasets") / "sources.toml").read_text("utf-8"))[
    "census"
]
COLUMNS: list[str] = SOURCE["columns"]
NUMBERS = [
    "age",
    "wage per hour",
    "capital gains",
    "capital losses",
    "dividends from stocks",
    "num persons worked for employer",
    "weeks worked in year",
]

# SHA-256 of the distributed files, decompressed.
SHA256 = {
    "census-income.data": "3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86",
    "census-income.test": "98402b1ab879573d0a7f38a699a40258080e25e33d3401e7bf9c96d3fa0fab8c",
}


REAL = data_folder(f"census-kdd/{FILES[0]}*")
needs_files = pytest.mark.skipif(
    REAL is None, reason="the census-income files are not bundled; set EVENSCORE_DATA"
)


# The real files


def distributed(name: str) -> bytes:
    """A file as it is distributed, unpacked."""
    folder = Path(str(REAL)) / "census-kdd"
    plain = folder / name
    if plain.is_file():
        return plain.read_bytes()
    return gzip.decompress((folder / f"{name}.gz").read_bytes())


@pytest.fixture(scope="module")
def real() -> Dataset:
    """All of it: twenty seconds."""
    return load_census(REAL)


@pytest.fixture(scope="module")
def beginning(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The first rows of the real files."""
    folder = tmp_path_factory.mktemp("census")
    for name, n in zip(FILES, (2000, 1000), strict=True):
        lines = distributed(name)[:2_000_000].splitlines(keepends=True)
        (folder / name).write_bytes(b"".join(lines[:n]))
    return load_census(folder)


@needs_files
def test_the_files_are_the_distributed_ones() -> None:
    for name in FILES:
        assert hashlib.sha256(distributed(name)).hexdigest() == SHA256[name]


@needs_files
@pytest.mark.soak
def test_the_published_sizes_and_counts(real: Dataset) -> None:
    assert real.X.shape == (299285, 510)
    np.testing.assert_array_equal(real.train, np.arange(199523))
    np.testing.assert_array_equal(real.test, np.arange(199523, 299285))
    assert int(real.y[real.train].sum()) == 12382
    assert int(real.y[real.test].sum()) == 6186
    assert [len(part) for part in real.split(1)] == [199523, 99762]


@needs_files
def test_features_of_the_real_files(beginning: Dataset) -> None:
    data = beginning
    assert data.X.dtype == np.float64
    assert (len(data.train), len(data.test)) == (2000, 1000)
    assert data.group_order == ("female", "male")
    np.testing.assert_array_equal(data.groups == "male", data.raw["sex"] == "Male")
    assert [name for name in data.feature_names if "=" not in name] == NUMBERS
    variables = [name.split("=")[0] for name in data.feature_names]
    left_out = {"instance weight", "income"}
    assert list(dict.fromkeys(variables)) == [name for name in COLUMNS if name not in left_out]
    numbers = [data.feature_names.index(name) for name in NUMBERS]
    np.testing.assert_array_equal(
        data.X[:, numbers], np.column_stack([data.raw[name] for name in NUMBERS])
    )
    # Every category is somebody's, and everybody has one of every variable.
    indicators = np.delete(data.X, numbers, axis=1)
    assert indicators.any(axis=0).all()
    np.testing.assert_array_equal(indicators.sum(axis=1), len(set(variables)) - len(NUMBERS))
    for name in ("race=Black", "migration prev res in sunbelt=?", "year=94"):
        variable, category = name.split("=")
        column = data.X[:, data.feature_names.index(name)]
        np.testing.assert_array_equal(column == 1.0, data.raw[variable] == category)
    assert [len(part) for part in data.split(1)] == [2000, 1000]
    # A row stands for about 1 700 people of the survey.
    assert 1500 < data.raw["instance weight"].mean() < 2000


# Made-up files


def fields(k: int) -> dict[str, str]:
    """A row in the form of the distributed ones."""
    row = dict.fromkeys(COLUMNS, "Not in universe") | dict.fromkeys(NUMBERS, str(k))
    row |= {name: str(k % 3) for name in SOURCE["codes"]}
    row |= {"race": ("White", "Black")[k % 2], "sex": ("Female", "Male")[k // 2 % 2]}
    row |= {"instance weight": "1700.09", "migration code-change in msa": "?"}
    row |= {"citizenship": "Foreign born- Not a citizen of U S "}
    return row | {"income": ("- 50000.", "50000+.")[k // 4 % 2]}


def written(folder: Path, *, zipped: bool = False, **changes: str) -> Path:
    """Both files, 12 and 8 rows; changes are made in the last row."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, n in zip(FILES, (12, 8), strict=True):
        rows = [fields(k) for k in range(n)]
        rows[-1] |= changes
        content = "".join(", ".join(row.values()) + "\n" for row in rows).encode()
        if zipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(("sub", "zipped"), [(".", False), ("census-kdd", True)])
def test_a_folder_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sub: str, zipped: bool
) -> None:
    written(tmp_path / sub, zipped=zipped)
    data = load_census(tmp_path)
    assert (len(data.train), len(data.test)) == (12, 8)
    np.testing.assert_array_equal(data.y[:8], [0, 0, 0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(data.y[data.test], [0, 0, 0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(data.groups[:4], ["female", "female", "male", "male"])
    monkeypatch.setenv("EVENSCORE_DATA", str(tmp_path))
    np.testing.assert_array_equal(load_census().X, data.X)
    monkeypatch.setenv("EVENSCORE_DATA", str(tmp_path / "nowhere"))
    assert load_census(tmp_path).X.shape == data.X.shape  # the path comes first


def test_weights_are_not_features_and_codes_are_categories(tmp_path: Path) -> None:
    data = load_census(written(tmp_path))
    assert not any("weight" in name or "income" in name for name in data.feature_names)
    assert data.raw["instance weight"].dtype == np.float64
    assert [name for name in data.feature_names if "=" not in name] == NUMBERS
    assert "detailed industry recode=2" in data.feature_names
    assert "migration code-change in msa=?" in data.feature_names
    assert {"sex=Male", "race=Black"} <= set(data.feature_names)
    np.testing.assert_array_equal(
        data.X[:, data.feature_names.index("year=1")] == 1.0, data.raw["year"] == "1"
    )
    assert "licence" in data.description


def one_sentence(error: BaseException) -> str:
    message = str(error)
    assert message.endswith(".")
    assert "\n" not in message
    return message


def test_without_both_files_the_error_says_what_to_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVENSCORE_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="EVENSCORE_DATA") as caught:
        load_census()
    assert all(name in one_sentence(caught.value) for name in FILES)
    (written(tmp_path) / FILES[1]).unlink()
    with pytest.raises(FileNotFoundError, match="both") as caught:
        load_census(tmp_path)
    assert str(tmp_path) in one_sentence(caught.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"1, 2, 3\n", "3 columns.* 42"),
        (b"\xff\xfe\n", "not UTF-8"),
        (gzip.compress(b"1, 2, 3\n" * 500, mtime=0)[:-12], "not a whole gzip file"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    place = written(tmp_path) / FILES[1]
    place.write_bytes(content)
    with pytest.raises(ValueError, match=reason) as caught:
        load_census(tmp_path)
    assert str(place) in one_sentence(caught.value)


@pytest.mark.parametrize(("column", "value"), [("income", "much"), ("sex", "?")])
def test_other_labels_and_groups_are_refused(tmp_path: Path, column: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"Column '{column}'") as caught:
        load_census(written(tmp_path, **{column: value}))
    one_sentence(caught.value)
