import numpy as np
import pytest
from evenscore.paper.parts import Part, Store, run

from evenscore.paper import parts as module

CALLS = []


def square(x, power=2):
    CALLS.append(x)
    return {"value": np.array(float(x) ** power), "many": np.arange(3.0) * x}


def interrupted(x):
    if x == 2:
        raise KeyboardInterrupt
    return square(x)


@pytest.fixture(autouse=True)
def forget():
    CALLS.clear()


def parts(xs, work=square, **more):
    return [Part(f"part-{x}", work, {"x": x, **more}) for x in xs]


def test_what_is_finished_is_not_done_again(tmp_path):
    store = Store(tmp_path)
    seen = []
    first = run(parts([1, 2]), store, done=seen.append)
    again = run(parts([1, 2, 3]), store, done=seen.append)
    assert CALLS == [1, 2, 3]
    assert [float(outcome["value"]) for outcome in again] == [1.0, 4.0, 9.0]
    np.testing.assert_array_equal(first[1]["many"], again[1]["many"])
    assert seen == ["part-1", "part-2", "part-1", "part-2", "part-3"]


def test_other_parameters_are_other_parts(tmp_path):
    store = Store(tmp_path)
    run(parts([2]), store)
    [outcome] = run(parts([2], power=3), store)
    assert float(outcome["value"]) == 8.0
    assert len(list(tmp_path.iterdir())) == 2


def test_an_interruption_keeps_what_is_finished(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(parts([1, 2, 3], interrupted), store)
    assert [store.get(part) is not None for part in parts([1, 2, 3], interrupted)] == [
        True,
        False,
        False,
    ]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("damage", ["text", "empty", "flipped", "cut"])
def test_a_broken_file_is_told_and_done_again(tmp_path, damage):
    store = Store(tmp_path)
    [part] = parts([5])
    run([part], store)
    whole = store.path(part).read_bytes()
    middle = len(whole) // 3
    broken = {
        "text": b"PK not a zip",
        "empty": b"",
        "flipped": whole[:middle] + bytes([whole[middle] ^ 255]) * 9 + whole[middle + 9 :],
        "cut": whole[: len(whole) // 2],
    }[damage]
    store.path(part).write_bytes(broken)
    with pytest.warns(UserWarning, match="cannot be read"):
        [outcome] = run([part], store)
    assert float(outcome["value"]) == 25.0
    assert store.get(part) is not None


def test_a_file_of_another_part_is_not_taken_for_it(tmp_path):
    store = Store(tmp_path)
    one, two = parts([1, 2])
    run([one], store)
    store.path(one).rename(store.path(two))
    assert store.get(two) is None


def test_the_number_of_processes_does_not_matter(tmp_path):
    alone = run(parts(range(4)), Store(tmp_path / "one"))
    together = run(parts(range(4)), Store(tmp_path / "two"), jobs=2)
    for one, two in zip(alone, together, strict=True):
        assert one.keys() == two.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], two[name])


def test_other_code_or_libraries_are_other_parts(monkeypatch, tmp_path):
    [part] = parts([1])
    before = part.file_name
    assert before == parts([1])[0].file_name
    monkeypatch.setattr(module, "_libraries", lambda: {"numpy": "0"})
    assert part.file_name != before
    monkeypatch.undo()
    monkeypatch.setattr(module, "_code", lambda: "other")
    assert part.file_name != before


def test_what_another_process_has_finished_meanwhile_is_taken(tmp_path):
    store = Store(tmp_path)
    first, second = parts([1, 2])

    def meanwhile(name):
        if name == first.name:
            store.put(second, {"value": np.array(-1.0)})

    outcomes = run([first, second], store, done=meanwhile)
    assert CALLS == [1]
    assert float(outcomes[1]["value"]) == -1.0
