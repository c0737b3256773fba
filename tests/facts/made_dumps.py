"""
Late captures that are made of whole ones: the beginning is cut off, and the hosts tell of their
sockets. What they tell is made from what the whole capture shows up to that moment, as
<linux/smc_diag.h> has it.
"""

import collections
import ipaddress
import json
import struct

import pcapng

ROLES = ("client", "server")
OWN, PEER = 0, 1

Said = collections.namedtuple("Said", "stream direction offset token prod cons source target")


def cursor(wrap, count):
    return struct.pack("<HHI", 0, wrap, count)


def address(text):
    packed = ipaddress.ip_address(text).packed
    return packed + bytes(16 - len(packed))


def gid(text):
    """As the kernel prints it."""
    value = ipaddress.ip_address(text)
    if value.version == 4:
        value = ipaddress.ip_address(f"::ffff:{text}")
    return value.exploded.encode().ljust(40, b"\0")


def attribute(kind, value):
    return struct.pack("<HH", len(value) + 4, kind) + value + bytes(-len(value) % 4)


def message(kind, flags, sequence, port, payload):
    return struct.pack("<IHHII", len(payload) + 16, kind, flags, sequence, port) + payload


def frame(*messages):
    return struct.pack(">HHH8xH", 4, 824, 0, 4) + b"".join(messages)


def socket(conn, role, sequence, port):
    """What the host of `role` answers about the connection."""
    own, peer = conn.ends[role], conn.ends[1 - role]
    header = struct.pack("<BBBB", 43, 1, 0, 0) + struct.pack(">HH", own[1], peer[1])
    header += (
        address(own[0]) + address(peer[0]) + struct.pack("<III", 0, 1, 0) + struct.pack("<IQ", 0, 1)
    )
    received, sent = conn.last[1 - role], conn.last[role]  # by who sent the message
    info = struct.pack(
        "<IIII", conn.tokens[role], conn.sizes[role], conn.sizes[role], conn.sizes[1 - role]
    )
    info += (
        cursor(*received.prod)
        + cursor(*received.cons)
        + cursor(*sent.prod)
        + cursor(*sent.cons)
        + bytes(4)
    )
    info += cursor(*sent.prod) * 3
    group = (
        struct.pack("B64sB", conn.link, b"rxe0", 1)
        + gid(conn.gids[role])
        + gid(conn.gids[1 - role])
    )
    group += struct.pack("B", role)
    return message(
        20,
        2,
        sequence,
        port,
        header
        + attribute(3, b"\0")
        + attribute(5, bytes(8))
        + attribute(1, info)
        + attribute(2, group),
    )


class Connection:
    def __init__(self, entry):
        self.ends = [(entry[role]["addr"], entry[role]["port"]) for role in ROLES]
        self.tokens = [int(entry["tokens"][role], 16) for role in ROLES]
        self.sizes = [entry["buffer_bytes"][role] for role in ROLES]
        self.last = [None, None]  # message, by the role of its sender
        self.gids, self.link = [None, None], 1


NOTHING = Said(None, None, None, None, (0, 0), (0, 0), None, None)


def number(text):
    return int(text, 0) if text else None


def read(tshark, path):
    """What tshark says of each frame of a whole capture: {number: Said}."""
    said = {}
    rows = tshark.fields(
        path,
        "frame.number",
        "smcr.stream",
        "smcr.dir",
        "smcr.stream.offset",
        "smcr.cdc.token",
        "smcr.cdc.prod_wrap",
        "smcr.cdc.prod",
        "smcr.cdc.cons_wrap",
        "smcr.cdc.cons",
        "_ws.col.Source",
        "_ws.col.Destination",
        "smcr.client.port",
        two_pass=True,
        where="smcr.cdc || smcr.write.len",
    )
    for row in rows:
        frame_number, stream, direction, offset, token, pw, pc, cw, cc = (
            number(each[0]) if each else None for each in row[:9]
        )
        said[frame_number] = (
            Said(stream, direction, offset, token, (pw, pc), (cw, cc), row[9][0], row[10][0]),
            number(row[11][0]) if row[11] else None,
        )
    return said


def connections(tshark, path):
    """{smcr.stream: Connection} of those that are known wholly."""
    report = json.loads(tshark.show(path, "-2", "-q", "-z", "smcr,json"))
    return {
        entry["stream"]: Connection(entry)
        for entry in report["connections"]
        if entry["outcome"] == "smc-r"
        and all(entry["tokens"].values())
        and all(entry["buffer_bytes"].values())
        and entry["client"]["port"]
    }


def ends(tshark, path):
    """{smcr.stream: frame in which the second side has closed it}."""
    closed = {}
    for row in tshark.fields(
        path,
        "frame.number",
        "smcr.stream",
        "smcr.dir",
        two_pass=True,
        where="(smcr.cdc.closed == 1 || smcr.cdc.abort == 1) && smcr.stream && smcr.dir",
    ):
        closed.setdefault(int(row[1][0]), {}).setdefault(row[2][0], int(row[0][0]))
    return {stream: max(frames.values()) for stream, frames in closed.items() if len(frames) == 2}


def open_at(conns, said, ended, at):
    """The connections that both hosts have when frame `at` has gone by; their last messages are
    those of before."""
    for conn in conns.values():
        conn.last = [None, None]
    for number_, (each, _) in sorted(said.items()):
        if number_ > at or each.stream not in conns or each.token is None:
            continue
        conn = conns[each.stream]
        conn.last[each.direction] = each
        conn.gids[each.direction], conn.gids[1 - each.direction] = each.source, each.target
    return {
        stream: conn
        for stream, conn in conns.items()
        if any(conn.last) and ended.get(stream, at + 1) > at
    }


def dump(conns, role, sequence=7, port=99):
    """The frames of the answer of the host with `role`, and its end."""
    messages = []
    for conn in conns:
        conn.last = [each or NOTHING for each in conn.last]
        messages.append(socket(conn, role, sequence, port))
    frames = [frame(*messages[at : at + 97]) for at in range(0, len(messages), 97)]
    return [*frames, frame(message(3, 2, sequence, port, bytes(4)))]


def of_netlink(head):
    """A further interface, of netlink, for a capture that begins with `head`."""
    like = next(block for kind, block in pcapng.blocks(head) if kind == pcapng.INTERFACE)
    return like[:8] + struct.pack("<H", 253) + like[10:]


def answer_at(frame, answer, interface):
    """What a host answers behind this frame."""
    return at_wire_length(
        pcapng.with_data(pcapng.of_interface(frame, interface), answer), len(answer)
    )


def late(source, target, *, cut, at, answers):
    """The capture from frame `cut` on, with what hosts answer behind frame `at`. Returns {new
    number: number before}."""
    head, frames = pcapng.read(source)
    made, numbers = [], {}
    for each in frames:
        if each.number >= cut:
            made.append(each)
            numbers[len(made)] = each.number
        if each.number == at:
            made += [answer_at(each, answer, len(pcapng.link_types(head))) for answer in answers]
    pcapng.write(target, head + of_netlink(head), made)
    target.chmod(0o644)
    return numbers


def at_wire_length(each, length):
    header = list(pcapng.HEADER.unpack_from(each.block))
    header[6] = length
    return each._replace(block=pcapng.HEADER.pack(*header) + each.block[pcapng.HEADER.size :])
