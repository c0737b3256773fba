"""
The tap of ANCK, Alibaba's kernel, on the client's host: a connection of SMC-D that carries HTTP,
with its handshake; and one of SMC-R over eRDMA whose handshake is not captured. net/smc/smc_stats.c
there.
"""

from smcsynth.anck_tap import SMC_R, Tap
from smcsynth.clc import (
    ACCEPT,
    CONFIRM,
    NEITHER,
    ONLY_D,
    clc_proposal,
    clc_smcd,
    smcd_area,
    smcdv2_extension,
    v2_extension,
)
from smcsynth.net import TcpConversation
from smcsynth.octets import text_lines
from smcsynth.story import CLIENT, EID, SERVER

HOSTS = {"client": CLIENT.ip, "server": SERVER.ip}
REQUEST = b"GET /page HTTP/1.1\r\nHost: server.example\r\n\r\n"
BODY = text_lines(100_000, "anck-tap body")
CHID, DMB_64K = 0xFFFF, 2  # loopback-ism


def response(body):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
    return head % len(body) + body


def handshake(capture, sport, dport):
    tcp = TcpConversation(capture, CLIENT, SERVER, sport=sport, dport=dport)
    tcp.handshake()
    extension = v2_extension(
        eids=[EID],
        ism_gid_count=1,
        smcd=smcdv2_extension(seid="", gids=[(0x11, CHID)]),
    )
    proposal = clc_proposal(
        version=2, typev1=NEITHER, typev2=ONLY_D, v2=extension, smcd=smcd_area(v2_offset=28)
    )
    tcp.send("client", proposal, ack=False)
    for sender, kind, gid in (("server", ACCEPT, 0x22), ("client", CONFIRM, 0x11)):
        message = clc_smcd(
            kind,
            ism_gid=gid,
            token=gid << 8,
            link_id=0x0100,
            index=0,
            size_code=DMB_64K,
            version=2,
            chid=CHID,
            eid=EID,
            fce=b"",
        )
        tcp.send(sender, message, ack=False)
    tcp.segment("server", "A")
    return tcp


def scene(capture):
    tcp = handshake(capture, 40001, 8080)
    smcd = Tap(capture, HOSTS, {"client": 40001, "server": 8080})
    smcd.send("client", REQUEST)
    answer = response(BODY)
    for begin in range(0, len(answer), 40_000):
        smcd.send("server", answer[begin : begin + 40_000])
        smcd.cdc("client")
    smcd.close()
    tcp.close()
    late = Tap(capture, HOSTS, {"client": 40002, "server": 8081}, mode=SMC_R, room=65536)
    late.prod = {"client": (3, 700), "server": (2, 41)}
    late.cons = {"client": (2, 41), "server": (3, 700)}
    late.seq = {"client": 70, "server": 80}
    late.send("client", REQUEST)
    late.send("server", response(b"late\n"))
    late.cdc("client")
    late.close()
