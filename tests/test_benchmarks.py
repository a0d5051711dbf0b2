"""The benchmarks' own tools: ratios, the file of a run, its page, and what got slower."""

import ast
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
STEADY = (1.00, 1.01, 1.02, 1.03, 1.04)


@pytest.fixture(scope="module")
def tools():
    sys.path.insert(0, str(FOLDER))
    try:
        import compare
        import run_all
        from measuring import comparing, page, ratios, stored, timing
    finally:
        sys.path.remove(str(FOLDER))
    return SimpleNamespace(
        compare=compare, run_all=run_all, comparing=comparing, page=page, ratios=ratios,
        stored=stored, timing=timing,
    )  # fmt: skip


@pytest.fixture
def make(tools):
    """A made-up run: what was measured, and the values of its repeats."""

    def made(measured, **facts):
        found = tuple(
            tools.ratios.Ratio("audit_core", name, "a sort", values, 0.5, 0.25)
            for name, values in measured.items()
        )
        script = tools.stored.Script("audit_core", "The cost of it.", ("--max", "6"), 3.0)
        known = {"processor": "one", "cores": "2", "load at the start": "0.1"} | facts
        return tools.stored.Bench(False, known, {"numpy": "2.0"}, (script,), found)

    return made


@pytest.fixture
def compare(tools, make, tmp_path, monkeypatch, capsys):
    """Exit code and output of the script, given two runs or two texts."""

    def run(old, new, *options):
        for name, content in (("old", old), ("new", new)):
            path = tmp_path / f"{name}.json"
            if isinstance(content, str):
                path.write_text(content)
            elif content is not None:
                make(content).write(path)
        told = ["compare.py", str(tmp_path / "old.json"), str(tmp_path / "new.json"), *options]
        monkeypatch.setattr(sys, "argv", told)
        code = tools.compare.main()
        return code, *capsys.readouterr()

    return run


def test_what_got_slower_is_named(compare):
    old = {"audit": STEADY, "report": STEADY, "repair": STEADY}
    new = {
        "audit": tuple(1.5 * value for value in STEADY),
        "report": tuple(value / 1.5 for value in STEADY),
        "repair": STEADY,
    }
    code, out, _ = compare(old, new)
    assert code == 1
    for part in ("3 ratios", "1 got slower", "1 got faster", "1.53", "1.50 to 1.56", "50% more"):
        assert part in out
    assert out.index("Slower:") < out.index("Faster:")
    assert "1.02 → 1.02, no change" in out


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((1.05, 1.06, 1.07, 1.08, 1.09), "no change"),  # apart, but by 5 %
        ((1.03, 1.50, 1.51, 1.52, 1.53), "no change"),  # by much, but the ranges meet
        ((1.50, 1.51), "too few repeats"),  # by chance once in 21
        ((1.50, 1.51, 1.52, 1.53), "slower"),  # once in 126
        ((0.50, 0.51, 0.52, 0.53, 0.54), "faster"),
    ],
)
def test_noise(compare, values, verdict):
    code, out, _ = compare({"audit": STEADY}, {"audit": values})
    assert out.rstrip().endswith(verdict)
    assert code == (verdict == "slower")
    if verdict == "slower":
        assert compare({"audit": STEADY}, {"audit": values}, "--threshold", "0.8")[0] == 0


def test_names_of_one_file_alone(compare):
    code, out, _ = compare({"gone": STEADY, "kept": STEADY}, {"kept": STEADY, "come": STEADY})
    assert code == 0
    old, new = out.index("in the old file"), out.index("in the new file")
    assert old < out.index("gone / a sort") < new < out.index("come / a sort")


def test_another_machine_and_other_versions_are_told(tools, make):
    old, new = make({"audit": STEADY}), make({"audit": STEADY}, processor="another")
    new = replace(new, packages={"numpy": "2.1"})
    first, second = tools.comparing.compared(old, new).cautions
    assert "processor" in first
    assert "numpy 2.0 → 2.1" in second
    assert tools.comparing.compared(old, old).cautions == ()
    loaded = make({"audit": STEADY}, **{"load at the start": "3"})
    (caution,) = tools.comparing.compared(old, loaded).cautions
    assert "busy" in caution
    assert "a load of 3 on 2 cores" in tools.page.page(loaded)


def _altered(make, tmp_path, **changes):
    make({"audit": STEADY}).write(tmp_path / "made.json")
    plain = json.loads((tmp_path / "made.json").read_text())
    plain["ratios"][0] |= changes
    return json.dumps(plain)


