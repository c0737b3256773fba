"""
CLC messages that never become complete: their sender ends the connection by FIN or RST, or sends
the next message. Then those that may be complete: the capture lacks a segment, ends before, or has
the rest behind the receiver's RST. Last, of each type: the receiver resets the connection, or goes
on with CLC or RoCE, a segment is cut, or the next is absent.
"""

from smcsynth.clc import clc_decline
from smcsynth.net import TcpConversation
from smcsynth.story import CLIENT, SERVER, linux_connection

EXPECTED = {
    "smcr.clc.confirm_without_accept": [423],
    "smcr.clc.length_invalid": [74, 82, 86, 96, 104, 108],
    "smcr.cut_short": [
        214,
        230,
        237,
        243,
        253,
        265,
        273,
        285,
        299,
        309,
        323,
        335,
        343,
        355,
        365,
        371,
        381,
        399,
        413,
        421,
        432,
    ],
    "smcr.message_short": [
        10,
        18,
        22,
        30,
        38,
        42,
        52,
        60,
        64,
        74,
        82,
        86,
        96,
        104,
        108,
        120,
        130,
        136,
        150,
        162,
        170,
        182,
        192,
        198,
        206,
        393,
        407,
    ],
    "smcr.no_roce": [206],
}


def begin(capture, port, *messages):
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=port, dport=50000)
    tcp.handshake()
    for sender, data in messages:
        tcp.send(sender, data)
    return tcp


def scene(capture):
    story = linux_connection(capture)
    proposal, accept, confirm = story.proposal(), story.accept(), story.confirm()
    asks, answers = ("client", proposal), ("server", accept)
    cut = [
        ((), "client", proposal[:30]),
        ((), "client", proposal[:7]),
        ((), "client", proposal[:-4]),
        ((), "client", story.proposal(length=len(proposal) + 4)[:-4]),
        ((), "client", story.proposal(length=4096)[:-4]),
        ((asks,), "server", accept[:60]),
        ((asks, answers), "client", confirm[:40]),
        ((asks,), "server", clc_decline(diagnosis=0x03030000)[:20]),
    ]
    for number, (before, sender, data) in enumerate(cut):
        tcp = begin(capture, 41000 + number, *before)
        tcp.send(sender, data, parts=(5, 2))
        tcp.close(sender)
        tcp = begin(capture, 41100 + number, *before)
        tcp.send(sender, data)
        tcp.segment(sender, "RA")
        tcp = begin(capture, 41300 + number, *before)
        tcp.segment(sender, "FPA", data)

    tcp = begin(capture, 41400, ("client", proposal[:30]), answers, ("client", confirm))
    tcp.close()

    tcp = begin(capture, 41500, ("client", proposal[:30]))
    tcp.seq["client"] += len(proposal[30:])
    tcp.close()
    tcp = begin(capture, 41501, ("client", proposal[:30]))
    tcp.segment("server", "RA")
    tcp.send("client", proposal[30:], ack=False)
    tcp.segment("server", "R")
    tcp = begin(capture, 41502, ("client", proposal[:30]))
    tcp.fin("server")

    decline = clc_decline(diagnosis=0x03030000)
    for number, (*before, (sender, data)) in enumerate(
        (
            [asks],
            [asks, answers],
            [asks, answers, ("client", confirm)],
            [asks, ("server", decline)],
            [("client", decline)],
        )
    ):
        tcp = begin(capture, 41600 + number, *before, (sender, data[:24]))
        tcp.segment(tcp.other(sender), "RA")
        tcp = begin(capture, 41700 + number, *before, (sender, data[:16]))
        capture.captured[tcp.send(sender, data[16:])] = 58
        tcp.close()
        tcp = begin(capture, 41800 + number, *before, (sender, data[:-6]))
        tcp.seq[sender] += 6
        tcp.send(sender, b"of the application")
        tcp.close()
    for number, first in enumerate((proposal[:3], accept[:3])):
        tcp = begin(capture, 41900 + number, ("client", first))
        tcp.close()
        tcp = begin(capture, 41950 + number, ("client", first))
        tcp.segment("server", "RA")
    begin(capture, 41960, asks, ("server", accept[:50]), ("client", confirm))
    story.first_contact(confirm=confirm[:40])
