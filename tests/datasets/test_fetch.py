"""Downloads against a server on this machine: good, slow, broken, absent."""

import hashlib
import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import pytest

from manyview.datasets import _fetch as fetch_module
from manyview.datasets import data_folder, dataset_info
from manyview.datasets._fetch import fetch_file
from manyview.exceptions import DatasetError

CONTENT = bytes(range(256)) * 400
SHA256 = hashlib.sha256(CONTENT).hexdigest()
# Tests wait for events; a test that has gone wrong ends after this many seconds.
GUARD = 600


class Handler(http.server.BaseHTTPRequestHandler):
    """Answer as the first part of the path says; count and remember requests."""

    def log_message(self, *args):
        pass

    def _send(self, body, *, status=200, promise=None):
        self.send_response(status)
        self.send_header("Content-Length", str(promise or len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def do_GET(self):
        server = self.server
        with server.lock:
            server.requests.append(self.path)
            n_requests = len(server.requests)
        kind = self.path.split("/")[1]
        if kind == "good":
            self._send(CONTENT)
        elif kind == "drop-once" and n_requests == 1:
            self._send(CONTENT[:4096], promise=len(CONTENT))
        elif kind == "drop-once":
            self._send(CONTENT)
        elif kind == "always-drop":
            self._send(CONTENT[:4096], promise=len(CONTENT))
        elif kind == "corrupt":
            self._send(CONTENT[:-1] + b"x")
        elif kind == "corrupt-once":
            self._send(CONTENT if n_requests > 1 else CONTENT[:-1] + b"x")
        elif kind == "hang":
            self._send(CONTENT[:5000], promise=len(CONTENT))
            server.release.wait(GUARD)
        elif kind == "two-at-once":
            self._send(CONTENT[:5000], promise=len(CONTENT))
            server.both_began.wait(GUARD)
            self.wfile.write(CONTENT[5000:])
        elif kind == "busy" and n_requests < 3:
            self._send(b"", status=503)
        elif kind == "busy":
            self._send(CONTENT)
        else:
            self._send(b"", status=404)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Clients that hang up are part of the tests."""


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda _: None))
    instance = Server(("127.0.0.1", 0), Handler)
    instance.requests, instance.lock = [], threading.Lock()
    instance.release = threading.Event()
    instance.both_began = threading.Barrier(2)
    thread = threading.Thread(target=instance.serve_forever, daemon=True)
    thread.start()
    yield instance
    instance.release.set()
    instance.both_began.abort()
    instance.shutdown()
    instance.server_close()
    thread.join()


def info_for(server, kind, sha256=SHA256):
    url = f"http://127.0.0.1:{server.server_address[1]}/{kind}/MSRC-v1.mat"
    return replace(dataset_info("msrcv1"), url=url, sha256=sha256)


def test_fetch_downloads_once(server, tmp_path):
    info = info_for(server, "good")
    home = tmp_path / "new" / "folder"
    path = fetch_file(info, data_home=home)
    assert path == home / "msrcv1.mat"
    assert path.read_bytes() == CONTENT
    assert fetch_file(info, data_home=home) == path
    assert len(server.requests) == 1
    assert os.listdir(home) == ["msrcv1.mat"]


def test_fetch_makes_file_readable_as_the_umask_says(server, tmp_path):
    path = fetch_file(info_for(server, "good"), data_home=tmp_path)
    other = tmp_path / "other"
    other.write_bytes(b"")
    assert path.stat().st_mode == other.stat().st_mode


@pytest.mark.parametrize("name", ["msrcv1.mat", "MSRC-v1.mat"])
def test_fetch_uses_file_of_the_user_under_either_name(server, tmp_path, name):
    (tmp_path / name).write_bytes(CONTENT)
    path = fetch_file(info_for(server, "good"), data_home=tmp_path)
    assert path == tmp_path / name
    assert server.requests == []


@pytest.mark.parametrize("name", ["msrcv1.mat", "MSRC-v1.mat"])
def test_fetch_keeps_wrong_file_of_the_user(server, tmp_path, name):
    (tmp_path / name).write_bytes(b"precious")
    with pytest.raises(DatasetError, match=rf"{name} is not the published MSRC-v1"):
        fetch_file(info_for(server, "good"), data_home=tmp_path)
    assert (tmp_path / name).read_bytes() == b"precious"
    assert os.listdir(tmp_path) == [name]
    assert server.requests == []


def test_fetch_prefers_the_right_one_of_two_files(server, tmp_path):
    (tmp_path / "msrcv1.mat").write_bytes(b"something else")
    (tmp_path / "MSRC-v1.mat").write_bytes(CONTENT)
    path = fetch_file(info_for(server, "good"), data_home=tmp_path)
    assert path.name == "MSRC-v1.mat"


def test_fetch_asks_again_after_a_dropped_connection(server, tmp_path):
    path = fetch_file(info_for(server, "drop-once"), data_home=tmp_path)
    assert path.read_bytes() == CONTENT
    assert len(server.requests) == 2


def test_fetch_waits_for_busy_server(server, tmp_path):
    fetch_file(info_for(server, "busy"), data_home=tmp_path)
    assert len(server.requests) == 3


def test_fetch_gives_up_after_some_drops(server, tmp_path):
    with pytest.raises(DatasetError, match=r"Could not download .*put that file"):
        fetch_file(info_for(server, "always-drop"), data_home=tmp_path)
    assert len(server.requests) == fetch_module.RETRIES + 1
    assert os.listdir(tmp_path) == []


def test_fetch_does_not_ask_again_for_what_is_not_there(server, tmp_path):
    with pytest.raises(DatasetError, match="404"):
        fetch_file(info_for(server, "absent"), data_home=tmp_path)
    assert len(server.requests) == 1
    assert os.listdir(tmp_path) == []


def test_fetch_never_keeps_corrupt_file(server, tmp_path):
    with pytest.raises(DatasetError, match=rf"hash of downloaded file .*{SHA256}"):
        fetch_file(info_for(server, "corrupt"), data_home=tmp_path)
    assert os.listdir(tmp_path) == []


def test_fetch_recovers_from_one_corrupt_answer(server, tmp_path):
    path = fetch_file(info_for(server, "corrupt-once"), data_home=tmp_path)
    assert path.read_bytes() == CONTENT
    assert len(server.requests) == 2


def test_fetch_refuses_other_content_than_registered(server, tmp_path):
    with pytest.raises(DatasetError, match=f"Got: sha256:{SHA256}|{SHA256}"):
        fetch_file(info_for(server, "good", sha256="0" * 64), data_home=tmp_path)
    assert os.listdir(tmp_path) == []


def test_fetch_times_out(server, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch_module, "RETRIES", 1)
    # The server holds back the rest until the test is over.
    with pytest.raises(DatasetError, match="timed out"):
        fetch_file(info_for(server, "hang"), data_home=tmp_path, timeout=0.3)
    assert os.listdir(tmp_path) == []


def test_fetch_without_network_says_which_file_goes_where(tmp_path, monkeypatch):
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda _: None))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    url = f"http://127.0.0.1:{port}/MSRC-v1.mat"
    info = replace(dataset_info("msrcv1"), url=url)
    with pytest.raises(DatasetError) as caught:
        fetch_file(info, data_home=tmp_path)
    message = str(caught.value)
    assert url in message
    assert info.sha256 in message
    assert f"at {tmp_path / 'msrcv1.mat'}" in message
    assert os.listdir(tmp_path) == []


def test_fetch_into_impossible_folder(server, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DatasetError, match=r"Cannot write .*MANYVIEW_DATA or data_hom"):
        fetch_file(info_for(server, "good"), data_home=tmp_path / "file" / "folder")


# Interrupts are ignored by what a shell starts in the background, and by its children.
CHILD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from dataclasses import replace
from types import SimpleNamespace
from manyview.datasets import dataset_info
from manyview.datasets._fetch import fetch_file
url, sha256, home = sys.argv[1:]
info = replace(dataset_info("msrcv1"), url=url, sha256=sha256)
print(fetch_file(info, data_home=home, timeout=600))
"""


def start_child(server, kind, home):
    info = info_for(server, kind)
    command = [sys.executable, "-c", CHILD, info.url, info.sha256, str(home)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_fetch_by_two_processes_at_once(server, tmp_path):
    children = [start_child(server, "two-at-once", tmp_path) for _ in range(2)]
    for child in children:
        out, err = child.communicate(timeout=GUARD)
        assert child.returncode == 0, err
        assert out.split()[-1] == str(tmp_path / "msrcv1.mat")
    assert (tmp_path / "msrcv1.mat").read_bytes() == CONTENT
    assert os.listdir(tmp_path) == ["msrcv1.mat"]


def has_part(home):
    # pooch first makes a file that is gone at once, to see whether it may write.
    with suppress(FileNotFoundError):
        return any(path.stat().st_size for path in home.glob("tmp*"))
    return False


def wait_for_part(child, home):
    """Return once the child has written some of the file."""
    while not has_part(home):
        if child.poll() is not None:
            pytest.fail(f"the download ended: {child.communicate()[1]}")
        time.sleep(0.01)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a child there")
def test_fetch_interrupted_leaves_nothing(server, tmp_path):
    child = start_child(server, "hang", tmp_path)
    wait_for_part(child, tmp_path)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=GUARD)
    assert "KeyboardInterrupt" in err
    assert os.listdir(tmp_path) == []


def test_fetch_killed_never_leaves_a_file_that_passes_for_whole(server, tmp_path):
    child = start_child(server, "hang", tmp_path)
    wait_for_part(child, tmp_path)
    child.kill()
    child.communicate(timeout=GUARD)
    assert not (tmp_path / "msrcv1.mat").exists()
    path = fetch_file(info_for(server, "good"), data_home=tmp_path)
    assert path.read_bytes() == CONTENT


def test_fetch_shows_progress_only_when_asked(server, tmp_path, capsys):
    fetch_file(info_for(server, "good"), data_home=tmp_path / "a", progress=True)
    assert "100%" in capsys.readouterr().err
    fetch_file(info_for(server, "good"), data_home=tmp_path / "b", progress=False)
    # Captured stderr is no terminal.
    fetch_file(info_for(server, "good"), data_home=tmp_path / "c")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "")


def test_data_folder_order_of_precedence(monkeypatch, tmp_path):
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path / "environment"))
    assert data_folder(tmp_path / "argument") == tmp_path / "argument"
    assert data_folder() == tmp_path / "environment"
    monkeypatch.delenv("MANYVIEW_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_folder().name == "manyview"
