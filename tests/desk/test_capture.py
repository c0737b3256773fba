"""
plugin/capture: what it writes of a kernel that the tests make, and of the wire beside it; how it
ends; what it says when it cannot begin. Nothing of it stays.
"""

import contextlib
import errno
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import types

import made_kernel as made
import pcapng
import pytest
from bed import TOP, Tshark, as_user
from network import LINK, Namespace, count_written, frames_of, until

PROGRAM = TOP / "plugin" / "capture"
CAPTURE = "6.1-v2-a-first-contact-ipv4"
COOKED = 16  # bytes before a netlink message
SENT = len(frames_of(TOP / "captures" / "real" / f"{CAPTURE}.pcapng"))
ROUND = 25  # frames of a made kernel with three sockets, requests and answers
TIME_LIMIT = 60
COOKIE = 71  # SO_NETNS_COOKIE
CAPABILITIES = struct.pack(
    "<5I", 0x02000001, 0x3000, 0x3000, 0, 0
)  # of a file: NET_ADMIN and NET_RAW, effective


@pytest.fixture
def program():
    return made.load(PROGRAM)


@pytest.fixture
def copies(scratch):
    """The program, and the one that runs it with a made kernel, where every user may read them."""
    for name, path in (("smcr-capture", PROGRAM), ("made_kernel.py", pathlib.Path(made.__file__))):
        shutil.copyfile(path, scratch / name)
        (scratch / name).chmod(0o755)
    return scratch


@pytest.fixture
def recorder(bed, copies):
    """tshark and others whose files go to this test's folder."""
    return Tshark(bed, TMPDIR=str(copies), MADE_SOCKETS="=3")


def run(tshark, copies, *arguments, is_made=True, **environment):
    """What the program prints and its exit status; with a made kernel, or with this machine's."""
    words = [
        sys.executable,
        "-B",
        *([copies / "made_kernel.py"] if is_made else []),
        copies / "smcr-capture",
        *arguments,
    ]
    return subprocess.run(
        list(map(str, words)),
        env={**tshark.environment, "MADE_SOCKETS": "=3", **environment},
        cwd=copies,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        stdin=subprocess.DEVNULL,
        **as_user(),
    )


def options(program, **given):
    return program.Options(
        *(
            {"interfaces": [], "rings": [], "often": 60.0, **given}.get(name)
            for name in program.Options._fields
        )
    )


def interfaces():
    """All of this namespace."""
    return {name for _, name in socket.if_nameindex()}


# ---- what it reads ----


def scripted(*frames):
    """A kernel that answers anything so; the functions get the sequence number of the request."""
    return made.connected(
        lambda request: [each(made.MESSAGE.unpack_from(request)[3]) for each in frames]
    )


def part(sequence):
    return made.message(made.BY_FAMILY, made.MULTI, sequence, b"part")


def test_an_answer_is_read_to_its_end(program):
    kept = []
    with scripted(lambda s: part(s) * 3, lambda s: part(s + 1), part, made.done, part) as kernel:
        found = program.ask(
            kernel, made.BY_FAMILY, program.DUMP, b"asked", lambda *each: kept.append(each)
        )
    assert [each.body for each in found] == [b"part"] * 4  # what is somebody else's is left out
    assert [len(frame) for _, frame in kept] == [21, 60, 20, 20]
    request = program.messages(kept[0][1])[0]
    assert (request.kind, request.flags, request.body) == (made.BY_FAMILY, 0x301, b"asked")
    times = [moment for moment, _ in kept]
    assert times == sorted(times) and abs(times[-1] / 1e9 - time.time()) < TIME_LIMIT
    with scripted(lambda s: made.message(16, 0, s, b"one")) as kernel:
        assert [each.body for each in program.ask(kernel, 16, 0, b"")] == [b"one"]
    for last in (lambda s: made.fault(s, errno.EPERM), lambda s: made.done(s, errno.EPERM)):
        with scripted(part, last) as kernel, pytest.raises(PermissionError):
            program.ask(kernel, 16, 0, b"")


class Overrun:
    """A kernel that has to drop frames, so many times: each time before the second frame."""

    def __init__(self, kernel, times):
        self.kernel, self.times, self.received = kernel, times, 0

    def send(self, request):
        while self.received % 3:  # what was not dropped
            self.recv(0)
        self.kernel.send(request)

    def recv(self, _):
        self.received += 1
        frame = self.kernel.recv(1 << 16)
        if self.received % 3 == 2 and self.times > 0:
            self.times -= 1
            raise OSError(errno.ENOBUFS, "overrun")
        return frame


