"""
What hosts tell over netlink: each value in the tree is what a program on the host printed of the
same dump; built messages in both byte orders have the values that they were built with; what others
say over netlink looks as without the plugin.
"""

import collections
import re
import struct
import xml.etree.ElementTree as xml

import hosts
import pytest

MODES = {"0": "SMCR", "1": "TCP", "2": "SMCD"}
# Fields of the tree, what the program called them, how it printed them.
PLAIN, HEX, TEXT, BOOL = (
    "{}".format,
    lambda text: hex(int(text, 0)),
    '"{}"'.format,
    lambda text: str(int(text in ("1", "True"))),
)
NAMES = {
    "version": ("ver", PLAIN),
    "release": ("rel", PLAIN),
    "ism_v2": ("is_ism_v2", BOOL),
    "smcr_v2": ("is_smcr_v2", BOOL),
    "host": ("local_host", TEXT),
    "lgr_id": ("id", HEX),
    "conns": ("conns_num", HEX),
    "role": ("role", PLAIN),
    "lgr_type": ("type", PLAIN),
    "buffer_type": ("buf_type", PLAIN),
    "vlan": ("vlan_id", PLAIN),
    "net_cookie": ("net_cookie", HEX),
    "pnetid": ("pnetid", TEXT),
    "os": ("os", PLAIN),
    "peer_host": ("peer_host", TEXT),
    "direct": ("direct", BOOL),
    "number": ("id", PLAIN),
    "link_state": ("state", HEX),
    "device_port": ("ib_port", PLAIN),
    "net_device": ("net_dev", HEX),
    "device": ("ib_dev", TEXT),
    "gid": ("gid", TEXT),
    "peer_gid": ("peer_gid", TEXT),
    "critical": ("is_crit", BOOL),
    "pnetid_by_user": ("pnet_usr", BOOL),
    "port_valid": ("valid", BOOL),
    "port_active": ("state", BOOL),
    "port_links": ("lnk_cnt", HEX),
    "peer_small": ("sm_peer", HEX),
    "small": ("sm", HEX),
    "peer_full": ("full_peer", HEX),
    "full": ("full", HEX),
    "reused": ("reuse", HEX),
    "allocated": ("alloc", HEX),
    "smaller": ("dgrade", HEX),
    "size_more": ("g1024k", HEX),
    **{
        f"size_{size}": (size, HEX)
        for size in ("8k", "16k", "32k", "64k", "128k", "256k", "512k", "1024k")
    },
    "client_v1": ("clnt_v1", HEX),
    "client_v2": ("clnt_v2", HEX),
    "server_v1": ("srv_v1", HEX),
    "server_v2": ("srv_v2", HEX),
    "rx_bytes": ("rx_bytes", HEX),
    "tx_bytes": ("tx_bytes", HEX),
    "rx_calls": ("rx_cnt", HEX),
    "tx_calls": ("tx_cnt", HEX),
    "sendpages": ("sendpage", HEX),
    "corks": ("cork", HEX),
    "nodelays": ("ndly", HEX),
    "splices": ("splice", HEX),
    "urgents": ("urg", HEX),
    "client_errors": ("clnt_hs_err", HEX),
    "server_errors": ("srv_hs_err", HEX),
    "fback_role": ("type", PLAIN),
    "fback_server": ("srv_cnt", HEX),
    "fback_client": ("clnt_cnt", HEX),
    "fback_reason": ("rsn_code", HEX),
    "fback_count": ("rsn_cnt", PLAIN),
}
IN_LINK = {"conns": ("conn_cnt", HEX)}
IN_DEVICE = {"device": ("ib_name", TEXT)}
IN_PORT = {"net_device": ("netdev", HEX)}
NESTS = {
    "v2": "v2_common",
    "smcr_v2_lgr": "r_v2",
    "port": "port",
    "stats_smcd": "smcd_tech",
    "stats_smcr": "smcr_tech",
    "tx_use": "tx_rmb_stats",
    "rx_use": "rx_rmb_stats",
    "tx_payloads": "txpload",
    "rx_payloads": "rxpload",
    "tx_buffers": "tx_rmb_size",
    "rx_buffers": "rx_rmb_size",
}
TOPS = {
    "sys": ("SYS_INFO", {}),
    "lgr": ("LGR_SMCR", {}),
    "link": ("  LINK_SMCR", IN_LINK),
    "dev": ("DEV_SMCR", IN_DEVICE),
    "stats": ("STATS", {}),
    "fback": ("FBACK", {}),
}


