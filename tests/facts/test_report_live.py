"""The report of a live capture, which an interrupt ends; of several at once; and of a filter that
is none."""

import json
import signal
import subprocess
import time

from bed import as_user, captures

LONGEST = 20  # seconds until tshark has taken in what it was given


def start(tshark, *arguments):
    """tshark that captures from a pipe, as dumpcap hands it over."""
    return subprocess.Popen(
        ["tshark", "-i", "-", "-q", *arguments],
        env=tshark.environment,
        cwd=tshark.bed.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **as_user(),
    )


def interrupted(tshark, name, *arguments):
    """What tshark prints when it is interrupted after the last frame, while the interface is still
    open."""
    process = start(tshark, *arguments)
    process.stdin.write(captures()[name].read_bytes())
    process.stdin.flush()
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, errors
    return printed.decode()


def test_json_on_interrupt(tshark):
    live = json.loads(interrupted(tshark, "rfc-peer", "-z", "smcr,json"))
    read = json.loads(tshark.show("rfc-peer", "-q", "-z", "smcr,json"))
    assert live == read and live["connections"]


def test_report_on_interrupt(tshark):
    assert interrupted(tshark, "rfc-peer", "-z", "smcr,report") == tshark.show(
        "rfc-peer", "-q", "-z", "smcr,report"
    )


def test_several_at_once(tshark):
    both = tshark.show("rfc-peer", "-q", "-z", "smcr,report", "-z", "smcr,json,tcp")
    alone = [tshark.show("rfc-peer", "-q", "-z", each) for each in ("smcr,report", "smcr,json,tcp")]
    assert both in ("".join(alone), "".join(reversed(alone)))


def test_filter_that_is_none(tshark):
    for each in ("smcr,report", "smcr,json"):
        result = tshark.start(
            "-r", tshark.bed.capture("rfc-peer"), "-q", "-z", f"{each},no such filter =="
        )
        assert result.returncode and result.stdout == "" and each in result.stderr
