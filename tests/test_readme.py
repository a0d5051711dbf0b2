"""The README's example prints what the README shows."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"


@pytest.mark.slow
def test_the_examples_print_what_is_shown():
    """Every block of Python that is followed by its output, one after the other."""
    examples = re.findall(
        r"```python\n([^`]*?)```\n\n```text\n(.*?)```", README.read_text(), re.DOTALL
    )
    assert len(examples) == 4
    names = {}
    for code, shown in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), names)
        assert printed.getvalue() == shown