def short(item):
    return item.get("name", "").removeprefix("smcr.told.").removeprefix("smcr.")


def values(item):
    """{field: its values} of what is below an item, hidden ones too."""
    found = collections.defaultdict(list)
    for each in item.iter("field"):
        found[short(each)].append(each.get("show"))
    return found


def raw(item):
    return int.from_bytes(bytes.fromhex(item.get("value")), "little")


def generic(item, special):
    """The attributes below an item as the program printed them, in their order."""
    for each in item:
        name = short(each)
        if name in NESTS:
            yield f"{NESTS[name]}{{ {' '.join(generic(each, IN_PORT if name == 'port' else {}))}}}"
        elif name in ("uid", "peer_uid"):
            yield f"{name}={raw(each):#x}"
        elif name == "eid":
            yield f'neg_eid="{each.get("show")}"'
        else:
            title, form = special.get(name) or NAMES[name]
            yield f"{title}={form(each.get('show'))}"


def conn_line(item):
    found = {name: shown[0] for name, shown in values(item).items()}
    wraps = values(item)["wrap"]
    cursors = ("rx_prod", "rx_cons", "tx_prod", "tx_cons", "tx_prep", "tx_sent", "tx_fin")
    at = [
        f"{name}={int(wrap):04x}:{int(found[name]):08x}"
        for name, wrap in zip(cursors, wraps, strict=True)
    ]
    flags = [
        f"{title}={int(found[name], 0):02x}"
        for title, name in (
            ("rxpf", "rx_flags"),
            ("rxcs", "rx_state"),
            ("txpf", "tx_flags"),
            ("txcs", "tx_state"),
        )
    ]
    sizes = [
        f"{title}={found[name]}"
        for title, name in (
            ("sndbuf", "sndbuf"),
            ("rmbe", "rmbe_size"),
            ("peer_rmbe", "peer_rmbe_size"),
        )
    ]
    return " ".join(
        [
            f"  CONNINFO len=76 token=0x{int(found['token'], 0):08x}",
            *sizes,
            *at[:4],
            *flags,
            *at[4:],
        ]
    )


def socket_lines(top):
    found = values(top)
    state = next(each.get("showname") for each in top.iter("field") if short(each) == "state")
    yield (
        f"SOCK family={found['family'][0]} "
        f"state={found['state'][0]}({re.search(r': (.*) [(]', state)[1]}) "
        f"mode={found['mode'][0]}({MODES[found['mode'][0]]}) "
        f"shutdown={int(found['shutdown'][0], 0)} "
        f"src={found['own_addr'][0]}:{found['own_port'][0]} "
        f"dst={found['peer_addr'][0]}:{found['peer_port'][0]} "
        f"if={found['interface'][0]} "
        f"cookie={':'.join(f'{int(each, 0):08x}' for each in found['cookie'])} "
        f"uid={found['user'][0]} inode={found['inode'][0]}"
    )
    for each in list(top)[[short(each) for each in top].index("peer_addr") + 1 :]:
        below = {name: shown[0] for name, shown in values(each).items()}
        if short(each) == "shutdown":
            yield f"  SHUTDOWN len=1 {int(each.get('show'), 0)}"
        elif short(each) == "fallback":
            yield (
                f"  FALLBACK len=8 reason=0x{int(below['reason'], 0):08x} "
                f"peer_diagnosis=0x{int(below['peer_reason'], 0):08x}"
            )
        elif short(each) == "conn":
            yield conn_line(each)
        elif short(each) == "lgrinfo":
            role = ("CLNT", "SERV")[int(below["role"])]
            yield (
                f"  LGRINFO len=147 role={below['role']}({role}) link_id={below['number']} "
                f"ib={below['device']} "
                f"port={below['device_port']} gid={below['gid']} peer_gid={below['peer_gid']}"
            )


