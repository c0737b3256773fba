"""
SMC-Rv2 on port 443, where Wireshark expects TLS: the CLC messages there and, over RoCE, bytes that
begin like a TLS handshake record.
"""

from smcsynth.octets import noise
from smcsynth.story import linux_connection


def scene(capture):
    connection = linux_connection(capture, version=2, port=443, sport=40443)
    connection.first_contact()
    client_hello = (
        b"\x01\x00\x00\x2b\x03\x03" + noise(32, "random") + b"\x00\x00\x02\x13\x01\x01\x00\x00\x00"
    )
    connection.send("client", b"\x16\x03\x01" + len(client_hello).to_bytes(2, "big") + client_hello)
    connection.send("server", b"\x15\x03\x03\x00\x02\x02\x28")  # alert: handshake failure
    connection.close("server")
