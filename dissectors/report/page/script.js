/* The script of the page: shows what the blocks of JSON have, and computes no figure. Text of the
 * capture goes into the page as text only (textContent).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
"use strict";

(() => {

// ---- data and small helpers ----

const data = id => JSON.parse(document.getElementById(id).textContent);
const report = data("report"), rows = data("rows"), pictures = data("pictures"), more = data("tables");
const byId = id => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const MOST_ROWS = 20; // rows that a table shows before the user asks for more

/* Returns an element with a class and children, which are elements or texts. */
function make(name, kind, ...children) {
    const element = document.createElement(name);
    if (kind)
        element.className = kind;
    for (const child of children)
        element.append(child); // append() makes a text node of a text
    return element;
}

/* Returns an element of SVG. */
function draw(name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes))
        element.setAttribute(key, value);
    if (text !== undefined)
        element.textContent = text;
    return element;
}

const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const grouped = number => String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
const known = value => value !== null && value !== undefined;

/* Nanoseconds from the first frame of the capture to a time, which JSON has as a text. */
function nanoseconds(text) {
    const [seconds, rest] = text.split(".");
    return BigInt(seconds) * 1000000000n + BigInt(rest);
}
const start = report.capture.first_time ? nanoseconds(report.capture.first_time) : 0n;
const since = text => Number(nanoseconds(text) - start) / 1e9;
const whole = report.capture.last_time ? since(report.capture.last_time) : 0;

function duration(seconds) {
    const size = Math.abs(seconds);
    if (size === 0)
        return "0 s";
    if (size < 1e-3)
        return `${+(seconds * 1e6).toPrecision(4)} µs`;
    if (size < 1)
        return `${+(seconds * 1e3).toPrecision(4)} ms`;
    return `${+seconds.toFixed(size < 100 ? 4 : 1)} s`;
}

function bytes(number) {
    for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
        if (number >= 10 * size || number >= size && unit !== "KiB")
            return `${+(number / size).toFixed(2)} ${unit}`;
    return `${grouped(number)} B`;
}

/* Numbers of a picture are differences to the number before. */
function added(differences, unit) {
    let sum = 0;
    return differences.map(each => (sum += each) / unit);
}

let forgetCopied;
function copy(text) {
    const done = () => {
        byId("copied").textContent = `Copied: ${text}`;
        clearTimeout(forgetCopied);
        forgetCopied = setTimeout(() => byId("copied").textContent = "", 2500);
    };
    const byHand = () => {
        const field = make("textarea");
        field.value = text;
        document.body.append(field);
        field.select();
        document.execCommand("copy");
        field.remove();
        done();
    };
    if (navigator.clipboard)
        navigator.clipboard.writeText(text).then(done, byHand);
    else
        byHand();
}
const copyFrame = frame => frame && copy(`frame.number == ${frame}`);

/* A button that copies a text. */
function copier(label, text) {
    const button = make("button", "", label);
    button.type = "button";
    button.className = label.startsWith("copy") ? "only-screen" : "";
    button.title = `Copy: ${text}`;
    button.addEventListener("click", event => {
        event.stopPropagation();
        copy(text);
    });
    return button;
}

function section(id, title) {
    const part = make("section", "", make("h2", "", title));
    part.id = id;
    const link = make("a", "", title);
    link.href = `#${id}`;
    byId("sections").append(link);
    byId("page").append(part);
    return part;
}

// ---- the capture and the findings ----

function showCapture() {
    const capture = report.capture, when = capture.first_time;
    const facts = [`${grouped(capture.frames)} frames`, bytes(capture.bytes)];
    if (when) {
        facts.push(new Date(Number(when.split(".")[0]) * 1000).toISOString().replace("T", " ").slice(0, 19) + " UTC");
        facts.push(duration(whole));
    }
    facts.push(`Wireshark ${capture.wireshark}`, `plugin ${capture.plugin}`);
    if (capture.filter)
        facts.push(`only packets of the filter ${capture.filter}`);
    byId("capture").textContent = facts.join(" · ");
}

const NEAR = 40; // points of pictures on the side that has them closer, which the button of a time shows

/* The times of all points in the pictures of connections, in order. */
let pointTimes = null;
function timesOfPictures() {
    const lines = pictures.connections.flatMap(each => each.directions).flatMap(each => [...Object.values(each.lines), ...Object.values(each.marks)]);
    if (!pointTimes)
        pointTimes = Float64Array.from(lines.flatMap(line => added(line.t, 1e9))).sort();
    return pointTimes;
}

/* How much time the pictures show beside a time: a tenth of what they show at first; less if they
 * have many points there, as in a burst before hours of silence. */
function widthAt(seconds) {
    const times = timesOfPictures(), index = lastBefore(times, seconds), most = (home.max - home.min) / 10;
    const sides = [seconds - times[index - NEAR], times[index + NEAR] - seconds].filter(each => each > 0);
    return Math.min(most, 2 * Math.min(...sides));
}

/* The worst time of a finding, from its begin to its end or, if it is not over, to the end of the
 * capture: {begin, end, isOver}, seconds. null: the finding has no such time. */
function spanOf(finding) {
    const isOver = known(finding.end_time);
    return known(finding.begin_time) ? {begin: since(finding.begin_time), end: isOver ? since(finding.end_time) : whole, isOver} : null;
}

/* The number of the connection with pictures that has the worst time of a finding as one of its longest
 * waits; null: there is none. */
function waiterOf(finding) {
    const isIt = wait => wait.begin_frame === finding.begin_frame && wait.end_frame === finding.end_frame;
    const found = [...entryOf].find(([stream, entry]) => drawnOf.has(stream) && entry.longest_waits.some(isIt));
    return known(finding.begin_frame) && found ? found[0] : null;
}

/* The picture of the connection that a finding is about: of the connection that waited, or of the one
 * connection that its filter names. null: there is none. */
function pictureOf(finding) {
    const named = /^smcr\.stream == (\d+)$/.exec(finding.filter || ""), waiter = waiterOf(finding);
    const stream = known(waiter) ? waiter : named ? Number(named[1]) : null;
    return known(stream) ? byId(`connection-${stream}`) : null;
}

/* What the button of a finding's time says: "at 1.2 s"; of a time that lasts, its begin and how long it
 * lasted: "1.2 s to 2 s (800 ms)". */
function timeLabel(seconds, span) {
    if (!span)
        return `at ${duration(seconds)}`;
    return `${duration(span.begin)} to ${span.isOver ? duration(span.end) : "the end"} (${duration(span.end - span.begin)})`;
}

/* A button that shows the time of a finding in all pictures, and the cursor there. It shows all of a
 * time that lasts, and opens the pictures of the connection that waited. */
function pointer(finding) {
    const seconds = since(finding.time), span = spanOf(finding), button = make("button", "", timeLabel(seconds, span));
    button.type = "button";
    button.title = "Show this time in the pictures";
    button.addEventListener("click", () => {
        const width = widthAt(seconds), box = pictureOf(finding);
        const room = span ? (span.end - span.begin) / 4 : 0;
        if (box)
            box.open = true;
        if (span && span.end - span.begin > width / 2)
            setRange(span.begin - room, span.end + room);
        else
            setRange(seconds - width / 2, seconds + width / 2);
        setCursor(seconds, null);
        (box || document.querySelector(".picture") || document.body).scrollIntoView();
    });
    return button;
}

function showFindings() {
    const part = section("findings", "Findings");
    const list = make("ol", "findings");
    const isForeign = !report.connections.length && !report.rdma_flows.length && !report.other_roce;
    const hasNothing = isForeign && !report.tcp_flows.length && !report.findings.length;
    for (const line of [...more.lines.limits, ...(hasNothing ? [] : more.lines.health)])
        part.append(make("p", "faint", line));
    for (const finding of report.findings) {
        const item = make("li", finding.severity, make("span", "severity", finding.severity), finding.text, " · ");
        if (known(finding.frame))
            item.append(copier(`frame ${finding.frame}`, `frame.number == ${finding.frame}`), " ");
        if (known(finding.time))
            item.append(pointer(finding), " ");
        if (finding.filter)
            item.append(copier("copy filter", finding.filter), make("br"), make("code", "faint", finding.filter));
        list.append(item);
    }
    part.append(list);
    if (isForeign)
        part.append(make("p", "", `The capture has no SMC-R, no RoCE and no TCP connection${hasNothing ? "" : " that offers SMC-R"}.`));
}

// ---- tables ----

const at = (entry, path) => path.split(".").reduce((value, name) => known(value) ? value[name] : null, entry);

/* How a value is written, by the kind of the column. */
const kinds = {
    text: value => value,
    number: value => grouped(value),
    identifier: value => String(value),
    bytes: value => grouped(value),
    seconds: value => duration(value),
    frame: value => String(value),
    time: value => duration(since(value)),
    list: value => value.join(", "),
    links: value => value.map(link => known(link.number) ? link.number : "?").join(", "),
    truth: value => value ? "yes" : "no",
    code: value => `0x${value.toString(16).padStart(8, "0")}`,
};

/* A number of which only bounds are known, as the report as text writes it. */
function bounds(kind, [least, most]) {
    if (most === null)
        return least ? `≥ ${kinds[kind](least)}` : "?";
    if (!least)
        return `≤ ${kinds[kind](most)}`;
    const [low, high] = [least, most].map(kinds[kind]);
    if (low === high)
        return low;
    return most >= 2 * least ? `≥ ${low}` : `${low} to ${high}`;
}

/* A cell of a table. `limits`: bounds of the value, if only they are known; null: it is exact, or
 * nothing is known. */
function cell(kind, value, path, limits = null) {
    const isList = kind === "list" || kind === "links", td = make("td", kind === "text" || isList ? "text" : "number");
    td.dataset.path = path;
    td.dataset.value = JSON.stringify(known(value) ? value : null);
    if (limits)
        td.textContent = bounds(kind, limits);
    else if (!known(value)) {
        td.textContent = "–";
        td.title = "none, or not known";
    } else if (Array.isArray(value) && !isList)
        td.textContent = bounds(kind, value);
    else if (kind === "frame")
        td.append(copier(String(value), `frame.number == ${value}`));
    else
        td.textContent = kinds[kind](value);
    if (kind === "text" && known(value))
        td.title = value; // a narrow column leaves out the end
    return td;
}

function compare(one, other) {
    if (Array.isArray(one) || Array.isArray(other))
        return compare([one].flat()[0], [other].flat()[0]);
    if (!known(one) || !known(other))
        return known(one) - known(other);
    return typeof one === "string" ? one.localeCompare(String(other), "en", {numeric: true}) : one - other;
}

/* What columns show: {path in the JSON, or head in Wireshark's table: sentence}. Plain columns have
 * none. docs/json.md and docs/statistics.md say more. Times in cells have their unit. */
