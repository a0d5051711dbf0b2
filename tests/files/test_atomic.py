"""Files are written whole or not at all, and only where a file may stand."""

import os
import stat
import subprocess
import sys

import pytest

from evenscore.files import atomic
from evenscore.files.atomic import replacing, target_file, write_atomically

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and permissions are POSIX's")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def told(tmp_path):
    path = tmp_path / "told.txt"
    path.write_text("old")
    return path


def test_text_and_bytes_are_written_as_they_are(tmp_path):
    assert write_atomically(tmp_path / "a" / "b.txt", "é\r\n") == tmp_path / "a" / "b.txt"
    assert (tmp_path / "a" / "b.txt").read_bytes() == b"\xc3\xa9\r\n"
    write_atomically(tmp_path / "a" / "b.txt", b"\x00\xff")
    assert (tmp_path / "a" / "b.txt").read_bytes() == b"\x00\xff"
    assert names(tmp_path / "a") == ["b.txt"]


def test_a_path_without_a_folder_is_in_this_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_atomically("plain.txt", "here")
    assert (tmp_path / "plain.txt").read_text() == "here"


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127], ids=["ascii", "two bytes a letter"])
def test_names_as_long_as_can_be(tmp_path, name):
    write_atomically(tmp_path / name, "long")
    assert (tmp_path / name).read_text() == "long"
    assert names(tmp_path) == [name]


# ---------------------------------------------------------------------- links


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path, told):
    (tmp_path / "folder").mkdir()
    link, second = tmp_path / "folder" / "link", tmp_path / "second"
    link.symlink_to(os.path.join("..", "told.txt"))
    second.symlink_to(link)
    assert write_atomically(second, "new") == second
    assert link.is_symlink()
    assert second.is_symlink()
    assert not told.is_symlink()
    assert told.read_text() == "new"
    assert names(tmp_path / "folder") == ["link"]


def test_the_target_of_a_link_is_made_if_it_is_missing(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "deep" / "new.txt")
    write_atomically(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "deep" / "new.txt").read_text() == "new"


def test_links_in_a_circle_are_refused(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(OSError, match="link"):
        write_atomically(link, "new")
    assert link.is_symlink()
    assert names(tmp_path) == ["link"]


# ------------------------------------------------------------------ what is not an ordinary file


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for name in ("folder", "link"):
        with pytest.raises(ValueError, match=rf"{name} is a folder: name a file to write\.$"):
            write_atomically(tmp_path / name, "new")
    assert names(tmp_path) == ["folder", "link"]
    assert names(tmp_path / "folder") == []


def test_a_folder_that_is_a_file_is_refused(told):
    with pytest.raises(OSError, match="told"):
        write_atomically(told / "below.txt", "new")
    assert told.read_text() == "old"


@posix
def test_pipes_and_devices_are_refused_and_stay(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link, "/dev/null"):
        with pytest.raises(ValueError, match=r"is not an ordinary file but a device or a pipe"):
            write_atomically(path, "new")
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert link.is_symlink()
    assert names(tmp_path) == ["link", "pipe"]


@posix
@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs /dev/stdout")
@pytest.mark.parametrize("into", ["pipe", "file"])
def test_standard_output_is_refused_wherever_it_goes(tmp_path, into):
    code = "from evenscore.files.atomic import target_file; target_file('/dev/stdout')"
    with (tmp_path / "out").open("w") as file:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE if into == "pipe" else file,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ValueError: /dev/stdout is not an ordinary file"), done.stderr


# ---------------------------------------------------------------------- permissions


@posix
@pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_permissions_of_any_other(tmp_path, umask, expected):
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "new.txt", "new")
    finally:
        assert os.umask(before) == umask
    assert mode(tmp_path / "new.txt") == expected


@posix
@pytest.mark.parametrize("permissions", [0o600, 0o755, 0o444])
def test_a_file_that_is_there_keeps_its_permissions(told, permissions):
    told.chmod(permissions)
    write_atomically(told, "new")
    assert told.read_text() == "new"
    assert mode(told) == permissions