def test_an_answer_with_an_overrun_is_asked_anew(program):
    """ENOBUFS. What came before stays in the capture; after three times it is given up."""
    kept = []
    with scripted(part, part, made.done) as kernel:
        assert (
            len(
                program.ask_until_whole(
                    Overrun(kernel, 2), 20, program.DUMP, b"", lambda *each: kept.append(each[1])
                )
            )
            == 2
        )
    heads = [
        (each.sequence, each.kind, each.flags) for frame in kept for each in program.messages(frame)
    ]
    assert len({sequence for sequence, _, _ in heads}) == 3
    assert [kind for _, kind, flags in heads if flags == program.MULTI] == [
        20,
        20,
        20,
        20,
        made.DONE,
    ]
    with scripted(part, part, made.done) as kernel, pytest.raises(OSError, match="overrun"):
        program.ask_until_whole(Overrun(kernel, 3), 20, program.DUMP, b"")


def test_kernels_that_lack_something(program, monkeypatch):
    for lacks, said in {
        "family diag": "this kernel has no SMC, or no module smc",
        "diag": "this kernel does not report SMC sockets: it has no module smc_diag",
        "family": None,
        "all": "the kernel does not answer",
    }.items():

        def answers(request, lacks=lacks):
            _, kind, _, sequence, _ = made.MESSAGE.unpack_from(request)
            if {16: "family", 20: "diag"}.get(kind) in lacks.split():
                return [made.fault(sequence, errno.ENOENT)]
            return made.answer(request, 3) if lacks != "all" else []

        monkeypatch.setattr(
            program,
            "open_sockets",
            lambda _, answers=answers: [made.connected(answers) for _ in range(2)],
        )
        if said:
            with pytest.raises(program.Failure, match=said):
                program.ask_namespace(program.OWN)
        else:
            count, frames = program.ask_namespace(program.OWN)
            assert count == 3 and {family for _, family, _ in frames} == {4, 16}


def test_network_namespaces_are_entered(program):
    """Their sockets come back to a program that stays where it is."""
    if os.geteuid():
        pytest.skip("only root makes network namespaces")
    with contextlib.closing(Namespace()) as blue:
        path = f"/proc/{os.getpid()}/fd/{blue.file}"
        cookies = []
        for each in (program.OWN, program.Namespace("blue", path)):
            opened = program.open_sockets(each)
            cookies.append({file.getsockopt(socket.SOL_SOCKET, COOKIE, 8) for file in opened})
            for file in opened:
                file.close()
        inside = blue.inside(
            lambda: socket.socket(socket.AF_INET).getsockopt(socket.SOL_SOCKET, COOKIE, 8)
        )
        assert cookies[1] == {inside} and len(cookies[0]) == 1 and cookies[0] != cookies[1]
        assert program.namespaces(path)[0].path == path
    assert program.namespaces("own") == [program.OWN] == program.namespaces(None)[:1]
    with pytest.raises(OSError):
        program.open_sockets(program.Namespace("none", os.devnull))


# ---- what it writes ----


def test_answers_are_a_capture(program, monkeypatch, tshark, bed, scratch):
    """Of two namespaces of three: one has no SMC sockets. What the kernel said, byte by byte;
    mergecap joins it."""
    counts, said = {"": 0, "blue": 110, "red": 0}, []

    def answers(count, request):
        frames = made.answer(request, count)
        said.extend([request, *frames])
        return frames

    monkeypatch.setattr(
        program,
        "open_sockets",
        lambda namespace: [
            made.connected(lambda request: answers(counts[namespace.name], request))
            for _ in range(2)
        ],
    )
    monkeypatch.setattr(
        program, "namespaces", lambda _: [program.Namespace(name, None) for name in ("", "blue")]
    )
    path, joined = scratch / "answers.pcapng", scratch / "joined.pcapng"
    with path.open("wb") as stream:
        assert (
            program.ask_until_ended(options(program, duration=0.0), program.Answers(stream), None)[
                "blue"
            ]
            == 110
        )
    frames = pcapng.read(path)[1]
    assert [pcapng.data(each)[COOKED:] for each in frames] == said
    assert {pcapng.data(each)[:COOKED].hex() for each in frames} == {
        f"00040338{'00' * 10}{family:04x}" for family in (4, 16)
    }
    times = [pcapng.time(each) for each in frames]
    assert times == sorted(times) and abs(times[-1] / 1e6 - time.time()) < TIME_LIMIT
    monkeypatch.setattr(program, "namespaces", lambda _: [program.Namespace("red", None)])
    with (scratch / "red").open("wb") as stream:
        program.ask_until_ended(options(program, duration=0.0), program.Answers(stream), None)
    assert pcapng.read(scratch / "red")[1] == []
    path.chmod(0o644)
    bed.edit("-w", joined, bed.capture(CAPTURE), path, program="mergecap")
    names = [row[0][0] for row in tshark.fields(joined, "frame.interface_name", where="netlink")]
    assert sorted(set(names)) == ["netlink", "netlink@blue"] and len(names) == len(frames)
    assert len(tshark.frames(joined, "smcr && !netlink")) == len(tshark.frames(CAPTURE, "smcr"))


