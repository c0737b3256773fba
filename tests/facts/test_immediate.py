"""
Immediate data of ANCK's RDMA WRITEs bring what CDC brings: cursors, flags, windows, waits and ends
are those of an own reader of the bytes, and the data are dissected and followed as with CDC.
"""

import itertools
import random

import anck
import immediate_reader
import made_dumps
import pytest
from follow import follow, raw
from smcsynth.capture import Capture
from report_runs import ONE, TWO, differences, parse, print_json

FIELDS = (
    "frame.number",
    "smcr.immediate",
    "smcr.immediate.step",
    "smcr.credits",
    "smcr.cdc.announced",
    "smcr.cdc.consumed",
    "smcr.window.offered",
    "smcr.window.unread",
)
READ = ("opcode", "step", "credits", "announced", "consumed", "offered", "unread")
FLAGS = {
    "smcr.cdc.writer_blocked": ("flags", 0x80),
    "smcr.cdc.urgent_pending": ("flags", 0x40),
    "smcr.cdc.urgent_present": ("flags", 0x20),
    "smcr.cdc.update_requested": ("flags", 0x10),
    "smcr.cdc.sending_done": ("state", 0x80),
    "smcr.cdc.closed": ("state", 0x40),
    "smcr.cdc.abort": ("state", 0x20),
}
ITEMS = "_ws.expert.message"
HEALTHY = {"opcodes", "caps", "wraps", "no_credits", "late", "two", "after_end"}


def shown(tshark, path, two_pass):
    """{frame: {what the reader calls it: value}}; values that are not shown are not in it."""
    rows = tshark.fields(path, *FIELDS, *FLAGS, where="smcr.immediate", two_pass=two_pass)
    found = {}
    for row in rows:
        values = dict(zip(FIELDS + tuple(FLAGS), row))
        found[int(values["frame.number"][0])] = {
            **{
                name: int(values[field][0])
                for field, name in zip(FIELDS[1:], READ)
                if values[field]
            },
            **{field: values[field] in (["1"], ["True"]) for field in FLAGS},
        }
    return found


def expected(message):
    """What is shown of a message that the reader has found."""
    values = {name: message[name] for name in READ if message[name] is not None}
    return {**values, **{field: bool(message[of] & bit) for field, (of, bit) in FLAGS.items()}}


def test_messages_are_those_of_the_bytes(tshark):
    """Opcode, step, credits and flags, both cursors and both windows; in one pass and in two."""
    for name, scene in anck.SCENES.items():
        path = anck.store(tshark.bed.scratch, name, scene)
        reader = immediate_reader.Reader(path)
        assert len(reader.messages) >= 3, name
        for two_pass in (False, True):
            found = shown(tshark, path, two_pass)
            wrong = {
                frame: (found.get(frame), expected(message))
                for frame, message in reader.messages.items()
                if found.get(frame) != expected(message)
            }
            if name == "late":  # the client may have heard of the server before the capture
                first = min(reader.messages)
                shows, is_true = wrong.pop(first, ({}, {}))
                assert shows.items() <= is_true.items()
            assert not wrong and found.keys() == reader.messages.keys(), (name, two_pass, wrong)


def check_pauses(conn, *, may_wait):
    """Who has no credits may wait for them: it is not known whether it has nothing to write."""
    for way in ("client_to_server", "server_to_client"):
        time = conn[way]["time"]
        certain = time["nothing_to_write_s"] + time["answer_s"]
        assert certain == 0 if may_wait else certain > 0, (way, time)
        assert not may_wait or time["unknown_s"] >= 1, (way, time)
        assert time["nothing_to_write_most_s"] >= time["nothing_to_write_s"], (way, time)


