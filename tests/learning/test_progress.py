"""A bar where somebody looks, silence elsewhere."""

import sys
import types

from evenscore.learning.progress import NotebookBar, progress


class Handle:
    """What a notebook gives to change an output."""

    def __init__(self):
        self.shown = []

    def update(self, markup):
        self.shown.append(markup._repr_html_())


def test_nothing_is_said_unless_asked_nor_where_nobody_looks(capsys):
    for verbose in (False, True):
        with progress("Scorer", 3, verbose=verbose) as advance:
            for step in range(3):
                advance(f"step {step}")
    assert capsys.readouterr() == ("", "")


def test_packages_of_notebooks_that_are_loaded_do_not_make_one(monkeypatch, capsys):
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: None
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    with progress("Scorer", 1, verbose=True) as advance:
        advance("")
    assert capsys.readouterr() == ("", "")


def test_a_notebook_has_a_bar_of_its_own(monkeypatch):
    handle, first = Handle(), []

    def display(markup, display_id):
        assert display_id is True
        first.append(markup._repr_html_())
        return handle

    module = types.ModuleType("IPython")
    module.display = types.SimpleNamespace(display=display)
    module.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setattr("evenscore.learning.progress._EVERY", -1.0)
    with progress("<Scorer>", 2, verbose=True) as advance:
        advance("AUC 0.9")
        advance("AUC 0.91")
    assert 'value="0" max="2"' in first[0]
    assert "&lt;Scorer&gt;: 0 of 2" in first[0]
    assert "1 of 2 AUC 0.9<" in handle.shown[0]
    assert 'value="2" max="2"' in handle.shown[-1]


def test_it_is_not_drawn_at_every_step():
    handle = Handle()
    bar = NotebookBar("Scorer", 1000, display=lambda markup, display_id: handle)
    for _ in range(1000):
        bar.advance("")
    assert len(handle.shown) < 100
    bar.finish()
    assert "1,000 of 1,000" in handle.shown[-1]
