"""
Tables of one capture after the other in one process, whole and altered, under AddressSanitizer and
UBSan: no cell of a capture that was closed is read. Each table is asked for twice, so that the
second round frees what the first one shows.
"""

import alter
import sharkd
from bed import ALL, captures
from hostile import sanitized

TAPS = [f"nstat:smcr,{name}" for name in ("connections", "links", "rmbs", "fallbacks", "fabric")]
SMALL = 25_000  # bytes


def calm(tshark, scratch):
    """Without RPC over RDMA: Wireshark 4.0 crashes in its second pass over some captures, without
    the plugin, too."""
    settings = scratch / "settings"
    settings.mkdir()
    (settings / "disabled_protos").write_text("rpcordma\n")
    tshark.environment = {**tshark.environment, "WIRESHARK_CONFIG_DIR": str(settings)}
    return tshark


def test_one_capture_after_the_other(bed, scratch):
    requests, loads = [], 0
    for path in list((captures("synthetic") | captures("malformed") | captures("real")).values())[
        :: 1 if ALL else 3
    ]:
        if path.stat().st_size > SMALL:
            continue
        linktype, frames = alter.read(path)
        copy = scratch / f"{path.stem}-altered.pcap"
        alter.write(
            copy, linktype, list(alter.mutated(linktype, frames, iter(range(10_000)), range(1)))
        )
        for each in (bed.capture(path.stem), copy):
            loads += 1
            requests.append(sharkd.load(each))
            requests += [
                ("tap", {f"tap{i}": tap for i, tap in enumerate([*TAPS, TAPS[loads % len(TAPS)]])})
                for _ in range(2)
            ]
    answers = sharkd.ask(calm(sanitized(bed), scratch), requests)
    rows = sum(
        len(table["i"])
        for answer in answers
        for tap in answer.get("taps", [])
        for table in tap["tables"]
    )
    assert loads > 30 and rows > 300