def lines(top):
    """What the program printed of a message."""
    shown = [short(each) for each in top]
    if "mode" in shown:
        yield from socket_lines(top)
    for each in top:
        if short(each) in TOPS:
            title, special = TOPS[short(each)]
            yield " ".join([title, *generic(each, special)])
        elif short(each) == "eid":
            yield f'EID attr=1 "{each.get("show")}"'


def printed(tshark, path, *arguments):
    """{interface: lines} of all that hosts tell in a capture."""
    found = collections.defaultdict(list)
    for packet in xml.fromstring(
        tshark.run("-r", path, "-Y", "smcr.told", "-T", "pdml", *arguments)
    ):
        interface = next(
            (
                int(each.get("show"))
                for each in packet.iter("field")
                if each.get("name") == "frame.interface_id"
            ),
            0,
        )
        for proto in packet:
            if proto.get("name") == "smcr":
                found[interface] += lines(proto)
    return found


def told(name, host):
    """What the program printed on the host, without padding, RDMA and headings."""
    for dump in hosts.truth(name)["dumps"]:
        taken = dump["host"] == host
        for line in dump["text"] if taken else ():
            if line.startswith("## "):
                taken = "RDMA" not in line
            elif taken and not line.startswith(("#", "FAMILY")):
                yield re.sub(r'"([^"]*?) *"', r'"\1"', line)


def test_tree_is_what_the_host_printed(tshark):
    for name in hosts.names():
        found = printed(tshark, hosts.write(tshark.bed, hosts.Variant(name, "AB", "")))
        for host, interface in hosts.INTERFACES.items():
            assert found[interface] == list(told(name, host)), (name, host)
        assert sum(map(len, found.values())) > 20, name


def test_info_names_one_message_and_counts_many(tshark):
    path = hosts.write(tshark.bed, hosts.Variant("late-fallback", "A", ""))
    infos = [
        line.split("SMC-R ", 1)[1].split(" ", 1)[1]
        for line in tshark.run("-r", path, "-Y", "smcr.told").splitlines()
    ]
    assert infos[:5] == [
        "AF_SMC socket dump, request",
        "AF_SMC socket dump, 5 sockets",
        "Request GET_SYS_INFO",
        "Answer GET_SYS_INFO",
        "Request GET_LGR_SMCR",
    ]
    assert {"Link group 0x00000100", "2 messages", "3 messages", "Answer DUMP_UEID"} <= set(infos)


# ---- built messages ----


class Host:
    """Writes netlink in one byte order, from <linux/smc.h> and <linux/smc_diag.h>."""

    FAMILY, PNETID = 0x2A, 0x2B

    def __init__(self, order):
        self.order = order  # of struct
        self.frames = []

    def pack(self, form, *numbers):
        return struct.pack(self.order + form, *numbers)

    def attribute(self, kind, value, nested=False):
        data = self.pack("HH", 4 + len(value), kind | 0x8000 * nested) + value
        return data + bytes(-len(data) % 4)

    def number(self, kind, form, value):
        return self.attribute(kind, self.pack(form, value))

    def nest(self, kind, *parts):
        return self.attribute(kind, b"".join(parts), nested=True)

    def message(self, kind, body, flags=2, port=77, sequence=5):
        data = self.pack("IHHII", 16 + len(body), kind, flags, sequence, port) + body
        return data + bytes(-len(data) % 4)

    def generic(self, command, *attributes, family=FAMILY, **header):
        return self.message(family, bytes([command, 1, 0, 0]) + b"".join(attributes), **header)

    def frame(self, family, *messages):
        self.frames.append(struct.pack(">HHH8xH", 4, 824, 0, family) + b"".join(messages))

    def socket(self, number, *attributes, ipv6=False, state=1, mode=0):
        ends = [
            bytes([0xFD] + [0] * 14 + [end]) if ipv6 else bytes([10, 0, 0, end]) + bytes(12)
            for end in (1, 2)
        ]
        body = (
            bytes([43, state, mode, 0]) + struct.pack(">HH", 1000 + number, 2000) + b"".join(ends)
        )
        return self.message(
            20, body + self.pack("IIIIQ", 3, 4, 5, 6, 7 << 32 | number) + b"".join(attributes)
        )

    def pcap(self, snap=1 << 18):
        head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 253)
        return head + b"".join(
            struct.pack("<IIII", 1, at, min(len(frame), snap), len(frame)) + frame[:snap]
            for at, frame in enumerate(self.frames)
        )


