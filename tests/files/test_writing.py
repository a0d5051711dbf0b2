import numpy as np
import pytest

from evenscore.files.opening import open_table
from evenscore.files.writing import write_beside

ODD = b'id,id,,"a ""b""",zip,text\r\n1,x,,0.10,007,"l1\nl2"\r\n2,y,5,1e3,012,\r\n'


@pytest.fixture
def path(tmp_path):
    (tmp_path / "in.csv").write_bytes(ODD)
    return tmp_path / "in.csv"


def test_cells_stay_as_they_were_written(path, tmp_path):
    with open_table(path) as table:
        write_beside(table, np.array([0.1, 1 / 3]), tmp_path / "out.csv", column="new")
    with open_table(tmp_path / "out.csv") as table:
        assert table.names == ("id", "id_2", "unnamed", 'a "b"', "zip", "text", "new")
        assert table.query("SELECT * FROM rows").fetchall() == [
            ("1", "x", None, "0.10", "007", "l1\nl2", "0.1"),
            ("2", "y", "5", "1e3", "012", None, "0.3333333333333333"),
        ]


def test_numbers_become_numbers_in_parquet_but_codes_do_not(path, tmp_path):
    with open_table(path) as table:
        write_beside(table, np.array([0.1, 0.2]), tmp_path / "out.parquet", column="it's new")
    with open_table(tmp_path / "out.parquet") as table:
        assert table.types == (
            "BIGINT", "VARCHAR", "BIGINT", "DOUBLE", "VARCHAR", "VARCHAR", "DOUBLE",
        )  # fmt: skip
        assert table.query("SELECT * FROM rows").fetchall() == [
            (1, "x", None, 0.1, "007", "l1\nl2", 0.1),
            (2, "y", 5, 1000.0, "012", None, 0.2),
        ]


def test_a_tab_separated_file(path, tmp_path):
    with open_table(path) as table:
        write_beside(table, np.zeros(2), tmp_path / "out.tsv", column="new")
    assert (tmp_path / "out.tsv").read_bytes().startswith(b"id\tid_2\t")


def test_a_failure_leaves_nothing_behind(path, tmp_path):
    with (
        open_table(path) as table,
        pytest.raises(ValueError, match="'ZIP'"),
    ):
        write_beside(table, np.zeros(2), tmp_path / "out.csv", column="ZIP")
    path.write_bytes(ODD + b"3,z\r\n")
    with open_table(path) as table, pytest.raises(ValueError, match="2 values"):
        write_beside(table, np.zeros(3), tmp_path / "out.csv", column="new")
    assert [file.name for file in tmp_path.iterdir()] == ["in.csv"]


def test_a_link_stays_a_link_and_permissions_are_kept(path, tmp_path):
    (tmp_path / "out").mkdir()
    real, link = tmp_path / "out" / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    with open_table(path) as table:
        assert write_beside(table, np.zeros(2), link, column="new") == link
    assert link.is_symlink()
    assert real.read_text().startswith("id,id_2,")
    assert real.stat().st_mode & 0o777 == 0o640
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["real.csv"]


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_full_disk_is_not_the_fault_of_the_table(tmp_path, name):
    resource = pytest.importorskip("resource", reason="limits are POSIX's")
    values = np.random.default_rng(0).random(20_000)
    source, target = tmp_path / "in.csv", tmp_path / name
    source.write_text("id\n" + "\n".join(map(str, range(len(values)))))
    target.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_table(source) as table:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
        try:
            with pytest.raises(OSError, match=str(target)):
                write_beside(table, values, target, column="new")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert target.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", name]


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_duckdb_writes_under_no_name_of_its_own(path, tmp_path, monkeypatch, name):
    """A process that is killed would leave such a file, and nobody would remove it."""
    said = []
    with open_table(path) as table:
        query = table.query
        monkeypatch.setattr(
            type(table), "query", lambda self, *sql: said.append(sql) or query(*sql)
        )
        write_beside(table, np.zeros(2), tmp_path / name, column="new")
    assert "USE_TMP_FILE false" in said[-1][0]
