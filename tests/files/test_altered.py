"""Model files: the same model is the same bytes, and an altered one is refused in a sentence."""

import io
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import skops.io
from support.commands import refused, run

import evenscore as es
from evenscore.files.features import Feature
from evenscore.files.models import TableModel, canonical, load_model, save_model

BENCHMARKS = str(Path(__file__).resolve().parents[2] / "benchmarks")


def rows():
    rng = np.random.default_rng(0)
    y, X = rng.integers(0, 2, 200), rng.normal(size=(200, 3))
    X[:, 0] += y
    return X, y


def table_model(scorer):
    X, y = rows()
    features = (Feature("a"), Feature("b", ("u", "v")))
    return TableModel(scorer.fit(X, y), features, "y", "1", ("g",), "0.2.0")


@pytest.fixture(scope="module")
def linear():
    return table_model(es.LinearScorer())


@pytest.fixture(scope="module")
def even():
    return table_model(es.EvenScorer(folds=2, random_state=0))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n0.5,u\n1e3,v\n-2,w\n")
    return path


def write(path, model):
    """What `save_model` writes, of a scorer that is stored already."""
    path.write_bytes(canonical(skops.io.dumps(model)))
    return path


# ---------------------------------------------------------------------- the same bytes


def test_a_model_is_the_same_bytes_whenever_it_is_saved(linear, even, tmp_path):
    for model in (linear, even):
        one = save_model(tmp_path / "one.skops", model).read_bytes()
        assert save_model(tmp_path / "two.skops", model).read_bytes() == one
        loaded = load_model(tmp_path / "one.skops")
        np.testing.assert_allclose(loaded.score(rows()[0]), model.score(rows()[0]), atol=1e-12)
        assert save_model(tmp_path / "three.skops", loaded).read_bytes() == one
        assert canonical(one) == one


def test_objects_that_are_one_stay_one():
    shared = np.arange(3.0)
    content = canonical(skops.io.dumps({"a": [shared, shared], "b": shared.copy(), "c": b"x"}))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.namelist() == ["1.npy", "2.npy", "3.bin", "schema.json"]
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    read = skops.io.loads(content)
    assert read["a"][0] is read["a"][1]
    assert read["a"][0] is not read["b"]
    assert read["c"] == b"x"


@pytest.mark.slow  # two processes with two fits each
def test_a_fit_is_the_same_bytes_in_every_process(tmp_path):
    """Whatever the seed of hashes is, and the number of threads that OpenMP allows."""
    rng = np.random.default_rng(0)
    lines = [f"{a:.4f},{b},{int(a > 0)},{g}" for a, b, g in zip(
        rng.normal(size=100), rng.choice(["u", "v", "w"], 100), rng.choice(["f", "m"], 100),
        strict=True)]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y,g", *lines]) + "\n")
    code = (
        "from evenscore.cli import app\n"
        "asked = 'fit t.csv --label y --group g --equal fnr --cuts everyone=0.5 -q'\n"
        "for model in ('linear', 'even'):\n"
        "    out = ['--tolerance', '0.9', '--model', model, '-o', f'{model}-SEED.skops']\n"
        "    try: app([*asked.split(), *out])\n"
        "    except SystemExit as ended: assert not ended.code\n"
    )
    for seed in "12":
        environment = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": seed}
        command = [sys.executable, "-c", code.replace("SEED", seed)]
        subprocess.run(command, check=True, env=environment, cwd=tmp_path)
    for kind in ("linear", "even"):
        one, two = ((tmp_path / f"{kind}-{seed}.skops").read_bytes() for seed in "12")
        assert one == two


# ---------------------------------------------------------------------- altered files


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (dict(features=()), "TableModel.features"),
        (dict(features=[Feature("a")]), "tuple, not list"),
        (dict(features=("a", "b")), "TableModel.features"),
        (dict(features=(Feature(5), Feature("b", ("u", "v")))), "Feature.name"),
        (dict(features=(Feature("a"), Feature("b", ("u", 5)))), "Feature.categories"),
        (dict(features=(Feature("a"), Feature("b", ("u", "u")))), "different"),
        (dict(features=(Feature("a"), Feature("b", percent=5))), "Feature.percent"),
        (dict(features=tuple(map(Feature, "aab"))), "twice"),
        (dict(features=tuple(map(Feature, "ab"))), "takes 3"),
        (dict(groups=(5,)), "TableModel.groups"),
        (dict(label=None), "str, not NoneType"),
        (dict(scorer=None), "TableModel.scorer"),
    ],
    ids=str,
)
def test_a_model_with_an_odd_part(linear, table, tmp_path, changed, told):
    path = write(tmp_path / "m.skops", replace(linear, **changed))
    sentence = refused("score", path, table, "-o", tmp_path / "out.csv")
    assert sentence.startswith("m.skops ")
    assert told in sentence
    assert not (tmp_path / "out.csv").exists()


def test_what_is_told_stays_one_line(even, tmp_path):
    stored = even.scorer.stored()
    stored.estimator = np.ones((3, 3))  # shown in several lines
    path = write(tmp_path / "m.skops", replace(even, scorer=stored))
    with pytest.raises(ValueError, match=r"^m.skops ") as caught:
        load_model(path)
    assert "\n" not in str(caught.value)


def altered_forests(forest):
    """Trees that would loop for ever, or read beyond their arrays."""
    far = np.full_like(forest.left, 10**9)
    yield replace(forest, left=np.zeros_like(forest.left))
    yield replace(forest, right=far)
    yield replace(forest, feature=far)
    yield replace(forest, starts=far[: len(forest.starts)])
    yield replace(forest, value=np.full_like(forest.value, np.inf))
    yield replace(forest, threshold=np.full_like(forest.threshold, np.nan))
    yield replace(forest, missing_left=forest.missing_left.astype(int))