def test_data_and_reports(tshark):
    """Follow has the bytes that were written, HTTP is dissected, the report divides the time and
    knows the end, healthy captures have no finding, and one pass says the same as two."""
    for name, scene in anck.SCENES.items():
        path = anck.store(tshark.bed.scratch, name, scene)
        reader = immediate_reader.Reader(path)
        reports = [parse(print_json(tshark, path, run)) for run in (ONE, TWO)]
        different = differences(*reports, lambda member: member.endswith("capture.passes"))
        assert not list(different), (name, list(different)[:5])
        written = sorted(each for each in reader.data.values() if each)
        followed = []
        for number, conn in enumerate(reports[1]["connections"]):
            pieces = raw(follow(tshark, path, number, two_pass=True))
            sides = [b"".join(data for way, data in pieces if way == each) for each in (0, 1)]
            followed += [each for each in sides if each]
            end = "abort" if name.startswith("aborts") else "normal"
            assert conn["close"] == end, (name, conn)
            assert conn["client_to_server"]["time"] and conn["server_to_client"]["time"], name
            for way, data in zip(("client_to_server", "server_to_client"), sides):
                assert conn[way]["bytes"] == len(data), (name, way)
        assert sorted(followed) == written, name
        if name in ("opcodes", "no_credits"):
            check_pauses(reports[1]["connections"][0], may_wait=name == "no_credits")
        findings = [
            each for each in reports[1]["findings"] if each["severity"] in ("error", "warn")
        ]
        if name == "opcodes":  # the client read nothing for 0.7 s, as the scene says
            assert {each["kind"] for each in findings} <= {"slow_reader", "buffer_full"}, findings
        elif name in HEALTHY:
            assert not findings, (name, findings)
    path = anck.store(tshark.bed.scratch, "two", anck.two)
    assert len(tshark.frames(path, "http.response", two_pass=True)) == 11


def test_every_bit_pattern(tshark):
    """Each opcode, with the token of the connection, of another one, of none; with reserved and
    random bits: what is not defined gets an item, and no byte of the stream is lost."""
    chosen = random.Random(76)
    tokens = [anck.TOKENS["server"], 0x31, 0x77]
    words = [
        token << 24 | opcode << 21 | low
        for token, opcode in itertools.product(tokens, range(8))
        for low in (0, 0x1FFFFF, 1 << chosen.randrange(21), chosen.randrange(1 << 21))
    ]
    chosen.shuffle(words)
    words.sort(key=lambda word: word >> 21 == tokens[0] << 3 | anck.CTRL)  # they end it

    def scene(capture):
        one = anck.Anck(capture).first_contact()
        one.next(40001, tokens={"client": 0x30, "server": 0x31})
        for number, word in enumerate(words):
            frames[one.request("client", b"%06d" % number, word)] = word

    frames = {}
    path = anck.store(tshark.bed.scratch, "patterns", scene)
    rows = tshark.fields(
        path, "frame.number", "smcr.immediate", ITEMS, where="smcr.write", two_pass=True
    )
    unknown = tshark.frames(path, "smcr.immediate.token_unknown", two_pass=True)
    undefined = tshark.frames(path, "smcr.immediate.opcode_unknown", two_pass=True)
    for number, opcode, items in rows:
        message = immediate_reader.Message(frames[int(number[0])])
        own = message.token == anck.TOKENS["server"]
        assert opcode == ([str(message.opcode)] if own else []), (
            number,
            hex(frames[int(number[0])]),
        )
        odd = [each for each in items if "immediate data" in each]
        assert bool(odd) == (not own or not message.defined), (number, items)
        assert int(number[0]) in (unknown if not own else undefined) or not odd
    assert len(rows) == len(words)
    # the report builds no tree, and counts the same items
    odd = [number for number, _, items in rows if any("eserved" in each for each in items)]
    found = {each["kind"]: each for each in parse(print_json(tshark, path))["findings"]}
    assert odd and found["reserved_not_zero"]["count"] == len(odd)
    pieces = raw(follow(tshark, path, 0, two_pass=True))
    assert b"".join(data for way, data in pieces if way == 0) == b"".join(
        b"%06d" % number for number in range(len(words))
    )


