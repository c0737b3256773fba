"""
Connections whose pauses are known to the microsecond. `times.json` has what each direction did with
its time, and what is wrong with it, by hand. Times are milliseconds after the SYN.
"""

import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "synth"))

from smcsynth import llc  # noqa: E402
from smcsynth.capture import START, Capture  # noqa: E402
from smcsynth.roce import Nic  # noqa: E402
from smcsynth.story import (
    MTU_1024,
    Connection,
    Half,
    Rmb,
    linux_connection,
    linux_halves,
    other,
)  # noqa: E402


class Clocked(Capture):
    """The clock stands still between two frames, but for `step` microseconds."""

    step = 100

    def add(self, frame):
        self.frames.append((self.now, bytes(frame)))
        self.now += self.step
        return len(self.frames)


class Play:
    """A connection after its first contact, which takes 1.5 ms: 15 frames, to the answer to ADD
    LINK."""

    def __init__(self, *, size=65536, mtu=1024, move=0, contact=True):
        self.capture = Clocked()
        group = linux_connection(self.capture, version=2).group
        halves = [
            Half(token=half.token, rmb=Rmb(half.rmb.va + move, size, half.rmb.rkeys))
            for half in linux_halves()
        ]
        self.connection = Connection(group, *halves, sport=40000)
        self.link = group.links[1]
        self.link.mtu = mtu
        if contact:
            code = MTU_1024 + (mtu == 4096) * 2
            self.connection.first_contact(
                accept=self.connection.accept(mtu_code=code),
                confirm=self.connection.confirm(mtu_code=code),
            )
            self.capture.step = 0

    def at(self, when):
        self.capture.now = START + round(when * 1000)

    def write(self, when, role, size, flags=()):
        self.at(when)
        self.connection.write(role, bytes(size), ack=False)
        self.connection.cdc(role, flags=flags, ack=False)

    def ack(self, when, role):
        self.at(when)
        self.link.ack(role)

    def report(self, when, role, size=None):
        """The reader says how much it has read."""
        self.at(when)
        self.connection.read(role, size)
        self.connection.cdc(role, ack=False)

    def close(self, when):
        """Both close, and TCP ends a millisecond later."""
        for role in ("client", "server"):
            self.report(when, role)
            self.at(when)
            self.connection.cdc(role, flags=["closed"], ack=False)
            self.ack(when, other(role))
        self.at(when + 1)
        self.connection.tcp.close()
        self.capture.frames.sort(key=lambda frame: frame[0])
        return self.capture


def sleeping_writer():
    """It sleeps 1.2 s between two writes."""
    play = Play()
    for when in (10, 1210.4):
        play.write(when, "client", 1000)
        play.ack(when + 0.4, "server")
    return play.close(2000)


def sleeping_server():
    """The client asks, the server sleeps 750 ms and answers; the client sleeps 300 ms, and so
    on."""
    play = Play()
    for asked, answered in ((10, 760.3), (1060.7, 1811)):
        play.write(asked, "client", 100)
        play.ack(asked + 0.3, "server")
        play.connection.read("server")
        play.write(answered, "server", 500)
        play.ack(answered + 0.4, "client")
        play.connection.read("client")
    return play.close(2000)


def slow_reader(size=16384, pause=4):
    """The server reads 6000 bytes every 4 ms; the writer is blocked in between."""
    play = Play(size=size)
    play.write(10, "client", size, ["blocked"])
    play.ack(10.5, "server")
    for turn in range(20):
        when = 10 + pause * (turn + 1)
        play.report(when, "server", 6000)
        play.ack(when + 0.5, "client")
        play.write(when + 0.6, "client", 6000, ["blocked"] if turn < 19 else ())
        play.ack(when + 1, "server")
    play.report(94, "server")
    play.ack(94.5, "client")
    return play.close(100)


def both_at_once(**options):
    """Both write all that the buffer holds, and both read within 0.1 ms. The round trip is 1 ms."""
    play = Play(**{"size": 16384, **options})
    size = play.connection.half["client"].rmb.size
    for when, role in zip(range(10, 60), itertools.cycle(("client", "server"))):
        play.write(when, role, size, ["blocked"])
        play.ack(when + 0.5, other(role))
        play.report(when + 0.6, other(role))
        play.ack(when + 1.1, role)
    return play.close(100)


