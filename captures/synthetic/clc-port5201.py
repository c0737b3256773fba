"""
SMC-Rv1 on port 5201, as iperf3 uses it: a control connection (first contact) and a data connection
(subsequent contact) in the same link group; 200,000 bytes through an RMBE of 64 KiB with regular
consumer cursor updates.
"""

from smcsynth.octets import noise
from smcsynth.story import Connection, linux_connection, linux_halves


def scene(capture):
    control = linux_connection(capture, port=5201, sport=40001)
    control.first_contact()
    cookie = b"abcdefghijklmnopqrstuvwxyz0123456789" + b"\0"
    control.send("client", cookie)
    control.send("server", b"\x09")
    data = Connection(control.group, *linux_halves(number=2), port=5201, sport=40002)
    data.subsequent_contact()
    data.send("client", cookie)
    sent = noise(200_000, "iperf3")
    for start in range(0, len(sent), 20_000):
        data.send("client", sent[start : start + 20_000])
        data.cdc("server")
        capture.wait(0.01)
    control.send("client", b"\x04")
    data.close()
    control.send("server", b"\x0d")
    control.close()
