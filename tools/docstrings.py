"""An extension of Griffe: examples in docstrings are blocks of code on the site.

Ours may follow a sentence without the heading "Examples", which Markdown would read as prose.
"""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:^>>> .*\n?)(?:^(?!\s*$).*\n?)*", re.MULTILINE)
_HEADING = re.compile(r"^\w[\w ]*\n-{3,}$", re.MULTILINE)


def fenced(text: str) -> str:
    """A docstring whose examples before the first heading are in fences.

    >>> print(fenced("Add.\\n\\n>>> 1 + 1\\n2"))
    Add.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    heading = _HEADING.search(text)
    end = heading.start() if heading else len(text)
    before = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text[:end])
    return (before if heading else before.rstrip("\n")) + text[end:]


class FencedExamples(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Of a module, class, function or attribute."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
