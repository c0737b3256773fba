"""
Statistics of applications, credentials and Export Objects are the same over SMC-R as over TCP, with
loss, too. Stock Wireshark on the TCP capture is the truth.
"""

import collections
import json
import os
import re
import xml.etree.ElementTree as xml

import alterations
import lossy
import pcapng
import programs
import pytest
import sharkd
from bed import TOP, Tshark

TAPS = (
    "http,tree",
    "http_req,tree",
    "http_srv,tree",
    "http_seq,tree",
    "http,stat",
    "ldap,srt",
    "smb2,srt",
    "credentials",
)
FIELDS = (
    "http.request.uri",
    "http.response.code",
    "http.time",
    "ldap.messageID",
    "ldap.time",
    "smb2.msg_id",
    "smb2.time",
    "smtp.req.command",
    "smtp.auth.username",
    "smtp.auth.password",
    "smtp.response.code",
    "ftp.request.command",
    "dicom.pdu.type",
    "imf.subject",
)
# Numbers of frames: in the table of credentials, in the name of a DICOM object.
NUMBERS = re.compile(r"(?m)^\d+ +(?=HTTP|FTP|SMTP)|in packet:? \d+|^\d+(?=-.*\.dcm$)")
# Objects that there are at least; tftp is over UDP only.
OBJECTS = {"http": 5, "smb": 1, "imf": 1, "dicom": 1, "ftp-data": 1}

Said = collections.namedtuple("Said", "pdus taps objects")


def said(tshark, path, folder):
    """What tshark says of the applications of a capture."""
    taps = [argument for tap in TAPS for argument in ("-z", tap)]
    rows = tshark.fields(
        path, "frame.number", *FIELDS, where="http || ldap || smb2 || smtp || ftp || dicom || imf"
    )
    pdus = {int(number): row for (number,), *row in rows if any(row)}
    frames = list(pdus)

    def without_numbers(text):
        """The numbers of frames become those of PDUs."""
        return NUMBERS.sub(
            lambda found: f"PDU {frames.index(int(re.search('[0-9]+', found[0])[0]))} ", text
        )

    text = tshark.show(path, "-q", *taps)
    objects = {}
    for kind in OBJECTS:
        where = folder / kind
        where.mkdir(parents=True)
        where.chmod(0o777)
        tshark.show(path, "-q", "--export-objects", f"{kind},{where}")
        objects[kind] = sorted(
            (without_numbers(each.name), each.read_bytes()) for each in where.iterdir()
        )
    return Said(list(pdus.values()), without_numbers(text), objects)


@pytest.fixture(scope="module")
def over_tcp(bed):
    """Made once in each worker process: the exchange, and what stock Wireshark says of it."""
    stock = Tshark(bed, "none")
    folder = bed.scratch / f"applications-over-tcp-{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o777)
    steps = programs.everything(stock)
    truth = said(stock, lossy.over_tcp(steps, folder / "tcp.pcap"), folder)
    for kind, least in OBJECTS.items():
        assert len(truth.objects[kind]) >= least, kind
    return steps, truth


@pytest.mark.parametrize("way", lossy.WAYS)
def test_same_as_over_tcp(tshark, scratch, over_tcp, way):
    steps, truth = over_tcp
    scratch.chmod(0o777)
    found = said(tshark, lossy.over_smc(steps, scratch / "smc.pcap", way), scratch)
    assert found.pdus == truth.pdus
    assert found.taps == truth.taps
    assert found.objects == truth.objects


def counts(tshark, path, stream, *arguments):
    """How often each field of the protocols above TCP is in the frames of a stream."""
    found = collections.Counter()
    for packet in xml.fromstring(tshark.show(path, "-T", "pdml", "-Y", stream, *arguments)):
        for proto in packet:
            if proto.get("name") in ("http", "tls", "json", "data-text-lines"):
                found.update(each.get("name") for each in proto.iter("field") if each.get("name"))
    return found


def test_late_as_over_tcp(tshark, scratch):
    """Cut behind its CONFIRM LINK, or its handshake: heuristics and Decode As find what TCP shows
    of the same."""
    scratch.chmod(0o777)
    for name, known in ("http11", "http"), ("tls12", "tls"):
        late = {}
        for kind, where in ("smcr", "smcr.llc.type == 0x21"), (
            "tcp",
            "tcp.stream == 0 && tcp.flags == 0x10 && tcp.len == 0",
        ):
            whole = TOP / "captures" / "applications" / f"{name}-{kind}.pcapng"
            numbers = [
                int(number[0]) for (number,) in tshark.fields(whole, "frame.number", where=where)
            ]
            late[kind] = scratch / f"{name}-{kind}.pcapng"
            head, frames = pcapng.read(whole)
            pcapng.write(late[kind], head, frames[numbers[1 if kind == "smcr" else 0] :])
            late[kind].chmod(0o644)
        truth = counts(Tshark(tshark.bed, "none"), late["tcp"], "tcp.stream == 0", "-2")
        assert truth["http.request.uri"]
        assert counts(tshark, late["smcr"], "smcr.stream == 0", "-2") == truth
        assert (
            counts(tshark, late["smcr"], "smcr.stream == 0", "-2", "-d", f"smcr.stream==0,{known}")
            == truth
        )


