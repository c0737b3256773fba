"""
What a report says of TCP connections (`tcp_flows`), by a reader of its own: how congestion was
marked and echoed, what was acknowledged, retransmitted, and how long it took. The definitions are
scetrace's, without its errors.
"""

import collections

from report_frames import ACK, CWR, ECE, FIN, NS, RST, SYN, Segment, of_kind, text_of_time

ECT_1, CE = 1, 3  # codepoints of ECN
TIMESTAMPS, SACK = 8, 5
SEQUENCES = 1 << 32
COUNTS = (
    "packets",
    "segments",
    "data_segments",
    "ip_bytes",
    "acks",
    "acked_bytes",
    "sacked_bytes",
    "dsacks",
    "ce",
    "sce",
    "esce",
    "ece",
    "cwr",
    "esce_acked_bytes",
    "repeated_segments",
    "late_segments",
    "gaps",
    "gap_bytes",
    "duplicate_acks",
    "copies",
)
SOON, RECENT = 100_000, 16  # nanoseconds; segments among which the one before a copy is
TOO_SOON = 3_000_000  # nanoseconds within which no sender learns that a segment is lost
TIMES = ("rtt_s", "tsval_rtt_s", "ipg_s", "sce_ipg_s")


def ahead(one, other):
    """How far a sequence number is ahead of another one; negative if it is behind."""
    return (one - other + SEQUENCES // 2) % SEQUENCES - SEQUENCES // 2


def distribution(samples, unit=10**9):
    """Of samples in nanoseconds, in seconds."""
    return {
        "count": len(samples),
        "sum": sum(samples) / unit,
        "sum_of_squares": sum(sample * sample for sample in samples) / unit / unit,
        "min": min(samples) / unit if samples else None,
        "max": max(samples) / unit if samples else None,
    }


class Way:
    """What one end sends, and how the other acknowledges it."""

    def __init__(self):
        self.counts = dict.fromkeys(COUNTS, 0)
        self.samples = collections.defaultdict(list)
        self.isn = self.expected = self.highest_tsval = None
        self.closed = False  # has it sent a FIN?
        self.reset = False
        self.fin = None  # its sequence number
        self.time = self.sce_time = None  # of the last segment, of the last one with SCE
        self.sce_run, self.runs = 0, []
        self.sent_at, self.tsval_at, self.echoed = {}, {}, set()
        self.acknowledged = (
            self.first_ack
        ) = self.last_ack = None  # of this way's data, by the other end
        self.first_acked = None  # the first number that was acknowledged
        self.recent, self.identified = collections.deque(maxlen=RECENT), False  # to tell copies
        self.newest = None  # the segment that ends highest
        self.asked = 0  # segments with which it may ask for a retransmission
        self.seen, self.syns = set(), set()  # pieces of data that came; numbers of SYNs
        self.sacked = set()  # those bytes that were acknowledged selectively, and not otherwise yet

    def note(self, name, sample):
        self.samples[name].append(sample)

    def copies(self, segment, heard, asked):
        """Is a segment that is no RST there for the second time? `heard`: packets of the other end
        so far; `asked`: those that may ask for a retransmission."""
        apart = segment.ip_id or timestamps(segment) is not None
        if not apart and not segment.length and not segment.flags & (SYN | FIN):
            return False
        self.identified = True
        key = (
            segment.seq,
            segment.ack,
            segment.length,
            segment.flags,
            timestamps(segment),
            segment.ip_id,
            apart or heard,
        )
        carries = segment.length or segment.flags & (SYN | FIN)
        told = timestamps(segment) is not None and (segment.ip_id or segment.flags & SYN)
        if any(
            key == other
            and (
                told
                or 0 <= segment.frame.time - time <= SOON
                or (timestamps(segment) is not None and carries and before == asked)
            )
            for other, time, before in self.recent
        ):
            return True
        self.recent.append((key, segment.frame.time, asked))
        return False

    def send(self, segment):
        """A segment that is no RST leaves."""
        counts, time = self.counts, segment.frame.time
        counts["segments"] += 1
        counts["data_segments"] += segment.length > 0
        counts["acks"] += bool(segment.flags & ACK)
        if self.time is not None and time >= self.time:
            self.note("ipg_s", time - self.time)
        self.time = time
        if segment.length > 0:
            self.sent_at[segment.seq] = time
        self.order(segment)
        if segment.length > 0:
            self.seen.add((segment.seq, segment.length))
        if segment.flags & SYN:
            self.syns.add(segment.seq)
        self.stamp(segment)
        if segment.flags & ACK and not segment.flags & (SYN | FIN) and not self.closed:
            self.marks(segment)
        if segment.flags & FIN:
            fin = (segment.seq + segment.length) % SEQUENCES
            late = self.fin is None and self.first_acked is not None
            if late and 0 <= ahead(fin, self.first_acked) < ahead(
                self.acknowledged, self.first_acked
            ):
                self.counts["acked_bytes"] -= 1
            self.closed, self.fin = True, fin

    def stamp(self, segment):
        stamps = timestamps(segment)
        if stamps is None:
            return
        if stamps[0] not in self.echoed:
            self.tsval_at[stamps[0]] = segment.frame.time
        if self.highest_tsval is not None and ahead(stamps[0], self.highest_tsval) < 0:
            self.counts["late_segments"] += 1
        else:
            self.highest_tsval = stamps[0]

    def order(self, segment):
        """Is a segment where it was expected? One without sequence numbers repeats nothing, nor
        does a keep-alive, nor what was sent before the segment that ends highest."""
        taken = segment.length + bool(segment.flags & SYN) + bool(segment.flags & FIN)
        end = (segment.seq + taken) % SEQUENCES
        if self.expected is None:
            self.expected, self.newest = end, segment
            return
        jump = ahead(segment.seq, self.expected)
        if jump > 0:
            self.counts["gaps"] += 1
            self.counts["gap_bytes"] += jump
        keep_alive = (
            taken == segment.length == 1
            and end == self.expected
            and self.acknowledged is not None
            and ahead(end, self.acknowledged) <= 0
        )
        if jump < 0 and taken and not keep_alive and self.was_sent_after(segment):
            self.counts["repeated_segments"] += 1
        if ahead(end, self.expected) >= 0:
            self.expected, self.newest = end, segment

    def is_known(self, segment):
        """Has some of it come before?"""
        fin = (segment.seq + segment.length) % SEQUENCES
        if segment.length and any(
            -segment.length < ahead(segment.seq, at) < size for at, size in self.seen
        ):
            return True
        syn = segment.flags & SYN and segment.seq in self.syns
        return bool(syn or (segment.flags & FIN and fin == self.fin))

    def was_sent_after(self, segment):
        """Was it sent after the segment that ends highest: is it a retransmission?"""
        own, other = timestamps(segment), timestamps(self.newest)
        apart = ahead(own[0], other[0]) if own and other else 0
        if apart < 0 or self.is_known(segment):
            return apart >= 0
        if apart:
            return True
        if segment.ip_id and self.newest.ip_id and segment.ip_id != self.newest.ip_id:
            return (segment.ip_id - self.newest.ip_id) % 65536 < 32768
        return not 0 <= segment.frame.time - self.newest.frame.time < TOO_SOON

    def marks(self, segment):
        for name, present in (
            ("cwr", segment.flags & CWR),
            ("ece", segment.flags & ECE),
            ("esce", segment.flags & NS),
            ("ce", segment.ecn == CE),
        ):
            self.counts[name] += bool(present)
        if segment.ecn == ECT_1:
            self.counts["sce"] += 1
            if self.sce_time is not None:
                self.note("sce_ipg_s", segment.frame.time - self.sce_time)
            self.sce_time = segment.frame.time
            self.sce_run += 1
        elif self.sce_run:
            self.runs.append(self.sce_run)
            self.sce_run = 0

    def hear(self, segment, answerer):
        """A segment of the other end (answerer) that is no RST arrives."""
        stamps = timestamps(segment)
        if stamps is not None and stamps[1] in self.tsval_at:
            self.note("tsval_rtt_s", segment.frame.time - self.tsval_at.pop(stamps[1]))
            self.echoed.add(stamps[1])
        if segment.flags & ACK:
            new = self.acknowledge(segment, answerer)
            echoes = segment.flags & NS and not segment.flags & (SYN | FIN) and not answerer.closed
            self.counts["esce_acked_bytes"] += new if echoes else 0

    def acknowledge(self, segment, answerer):
        """Bytes that an ACK acknowledges for the first time, selectively or not."""
        time, before = segment.frame.time, self.acknowledged
        if before is None:
            self.first_ack = self.last_ack = time
            self.acknowledged = self.first_acked = segment.ack
            return 0
        moved, new = ahead(segment.ack, before), 0
        answerer.counts["duplicate_acks"] += moved == 0
        carries = segment.length or segment.flags & (SYN | FIN | RST)
        blocks = [value for kind, value in segment.options if kind == SACK]
        sacks = bool(blocks)
        first_end = int.from_bytes(blocks[0][4:8], "big") if sacks and len(blocks[0]) >= 8 else None
        self.counts["dsacks"] += first_end is not None and ahead(first_end, segment.ack) <= 0
        answerer.asked += bool(sacks or (moved == 0 and not carries))
        if moved > 0:
            self.acknowledged, self.last_ack = segment.ack, time
            known = {at for at in self.sacked if ahead(at, segment.ack) < 0}
            self.sacked -= known
            fin = self.fin is not None and 0 <= ahead(self.fin, before) < moved
            new = moved - len(known) - fin
            self.counts["acked_bytes"] += new
            if before in self.sent_at:
                self.note("rtt_s", time - self.sent_at.pop(before))
        return new + self.acknowledge_selectively(segment)

    def acknowledge_selectively(self, segment):
        fresh = set()
        for kind, value in segment.options:
            for at in range(0, len(value) - 7, 8) if kind == SACK else ():
                left, right = int.from_bytes(value[at : at + 4], "big"), int.from_bytes(
                    value[at + 4 : at + 8], "big"
                )
                for byte in range(
                    max(0, ahead(left, self.acknowledged)), max(0, ahead(right, self.acknowledged))
                ):
                    fresh.add((self.acknowledged + byte) % SEQUENCES)
        fresh -= self.sacked
        self.sacked |= fresh
        self.counts["sacked_bytes"] += len(fresh)
        return len(fresh)

    def may_have_acked_fin(self):
        """Is the last number that was acknowledged in no segment, and behind all of them?"""
        if not self.counts["acked_bytes"] or self.fin is not None:
            return False
        last = (self.acknowledged - 1) % SEQUENCES
        behind = self.expected is None or ahead(self.acknowledged, self.expected) >= 0
        return behind and not any(0 <= ahead(last, at) < size for at, size in self.seen)

    def report(self):
        runs = [*self.runs, self.sce_run] if self.sce_run else self.runs
        elapsed = None if self.first_ack is None else (self.last_ack - self.first_ack) / 1e9
        acked, data = self.counts["acked_bytes"], self.counts["data_segments"]
        if may_be_fin := self.may_have_acked_fin():
            acked = 0
        unknown = (
            {"late_segments": None}
            if self.counts["segments"] and self.highest_tsval is None
            else {}
        )
        unknown |= {"copies": None} if self.counts["segments"] and not self.identified else {}
        unknown |= {"acked_bytes": None} if may_be_fin else {}
        unknown |= (
            {"esce_acked_bytes": None} if may_be_fin and self.counts["esce_acked_bytes"] else {}
        )
        return {
            **self.counts,
            **unknown,
            **{name: distribution(self.samples[name]) for name in TIMES},
            "sce_run_length": distribution(runs, 1),
            "ack_elapsed_s": elapsed,
            "derived": {
                "sce_percent": 100 * self.counts["sce"] / data if data else None,
                "ce_percent": 100 * self.counts["ce"] / data if data else None,
                "esce_acked_bytes_percent": 100 * self.counts["esce_acked_bytes"] / acked
                if acked
                else None,
                "goodput_bit_s": 8 * acked / elapsed if elapsed and not may_be_fin else None,
            },
        }


def timestamps(segment):
    """(TSval, TSecr) of a segment; None if it has none."""
    for kind, value in segment.options:
        if kind == TIMESTAMPS and len(value) == 8:
            return int.from_bytes(value[:4], "big"), int.from_bytes(value[4:], "big")
    return None


class Flow:
    """A TCP connection; `up` is what the end sends whose packet came first."""

    def __init__(self, stream, first):
        self.stream, self.first = stream, first
        self.up, self.down = Way(), Way()
        self.segments = []
        self.initiated = self.accepted = None

    def way(self, segment):
        return (self.up, self.down) if segment.ends == self.first.ends else (self.down, self.up)

    def begins_anew(self, segment):
        """Is it the SYN of another connection between the same ports?"""
        own, _ = self.way(segment)
        over = any(way.closed or way.reset for way in (self.up, self.down))
        return (
            segment.flags & (SYN | ACK) == SYN
            and own.isn is not None
            and (segment.seq != own.isn or over)
        )

    def add(self, segment):
        self.segments.append(segment)
        own, other = self.way(segment)
        own.counts["packets"] += 1
        own.counts["ip_bytes"] += segment.ip_bytes
        if segment.flags & RST:
            own.reset = True
            return
        if own.copies(segment, other.counts["packets"], other.asked):
            own.counts["copies"] += 1
            return
        if segment.flags & SYN:
            own.isn = segment.seq
            self.negotiate(segment)
        other.hear(segment, own)
        own.send(segment)

    def negotiate(self, segment):
        ece, cwr = bool(segment.flags & ECE), bool(segment.flags & CWR)
        if segment.flags & ACK:
            self.accepted = ece and not cwr if self.accepted is None else self.accepted
        else:
            self.initiated = ece and cwr if self.initiated is None else self.initiated

    @property
    def client(self):
        """The end that has sent the SYN; None if the capture has neither that nor its answer."""
        for each in self.segments:
            if each.flags & SYN:
                return each.ends[bool(each.flags & ACK)]
        return None

    def isn(self):
        """First sequence numbers, as the capture has them."""
        syn = {
            bool(each.flags & ACK): each.seq for each in reversed(self.segments) if each.flags & SYN
        }
        return {"client": syn.get(False), "server": syn.get(True)}

    def report(self):
        (src, src_port), (dst, dst_port) = self.first.ends
        return {
            "tcp_stream": self.stream,
            "tcp_isn": self.isn(),
            "src": src,
            "dst": dst,
            "src_port": src_port,
            "dst_port": dst_port,
            "first_time": text_of_time(self.first.frame.time),
            "last_frame": self.segments[-1].frame.number,
            "last_time": text_of_time(self.segments[-1].frame.time),
            "ecn_initiated": self.initiated,
            "ecn_accepted": self.accepted,
            "up": self.up.report(),
            "down": self.down.report(),
        }


def flows_of(segments):
    """The TCP connections of segments, in the order of their first packets."""
    found, current = [], {}
    for segment in segments:
        key = frozenset(segment.ends)
        flow = current.get(key)
        if flow is None or flow.begins_anew(segment):
            flow = current[key] = Flow(len(found), segment)
            found.append(flow)
        flow.add(segment)
    return found


def flows(path):
    return flows_of(of_kind(path, Segment))