TECH = (
    *(
        "client_v1 client_v2 server_v1 server_v2 sendpages splices corks nodelays urgents "
        "rx_bytes tx_bytes rx_calls tx_calls"
    ).split(),
    "rx_memory",
    "tx_memory",
)
SIZES = [f"size_{size}" for size in "8k 16k 32k 64k 128k 256k 512k 1024k more".split()]
BUFFERS = "peer_small small peer_full full reused allocated smaller".split()
LARGE = 0x0102030405060708


def announce(host):
    families = ((b"SMC_GEN_NETLINK\0", host.FAMILY), (b"SMC_PNETID\0", host.PNETID))
    host.frame(
        16,
        *(
            host.message(
                16, bytes([1, 2, 0, 0]) + host.attribute(2, name) + host.number(1, "H", number)
            )
            for name, number in families
        ),
    )


def statistics(host):
    """Each count has a value of its own. Returns the attributes, and {field: values}."""
    counter, expected = iter(range(1, 1000)), collections.defaultdict(list)

    def counts(names, first):
        for kind, name in enumerate(names, first):
            expected[name].append(str(LARGE + next(counter)))
            yield host.number(kind, "Q", int(expected[name][-1]))

    def tech(kind):
        return host.nest(
            kind,
            *(host.nest(each, *counts(SIZES, 1)) for each in (1, 2, 3, 4)),
            *(host.nest(each, *counts(BUFFERS, 1)) for each in (5, 6)),
            host.attribute(0, b""),
            *counts(TECH, 7),
        )

    return host.nest(7, tech(1), tech(2), *counts(("client_errors", "server_errors"), 3)), expected


