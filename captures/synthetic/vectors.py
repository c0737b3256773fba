"""
Every single message of tests/synth/vectors.json, in that order, in the least that carries it.

CLC messages: a TCP connection with the option in the handshake, one segment, no end. LLC and CDC
messages: SEND only, over RoCEv2 between two queue pairs, without ACKs. TCP option: in a SYN. RoCE
packets: as published, right ICRC or not. vectors.json beside this file is the list with the number
of each vector's frame.
"""

import json
import pathlib

from smcsynth.net import NOP, USUAL_OPTIONS, TcpConversation, ethernet
from smcsynth.roce import QueuePair, RoceLink
from smcsynth.story import CLIENT, CLIENT_V2, SERVER, SERVER_V2

VECTORS = json.loads((pathlib.Path(__file__).parents[2] / "tests/synth/vectors.json").read_text())


def tcp(capture, number):
    return TcpConversation(capture, CLIENT, SERVER, sport=40001 + number, dport=50000)


def clc(capture, _link, number, data):
    conversation = tcp(capture, number)
    conversation.handshake()
    from_server = data[4] == 2  # Accept
    return conversation.send("server" if from_server else "client", data, ack=False)


def send_only(_capture, link, _number, data):
    return link.send("client", data, ack=False)


def tcpopt(capture, _link, number, data):
    return tcp(capture, number).segment("client", "S", options=USUAL_OPTIONS + NOP * 2 + data)


def roce(capture, _link, _number, data):
    starts_at_ip = data[0] == 0x45
    return capture.add(
        (bytes(ethernet(CLIENT.mac, SERVER.mac, 0x0800)) if starts_at_ip else b"") + data
    )


SENDERS = {"clc": clc, "llc": send_only, "cdc": send_only, "tcpopt": tcpopt, "roce": roce}


def scene(capture):
    link = RoceLink(
        capture, QueuePair(CLIENT_V2, 0x11, 0x100000), QueuePair(SERVER_V2, 0x4D3, 0x200000)
    )
    for number, vector in enumerate(VECTORS):
        vector["frame"] = SENDERS[vector["transport"]](
            capture, link, number, bytes.fromhex(vector["hex"])
        )


def extra_files(_capture):
    return {"vectors.json": (json.dumps(VECTORS, indent=1) + "\n").encode()}
