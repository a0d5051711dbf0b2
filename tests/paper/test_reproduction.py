import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from evenscore.paper.parts import Store
from evenscore.paper.plan import EXPERIMENTS, QUICK, Plan
from typer.testing import CliRunner

import evenscore.paper
from evenscore.cli import app, process
from evenscore.paper import real_data, reproduce, reproduction


@pytest.fixture
def without_compas(monkeypatch):
    """As on a machine that has no COMPAS files and no network."""
    known = real_data.load.__wrapped__

    def load(name):
        if name.startswith("compas"):
            raise OSError("compas-scores.csv could not be downloaded; set EVENSCORE_DATA.")
        return known(name)

    monkeypatch.setattr(real_data, "load", load)


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("href", "src")]


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent.name != "compiled"  # JAX's own
    }


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """One quick run of everything, on the data that are here."""
    folder = tmp_path_factory.mktemp("results")
    result = CliRunner().invoke(app, ["reproduce", "all", "--quick", "-o", str(folder)])
    assert result.exit_code == 0, result.output
    return folder, result


@pytest.mark.slow
def test_everything_is_on_the_page(quick):
    folder, result = quick
    assert "index.html" in result.output
    assert "Not done yet" not in result.output
    page = (folder / "index.html").read_text()
    parser = Links()
    parser.feed(page)
    for link in parser.found:
        assert link.startswith(("#", "data:,")) or (folder / link).is_file(), link
    assert "http" not in re.sub(r"http-equiv", "", page)
    for name in ("figure_1_credit", "strength_path", "square_auc_solutions", "rings_roc_curves"):
        for ending in ("svg", "png"):
            assert (folder / "figures" / f"{name}.{ending}").stat().st_size > 1000
    tables = "gamma dimensions laws thresholds synthetic results parameters grid readings area"
    for name in tables.split():
        for ending in ("md", "csv"):
            assert (folder / "tables" / f"{name}.{ending}").stat().st_size > 100
    assert {path.stem for path in (folder / "tables").glob("splits_*.csv")} == {
        f"splits_{scorer}" for scorer in QUICK.scorers
    }


@pytest.mark.slow
def test_the_same_is_there_as_markdown(quick):
    folder, _ = quick
    text = (folder / "index.md").read_text()
    assert "A quick look, not a reproduction: 3 runs" in text
    assert "A quick look, not a reproduction: 3 runs" in (folder / "index.html").read_text()
    pictures = re.findall(r"!\[[^\]]+\]\((.+?)\)", text)
    assert sorted(pictures) == sorted(
        f"figures/{p.name}" for p in (folder / "figures").glob("*.png")
    )
    for path in (folder / "tables").glob("*.md"):
        assert path.read_text().split("\n", 1)[1].strip() in text


@pytest.mark.slow
def test_it_goes_on_where_it_was_and_gives_the_same_bytes(quick, tmp_path):
    folder, _ = quick
    before = files(folder)
    result = CliRunner().invoke(app, ["reproduce", "all", "--quick", "-o", str(folder)])
    assert result.exit_code == 0
    assert files(folder) == before
    # One part is lost: it alone is done again, and gives the same numbers.
    there, _ = real_data.available(QUICK.data)
    part = Plan(QUICK, tuple(there)).parts("synthetic")[0]
    store = Store(folder / "parts")
    store.path(part).unlink()
    reproduce("synthetic", folder, quick=True, jobs=1)
    assert files(folder) == before


@pytest.mark.slow
def test_without_compas_everything_else_is_done(without_compas, monkeypatch, tmp_path):
    scale = replace(QUICK, data=("german", "compas", "compas_two_years"))
    monkeypatch.setattr(reproduction, "QUICK", scale)
    said = []
    found = reproduce("figures", tmp_path, quick=True, say=said.append)
    assert len(said) == 1
    assert "Compas and Compas (two years) left out: compas-scores.csv could not be" in said[0]
    page = found.page.read_text()
    assert said[0] in page
    assert "Not done yet: the full grid" in page
    assert set(found.missing) == set(EXPERIMENTS.values())
    assert "German" in page


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["reproduce", "tables"], "target must be one of synthetic, real"),
        (["reproduce", "figures", "--runs", "1"], "runs must be at least 2"),
    ],
)
def test_bad_requests_give_a_sentence(arguments, sentence, tmp_path):
    result = CliRunner().invoke(app, [*arguments, "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    result = CliRunner().invoke(app, ["reproduce", "figures", "-o", str(taken)])
    assert result.exit_code == 2
    assert "is a file, not a folder" in result.output.replace("\n", " ")
    assert taken.read_text() == "mine"


@pytest.fixture
def asked(monkeypatch):
    """As if everything were done at once: the folders that were asked for."""
    folders = []

    def done(target, folder, **how):
        folders.append(folder)
        return reproduction.Reproduced(folder / "index.html", (), ("the [/b] of it",))

    monkeypatch.setattr(evenscore.paper, "reproduce", done)
    monkeypatch.setattr(process._Process, "remark", "")
    return folders


def test_interrupting_says_that_what_is_finished_is_kept(asked, tmp_path):
    assert CliRunner().invoke(app, ["reproduce", "-o", str(tmp_path)]).exit_code == 0
    assert asked == [tmp_path]
    kept = f"What is finished is kept in {tmp_path}: the same command goes on."
    assert process._Process.remark == kept


def test_a_folder_is_no_markup(asked, tmp_path):
    folder = tmp_path / "a[/b]"
    result = CliRunner().invoke(app, ["reproduce", "-o", str(folder)])
    assert result.exit_code == 0, result.exception
    assert str(folder / "index.html") in result.output
    assert "Not done yet: the [/b] of it." in result.output


def test_a_folder_that_cannot_be_written_in_is_refused_before_any_work(monkeypatch, tmp_path):
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)
    monkeypatch.setattr(reproduction, "available", lambda data: pytest.fail("that is work"))
    with pytest.raises(ValueError, match=r"does not allow to write in it: name another folder\.$"):
        reproduction.reproduce("figures", tmp_path)