def followed(tshark, path, stream):
    """What the window follows from the first message of a stream: of each protocol the filter, and
    the bytes."""
    where = {"filter": f"{stream} and (http or tls)"}
    first = sharkd.ask(tshark, [sharkd.load(path), ("frames", where)])[1][0]["num"]
    asked = sharkd.ask(tshark, [sharkd.load(path), sharkd.frame(first)])[1]["fol"]
    filters = {name: each for name, each in asked if name not in ("TCP", "UDP", "SMC-R")}
    answers = sharkd.ask(
        tshark,
        [
            sharkd.load(path),
            *(("follow", {"follow": name, "filter": each}) for name, each in filters.items()),
        ],
    )[1:]
    return filters, {
        name: [(part.get("s", 0), part["d"]) for part in answer["payloads"]]
        for name, answer in zip(filters, answers, strict=True)
    }


def test_follow_from_roce(tshark, scratch):
    """From a RoCE frame, TLS and HTTP are followed as from a TCP frame; also where a conversation
    stands in for TCP's."""
    for name, known in ("http11", "HTTP"), ("tls12", "TLS"):
        over_tcp, over_smc = (
            TOP / "captures" / "applications" / f"{name}-{kind}.pcapng" for kind in ("tcp", "smcr")
        )
        truth = followed(Tshark(tshark.bed, "none"), over_tcp, "tcp.stream == 0")
        assert (
            truth[0][known] in ("tcp.stream eq 0", "tls.stream eq 0") and truth[1][known]
        )  # 4.6 counts those of TLS
        found = followed(tshark, over_smc, "smcr.stream == 0")
        assert found[0] == truth[0]
        assert {each: [way for way, _ in parts] for each, parts in found[1].items()} == {
            each: [way for way, _ in parts] for each, parts in truth[1].items()
        }
        head, frames = pcapng.read(over_smc)
        late = scratch / f"{name}.pcapng"
        pcapng.write(late, head, frames[12:])
        late.chmod(0o644)
        assert followed(tshark, late, "smcr.stream == 0")[0][known] in (
            "tcp.stream eq 1000000000",
            "tls.stream eq 0",
        )


def carried(tshark, path, numbers):
    """{frame: what each RDMA WRITE shows of the application}. `numbers`: those of the frames in the
    whole capture."""
    rows = tshark.fields(
        path,
        "frame.number",
        "frame.protocols",
        "http.request.uri",
        "http.response.code",
        "http.time",
        where="smcr.write",
        two_pass=True,
    )
    return {
        numbers[int(number) - 1]: (protocols.split(":smcr")[-1], *said)
        for (number,), (protocols,), *said in rows
    }


# Frames that the capture does not have: it begins late, or a hole follows the handshake. The bytes
# of the next RDMA WRITE wait for a CDC message or an acknowledgement.
UNCONFIRMED = {
    "http11-smcr": (range(1, 10), range(1, 14), range(1, 24)),
    "tls12-smcr": (range(1, 10), range(1, 17), range(12, 17)),
}


def beside_other_clock(frames):
    """(frames, interface): what another interface captures of other hosts, after three of the
    frames. Its clock is an hour ahead, and is then set right."""
    hour = 3600 * alterations.UNIT
    _, others = pcapng.read(TOP / "captures" / "real" / "6.1-v1-b-first-contact-ipv6.pcapng")
    half, first = len(others) // 2, pcapng.time(frames[0])
    begun = pcapng.time(others[half])
    moved = [
        pcapng.of_interface(
            pcapng.at_time(each, pcapng.time(each) - begun + first + (hour if at < half else 0)), 1
        )
        for at, each in enumerate(others)
    ]
    others = [each._replace(number=None) for each in moved]
    return [*frames[:3], *others, *frames[3:]], pcapng.interface(1)


def written(path, head, frames):
    pcapng.write(path, head, frames)
    path.chmod(0o644)
    return path


def told_of_times(tshark, path):
    """({begin and end of each connection}, kinds of findings)"""
    report = json.loads(tshark.show(path, "-2", "-q", "-z", "smcr,json"))
    return {(each["first_time"], each["last_time"]) for each in report["connections"]}, {
        each["kind"] for each in report["findings"]
    }


@pytest.mark.parametrize("name", UNCONFIRMED)
def test_a_frame_shows_the_bytes_that_it_carries(tshark, scratch, name):
    """Whichever later frame confirms them: that one shows nothing of the application, and each
    RDMA WRITE what it shows in the whole capture, decrypted and with its times, too. One pass
    counts the same messages."""
    whole = TOP / "captures" / "applications" / f"{name}.pcapng"
    head, frames = pcapng.read(whole)
    truth = carried(tshark, tshark.bed.root / whole.relative_to(TOP), range(1, len(frames) + 1))
    for gone in UNCONFIRMED[name]:
        left = [frame for frame in frames if frame.number not in gone]
        path = written(scratch / f"{gone}.pcapng", head, left)
        among, interface = beside_other_clock(left)
        other = written(scratch / f"{gone}-clock.pcapng", head + interface, among)
        shown = carried(tshark, other, [frame.number for frame in among])
        shown.pop(None, None)
        assert shown == carried(tshark, path, [frame.number for frame in left]), gone
        times, findings = told_of_times(tshark, other)
        assert "clock_step" in findings and times > told_of_times(tshark, path)[0], gone
        assert tshark.frames(path, "smcr.write.data_in", two_pass=True), gone
        confirming = tshark.fields(
            path, "frame.protocols", where="smcr.data_of && !smcr.write", two_pass=True
        )
        assert {protocols.split(":")[-1] for ((protocols,),) in confirming} == {"smcr"}, gone
        assert carried(tshark, path, [frame.number for frame in left]) == {
            number: said for number, said in truth.items() if number not in gone
        }, gone
        one, two = (
            re.findall(r"HTTP .*Packets +\d+", tshark.show(path, "-q", "-z", "http,tree", *passes))
            for passes in ((), ("-2",))
        )
        assert one == two != [], gone
