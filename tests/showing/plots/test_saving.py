import stat
import subprocess
import sys
from pathlib import Path

import pytest

from evenscore.showing.plots import GroupRocDisplay, figure, save
from evenscore.showing.plots.saving import figure_bytes


def drawn(theme="light"):
    y, s, groups = [0, 1] * 50, range(100), list("aabb") * 25
    display = GroupRocDisplay.from_predictions(y, s, sensitive_features=groups)
    return display.plot(figure(theme=theme)[1]).figure_


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["svg", "pdf"])
def test_the_same_picture_gives_the_same_bytes(kind, tmp_path):
    one, two = (save(drawn(), tmp_path / f"{k}.{kind}").read_bytes() for k in range(2))
    assert one == two
    dark = figure_bytes(drawn("dark"), kind)
    assert dark != one
    assert kind != "svg" or b"#15181c" in dark  # the background is kept
    for word in (b"matplotlib.org", b"Date", b"2026"):
        assert word not in one


@pytest.mark.slow
def test_the_same_bytes_from_another_process(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from test_saving import drawn; "
        "from evenscore.showing.plots import save; save(drawn(), sys.argv[2])"
    )
    path = tmp_path / "other.svg"
    folder = str(Path(__file__).parent)
    subprocess.run([sys.executable, "-c", code, folder, str(path)], check=True)
    assert path.read_bytes() == figure_bytes(drawn(), "svg")


def test_a_file_is_written_whole(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    assert save(drawn(), path) == path
    assert stat.S_IMODE(path.stat().st_mode) & 0o400
    before = path.read_bytes()

    def broken(*_):
        raise OSError("no room")

    monkeypatch.setattr("os.replace", broken)
    with pytest.raises(OSError, match="no room"):
        save(drawn("dark"), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.png"]


def test_unknown_kind(tmp_path):
    with pytest.raises(ValueError, match=r"svg, png, pdf.*'bmp'"):
        save(drawn(), tmp_path / "a.bmp")
    assert list(tmp_path.iterdir()) == []