def test_altered_trees_are_refused_in_a_sentence(even, table, tmp_path):
    stored = even.scorer.stored()
    posteriors = stored.posteriors_
    first = posteriors.models[0]
    for forest in altered_forests(first.label[0]):
        broken = replace(first, label=[forest, *first.label[1:]])
        stored.posteriors_ = replace(posteriors, models=(broken, *posteriors.models[1:]))
        path = write(tmp_path / "m.skops", replace(even, scorer=stored))
        sentence = refused("score", path, table, "-o", tmp_path / "out.csv")
        assert sentence.startswith("m.skops ")
        assert "Forest" in sentence
        assert not (tmp_path / "out.csv").exists()
    stored.posteriors_ = posteriors
    path = write(tmp_path / "m.skops", replace(even, scorer=stored))
    assert run("score", path, table, "-o", tmp_path / "out.csv").exit_code == 0


def test_no_score_is_written_that_is_not_finite(linear, table, tmp_path):
    scorer = es.LinearScorer()
    vars(scorer).update(vars(linear.scorer))
    scorer.coef_ = np.array([1.7e308, 1.7e308, 1.7e308])
    path = save_model(tmp_path / "m.skops", replace(linear, scorer=scorer))
    sentence = refused("score", path, table, "-o", tmp_path / "out.csv")
    assert sentence.startswith("m.skops gives row ")
    assert "rows.csv" in sentence
    assert [file.name for file in tmp_path.iterdir() if "out" in file.name] == []


@pytest.mark.soak
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is forked for every attempt")
def test_altered_files_are_refused_or_score():
    """A small sample of benchmarks/fuzz_models.py, which forks and is run as it stands."""
    done = subprocess.run(
        [sys.executable, f"{BENCHMARKS}/fuzz_models.py", "--samples", "10"],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(" refused" in line for line in done.stdout.splitlines())
    assert " scored" in done.stdout


# ---------------------------------------------------------------------- altered maps


def maps_file(tmp_path, *maps, **more):
    content = {
        "format": "evenscore.repair",
        "version": "2.0",
        "score_column": "a",
        "columns": ["b"],
    }
    path = tmp_path / "maps.json"
    path.write_text(json.dumps({**content, "maps": maps, **more}))
    return path


@pytest.mark.parametrize(
    ("maps", "told"),
    [
        ([{"group": "u", "x": [10**400], "y": [1]}], "The x of"),
        ([{"group": "u", "x": [-1.7e308, 1.7e308], "y": [0, 1]}], "too far apart"),
        ([{"group": "u", "x": [-1.7e308], "y": [1.7e308]}], "too far apart"),
        ([{"group": 1, "x": [0], "y": [1]}, {"group": "1", "x": [0], "y": [2]}], "group '1'"),
        ([{"group": "\ud800", "x": [0], "y": [1]}], r"'\ud800'"),
    ],
    ids=str,
)  # fmt: skip
def test_maps_with_odd_numbers_and_groups(table, tmp_path, maps, told):
    sentence = refused("score", maps_file(tmp_path, *maps), table, "-o", tmp_path / "out.csv")
    assert sentence.startswith("maps.json")
    assert told in sentence
    assert not (tmp_path / "out.csv").exists()


def test_maps_that_are_no_json_or_too_long(table, tmp_path):
    path = tmp_path / "maps.json"
    for text, told in {
        f'{{"format": "evenscore.repair", "maps": [{"1" * 5000}]}}': "digits",
        '{"a":': "JSON",
        '{"a":' * 100_000: "JSON",
        json.dumps({"format": "x" * 5000}): "'xxx",
        "[1]": "maps",
    }.items():
        path.write_text(text)
        sentence = refused("score", path, table, "-o", tmp_path / "out.csv")
        assert sentence.startswith("maps.json ")
        assert told in sentence
        assert len(sentence) < 300


def test_a_map_that_takes_a_score_beyond_all_numbers(tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("a,b\n1,u\n1e308,u\n")
    path = maps_file(tmp_path, {"group": "u", "x": [0], "y": [1.7e308]})
    sentence = refused("score", path, table, "-o", tmp_path / "out.csv")
    assert sentence.startswith("maps.json gives row 2 of")


def test_groups_of_many_columns(tmp_path):
    """No table of all combinations is made: of 70 columns it would not fit in any memory."""
    names = [f"g{k}" for k in range(70)]
    maps = [{"group": [text] * 70, "x": [0], "y": [k]} for k, text in enumerate("vu")]
    path = maps_file(tmp_path, *maps, columns=names)
    rows = [",".join(["5", *[text] * 70]) for text in "uv"]
    mixed = ",".join(["5", *["u"] * 69, "v"])
    (tmp_path / "rows.csv").write_text("\n".join([",".join(["a", *names]), *rows, mixed]) + "\n")
    out = tmp_path / "out.csv"
    run("score", path, tmp_path / "rows.csv", "-o", out, "--unseen", "unchanged")
    scores = [line.split(",")[-1] for line in out.read_text().splitlines()]
    assert scores == ["repaired_score", "6.0", "5.0", "5.0"]


@pytest.mark.soak
def test_more_groups_than_fit_in_two_bytes(tmp_path):
    maps = [{"group": f"n{k}", "x": [0], "y": [k]} for k in range(66_000)]
    (tmp_path / "rows.csv").write_text("a,b\n1,n65999\n1,n3\n")
    out = tmp_path / "out.csv"
    result = run("score", maps_file(tmp_path, *maps), tmp_path / "rows.csv", "-o", out)
    assert result.exit_code == 0, result.stderr
    assert out.read_text().splitlines()[1:] == ["1,n65999,66000.0", "1,n3,4.0"]
