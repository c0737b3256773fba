"""
Seeds for the harnesses, cut out of the captures: messages, packets and options, each in the form
that its harness reads (fuzz_epan.c). Usage: corpus.py FOLDER; makes FOLDER/HARNESS/ for every
harness that has seeds.
"""

import hashlib
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "malformed")]

import alter  # noqa: E402
import bed  # noqa: E402

FRAMES_MAX = 300  # of one capture
SEQUENCE = 8  # messages of a link in one seed
CLC = {1: "proposal", 2: "accept", 3: "confirm", 4: "decline"}
SERVER, AS_IT_IS = 0x02, 0x80
BTH, ICRC = 12, 4
SEND_ONLY, WRITES = 4, range(6, 12)
OPTION, SEGMENT, LLC, CDC, PACKET = 0, 1, 2, 3, 5  # records of the harness "frames"


def record(how, data):
    return bytes([how, min(len(data), 255)]) + data[:255]


class Seeds:
    def __init__(self, folder, one_of):
        self.folder = pathlib.Path(folder)
        self.one_of = one_of
        self.sequences = {}

    def add(self, harness, data):
        name = hashlib.sha256(data).hexdigest()[:16]
        if int(name, 16) % self.one_of:
            return
        path = self.folder / harness / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def chain(self, harness, data):
        """Seeds of single records, and of some records of one capture after the other."""
        self.add(harness, data)
        chain = self.sequences.setdefault(harness, [])
        chain.append(data)
        if len(chain) == SEQUENCE:
            self.end(harness)

    def end(self, harness):
        self.add(harness, b"".join(self.sequences.pop(harness, [])))

    def both(self, harness, kind, data):
        self.chain(harness, data)
        for harness in ("frames", "late"):
            self.chain(harness, bytes([kind]) + data)

    def tcp(self, frame, layers):
        direction = (
            SERVER
            if frame[layers.transport : layers.transport + 2]
            > frame[layers.transport + 2 : layers.transport + 4]
            else 0
        )
        options, payload = frame[layers.transport + 20 : layers.payload], frame[layers.payload :]
        if frame[layers.transport + 13] & 0x02:
            self.both("option", OPTION, record(direction, options))
        if payload[:3] == b"\xe2\xd4\xc3" and len(payload) > 4:
            self.add(CLC.get(payload[4], "decline"), b"\0" + payload)
            self.add(CLC.get(payload[4], "decline"), bytes([AS_IT_IS]) + payload)
        if payload:
            for harness in ("frames", "late"):
                self.chain(harness, bytes([SEGMENT]) + record(direction, payload))

    def roce(self, frame, layers, first):
        packet = frame[layers.payload : -ICRC]
        direction = 0 if frame[6:12] == first else SERVER
        if len(packet) < BTH:
            return
        self.both("roce", PACKET, record(direction | AS_IT_IS, packet))
        self.chain("roce", record(direction, packet))
        message = packet[BTH:]
        if packet[0] == SEND_ONLY and message:
            is_cdc = message[0] == 0xFE
            self.both(
                "cdc" if is_cdc else "llc", CDC if is_cdc else LLC, record(direction, message)
            )
        if packet[0] in WRITES:
            how = (
                direction
                | (0x0C if packet[0] in (6, 10) else 0)
                | (0x10 if packet[0] in (6, 7) else 0)
            )
            reth = 16 if how & 0x04 else 0
            self.chain("write", record(how, message[reth:]) + message[:reth])


# Packets of the harness "rdma" (rdma.c), by sender: 0 is the client, with the queue pair 0x11, 1
# the server, with 0x21.
QPN_OF = {0: 0 << 5, 1: 2 << 5}


def cm(sender, message, headers=0):
    return bytes([QPN_OF[sender] | 0, headers, sender, message, 0])


def packet(sender, psn, opcode, value=0, length=8, headers=0):
    return bytes([QPN_OF[not sender] | 12, headers, sender, opcode, psn, value, length])


def ack(sender, psn, value=0x80, headers=0):
    return bytes([QPN_OF[not sender] | 7, headers, sender, psn, value, 0])


def cnp(sender):
    return bytes([QPN_OF[not sender] | 3, 4, sender])


def datagram(sender):
    return bytes([QPN_OF[not sender] | 4, 0, sender, 0x10 * (0 if sender == 0 else 2)])


