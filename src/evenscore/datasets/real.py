"""Real data sets, the paper's four with its preprocessing, as `Dataset` objects.

Every categorical variable is one-hot encoded over all its observed categories, numbers are left
as they are. Nothing is standardised here: a scale has to be learned from the training part, so
it belongs to the scorers.
"""

import lzma
import os
import tomllib
from importlib import resources
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from evenscore.datasets.census_source import read_census
from evenscore.datasets.compas_source import read_compas
from evenscore.datasets.dataset import Dataset, stratified_split
from evenscore.datasets.tables import Table, feature_matrix, split_rows, to_columns

CompasVersion = Literal["paper", "two-years", "two-years-all"]

_FILES = resources.files("evenscore.datasets")
_SOURCES = tomllib.loads((_FILES / "sources.toml").read_text("utf-8"))


def load_german() -> Dataset:
    """German credit: 1 000 applicants, d = 61, test 300.

    ``y`` is 1 for a good risk. Groups: female, male, read from the attribute that joins marital
    status and sex. All 20 attributes are features. The default split is ``split(random_state=0)``.

    >>> data = load_german()
    >>> data.X.shape, len(data.train), len(data.test)
    ((1000, 61), 700, 300)
    """
    rows = split_rows(_bundled("german.data"), "german.data", delimiter=" ")
    table = to_columns(_SOURCES["german"]["columns"], rows, "german.data")
    return _dataset(
        "german",
        table,
        {name: table[name] for name in table if name != "risk"},
        y=table["risk"] == 1,
        in_group_1=np.isin(table["status_and_sex"], ("A91", "A93", "A94")),
        group_order=("female", "male"),
        n_test=300,
    )


def load_adult() -> Dataset:
    """Adult income: 48 842 people of the 1994 US census, d = 107, the given split.

    ``y`` is 1 for an income above 50K. Groups: female, male. The census weight ``fnlwgt`` is not
    a feature; a missing value, ``?``, is a category like another. The 32 561 rows of the training
    file come first, then the 16 281 of the test file, whose labels end with a dot that ``raw``
    leaves out.

    >>> data = load_adult()
    >>> data.X.shape, len(data.train), len(data.test)
    ((48842, 107), 32561, 16281)
    """
    train, test = (
        split_rows(_bundled(name).removeprefix("|1x3 Cross validator\n"), name, skip_spaces=True)
        for name in ("adult.data", "adult.test")
    )
    table = to_columns(_SOURCES["adult"]["columns"], train + test, "adult.data and adult.test")
    table["income"] = np.strings.rstrip(table["income"], ".")
    return _dataset(
        "adult",
        table,
        {name: table[name] for name in table if name not in ("fnlwgt", "income")},
        y=table["income"] == ">50K",
        in_group_1=table["sex"] == "Male",
        group_order=("female", "male"),
        given_split=(np.arange(len(train)), np.arange(len(train), len(train) + len(test))),
    )


def load_bank() -> Dataset:
    """Bank marketing: 41 188 calls (``bank-additional-full.csv``), d = 59, test 8 238.

    ``y`` is 1 if the client took the term deposit. Groups: "working age" for 25 <= age <= 60,
    else "other". ``marital`` is not a feature; ``duration`` is one, as in the paper, although it
    is known only after the call. The default split is ``split(random_state=0)``.

    >>> data = load_bank()
    >>> data.X.shape, len(data.train), len(data.test)
    ((41188, 59), 32950, 8238)
    """
    name = "bank-additional-full.csv"
    header, *rows = split_rows(_bundled(name), name, delimiter=";")
    table = to_columns(header, rows, name)
    return _dataset(
        "bank",
        table,
        {name: table[name] for name in table if name not in ("marital", "y")},
        y=table["y"] == "yes",
        in_group_1=(table["age"] >= 25) & (table["age"] <= 60),
        group_order=("other", "working age"),
    )


