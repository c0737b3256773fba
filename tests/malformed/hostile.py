"""
Shows altered captures to the distribution's tshark, with the plugin under AddressSanitizer and
UBSan. To start it takes far longer than to show a frame, so the copies of many captures go into one
file.
"""

import itertools
import shutil
import subprocess
import time

import alter
from bed import BUILDS, Tshark

# Stop with an assertion, plugin or not: at a SEND last without its SEND first; at data behind a
# greeting of JXTA.
FRAGILE = ("--disable-heuristic", "rpcrdma_infiniband", "--disable-heuristic", "jxta_tcp")
FRAMES_MAX = 100_000  # of one file


def sanitized(bed, memory="usual"):
    """tshark with the plugin under the sanitizers; with "strict" memory Wireshark checks every
    allocation as well."""
    library = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    extra = {"WIRESHARK_DEBUG_WMEM_OVERRIDE": "strict"} if memory == "strict" else {}
    return Tshark(
        bed,
        "sanitized",
        LD_PRELOAD=library.stdout.strip(),
        ASAN_OPTIONS="detect_leaks=0:malloc_context_size=4",
        UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1",
        **extra,
    )


class Shower:
    """
    Shows records (captured bytes, original length) of any link type; counts them. `check` gets what
    tshark prints.
    """

    def __init__(self, tshark, path, arguments=("-2", "-V"), check=None):
        self.tshark = tshark
        self.path = path
        self.arguments = arguments
        self.check = check
        self.waiting = {}  # {link type: records}
        self.copies = itertools.count()
        self.frames = self.files = 0
        self.slowest = 0.0  # seconds per thousand frames

    def add(self, linktype, records):
        waiting = self.waiting.setdefault(linktype, [])
        for record in records:
            waiting.append(record)
            if len(waiting) == FRAMES_MAX:
                self.show(linktype)

    def show(self, linktype):
        records = self.waiting[linktype]
        if not records:
            return
        alter.write(self.path, linktype, records)
        start = time.monotonic()
        try:
            if self.check:
                self.check(self.tshark.show(self.path, *self.arguments, *FRAGILE, errors="strict"))
            else:
                self.tshark.show(self.path, *self.arguments, *FRAGILE, stdout=subprocess.DEVNULL)
        except (AssertionError, subprocess.TimeoutExpired):
            kept = BUILDS / "failed" / f"{self.path.parent.name}-{self.files}.pcap"
            kept.parent.mkdir(exist_ok=True)
            shutil.copyfile(self.path, kept)
            print(f"the capture is kept as {kept}")
            raise
        finally:
            self.path.unlink()
        self.frames += len(records)
        self.files += 1
        self.slowest = max(
            self.slowest, (time.monotonic() - start) / max(len(records), 10_000) * 1000
        )
        records.clear()

    def finish(self):
        for linktype in self.waiting:
            self.show(linktype)
