"""Run the code of the documentation, as its tests do.

    python tools/pages.py docs/start.md            # what a page prints must be what it shows
    python tools/pages.py --pictures docs/gallery  # and copy the pictures that its code draws
    python tools/pages.py --output docs/start.md   # write what it prints into the page

Blocks of Python and of the shell run in order, those of a page in one namespace and in one empty
folder. A block of text right after one of them is what it prints; a line of three dots stands for
any lines. Blocks called `console` are for setting up and are not run: `UNRUN` lists the commands
that they may have.
"""

import argparse
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
GENERATED = ("examples", "reproduction")
"""Folders of pages that are made by a script, which is tested instead."""

UNRUN = (
    *("pip ", "make ", "git ", "python -m venv ", "other/bin/pip "),
    *("python benchmarks/", "python tools/"),
    "EVENSCORE_DATA=",
)
LANGUAGES = {"console", "diff", "json", "python", "sh", "sql", "text", "toml"}

_BLOCK = re.compile(r"^( *)```(\S*)[^\n]*\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?")
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)")


@dataclass(frozen=True)
class Block:
    """A block of a page, and what it is said to print."""

    language: str
    code: str
    shown: str | None
    line: int
    place: tuple[int, int] | None
    """Where the text that is shown stands in the page."""


def pages() -> list[Path]:
    """All pages with code of their own, the README first."""
    written = (
        page
        for page in sorted(DOCS.rglob("*.md"))
        if page.relative_to(DOCS).parts[0] not in GENERATED
    )
    return [ROOT / "README.md", *written]


def blocks(text: str) -> list[Block]:
    r"""The blocks of a page in order; text that is somebody's output belongs to its block.

    >>> [block] = blocks("```python\nprint(1)\n```\n\n```text\n1\n```\n")
    >>> block.code, block.shown
    ('print(1)\n', '1\n')
    """
    found: list[Block] = []
    end = -1
    for match in _BLOCK.finditer(text):
        indent, language, body = match.groups()
        body = re.sub(rf"^{indent}", "", body, flags=re.MULTILINE)
        line = text.count("\n", 0, match.start()) + 1
        follows = found and found[-1].language in ("python", "sh")
        if language == "text" and follows and not text[end : match.start()].strip():
            last = found.pop()
            place = (match.start(3), match.end(3))
            found.append(Block(last.language, last.code, body, last.line, place))
        else:
            found.append(Block(language, body, None, line, None))
        end = match.end()
    return found


def agrees(printed: str, shown: str) -> bool:
    r"""Whether an output is the one that is shown, in which a line `...` stands for any lines.

    Spaces at the ends of lines do not count. Other processors round differently, and what is
    learned with them ends elsewhere by a little: numbers may differ by two units of their last
    digit, or by 2 %.

    >>> agrees("1\n2\n3\n", "1\n...\n3\n"), agrees("a\n", "b\n")
    (True, False)
    >>> agrees("0.502\n", "0.500\n"), agrees("0.523\n", "0.500\n"), agrees("7\n", "2\n")
    (True, False, False)
    """
    text = _trimmed(shown)
    parts = re.split(r"^\.\.\.\n", text, flags=re.MULTILINE)
    between = ([re.escape(piece) for piece in _NUMBER.split(part)] for part in parts)
    pattern = "(?:.*\n)*?".join(f"({_NUMBER.pattern})".join(pieces) for pieces in between)
    found = re.fullmatch(pattern, _trimmed(printed))
    numbers = [number for part in parts for number in _NUMBER.findall(part)]
    return found is not None and all(map(_near, found.groups(), numbers))


def _near(one: str, other: str) -> bool:
    first, second = (float(number.replace(",", "")) for number in (one, other))
    unit = 10.0 ** -len(other.partition(".")[2])
    return abs(first - second) <= max(2.000001 * unit * ("." in other), 0.02 * abs(second))