def load_census(path: str | os.PathLike[str] | None = None) -> Dataset:
    """Census income (KDD): 299 285 people of surveys of 1994 and 1995, d = 510.

    ``y`` is 1 for an income above 50 000 dollars. Groups: female, male; race is in ``raw``. The
    split is the given one: the 199 523 rows of the training file come first, then the 99 762 of
    the test file. The survey's ``instance weight`` is in ``raw`` and not a feature: it says how
    many people a row stands for. All other 40 variables are features; seven are numbers, and the
    codes of industry, occupation, own business, veterans benefits and year are categories. A
    missing value, ``?``, is a category like another.

    The two files are looked for in the folder ``path``, or ``census-kdd/`` in it, then likewise at
    the environment variable ``EVENSCORE_DATA``; with ``.gz`` at the end they are decompressed. They
    are not bundled, and not downloaded. The table takes about 2.2 GB of memory.

    >>> data = load_census()  # doctest: +SKIP
    >>> data.X.shape, len(data.train), len(data.test)  # doctest: +SKIP
    ((299285, 510), 199523, 99762)
    """
    source = _SOURCES["census"]
    table, n_train = read_census(path, source["columns"], source["codes"])
    n = len(table["income"])
    return _dataset(
        "census",
        table,
        {name: table[name] for name in table if name not in ("instance weight", "income")},
        y=table["income"] == "50000+.",
        in_group_1=table["sex"] == "Male",
        group_order=("female", "male"),
        given_split=(np.arange(n_train), np.arange(n_train, n)),
    )


def load_compas(
    path: str | os.PathLike[str] | None = None, version: CompasVersion = "paper"
) -> Dataset:
    """COMPAS: defendants of Broward County, and whether they were charged again.

    ``version`` chooses the file and the rows:

    - ``"paper"``: ``compas-scores.csv``, the rows whose screening is within 30 days of the
      arrest, with a case found and not an ordinary traffic offence: 9 388 rows, d = 16, test
      1 878. ``y`` is ``is_recid``; groups "other" and "African-American". The features are the
      authors': eight numbers (the decile score twice, because the file has that column twice;
      the days in jail, rounded down), six races and two degrees of charge.
    - ``"two-years"``: ``compas-scores-two-years.csv``, ProPublica's filter, African-American and
      Caucasian only, as in the paper's last appendix: 5 278 rows, test 1 056. ``y`` is
      ``two_year_recid``; groups "Caucasian" and "African-American". The paper does not list the
      features; here they are age category, race, sex, number of priors and degree of charge
      (d = 10), which Zafar et al. (2017) use with these rows. The decile scores are in ``raw``.
    - ``"two-years-all"``: the same without the filter, 6 150 rows, to audit the decile scores.

    The file is looked for at ``path`` (the file, or a folder that holds it or ``compas/`` with
    it), then likewise at the environment variable ``EVENSCORE_DATA``, and is otherwise downloaded
    from ProPublica's repository, checked and kept in the user's cache folder. Names, dates of
    birth and case numbers are dropped on reading. The default split is ``split(random_state=0)``.

    >>> data = load_compas(version="two-years-all")  # doctest: +SKIP
    >>> data.raw["decile_score"].shape, data.group_order  # doctest: +SKIP
    ((6150,), ('Caucasian', 'African-American'))
    """
    known = get_args(CompasVersion)
    if version not in known:
        raise ValueError(f"version must be one of {', '.join(known)}, not {version!r}.")
    return _compas_paper(path) if version == "paper" else _compas_two_years(path, version)


def _compas_paper(path: str | os.PathLike[str] | None) -> Dataset:
    table, source = read_compas("compas-scores.csv", path)
    # The other file has every column needed here, but fewer people and another purpose.
    if "two_year_recid" in table:
        raise ValueError(
            f"{source} has the column 'two_year_recid', so it is not compas-scores.csv: give that "
            f"file or ask for version='two-years'."
        )
    numbers = ("age", "juv_fel_count", "juv_misd_count", "priors_count")
    scores = ("decile_score", "v_decile_score")
    _require(table, source, "text", "race", "c_charge_degree", "c_jail_in", "c_jail_out")
    _require(table, source, "numbers", *numbers, *scores, "days_b_screening_arrest", "is_recid")
    table = _rows(table, _near_arrest(table), "is_recid", source)
    columns = {name: table[name] for name in (*numbers, *scores)}
    columns["decile_score (repeated)"] = table["decile_score"]
    columns["days_in_jail"] = _days_in_jail(table, source)
    columns |= {name: table[name] for name in ("c_charge_degree", "race")}
    return _compas("compas", table, columns, "is_recid", "other")


