"""An extension of Griffe, which reads our source for the site.

Examples in docstrings become blocks of code: ours may follow a sentence without the heading
"Examples", and Markdown would read them as prose. Classes have the docstrings that `help` shows, in
which shared parameters are described, and functions the parameters that a decorator gives them.
"""

import inspect
import re
from importlib import import_module
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:^>>> .*\n?)(?:^(?!\s*$).*\n?)*", re.MULTILINE)
_HEADING = re.compile(r"^\w[\w ]*\n-{3,}$", re.MULTILINE)


def fenced(text: str) -> str:
    r"""A docstring whose examples before the first heading are in fences.

    >>> fenced("Add.\n\n>>> 1 + 1\n2").splitlines()
    ['Add.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    heading = _HEADING.search(text)
    end = heading.start() if heading else len(text)
    before = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text[:end])
    return (before if heading else before.rstrip("\n")) + text[end:]


def taken(function: Any) -> griffe.Parameters:
    """The parameters with which a function is called, as Griffe describes them.

    >>> [parameter.name for parameter in taken(fenced)]
    ['text']
    """
    return griffe.Parameters(
        *(
            griffe.Parameter(
                one.name,
                kind=getattr(griffe.ParameterKind, one.kind.name.lower()),
                default=None if one.default is one.empty else repr(one.default),
            )
            for one in inspect.signature(function).parameters.values()
        )
    )


def _at_run_time(described: Any) -> Any:
    """What the interpreter has; None inside of classes, and where a package is missing."""
    if not described.parent.is_module:
        return None
    try:
        return getattr(import_module(described.parent.path), described.name, None)
    except ImportError:
        return None


class AsCalled(griffe.Extension):
    """Rewrites docstrings before they are parsed, and signatures that a decorator changes."""

    def on_class(self, *, cls: Any, **_: Any) -> None:
        """Of a class at the top of a module."""
        value = _at_run_time(cls)
        if cls.docstring and value is not None and value.__doc__:
            cls.docstring.value = fenced(inspect.cleandoc(value.__doc__))

    def on_function(self, *, func: Any, **_: Any) -> None:
        """Of a function or method; methods with decorators of ours there are none."""
        value = _at_run_time(func) if func.decorators else None
        if hasattr(value, "__wrapped__"):
            func.parameters = taken(value)

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Of a module, class, function or attribute."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