@pytest.mark.parametrize(
    "changes",
    [{"values": []}, {"values": [1.0, "2"]}, {"values": 3}, {"seconds": None}, {"unknown": 1}],
)
def test_a_damaged_ratio(compare, make, tmp_path, changes):
    code, out, error = compare({"audit": STEADY}, _altered(make, tmp_path, **changes))
    assert (code, out) == (2, "")
    assert error.startswith(f"{tmp_path}/new.json is damaged: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize("text", [None, "{", "[]", '{"format": "evenscore bench 1"}'])
def test_a_file_that_is_no_run(compare, tmp_path, text):
    code, out, error = compare(text, {"audit": STEADY})
    assert (code, out) == (2, "")
    assert error.startswith(f"{tmp_path}/old.json ")
    assert error.count("\n") == 1


def test_nothing_in_common(compare):
    code, _, error = compare({"audit": STEADY}, {"report": STEADY})
    assert code == 2
    assert error.endswith("have no ratio in common.\n")


def test_a_run_is_read_as_it_was_written(tools, make, tmp_path):
    run = make({"audit, 10 % of “people”": STEADY, "report": (2.0,)})
    run = replace(run, scripts=(replace(run.scripts[0], failure="Boom."),))
    run.write(tmp_path / "bench.json")
    assert tools.stored.read(tmp_path / "bench.json") == run
    assert [script.name for script in run.failures] == ["audit_core"]


def test_what_is_recorded_is_read(tools, tmp_path, monkeypatch):
    path = tmp_path / "ratios.jsonl"
    monkeypatch.setenv(tools.ratios.VARIABLE, str(path))
    monkeypatch.setattr(sys, "argv", ["somewhere/repair.py"])
    one = tools.ratios.record("fit", "a sort", [2.0, 6.0, 4.0], [1.0, 2.0, 1.0])
    two = tools.ratios.record("fit", "another sort", [1.0], [4.0])
    assert tools.ratios.recorded(path) == (one, two)
    assert (one.script, one.values, one.seconds) == ("repair", (2.0, 3.0, 4.0), 4.0)
    assert (one.low, one.value, one.high) == (2.0, 3.0, 4.0)
    tools.ratios.record("fit", "a sort", [1.0], [1.0])
    with pytest.raises(ValueError, match="'repair: fit / a sort'"):
        tools.ratios.recorded(path)


def test_turns_are_taken(tools):
    order = []
    seconds = tools.timing.by_turns(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 2
    )
    assert "".join(order) == "ababab"  # the first of each is not counted
    assert {name: len(taken) for name, taken in seconds.items()} == {"a": 2, "b": 2}


def test_the_page_escapes_what_it_shows(tools, make):
    odd = "<script>alert('&')</script>"
    old, new = make({odd: STEADY}), make({odd: tuple(2 * v for v in STEADY)}, processor=odd)
    failed = tools.stored.Script("engines", odd, (odd,), 1.0, failure=odd)
    new = replace(new, scripts=(*new.scripts, failed))
    html = tools.page.page(new, tools.comparing.compared(old, new))
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 6
    assert "<h3>Slower</h3>" in html


def _recorded_names(script):
    """The first two arguments of every call of `record`, as they are written."""
    calls = [node for node in ast.walk(ast.parse(script.read_text())) if isinstance(node, ast.Call)]
    return [
        tuple(ast.unparse(argument) for argument in call.args[:2])
        for call in calls
        if getattr(call.func, "id", "") == "record"
    ]


def test_every_script_of_speed_records_ratios_of_its_own_names(tools):
    recording = {path.stem for path in FOLDER.glob("*.py") if _recorded_names(path)}
    assert recording == set(tools.run_all.SCRIPTS)
    for name in recording:
        names = _recorded_names(FOLDER / f"{name}.py")
        # The same text may stand for two ratios only where a variable in it has changed.
        assert len(set(names)) == len(names), name


SCRIPT = '''"""One line.

More.
"""
import sys
sys.path.insert(0, {folder!r})
from measuring.ratios import record
for name in sys.argv[1].split(","):
    if name == "boom":
        raise SystemExit("The engine is gone.")
    record(name, "a sort", [2.0, 3.0], [1.0, 1.0])
'''


@pytest.mark.parametrize(
    ("argument", "n_ratios", "failure"),
    [
        ("a,b", 2, ""),
        ("a,boom,b", 1, "The engine is gone."),
    ],
)
def test_a_script_that_fails_is_named(tools, tmp_path, argument, n_ratios, failure):
    (tmp_path / "made.py").write_text(SCRIPT.format(folder=str(FOLDER)))
    script, found = tools.run_all.run("made", (argument,), tmp_path)
    assert (script.about, script.failure, len(found)) == ("One line.", failure, n_ratios)


def test_a_run_goes_on_and_keeps_the_one_before(tools, tmp_path, monkeypatch, capsys):
    def run(name, arguments):
        failure = "Boom." if name == "repair" else ""
        ratio = tools.ratios.Ratio(name, "fit", "a sort", STEADY, 1.0, 1.0)
        return tools.stored.Script(name, "", arguments, 1.0, failure), () if failure else (ratio,)

    monkeypatch.setattr(tools.run_all, "run", run)
    path = tmp_path / "bench.json"
    asked = ["run_all.py", "--quick", "--out", str(path), "--only", "repair", "learning"]
    monkeypatch.setattr(sys, "argv", asked)
    assert tools.run_all.main() == 1
    out, error = capsys.readouterr()
    assert "1 ratios are in" in out
    assert error == "repair failed: Boom.\n"
    first = tools.stored.read(path)
    assert [ratio.script for ratio in first.ratios] == ["learning"]
    assert first.quick
    monkeypatch.setattr(sys, "argv", [*asked[:-2], "learning"])
    assert tools.run_all.main() == 0
    assert tools.stored.read(tmp_path / "bench.before.json") == first
    assert "none got slower" in capsys.readouterr().out
    assert "Beside the run before" in path.with_suffix(".html").read_text()
