"""What programs say to each other in some protocols: small talks, with a message that needs more
than one element."""

import ssl
import struct

CLIENT, SERVER = "client", "server"
BIG = 40_000  # bytes, more than two elements of 16 KiB


def _u16(value):
    return struct.pack(">H", value)


def _u32(value):
    return struct.pack(">I", value)


# --- HTTP/2 without TLS, RFC 9113; header fields are literals without indexing, RFC 7541 6.2.2


def _h2_frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + _u32(stream) + payload


def _h2_headers(stream, fields, *, end):
    block = b"".join(
        b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value for name, value in fields
    )
    return _h2_frame(1, 0x05 if end else 0x04, stream, block)


def http2():
    def request(stream, path):
        return _h2_headers(
            stream,
            [
                (b":method", b"GET"),
                (b":scheme", b"http"),
                (b":path", path),
                (b":authority", b"server.example"),
            ],
            end=True,
        )

    def response(stream, body):
        pieces = [body[i : i + 16384] for i in range(0, len(body), 16384)]
        frames = [
            _h2_frame(0, 0x01 if piece is pieces[-1] else 0, stream, piece) for piece in pieces
        ]
        return (
            _h2_headers(
                stream, [(b":status", b"200"), (b"content-type", b"text/plain")], end=False
            ),
            *frames,
        )

    settings, acknowledge = _h2_frame(4, 0, 0, _u16(3) + _u32(100)), _h2_frame(4, 1, 0, b"")
    return [
        (CLIENT, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        (CLIENT, settings),
        (SERVER, settings),
        (CLIENT, acknowledge),
        (SERVER, acknowledge),
        (CLIENT, request(1, b"/small")),
        *((SERVER, frame) for frame in response(1, b"a small answer\n")),
        (CLIENT, request(3, b"/big")),
        (CLIENT, request(5, b"/after")),
        *((SERVER, frame) for frame in response(3, b"0123456789abcde\n" * (BIG // 16))),
        *((SERVER, frame) for frame in response(5, b"the end\n")),
        (CLIENT, _h2_frame(7, 0, 0, bytes(8))),
    ]


# --- TLS: the handshake's first message, made by OpenSSL, and a server that refuses it


def tls():
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(
        incoming, outgoing, server_hostname="server.example"
    )
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    data = [b"\x17\x03\x03" + _u16(16000) + bytes(range(250)) * 64 for _ in range(3)]
    return [
        (CLIENT, outgoing.read()),
        *((SERVER, record) for record in data),
        (SERVER, b"\x15\x03\x03\0\2\2\x28"),
    ]


# --- PostgreSQL, protocol version 3


def _pg(kind, body):
    return kind + _u32(4 + len(body)) + body


def postgresql():
    startup = _u32(196608) + b"user\0tester\0database\0things\0\0"
    row_description = _pg(
        b"T", _u16(1) + b"text\0" + _u32(0) + _u16(0) + _u32(25) + b"\xff\xff\xff\xff\xff\xff\0\0"
    )

    def row(text):
        return _pg(b"D", _u16(1) + _u32(len(text)) + text)

    ready = _pg(b"Z", b"I")
    return [
        (CLIENT, _u32(4 + len(startup)) + startup),
        (SERVER, _pg(b"R", _u32(0))),
        (SERVER, _pg(b"S", b"server_version\x0015.4\0")),
        (SERVER, _pg(b"K", _u32(4711) + _u32(0xC0FFEE))),
        (SERVER, ready),
        (CLIENT, _pg(b"Q", b"select text from things\0")),
        (SERVER, row_description),
        *((SERVER, row(b"row %d" % i)) for i in range(30)),
        (SERVER, row(b"a long row " * (BIG // 11))),
        (SERVER, _pg(b"C", b"SELECT 31\0")),
        (SERVER, ready),
        (CLIENT, _pg(b"Q", b"insert into things values ('" + b"x" * BIG + b"')\0")),
        (SERVER, _pg(b"C", b"INSERT 0 1\0")),
        (SERVER, ready),
        (CLIENT, _pg(b"X", b"")),
    ]


# --- DNS over TCP, RFC 1035 4.2.2: each message behind its length


def _name(text):
    return b"".join(bytes([len(label)]) + label.encode() for label in text.split(".")) + b"\0"


def dns_query(number, name):
    message = _u16(number) + _u16(0x0100) + _u16(1) + bytes(6) + _name(name) + _u16(16) + _u16(1)
    return _u16(len(message)) + message


def dns_response(number, name, texts):
    question = _name(name) + _u16(16) + _u16(1)
    answers = b"".join(
        b"\xc0\x0c"
        + _u16(16)
        + _u16(1)
        + _u32(60)
        + _u16(len(text) + 1)
        + bytes([len(text)])
        + text
        for text in texts
    )
    message = (
        _u16(number) + _u16(0x8180) + _u16(1) + _u16(len(texts)) + bytes(4) + question + answers
    )
    return _u16(len(message)) + message


def dns():
    names = {number: f"name{number}.example" for number in range(1, 9)}
    long = [b"%05d " % i * 40 for i in range(BIG // 240)]
    return [
        *((CLIENT, dns_query(*each)) for each in names.items()),
        *(
            (SERVER, dns_response(number, name, long if number == 4 else [b"short"]))
            for number, name in names.items()
        ),
        (CLIENT, dns_query(99, "last.example")),
        (SERVER, dns_response(99, "last.example", [b"bye"])),
    ]


# --- ONC RPC over TCP, RFC 5531 11: records of fragments; the port mapper, and a call to a program
# nobody knows


def _record(*fragments):
    last = len(fragments) - 1
    return b"".join(
        _u32(len(data) | (0x80000000 if i == last else 0)) + data
        for i, data in enumerate(fragments)
    )


def _call(xid, program, version, procedure, arguments):
    return struct.pack(">6I", xid, 0, 2, program, version, procedure) + bytes(16) + arguments


def _reply(xid, results):
    return struct.pack(">6I", xid, 1, 0, 0, 0, 0) + results


def onc_rpc():
    get_port = struct.pack(">4I", 100003, 3, 6, 0)
    large = _call(3, 200_100, 1, 7, bytes(range(250)) * (BIG // 250))
    return [
        (CLIENT, _record(_call(1, 100000, 2, 3, get_port))),
        (SERVER, _record(_reply(1, _u32(2049)))),
        (CLIENT, _record(_call(2, 100000, 2, 0, b""))),
        (CLIENT, _record(large)),
        (SERVER, _record(_reply(2, b""))),
        (SERVER, _record(_reply(3, b"done"))),
        (CLIENT, _record(_call(4, 100000, 2, 3, get_port)[:44], get_port[4:])),
        (SERVER, _record(_reply(4, _u32(0)))),
    ]


def http10():
    """Responses that last until the end of the connection: nothing else tells their length."""
    return [
        (CLIENT, b"GET /text HTTP/1.0\r\nHost: example\r\n\r\n"),
        (
            SERVER,
            b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n"
            + b"".join(b"line %d\n" % number for number in range(BIG // 10)),
        ),
    ]