def _compas_two_years(path: str | os.PathLike[str] | None, version: str) -> Dataset:
    table, source = read_compas("compas-scores-two-years.csv", path)
    numbers = ("priors_count", "decile_score", "days_b_screening_arrest", "is_recid")
    _require(table, source, "text", "age_cat", "c_charge_degree", "race", "sex", "score_text")
    _require(table, source, "numbers", *numbers, "two_year_recid")
    kept = np.isin(table["race"], ("African-American", "Caucasian"))
    if version == "two-years":
        kept &= _near_arrest(table) & ~np.isin(table["score_text"], ("N/A", "NA", ""))
    table = _rows(table, kept, "two_year_recid", source)
    features = ("age_cat", "c_charge_degree", "priors_count", "race", "sex")
    columns = {name: table[name] for name in features}
    return _compas(f"compas ({version})", table, columns, "two_year_recid", "Caucasian")


def _compas(name: str, table: Table, columns: Table, label: str, other: str) -> Dataset:
    return _dataset(
        name,
        table,
        columns,
        y=table[label] == 1,
        in_group_1=table["race"] == "African-American",
        group_order=(other, "African-American"),
    )


def _dataset(
    name: str,
    table: Table,
    columns: Table,
    *,
    y: NDArray[np.bool_],
    in_group_1: NDArray[np.bool_],
    group_order: tuple[str, str],
    n_test: int | None = None,
    given_split: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
) -> Dataset:
    X, feature_names = feature_matrix(columns)
    labels = y.astype(np.int64)
    groups = np.where(in_group_1, group_order[1], group_order[0])
    if n_test is None:
        n_test = -(-len(y) // 5)  # rounded up, as the split of scikit-learn that the authors used
    train, test = given_split or stratified_split(labels, groups, group_order, n_test, 0)
    return Dataset(
        name=name,
        X=X,
        y=labels,
        groups=groups,
        group_order=group_order,
        feature_names=tuple(feature_names),
        train=train,
        test=test,
        raw=table,
        description=_SOURCES[name.split()[0]]["description"],
    )


def _bundled(name: str) -> str:
    return lzma.decompress((_FILES / "bundled" / f"{name}.xz").read_bytes()).decode("utf-8")


def _near_arrest(table: Table) -> NDArray[np.bool_]:
    # ProPublica's filter: otherwise the charge may not be the one the person was screened for.
    near: NDArray[np.bool_] = np.abs(table["days_b_screening_arrest"]) <= 30
    near &= (table["c_charge_degree"] != "O") & (table["is_recid"] >= 0)
    return near


def _rows(table: Table, kept: NDArray[np.bool_], label: str, source: str) -> Table:
    if not kept.any():
        raise ValueError(f"No row of {source} belongs to the selection.")
    if not np.isin(table[label][kept], (0, 1)).all():
        raise ValueError(f"Column {label!r} of {source} has values other than 0 and 1.")
    return {name: column[kept] for name, column in table.items()}


def _require(table: Table, source: str, kind: Literal["text", "numbers"], *names: str) -> None:
    for name in names:
        if name not in table:
            raise ValueError(f"{source} has no column {name!r}, which the COMPAS file has.")
        column = table[name]
        actual = "text" if column.dtype.kind == "U" else "numbers"
        if actual != kind:
            expected = "text is" if kind == "text" else "numbers are"
            raise ValueError(
                f"Column {name!r} of {source} holds {actual} where {expected} expected."
            )
        # The one number that the published files leave empty; such rows fail the filter.
        if (
            column.dtype.kind == "f"
            and name != "days_b_screening_arrest"
            and np.isnan(column).any()
        ):
            raise ValueError(f"Column {name!r} of {source} has an empty field.")


def _days_in_jail(table: Table, source: str) -> NDArray[np.int64]:
    times = []
    for name in ("c_jail_in", "c_jail_out"):
        try:
            time = table[name].astype("datetime64[s]")
        except ValueError as error:
            raise ValueError(
                f"Column {name!r} of {source} has a time not written like 2013-08-13 06:03:42."
            ) from error
        if np.isnat(time).any():
            raise ValueError(f"Column {name!r} of {source} has an empty field in a selected row.")
        times.append(time)
    days: NDArray[np.int64] = (times[1] - times[0]) // np.timedelta64(1, "D")
    return days
