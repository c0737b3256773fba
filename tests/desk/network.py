"""
A wire: two network namespaces and a veth pair between them. One end sends the frames of captures,
at the other end programs listen. Nothing else is on the wire: no addresses, no IPv6, no ARP.

Nothing of it has a name on the machine. Only this process holds the namespaces, as open files: the
kernel takes them away when it ends, however it ends.

tcpreplay is no substitute: it does not say when it sent which frame, and cannot begin anew with
other addresses.
"""

import collections
import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

import pcapng
from bed import USER

LINK = "smc0"  # name of the interface, at both ends
MTU = 9000  # bytes
NEW_NETWORK = 0x40000000  # CLONE_NEWNET
PATIENCE = 30  # seconds until something that must come is given up
NO_IPV6 = "/proc/sys/net/ipv6/conf/{}/disable_ipv6"
TOOLS = ("ip", "nsenter", "setpriv", "dumpcap")

Frame = collections.namedtuple("Frame", "time data")  # seconds since the first one; bytes


class NoNetwork(Exception):
    """Why there is no wire here."""


def frames_of(path, wanted=None):
    """The frames of a capture (pcapng, microseconds); `wanted`: numbers of those to take."""
    every = [each for each in pcapng.read(path)[1] if wanted is None or each.number in wanted]
    return [
        Frame((pcapng.time(each) - pcapng.time(every[0])) / 1e6, pcapng.data(each))
        for each in every
    ]


def count_written(paths):
    """How many frames files of dumpcap have, which may be writing them."""
    total = 0
    for path in paths:
        data = path.read_bytes()
        at = 0
        while at + 8 <= len(data):
            kind, length = struct.unpack_from("<II", data, at)
            at += length
            total += kind == pcapng.PACKET and at <= len(data)
    return total


def until(condition, what):
    """Wait until condition() is true, and return what it says."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.01)
    return found


# ---- namespaces ----


def system_call(name, *arguments):
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments):
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def in_thread(function):
    """Call a function in a thread of its own, which may have a network of its own."""
    results = []

    def call():
        try:
            results.append((function(), None))
        except OSError as error:
            results.append((None, error))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    value, error = results[0]
    if error:
        raise error
    return value


class Namespace:
    """A network namespace, for as long as its file is open."""

    def __init__(self):
        self.file = in_thread(self.make)

    @staticmethod
    def make():
        system_call("unshare", NEW_NETWORK)
        for which in ("all", "default"):
            if (setting := pathlib.Path(NO_IPV6.format(which))).exists():
                setting.write_text("1")
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY)

    @property
    def path(self):
        """For a program that gets self.file."""
        return f"/proc/self/fd/{self.file}"

    def inside(self, function):
        """Call a function in this namespace."""

        def enter():
            system_call("setns", self.file, NEW_NETWORK)
            return function()

        return in_thread(enter)

    def ip(self, *words, others=()):
        """Run `ip` in this namespace."""
        files = [self.file, *(other.file for other in others)]
        subprocess.run(
            ["nsenter", f"--net={self.path}", "ip", *words],
            pass_fds=files,
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def listeners(self):
        """How many packet sockets are bound to the link and run."""
        lines = self.inside(
            lambda: pathlib.Path("/proc/thread-self/net/packet").read_text().splitlines()[1:]
        )
        index = self.inside(lambda: socket.if_nametoindex(LINK))
        return sum(int(line.split()[4]) == index and line.split()[5] == "1" for line in lines)

    def received(self):
        """Frames that have come to the link."""
        lines = self.inside(
            lambda: pathlib.Path("/proc/thread-self/net/dev").read_text().splitlines()
        )
        return next(int(line.split()[2]) for line in lines if line.split()[0] == f"{LINK}:")

    def close(self):
        os.close(self.file)


# ---- who listens ----


def descendants(process):
    """The folders in /proc of what a process has started, directly or not."""
    for path in pathlib.Path("/proc").glob(f"{process}/task/*/children"):
        for child in path.read_text().split():
            yield pathlib.Path("/proc", child)
            yield from descendants(child)


class Listener:
    """
    A program at the listening end: `lines` that it has printed, with the time when each came, in
    seconds since 1970, and `errors`.
    """

    def __init__(self, process):
        self.process, self.lines, self.errors = process, [], ""
        self.readers = [
            threading.Thread(target=read, daemon=True) for read in (self.read, self.read_errors)
        ]
        for reader in self.readers:
            reader.start()

    def read(self):
        for line in self.process.stdout:
            self.printed(line, time.time())

    def read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def printed(self, line, moment):
        self.lines.append((moment, line))

    @property
    def text(self):
        return "".join(line for _, line in self.lines)

    def end(self):
        """Wait until it ends by itself; returns its exit status."""
        status = self.process.wait(PATIENCE)
        for reader in self.readers:
            reader.join(PATIENCE)
            assert not reader.is_alive(), "what it started goes on"
        return status

    def recorded(self):
        """
        How many frames its dumpcap has written to a temporary file, wherever that is: with
        capabilities of its own file dumpcap does not look at TMPDIR.
        """
        paths = set()
        for each in descendants(self.process.pid):
            with contextlib.suppress(FileNotFoundError):
                paths.update(
                    file.resolve()
                    for file in each.glob("fd/*")
                    if "/wireshark_" in os.readlink(file)
                )
        return count_written(paths)

    def stop(self):
        """Interrupt it, as Ctrl+C does; returns its exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.end()


