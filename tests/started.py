"""
A program of Wireshark that starts once: each run is a copy of the started process, which takes a
seventh of the time on a short capture. started.c, which is loaded into the program, says how.
"""

import array
import os
import pathlib
import re
import resource
import socket
import struct
import subprocess

SOURCE = pathlib.Path(__file__).with_name("started.c")
REQUESTS = "STARTED_REQUESTS"  # variable that tells started.c the file descriptor of its socket
ANSWER = struct.Struct("=qq")  # status as waitpid() tells it, CPU time in microseconds


class Used:
    """CPU time in seconds of the copies that this process has asked for, as long as the program
    that they are copies of runs. Once that has ended, the kernel adds its copies to the children of
    this process."""

    seconds = 0.0


def cpu_seconds():
    """CPU time of this process, of what it has run, and of the copies of started programs."""
    own, run = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(
        resource.RUSAGE_CHILDREN
    )
    return own.ru_utime + own.ru_stime + run.ru_utime + run.ru_stime + Used.seconds


def build(library, source=SOURCE):
    """Compile what is loaded into the programs."""
    subprocess.run(
        [
            "cc",
            "-O2",
            "-shared",
            "-fPIC",
            "-Wall",
            "-Wextra",
            "-Werror",
            source,
            "-o",
            library,
            "-ldl",
        ],
        check=True,
    )


def memory(data=b""):
    """A file without a name."""
    file = os.fdopen(os.memfd_create("stream"), "w+b")
    file.write(data)
    file.seek(0)
    return file


def content(file):
    file.seek(0)
    return file.read()


class Started:
    """`command` starts the program; `options` are those of subprocess, which all runs have."""

    def __init__(self, library, command, env, **options):
        preloaded = [path for path in (env.get("LD_PRELOAD"), str(library)) if path]
        self.copies = 0.0  # their CPU time in seconds
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, memory() as said:
            environment = env | {"LD_PRELOAD": ":".join(preloaded), REQUESTS: str(theirs.fileno())}
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                pass_fds=[theirs.fileno()],
                **options
            )
            theirs.close()
            # What a program says at start, it has to say in each run.
            self.is_ready = len(self.socket.recv(ANSWER.size)) == ANSWER.size and not content(said)

    def run(self, arguments, timeout, encoding, errors, input=None):
        """As subprocess.run(); `arguments` begin with the program's name."""
        text = b"".join(os.fsencode(str(each)) + b"\0" for each in arguments)
        data = b"" if input is None else input.encode(encoding) if encoding else input
        with memory(data) as given, memory() as printed, memory() as complained:
            streams = array.array("i", [file.fileno() for file in (given, printed, complained)])
            self.socket.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
            self.socket.settimeout(timeout)
            try:
                answer = self.socket.recv(ANSWER.size)
            except TimeoutError:
                self.close()
                raise subprocess.TimeoutExpired(arguments, timeout) from None
            assert len(answer) == ANSWER.size, "the started program is gone"
            status, used = ANSWER.unpack(answer)
            status = os.waitstatus_to_exitcode(status)
            self.count(used / 1e6)
            outputs = [content(file) for file in (printed, complained)]
        if encoding:
            outputs = [re.sub("\r\n?", "\n", each.decode(encoding, errors)) for each in outputs]
        return subprocess.CompletedProcess(arguments, status, *outputs)

    def count(self, seconds):
        self.copies += seconds
        Used.seconds += seconds

    def close(self):
        self.is_ready = False
        self.socket.close()
        self.process.kill()
        self.process.wait()
        self.count(-self.copies)

    __del__ = close
