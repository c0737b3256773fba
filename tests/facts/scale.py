#!/usr/bin/python3
"""
How time and memory grow: a capture of many connections against one of few, with the plugin and without it.

    tests/facts/scale.py [--connections N] [--per-group N]

Prints a table. All connections are open at the same time. Each has a TCP handshake, the CLC exchange, CONFIRM RKEY of
both sides, a WRITE, a CDC message and its ACK each way, and a close; every link group begins with a first contact.
"""

import argparse
import os
import pathlib
import random
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "synth")]

from bed import Tshark, as_user, new_bed  # noqa: E402
from smcsynth import clc, llc, roce  # noqa: E402
from smcsynth.cdc import cdc  # noqa: E402
from smcsynth.net import SMC_OPTION  # noqa: E402
from smcsynth.octets import peer_id  # noqa: E402

FEW = 1000
DATA = b"0123456789abcdef" * 4
SIZE_64K, MTU_1024, SERVER_PORT = 2, 3, 5000
SYN, SYN_ACK, ACK, PUSH = 0x02, 0x12, 0x10, 0x18
CLIENT, SERVER = 0, 1


class Pcap:
    """A pcap file that is written frame by frame; the checksums in its frames are 0."""

    def __init__(self, file):
        self.file, self.frames = file, 0
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))

    def ip(self, source, target, protocol, payload):
        frame = b"".join([b"\x02\0" + target, b"\x02\0" + source, b"\x08\0", struct.pack(
            ">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0x4000, 64, protocol, 0, source, target), payload])
        seconds, tens = divmod(self.frames, 100_000)
        self.file.write(struct.pack("<IIII", 1_700_000_000 + seconds, tens * 10, len(frame), len(frame)) + frame)
        self.frames += 1


class Group:
    """A link group with one link: queue pairs with PSNs, and connections."""

    def __init__(self, pcap, number):
        self.pcap, self.number = pcap, number
        host = struct.pack(">H", number)
        self.address = (b"\x0a" + host + b"\x01", b"\x0a" + host + b"\x02")
        self.gid = tuple(".".join(map(str, address)) for address in self.address)
        self.mac = tuple("02:00:" + address.hex(":") for address in self.address)
        self.qpn, self.psn = (0x100 + number, 0x8000 + number), [number, 2 * number]

    def tcp(self, conn, sender, flags, data=b""):
        ports = (1024 + conn.number, SERVER_PORT)
        options = bytes.fromhex("020405b4") + SMC_OPTION if flags & SYN else b""
        header = struct.pack(">HHIIBBHHH", ports[sender], ports[1 - sender], conn.seq[sender],
                             conn.seq[1 - sender] if flags & ACK else 0, 5 + len(options) // 4 << 4, flags, 502, 0, 0)
        conn.seq[sender] += len(data) + bool(flags & SYN)
        self.pcap.ip(self.address[sender], self.address[1 - sender], 6, header + options + data)

    def packet(self, sender, opcode, rest, psn):
        header = roce.bth(opcode, dest_qp=self.qpn[1 - sender], psn=psn, ack_request=opcode != roce.ACKNOWLEDGE)
        udp = struct.pack(">HHHH", 49152, roce.ROCEV2_PORT, 8 + len(header) + len(rest) + 4, 0)
        self.pcap.ip(self.address[sender], self.address[1 - sender], 17, udp + header + rest + bytes(4))

    def request(self, sender, opcode, rest):
        self.packet(sender, opcode, rest, self.psn[sender])
        self.psn[sender] = self.psn[sender] + 1 & 0xFFFFFF

    def send(self, sender, message):
        """A message in a SEND, and the ACK."""
        self.request(sender, roce.SEND_ONLY, message)
        self.packet(1 - sender, roce.ACKNOWLEDGE, roce.aeth(roce.ACK, 0), self.psn[sender] - 1)

    def confirm_link(self):
        for sender in (SERVER, CLIENT):
            self.send(sender, llc.llc_confirm_link(roce_mac=self.mac[sender], roce_gid=self.gid[sender],
                                                   qpn=self.qpn[sender], link=1, user_id=1, reply=sender == CLIENT))

    def confirm_rkey(self, conn, sender):
        fields = {"rkey": conn.rkey(sender), "va": conn.va(sender), "others": ()}
        self.send(sender, llc.llc_confirm_rkey(**fields))
        self.send(1 - sender, llc.llc_confirm_rkey(**fields, reply=True))


class Connection:
    def __init__(self, group, number):
        self.group, self.number = group, number
        self.seq = [1000, 5000]

    def rkey(self, side):
        return 0x1000 * (1 + self.number) + side

    def va(self, side):
        return 0xFFFF888000000000 + (self.number << 20) + (side << 40)

    def token(self, side):
        return 1 + 2 * self.number + side

    def open(self):
        group, first = self.group, self.number == 0
        for sender, flags in ((CLIENT, SYN), (SERVER, SYN_ACK), (CLIENT, ACK)):
            group.tcp(self, sender, flags)
        ip_area = clc.prefix_area(subnet=group.gid[CLIENT], mask_bits=24)
        peers = [peer_id(1, mac) for mac in group.mac]
        group.tcp(self, CLIENT, PUSH, clc.clc_proposal(peer=peers[CLIENT], roce_gid=group.gid[CLIENT],
                                                       roce_mac=group.mac[CLIENT], ip_area=ip_area))
        for sender, encode in ((SERVER, clc.clc_accept), (CLIENT, clc.clc_confirm)):
            if not first:
                group.confirm_rkey(self, sender)
            group.tcp(self, sender, PUSH, encode(
                first_contact=first, peer=peers[sender], roce_gid=group.gid[sender], roce_mac=group.mac[sender],
                qpn=group.qpn[sender], rkey=self.rkey(sender), index=1, token=self.token(sender), size_code=SIZE_64K,
                mtu_code=MTU_1024, va=self.va(sender), psn=(1, 2)[sender] * group.number))
        if first:
            group.confirm_link()

    def talk(self):
        for sender in (CLIENT, SERVER):
            receiver = 1 - sender
            self.group.request(sender, roce.WRITE_ONLY,
                               roce.reth(self.va(receiver), self.rkey(receiver), len(DATA)) + DATA)
            self.group.send(sender, cdc(seq=1, token=self.token(receiver), prod=(0, len(DATA)),
                                        cons=(0, len(DATA) if sender == SERVER else 0)))

    def close(self):
        for sender in (CLIENT, SERVER):
            self.group.send(sender, cdc(seq=2, token=self.token(1 - sender), prod=(0, len(DATA)),
                                        cons=(0, len(DATA)), flags=("closed",)))


def generate(path, connections, per_group):
    """Write the capture; the groups take turns, in an order that looks random. Returns the number of frames."""
    with path.open("wb") as file:
        pcap = Pcap(file)
        groups = [Group(pcap, number) for number in range(connections // per_group)]
        every = [Connection(group, number) for number in range(per_group) for group in groups]
        for conn in every:
            conn.open()
        random.Random(7609).shuffle(every)
        for step in (Connection.talk, Connection.close):
            for conn in every:
                step(conn)
    path.chmod(0o644)
    return pcap.frames


def measure(tshark, path, *passes):
    """Seconds of CPU time and peak memory in KiB of dissecting a capture."""
    process = subprocess.Popen(["tshark", "-n", "-r", path, *passes, "-Y", "frame.number == 0"], env=tshark.environment,
                               cwd=tshark.bed.root, stdin=subprocess.DEVNULL, **as_user())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def check(tshark, path, connections):
    """Every CDC message and WRITE has its connection."""
    streams = tshark.run("-n", "-r", path, "-Y", "smcr.cdc.seq || smcr.write.len", "-T", "fields", "-e",
                         "smcr.tcp_stream", "-e", "smcr.stream", timeout=3600).splitlines()
    assert len(streams) == 6 * connections and len(set(streams)) == connections


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--connections", type=int, default=100_000)
    parser.add_argument("--per-group", type=int, default=100)
    arguments = parser.parse_args()
    with new_bed() as bed:
        captures = []
        for connections in (FEW, arguments.connections):
            path = bed.scratch / f"scale-{connections}.pcap"
            captures.append((connections, generate(path, connections, arguments.per_group), path))
        nothing = bed.scratch / "nothing.pcap"
        with nothing.open("wb") as file:
            Pcap(file)
        nothing.chmod(0o644)
        check(Tshark(bed), captures[0][2], FEW)
        print("| connections | link groups | frames | passes | plugin | s | microseconds/frame | peak MiB | bytes/frame |")
        print("|---|---|---|---|---|---|---|---|---|")
        for passes in ((), ("-2",)):
            for plugin in ("none", "debug"):
                tshark = Tshark(bed, plugin)
                idle, floor = measure(tshark, nothing, *passes)
                for connections, frames, path in captures:
                    took, peak = measure(tshark, path, *passes)
                    print(f"| {connections} | {connections // arguments.per_group} | {frames} | {1 + len(passes)} | "
                          f"{'yes' if plugin == 'debug' else 'no'} | {took:.1f} | {(took - idle) / frames * 1e6:.1f} | "
                          f"{peak / 1024:.0f} | {(peak - floor) * 1024 / frames:.0f} |", flush=True)
        check(Tshark(bed), captures[1][2], arguments.connections)


if __name__ == "__main__":
    main()