def generic_messages(host):
    """[(message, {field: values})] of each command, v1 and v2, with what newer kernels add."""
    version = host.nest(
        7,
        host.number(0, "B", 2),
        host.number(1, "B", 1),
        host.number(2, "B", 2),
        host.attribute(3, b"EID".ljust(32)),
        host.attribute(4, b"peer".ljust(32)),
    )
    group = [
        host.number(1, "I", 0x100),
        host.number(2, "B", 1),
        host.number(3, "B", 2),
        host.attribute(4, b"NET1\0"),
        host.number(5, "B", 9),
        host.number(6, "I", 70000),
    ]
    lgr = {
        "lgr_id": ["0x00000100"],
        "role": ["1"],
        "lgr_type": ["2"],
        "pnetid": ["NET1"],
        "vlan": ["9"],
        "conns": ["70000"],
    }
    link = [
        host.number(1, "B", 2),
        host.attribute(2, b"mlx5_0\0"),
        host.number(3, "B", 1),
        host.attribute(4, b"fe80::1\0"),
        host.attribute(5, b"\0"),
        host.number(6, "I", 3),
        host.number(7, "I", 4),
        host.attribute(8, bytes([0, 0, 1, 2])),
        host.attribute(9, bytes([0, 0, 1, 3])),
        host.number(10, "I", 2),
    ]
    port = [
        host.number(1, "B", 1),
        host.attribute(2, b"NET1\0"),
        host.number(3, "I", 5),
        host.number(4, "B", 1),
        host.number(5, "B", 1),
        host.number(6, "I", 6),
    ]
    device = [
        host.number(1, "I", 11),
        host.number(2, "B", 0),
        host.number(3, "I", 12),
        host.number(4, "H", 13),
        host.number(5, "H", 0x15B3),
        host.number(6, "H", 0x1017),
        host.attribute(7, b"0000:01:00.0\0"),
        host.nest(8, *port),
        host.nest(9, *port),
        host.attribute(10, b"mlx5_0\0"),
    ]
    shown, stats = statistics(host)
    return [
        (host.generic(2, host.nest(2, *group)), lgr),
        (
            host.generic(
                2,
                host.nest(
                    2,
                    *group,
                    version,
                    host.nest(
                        8, host.number(1, "B", 1), host.number(2, "B", 255), host.number(3, "B", 2)
                    ),
                    host.number(9, "Q", LARGE),
                    host.attribute(10, b""),
                    host.number(11, "B", 1),
                    host.number(12, "I", 65536),
                    host.number(13, "Q", LARGE),
                    host.number(40, "I", 1),
                ),
            ),
            {
                **lgr,
                "version": ["2"],
                "release": ["1"],
                "os": ["2"],
                "eid": ["EID"],
                "peer_host": ["peer"],
                "max_conns": ["255"],
                "max_links": ["2"],
                "net_cookie": [f"0x{LARGE:016x}"],
                "buffer_type": ["1"],
                "sndbufs": ["65536"],
                "rmbs": [str(LARGE)],
                "netlink.unknown": [host.number(40, "I", 1).hex(":")],
            },
        ),
        (
            host.generic(3, host.nest(3, *link)),
            {
                "number": ["2"],
                "device": ["mlx5_0"],
                "device_port": ["1"],
                "gid": ["fe80::1"],
                "peer_gid": [""],
                "conns": ["3"],
                "net_device": ["4"],
                "uid": ["0x00000102"],
                "peer_uid": ["0x00000103"],
                "link_state": ["2"],
            },
        ),
        (
            host.generic(
                4,
                host.nest(
                    4,
                    host.number(1, "I", 1),
                    host.number(2, "Q", LARGE),
                    host.number(3, "Q", 4),
                    host.number(4, "B", 9),
                    host.number(5, "I", 8),
                    host.attribute(6, b"NET1\0"),
                    host.number(7, "H", 0xFFFF),
                    host.nest(9, version[4:]),
                    host.number(10, "Q", 1),
                    host.number(11, "Q", 2),
                ),
            ),
            {
                "ism_gid": [f"0x{LARGE:016x}"],
                "peer_ism_gid": ["0x0000000000000004"],
                "chid": ["0xffff"],
                "ext_gid": ["0x0000000000000001"],
                "vlan": ["9"],
            },
        ),
        (
            host.generic(6, host.nest(6, *device)),
            {
                "dev_use": ["11"],
                "pci_fid": ["0x0000000c"],
                "chid": ["0x000d"],
                "pci_vendor": ["0x15b3"],
                "pci_device": ["0x1017"],
                "pci_id": ["0000:01:00.0"],
                "net_device": ["5", "5"],
                "port_links": ["6", "6"],
                "pnetid": ["NET1", "NET1"],
            },
        ),
        (host.generic(7, shown), stats),
        (
            host.generic(
                8,
                host.nest(
                    8,
                    host.number(1, "B", 1),
                    host.number(2, "Q", 3),
                    host.number(3, "Q", LARGE),
                    host.number(4, "I", 0x03030000),
                    host.number(5, "H", 9),
                ),
            ),
            {
                "fback_role": ["1"],
                "fback_server": ["3"],
                "fback_client": [str(LARGE)],
                "fback_reason": ["0x03030000"],
                "fback_count": ["9"],
            },
        ),
        (host.generic(9, host.attribute(1, b"MY-EID".ljust(32))), {"eid": ["MY-EID"]}),
        (
            host.generic(13, host.attribute(1, b"IBM-SYSZ".ljust(32)), host.number(2, "B", 1)),
            {"seid": ["IBM-SYSZ"]},
        ),
        (host.generic(16, host.number(1, "B", 1)), {"hs_limited": ["1"]}),
        (host.generic(251, host.attribute(1, b"dummy0\0")), {"dump_device": ["dummy0"]}),
        (host.generic(252, host.attribute(1, b"dummy1\0")), {"dump_device": ["dummy1"]}),
        (
            host.generic(
                1,
                host.attribute(1, b"NET2\0"),
                host.attribute(2, b"eth7\0"),
                host.attribute(3, b"mlx5_1\0"),
                host.number(4, "B", 2),
                family=host.PNETID,
            ),
            {"pnetid": ["NET2"], "ethernet": ["eth7"], "device": ["mlx5_1"], "device_port": ["2"]},
        ),
        (host.generic(3, host.attribute(1, b"NET3\0"), family=host.PNETID), {"pnetid": ["NET3"]}),
    ]


