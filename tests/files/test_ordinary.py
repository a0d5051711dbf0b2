"""What is no ordinary file is refused before it is opened: here every opening would wait."""

import os
import re
import socket
from pathlib import Path

import pytest
from support.commands import people, refused, write

from evenscore import AuditResult, GroupedScores, Repair
from evenscore.auditing.provenance import InputFile
from evenscore.files.models import load_model
from evenscore.files.opening import open_table
from evenscore.files.ordinary import ordinary_file, read_whole

ASKED = ("--label", "repaid", "--pos-label", "yes", "--score", "score", "--group", "sex")


def opened(path):
    with open_table(path):
        pass


@pytest.fixture(params=["pipe", "socket", "device", "endless", "loop"])
def odd(request, tmp_path):
    """A path that no ordinary file is at, and how the sentence about it ends."""
    path, told = tmp_path / "odd.csv", "ordinary file"
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            here = Path.cwd()
            os.chdir(tmp_path)  # the names of sockets are short
            one.bind(path.name)
            os.chdir(here)
    elif request.param == "loop":
        path.symlink_to(path)
        told = "symbolic links"
    else:
        path.symlink_to("/dev/zero" if request.param == "endless" else "/dev/null")
    return path, told


@pytest.mark.parametrize(
    "read",
    [
        ordinary_file,
        read_whole,
        opened,
        load_model,
        InputFile.of,
        AuditResult.from_json,
        Repair.from_json,
        GroupedScores.load,
    ],
)
def test_no_reader_opens_it(odd, read):
    path, told = odd
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))} .*{told}"):
        read(path)


def test_no_command_opens_it(odd, tmp_path):
    path, told = odd
    table, out = write(tmp_path / "t.csv", people(20)), tmp_path / "out"
    cuts = ("--equal", "fnr", "--cuts", "everyone=0.1:0.4")
    commands = [
        ("audit", path, *ASKED),
        ("audit", table, *ASKED, "--declare", path),
        ("verify", path, table),
        ("repair", path, *ASKED, "-o", out),
        ("repair", table, *ASKED, "--certify", path, "--tolerance", "0.1", "-o", out),
        ("fit", path, *ASKED[:4], *ASKED[6:], *cuts, "-o", out),
        ("tradeoff", path, *ASKED[:4], *ASKED[6:], *cuts),
        ("score", path, table, "-o", tmp_path / "out.csv"),
        ("score", table, path, "-o", tmp_path / "out.csv"),
    ]
    for command in commands:
        sentence = refused(*command)
        assert sentence.startswith(f"{path} "), command
        assert told in sentence


def test_what_a_kernel_makes_up_is_no_file():
    if not Path("/proc/version").is_file():
        pytest.skip("nothing is made up here")
    with pytest.raises(ValueError, match=r"^/proc/version "):
        ordinary_file("/proc/version")


def test_a_link_to_a_file_is_a_file(tmp_path):
    table = write(tmp_path / "t.csv", people(20))
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    assert ordinary_file(link)
    opened(link)


def test_sentences_about_paths(tmp_path):
    for path, told in {
        tmp_path / "no": str(tmp_path / "no"),
        tmp_path: "is a folder",
        "a\0b": r"'a\x00b'",
        tmp_path / ("x" * 300): "too long",
    }.items():
        with pytest.raises(ValueError, match=re.escape(told)):
            read_whole(path)