def _trimmed(text: str) -> str:
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def run(page: Path, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run a page in a folder: every block that runs, and what it printed."""
    names: dict[str, Any] = {"__name__": "__main__"}
    before = Path.cwd()
    os.chdir(folder)
    try:
        for block in blocks(page.read_text(encoding="utf-8")):
            if block.language == "python":
                yield block, _python(block, page, names)
            elif block.language == "sh":
                yield block, _shell(block, page)
    finally:
        os.chdir(before)
        if plots := sys.modules.get("matplotlib.pyplot"):
            plots.close("all")


def _python(block: Block, page: Path, names: dict[str, Any]) -> str:
    """Lines of errors are those of the page."""
    printed = io.StringIO()
    code = "\n" * block.line + block.code
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(page), "exec"), names)
    return printed.getvalue()


def _shell(block: Block, page: Path) -> str:
    commands = Path(sys.executable).parent
    path = f"{commands}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.code],
        env={**os.environ, "PATH": path, "COLUMNS": "84", "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{page}, line {block.line}: {done.stderr or done.stdout}")
    return done.stdout


def pictures(page: Path) -> list[Path]:
    """The pictures that a page shows."""
    shown = _PICTURE.findall(page.read_text(encoding="utf-8"))
    return [page.parent / name for name in shown if "://" not in name]


def _draws(page: Path) -> bool:
    """Whether a page should draw its pictures itself."""
    return page.parent.name == "gallery" and page.name != "index.md"


def _updated(page: Path, ran: list[tuple[Block, str]]) -> str:
    """The page with what its blocks print, but where lines are left out on purpose."""
    text = page.read_text(encoding="utf-8")
    for block, printed in reversed(ran):
        if block.place and block.shown is not None and not agrees(printed, block.shown):
            start, stop = block.place
            text = text[:start] + _trimmed(printed) + text[stop:]
    return text


def main() -> int:
    """Run pages from the command line."""
    parser = argparse.ArgumentParser(description="Run the code of pages of the documentation.")
    parser.add_argument("pages", nargs="*", type=Path, help="pages or folders (all)")
    parser.add_argument("--pictures", action="store_true", help="copy the pictures that are drawn")
    parser.add_argument("--output", action="store_true", help="write what is printed into pages")
    given = parser.parse_args()
    chosen = [
        page.resolve()
        for path in given.pages
        for page in (sorted(path.rglob("*.md")) if path.is_dir() else [path])
    ]
    os.environ.setdefault("MPLBACKEND", "agg")
    import evenscore  # noqa: F401  (once for all pages, which run in copies of this process)

    failed = [page for page in chosen or pages() if not _alone(_true, page, given)]
    for page in failed:
        print(f"{page} is not true.")
    return 1 if failed else 0


def _alone(ask: Callable[..., bool], *arguments: Any) -> bool:
    """The answer of a copy of this process, so that a page leaves nothing to the next."""
    if not hasattr(os, "fork"):
        return ask(*arguments)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        answer = False
        try:
            answer = ask(*arguments)
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(0 if answer else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _true(page: Path, given: argparse.Namespace) -> bool:
    """Whether a page prints what it shows and has its pictures; else it is said, or mended."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        ran = list(run(page, Path(folder)))
        differ = [pair for pair in ran if pair[0].shown and not agrees(pair[1], pair[0].shown)]
        if given.output and differ:
            page.write_text(_updated(page, ran), encoding="utf-8")
        else:
            for block, printed in differ:
                wrong += 1
                print(f"{page}, line {block.line} prints\n{printed}")
        drawn = {path.name for path in Path(folder).iterdir()}
        for picture in pictures(page):
            if given.pictures and picture.name in drawn:
                picture.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(Path(folder) / picture.name, picture)
            if not picture.exists() or (_draws(page) and picture.name not in drawn):
                wrong += 1
                print(f"{page} shows {picture.name}, which is not there or not drawn by it.")
    print(f"{page.name}: {len(ran)} blocks")
    return not wrong


if __name__ == "__main__":
    sys.exit(main())