def conn_info(host, token):
    cursors = b"".join(host.pack("HHI", 0, 60000 + each, 100000 + each) for each in range(4))
    behind = b"".join(host.pack("HHI", 0, 60000 + each, 100000 + each) for each in range(4, 7))
    return host.attribute(
        1,
        host.pack("IIII", token, 1 << 17, 1 << 18, 1 << 19)
        + cursors
        + bytes([1, 2, 4, 8])
        + behind,
    )


def same(found, expected):
    """Whether each expected field has these values; what pdml says of booleans differs between
    versions."""
    form = {"True": "1", "False": "0"}
    wrong = {name: [form.get(each, each) for each in found[name]] for name in expected}
    return {name: values for name, values in wrong.items() if values != expected[name]}


@pytest.mark.parametrize("order", "<>", ids=("little", "big"))
def test_built_messages_have_their_values(tshark, scratch, order):
    """Every attribute, one a frame and all in a frame; sockets of all kinds, of a dump of several
    frames."""
    host = Host(order)
    announce(host)
    built = generic_messages(host)
    for message, _ in built:
        host.frame(16, message)
    host.frame(16, *(message for message, _ in built))
    smcd = host.attribute(4, host.pack("IIQQQQ", 1, 0, 2, 3, LARGE, 5))
    extended = host.attribute(4, host.pack("IIQQQQQQ", 1, 0, 2, 3, LARGE, 5, 6, 7))
    fallback = host.attribute(5, host.pack("II", 0x05000000, 0x03030000))
    sockets = [
        host.socket(1, host.number(3, "B", 2), conn_info(host, 0xFFFF0001)),
        host.socket(2, fallback, mode=1, ipv6=True),
        host.socket(3, smcd, mode=2),
        host.socket(4, state=10),
        host.socket(5, host.attribute(99, b"new!"), extended),
    ]
    ends = (
        struct.pack(">HH", 1001, 2001)
        + bytes([10, 0, 0, 8])
        + bytes(12)
        + bytes([10, 0, 0, 9])
        + bytes(12)
    )
    host.frame(
        4,
        host.message(
            20, bytes([43, 0, 0, 0x1F]) + ends + host.pack("III", 3, 4, 5), flags=0x301, port=0
        ),
    )
    for at in range(0, len(sockets), 2):
        host.frame(4, *sockets[at : at + 2])
    host.frame(4, host.message(3, bytes(4)))
    path = scratch / "built.pcap"
    path.write_bytes(host.pcap())
    packets = [
        [proto for proto in packet if proto.get("name") == "smcr"]
        for packet in xml.fromstring(tshark.run("-r", path, "-T", "pdml"))
    ]
    assert [len(each) for each in packets] == [0, *[1] * len(built), len(built), 1, 2, 2, 1, 0]
    for (_, expected), alone, together in zip(built, packets[1:], packets[len(built) + 1]):
        assert same(values(alone[0]), expected) == {} and same(values(together), expected) == {}
    asked, *found = (values(each) for packet in packets[-5:] for each in packet)
    assert [
        asked[name]
        for name in (
            "family",
            "wanted",
            "own_port",
            "peer_port",
            "own_addr",
            "peer_addr",
            "interface",
            "cookie",
        )
    ] == [
        ["43"],
        ["0x1f"],
        ["1001"],
        ["2001"],
        ["10.0.0.8"],
        ["10.0.0.9"],
        ["3"],
        ["0x00000004", "0x00000005"],
    ]
    assert not asked["extra_bytes"]
    assert (
        found[0]["token"] == ["0xffff0001"] * 2
        and found[0]["rx_cons"] == ["100001"]
        and found[0]["tx_fin"] == ["100006"]
    )
    assert found[0]["wrap"] == [str(60000 + each) for each in range(7)] and found[0][
        "peer_rmbe_size"
    ] == [str(1 << 19)]
    assert (found[0]["shutdown"], found[0]["inode"]) == (["0x00", "0x02"], [str(7 << 32 | 1)])
    assert (found[1]["own_addr"], found[1]["reason"], found[1]["peer_reason"]) == (
        ["fd00::1"],
        ["0x05000000"],
        ["0x03030000"],
    )
    assert (found[2]["ism_gid"], found[2]["dmb_token"]) == (
        ["0x0000000000000003"],
        [f"0x{LARGE:016x}"],
    )
    assert (found[2]["ext_gid"], found[2]["peer_ext_gid"]) == ([], [])
    assert (found[4]["ext_gid"], found[4]["peer_ext_gid"]) == (
        ["0x0000000000000007"],
        ["0x0000000000000006"],
    )
    assert (found[3]["state"], found[4]["netlink.unknown"]) == (
        ["10"],
        [host.attribute(99, b"new!").hex(":")],
    )
    assert found[0]["own_addr"] == ["10.0.0.1"] and "token" not in found[1]


