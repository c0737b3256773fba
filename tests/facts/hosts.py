"""
Late captures with what the hosts told over netlink (captures/late): their variants, and what is
true of them.

A capture has RoCE and TCP as interface 0, and netlink of the hosts A and B as interfaces 1 and 2.
"""

import collections
import gzip
import json
import pathlib

import pcapng
from bed import TOP

FOLDER = TOP / "captures" / "late"
INTERFACES = {"A": 1, "B": 2}
ENDS = ("c2s", "s2c")

# What is left of a capture: netlink of these hosts; frames of the wire from the first dump on, or
# up to the last one, or all.
Variant = collections.namedtuple("Variant", "name hosts cut")


def names():
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def truth(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def interface(frame):
    return pcapng.HEADER.unpack_from(frame.block)[2]


def write(bed, variant):
    """The variant as a file. Frames keep their order."""
    path = pathlib.Path(bed.scratch) / f"{variant.name}-{variant.hosts}-{variant.cut}.pcapng"
    if path.exists():
        return path
    whole = path.with_suffix(".whole")
    whole.write_bytes(gzip.decompress((FOLDER / f"{variant.name}.pcapng.gz").read_bytes()))
    head, frames = pcapng.read(whole)
    kept = {0, *(INTERFACES[host] for host in variant.hosts)}
    frames = [frame for frame in frames if interface(frame) in kept]
    told_at = [at for at, frame in enumerate(frames) if interface(frame) != 0]
    if told_at and variant.cut == "early":
        frames = frames[told_at[0] :]
    if told_at and variant.cut == "behind":
        frames = frames[: told_at[-1] + 1]
    pcapng.write(path, head, frames)
    path.chmod(0o644)
    return path


def told(name, host):
    """The ports of SMC-R connections with a token that the host's dump has: {client port}."""
    ports = set()
    for dump in truth(name)["dumps"]:
        for line in dump["text"] if dump["host"] == host else ():
            if line.startswith("SOCK "):
                words = dict(word.split("=", 1) for word in line.split() if "=" in word)
                smcr, ends = words["mode"].startswith("0(") and "ACTIVE" in words["state"], (
                    words["src"],
                    words["dst"],
                )
            elif line.strip().startswith("LGRINFO") and smcr:
                own, peer = (int(end.rpartition(":")[2]) for end in ends)
                ports.add(own if "role=0" in line else peer)
    return ports


TITLE = (
    "State UID Inode Local Address Peer Address Intf Mode Shutd Token Sndbuf Rcvbuf Peerbuf "
    "rxprod-Cursor rxcons-Cursor rxFlags "
    "txprod-Cursor txcons-Cursor txFlags txprep-Cursor txsent-Cursor txfin-Cursor Role IB-device "
    "Port Linkid GID Peer-GID"
)


def smcss(name, told):
    """What `smcss -a -d -R -W` of smc-tools would have printed on these hosts when they were
    asked."""
    lines = []
    for dump in truth(name)["dumps"]:
        words = {}
        lines += [TITLE] * (dump["host"] in told)
        for line in dump["text"] if dump["host"] in told else ():
            if line.startswith("SOCK "):
                words = {}
            words |= dict(word.split("=", 1) for word in line.split() if "=" in word)
            if line.strip().startswith("LGRINFO"):
                numbers = [int(words[key], 0) for key in ("token", "sndbuf", "rmbe", "peer_rmbe")]
                state = words["state"].partition("(")[2].rstrip(")")
                lines.append(
                    (
                        f"{state:14} {0:05} {int(words['inode']):07} {words['src']:23} "
                        f"{words['dst']:23} 0000 SMCR  <->  "
                    )
                    + "".join(f"{number:08x} " for number in numbers)
                    + (
                        "{rx_prod} {rx_cons} {rxpf}:{rxcs}   {tx_prod} {tx_cons} {txpf}:{txcs}   "
                        "{tx_prep} {tx_sent} {tx_fin} "
                    ).format(**words)
                    + f"{words['role'][2:-1]} {words['ib']:15} {int(words['port']):02x}   "
                    f"{int(words['link_id']):02x}     {words['gid']:40} {words['peer_gid']}"
                )
    return lines
