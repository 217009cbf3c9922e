"""Run a command, and kill this process with signal 9 at one moment of its writing.

    python -m tests.killed MOMENT FOLDER manyview|reproduction ARGUMENT...

A moment is just before a file or folder below FOLDER is opened for writing, made,
renamed or removed. With moment 0 nothing is killed, and the number of moments is the
last line on stderr.
"""

import os
import signal
import sys

CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate"}
WRITING = os.O_WRONLY | os.O_RDWR


def is_change(event, args, folder):
    if event != "open" and event not in CHANGES:
        return False
    if event == "open" and not (isinstance(args[2], int) and args[2] & WRITING):
        return False
    path = args[0]
    return isinstance(path, (str, bytes, os.PathLike)) and os.path.abspath(
        os.fsdecode(path)
    ).startswith(folder)


def run(command):
    if command == "manyview":
        from manyview.cli import main
    else:
        from reproduction.__main__ import main
    sys.exit(main())


def kill_at(moment, folder, command, *arguments):
    seen = 0

    def count(event, args):
        nonlocal seen
        if is_change(event, args, folder):
            seen += 1
            if seen == moment:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    sys.argv = [command, *arguments]
    try:
        run(command)
    except SystemExit as error:
        if error.code:
            raise
    if not moment:
        sys.stderr.write(f"{seen}\n")


if __name__ == "__main__":
    kill_at(int(sys.argv[1]), *sys.argv[2:])