def started(wire, recorder, copies, *arguments):
    """The program with a made kernel at the listening end, once dumpcap listens there."""
    return wire.listen(
        recorder, [sys.executable, copies / "made_kernel.py", copies / "smcr-capture", *arguments]
    )[0]


def wait_for(path, frames):
    """Until so many frames are in a file, which may not be there yet."""
    until(
        lambda: path.exists() and count_written([path]) >= frames, f"no {frames} frames in the file"
    )


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, "-a"])
def test_answers_are_beside_the_wire(wire, recorder, tshark, copies, end):
    """It asks first and last. Its interfaces keep their names; what it made is gone."""
    path, before = copies / "both.pcapng", wire.listener.inside(interfaces)
    listener = started(
        wire,
        recorder,
        copies,
        "-i",
        LINK,
        "-w",
        path,
        "--netns",
        "own",
        "--no-nlmon",
        *(["-a", "2"] if end == "-a" else []),
    )
    wait_for(path, ROUND)
    wire.send(frames_of(tshark.bed.capture(CAPTURE)))
    if end != "-a":
        wait_for(path, ROUND + SENT)
        listener.process.send_signal(end)
    assert (listener.end(), listener.errors) == (
        0,
        "smcr-capture: 3 SMC sockets in 1 network namespace\n",
    )
    names = [row[0][0] for row in tshark.fields(path, "frame.interface_name")]
    assert (
        names.count(LINK) == SENT
        and {*names} == {LINK, "netlink"}
        and names[0] == names[-1] == "netlink"
    )
    dumps = [
        number
        for number, (name, frame) in enumerate(zip(names, pcapng.read(path)[1], strict=True))
        if name == "netlink"
        and struct.unpack_from("=H", pcapng.data(frame), COOKED + 4)[0] == made.BY_FAMILY
    ]
    assert len(dumps) == 4 and dumps[1] < dumps[2] - SENT
    assert len(tshark.frames(path, "smcr && !netlink")) == len(tshark.frames(CAPTURE, "smcr"))
    assert wire.listener.inside(interfaces) == before
    assert wire.listener.listeners() == 0


def test_a_dumpcap_that_does_not_begin(program, monkeypatch):
    """It reads nothing: that is said, and not that there are no sockets."""
    monkeypatch.setattr(program, "BEGIN_BY", 0.2)
    reader, writer = os.pipe()
    with open(reader, "rb"), open(writer, "wb", buffering=0) as pipe:
        started = types.SimpleNamespace(stdin=pipe, poll=lambda: None)
        with pytest.raises(program.Failure, match="dumpcap has not begun within"):
            program.record(None, None, started)


@pytest.mark.parametrize("capabilities", [False, True])
def test_dumpcap_does_not_outlive_it(wire, bed, copies, capabilities):
    """Not even where nothing can be tidied up, and where dumpcap's file has capabilities or has
    none."""
    path, dumpcap = copies / "killed.pcapng", copies / "dumpcap"
    shutil.copyfile(shutil.which("dumpcap"), dumpcap)
    dumpcap.chmod(0o755)
    if capabilities:
        os.setxattr(dumpcap, "security.capability", CAPABILITIES)
    recorder = Tshark(
        bed, TMPDIR=str(copies), MADE_SOCKETS="=3", PATH=f"{copies}:{os.environ['PATH']}"
    )
    listener = started(
        wire, recorder, copies, "-i", LINK, "-w", path, "--netns", "own", "--no-nlmon"
    )
    wait_for(path, ROUND)
    listener.process.kill()
    assert listener.end() == -signal.SIGKILL
    until(lambda: wire.listener.listeners() == 0, "dumpcap goes on")


# ---- the nlmon interface ----


