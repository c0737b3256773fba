"""
Asymmetric links, RFC 7609 2.2.1, 2.2.2: a group gets a second one; a group keeps its asymmetric
link beside two symmetric ones. A parallel link that the client has accepted is confirmed, and not
deleted. Then the second asymmetric link comes again, but the capture lacks a packet of the server.
"""

from smcsynth.devices import add, begin, go_on

EXPECTED = {
    "smcr.link.fault_accepted": [172],
    "smcr.link.parallel": [170],
    "smcr.link.too_many": [28],
    "smcr.packet_ahead": [229],
}


def scene(capture):
    twice = begin(capture, 1)
    add(twice, 2, 1, 0)
    add(twice, 3, 2, 0)
    go_on(twice, 1, 2, 3)

    kept = begin(capture, 2)
    add(kept, 2, 1, 0)
    add(kept, 3, 1, 1)
    go_on(kept, 1, 2, 3)

    parallel = begin(capture, 3)
    add(parallel, 2, 0, 0)
    go_on(parallel, 1)

    lacking = begin(capture, 4)
    add(lacking, 2, 1, 0)
    add(lacking, 3, 2, 0)
    lacking.links[2].lose("server")
    go_on(lacking, 1, 2, 3)