def test_lengths_that_lie(tshark):
    """The length in the RETH is not that of the data, or the packet ends within its immediate data:
    an item each, and no byte is lost."""

    def scene(capture):
        one = anck.Anck(capture).first_contact()
        for length, data in lies:
            word = one.immediate("client")
            whole = dict(offset=one.written["client"])
            frames.append(one.request("client", data, word, length=length, **whole))
        ends.append(one.request("client", b"", one.immediate("client"), cut=18))
        one.write("client", b"after")
        one.bare("server")
        one.close()

    lies = [(number, b"%d bytes?" % number) for number in (0, 5, 5000, 0xFFFFFFFF)] + [(20, b"")]
    frames, ends = [], []
    path = anck.store(tshark.bed.scratch, "lies", scene)
    found = tshark.frames(path, "smcr.write.length_invalid", two_pass=True)
    assert found == frames + ends
    pieces = raw(follow(tshark, path, 0, two_pass=True))
    written = b"".join(data for _, data in lies) + b"after"
    assert b"".join(data for way, data in pieces if way == 0) == written
    assert not {*ends} & {*tshark.frames(path, "smcr.immediate", two_pass=True)}


def test_what_is_missing_is_not_guessed(tshark):
    """Where the capture lacks frames, what is shown is true all the same, and nobody is blamed."""
    for name in ("opcodes", "wraps", "two"):
        scene = anck.SCENES[name]
        whole = anck.store(tshark.bed.scratch, name, scene)
        reader = immediate_reader.Reader(whole)
        numbers = sorted(reader.messages)
        for gone in (numbers[1], numbers[len(numbers) // 2], numbers[3] - 1):
            path = anck.store(
                tshark.bed.scratch,
                f"{name}-without",
                scene,
                lambda all_: [each for number, each in enumerate(all_, 1) if number != gone],
            )
            for frame, found in shown(tshark, path, True).items():
                truth = expected(reader.messages[frame + (frame >= gone)])
                assert found.items() <= truth.items(), (name, gone, frame, found, truth)
            blamed = tshark.frames(path, "smcr.breach", two_pass=True)
            assert blamed == tshark.frames(whole, "smcr.breach", two_pass=True) == [], (name, gone)


def test_agreement(tshark):
    """CDC beside immediate data gets an item and changes nothing. Hosts that have not agreed, and
    hosts of a late capture with CDC or another form, get no messages of immediate data."""

    def beside(capture):
        one = anck.Anck(capture).first_contact()
        anck.talk(one)
        one.write("server", b"not read yet", read=False)
        for flags in ((), ("urgent_pending", "urgent_present"), ("sending_done", "closed")):
            # what the peer could send: all is read, and more is announced
            for role in ("client", "server"):
                prod, cons = one.written[role] + 9, one.written[anck.other(role)]
                frames.append(one.connection.cdc(role, prod=(0, prod), cons=(0, cons), flags=flags))
        one.take("client")
        anck.talk(one)
        frames.append(one.connection.cdc("client", prod=(3, 7), cons=(0, 1)))
        anck.talk(one)
        closes.append(len(capture.frames))
        one.close()

    def late_plain(capture):
        one = anck.Anck(capture).first_contact()
        capture.frames.clear()
        later = one.next(40001, tokens={"client": 0x21, "server": 0x22})
        later.connection.send("client", b"plain")
        anck.talk(later)

    def not_agreed(capture):
        one = anck.Anck(capture, options=anck.VALID | anck.CREDITS).first_contact()
        anck.talk(one)

    frames, closes = [], []
    path = anck.store(tshark.bed.scratch, "beside", beside)
    assert tshark.frames(path, "smcr.cdc.beside_immediate", two_pass=True) == frames
    warned = "smcr.cdc.beside_immediate && _ws.expert.severity >= 0x600000"
    assert tshark.frames(path, warned, two_pass=True) == frames
    reader = immediate_reader.Reader(path)
    assert reader.ignored == frames
    for two_pass in (False, True):
        found = shown(tshark, path, two_pass)
        assert found == {frame: expected(each) for frame, each in reader.messages.items()}
    (conn,) = parse(print_json(tshark, path, TWO))["connections"]
    assert conn["end"]["frame"] > closes[0] and conn["close"] == "normal", conn["end"]
    urgent = [conn[way]["urgent_count"] for way in ("client_to_server", "server_to_client")]
    assert urgent == [0, 0]
    for name, scene in (("plain", late_plain), ("not-agreed", not_agreed)):
        path = anck.store(tshark.bed.scratch, name, scene)
        assert tshark.frames(path, "smcr.write", two_pass=True)
        assert shown(tshark, path, True) == {}, name
    options = tshark.show(path, "-V", "-2", "-Y", "smcr.clc.vendor_options")
    assert options.count("(ANCK: credits)") == 3


HOSTS_TOLD = {"client": ("client",), "server": ("server",), "both": ("client", "server")}
PLACES = ("smcr.write.offset", "smcr.stream.offset", "smcr.dir")


def answers_at(conn, reader, at, roles):
    """What the hosts with these roles report of the connection when frame `at` has gone by."""
    tokens = {anck.TOKENS[role]: role for role in anck.TOKENS}

    def cursor(count):
        return count // conn.sizes[0] & 0xFFFF, count % conn.sizes[0]

    for number, message in reader.messages.items():
        if number <= at:
            sender = made_dumps.ROLES.index(anck.other(tokens[message["to"][1]]))
            conn.last[sender] = made_dumps.NOTHING._replace(
                prod=cursor(message["announced"]), cons=cursor(message["consumed"])
            )
    conn.gids = ["192.0.2.1", "192.0.2.2"]
    frames = []
    for sequence, role in enumerate(roles):
        frames += made_dumps.dump([conn], made_dumps.ROLES.index(role), 7 + sequence)
    return frames


def places(tshark, path):
    """{frame: what is shown of the place of its data}"""
    rows = tshark.fields(path, "frame.number", *PLACES, where="smcr.write", two_pass=True)
    return {int(row[0][0]): dict(zip(PLACES, row[1:])) for row in rows}


@pytest.mark.parametrize("roles", HOSTS_TOLD.values(), ids=HOSTS_TOLD)
def test_late_with_a_report(tshark, roles):
    """The capture begins after CLC, and hosts report their sockets: the token of the WRITE names
    the socket, and the cursor gives the place. What is shown is what the whole capture shows,
    wherever the report comes, though it may be made some frames earlier or later than it is
    captured."""
    capture = Capture()
    began = anck.told(capture)
    whole = anck.store(tshark.bed.scratch, "told", anck.told)
    reader = immediate_reader.Reader(whole)
    source = whole.with_suffix(".pcapng")
    source.touch()
    source.chmod(0o666)
    tshark.bed.edit("-F", "pcapng", whole, source)
    true_places, (conn,) = places(tshark, whole), made_dumps.connections(tshark, source).values()
    numbers = [number for number in sorted(reader.messages) if number > began]
    named = 0
    for at, made in [(at, at) for at in numbers[:9]] + [
        (at, at + by) for at in numbers[2:8:2] for by in (-6, -2, 2, 6)
    ]:
        answers = answers_at(conn, reader, made, roles)
        path = tshark.bed.scratch / f"told-{'-'.join(roles)}-{at}-{made}.pcapng"
        was = made_dumps.late(source, path, cut=began + 1, at=at, answers=answers)
        back = {new: old for new, old in was.items()}
        for frame, found in shown(tshark, path, True).items():
            truth = expected(reader.messages[back[frame]])
            assert found.items() <= truth.items(), (at, made, frame, found, truth)
        placed = {
            frame: found
            for frame, found in places(tshark, path).items()
            if any(found["smcr.write.offset"])
        }
        for frame, found in placed.items():
            truth = true_places[back[frame]]
            assert found["smcr.write.offset"] == truth["smcr.write.offset"], (at, made, frame)
        assert tshark.frames(path, "smcr.cdc.urgent_flags", two_pass=True) == [], (at, made)
        if at == made:
            named += bool(placed)
            blamed = tshark.frames(path, "smcr.breach || smcr.told.otherwise", two_pass=True)
            assert blamed == [], (at, blamed)
    assert named == 9


def test_late_without_a_report(tshark):
    """Nothing shows what the immediate data are: nothing is guessed, and the report does not say
    that there are no connections."""
    whole = Capture()
    began = anck.told(whole)

    def begin_late(frames):
        return frames[began:]

    path = anck.store(tshark.bed.scratch, "late-alone", anck.told, begin_late)
    assert shown(tshark, path, True) == {} and len(tshark.frames(path, "smcr.write")) > 10
    assert tshark.frames(path, "smcr.breach", two_pass=True) == []
    report = tshark.show(path, "-2", "-q", "-z", "smcr,report")
    assert "Connections: none known with SMC-R; " in report


def check_credits(tshark, path):
    """Items and their frames are those of the bytes. Returns {frame that uses the last credit:
    frame that announces more}."""
    used_up = immediate_reader.Reader(path).used_up
    for two_pass in (False, True):
        assert tshark.frames(path, "smcr.credits.used_up", two_pass=two_pass) == sorted(used_up)
        lines = tshark.fields(
            path, "_ws.col.Info", where="smcr.credits.used_up && !http", two_pass=two_pass
        )
        assert all(line[0][0].startswith("[No credits] ") for line in lines), lines
        found = tshark.frames(path, "smcr.credits.announced", two_pass=two_pass)
        assert found == sorted(each for each in used_up.values() if each)
    return used_up


def test_credits_run_out(tshark):
    """With immediate data and with CDC, an item says when; time in which a host may wait for
    credits is unknown, but no wait for space, and nobody's program is blamed. Where packets are
    missing, no item says that there are none."""
    waits = []
    path = anck.store(
        tshark.bed.scratch, "cdc-credits", lambda all_: waits.append(anck.cdc_without_credits(all_))
    )
    used_up = check_credits(tshark, path)
    assert waits[0].items() <= used_up.items(), (waits, used_up)
    with_immediate = anck.store(tshark.bed.scratch, "no_credits", anck.no_credits)
    assert len(check_credits(tshark, with_immediate)) >= 2
    for each in (path, with_immediate):
        report = parse(print_json(tshark, each, TWO))
        (conn,) = report["connections"]
        check_pauses(conn, may_wait=True)
        for way in ("client_to_server", "server_to_client"):
            assert conn[way]["time"]["buffer_full_most_s"] < 0.01, (each, conn[way]["time"])
        kinds = {finding["kind"] for finding in report["findings"]}
        assert not kinds & {"slow_reader", "slow_answer"}, report["findings"]
    gone = tshark.frames(path, "smcr.cdc")[0]
    cut = anck.store(
        tshark.bed.scratch,
        "cdc-credits-cut",
        anck.cdc_without_credits,
        lambda all_: all_[: gone - 1] + all_[gone:],
    )
    assert tshark.frames(cut, "smcr.credits.used_up", two_pass=True) == []
    (conn,) = parse(print_json(tshark, cut, TWO))["connections"]
    assert conn["client_to_server"]["time"]["nothing_to_write_s"] == 0


def test_info(tshark):
    """The packet list has opcode, step, credits and flags."""
    path = anck.store(tshark.bed.scratch, "info", anck.opcodes)
    lines = [row[0][0] for row in tshark.fields(path, "_ws.col.Info", where="smcr.immediate")]
    for wanted in (
        "RDMA WRITE Len=0 DATA Step=3041 Win=16384",
        "RDMA WRITE Len=12 Offset=50 DATA_CR Step=0 Credits=5 Win=16384",
        "DATA_WITH_FLAGS Step=12 [urgent data pending, urgent data present]",
        "Credits=255 [urgent data pending, urgent data present]",
        "CTRL [cursor update requested] Win=16377",
        "CTRL [closed]",
    ):
        assert any(wanted in line for line in lines), (wanted, lines)
    assert any(line.startswith("[Window full] [Writer blocked] ") for line in lines), lines
