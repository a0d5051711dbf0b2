"""A bar where somebody looks, silence elsewhere."""

import sys
import types

from evenscore.learning.progress import progress


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
