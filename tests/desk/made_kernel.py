"""
A kernel that a test makes: it answers plugin/capture's questions over socket pairs, for machines
without SMC.

As a program it runs plugin/capture with that kernel: made_kernel.py PROGRAM ARGUMENT...;
MADE_SOCKETS says how many SMC sockets which network namespace has: "=3" for the own one, "=3
blue=100".
"""

import contextlib
import errno
import importlib.machinery
import importlib.util
import os
import socket
import struct
import sys
import threading

MESSAGE = struct.Struct("=IHHII")
ERROR, DONE, CONTROL, BY_FAMILY, FAMILY = 2, 3, 16, 20, 0x22
REQUEST, MULTI = 1, 2
PER_FRAME = 97  # sockets, as Linux 6.1 has them
KNOWN = (1, 2, 3, 6)  # commands; those of statistics and EIDs came later
PORT = 4711


def load(path):
    """A program as a module."""
    loader = importlib.machinery.SourceFileLoader("capture", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("capture", loader))
    loader.exec_module(module)
    return module


def message(kind, flags, sequence, body):
    return (
        MESSAGE.pack(MESSAGE.size + len(body), kind, flags, sequence, PORT)
        + body
        + bytes(-len(body) % 4)
    )


def fault(sequence, number, request=b""):
    return message(ERROR, 0, sequence, struct.pack("=i", -number) + request)


def done(sequence, number=0):
    return message(DONE, MULTI, sequence, struct.pack("=i", -number))


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def smc_socket(number):
    """A listening socket: <linux/smc_diag.h>."""
    return (
        struct.pack("=BBBB", 43, 10, 0, 0)
        + struct.pack(">HH", 5000 + number, 0)
        + bytes(16 + 16 + 4 + 8)
        + struct.pack("=IQ", 0, 1000 + number)
        + attribute(3, b"\0")
        + attribute(5, bytes(8))
    )


def answer(request, sockets):
    """The frames with which Linux answers a request."""
    _, kind, _, sequence, _ = MESSAGE.unpack_from(request)
    if kind == CONTROL:
        body = (
            struct.pack("=BBxx", 1, 2)
            + attribute(2, b"SMC_GEN_NETLINK\0")
            + attribute(1, struct.pack("=H", FAMILY))
        )
        return [message(CONTROL, 0, sequence, body)]
    if kind == BY_FAMILY:
        every = [message(BY_FAMILY, MULTI, sequence, smc_socket(each)) for each in range(sockets)]
        frames = [b"".join(every[at : at + PER_FRAME]) for at in range(0, sockets, PER_FRAME)]
        return [*frames, done(sequence)]
    command = request[MESSAGE.size]
    if kind != FAMILY or command not in KNOWN:
        return [fault(sequence, errno.EOPNOTSUPP, request)]
    told = struct.pack("=BBxx", command, 1) + attribute(
        command | 0x8000, attribute(1, struct.pack("=I", 7))
    )
    return [message(FAMILY, MULTI, sequence, told), done(sequence)]


def connected(answers):
    """A socket behind which a kernel answers each request with answers(request)."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    here.settimeout(1)

    def serve():
        with there, contextlib.suppress(OSError):
            while request := there.recv(1 << 16):
                for frame in answers(request):
                    there.send(frame)

    threading.Thread(target=serve, daemon=True).start()
    return here


def main():
    counts = dict(each.split("=") for each in os.environ["MADE_SOCKETS"].split())
    sys.argv = sys.argv[1:]
    module = load(sys.argv[0])
    module.open_sockets = lambda namespace: [
        connected(lambda request: answer(request, int(counts.get(namespace.name, 0))))
        for _ in range(2)
    ]
    module.kernel_has_smc = lambda: True
    module.main()


if __name__ == "__main__":
    main()