REQ, REP, RTU, DREQ, DREP = range(5)
FIRST, MIDDLE, LAST, ONLY, READ = 0, 1, 2, 4, 12
MARKED, CORRUPT, FORMULA = (
    0x38,
    0xC0,
    2,
)  # headers: CE; wrong ICRC; the port of Linux for the two queue pairs
OPEN = (cm(0, REQ), cm(1, REP), cm(0, RTU))
DATA = (
    packet(0, 0, ONLY),
    ack(1, 0),
    packet(0, 1, FIRST),
    packet(0, 2, MIDDLE),
    packet(0, 3, LAST),
    ack(1, 3),
)
LOSS = (
    packet(0, 0, ONLY),
    ack(1, 0),
    packet(0, 1, ONLY),
    packet(0, 3, ONLY),
    ack(1, 2, 0x40),
    packet(0, 2, ONLY),
    packet(0, 3, ONLY),
    ack(1, 3),
)
READS = (
    packet(0, 0, READ, 12),
    packet(1, 0, 13),
    packet(1, 1, 14),
    packet(1, 2, 15),
    packet(0, 3, 19),
    packet(1, 3, 18),
)
EXCHANGES = (
    OPEN,
    OPEN + DATA,
    OPEN + DATA + (cm(0, DREQ), cm(1, DREP)),
    OPEN + LOSS,
    OPEN + READS,
    DATA,
    LOSS,
    READS,
    OPEN + (packet(0, 0, ONLY, headers=MARKED), cnp(1), packet(0, 1, ONLY, headers=MARKED), cnp(1)),
    OPEN
    + (
        packet(0, 0, ONLY),
        packet(0, 1, ONLY, headers=CORRUPT),
        packet(0, 2, ONLY),
        ack(1, 1, 0x40),
    ),
    OPEN + DATA + (cm(1, DREQ), cm(0, DREP)) + OPEN + DATA,
    tuple(packet(i % 2, i // 2, ONLY, headers=FORMULA) for i in range(4))
    + (ack(1, 0, headers=FORMULA),),
    (datagram(0), datagram(1), datagram(0), cnp(1)),
    (cm(0, DREQ), cm(1, DREP)),
)


def exchanges(seeds):
    """Alone, and in a capture with SMC-R."""
    for exchange in EXCHANGES:
        seeds.add("rdma", b"\0" + b"".join(exchange))
        seeds.add("rdma", b"\1" + b"".join(b"\1" + each for each in exchange))


# What hosts tell, of the harness "told" (told.c): the sender 0 is the client; 2 and 3 are the
# tokens 5 and 6. A cursor is its round and kilobytes << 2.
def socket(server, token, received, written):
    return bytes([server, token, received, written, written, received])


def answers(*sockets, ended=0x20):
    return bytes([0, len(sockets) + 1 | ended]) + b"".join(sockets)


def message(sender, token, prod, cons):
    return bytes([1, sender, token, prod, cons, 0])


LINKED, LINE, LINES = 1, 0x09, 0x1A  # how a capture and a file of smcss begin
SERVERS, CLIENTS = socket(1, 3, 0x26, 0x13), socket(0, 2, 0x13, 0x26)
TALK = message(0, 3, 0x26, 0x13) + message(1, 2, 0x13, 0x26)
ON = message(0, 3, 0x2A, 0x13) + message(1, 2, 0x17, 0x2A)
TOLD = [
    b"\0" + bytes([linked]) + records
    for linked in (0, LINKED)
    for records in (
        TALK + answers(SERVERS) + ON,
        TALK + answers(CLIENTS) + ON,
        answers(SERVERS) + TALK + ON,
        TALK + answers(SERVERS, ended=0) + ON,
        answers(SERVERS) + answers(CLIENTS) + TALK + ON,
        answers(SERVERS) + ON + TALK,
        TALK + answers(SERVERS) + answers(SERVERS),
    )
]
WRITTEN = [
    bytes([how]) + lines + bytes([linked]) + TALK + more
    for linked in (0, LINKED)
    for more in (b"", ON, answers(SERVERS) + ON)
    for how, lines in ((LINE, SERVERS), (LINES, SERVERS + CLIENTS), (LINES, SERVERS + SERVERS))
]


def main(folder, one_of=1):
    """All seeds, or one of so many."""
    seeds = Seeds(folder, one_of)
    exchanges(seeds)
    for data in (*TOLD, *WRITTEN):
        seeds.add("told", data)
    for path in bed.captures().values():
        linktype, frames = alter.read(path)
        for frame in frames[:FRAMES_MAX]:
            layers = alter.Layers(linktype, frame)
            if layers.payload is None or layers.payload > len(frame):
                continue
            if layers.protocol == "tcp":
                seeds.tcp(frame, layers)
            elif layers.protocol == "roce":
                seeds.roce(frame, layers, frames[0][6:12])
        for harness in list(seeds.sequences):
            seeds.end(harness)


if __name__ == "__main__":
    main(sys.argv[1])