def test_cut_messages_are_said_to_be_cut(tshark, scratch):
    """A capture that cuts after any number of bytes: what is there is shown, and nothing is called
    malformed."""
    for order in "<>":
        host = Host(order)
        announce(host)
        host.frame(16, generic_messages(host)[1][0])
        host.frame(4, host.socket(1, conn_info(host, 5)))
        path = scratch / f"cut-{'<>'.index(order)}.pcap"
        longest = max(map(len, host.frames[1:]))
        announced, cut = host.pcap()[24 : 24 + 16 + len(host.frames[0])], b""
        for snap in range(52, longest):
            cut += host.pcap(snap)[24 + 16 + min(snap, len(host.frames[0])) :]
        path.write_bytes(host.pcap()[:24] + announced + cut)
        rows = tshark.fields(
            path,
            "frame.len",
            "frame.cap_len",
            "smcr.told",
            "smcr.cut_short",
            "_ws.malformed",
            "smcr.message_short",
        )
        seen = collections.Counter()
        for length, captured, texts, short_, malformed, shorter in rows[1:]:
            assert not malformed and not shorter and texts and len(texts) == 1, order
            assert bool(short_) == (length != captured), (order, length, captured)
            seen[bool(short_)] += 1
        assert min(seen.values()) > 20, order


def others(host):
    """Netlink of others: routes, sockets of AF_INET, the controller of generic netlink, another
    family, ends of dumps."""
    host.frame(
        0,
        host.message(18, bytes(20), flags=0x301),
        host.message(16, bytes(16) + host.attribute(3, b"eth0\0")),
    )
    host.frame(
        4,
        host.message(
            20, bytes([2, 6, 0xFF, 0]) + host.pack("I", 0xFFF) + bytes(48), flags=0x301, port=0
        ),
    )
    host.frame(
        4,
        host.message(20, bytes([2, 1, 0, 0]) + bytes(68)),
        host.message(20, bytes([10, 1, 0, 0]) + bytes(68)),
    )
    host.frame(4, host.message(3, bytes(4)))
    host.frame(4, host.message(18, bytes(68)))
    host.frame(
        16,
        host.message(
            16, bytes([1, 2, 0, 0]) + host.attribute(2, b"nl80211\0") + host.number(1, "H", 0x1C)
        ),
    )
    host.frame(16, host.message(0x1C, bytes([5, 1, 0, 0]) + host.number(1, "I", 1)))
    host.frame(16, host.message(0x30, bytes([2, 1, 0, 0]) + host.nest(2, host.number(1, "I", 1))))
    host.frame(2, host.message(0x1401, bytes(8)))


def test_netlink_of_others_is_as_without_the_plugin(tshark, tshark_without, scratch):
    """Not a byte of the output is another: of other families, and of all where SMC-R is
    disabled."""
    host = Host("<")
    others(host)
    path = scratch / "others.pcap"
    path.write_bytes(host.pcap())
    shown = tshark.run("-r", path, "-V")
    assert shown == tshark_without.run("-r", path, "-V") and shown.count("Frame Number") == len(
        host.frames
    )
    assert tshark.run("-r", path) == tshark_without.run("-r", path)
    late = hosts.write(tshark.bed, hosts.Variant("late-fallback", "AB", ""))
    only = ("-r", late, "-Y", "netlink", "-V")
    assert tshark.run(*only, "--disable-protocol", "smcr") == tshark_without.run(*only)