const MEANINGS = {
    // connections
    "translated_client.addr": "The client, as the capture shows it once more, with another address or port",
    "translated_server.addr": "The server, as the capture shows it once more, with another address or port",
    roce_stream: "Number under which the RoCE packets of the connection are dissected (smcr.stream), where its TCP ports are inferred",
    outcome: "Whether the connection used SMC-R, fell back to TCP, or failed",
    "fallback.time": "When the Decline, the missing option or the report of a host showed that the connection uses TCP: seconds from the first frame of the capture. It may have fallen back before a report",
    "setup.fallback_s": "From the SYN until the connection fell back to TCP",
    links: "Numbers of the links that carried the connection, in this order",
    first_time: "Time of its first frame: seconds from the first frame of the capture",
    last_time: "Time of its last frame: seconds from the first frame of the capture",
    "client_to_server.bytes": "Bytes of the application, each once",
    "server_to_client.bytes": "Bytes of the application, each once",
    "client_to_server.repeated_packets": "Number of retransmitted packets of the client's WRITEs and CDC messages",
    "server_to_client.repeated_packets": "Number of retransmitted packets of the server's WRITEs and CDC messages",
    "client_to_server.time.buffer_full_s": "How long the client waited for space in the server's receive buffer",
    "server_to_client.time.buffer_full_s": "How long the server waited for space in the client's receive buffer",
    "client_to_server.time.reader_s": "Of \"Buffer full →\": the server's program had data to read, and did not",
    "server_to_client.time.reader_s": "Of \"Buffer full ←\": the client's program had data to read, and did not",
    "client_to_server.time.retransmission_s": "How long the client waited for retransmissions of either end",
    "server_to_client.time.retransmission_s": "How long the server waited for retransmissions of either end",
    setup_s: "From the SYN until the connection can carry data over SMC-R. After a fallback: none",
    "end.by": "The end whose CDC message was the first that closed or aborted the connection. With ↔ between the ends: client is the first one, server the second one",
    close: "How the connection ended: closed by both ends, aborted, reset, or open at the end of the capture",
    "tokens.client": "Alert token of the end in front: it names the connection in CDC messages",
    "tokens.server": "Alert token of the other end: it names the connection in CDC messages",
    // links
    state: "State at the end of the capture",
    mtu_bytes: "Path MTU: the smaller of the two announced MTUs, bytes",
    added_frame: "Frame that announced the link, or the first frame that shows it",
    deleted_frame: "Frame of the DELETE LINK request for the link",
    reject_reason: "Reason that the client gave when it rejected the link in its ADD LINK response",
    lost_frame: "First DELETE LINK message that reports the path of the link as lost",
    moved_from: "Number of connections that left the link for another one",
    moved_to: "Number of connections that came to the link from another one",
    // flows and recovery
    gaps: "Number of places where packets are missing in the capture",
    "up.segments": "Segments from the address \"From\", without those with RST",
    "down.segments": "Segments to the address \"From\", without those with RST",
    rnr_nak: "RNR NAKs that the flow carries: the receiver had no receive request for the data of the opposite flow",
    "nak.psn_sequence": "NAKs that the flow carries: packets of the opposite flow are missing at the receiver",
    "ecn.ce": "Packets that a switch has marked: congestion",
    outer_ce: "Packets that are marked only on the header of their tunnel",
    cnp: "Number of congestion notifications: they ask the other host to send less",
    "repeated_after.nak": "Packets that were retransmitted after a NAK",
    "repeated_after.timeout": "Packets that were retransmitted after the sender's timer had run out",
    "repeated_after.rnr": "Packets that were retransmitted after an RNR NAK",
    "repeated_after.icrc": "Packets that were retransmitted after a NAK for a packet with a wrong ICRC",
    "repeated_after.read": "READ responses that the requester re-requested",
    "repeated_after.unknown": "Retransmitted packets, cause unknown: a timer may have run out",
    "recovery.go_back_n": "NAKs after which the sender retransmitted later packets, too",
    "recovery.selective": "NAKs after which the sender retransmitted no later packet",
    "recovery.refilled": "Packets of gaps that came with a retransmission: the first transmission was lost upstream of the capture point",
    "recovery.needless": "Packets that were retransmitted after their acknowledgement",
    "recovery.answered_twice": "Retransmissions that the receiver acknowledged as well as the first transmission: both arrived",
    "recovery.implied_naks": "READ requests that were retransmitted at once, since a later response showed that a response was missing",
    "recovery.read_timeouts": "READ requests that were retransmitted since the sender's timer ran out",
    "recovery.reordered": "Packets that came after later ones, and are no retransmissions",
    "recovery.unfilled": "Packets of gaps that did not come until the end of the capture, neither late nor retransmitted: lost upstream of the capture point, or not captured",
    "recovery.ack_timeout": "The sender's Local ACK Timeout n, as far as its retransmissions show it: the timer runs for at least 4.096 µs × 2^n",
    // adapters
    "gap_to_nak_s.min": "As a receiver: shortest time from the first request after a gap to the NAK",
    "gap_to_nak_s.max": "As a receiver: longest time from the first request after a gap to the NAK",
    "nak_to_resend_s.min": "As a sender: shortest time from a NAK to the retransmission",
    "nak_to_resend_s.max": "As a sender: longest time from a NAK to the retransmission",
    recovery: "What the adapter retransmits after a NAK: only what is missing (selective), or later packets, too (go-back-n)",
    "timeout_s.min": "As a sender: shortest time that its timer had run when it retransmitted",
    "timeout_s.max": "As a sender: longest time that its timer had run when it retransmitted",
    ack_timeout: "The adapter's Local ACK Timeout n, as far as its retransmissions show it: the timer runs for at least 4.096 µs × 2^n",
    "ce_to_cnp_s.min": "As a receiver: shortest time from a congestion mark to the CNP",
    "ce_to_cnp_s.max": "As a receiver: longest time from a congestion mark to the CNP",
    "cnp_limit.scope": "Whose CNPs the adapter limits together: those of a flow, to an address (pair), or all from its address",
    "cnp_limit.least_s": "Lower bound of the interval between two CNPs",
    "cnp_limit.most_s": "Upper bound of the interval between two CNPs",
    // pauses, TCP, and others
    resumes: "Frames with 0 quanta, which end a pause",
    quanta: "Sum of the quanta: a quantum is the time of 512 bits",
    paused_s: "How long the class was paused; not known without the preference smcr.link_speed",
    paused_most_s: "How long the class was paused at most",
    priority: "The class that the frames pause",
    unread: "Frames whose transport header was not found, or was truncated",
    naks: "Number of NAKs",
    rnr_naks: "Number of RNR NAKs",
    ce: "Packets that a switch has marked: congestion",
    "up.acked_bytes": "Bytes that the other end acknowledged",
    "down.acked_bytes": "Bytes that the other end acknowledged",
    by: "The end that caused it",
    // Wireshark's tables
    "Buffer full (s)": "How long the writer waited for space in the reader's receive buffer",
    "Retransmission (s)": "How long the writer waited for retransmissions of either end",
    "Transfer (s)": "How long data was under way",
    "Answer (s)": "How long the peer answered: from a WRITE of the writer to the peer's last WRITE before the writer's next one",
    "Nothing to write (s)": "How long the writer's program had nothing to write",
    "Setup (s)": "How long the setup of the connection took",
    "Unknown (s)": "Time of which it is not known what happened: packets are missing, or came before the capture",
    Buffer: "Size of the reader's receive buffer, bytes",
    Blocked: "How often the writer reported that it waits for space",
    "Window full": "How often data filled the receive buffer",
    WRITEs: "Number of RDMA WRITE requests, without retransmissions",
    CDC: "Number of CDC messages, without retransmissions",
    Retransmitted: "Number of retransmitted packets",
    "ACK mean (s)": "From a request to its acknowledgement: mean",
    "ACK p99 (s)": "From a request to its acknowledgement: 99 % were at most as long",
    "ACK max (s)": "From a request to its acknowledgement: longest",
    "Sent to reported read mean (s)": "From an announcement to the message that reports it as read: mean. The reader may have read long before",
    "Sent to reported read p99 (s)": "From an announcement to the message that reports it as read: 99 % were at most as long",
    "Sent to reported read max (s)": "From an announcement to the message that reports it as read: longest. Linux reports small reads with its next message only, so the reader may have read long before",
    Unreported: "Bytes that were announced, and not reported as read by the end of the capture",
    Urgent: "Number of announcements of urgent data",
    "Latency mean (s)": "From a message's first packet to the acknowledgement of its last one: mean",
    "Latency p99 (s)": "From a message's first packet to the acknowledgement of its last one: 99 % were at most as long",
    "Latency max (s)": "From a message's first packet to the acknowledgement of its last one: longest",
    Gaps: "Number of places where packets are missing in the capture",
    Missing: "Number of packets that are missing in the capture",
    Duplicates: "Duplicates of packets, made by the network or the capture",
    Payload: "Bytes of payload, with retransmissions",
    Goodput: "Bytes of payload, without retransmissions",
    "Outer CE": "Packets that are marked only on the header of their tunnel",
    "Lost between": "Packets that were lost after the first point, before the second",
    "Lost after": "Packets that were lost after the second point, which is the last one",
    Unanswered: "Packets that were lost after the second point, or whose acknowledgement was",
    "Not captured": "Packets that passed a point that does not have them",
    Undecided: "Packets that were lost or not captured, or one of several that were retransmitted together",
    Delayed: "Packets that took unusually long between the points",
    "Delay ± (s)": "How wrong the delays may be",
    "Confirmed in": "Frame of CONFIRM RKEY; none if CLC or ADD LINK announced the RKeys",
    "Deleted in": "Frame of DELETE RKEY",
};

/* What a head shows when the mouse is over it: the meaning, and where else the figure is. */
function meaningOf(name, path) {
    const place = name.startsWith("smcr,") ? `column of -z ${name}` : `${path} in the JSON`;
    return MEANINGS[path] ? `${MEANINGS[path]}\n(${place})` : place;
}

/* A table that its heads sort. `name`: of the list in the JSON. `columns`: [head, path, kind].
 * `value`: returns the value of a row's column. `chosen`: returns what a click on a row does; null:
 * nothing. `limits`: returns the bounds of a row's column; null: the value is exact. */