# ---- the wire ----


class Wire:
    """The pair: `sender` and `listener` are its ends."""

    def __init__(self):
        self.processes, self.ends = [], contextlib.ExitStack()

    def lay(self):
        self.sender, self.listener = (
            self.ends.enter_context(contextlib.closing(Namespace())) for _ in range(2)
        )
        self.sender.ip(
            "link",
            "add",
            LINK,
            "mtu",
            str(MTU),
            "type",
            "veth",
            "peer",
            "name",
            LINK,
            "netns",
            self.listener.path,
            others=[self.listener],
        )
        for end in (self.listener, self.sender):
            end.ip("link", "set", LINK, "mtu", str(MTU), "arp", "off", "up")
        self.socket = self.ends.enter_context(
            self.sender.inside(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
        )
        self.sender.inside(lambda: self.socket.bind((LINK, 0)))

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # dumpcap, too
                process.wait()
        self.ends.close()

    def start(self, tshark, *command, kind=Listener):
        """
        Start a program at the listening end. It runs as a user who is not root but may capture, as
        dumpcap lets users; `tshark` has its environment.
        """
        process = subprocess.Popen(
            [
                "nsenter",
                f"--net={self.listener.path}",
                "setpriv",
                f"--reuid={USER}",
                "--regid=nogroup",
                "--clear-groups",
                "--inh-caps=+net_raw,+net_admin",
                "--ambient-caps=+net_raw,+net_admin",
                "--",
                *map(str, command),
            ],
            env=tshark.environment,
            cwd=tshark.bed.root,
            pass_fds=[self.listener.file],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        self.processes.append(process)
        return kind(process)

    def listen(self, tshark, *commands, kind=Listener):
        """Start programs likewise, and return when all of them listen."""
        before = self.listener.listeners()
        started = [self.start(tshark, *command, kind=kind) for command in commands]

        def ready():
            ended = [each.errors for each in started if each.process.poll() is not None]
            assert not ended, ended
            return self.listener.listeners() == before + len(started)

        until(ready, "nobody listens")
        return started

    def send(self, frames, speed=None):
        """
        Send frames, `speed` times as fast as they were captured, or without a pause; returns when
        each was sent, in seconds since 1970.
        """
        start, sent = time.monotonic(), []
        for frame in frames:
            if speed:
                time.sleep(max(0, start + frame.time / speed - time.monotonic()))
            sent.append(time.time())
            self.socket.send(frame.data)
        return sent


@contextlib.contextmanager
def new_wire():
    """A wire for as long as the block runs."""
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        raise NoNetwork(f"not installed: {' '.join(missing)}")
    if os.geteuid():
        raise NoNetwork("only root makes network namespaces")
    wire = Wire()
    try:
        try:
            wire.lay()
        except (OSError, subprocess.CalledProcessError) as error:
            reason = getattr(error, "stderr", None) or error
            raise NoNetwork(f"no network of its own: {reason}".strip()) from None
        yield wire
    finally:
        wire.close()