def both_at_once_mtu_9000():
    """Ethernet's; InfiniBand's is 4096."""
    return both_at_once(mtu=4096)


def both_at_once_virtual_buffers():
    """Their addresses are no multiple of their size."""
    return both_at_once(size=65536, move=0x1230)


def long_path(server_answers, reader_reports, client_answers):
    """A round trip of 80 ms, and when the capture has what follows a full buffer."""
    play = Play()
    for turn in range(10):
        when = 100 + 80.4 * turn
        play.write(when, "client", 65536, ["blocked"])
        play.ack(when + server_answers, "server")
        play.report(when + reader_reports, "server")
        play.ack(when + client_answers, "client")
    return play.close(1000)


def long_path_at_writer():
    """Captured at the writer: the reader's host answers late, its reader does at once."""
    return long_path(80, 80.2, 80.2)


def long_path_at_reader():
    """The same, captured at the reader: the writer's host answers late."""
    return long_path(0.01, 0.2, 80.2)


def whole_buffer_then_answer():
    """A request as large as the buffer: the flag says blocked, but the server is what takes 500
    ms."""
    play = Play()
    for when in (10, 1010):
        play.write(when, "client", 65536, ["blocked"])
        play.ack(when + 0.4, "server")
        play.report(when + 0.6, "server")
        play.ack(when + 1, "client")
        play.write(when + 500, "server", 100)
        play.ack(when + 500.4, "client")
        play.connection.read("client")
    return play.close(2000)


def reports_late():
    """The server reads at once, but says so with its own message only, 1 s later."""
    play = Play()
    for turn in range(20):
        play.write(10 + 20 * turn, "client", 1000)
        play.ack(10.4 + 20 * turn, "server")
        play.connection.read("server")
    play.write(1410, "server", 100)
    play.ack(1410.4, "client")
    return play.close(2000)


def reports_at_half():
    """The server reads at once, and says so when half of the buffer is full."""
    play = Play()
    for turn in range(64):
        play.write(10 + turn, "client", 4096)
        play.ack(10.4 + turn, "server")
        if turn % 8 == 7:
            play.report(10.5 + turn, "server")
            play.ack(10.9 + turn, "client")
    return play.close(100)


def small_writes():
    """300 times 20 bytes."""
    play = Play()
    for turn in range(300):
        play.write(10 + 2 * turn, "client", 20)
        play.ack(10.4 + 2 * turn, "server")
        play.connection.read("server")
    return play.close(1000)


def again(play, when, sender, first, count):
    """Frames `first` on, count of them, are retransmitted."""
    for _, frame in play.capture.frames[first : first + count]:
        play.at(when)
        play.capture.add(frame)


def timeout():
    """A WRITE and its CDC message are lost; they are retransmitted after 500 ms."""
    play = Play()
    first = len(play.capture.frames)
    play.write(10, "client", 1000)
    again(play, 510, "client", first, 2)
    play.ack(510.4, "server")
    return play.close(1000)


def negative_acknowledgement():
    """The first of three WRITEs is lost: all come again."""
    play = Play()
    first = len(play.capture.frames)
    for when in (10, 10.1, 10.2):
        play.write(when, "client", 1000)
    play.at(10.6)
    play.link.ack("server", play.link.qp["client"].psn - 6, syndrome=0x60)
    again(play, 10.9, "client", first, 6)
    play.ack(11.3, "server")
    return play.close(100)


def lost_report(size=16384):
    """The reader reads at once. Its report is lost, and comes again after 300 ms."""
    play = Play(size=size)
    play.write(10, "client", size, ["blocked"])
    play.ack(10.4, "server")
    play.report(10.5, "server")
    again(play, 310.5, "server", len(play.capture.frames) - 1, 1)
    play.ack(310.9, "client")
    play.write(311, "client", 100)
    play.ack(311.4, "server")
    return play.close(400)