def test_the_mask_of_the_process_is_never_touched(told, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("umask is the whole process's"))
    write_atomically(told, "new")
    assert told.read_text() == "new"


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
    assert told.read_text() == "old"
    assert names(tmp_path) == ["told.txt"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_the_system_refuses_leaves_nothing_either(tmp_path, told, monkeypatch, step):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match=r"told.txt was not written: there is no room left"):
        write_atomically(told, "new")
    assert told.read_text() == "old"
    assert names(tmp_path) == ["told.txt"]


def test_what_a_writer_has_taken_away_is_no_second_error(tmp_path, told):
    with pytest.raises(FileNotFoundError), replacing(told) as part:
        part.unlink()
    assert told.read_text() == "old"
    assert names(tmp_path) == ["told.txt"]


def test_two_writers_do_not_share_a_name(told):
    with replacing(told) as one, replacing(told) as two:
        assert one != two
        one.write_text("one")
        two.write_text("two")
    assert told.read_text() == "one"  # the outer one ends last


def test_the_target_is_named_through_links(tmp_path, told):
    (tmp_path / "link").symlink_to(told)
    assert target_file(tmp_path / "link") == target_file(told)
    assert target_file(tmp_path / "missing" / "new.txt").name == "new.txt"


# ---------------------------------------------------------------------- several processes


@posix
def test_what_a_killed_process_has_left_is_removed_by_the_next(tmp_path, told):
    code = (
        "import os, signal; from evenscore.files.atomic import replacing\n"
        f"with replacing({str(told)!r}): os.kill(os.getpid(), signal.SIGKILL)"
    )
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", code]).returncode == -9
        assert len(names(tmp_path)) == 2  # the second has removed what the first had left
    (tmp_path / ".told.txt.notes").write_text("mine")
    write_atomically(tmp_path / "other.txt", "new")
    assert len(names(tmp_path)) == 4
    write_atomically(told, "new")
    assert names(tmp_path) == [".told.txt.notes", "other.txt", "told.txt"]


def test_what_is_being_written_is_nobody_elses_to_remove(tmp_path, told):
    with replacing(told) as part:
        part.write_text("slowly")
        code = f"from evenscore.files.atomic import *; write_atomically({str(told)!r}, 'quickly')"
        subprocess.run([sys.executable, "-c", code], check=True)
        assert told.read_text() == "quickly"
        assert part.read_text() == "slowly"
    assert told.read_text() == "slowly"
    assert names(tmp_path) == ["told.txt"]


@posix
def test_a_file_taken_for_abandoned_before_it_was_locked_is_made_again(told, monkeypatch):
    real, taken = atomic.flock, []

    def taking(file, how):
        if not taken:
            taken.extend(told.parent.glob(".told.txt.*"))
            taken[0].unlink()
        real(file, how)

    monkeypatch.setattr(atomic, "flock", taking)
    with replacing(told) as part:
        assert part.exists()
        part.write_text("new")
    assert told.read_text() == "new"


@posix
def test_a_disk_without_locks_will_do(tmp_path, told, monkeypatch):
    def none(*arguments):
        raise OSError(95, "Operation not supported")

    (tmp_path / ".told.txt.0123456789abcdef").write_text("perhaps somebody's")
    monkeypatch.setattr(atomic, "flock", none)
    write_atomically(told, "new")
    assert told.read_text() == "new"
    assert names(tmp_path) == [".told.txt.0123456789abcdef", "told.txt"]


def test_of_several_writers_at_a_time_each_writes_all(tmp_path, told):
    code = (
        "import sys; from evenscore.files.atomic import write_atomically\n"
        f"for _ in range(40): write_atomically({str(told)!r}, sys.argv[1] * 100_000)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, letter]) for letter in "abc"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(told.read_text())
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert seen <= {"old", *(letter * 100_000 for letter in "abc")}
    assert names(tmp_path) == ["told.txt"]


def test_what_this_process_has_begun_is_known_until_it_is_done(told):
    with pytest.raises(FileNotFoundError), replacing(told):
        atomic.remove_unfinished()
    assert not atomic._UNFINISHED
    assert told.read_text() == "old"
