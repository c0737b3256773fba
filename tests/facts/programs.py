"""
Programs that several statistics of Wireshark and kinds of Export Objects know, as one exchange:
HTTP, LDAP, SMB2, mail, DICOM and FTP. SMB2 is what a recorded capture has; the others are written
here.

An exchange is a list of Step, in the order of sending. A program's connection begins with its first
step, and ends when the next program begins.
"""

import base64
import collections
import struct

from talks import BIG, CLIENT, SERVER

# conn: number of the connection, from 0; port: of its server; more: the program's other connection
# goes on
Step = collections.namedtuple("Step", "conn port sender data")


def http():
    """With a password, a body in each direction, one larger than two elements, and an error."""

    def request(line, body=b"", more=b""):
        length = b"Content-Length: %d\r\n" % len(body) if body else b""
        return (
            CLIENT,
            line + b" HTTP/1.1\r\nHost: server.example\r\n" + more + length + b"\r\n" + body,
        )

    def response(status, body, kind=b"text/plain"):
        return (
            SERVER,
            b"HTTP/1.1 "
            + status
            + b"\r\nContent-Type: "
            + kind
            + b"\r\nContent-Length: %d\r\n\r\n" % len(body)
            + body,
        )

    login = b"Authorization: Basic " + base64.b64encode(b"tester:secret") + b"\r\n"
    return [
        request(b"GET /small.txt", more=login),
        response(b"200 OK", b"small\n"),
        request(b"GET /big.txt", more=b"Referer: http://server.example/small.txt\r\n"),
        response(b"200 OK", b"0123456789abcde\n" * (BIG // 16)),
        request(b"POST /form", b"x" * 5000),
        response(b"201 Created", b"{}", b"application/json"),
        request(b"GET /none"),
        response(b"404 Not Found", b"nothing\n"),
    ]


# --- LDAP, RFC 4511, in BER


def _ber(tag, *contents):
    content = b"".join(contents)
    length = (
        bytes([len(content)]) if len(content) < 128 else b"\x82" + struct.pack(">H", len(content))
    )
    return bytes([tag]) + length + content


def _ldap(number, operation):
    return _ber(0x30, _ber(2, bytes([number])), operation)


def ldap():
    """A bind with a password, a search with some entries, a search that finds nothing, an
    unbind."""
    base, done = b"dc=example", _ber(0x0A, b"\0") + _ber(4) + _ber(4)

    def search(number, value):
        text = (
            _ber(4, base)
            + _ber(0x0A, b"\2")
            + _ber(0x0A, b"\0")
            + _ber(2, b"\0") * 2
            + _ber(1, b"\0")
        )
        return (
            CLIENT,
            _ldap(number, _ber(0x63, text, _ber(0xA3, _ber(4, b"cn"), _ber(4, value)), _ber(0x30))),
        )

    def entry(number, name, size):
        attribute = _ber(0x30, _ber(4, b"description"), _ber(0x31, _ber(4, b"of " + name * size)))
        return _ldap(
            number, _ber(0x64, _ber(4, b"cn=" + name + b"," + base), _ber(0x30, attribute))
        )

    return [
        (
            CLIENT,
            _ldap(
                1, _ber(0x60, _ber(2, b"\3"), _ber(4, b"cn=admin," + base), _ber(0x80, b"secret"))
            ),
        ),
        (SERVER, _ldap(1, _ber(0x61, done))),
        search(2, b"*"),
        *((SERVER, entry(2, b"name%d" % i, size)) for i, size in enumerate((1, 100, 3, 4000, 2))),
        (SERVER, _ldap(2, _ber(0x65, done))),
        search(3, b"nobody"),
        (SERVER, _ldap(3, _ber(0x65, done))),
        (CLIENT, _ldap(4, _ber(0x42))),
    ]


def smb2(tshark):
    """What smbclient and smbd said to each other: a directory, and a file that is read."""
    path = tshark.bed.root / "captures" / "applications" / "smb-tcp.pcap"
    talk = []
    for (port,), data in tshark.fields(path, "tcp.dstport", "tcp.payload", where="tcp.len > 0"):
        sender, data = CLIENT if port == "445" else SERVER, bytes.fromhex("".join(data))
        if talk and talk[-1][0] == sender:
            data = talk.pop()[1] + data
        talk.append((sender, data))
    return talk


def mail():
    """SMTP with a password, and a message."""
    user, password = (base64.b64encode(text) + b"\r\n" for text in (b"tester", b"secret"))
    message = (
        (
            b"From: one@example\r\nTo: two@example\r\nSubject: a long one\r\n"
            b"Date: Mon, 1 Jan 2024 00:00:00 +0000\r\n\r\n"
        )
        + b"a line of the message\r\n" * 900
        + b".\r\n"
    )
    return [
        (SERVER, b"220 server.example ESMTP\r\n"),
        (CLIENT, b"EHLO client.example\r\n"),
        (SERVER, b"250-server.example\r\n250 AUTH LOGIN\r\n"),
        (CLIENT, b"AUTH LOGIN\r\n"),
        (SERVER, b"334 VXNlcm5hbWU6\r\n"),
        (CLIENT, user),
        (SERVER, b"334 UGFzc3dvcmQ6\r\n"),
        (CLIENT, password),
        (SERVER, b"235 ok\r\n"),
        (CLIENT, b"MAIL FROM:<one@example>\r\n"),
        (SERVER, b"250 ok\r\n"),
        (CLIENT, b"RCPT TO:<two@example>\r\n"),
        (SERVER, b"250 ok\r\n"),
        (CLIENT, b"DATA\r\n"),
        (SERVER, b"354 go on\r\n"),
        (CLIENT, message),
        (SERVER, b"250 ok\r\n"),
        (CLIENT, b"QUIT\r\n"),
        (SERVER, b"221 bye\r\n"),
    ]


# --- DICOM, PS3.8 9.3, upper layer


def _dicom_item(kind, content):
    return struct.pack(">BBH", kind, 0, len(content)) + content


def _dicom_pdu(kind, content):
    return struct.pack(">BBI", kind, 0, len(content)) + content


def _dicom_data(flags, content):
    return _dicom_pdu(4, struct.pack(">IBB", len(content) + 2, 1, flags) + content)


def _dicom_element(group, element, content):
    content += b"\0" * (len(content) % 2)
    return struct.pack("<HHI", group, element, len(content)) + content


def dicom():
    """An association, C-STORE of an image in several PDUs, a release."""
    image, instance, implicit = b"1.2.840.10008.5.1.4.1.1.7", b"1.2.3.4.5", b"1.2.840.10008.1.2"

    def association(kind, context):
        application = _dicom_item(0x10, b"1.2.840.10008.3.1.1.1")
        user = _dicom_item(0x50, _dicom_item(0x51, struct.pack(">I", 16384)))
        return _dicom_pdu(
            kind,
            b"\0\1\0\0"
            + b"STORE".ljust(16)
            + b"MODALITY".ljust(16)
            + bytes(32)
            + application
            + context
            + user,
        )

    def command(*elements):
        rest = b"".join(_dicom_element(0, *each) for each in elements)
        return _dicom_data(3, _dicom_element(0, 0, struct.pack("<I", len(rest))) + rest)

    offer = _dicom_item(0x20, b"\1\0\0\0" + _dicom_item(0x30, image) + _dicom_item(0x40, implicit))
    taken = _dicom_item(0x21, b"\1\0\0\0" + _dicom_item(0x40, implicit))
    pixels = (
        _dicom_element(8, 0x16, image)
        + _dicom_element(8, 0x18, instance)
        + _dicom_element(0x10, 0x10, b"Nobody")
        + _dicom_element(0x7FE0, 0x10, bytes(range(250)) * 100)
    )
    pieces = [pixels[i : i + 9000] for i in range(0, len(pixels), 9000)]
    return [
        (CLIENT, association(1, offer)),
        (SERVER, association(2, taken)),
        (
            CLIENT,
            command(
                (2, image),
                (0x100, b"\1\0"),
                (0x110, b"\1\0"),
                (0x700, b"\0\0"),
                (0x800, b"\1\0"),
                (0x1000, instance),
            ),
        ),
        *((CLIENT, _dicom_data(2 if piece is pieces[-1] else 0, piece)) for piece in pieces),
        (
            SERVER,
            command(
                (2, image),
                (0x100, b"\1\x80"),
                (0x120, b"\1\0"),
                (0x800, b"\1\1"),
                (0x900, b"\0\0"),
                (0x1000, instance),
            ),
        ),
        (CLIENT, _dicom_pdu(5, bytes(4))),
        (SERVER, _dicom_pdu(6, bytes(4))),
    ]


def ftp(conn):
    """With a password, and a file on a connection of its own, whose port the server tells."""
    port = 50001
    passive = b"227 Entering Passive Mode (192,0,2,2,%d,%d)\r\n" % divmod(port, 256)
    talk = [
        (SERVER, b"220 server\r\n"),
        (CLIENT, b"USER tester\r\n"),
        (SERVER, b"331 password\r\n"),
        (CLIENT, b"PASS secret\r\n"),
        (SERVER, b"230 ok\r\n"),
        (CLIENT, b"PASV\r\n"),
        (SERVER, passive),
        (CLIENT, b"RETR file.txt\r\n"),
        (SERVER, b"150 here\r\n"),
        (SERVER, b"a line of the file\n" * 800),
        (SERVER, b"226 done\r\n"),
        (CLIENT, b"QUIT\r\n"),
        (SERVER, b"221 bye\r\n"),
    ]
    return [
        Step(conn + 1, port, *entry) if entry[1].startswith(b"a line") else Step(conn, 21, *entry)
        for entry in talk
    ]


def everything(tshark):
    """All programs, one after the other."""
    talks = [(80, http()), (389, ldap()), (445, smb2(tshark)), (25, mail()), (104, dicom())]
    steps = [Step(conn, port, *entry) for conn, (port, talk) in enumerate(talks) for entry in talk]
    return steps + ftp(len(talks))