function table(name, list, columns, value, chosen = () => null, limits = () => null) {
    const head = make("tr"), body = make("tbody"), all = make("button", "only-screen", "Show all rows");
    let order = [...list.keys()], sorted = null, most = MOST_ROWS, wanted = "";
    const field = make("input", "only-screen");
    field.type = "search";
    field.placeholder = "Rows with this text";
    field.setAttribute("aria-label", "Show only rows with this text");
    const rank = (row, path) => [value(row, path), ...(limits(row, path) || [])].find(known);
    const isIn = found => known(found) && typeof found !== "object" && String(found).toLowerCase().includes(wanted);
    const fits = row => !wanted || columns.some(([, path]) => isIn(value(row, path)));
    function fill() {
        const found = wanted ? order.filter(index => fits(list[index])) : order;
        body.replaceChildren(...found.slice(0, most).map(index => {
            const line = make("tr", "", ...columns.map(([, path, kind]) => cell(kind, value(list[index], path), path, limits(list[index], path))));
            const choose = chosen(list[index]);
            if (choose) {
                line.className = "opens";
                line.addEventListener("click", choose);
            }
            return line;
        }));
        all.hidden = found.length <= most;
        all.textContent = `Show all ${grouped(found.length)} rows`;
    }
    for (const [index, [label, path]] of columns.entries()) {
        const th = make("th", "", label);
        th.tabIndex = 0;
        th.scope = "col";
        th.title = meaningOf(name, path);
        const sort = () => {
            const sign = sorted === index && th.getAttribute("aria-sort") === "descending" ? 1 : -1;
            for (const each of head.children)
                each.removeAttribute("aria-sort");
            th.setAttribute("aria-sort", sign < 0 ? "descending" : "ascending");
            sorted = index;
            order.sort((a, b) => sign * compare(rank(list[a], path), rank(list[b], path)) || a - b);
            fill();
        };
        th.addEventListener("click", sort);
        th.addEventListener("keydown", event => {
            if (event.key === "Enter" || event.key === " ") {
                event.preventDefault();
                sort();
            }
        });
        head.append(th);
    }
    field.addEventListener("input", () => {
        wanted = field.value.toLowerCase();
        fill();
    });
    all.type = "button";
    all.addEventListener("click", () => {
        most = Infinity;
        fill();
    });
    fill();
    const whole = make("table", [[15, "wide"], [20, "widest"]].filter(([most]) => columns.length > most).map(([, kind]) => kind).join(" "), make("thead", "", head), body);
    whole.dataset.list = name;
    const box = make("div", "", make("div", "scroll", whole), all);
    if (list.length > 10)
        box.prepend(field);
    return box;
}

/* Heads of the page where those of Wireshark's table, without the unit, look alike: a time and a
 * count. */
const HEADS = {"Retransmission (s)": "Recovery", Retransmitted: "Retrans. packets"};

/* The column with time of which it is not known what happened. A part of the time of which no more is
 * known than that it is at most as long has "?": the column says how long. */
const UNKNOWN = "Unknown (s)", NEARLY = .99;

const CELLS = {TEXT: "text", NUMBER: "identifier", COUNT: "number", BYTES: "bytes", SECONDS: "seconds"};

/* A table that Wireshark's menu has, too, without the columns of which nothing is known. */
function wiresharkTable(name) {
    const found = more.tables.find(each => each.name === name);
    const place = new Map(found.columns.map(([, label], index) => [label, index]));
    const columns = found.columns.filter((_, index) => found.rows.some(row => known(row[index])))
        .map(([kind, label]) => [HEADS[label] || label.replace(" (s)", ""), label, CELLS[kind]]); // the cells have units
    const value = (row, label) => row[place.get(label)];
    const isVague = (row, label) => Array.isArray(value(row, label)) && value(row, label)[0] === 0 && value(row, label)[1] >= NEARLY * value(row, UNKNOWN);
    const box = table(name, found.rows, columns, value, undefined, (row, label) => isVague(row, label) ? [0, null] : null);
    if (found.rows.some(row => columns.some(([, label]) => isVague(row, label))))
        box.append(make("p", "faint", "?: at most the time in the column Unknown, perhaps none."));
    if (found.count > found.rows.length)
        box.append(make("p", "faint", `The first ${found.rows.length} of ${grouped(found.count)} rows; tshark -z ${name} has all.`));
    return box;
}
const hasRows = name => more.tables.find(each => each.name === name).rows.length > 0;
const headingOf = name => more.tables.find(each => each.name === name).heading;

/* All figures of an entry of the JSON. */
function figures(entry) {
    const list = make("dl", "figures");
    for (const [name, value] of Object.entries(entry)) {
        const inner = value !== null && typeof value === "object" && Object.keys(value).length;
        list.append(make("dt", "", name), make("dd", "", inner ? figures(value) : typeof value === "object"
            ? value === null ? "?" : "none" : String(value)));
    }
    return list;
}

/* A block that is filled when it is opened. */
function folded(title, fill) {
    const box = make("details", "only-screen", make("summary", "", title));
    box.addEventListener("toggle", () => box.children.length > 1 || box.append(fill()));
    return box;
}

// ---- time: one range for all pictures ----

const LEFT = 88, RIGHT = 70, EDGE = 14; // places of the plots beside their axes, and at the right without an axis, pixels
const views = []; // pictures that exist: {range(), cursor(seconds), theme(), resize(width)}
const range = {min: 0, max: Math.max(whole, 1e-6)};
let full = {...range}; // the whole time: that of all pictures
let allConnections = full; // the time of all connections with pictures, and of the findings; without pictures, the whole time
let home = full; // what the pictures show at first

const NEARLY_ALL = .98; // share of the whole time which pictures show that leave out margins only

/* Writes which part of the whole time the pictures show. */
function showRange() {
    const ends = ({min, max}) => `${duration(Math.max(min, 0))} to ${duration(Math.min(max, whole))}`;
    const part = (Math.min(range.max, full.max) - Math.max(range.min, full.min)) / (full.max - full.min);
    byId("shown").textContent = !views.length || part >= NEARLY_ALL ? "" : `The pictures show ${ends(range)}. The button Whole time shows ${ends(full)}.`;
}

function setRange(min, max) {
    const least = 1e-7, width = Math.max(max - min, least);
    range.min = Math.max(full.min - (full.max - full.min) * .02, min);
    range.max = range.min + width;
    document.documentElement.dataset.time = `${range.min} ${range.max}`;
    showRange();
    for (const view of views)
        view.range();
}
const zoom = (factor, about = (range.min + range.max) / 2) =>
    setRange(about - (about - range.min) * factor, about + (range.max - about) * factor);
const move = part => setRange(range.min + (range.max - range.min) * part, range.max + (range.max - range.min) * part);
const showWhole = () => setRange(full.min, full.max);

/* Shows a time that lies outside of the pictures, or is less than a quarter of them while they show
 * the time of all connections, or more: of a short connection, or after a pause without traffic. */
function bring([begin, last]) {
    const outside = last < range.min || begin > range.max, shown = range.max - range.min;
    const isSmall = last - begin < shown / 4 && shown >= allConnections.max - allConnections.min;
    if (outside || isSmall)
        showOnly(begin, last);
}

function showOnly(begin, last) {
    const margin = (last - begin) * .02 + 1e-6;
    setRange(begin - margin, last + margin);
}

/* A block with pictures; when the user opens it, they show its time. */
function opened(box, title, time) {
    const summary = make("summary", "", title);
    summary.addEventListener("click", () => box.open || bring(time));
    box.append(summary);
    return box;
}

let cursorAt = null;
function setCursor(seconds, from) {
    if (seconds === cursorAt)
        return;
    cursorAt = seconds;
    for (const view of views)
        if (view !== from)
            view.cursor(seconds);
}

const pictureWidth = () => Math.max(280, Math.min(byId("page").clientWidth, 1368));

// ---- plots ----

/* Steps of an axis of numbers, and of one of bytes; and a number of bytes beside it. */
const COUNT_STEPS = [...Array(13).keys()].flatMap(power => [1, 2, 5].map(step => step * 10 ** power));
const BYTE_STEPS = [1, 2 ** 10, 2 ** 20, 2 ** 30].flatMap(unit => [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].map(step => step * unit));

const byteLabel = value => ["GiB", "MiB", "KiB"].map((unit, index) => [unit, 2 ** (30 - 10 * index)]).filter(([, size]) => value >= size && value % (size / 2) === 0)
    .map(([unit, size]) => `${value / size} ${unit}`)[0] || bytes(Math.round(value));

const LINES = {
    written: "written", announced: "announced", acknowledged: "acknowledged", read: "reported as read",
    edge: "end of the buffer",
};
const MARKS = {
    retransmission: "retransmission", nak: "NAK on the link", rnr: "RNR NAK on the link", gap: "not captured on the link",
    ce: "CE", outer_ce: "CE of the tunnel only", cnp: "CNP on the link", urgent: "urgent data", failover: "failover",
};

