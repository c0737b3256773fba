#!/usr/bin/python3
"""
How memory grows with the bytes that a connection carries: peak memory of tshark, in one pass, over
captures of bulk data that nobody dissects, with the plugin and without it. Prints a table.

    tests/facts/bulk.py [MIB ...]           captures of this many MiB, by default 64 and 512

The captures are whole connections whose client writes packets of 4096 bytes, with a CDC message, a
consumer cursor and their acknowledgements for every 16 packets. They are made and deleted one after
the other.
"""

import os
import pathlib
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "synth")]

from bed import Tshark, as_user, new_bed  # noqa: E402
from smcsynth import roce  # noqa: E402
from smcsynth.capture import Capture  # noqa: E402
from smcsynth.octets import noise  # noqa: E402
from smcsynth.story import Connection, advance, linux_connection, linux_halves  # noqa: E402

MIB = 1 << 20
ELEMENT = 512 << 10
PACKET = 4096  # bytes
PACKETS = 16  # in a chunk: what one CDC message announces
FRAMES = PACKETS + 4
MTU_4096 = 5
HEADERS = 14 + 20 + 8  # Ethernet, IPv4, UDP
PSN, VA = HEADERS + 9, HEADERS + 12


def connect(capture):
    connection = Connection(linux_connection(capture, version=2).group, *linux_halves(ELEMENT))
    connection.first_contact(
        accept=connection.accept(mtu_code=MTU_4096), confirm=connection.confirm(mtu_code=MTU_4096)
    )
    connection.group.links[1].mtu = 4096
    return connection


class Template:
    """A packet of the kind that the last frame of a capture is; says what differs, much faster than
    scapy."""

    def __init__(self, capture):
        self.frame = bytearray(capture.frames[-1][1])

    def fill(self, psn, changes):
        """The frame with this PSN and with bytes replaced: {offset: bytes}."""
        self.frame[PSN : PSN + 3] = psn.to_bytes(3, "big")
        for offset, data in changes.items():
            self.frame[offset : offset + len(data)] = data
        self.frame[-4:] = roce.icrc_ipv4(
            bytes(self.frame[14:HEADERS]), bytes(self.frame[HEADERS:-4])
        )
        return bytes(self.frame)


class Bulk:
    """What follows the handshake, chunk after chunk."""

    def __init__(self, packet=PACKET):
        self.capture, self.packet_size = Capture(), packet
        self.connection = connection = connect(self.capture)
        link = connection.group.links[1]
        self.pair = {role: link.qp[role] for role in ("client", "server")}
        self.head = self.capture.pcap()
        self.now = self.capture.now
        peer = connection.half["server"]
        saved = {role: (pair.psn, connection.half[role].seq) for role, pair in self.pair.items()}
        self.template = {}
        link.write("client", peer.address(0), peer.rmb.rkeys[1], bytes(packet), ack=False)
        self.template["write"] = Template(self.capture)
        for role in self.pair:
            connection.cdc(role, ack=False)
            self.template[role] = Template(self.capture)
            link.ack(role)
            self.template["ack", role] = Template(self.capture)
        for role, (psn, seq) in saved.items():
            self.pair[role].psn, connection.half[role].seq = psn, seq

    def record(self, frame):
        self.now += 10
        seconds, micros = divmod(self.now, 1_000_000)
        return struct.pack("<IIII", seconds, micros, len(frame), len(frame)) + frame

    def packet(self, sender, template, changes):
        pair = self.pair[sender]
        psn, pair.psn = pair.psn, pair.psn + 1 & 0xFFFFFF
        return self.record(self.template[template].fill(psn, changes))

    def acknowledge(self, sender):
        other = "server" if sender == "client" else "client"
        return self.record(
            self.template["ack", sender].fill(self.pair[other].psn - 1 & 0xFFFFFF, {})
        )

    def message(self, sender):
        return self.packet(sender, sender, {HEADERS + 12: self.connection.cdc_message(sender)})

    def chunk(self, data):
        """Write the data, announce them, read them, say so."""
        connection, parts = self.connection, []
        half, peer = connection.half["client"], connection.half["server"]
        for start in range(0, len(data), self.packet_size):
            va = peer.address(half.prod[1]).to_bytes(8, "big")
            parts.append(
                self.packet(
                    "client", "write", {VA: va, VA + 16: data[start : start + self.packet_size]}
                )
            )
            half.prod = advance(half.prod, self.packet_size, ELEMENT, 0)
        parts += [self.message("client"), self.acknowledge("server")]
        connection.read("server")
        parts += [self.message("server"), self.acknowledge("client")]
        return b"".join(parts)

    def skip(self, rounds):
        """Whole rounds of the element are written and read; the capture lacks them, but not the
        last ACK."""
        client, server = self.connection.half["client"], self.connection.half["server"]
        client.prod = server.cons = client.prod[0] + rounds & 0xFFFF, client.prod[1]
        self.pair["client"].psn += 100_000
        return self.acknowledge("server")


def write(path, chunks, packet=PACKET):
    """A capture with bulk data; returns its path."""
    bulk, data = Bulk(packet), noise(PACKETS * packet, "bulk")
    with path.open("wb") as file:
        file.write(bulk.head)
        for _ in range(chunks):
            file.write(bulk.chunk(data))
    return path


def peak(tshark, path, *options):
    """Peak memory of a tshark that dissects all frames in one pass, in bytes."""
    command = ["tshark", "-n", "-r", str(path), "-Y", "frame.number == 0", *options]
    process = subprocess.Popen(
        command,
        env=tshark.environment,
        cwd=tshark.bed.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **as_user(),
    )
    printed = process.stdout.read() + process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0 and not printed, (process.returncode, printed[:500])
    return usage.ru_maxrss * 1024


def main():
    sizes = [int(argument) for argument in sys.argv[1:]] or [64, 512]
    print(f"{'MiB carried':>12} {'frames':>10} {'peak, MiB':>10} {'without the plugin':>20}")
    with new_bed() as bed:
        for mib in sizes:
            chunks = mib * MIB // (PACKETS * PACKET)
            path = write(bed.scratch / "bulk.pcap", chunks)
            with_plugin, without = (
                peak(Tshark(bed, plugin), path) / MIB for plugin in ("debug", "none")
            )
            print(f"{mib:12} {chunks * FRAMES:10} {with_plugin:10.0f} {without:20.0f}")
            path.unlink()


if __name__ == "__main__":
    if any(not argument.isdigit() for argument in sys.argv[1:]):
        sys.exit(__doc__)
    main()
