"""
Hosts with ANCK, Alibaba's kernel, that have agreed on immediate data in place of CDC: captures of
what they send. Written from ANCK's net/smc/smc_tx.c (__smcr_tx_rdma_writes_rwwi(),
smcr_tx_rdma_writes_rwwi()) in github.com/jackYoung0915/anolis-cloud-kernel at 3553d2613452, and
from a later smc_wr.h, whose commit is not known. No real capture of such hosts is public.
"""

import carried  # noqa: F401 - makes smcsynth importable
from smcsynth import roce
from smcsynth.capture import Capture
from smcsynth.clc import first_contact_extension, smcd_area, v2_extension
from smcsynth.llc import REPLY, llc_message
from smcsynth.octets import patch, u32
from smcsynth.story import CLIENT_V2, EID, Connection, Half, Rmb, linux_connection, other

VALID, CREDITS, RWWI = 0x80, 0x40, 0x20
DATA, FLAGS, CTRL, DATA_CR, FLAGS_CR = 0, 1, 2, 6, 7
STEP_BITS = {DATA: 21, FLAGS: 17, DATA_CR: 13, FLAGS_CR: 10}
BLOCKED, PENDING, PRESENT, UPDATE = 0x80, 0x40, 0x20, 0x10
DONE, CLOSED, ABORT = 0x80, 0x40, 0x20
WRITE_LAST_IMM = 0x09
ANNOUNCE_CREDITS, TEST_LINK = 0x0A, 0x27
CREDITS_AT = 51  # byte of Accept and Confirm
CDC_CREDITS_AT = 26  # struct smc_cdc_msg of smc_cdc.h
TOKENS = {"client": 0x1C, "server": 0xF5}


class Anck:
    """A connection of two such hosts. Counts bytes: `written` and `read` of each side, and what of
    the latter it has reported."""

    def __init__(self, capture, *, size=65536, tokens=None, sport=40000, group=None, options=None):
        halves = [
            Half(
                token=(tokens or TOKENS)[role],
                rmb=Rmb(0xFFFF888100000000 + (n << 28) + (sport << 12), size, {1: n << 20 | sport}),
            )
            for n, role in enumerate(("client", "server"), 1)
        ]
        group = group or linux_connection(capture, version=2).group
        self.options = VALID | CREDITS | RWWI if options is None else options
        self.connection = Connection(group, *halves, sport=sport, port=80)
        self.link, self.size = group.links[1], size
        self.written, self.read, self.reported, self.state = (
            {"client": 0, "server": 0} for _ in range(4)
        )

    def first_contact(self, mtu_code=3, init_credits=64):
        """`init_credits`: messages for which each side has space at first."""
        self.link.mtu = 128 << mtu_code
        options, group = bytes([self.options, 0, 0, 0]), self.connection.group
        group.max_conns = 255
        extension = v2_extension(
            eids=[EID], roce_gid=CLIENT_V2.gid, release=1, max_conns=255, max_links=2
        )
        agreed = dict(release=1, vendor=options, max_conns=255, max_links=2)
        build, credits = self.connection, bytes([init_credits])
        build.first_contact(
            proposal=build.proposal(
                v2=extension, smcd=smcd_area(v2_offset=28, vendor=bytes(1) + options)
            ),
            accept=patch(
                build.accept(
                    mtu_code=mtu_code, fce=first_contact_extension(hostname="server", **agreed)
                ),
                CREDITS_AT,
                credits,
            ),
            confirm=patch(
                build.confirm(
                    mtu_code=mtu_code,
                    fce=first_contact_extension(hostname="client", **agreed),
                    gids=[CLIENT_V2.gid],
                ),
                CREDITS_AT,
                credits,
            ),
        )
        return self

    # ---- messages

    def immediate(self, sender, *, flags=0, state=0, credits=None, opcode=None):
        """The immediate data of the next message: the kernel's choice of the opcode, and a step
        that its bits can hold. State flags stay set, and allow no step."""
        state = self.state[sender] = self.state[sender] | state
        token = self.connection.half[other(sender)].token & 0xFF
        if opcode is None:
            opcode = DATA if credits is None else DATA_CR
            if flags & 0xE0:
                opcode += FLAGS
            if state or flags & ~0xE0:
                opcode = CTRL
        word = token << 24 | opcode << 21
        if opcode == CTRL:
            return word | flags << 8 | state
        step = min(self.read[sender] - self.reported[sender], (1 << STEP_BITS[opcode]) - 1)
        self.reported[sender] += step
        if opcode in (FLAGS, FLAGS_CR):
            word |= flags >> 5 << 18
        if opcode in (DATA_CR, FLAGS_CR):
            word |= (credits or 0) << STEP_BITS[opcode]
        return word | step

    def request(self, sender, data, word, *, ack=True, offset=None, length=None, cut=None):
        """A WRITE with immediate data in its last packet. Returns the frame of this packet.
        `length`: what the RETH says; `cut`: bytes of the packet after the BTH, if not all."""
        half = self.connection.half[other(sender)]
        if offset is None:
            offset = self.written[sender] % self.size if data else 0
        stated = len(data) if length is None else length
        head = roce.reth(half.address(offset), half.rmb.rkeys[1], stated)
        mtu = self.link.mtu
        pieces = [data[at : at + mtu] for at in range(0, len(data), mtu)] or [b""]
        self.written[sender] += len(data)
        if len(pieces) == 1:
            whole = head + u32(word) + data
            return self.link.request(sender, roce.WRITE_ONLY_IMM, whole[:cut], ack=ack)
        self.link.request(sender, roce.WRITE_FIRST, head + pieces[0], last=False)
        for piece in pieces[1:-1]:
            self.link.request(sender, roce.WRITE_MIDDLE, piece, last=False)
        return self.link.request(sender, WRITE_LAST_IMM, u32(word) + pieces[-1], ack=ack)

    def write(self, sender, data, *, read=True, ack=True, **message):
        """Data, in two WRITEs where the element ends: none goes over its end. The reader's program
        takes all, unless read=False."""
        while data:
            room = self.size - self.written[sender] % self.size
            piece, data = data[:room], data[room:]
            self.request(sender, piece, self.immediate(sender, **message), ack=ack)
        if read:
            self.take(other(sender))

    def take(self, reader, most=None):
        """The program of the reader takes all that it has, or `most` bytes."""
        there = self.written[other(reader)] - self.read[reader]
        self.read[reader] += there if most is None else min(most, there)

    def bare(self, sender, **message):
        """A message without data."""
        return self.request(sender, b"", self.immediate(sender, **message))

    def announce(self, sender, credits):
        """ANNOUNCE CREDITS of LLC."""
        content = bytes([credits]) + bytes(39)
        return self.link.send(sender, llc_message(ANNOUNCE_CREDITS, content, flags=REPLY))

    def close(self, first="client"):
        for role in (first, other(first)):
            self.bare(role)
            self.bare(role, state=CLOSED)
            self.connection.tcp.fin(role)

    def next(self, sport, **changes):
        """A later connection of the same group: its CLC has no first contact extension."""
        later = Anck(
            None, sport=sport, group=self.connection.group, **{"size": self.size, **changes}
        )
        later.connection.subsequent_contact()
        return later