def gap():
    """The capture lacks a WRITE and its CDC message."""
    play = Play()
    play.write(10, "client", 1000)
    play.ack(10.4, "server")
    taken = len(play.capture.frames)
    play.write(20, "client", 1000)
    play.ack(20.4, "server")
    del play.capture.frames[taken:]
    play.write(50, "client", 1000)
    play.ack(50.4, "server")
    return play.close(100)


def slow_add_link():
    """CONFIRM LINK on the second link gets no answer for 5 s; then the link is given up."""
    play = Play(contact=False)
    connection, group = play.connection, play.connection.group
    connection.first_contact(add_link=False)
    play.capture.step = 0
    for role, end in (("client", 1), ("server", 2)):
        group.peer[role].nics.append(Nic(f"02:00:00:00:0e:0{end}", f"198.51.100.{end}"))
    link = group.new_link(2, client=(0x910, 0x910000), server=(0xA10, 0xA10000), nic=1)
    pair = link.qp["server"]
    play.at(2)
    for role in ("server", "client"):
        offer = dict(
            roce_mac=link.qp[role].nic.mac,
            roce_gid=link.qp[role].nic.gid,
            qpn=link.qp[role].qpn,
            link=2,
            mtu_code=MTU_1024,
            psn=link.qp[role].initial_psn,
            version=2,
            order="little",
        )
        group.llc(
            role,
            llc.llc_add_link(
                **offer,
                reply=role == "client",
                extension=llc.add_link_v2_extension(
                    target_gid=pair.nic.gid, rkeys=[], order="little"
                ),
            ),
        )
    play.at(3)
    group.llc(
        "server",
        llc.llc_confirm_link(
            roce_mac=pair.nic.mac,
            roce_gid=pair.nic.gid,
            qpn=pair.qpn,
            link=2,
            user_id=0x0B02,
            max_links=2,
            max_conns=group.max_conns,
            no_eyecatcher=True,
            version=2,
            order="little",
        ),
        link=2,
        ack=False,
    )
    request = len(play.capture.frames) - 1
    for turn in range(9):
        again(play, 503 + 500 * turn, "server", request, 1)
    play.at(5003)
    request = dict(link=2, reason=0x00010000, all_links=False, version=2, order="little")
    group.llc("server", llc.llc_delete_link(**request))
    group.llc("client", llc.llc_delete_link(**request, reply=True))
    play.write(5010, "client", 1000)
    play.ack(5010.4, "server")
    return play.close(6000)


def slow_accept():
    """The server takes 2 s for the Accept."""
    play = Play(contact=False)
    connection = play.connection
    play.capture.step = 0
    connection.tcp.handshake()
    connection.tcp.send("client", connection.proposal())
    play.at(2000)
    connection.tcp.send("server", connection.accept())
    connection.tcp.send("client", connection.confirm())
    connection.group.confirm_link(1)
    play.write(2010, "client", 1000)
    play.ack(2010.4, "server")
    return play.close(3000)


def heard_again():
    """A packet goes out five times; the peer answers the last one, 400 ms after its last packet."""
    play = Play()
    play.write(10, "client", 1000)
    play.ack(10.4, "server")
    first = len(play.capture.frames)
    play.write(110, "client", 1000)
    for turn in range(4):
        again(play, 180 + 70 * turn, "client", first, 2)
    play.ack(410.4, "server")
    return play.close(1000)


def dead_peer():
    """A packet goes out seven times, and the peer is not heard again."""
    play = Play()
    play.write(10, "client", 1000)
    play.ack(10.4, "server")
    first = len(play.capture.frames)
    play.write(110, "client", 1000)
    for turn in range(6):
        again(play, 210 + 100 * turn, "client", first, 2)
    return play.capture


SCENES = [
    sleeping_writer,
    sleeping_server,
    slow_reader,
    both_at_once,
    both_at_once_mtu_9000,
    both_at_once_virtual_buffers,
    long_path_at_writer,
    long_path_at_reader,
    whole_buffer_then_answer,
    reports_late,
    reports_at_half,
    small_writes,
    timeout,
    negative_acknowledgement,
    lost_report,
    gap,
    slow_add_link,
    slow_accept,
    heard_again,
    dead_peer,
]
