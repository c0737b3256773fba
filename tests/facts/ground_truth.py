"""The ground truth beside each real capture: what was sent, counted straight from the bytes."""

import json
import re

from bed import TOP, captures

CLC_TYPES = {"PROPOSAL": 1, "ACCEPT": 2, "CONFIRM": 3, "DECLINE": 4}
LLC_TYPES = {
    "CONFIRM_LINK": 1,
    "ADD_LINK": 2,
    "ADD_LINK_CONT": 3,
    "DELETE_LINK": 4,
    "REQ_ADD_LINK": 5,
    "CONFIRM_RKEY": 6,
    "TEST_LINK": 7,
    "CONFIRM_RKEY_CONT": 8,
    "DELETE_RKEY": 9,
}
LLC_VERSION_2 = 0x20
LLC_LENGTH = 44  # where the ground truth does not name another one
WRITE_OPCODES = {"first": 6, "middle": 7, "last": 8, "only": 10}

# Counts that say nothing about SMC-R messages: TCP segments, RoCE packets whose payload is counted
# by its own kind.
NOT_MESSAGES = re.compile(r"tcp-(no)?data|RC (SEND only|ACK|NAK/RNR 0x60)")


def names():
    """Names of the real captures."""
    return list(captures("real"))


def of(name):
    """Ground truth of a real capture."""
    return json.loads((TOP / "captures" / "real" / f"{name}.json").read_text(encoding="utf-8"))


# The counts of the .json take packets that ICMP errors quote for packets.
QUOTED = {"7.2-v2-g5-device-removed": {("WRITE", 10): 34, ("CDC",): 3}}


def message_counts(name):
    """
    How many messages of each kind a real capture holds, retransmissions included. Kinds are
    ("CLC", type, version), ("LLC", type, response, length), ("CDC",) and ("WRITE", opcode).
    """
    counts = {}
    for key, count in of(name)["counts"].items():
        if clc := re.fullmatch(r"CLC (\w+) v(\d)", key):
            kind = ("CLC", CLC_TYPES[clc[1]], int(clc[2]))
        elif llc := re.fullmatch(r"  (v2-)?([A-Z_]+)( rsp)?(?: len(\d+))?", key):
            if llc[2] == "CDC":
                kind = ("CDC",)
            else:
                kind = (
                    "LLC",
                    LLC_TYPES[llc[2]] | (LLC_VERSION_2 if llc[1] else 0),
                    bool(llc[3]),
                    int(llc[4] or LLC_LENGTH),
                )
        elif write := re.fullmatch(r"RC WRITE (\w+)", key):
            kind = ("WRITE", WRITE_OPCODES[write[1]])
        else:
            assert NOT_MESSAGES.fullmatch(key), f"a count that this test does not know: {key!r}"
            continue
        counts[kind] = counts.get(kind, 0) + count
    for kind, count in QUOTED.get(name, {}).items():
        counts[kind] -= count
    return counts
