"""
TCP segments that were damaged on the way: their checksums are wrong. RFC 9293 3.1: the receiver
discards them, and the sender retransmits.

Port 40001: one bit of the queue pair in the Accept. Port 40002: the SYN-ACK, whose option is none
any more, and the flag RST in the Confirm, then its address.
"""

from smcsynth.net import SMC_OPTION, USUAL_OPTIONS
from smcsynth.story import Connection, Half, linux_connection

OPTION, FLAGS, ADDRESS, QUEUE_PAIR = 68, 47, 26, 54 + 40  # offsets in a frame


def damage(capture, at, bit):
    """The last frame has one wrong bit. Some time later its sender retransmits it."""
    when, right = capture.frames[-1]
    frame = bytearray(right)
    frame[at] ^= bit
    capture.frames[-1] = when, bytes(frame)
    capture.wait(0.2)


def damaged(tcp, sender, data, *places):
    """CLC messages that are damaged as often as there are `places`, each an offset and a bit."""
    for at, bit in places:
        tcp.segment(sender, "PA", data)
        damage(tcp.capture, at, bit)
    tcp.send(sender, data)


def scene(capture):
    first = linux_connection(capture, sport=40001)
    first.tcp.handshake()
    first.tcp.send("client", first.proposal())
    damaged(first.tcp, "server", first.accept(), (QUEUE_PAIR, 0x20))
    first.tcp.send("client", first.confirm())
    first.group.confirm_link()
    first.group.add_link_rejected()
    first.send("client", b"damaged and retransmitted\n")
    first.close(delete_rkeys=False)

    halves = [Half(token=half.token + 0x40, rmb=half.rmb) for half in first.half.values()]
    second = Connection(first.group, *halves, sport=40002)
    tcp = second.tcp
    tcp.segment("client", "S", options=USUAL_OPTIONS + SMC_OPTION)
    tcp.seq["client"] += 1
    tcp.segment("server", "SA", options=USUAL_OPTIONS + SMC_OPTION)
    damage(capture, OPTION, 0x40)
    tcp.segment("server", "SA", options=USUAL_OPTIONS + SMC_OPTION)
    tcp.seq["server"] += 1
    tcp.segment("client", "A")
    tcp.send("client", second.proposal())
    tcp.send("server", second.accept(first_contact=False))
    damaged(tcp, "client", second.confirm(first_contact=False), (FLAGS, 0x04), (ADDRESS, 0x01))
    second.send("server", b"once more\n")
    second.close()
