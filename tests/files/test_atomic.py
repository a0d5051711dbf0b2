"""Files are written whole or not at all, and only where a file may stand."""

import os
import stat
import subprocess
import sys

import pytest

from evenscore.files.atomic import replacing, target_file, write_atomically

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and permissions are POSIX's")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def told(tmp_path):
    path = tmp_path / "told.txt"
    path.write_text("old")
    return path


def test_text_and_bytes_are_written_as_they_are(tmp_path, monkeypatch):
    path = tmp_path / "a" / "b.txt"
    for content, expected in (("é\r\n", b"\xc3\xa9\r\n"), (b"\x00\xff", b"\x00\xff")):
        assert write_atomically(path, content) == path
        assert path.read_bytes() == expected
    assert names(tmp_path / "a") == ["b.txt"]
    monkeypatch.chdir(tmp_path)
    write_atomically("plain.txt", "here")
    assert (tmp_path / "plain.txt").read_text() == "here"


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127], ids=["ascii", "two bytes a letter"])
def test_names_as_long_as_can_be(tmp_path, name):
    write_atomically(tmp_path / name, "long")
    assert names(tmp_path) == [name]


# ---------------------------------------------------------------------- links


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path, told):
    (tmp_path / "folder").mkdir()
    link, second, missing = tmp_path / "folder" / "link", tmp_path / "second", tmp_path / "missing"
    link.symlink_to(os.path.join("..", "told.txt"))
    second.symlink_to(link)
    missing.symlink_to(tmp_path / "deep" / "new.txt")
    assert write_atomically(second, "new") == second
    write_atomically(missing, "new")
    assert link.is_symlink()
    assert second.is_symlink()
    assert not told.is_symlink()
    assert told.read_text() == (tmp_path / "deep" / "new.txt").read_text() == "new"
    assert names(tmp_path / "folder") == ["link"]
    assert target_file(second) == target_file(told)


def test_links_in_a_circle_are_refused(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(OSError, match="link"):
        write_atomically(link, "new")
    assert names(tmp_path) == ["link"]


# ------------------------------------------------------------------ what is not an ordinary file


def test_a_folder_is_refused(tmp_path, told):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for name in ("folder", "link"):
        with pytest.raises(ValueError, match=f"{name} is a folder"):
            write_atomically(tmp_path / name, "new")
    with pytest.raises(OSError, match="told"):
        write_atomically(told / "below.txt", "new")
    assert names(tmp_path) == ["folder", "link", "told.txt"]
    assert names(tmp_path / "folder") == []


@posix
def test_pipes_and_devices_are_refused_and_stay(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link, "/dev/null"):
        with pytest.raises(ValueError, match=r"not an ordinary file"):
            write_atomically(path, "new")
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert names(tmp_path) == ["link", "pipe"]


@posix
@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs /dev/stdout")
def test_standard_output_is_refused_even_if_it_is_a_file(tmp_path):
    code = "from evenscore.files.atomic import target_file; target_file('/dev/stdout')"
    with (tmp_path / "out").open("w") as file:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=file, stderr=subprocess.PIPE, text=True
        )
    assert done.stderr.splitlines()[-1].startswith("ValueError: /dev/stdout")


# ---------------------------------------------------------------------- permissions


@posix
@pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_has_the_permissions_of_any_other(tmp_path, umask, expected):
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "new.txt", "new")
    finally:
        assert os.umask(before) == umask
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == expected


@posix
@pytest.mark.parametrize("permissions", [0o600, 0o755, 0o444])
def test_a_file_that_is_there_keeps_its_permissions(told, permissions):
    told.chmod(permissions)
    write_atomically(told, "new")
    assert told.read_text() == "new"
    assert stat.S_IMODE(told.stat().st_mode) == permissions


# ---------------------------------------------------------------------- failures


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, told):
    def interrupted():
        with replacing(told) as part:
            part.write_text("half of i")
            assert part.parent == tmp_path
            assert told.read_text() == "old"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(FileNotFoundError), replacing(told) as part:
        part.unlink()  # by a writer: no second error
    assert told.read_text() == "old"
    assert names(tmp_path) == ["told.txt"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_the_system_refuses_leaves_nothing_either(tmp_path, told, monkeypatch, step):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match=r"told\.txt"):
        write_atomically(told, "new")
    assert told.read_text() == "old"
    assert names(tmp_path) == ["told.txt"]


@posix
def test_a_killed_process_leaves_the_old_file(tmp_path, told):
    code = (
        "import os, signal; from evenscore.files.atomic import replacing\n"
        f"with replacing({str(told)!r}) as part:\n"
        "    part.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    assert told.read_text() == "old"
    write_atomically(told, "new")
    assert told.read_text() == "new"


def test_of_several_writers_at_a_time_each_writes_all(tmp_path, told):
    code = (
        "import sys; from evenscore.files.atomic import write_atomically\n"
        f"for _ in range(20): write_atomically({str(told)!r}, sys.argv[1] * 100_000)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, letter]) for letter in "ab"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(told.read_text())
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen <= {"old", *(letter * 100_000 for letter in "ab")}
    assert names(tmp_path) == ["told.txt"]
