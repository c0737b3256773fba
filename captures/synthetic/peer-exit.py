"""
A program of Linux ends while its socket has data left, which wait for the completion of the data
before (smc_should_autocork()): smc_close_active() does not wait for a program that exits. Linux
says that it has closed, or has aborted since there are unread data, and writes and announces the
rest behind that, smc_tx_pending(). The last connection shuts both directions down, reads what was
under way, and tells that it has (smc_rx_update_consumer()).
"""

from smcsynth.story import Connection, linux_connection, linux_halves

EXPECTED = {
    "smcr.cdc.after_abort": [103],
    "smcr.cdc.after_close": [43, 72, 140],
    "smcr.cdc.abort_unanswered": [99],
    "smcr.conn.aborted": [99],
    "smcr.write.after_close": [41],
    "smcr.write.after_end": [70, 101],
}


def another(first, number):
    connection = Connection(first.group, *linux_halves(16384, number=number), sport=40000 + number)
    connection.subsequent_contact()
    connection.send("client", b"first\n")
    return connection


def scene(capture):
    first = linux_connection(capture)
    first.first_contact()
    closes = another(first, 2)
    closes.cdc("client", flags=["closed"])
    closes.send("client", b"second, which was corked\n", flags=["closed"])
    answers = another(first, 3)
    answers.cdc("server", flags=["closed"])
    answers.cdc("client", flags=["closed"])
    answers.send("client", b"second, which was corked\n", flags=["closed"])
    aborts = another(first, 4)
    aborts.send("server", b"which nobody reads\n", read=False)
    aborts.cdc("client", flags=["abort"])
    aborts.send("client", b"second, which was corked\n", flags=["abort"])
    reads = another(first, 5)
    reads.cdc("client", flags=["closed"])
    reads.send("server", bytes(9000))
    reads.cdc("client", flags=["closed"])
    for _ in range(2):
        capture.wait(1)
        for role in ("client", "server"):
            first.group.test_link(role)