def test_nlmon_is_asked_for_and_taken_away(program, monkeypatch):
    """By a made rtnetlink, with interfaces that others have left behind."""
    gone, alive = program.own_mark().split(), program.own_mark()
    gone[2] = "1"  # a process of this number that began at another time
    there = {5: " ".join(gone), 6: alive, 7: "the cellar", 8: "smcr-capture 1 1 pid:[0]", 9: ""}
    said, refuses = [], []

    def answers(request):
        _, kind, flags, sequence, _ = made.MESSAGE.unpack_from(request)
        index, up = struct.unpack_from("=4xiI", request, made.MESSAGE.size)
        values = program.attributes(request[made.MESSAGE.size + 16 :])
        if kind == 18:
            return [
                *(
                    made.message(
                        16,
                        made.MULTI,
                        sequence,
                        struct.pack("=4xi8x", each) + made.attribute(20, mark.encode()),
                    )
                    for each, mark in there.items()
                ),
                made.done(sequence),
            ]
        said.append((kind, index, up, values))
        return [made.fault(sequence, refuses[0] if refuses else 0)]

    monkeypatch.setattr(program, "open_netlink", lambda _: made.connected(answers))
    monkeypatch.setattr(program.socket, "if_nametoindex", lambda _: 10)
    with pytest.raises(KeyError), program.nlmon() as name:
        assert said[1][3][3] == name.encode() + b"\0" and b"nlmon\0" in said[1][3][18]
        raise KeyError
    assert said[2][3] == {20: alive.encode()}
    assert [each[:3] for each in said] == [(17, 5, 0), (16, 0, 1), (16, 10, 0), (17, 10, 0)]
    for number, words in (
        (errno.EOPNOTSUPP, "no nlmon"),
        (errno.EPERM, "CAP_NET_ADMIN"),
        (errno.ENOMEM, "memory"),
    ):
        refuses[:] = [number]
        with pytest.raises(program.Failure, match=words), program.nlmon():
            pass


def test_nlmon_of_this_machine(wire, recorder, tshark, copies, program):
    """The interface is in the capture with its name; afterwards it is gone."""

    def make():
        try:
            with program.nlmon():
                return len(interfaces())
        except program.Failure as failure:
            return str(failure)

    before = wire.listener.inside(interfaces)
    found = wire.listener.inside(make)
    if "no nlmon" in str(found):
        pytest.skip(found)
    assert found == len(before) + 1
    path = copies / "nlmon.pcapng"
    listener = wire.start(
        recorder,
        sys.executable,
        copies / "smcr-capture",
        "-i",
        LINK,
        "--nlmon",
        "--netns",
        "own",
        "-a",
        1,
        "-w",
        path,
    )
    status = listener.end()
    assert wire.listener.inside(interfaces) == before
    if "has no SMC" in listener.errors:
        pytest.skip("this kernel has no SMC")
    assert status == 0, listener.errors
    names = {row[0][0] for row in tshark.fields(path, "frame.interface_name", where="netlink")}
    assert len(names) == 1 and names.pop().startswith("nlmon")


# ---- what it says when it cannot begin ----


def test_words_that_it_does_not_take(tshark, copies):
    for arguments, sentence in {
        "-w f -q": "option -q not recognized (see -h)",
        "-i lo": "-w is missing: the file to write (see -h)",
        "-w f g": "what is g? (see -h)",
        "-w f -a soon": "-a needs a number of seconds, not soon",
        "-w f -n -1": "-n needs a number of seconds, not -1",
        "-w f -s 96": "-f, -s, -b and --nlmon need -i",
        "-w f -i lo --nlmon --no-nlmon": "--nlmon and --no-nlmon do not go together",
        "-w f --netns nosuch": (
            "there is no network namespace nosuch (ip netns lists those with names)"
        ),
        "-w /nosuch/f -a 0": "/nosuch/f: No such file or directory",
        "-w /dev/full -a 0": "No space left on device",
        "-i nosuch0 -w f --no-nlmon": None,
    }.items():
        result = run(tshark, copies, *arguments.split())
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (
            1,
            "",
            1,
        ), arguments
        assert result.stderr.startswith("smcr-capture: ")
        assert (
            result.stderr == f"smcr-capture: {sentence}\n"
            if sentence
            else "nosuch0" in result.stderr
        )
    assert not (copies / "f").exists()
    os.mkfifo(pipe := copies / "pipe")
    pipe.chmod(0o666)
    # Wireshark says nothing of the failure until the writer of its pipe is gone
    window = subprocess.Popen(["cat", pipe], env=tshark.environment)
    assert (
        run(
            tshark,
            copies,
            "--capture",
            "--extcap-interface=smcr-lo",
            "--fifo",
            str(pipe),
            "-n",
            "soon",
        ).returncode
        == 1
    )
    assert window.wait(10) == 0
    pipe.unlink()
    assert re.findall(r"^  (-\S+)", run(tshark, copies, "-h").stdout, re.MULTILINE) == [
        "-i",
        "-w",
        "-a",
        "-n",
        "-f",
        "-s",
        "-b",
        "--netns",
        "--nlmon",
        "--no-nlmon",
        "-h",
        "--version",
    ]