/* Shapes of marks, as lines through points from -1 to 1. */
const ROUND = [...Array(17).keys()].map(step => [Math.cos(step * Math.PI / 8), Math.sin(step * Math.PI / 8)]);
const SHAPES = {
    retransmission: [ROUND], nak: [[[-1, -1], [1, 1]], [[-1, 1], [1, -1]]], rnr: [[[-1, 0], [1, 0]], [[0, -1], [0, 1]]],
    gap: [[[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]], ce: [[[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0], [0, -1.3]]],
    outer_ce: [[[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0], [0, -1.3]], [[-1.3, 0], [1.3, 0]]], cnp: [[[-1.2, -1], [1.2, -1], [0, 1.2], [-1.2, -1]]],
    urgent: [[[-1.2, 1], [1.2, 1], [0, -1.2], [-1.2, 1]]], failover: [[[0, -3], [0, 3]], [[-1, -3], [1, -3]], [[-1, 3], [1, 3]]],
    pause: [[[-.7, -1], [-.7, 1]], [[.7, -1], [.7, 1]]],
};
const pathOf = (name, x, y, size) => SHAPES[name].map(line =>
    line.map(([right, down], index) => `${index ? "L" : "M"}${x + right * size} ${y + down * size}`).join("")).join("");

/* How uPlot draws the marks of a series. */
function markPaths(name) {
    return (u, series, first, last, chosen) => {
        const path = new Path2D(), values = u.data[series], scale = u.series[series].scale;
        for (const index of chosen || [...Array(last - first + 1).keys()].map(step => first + step))
            if (known(values[index]))
                path.addPath(new Path2D(pathOf(name, u.valToPos(u.data[0][index], "x", true), u.valToPos(values[index], scale, true), 4 * devicePixelRatio)));
        return {stroke: path, fill: path, flags: 3};
    };
}

/* The sign of a line or of a mark in the text below a picture. */
function sign(each) {
    const svg = draw("svg", {class: "sign", viewBox: "0 0 22 14", width: 22, height: 14, "aria-hidden": "true"});
    const path = draw("path", {d: each.mark ? pathOf(each.name, 11, 7, each.name === "failover" ? 2 : 4) : "M1 7L21 7", fill: "none",
        "stroke-width": each.mark ? 1.5 : widthOf(each), "stroke-dasharray": each.name === "edge" ? "5 4" : "none"});
    path.style.stroke = `var(--${each.name})`;
    svg.append(path);
    return svg;
}

/* Lines that lie one above the other are seen, since each is thinner than those that are drawn before. */
const widthOf = each => ({written: 4, announced: 2.8, edge: 1})[each.name] || 1.6;

/* The index of the last time at or before `seconds`; -1: none. */
function lastBefore(times, seconds) {
    let low = 0, high = times.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (times[middle] <= seconds)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

/* Of all points, the one that is nearest to `seconds`. */
function nearest(all, seconds) {
    let best = null;
    for (const each of all)
        for (const index of [lastBefore(each.t, seconds), lastBefore(each.t, seconds) + 1])
            if (index >= 0 && index < each.t.length) {
                const off = Math.abs(each.t[index] - seconds);
                if (!best || off < best.off)
                    best = {off, time: each.t[index], frame: each.f && each.f[index]};
            }
    return best;
}

/* The range of the values that the lines have in the visible time. The end of the buffer counts only if
 * it is not far above the data: it would press small transfers flat. In a time without data it is what
 * shows whether the buffer is full. */
function heights(all) {
    let low = Infinity, high = -Infinity;
    const take = each => {
        for (let index = Math.max(lastBefore(each.t, range.min), 0); index < each.t.length && each.t[index] <= range.max; index++) {
            low = Math.min(low, each.v[index]);
            high = Math.max(high, each.v[index]);
        }
    };
    const isData = each => !each.axis && each.name !== "edge";
    all.filter(isData).forEach(take);
    if (all.some(each => isData(each) && !each.mark && each.t[0] >= range.min && each.t[0] <= range.max))
        low = Math.min(low, 0); // before its first point, a line is at 0 or not known
    const data = {low, high};
    all.filter(each => each.name === "edge").forEach(take);
    const hasData = data.high > data.low || all.some(each => !each.axis && each.name !== "edge" && each.v[0] && each.t[0] > range.min && each.t[0] <= range.max);
    if (hasData && high > data.high + 2 * (data.high - data.low))
        high = data.high;
    if (high === low)
        low = Math.min(low, 0);
    if (!(high >= low))
        return [0, 1];
    if (low === 0 && high === 0)
        return [-.02, 1];
    const margin = (high - low || high || 1) * .06;
    return [low < margin * 2 ? -margin / 4 : low - margin, high + margin];
}

/* Whether the value of a line is not known after the point `index`. */
const isUnknownAfter = (each, index) => index >= 0 && (each.lost && index === each.t.length - 1 || Boolean(each.breaks && each.breaks.includes(index + 1)));

/* Where a line is not drawn, pixels: from each point after which its value is not known to the next
 * point, with the rise there. uPlot finds such places by null values, but not if other lines have
 * points in between. */
const holesOf = ({t, breaks = []}) => u =>
    breaks.map(index => [u.valToPos(t[index - 1], "x", true), u.valToPos(t[index], "x", true) + devicePixelRatio]);

/* Makes Tab reach a picture. There , and . go from point to point, and Enter copies the frame at the
 * cursor. `timesOf` returns the times of the points, `frameAt` the frame at the cursor, if any. */
function listenKeys(box, timesOf, frameAt) {
    box.tabIndex = 0;
    box.addEventListener("keydown", event => {
        if (event.key === "Enter")
            copyFrame(frameAt());
        if (event.key !== "," && event.key !== ".")
            return;
        const times = [...new Set(timesOf())].sort((one, other) => one - other);
        const index = lastBefore(times, cursorAt === null ? range.min : cursorAt);
        const next = times[event.key === "." ? index + 1 : times[index] === cursorAt ? index - 1 : index];
        if (next === undefined)
            return;
        if (next < range.min || next > range.max)
            setRange(next - (range.max - range.min) / 2, next + (range.max - range.min) / 2);
        setCursor(next, null);
    });
}

/* A plot of lines and marks over time. `all`: [{name, label, t, v, f, mark, axis}]. `format`: writes a
 * value; `steps`: those of its axis. */
function plot(title, all, format, steps, height = 260) {
    const box = make("div", "picture"), readout = make("p", "readout");
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", title);
    let drawn = null;
    const counts = all.some(each => each.axis);
    const axis = {stroke: () => colour("ink"), grid: {stroke: () => colour("rule"), width: 1}, ticks: {stroke: () => colour("rule"), width: 1}};
    const options = {
        title, width: pictureWidth(), height, legend: {show: false}, padding: [8, counts ? EDGE : RIGHT, 0, 0],
        cursor: {drag: {x: true, y: false, setScale: false, dist: 4}, points: {show: false}, y: false},
        scales: {x: {time: false, range: () => [range.min, range.max]}, y: {range: () => heights(all)},
            count: {range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1]}},
        axes: [{...axis, values: (_, splits) => splits.map(duration)}, {...axis, size: LEFT, incrs: steps, values: (_, splits) => splits.map(format)},
            {...axis, show: counts, scale: "count", side: 1, size: 40, label: "packets in a step", labelSize: RIGHT - EDGE - 40, labelFont: "11px system-ui", grid: {show: false},
                incrs: COUNT_STEPS, values: (_, splits) => splits.map(grouped)}],
        series: [{}, ...all.map(each => ({
            label: each.label, scale: each.axis || "y", stroke: () => colour(each.name), width: each.mark ? 0 : widthOf(each),
            dash: each.name === "edge" ? [5, 4] : undefined, spanGaps: !(each.breaks && each.breaks.length),
            gaps: holesOf(each), paths: each.mark ? () => null : uPlot.paths.stepped({align: 1}),
            points: {show: Boolean(each.mark), width: 1.5, stroke: () => colour(each.name), fill: () => colour("paper"), filter: undefined,
                ...(each.mark ? {paths: markPaths(each.name)} : {})},
        }))],
        hooks: {
            setSelect: [u => {
                if (u.select.width > 4)
                    setRange(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
                u.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
            }],
        },
    };
    /* Whether a point is in the visible time; the mark of a step lies at its begin. */
    const isInTime = each => {
        const last = lastBefore(each.t, range.max);
        return last >= 0 && each.t[last] >= range.min;
    };
    function say(seconds) {
        readout.replaceChildren(make("span", "", seconds === null ? "" : `at ${duration(seconds)}`));
        for (const each of all) {
            const index = seconds === null ? -1 : lastBefore(each.t, seconds);
            const isHere = each.axis && index >= 0 && seconds - each.t[index] < each.step;
            const isLost = isUnknownAfter(each, index) && seconds > each.t[index];
            const value = isLost ? " ?" : index < 0 || each.mark && !isHere ? "" : ` ${isHere ? `${each.v[index]} here` : format(each.v[index])}`;
            const count = each.mark && each.n !== undefined ? ` (${grouped(each.n)}${isInTime(each) ? "" : ", none in this time"})` : "";
            const frame = index >= 0 && each.f && !isLost ? `, frame ${each.f[index]}` : "";
            readout.append(make("span", "", sign(each), `${each.label}${count}${value}${frame}`));
        }
    }
    drawn = new uPlot(options, all.length ? uPlot.join(all.map(({t, v}) => [t, v])) : [[], []], box);
    say(null);
    const view = {
        range: () => { // a batch ends with the new scale, which places the cursor
            drawn.batch(() => drawn.setScale("x", {min: range.min, max: range.max}));
            view.cursor(cursorAt);
        },
        cursor: seconds => {
            drawn.setCursor({left: seconds === null ? -10 : drawn.valToPos(seconds, "x"), top: 10});
            say(seconds);
        },
        theme: () => {
            drawn.redraw(false, true);
            say(cursorAt);
        },
        resize: width => drawn.setSize({width, height}),
    };
    views.push(view);
    const here = () => nearest(all, cursorAt === null ? range.min : cursorAt);
    drawn.over.addEventListener("click", () => { // uPlot stops the click that ends a drag
        const point = here();
        if (point)
            copyFrame(point.frame);
    });
    const follow = seconds => { // uPlot moves its own cursor with the mouse
        setCursor(seconds, view);
        say(seconds);
    };
    drawn.over.addEventListener("mousemove", event => follow(drawn.posToVal(event.offsetX, "x")));
    drawn.over.addEventListener("mouseleave", () => follow(null));
    drawn.over.addEventListener("dblclick", showWhole);
    drawn.over.addEventListener("wheel", event => {
        if (!event.ctrlKey)
            return;
        event.preventDefault();
        zoom(event.deltaY > 0 ? 1.25 : .8, drawn.posToVal(event.offsetX, "x"));
    }, {passive: false});
    drawn.over.addEventListener("mousedown", event => {
        if (!event.shiftKey)
            return;
        event.stopImmediatePropagation();
        let last = event.clientX;
        const drag = moved => {
            move((last - moved.clientX) / drawn.over.clientWidth);
            last = moved.clientX;
        };
        addEventListener("mousemove", drag);
        addEventListener("mouseup", () => removeEventListener("mousemove", drag), {once: true});
    }, {capture: true});
    listenKeys(box, () => all.flatMap(each => each.t), () => (here() || {}).frame);
    box.append(readout);
    return box;
}

// ---- lanes ----

/* The times of an axis: about one for every 100 pixels of `place`, at multiples of 1, 2 or 5. */
function ticks(place) {
    const least = (range.max - range.min) * 100 / place, power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map(each => each * power).find(each => each >= least);
    const first = Math.ceil(range.min / step), count = Math.floor(range.max / step) - first + 1;
    return [...Array(Math.max(count, 0)).keys()].map(index => (first + index) * step);
}

/* Bars over time. `lanes`: [{label, bars: [{begin, end, parts: [[name, share]], frame, text}]}].
 * `hasAxis`: with an axis of time, as no plot is above them. */
function bars(lanes, names, hasAxis = false) {
    const HEIGHT = 22, AXIS = hasAxis ? 20 : 0, svg = draw("svg", {class: "lanes"}), box = make("div", "picture", svg);
    const readout = make("p", "readout");
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", `Bars over time: ${lanes.map(lane => lane.title || lane.label).join(", ")}`);
    const view = {
        range: () => {
            const width = view.width, place = width - LEFT - RIGHT;
            const x = seconds => LEFT + Math.max(-5, Math.min(1.05, (seconds - range.min) / (range.max - range.min))) * place;
            svg.replaceChildren();
            svg.setAttribute("viewBox", `0 0 ${width} ${lanes.length * HEIGHT + 4 + AXIS}`);
            svg.setAttribute("width", width);
            svg.setAttribute("height", lanes.length * HEIGHT + 4 + AXIS);
            for (const time of hasAxis ? ticks(place) : [])
                svg.append(draw("line", {class: "tick", x1: x(time), x2: x(time), y1: 0, y2: lanes.length * HEIGHT + 4}),
                    draw("text", {class: "tick", x: x(time), y: lanes.length * HEIGHT + 17, "text-anchor": "middle"}, duration(time)));
            const clip = draw("svg", {x: LEFT, y: 0, width: place, height: lanes.length * HEIGHT});
            for (const [index, lane] of lanes.entries()) {
                const top = index * HEIGHT;
                const label = draw("text", {x: LEFT - 4, y: top + 15, "text-anchor": "end"}, lane.label);
                label.append(draw("title", {}, lane.title || lane.label));
                svg.append(label);
                for (const bar of lane.bars) {
                    const left = x(bar.begin) - LEFT, right = x(bar.end) - LEFT;
                    if (bar.end < range.min || bar.begin > range.max)
                        continue;
                    const sum = bar.parts.reduce((all, [, share]) => all + share, 0) || 1;
                    let y = top + 2;
                    for (const [name, share] of bar.parts) {
                        const height = (HEIGHT - 4) * share / sum;
                        const rect = draw("rect", {x: left, y, width: Math.max(right - left, .6), height, fill: colour(name)});
                        rect.append(draw("title", {}, bar.text));
                        rect.addEventListener("click", () => copyFrame(bar.frame));
                        clip.append(rect);
                        y += height;
                    }
                }
            }
            svg.append(clip);
            view.line = draw("line", {class: "cursor", y1: 0, y2: lanes.length * HEIGHT, x1: -10, x2: -10});
            svg.append(view.line);
        },
        cursor: seconds => {
            const place = view.width - LEFT - RIGHT;
            const left = seconds === null ? -10 : LEFT + (seconds - range.min) / (range.max - range.min) * place;
            for (const end of ["x1", "x2"])
                view.line.setAttribute(end, left < LEFT ? -10 : left);
            readout.replaceChildren(...(seconds === null ? [] : lanes.flatMap(lane => lane.bars
                .filter(bar => bar.begin <= seconds && seconds < bar.end)
                .map(bar => make("span", "line", `${lane.label}: ${bar.text}`)))));
        },
        theme: () => view.range(),
        resize: width => {
            view.width = width;
            view.range();
        },
        width: pictureWidth(),
    };
    const legend = make("p", "legend");
    const shown = new Set(lanes.flatMap(lane => lane.bars).flatMap(bar => bar.parts).map(([name]) => name));
    for (const [name, label] of Object.entries(names).filter(([each]) => shown.has(each))) {
        const swatch = make("span", "swatch");
        swatch.style.background = `var(--${name})`;
        legend.append(make("span", "", swatch, label));
    }
    svg.addEventListener("mousemove", event => {
        const inside = (event.offsetX - LEFT) / (view.width - LEFT - RIGHT);
        setCursor(inside < 0 || inside > 1 ? null : range.min + inside * (range.max - range.min), null);
    });
    views.push(view);
    view.range();
    const isHere = bar => cursorAt !== null && bar.begin <= cursorAt && cursorAt < bar.end;
    listenKeys(box, () => lanes.flatMap(lane => lane.bars).flatMap(bar => [bar.begin, bar.end]),
        () => (lanes.flatMap(lane => lane.bars).find(isHere) || {}).frame);
    box.append(legend);
    if (lanes.length <= 4)
        box.append(readout);
    return box;
}

// ---- connections ----

const PARTS = {
    setup: "setup of the connection", nothing_to_write: "nothing to write", answer: "the peer answers", transfer: "data under way",
    needless: "data under way, retransmitted without need",
    path: "buffer full: data or update under way", reader: "buffer full: the reader's program does not read",
    retransmission: "recovery: waits for a retransmission", unknown: "not known",
};
const flowOf = new Map(report.rdma_flows.map(flow => [flow.index, flow]));
const drawnOf = new Map(pictures.connections.map(each => [each.stream, each]));
const entryOf = new Map(report.connections.flatMap(each => [[each.stream, each], [each.roce_stream, each]])
    .filter(([stream]) => known(stream)).reverse());
const end = point => known(point.addr) ? `${point.addr.includes(":") ? `[${point.addr}]` : point.addr}:${point.port}` : "?";
const nameOf = entry => known(entry.client.addr) ? [end(entry.client), end(entry.server)] : (entry.ends || "client ↔ server").split(" ↔ ");

/* Whether it is likely, and not proven, that the RoCE packets are those of the named TCP connection. */
const isInferred = entry => known(entry.client.addr || entry.server.addr) && known(entry.roce_stream);

/* The time before a connection could carry data, which the lanes of the capture do not have: its setup,
 * or unknown. */
function timeBefore(lanes, entry, time) {
    const begin = since(entry.first_time), last = lanes.length ? lanes[0][0] / 1e9 : begin;
    if (!time || last - begin < 1e-9)
        return [];
    const part = known(time.connecting_s) ? "setup" : "unknown";
    return [{begin, end: last, frame: entry.first_frame, parts: [[part, last - begin]],
        text: `${PARTS[part]} ${duration(last - begin)} (from frame ${entry.first_frame})`}];
}

function lanesOf(direction, label, entry, time) {
    return {
        label: label[0], title: label[1],
        bars: timeBefore(direction.lanes, entry, time).concat(direction.lanes.map(([begin, last, first, frame, shares]) => ({
            begin: begin / 1e9, end: last / 1e9, frame: first || frame, parts: Object.entries(shares),
            text: Object.entries(shares).map(([part, time]) => `${PARTS[part]} ${duration(time / 1e9)}`).join(", ")
                + ` (frames ${first || "?"} to ${frame || "?"})`,
        }))),
    };
}

/* The lines and marks of a direction. A line goes on to the end of the connection, unless later
 * packets have a position that is not known. */
function pointsOf(direction, last) {
    const made = [];
    for (const [names, from, mark] of [[LINES, direction.lines, false], [MARKS, direction.marks, true]])
        for (const [name, label] of Object.entries(names))
            if (from[name])
                made.push({name, label, mark, lost: from[name].lost, breaks: from[name].breaks || [], n: from[name].n, t: added(from[name].t, 1e9), v: added(from[name].v, 1), f: added(from[name].f, 1)});
    for (const each of made.filter(one => !one.mark && !one.lost && one.t[one.t.length - 1] < last)) {
        each.t.push(last);
        each.v.push(each.v[each.v.length - 1]);
        each.f.push(each.f[each.f.length - 1]);
    }
    return made;
}

const LONGEST_LABEL = 13; // characters of an end that fit beside a bar

/* How the bars of a connection call its two writers: client and server or, where nobody knows which
 * end is which, the addresses of the ends. */
function writersOf(entry) {
    const ends = nameOf(entry), isShort = ends.every(each => each.length <= LONGEST_LABEL);
    if (!entry.ends)
        return ["client writes", "server writes"];
    return isShort && ends[0] !== ends[1] ? ends.map(each => `from ${each}`) : ["first writes", "second writes"];
}

const DIRECTIONS = ["client_to_server", "server_to_client"];

/* Why the time of a connection is not divided. `names`: what the page calls its two directions. */
function whyTimeUnknown(entry, names) {
    const silent = DIRECTIONS.findIndex(name => entry[name].cdc === null && entry[name].writes === null);
    return silent >= 0 ? `no packet of ${names[silent]} is known`
        : "a packet of one direction may belong to another connection, a cursor is impossible, or time stamps decrease";
}

/* Why lines end before the connection does, and how much was written in all; nothing if "written" goes on
 * to the end. `all`: the lines of the direction `way`. */
function lostPart(all, entry, way) {
    const written = all.find(each => each.name === "written" && each.lost), sum = at(entry, `${way}.bytes`);
    if (!written || !sum || sum <= written.v[written.v.length - 1])
        return "";
    const why = known(at(entry, `buffer_bytes.${way === "client_to_server" ? "server" : "client"}`)) ? "" : ", as the size of the reader's buffer is not";
    return make("p", "faint", `After ${duration(written.t[written.t.length - 1])}, positions are not known${why}. In all, ${at(entry, `${way}.lacks_bytes`) ? "at least " : ""}${bytes(sum)} were written.`);
}

function connectionPictures(drawn, entry) {
    const [client, server] = nameOf(entry), box = make("div");
    const which = entry.ends || !known(entry.client.addr) ? `Connection ${entry.stream}, ` : isInferred(entry) ? "probably " : ""; // others may have the same ends
    const names = [`${which}${client} → ${server}`, `${which}${server} → ${client}`];
    const short = writersOf(entry);
    for (const [index, direction] of drawn.directions.entries()) {
        const all = pointsOf(direction, timeOf(entry)[1]);
        if (all.some(each => !each.mark))
            box.append(plot(`${names[index]}: bytes over time`, all, byteLabel, BYTE_STEPS), lostPart(all, entry, DIRECTIONS[index]));
        else if (all.length)
            box.append(plot(`${names[index]}: no position in the byte stream is known`, all, () => "", BYTE_STEPS, 110));
        else
            box.append(make("p", "faint", `${names[index]}: ${at(entry, `${DIRECTIONS[index]}.bytes`) ? "no position in the byte stream" : "no data of this direction"} is known.`));
    }
    const lanes = drawn.directions.map((direction, index) => lanesOf(direction, [short[index], names[index]], entry,
        entry[DIRECTIONS[index]].time));
    if (lanes.some(lane => lane.bars.length))
        box.append(bars(lanes, PARTS));
    else
        box.append(make("p", "faint", `Where the time went is not known: ${whyTimeUnknown(entry, names)}.`));
    return box;
}

/* The time of a connection, from its first frame to its last. */
const timeOf = entry => known(entry.first_time) && known(entry.last_time)
    ? [since(entry.first_time), since(entry.last_time)] : [full.min, full.max];

/* "Closed first by the server, at 565 ms", with a button for the frame; nothing if that is not known.
 * Where nobody knows which end is the server, the end has its address. */
function closePart(entry) {
    if (!entry.end || !known(entry.end.by) || !known(entry.end.frame))
        return "";
    const who = entry.ends ? nameOf(entry)[entry.end.by === "client" ? 0 : 1] : `the ${entry.end.by}`;
    return make("p", "", `Closed first by ${who}, at ${duration(since(entry.end.time))} `,
        copier(`frame ${entry.end.frame}`, `frame.number == ${entry.end.frame}`));
}

/* How long the writer of a direction waited, and for whom: "1.04 to 1.1 s for space in the reader's
 * buffer (of it ≥ 1.01 s for the reader's program), 1.42 s for retransmissions". "": it never waited. */
function waitsOf(entry, direction) {
    const unknown = at(entry, `${direction}.time.unknown_s`), isClient = direction === "client_to_server";
    const ofPeer = entry.ends ? "for data of its peer" : isClient ? "for the server's answers" : "for the client's next requests";
    const figure = name => {
        const path = `${direction}.time.${name}`, value = at(entry, path), limits = limitsOf(each => at(entry, each), path);
        return !value ? "" : limits ? bounds("seconds", limits) : duration(value);
    };
    const reader = figure("reader_s"), space = figure("buffer_full_s"), of = reader && space ? ` (of it ${reader} for the reader's program)` : "";
    const waits = [[space, `for space in the reader's buffer${of}`], [figure("retransmission_s"), "for retransmissions"], [figure("answer_s"), ofPeer]]
        .filter(([time]) => time).map(([time, why]) => `${time} ${why}`).join(", ");
    return waits && isLarge(unknown, 0) ? `${waits}; what happened in ${duration(unknown)} is not known` : waits;
}

/* A line for each writer of a connection that waited. */
function waitsPart(drawn, entry) {
    const writers = entry.ends ? nameOf(entry) : ["the client", "the server"];
    return DIRECTIONS.map((way, index) => [way, writers[index], waitsOf(entry, way)]).filter(([, , waits]) => waits).map(([way, who, waits]) => {
        const line = make("p", "waits", `In all, ${who} waited ${waits}.`);
        Object.assign(line.dataset, {way, stream: drawn.stream});
        return line;
    });
}

function connectionPart(drawn, entry, isOpen) {
    const [client, server] = nameOf(entry);
    const tokens = entry.ends && known(entry.tokens.client) && known(entry.tokens.server)
        ? ` (tokens ${entry.tokens.client} and ${entry.tokens.server})` : "";
    const title = `Connection ${entry.stream}: ${isInferred(entry) ? "probably " : ""}${client} ${entry.ends ? "↔" : "→"} ${server}${tokens}`;
    const [begin, last] = timeOf(entry), zoomIn = make("button", "", `Zoom to its ${duration(last - begin)}`);
    const box = opened(make("details"), make("strong", "", title), [begin, last]);
    zoomIn.type = "button";
    zoomIn.addEventListener("click", () => showOnly(begin, last));
    box.id = `connection-${drawn.stream}`;
    box.addEventListener("toggle", () => {
        if (!box.open || box.dataset.filled)
            return;
        box.dataset.filled = "yes";
        box.append(make("p", "only-screen", zoomIn, " ", copier("copy filter", `smcr.stream == ${drawn.stream}`)),
            closePart(entry), ...waitsPart(drawn, entry), connectionPictures(drawn, entry), folded("All figures of the connection", () => figures(entry)));
    });
    box.open = isOpen;
    return box;
}

const CONNECTIONS = [
    ["#", "stream", "identifier"], ["RoCE #", "roce_stream", "identifier"], ["Ends", "ends", "text"], ["Client", "client.addr", "text"], ["Port", "client.port", "identifier"],
    ["Server", "server.addr", "text"], ["Port", "server.port", "identifier"],
    ["Client after NAT", "translated_client.addr", "text"], ["Port", "translated_client.port", "identifier"],
    ["Server after NAT", "translated_server.addr", "text"], ["Port", "translated_server.port", "identifier"], ["Outcome", "outcome", "text"],
    ["Reason", "fallback.reason", "text"], ["Fallback seen", "fallback.time", "time"], ["after", "setup.fallback_s", "seconds"], ["Links", "links", "links"], ["First frame", "first_frame", "frame"], ["Begin", "first_time", "time"], ["End", "last_time", "time"], ["Bytes →", "client_to_server.bytes", "bytes"],
    ["Bytes ←", "server_to_client.bytes", "bytes"], ["Retrans. →", "client_to_server.repeated_packets", "number"],
    ["Retrans. ←", "server_to_client.repeated_packets", "number"],
    ["Buffer full →", "client_to_server.time.buffer_full_s", "seconds"],
    ["Buffer full ←", "server_to_client.time.buffer_full_s", "seconds"],
    ["Setup", "setup_s", "seconds"], ["Close", "close", "text"], ["Closed first", "end.by", "text"],
    ["Recovery →", "client_to_server.time.retransmission_s", "seconds"], ["Recovery ←", "server_to_client.time.retransmission_s", "seconds"],
    ["Full by reader →", "client_to_server.time.reader_s", "seconds"], ["Full by reader ←", "server_to_client.time.reader_s", "seconds"],
];
const TOKENS = [["Token", "tokens.client", "text"], ["Peer's token", "tokens.server", "text"]]; // instead of unknown ports
const TEXTS = new Set(["ends", "translated_client.addr", "translated_server.addr", "client.addr", "server.addr", "outcome", "close", "end.by", "fallback.reason", "tokens.client", "tokens.server"]);

/* The bounds of the time of a setup; null: it is exact, or nothing is known. */
function limitsOfSetup(value) {
    const limits = ["setup.least_s", "setup.most_s"].map(value);
    return known(value("setup_s")) || known(value("setup.fallback_s")) || !limits.some(known) ? null : [limits[0] || 0, limits[1]];
}

/* Whether time that may belong to a part of the time changes this part notably. */
const isLarge = (unknown, least) => unknown >= 1e-3 && unknown > least / 100;

const TIMES_WITH_BOUNDS = ["buffer_full_s", "retransmission_s", "answer_s"];

/* The upper bound of the reader's part of the time of a full buffer; null: the bounds of that time are
 * not in the rows, so it is exact. */
function mostOfReader(value, direction) {
    const [full, unknown] = ["buffer_full_most_s", "unknown_s"].map(name => value(`${direction}.time.${name}`));
    return known(full) && known(unknown) ? Math.min(full, value(`${direction}.time.reader_s`) + unknown) : null;
}

/* The bounds of a figure of a connection, as those of Statistics > SMC-R Directions; null: it is
 * exact. `value`: returns a figure of the connection. */
function limitsOf(value, path) {
    const [direction, name] = [path.split(".")[0], path.split(".").pop()], least = value(path);
    if (name === "setup_s")
        return limitsOfSetup(value);
    if (name === "bytes")
        return value(`${direction}.lacks_bytes`) ? [least, null] : null;
    const most = name === "reader_s" ? mostOfReader(value, direction) : TIMES_WITH_BOUNDS.includes(name) ? value(path.replace(/_s$/, "_most_s")) : null;
    const unknown = most - least;
    if (!known(most) || !isLarge(unknown, least))
        return null;
    const isNothingKnown = !least && unknown >= since(value("last_time")) - since(value("first_time")) - 1e-9;
    return [least, isNothingKnown ? null : most];
}

function showConnections() {
    const part = section("connections", "Connections");
    const place = new Map(rows.columns.map((path, index) => [path, index]));
    const value = (row, path) => {
        const found = row[place.get(path)];
        return TEXTS.has(path) && known(found) ? rows.texts[found] : found;
    };
    if (!rows.rows.length) {
        part.append(make("p", "", "None."));
        return;
    }
    part.append(make("p", "faint", `${grouped(rows.rows.length)} in all, ${pictures.connections.length} with pictures. → is from the client to the server${report.connections.some(each => each.ends) ? ", with ↔ from the first end to the second" : ""}. ${pictures.connections.length ? "A row with pictures opens them. " : ""}Times count from the first frame of the capture.`));
    if (!place.has("first_time"))
        part.append(make("p", "faint", "Where packets are missing, bytes and times are lower bounds."));
    if (rows.rows.some(row => known(value(row, "roce_stream")) && known(value(row, "client.addr") || value(row, "server.addr"))))
        part.append(make("p", "faint", "A connection with a number in \"RoCE #\" has inferred TCP ports: it is likely, and not proven, that its RoCE packets are those of this TCP connection."));
    const isUnnamed = rows.rows.some(row => known(value(row, "ends")) || !known(value(row, "client.addr")) && !known(value(row, "server.addr")));
    const all = isUnnamed ? [...CONNECTIONS.slice(0, 7), ...TOKENS, ...CONNECTIONS.slice(7)] : CONNECTIONS;
    const limits = (row, path) => limitsOf(each => value(row, each), path);
    const columns = all.filter(([, path]) => place.has(path) && rows.rows.some(row => known(row[place.get(path)]) || limits(row, path)));
    part.append(table("connections", rows.rows, columns, value, row => {
        const stream = [value(row, "stream"), value(row, "roce_stream")].find(each => drawnOf.has(each) && entryOf.has(each));
        return known(stream) ? () => openConnection(stream) : null;
    }, limits));
    const list = pictures.connections.filter(each => entryOf.has(each.stream))
        .sort((one, other) => order(other) - order(one) || one.stream - other.stream);
    if (list.length)
        part.append(make("h3", "", "Over time"));
    if (list.length)
        bring(timeOf(entryOf.get(list[0].stream)));
    for (const [index, drawn] of list.entries())
        part.append(connectionPart(drawn, entryOf.get(drawn.stream), index < 2 && isVisible(entryOf.get(drawn.stream))));
}

function openConnection(stream) {
    const box = byId(`connection-${stream}`);
    box.open = true;
    bring(timeOf(entryOf.get(stream)));
    box.scrollIntoView();
}

/* Whether the pictures show at least a quarter of the time of a connection. */
function isVisible(entry) {
    const [begin, last] = timeOf(entry);
    return Math.min(last, range.max) - Math.max(begin, range.min) >= (last - begin) / 4;
}

/* Time that the writers of a connection lost, for the order of pictures. A move to another link, and
 * an end by abort or reset, count like a second each, as when the plugin chose the pictures. */
function order(drawn) {
    const entry = entryOf.get(drawn.stream);
    const lost = name => ["buffer_full_s", "retransmission_s", "needless_s"].reduce((sum, part) => sum + (at(entry, `${name}.time.${part}`) || 0), 0);
    return (entry.links.length > 1) + ["abort", "reset"].includes(entry.close) + DIRECTIONS.reduce((sum, name) => sum + lost(name), 0);
}

// ---- links ----

const STATES = {unconfirmed: "unconfirmed", active: "active", lost: "lost", deleted: "deleted", rejected: "rejected"};

const LANE_COLOURS = {...STATES, silence: "no answer", unknown: "not known"};

/* Where a state of a link begins in the picture: {at: seconds, text}. If its first frame is not known,
 * a lost link was lost in the frame that reports it at the latest, and the first state is drawn from
 * the first frame that shows the link. null: nothing is known of the beginning. */
function stateBegin(link, state, isFirst) {
    if (state.begin_time)
        return {at: since(state.begin_time), text: `from frame ${state.begin_frame}`};
    if (state.state === "lost" && link.lost_time)
        return {at: since(link.lost_time), text: `from frame ${link.lost_frame} at the latest`};
    if (!isFirst)
        return null;
    return {at: link.added_time ? since(link.added_time) : full.min, text: `first seen in frame ${link.added_frame}`};
}

/* Bars of a link in its states. A state whose beginning is not known is not drawn; the state before
 * it is then grey, since it is not known when that state ended. */
function stateBars(link) {
    const begins = link.states.map((state, i) => stateBegin(link, state, i === 0));
    return link.states.flatMap((state, i) => {
        const begin = begins[i], next = begins[i + 1], isOpen = i + 1 < begins.length && !next && !state.end_time;
        if (!begin)
            return [];
        const why = state.state === "rejected" ? ` by the client's ADD LINK response (reason: ${link.reject_reason})` : "";
        const until = state.end_frame ? ` to frame ${state.end_frame}` : "", isLast = i + 1 === begins.length;
        return [{begin: begin.at, end: state.end_time ? since(state.end_time) : next ? next.at : full.max,
            parts: [[isOpen ? "unknown" : state.state, 1]], frame: state.begin_frame || state.end_frame || link.added_frame,
            text: `${state.state}${why}, ${begin.text}${isLast && !until ? " to the end of the capture" : until}`}];
    });
}

/* Bars of the times in which an end of a link retransmitted and got no answer: of both directions. A
 * flow has such times only if it retransmitted a packet three times or more in them. */
function silenceBars(link) {
    return link.flows.map(index => flowOf.get(index)).filter(flow => flow && flow.silences && flow.longest_silence).flatMap(flow => {
        const longest = flow.longest_silence;
        return [longest, ...longest.others].map(({begin_time, end_time, begin_frame, end_frame, is_over = true}) => ({
            begin: since(begin_time), end: since(end_time), parts: [["silence", 1]], frame: begin_frame,
            text: `no answer to ${flow.src} QP ${flow.src_qpn} for ${duration(since(end_time) - since(begin_time))}, frames ${begin_frame} to ${end_frame}${is_over ? "" : ", and none after it"}`,
        }));
    });
}

function linkLanes() {
    const lanes = [];
    for (const group of report.link_groups)
        for (const link of group.links) {
            if (!link.states.length || lanes.length >= 64)
                continue;
            const name = known(link.number) ? `link ${link.number}` : "link ?";
            const ends = `${link.client.gid || "?"} ${group.ends ? "↔" : "→"} ${link.server.gid || "?"}`;
            lanes.push({
                label: `grp ${group.index} ${name}`,
                title: `${known(link.number) ? name : "link of unknown number"}, link group ${group.index}: ${ends}`,
                bars: [...stateBars(link), ...silenceBars(link)],
            });
        }
    return lanes;
}

const SHORT = entries => entries.map(([label, path, kind = "number"]) => [label, path, kind]);
const LINKS = SHORT([["Group", "group"], ["Link", "number"], ["State", "state", "text"], ["Client GID", "client.gid", "text"],
    ["Server GID", "server.gid", "text"], ["Client QP", "client.qpn", "identifier"], ["Server QP", "server.qpn", "identifier"], ["MTU", "mtu_bytes", "bytes"],
    ["Added", "added_frame", "frame"], ["Deleted", "deleted_frame", "frame"], ["Lost", "lost_frame", "frame"], ["Reason of rejection", "reject_reason", "text"],
    ["Conns. that left", "moved_from"], ["Conns. that came", "moved_to"]]);

function showLinks() {
    if (!report.link_groups.length)
        return;
    const part = section("links", "Links and link groups"), lanes = linkLanes();
    if (lanes.length)
        part.append(bars(lanes, LANE_COLOURS, true));
    const links = report.link_groups.flatMap(group => group.links.map(link => ({group: group.index, ...link})));
    part.append(table("links", links, LINKS, at), folded("RMBs: the receive buffers", () => wiresharkTable("smcr,rmbs")), folded("All figures of the link groups", () => figures(report.link_groups)));
}

// ---- flows ----

const FLOWS = SHORT([["Flow", "index", "identifier"], ["Kind", "kind", "text"], ["From", "src", "text"], ["QP", "src_qpn", "identifier"], ["To", "dst", "text"],
    ["QP", "dst_qpn", "identifier"], ["Packets", "packets"], ["Bytes", "bytes", "bytes"], ["Retrans.", "repeated"], ["Gaps", "gaps"],
    ["RNR NAKs", "rnr_nak"], ["NAKs PSN", "nak.psn_sequence"], ["CE", "ecn.ce"], ["CE of tunnel", "outer_ce"], ["CNP", "cnp"], ["First frame", "first_frame", "frame"]]);

function flowPlot(flow, entry) {
    const seconds = pictures.bin_width / 1e9, begin = pictures.bins_begin / 1e9;
    const time = bin => begin + bin * seconds;
    const made = [], t = [], v = [], breaks = [];
    let next = null;
    const add = (bin, octets) => {
        t.push(time(bin));
        v.push(octets * 8 / seconds);
        next = bin + 1;
    };
    const addMissing = (begin, last) => { // bins of which it is not known what the flow sent
        add(begin, 0);
        breaks.push(t.length);
        next = last;
    };
    const holes = (flow.missing || []).flatMap((bin, index, list) => index % 2 ? [] : [[bin, list[index + 1]]]);
    for (const [bin, octets] of flow.bins) {
        for (const hole of holes.filter(each => next !== null && each[0] >= next && each[1] <= bin)) {
            if (hole[0] > next)
                add(next, 0);
            addMissing(...hole);
        }
        if (next !== null && bin > next)
            add(next, 0);
        add(bin, octets);
    }
    if (next !== null)
        add(next, 0);
    made.push({name: "rate", label: `rate in steps of ${duration(seconds)}`, t, v, breaks});
    for (const [name, label, column] of [["retransmission", "retransmissions", 3], ["ce", "CE", 4], ["outer_ce", "CE of the tunnel only", 5], ["cnp", "CNP", 6]]) {
        const bins = flow.bins.filter(bin => bin[column]);
        if (bins.length)
            made.push({name, label, mark: true, axis: "count", step: seconds, n: bins.reduce((sum, bin) => sum + bin[column], 0),
                t: bins.map(bin => time(bin[0])), v: bins.map(bin => bin[column])});
    }
    const paused = pictures.flows.find(each => each.flow === null);
    if (paused)
        made.push({name: "pause", label: "PAUSE and PFC frames of all ports", mark: true, axis: "count", step: seconds,
            n: paused.bins.reduce((sum, bin) => sum + bin[2], 0), t: paused.bins.map(bin => time(bin[0])), v: paused.bins.map(bin => bin[2])});
    const rate = value => value === 0 ? "0" : value >= 1e9 ? `${+(value / 1e9).toPrecision(3)} Gbit/s` : value >= 1e6 ? `${+(value / 1e6).toPrecision(3)} Mbit/s`
        : value >= 1e3 ? `${+(value / 1e3).toPrecision(3)} kbit/s` : `${+value.toPrecision(3)} bit/s`;
    return plot(`Flow ${entry.index}: ${entry.src || "?"} QP ${known(entry.src_qpn) ? entry.src_qpn : "?"} → ${entry.dst || "?"} QP ${entry.dst_qpn}`, made, rate, COUNT_STEPS);
}

const PAUSES = {pause: "class paused, at most", active: "several pauses, joined: not paused all the time", still: "the flow stood still"};

/* When ports paused classes: a lane for each port and class. */
const pauseLanes = () => report.pauses.filter(pause => pause.intervals.length).slice(0, 12).map(pause => ({
    label: known(pause.priority) ? `class ${pause.priority}` : "all classes",
    title: `${pause.port_mac || "other ports"} pauses ${known(pause.priority) ? `class ${pause.priority}` : "all classes"}`,
    bars: pause.intervals.map(each => {
        const begin = since(each.begin_time), last = since(each.end_most_time);
        return {begin, end: last, frame: each.begin_frame, parts: [["pause", each.paused_most_s], ["active", last - begin - each.paused_most_s]].filter(([, share]) => share > 1e-9),
            text: `${pause.port_mac || "other ports"}: ${known(each.paused_s) ? "" : "at most "}${duration(each.paused_most_s)} in ${grouped(each.frames)} frames, from frame ${each.begin_frame}`};
    }),
}));

/* When the flow stood still. */
const stillLane = entry => ({
    label: "stood still", title: `Flow ${entry.index} stood still`,
    bars: [...entry.pause.intervals, ...[entry.pause.stopped].filter(known)].map(each => {
        const frame = each.begin_frame || each.since_frame, begin = since(each.begin_time || each.since_time);
        return {begin, end: each.end_time ? since(each.end_time) : begin + each.silent_s, frame, parts: [["still", 1]],
            text: `${each.still_s === each.still_most_s ? "" : `${duration(each.still_s)} to `}${duration(each.still_most_s)} paused by ${each.port_mac} (${each.end_frame ? `frames ${frame} to ${each.end_frame}` : `from frame ${frame} to the end of the capture`})`};
    }),
});

/* The time of a flow, from its first packet to its last. */
function timeOfFlow(flow) {
    const time = bin => (pictures.bins_begin + bin * pictures.bin_width) / 1e9;
    return flow.bins.length ? [time(flow.bins[0][0]), time(flow.bins[flow.bins.length - 1][0] + 1)] : [full.min, full.max];
}

function showFlows() {
    if (!report.rdma_flows.length)
        return;
    const part = section("flows", "RDMA flows");
    for (const line of [...more.lines.classes, ...more.lines.congestion])
        part.append(make("p", "", line));
    part.append(table("rdma_flows", report.rdma_flows, FLOWS, at), folded("All columns of Statistics > SMC-R Fabric", () => wiresharkTable("smcr,fabric")));
    if (report.summary.rdma_flows.count > report.rdma_flows.length)
        part.append(make("p", "faint", `The first ${report.rdma_flows.length} of ${grouped(report.summary.rdma_flows.count)} flows; the JSON report has all.`));
    const trouble = entry => entry.repeated + (entry.ecn.ce || 0) + (entry.outer_ce || 0) + entry.cnp;
    const list = pictures.flows.filter(flow => flowOf.has(flow.flow)).map(flow => [flow, flowOf.get(flow.flow)])
        .sort(([, one], [, other]) => trouble(other) - trouble(one) || other.bytes - one.bytes);
    if (list.length && !pictures.connections.length)
        bring(timeOfFlow(list[0][0]));
    const lanes = pauseLanes();
    if (report.marked_share)
        part.append(sharePlot(report.marked_share));
    for (const [index, [flow, entry]] of list.entries()) {
        const box = opened(make("details"), `Flow ${entry.index}: ${entry.src || "?"} → ${entry.dst || "?"} over time`, timeOfFlow(flow));
        box.addEventListener("toggle", () => {
            if (!box.open || box.children.length > 1)
                return;
            box.append(flowPlot(flow, entry));
            if (lanes.length)
                box.append(bars(entry.pause ? [stillLane(entry), ...lanes] : lanes, PAUSES));
            box.append(folded("All figures of the flow", () => figures(entry)));
        });
        box.open = index < 2;
        part.append(box);
    }
}

// ---- directions, times, recovery, capture points ----

function showDirections() {
    if (!hasRows("smcr,directions"))
        return;
    const part = section("directions", "Where the time went");
    part.append(make("p", "faint", headingOf("smcr,directions")), wiresharkTable("smcr,directions"));
}

const RECOVERY = SHORT([["Flow", "index", "identifier"], ["From", "src", "text"], ["QP", "src_qpn", "identifier"], ["To", "dst", "text"], ["QP", "dst_qpn", "identifier"],
    ["Retrans.", "repeated"], ["After NAK", "repeated_after.nak"], ["After timeout", "repeated_after.timeout"], ["After RNR", "repeated_after.rnr"],
    ["After wrong ICRC", "repeated_after.icrc"], ["Of READ", "repeated_after.read"], ["Cause unknown", "repeated_after.unknown"], ["Go-back-N", "recovery.go_back_n"],
    ["Selective", "recovery.selective"], ["Gaps filled by retrans.", "recovery.refilled"], ["Never filled", "recovery.unfilled"],
    ["Out of order", "recovery.reordered"], ["Needless", "recovery.needless"], ["Answered twice", "recovery.answered_twice"],
    ["Implied NAKs", "recovery.implied_naks"], ["READ timeouts", "recovery.read_timeouts"], ["ACK timeout", "recovery.ack_timeout", "identifier"]]);

function showRecovery() {
    const list = report.rdma_flows.filter(flow => flow.recovery);
    const rare = ["recovery.answered_twice", "recovery.implied_naks", "recovery.read_timeouts"]; // not in most captures
    const isUseful = path => !(path.startsWith("repeated_after.") || rare.includes(path)) || list.some(flow => at(flow, path));
    if (list.length)
        section("recovery", "Loss and recovery").append(table("recovery", list, RECOVERY.filter(([, path]) => isUseful(path)), at));
}

function showTimes() {
    if (hasRows("smcr,times"))
        section("times", "Times").append(make("p", "faint", "Of all connections and flows: how long each of these took."), wiresharkTable("smcr,times"));
}

function showPoints() {
    if (!hasRows("smcr,points"))
        return;
    const part = section("points", "Capture points");
    part.append(make("p", "faint", headingOf("smcr,points")), wiresharkTable("smcr,points"));
    for (const [index, drawn] of pictures.ways.entries()) {
        const way = report.points[index];
        if (!drawn)
            continue;
        part.append(plot(`${way.from} → ${way.to}: how long packets from ${way.src} to ${way.dst} took`, [{name: "rate", label: `delay, known within ${duration(way.delay.error_s)}`,
            n: drawn.n, t: added(drawn.t, 1e9), v: added(drawn.v, 1e9), f: added(drawn.f, 1)}], duration));
    }
}

// ---- the other lists ----

const OTHER_ROCE = SHORT([["Packets", "packets"], ["Queue pairs", "queue_pairs"], ["Retransmitted or out of order", "repeated"], ["NAKs", "naks"], ["RNR NAKs", "rnr_naks"],
    ["CE", "ce"], ["CNP", "cnp"], ["Not read", "unread"], ["First of these", "first_frame", "frame"]]);

const OTHERS = [
    ["fallbacks", "Fallbacks to TCP", SHORT([["Code", "code", "code"], ["Reason", "reason", "text"], ["By", "by", "text"], ["Connections", "count"]])],
    ["breaches", "Broken formats and rules", SHORT([["Severity", "severity", "text"], ["Kind", "kind", "text"], ["By", "by", "text"],
        ["Count", "count"], ["First frame", "frame", "frame"]])],
    ["pauses", "Pauses of Ethernet", SHORT([["Port", "port_mac", "text"], ["Kind", "kind", "text"], ["Class", "priority"], ["Frames", "frames"],
        ["Resumes", "resumes"], ["Quanta", "quanta"], ["Paused", "paused_s", "seconds"], ["At most", "paused_most_s", "seconds"], ["First frame", "first_frame", "frame"],
        ["Last frame", "last_frame", "frame"]])],
    ["adapters", "Adapters", SHORT([["Address", "addr", "text"], ["Gap to NAK from", "gap_to_nak_s.min", "seconds"], ["to", "gap_to_nak_s.max", "seconds"],
        ["NAK to retransmission from", "nak_to_resend_s.min", "seconds"], ["to", "nak_to_resend_s.max", "seconds"], ["Recovery", "recovery", "text"],
        ["Timeout from", "timeout_s.min", "seconds"], ["to", "timeout_s.max", "seconds"], ["ACK timeout", "ack_timeout"], ["CNPs", "cnp"],
        ["CE to CNP from", "ce_to_cnp_s.min", "seconds"], ["to", "ce_to_cnp_s.max", "seconds"], ["CNPs limited by", "cnp_limit.scope", "text"],
        ["At least", "cnp_limit.least_s", "seconds"], ["At most", "cnp_limit.most_s", "seconds"]])],
    ["udp_ports", "UDP source ports of RoCE", SHORT([["From", "src", "text"], ["To", "dst", "text"], ["Port", "port", "identifier"], ["Packets", "packets"],
        ["Numbers of the flows", "flows", "list"]])],
    ["tcp_flows", "TCP connections", SHORT([["From", "src", "text"], ["Port", "src_port", "identifier"], ["To", "dst", "text"], ["Port", "dst_port", "identifier"],
        ["Segments →", "up.segments"], ["Segments ←", "down.segments"], ["Bytes →", "up.acked_bytes", "bytes"], ["Bytes ←", "down.acked_bytes", "bytes"], ["Retrans. →", "up.repeated_segments"],
        ["Retrans. ←", "down.repeated_segments"], ["CE →", "up.ce"], ["CE ←", "down.ce"], ["Last frame", "last_frame", "frame"]])],
];

/* The share of marked packets over time. */
function sharePlot(share) {
    const begin = since(share.begin_time), time = index => begin + index * share.interval_s;
    const t = [...share.packets.keys(), share.packets.length].map(time);
    const v = share.packets.map((packets, index) => packets ? 100 * share.marked[index] / packets : 0);
    return plot("RDMA packets marked CE, of those that may be marked", [{name: "ce", label: `share in steps of ${duration(share.interval_s)}`, t, v: [...v, 0]}],
        value => `${+value.toPrecision(3)} %`);
}

function showOthers() {
    if (report.other_roce)
        section("other_roce", "RoCE not known to be SMC-R").append(make("p", "", `${grouped(report.other_roce.packets)} packet${report.other_roce.packets === 1 ? "" : "s"}, not analysed without the preference smcr.roce.`),
            table("other_roce", [report.other_roce], OTHER_ROCE, at));
    if (more.lines.tcp.length)
        OTHERS.find(([name]) => name === "tcp_flows")[3] = more.lines.tcp;
    for (const [name, title, columns, lines] of OTHERS) {
        const list = report[name];
        if (!list.length)
            continue;
        const part = section(name, title), present = columns.filter(([, path]) => list.some(entry => at(entry, path) !== undefined));
        for (const line of lines || [])
            part.append(make("p", "", line));
        if (name === "pauses" && pauseLanes().length)
            part.append(bars(pauseLanes(), PAUSES, true));
        part.append(table(name, list, present, at), folded("All figures", () => figures(list)));
        const sum = report.summary[name];
        if (sum && sum.count > list.length && !("count" in list[0]))
            part.append(make("p", "faint", `The first ${list.length} of ${grouped(sum.count)}; the JSON report has all.`));
    }
}

// ---- theme, keys, printing ----

const root = document.documentElement;
let theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
function setTheme(name) {
    root.classList.toggle("dark", name === "dark");
    for (const view of views)
        view.theme();
}
function otherTheme() {
    theme = theme === "dark" ? "light" : "dark";
    setTheme(theme);
}

const KEYS = {
    "+": () => zoom(.6), "=": () => zoom(.6), "-": () => zoom(1 / .6), "−": () => zoom(1 / .6), ArrowLeft: () => move(-.2),
    ArrowRight: () => move(.2), "0": showWhole, t: otherTheme,
};

function listen() {
    byId("theme").addEventListener("click", otherTheme);
    byId("whole").addEventListener("click", showWhole);
    byId("help").addEventListener("click", () => {
        byId("keys").hidden = !byId("keys").hidden;
        byId("help").setAttribute("aria-expanded", String(!byId("keys").hidden));
    });
    addEventListener("keydown", event => {
        if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT" || !KEYS[event.key])
            return;
        event.preventDefault();
        KEYS[event.key]();
    });
    addEventListener("resize", () => {
        for (const view of views)
            view.resize(pictureWidth());
    });
    addEventListener("beforeprint", () => {
        setTheme("light");
        for (const view of views)
            view.resize(980);
    });
    addEventListener("afterprint", () => {
        setTheme(theme);
        for (const view of views)
            view.resize(pictureWidth());
    });
}

/* The times of the states of all links that are known. */
const timesOfLinks = () => report.link_groups.flatMap(group => group.links).flatMap(link => link.states)
    .flatMap(state => [state.begin_time, state.end_time]).filter(known).map(since).map(time => [time, time]);

/* The times of the packets with delays between two capture points. */
const timesOfPoints = () => pictures.ways.filter(Boolean).map(way => added(way.t, 1e9)).map(t => [t[0], t[t.length - 1]]);

const timesOfShare = share => share ? [[since(share.begin_time), since(share.begin_time) + share.packets.length * share.interval_s]] : [];

/* The time from the first to the last of `times`, and a margin. */
function extent(times) {
    const begin = Math.min(...times.map(each => each[0])), last = Math.max(...times.map(each => each[1]));
    const margin = (last - begin) * .01 + 1e-6;
    return {min: begin - margin, max: last + margin};
}

/* The times of the findings, apart from information. */
const timesOfFindings = () => report.findings.filter(finding => finding.severity !== "info" && known(finding.time))
    .flatMap(finding => [finding.time, finding.begin_time, finding.end_time]).filter(known).map(since).map(time => [time, time]);

/* The time of the pictures, which may be a small part of the capture's time. They begin with that of
 * the connections and of the findings: a link may fail before the first connection. */
function chooseRange() {
    const connections = pictures.connections.map(each => entryOf.get(each.stream)).filter(Boolean).map(timeOf);
    const found = timesOfFindings(), all = [...connections, ...found, ...pictures.flows.filter(flow => flow.bins.length).map(timeOfFlow), ...timesOfLinks(), ...timesOfPoints(),
        ...timesOfShare(report.marked_share)];
    if (all.length)
        full = extent(all);
    allConnections = connections.length ? extent([...connections, ...found]) : full;
    setRange(allConnections.min, allConnections.max);
}

chooseRange();
root.classList.toggle("dark", theme === "dark");
showCapture();
showFindings();
showConnections();
showDirections();
showLinks();
showFlows();
showRecovery();
showTimes();
showPoints();
showOthers();
home = {...range};
showRange();
listen();
root.dataset.ready = "yes";

})();