REQUEST = b"GET /index.html HTTP/1.1\r\nHost: server.example\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + b"x" * 3000


def talk(anck, times=1):
    for _ in range(times):
        anck.write("client", REQUEST)
        anck.write("server", ANSWER)
        anck.bare("client")


def opcodes(capture):
    """Each opcode, urgent data, a full element, and a close."""
    anck = Anck(capture, size=16384).first_contact()
    talk(anck)
    anck.write("client", b"with credits", credits=5)
    anck.write("server", b"urgent", flags=PENDING | PRESENT)
    anck.bare("client")
    anck.write("client", b"urgent, credits", flags=PENDING | PRESENT, credits=255)
    anck.bare("server", credits=3)
    anck.write("server", bytes(16384 - anck.written["server"]), read=False)
    anck.take("client")
    anck.bare("client")
    anck.write("server", b"f" * 16384, flags=BLOCKED, read=False)
    capture.wait(0.7)
    anck.take("client")
    anck.bare("client")
    anck.write("server", b"goes on")
    anck.bare("client", flags=UPDATE)
    anck.bare("server")
    anck.close()


def caps(capture):
    """Steps above what each opcode can hold: the rest comes with the next message."""
    anck = Anck(capture, size=4 << 20).first_contact(mtu_code=5)
    for bits, message in (
        (10, {"flags": BLOCKED, "credits": 1}),
        (13, {"credits": 2}),
        (17, {"flags": BLOCKED}),
        (21, {}),
    ):
        anck.write("client", b"%d" % bits * (((1 << bits) + 100) // 2))
        anck.bare("server", **message)
        anck.bare("server")
    anck.close("server")


def wraps(capture):
    """Five rounds of the elements."""
    anck = Anck(capture, size=16384).first_contact()
    for number in range(20):
        anck.write("client", bytes([number]) * 4500)
        anck.write("server", bytes([number]) * 3001)
    anck.bare("client")
    anck.close()


def aborts(capture):
    anck = Anck(capture).first_contact()
    talk(anck)
    anck.write("server", b"nobody reads this", read=False)
    anck.bare("client", state=ABORT)
    anck.bare("server", state=ABORT)


def aborts_unread(capture):
    """The element is full, the writer is blocked, and the reader aborts. Data that was under way
    comes after the abort."""
    anck = Anck(capture, size=16384).first_contact()
    anck.write("server", b"f" * 16384, flags=BLOCKED, read=False)
    anck.write("client", b"under way", ack=False)
    anck.bare("server", state=ABORT)
    anck.bare("client", state=ABORT)


def aborts_both(capture):
    """Both sides abort at a time, and the first message of one of them has urgent data pending."""
    anck = Anck(capture).first_contact()
    anck.write("client", b"urgent", flags=PENDING)
    anck.bare("client", state=ABORT, flags=PENDING)
    anck.bare("server", state=ABORT)


def no_credits(capture):
    """Both sides have space for six messages. CONFIRM LINK and its like take some, the client's
    data the rest; it waits for half a second until LLC announces more, and then until a WRITE
    does."""
    anck = Anck(capture).first_contact(init_credits=6)
    for _ in range(4):
        anck.write("client", REQUEST)
    capture.wait(0.5)
    anck.announce("server", 4)
    for _ in range(4):
        anck.write("client", REQUEST)
    capture.wait(0.5)
    anck.bare("server", credits=6)
    anck.write("client", REQUEST)
    anck.write("server", ANSWER, credits=1)
    anck.close()


def cdc_without_credits(capture):
    """The same with CDC messages: the hosts have not agreed on immediate data. After CONFIRM LINK
    and ADD LINK the client's messages use up the credits; it waits for half a second until LLC
    announces more, and then until a CDC message does. Returns frames: {what uses the last credit:
    what announces more}."""
    anck = Anck(capture, options=VALID | CREDITS).first_contact(init_credits=6)
    talk, waits = anck.connection, {}
    for _ in range(4):
        last = talk.send("client", REQUEST)
    capture.wait(0.5)
    waits[last] = anck.announce("server", 2)
    talk.send("client", REQUEST)
    last = talk.send("client", REQUEST)
    capture.wait(0.5)
    announcement = patch(talk.cdc_message("server"), CDC_CREDITS_AT, b"\x09")
    waits[last] = anck.link.send("server", announcement)
    talk.send("client", REQUEST)
    talk.send("client", REQUEST)
    talk.close()
    return waits


def late(capture):
    """The group began before the capture; a later connection begins in it. Without CLC of the first
    contact, WRITEs alone show that the hosts have agreed."""
    anck = Anck(capture).first_contact()
    talk(anck)
    capture.frames.clear()
    later = anck.next(40001, tokens={"client": 0x21, "server": 0x22})
    talk(later, times=3)
    later.close()


def told(capture):
    """For reports of hosts: after the returned frame, only LLC, data and messages come, in later
    rounds of the elements."""
    anck = Anck(capture, size=16384).first_contact()
    talk(anck, times=6)
    began = len(capture.frames)
    for role, flags in (("client", 0), ("server", REPLY)):
        anck.link.send(role, llc_message(TEST_LINK, bytes(40), flags=flags))
    talk(anck)
    anck.write("client", b"with credits", credits=5)
    anck.write("server", b"urgent", flags=PENDING | PRESENT)
    talk(anck, times=4)
    anck.close()
    return began


def after_end(capture):
    """A half close: the server goes on, and the client cannot report what it reads. Linux may also
    write what it has queued after it has said that it is done."""
    anck = Anck(capture).first_contact()
    talk(anck)
    anck.bare("client", state=DONE)
    anck.write("client", b"queued")
    anck.write("server", b"an answer" * 300)
    anck.write("server", b"and more")
    anck.close()


def two(capture):
    """Two connections of one group at a time, and messages of both between each other."""
    one = Anck(capture, size=16384).first_contact()
    later = one.next(40001, tokens={"client": 0x30, "server": 0x31})
    for _ in range(5):
        one.write("client", REQUEST)
        later.write("client", REQUEST)
        later.write("server", ANSWER)
        one.write("server", ANSWER)
    one.close()
    talk(later)
    later.close("server")


SCENES = {
    each.__name__: each
    for each in (
        opcodes,
        caps,
        wraps,
        aborts,
        aborts_unread,
        aborts_both,
        no_credits,
        late,
        after_end,
        two,
    )
}


def store(scratch, name, scene, change=lambda frames: frames):
    """The capture of a scene as a file; `change`: from its frames to those of the file."""
    capture = Capture()
    scene(capture)
    capture.frames[:] = change(capture.frames)
    path = scratch / f"anck-{name}.pcap"
    path.write_bytes(capture.pcap())
    return path