def test_extcap_lists_nothing_without_smc(program, scratch, capsys):
    """A kernel that has SMC has it loaded, built in, or as a module."""
    protocols, modules = scratch / "protocols", scratch / "modules.dep"
    cases = (
        ("TCP 2304\n", "kernel/net/tls/tls.ko.xz:\n", False),
        ("SMC6 1\nSMCX 1\n", "kernel/net/smc/smc_diag.ko: kernel/net/smc/smc.ko\n", False),
        ("TCP 2304\nSMC       1040      0\n", "", True),
        (
            "TCP 2304\n",
            "kernel/net/smc/smc.ko.xz: kernel/drivers/infiniband/core/ib_core.ko\n",
            True,
        ),
        (None, "kernel/net/smc/smc.ko:\n", True),
        (None, None, False),
    )
    program.KERNEL_HAS = [
        (str(path), beginning)
        for path, (_, beginning) in zip((protocols, modules), program.KERNEL_HAS)
    ]
    for *texts, has in cases:
        for path, text in zip((protocols, modules), texts):
            path.unlink(missing_ok=True)
            if text is not None:
                path.write_text(text)
        program.extcap({"--extcap-interfaces": [""]})
        assert ("interface {value=smcr-lo}" in capsys.readouterr().out) == has, texts


def test_machines_that_lack_something(wire, tshark, copies, scratch):
    """One sentence, a status, and nothing stays: without SMC, nlmon, dumpcap, or rights."""
    before, files = interfaces(), sorted(copies.iterdir())
    (empty := scratch / "bin").mkdir()
    results = {
        "dumpcap is not installed": run(
            tshark, copies, "-i", "lo", "-w", "f", "--no-nlmon", PATH=str(empty)
        )
    }
    empty.rmdir()
    if "SMC" not in pathlib.Path("/proc/net/protocols").read_text().split():
        results["this kernel has no SMC, or no module smc"] = run(
            tshark, copies, "-w", "f", is_made=False
        )
    if tshark.start("-f", "arp", "-i", "lo", "-a", "duration:1", program="dumpcap").returncode:
        results["You do not have permission to capture"] = run(
            tshark, copies, "-i", "lo", "-w", "f"
        )
    results["making an nlmon interface needs root, or CAP_NET_ADMIN"] = run(
        tshark, copies, "-i", "lo", "-w", "f", "--nlmon"
    )
    for sentence, result in results.items():
        assert result.returncode == 1 and result.stdout == "" and result.stderr.count("\n") == 1
        assert result.stderr.startswith(f"smcr-capture: {sentence}")
    assert interfaces() == before and sorted(copies.iterdir()) == files


# ---- the window starts it ----


def test_extcap(wire, recorder, tshark, copies, bed):
    """tshark lists it, and captures with it: both link types come through its pipe."""
    folder, path = copies / "extcap", copies / "extcap.pcapng"
    folder.mkdir()
    script = folder / "smcr-capture"
    script.write_text(
        f"""#!/bin/sh
case $* in *--capture*) set -- "$@" --no-nlmon ;; esac  # a made kernel's answers pass on none
exec {sys.executable} {copies}/made_kernel.py {copies}/smcr-capture "$@"
"""
    )
    script.chmod(0o755)
    window = Tshark(bed, TMPDIR=str(copies), MADE_SOCKETS="=3", WIRESHARK_EXTCAP_DIR=str(folder))
    lister = wire.start(window, "tshark", "-D")
    assert lister.end() == 0
    assert f"smcr-{LINK} (SMC-R: {LINK}, and reports of this host)" in lister.text
    listener = wire.start(window, "tshark", "-i", f"smcr-{LINK}", "-w", path)
    wait_for(path, ROUND)
    wire.send(frames_of(bed.capture(CAPTURE)))
    wait_for(path, ROUND + SENT)
    listener.stop()
    assert "Error" not in listener.errors
    until(lambda: wire.listener.listeners() == 0, "dumpcap goes on")
    path.chmod(0o644)
    names = [row[0][0] for row in tshark.fields(path, "frame.interface_name")]
    assert set(names) == {LINK, "netlink"} and names.count(LINK) == SENT
