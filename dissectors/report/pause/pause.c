/* Reads PAUSE and PFC frames, and adds up for each port and class how long the pauses lasted. Finds
 * the RDMA flows that stood still because of pauses.
 *
 * A pause lasts for a number of quanta from its frame on, or until the next frame of the same port
 * that names the class. A quantum is the time of 512 bits (IEEE 802.3, 31B.2). Frames do not show
 * the speed of the link. Without the preference smcr.link_speed a pause lasts at most as long as on
 * a link with 1 Gbit/s, the slowest that carries RoCE, and at least as long as on a link with 1600
 * Gbit/s, the fastest of Ethernet. A port usually renews or ends a pause before the pause is over.
 * So a pause that may still be in force when the next frame for the class comes is taken to stop
 * flows; how long it did has these bounds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "pause.h"

#include <stdlib.h>

#define TAG_8021Q 0x8100   /* Ethernet types of VLAN tags */
#define TAG_8021AD 0x88a8
#define MAC_CONTROL 0x8808 /* Ethernet type of MAC control */
#define PAUSE 0x0001       /* opcodes of MAC control */
#define PFC 0x0101

#define TYPE_AT (2 * SMCR_PAUSE_MAC_LENGTH) /* offset of the Ethernet type, or of the VLAN tag */
#define TAG_LENGTH 4
#define CLASSES 8
#define QUANTUM_BITS 512
#define SLOWEST_LINK 1 /* Gbit/s: bits per nanosecond */
#define FASTEST_LINK 1600

#define PORTS_MOST 64  /* a link has two ports, and a capture few links; pauses of more ports than
                          these are counted together */
#define FAR_APART 10   /* a gap is a standstill if pauses were in force in it for at least this many
                          times the usual gap */
#define RUNS_MOST 64   /* runs of a class; if there are more, the closest neighbours are joined */

/* Indices of port_t.lanes: eight classes of PFC, PAUSE frames, and PFC frames that name no
 * class. */
enum { OF_ALL = SMCR_PAUSE_OF_ALL, OF_NONE, LANES };

/* A run of pauses of one class: each pause begins before the pause before it is over. Runs that are
 * not so close are joined only if there are too many (join_closest()). Times are in nanoseconds. */
typedef struct {
    smcr_when_t begin; /* frame with which it begins */
    smcr_when_t last;  /* last frame with quanta in it */
    smcr_when_t stop;  /* frame with 0 quanta that ends it; frame 0: none does */
    uint64_t end;      /* time at which the last pause of the run is over at the latest; while this
                          pause is in force, the time at which it began */
    uint64_t frames;   /* number of frames with quanta in it */
    uint64_t most;     /* how long the pauses of the run lasted at most; a pause that is still in
                          force is not included */
} pause_run_t;

/* The pauses of one class of a port. Times are in nanoseconds. */
typedef struct {
    uint64_t frames;   /* number of frames that name the class */
    uint64_t resumes;  /* of these: number of frames with 0 quanta, which end a pause */
    uint64_t cut;      /* of these: number of frames whose quanta for the class, or whose classes,
                          were not captured */
    uint64_t quanta;   /* sum of the quanta */
    smcr_when_t first; /* first frame that names the class */
    smcr_when_t last;  /* last frame that names the class */
    bool in_force;     /* a pause began with the frame `last` */
    uint64_t lasts;    /* how long this pause lasts at most */
    uint64_t lasts_least; /* how long it lasts at least, if no frame ends it */
    smcr_pause_sums_t sums; /* sums of the pauses before the frame `last` */
    pause_run_t *runs;       /* runs of pauses, in the order of their frames; NULL: none */
    uint32_t run_count; /* number of `runs`, at most RUNS_MOST */
} lane_t;

/* A port that sends PAUSE or PFC frames. */
typedef struct {
    uint8_t mac[SMCR_PAUSE_MAC_LENGTH]; /* MAC address of the port */
    bool is_end; /* RoCE packets have come from or to this address: the port is that of a host or
                    router. Otherwise it may be a switch's, whose address no packet has */
    lane_t lanes[LANES]; /* pauses of each class; index: class, OF_ALL or OF_NONE */
} port_t;

struct smcr_pauses {
    wmem_allocator_t *scope;   /* memory pool that owns the ports and their pauses */
    unsigned speed;            /* speed of the link, Gbit/s; 0: not known */
    port_t *ports[PORTS_MOST]; /* in the order of their first frames */
    unsigned port_count;       /* number of `ports` */
    port_t *others;            /* the pauses of all further ports; NULL: none */
    bool has_class[CLASSES];   /* packets of RDMA flows with this VLAN priority have come since the
                                  first pause frame */
    bool has_untagged;         /* packets of RDMA flows without a VLAN tag have come since then */
};

/* ---- reading frames ---- */

/* Whether a VLAN tag has this Ethernet type. */
static bool
is_tag(uint16_t type)
{
    return type == TAG_8021Q || type == TAG_8021AD;
}

/* Returns the offset of the Ethernet type after the VLAN tags; 0: not captured. */
static uint32_t
type_offset(const uint8_t *bytes, uint32_t length)
{
    for (uint32_t at = TYPE_AT; at + 2 <= length; at += TAG_LENGTH)
        if (!is_tag(smcr_wire_number16(bytes + at)))
            return at;
    return 0;
}

/* Returns the offset of the opcode of MAC control; 0: the frame is not MAC control, or the opcode
 * was not captured. */
static uint32_t
opcode_offset(const uint8_t *bytes, uint32_t length)
{
    uint32_t type = type_offset(bytes, length);

    if (!type || length < type + 4 || smcr_wire_number16(bytes + type) != MAC_CONTROL)
        return 0;
    return type + 2;
}

bool
smcr_pause_is_frame(const uint8_t *bytes, uint32_t length)
{
    uint32_t at = opcode_offset(bytes, length);
    uint16_t opcode = at ? smcr_wire_number16(bytes + at) : 0;

    return opcode == PAUSE || opcode == PFC;
}

/* Only a VLAN tag has a priority. */
bool
smcr_pause_header_read(const uint8_t *bytes, uint32_t length, smcr_pause_header_t *header)
{
    if (length < TYPE_AT + TAG_LENGTH)
        return false;
    uint16_t type = smcr_wire_number16(bytes + TYPE_AT);
    memcpy(header->to, bytes, sizeof header->to);
    memcpy(header->from, bytes + sizeof header->to, sizeof header->from);
    header->has_priority = is_tag(type);
    header->priority = header->has_priority ? bytes[TYPE_AT + 2] >> 5 : 0;
    return true;
}

/* ---- ports ---- */

static bool
is_of_mac(const port_t *port, const uint8_t *mac)
{
    return memcmp(port->mac, mac, sizeof port->mac) == 0;
}

/* Returns the port with this MAC address; NULL: none has sent a PAUSE or PFC frame, or it is
 * counted in `others`. */
static port_t *
find_port(const smcr_pauses_t *pauses, const uint8_t *mac)
{
    for (unsigned i = 0; i < pauses->port_count; i++)
        if (is_of_mac(pauses->ports[i], mac))
            return pauses->ports[i];
    return NULL;
}

/* Returns the port with this address, which is made if there is none. The first PORTS_MOST
 * addresses have a port each; all further addresses share one port. */
static port_t *
port_of(smcr_pauses_t *pauses, const uint8_t *mac)
{
    port_t *port = find_port(pauses, mac);
    bool is_full = pauses->port_count == PORTS_MOST;

    if (!port && is_full)
        port = pauses->others;
    if (port)
        return port;
    port = wmem_new0(pauses->scope, port_t);
    if (is_full)
        return pauses->others = port;
    memcpy(port->mac, mac, sizeof port->mac);
    return pauses->ports[pauses->port_count++] = port;
}

/* ---- how long pauses last ---- */

/* Returns how long a pause of so many quanta lasts, nanoseconds. `otherwise`: the speed to assume
 * if the speed of the link is not known, Gbit/s. */
static uint64_t
duration_of(const smcr_pauses_t *pauses, uint16_t quanta, unsigned otherwise)
{
    return (uint64_t)quanta * QUANTUM_BITS / (pauses->speed ? pauses->speed : otherwise);
}

/* Returns how long the pause that began with the last frame of the class has lasted at most at the
 * time `now`; 0: no pause began with it, or `now` is before the frame. */
static uint64_t
lasted(const lane_t *lane, uint64_t now)
{
    if (!lane->in_force || now < lane->last.time)
        return 0;
    return MIN(now - lane->last.time, lane->lasts);
}

/* Returns the sums up to the time `now`. `may_be_renewed`: the pause in force counts in `renewed`,
 * too, since the next frame may come while this pause lasts, or the speed of the link is known. */
static smcr_pause_sums_t
sums_at(const lane_t *lane, uint64_t now, bool may_be_renewed)
{
    uint64_t left = lasted(lane, now);

    return (smcr_pause_sums_t){.least = lane->sums.least + MIN(left, lane->lasts_least),
                               .renewed = lane->sums.renewed + (may_be_renewed ? left : 0),
                               .most = lane->sums.most + left};
}

/* ---- runs of pauses ---- */

/* Returns the newest run; NULL: there is none. */
static pause_run_t *
newest_run(const lane_t *lane)
{
    return lane->run_count ? &lane->runs[lane->run_count - 1] : NULL;
}

/* Returns the time between a run and the next one, which has to exist, nanoseconds. 0: the first
 * run lasts until the next one begins, or longer. */
static uint64_t
time_to_next(const pause_run_t *run)
{
    return run[1].begin.time > run->end ? run[1].begin.time - run->end : 0;
}

/* Joins the two neighbouring runs between which the least time lies, so that there is one run
 * fewer. The sums of frames and time stay the same. */
static void
join_closest(lane_t *lane)
{
    uint32_t closest = 0;

    for (uint32_t i = 1; i + 1 < lane->run_count; i++)
        if (time_to_next(&lane->runs[i]) < time_to_next(&lane->runs[closest]))
            closest = i;
    pause_run_t *run = &lane->runs[closest];
    smcr_when_t begin = run->begin;
    uint64_t frames = run->frames, most = run->most;
    lane->run_count--;
    memmove(run, run + 1, (lane->run_count - closest) * sizeof *run);
    run->begin = begin;
    run->frames += frames;
    run->most += most;
}

/* Takes a frame with quanta: it renews the newest run (`is_renewed`), or begins a run. */
static void
take_in_run(const smcr_pauses_t *pauses, lane_t *lane, smcr_when_t when, bool is_renewed)
{
    if (!lane->runs)
        lane->runs = wmem_alloc_array(pauses->scope, pause_run_t, RUNS_MOST);
    if (!is_renewed) {
        if (lane->run_count == RUNS_MOST)
            join_closest(lane);
        lane->runs[lane->run_count++] = (pause_run_t){.begin = when};
    }
    pause_run_t *run = newest_run(lane);
    run->last = when;
    run->end = when.time;
    run->frames++;
}

/* Counts a frame for the class, or for OF_NONE: it ends the pause of the frame before. Returns
 * whether that pause was in force up to this frame, as far as known. */
static bool
count_frame(const smcr_pauses_t *pauses, lane_t *lane, smcr_when_t when)
{
    uint64_t before = lasted(lane, when.time);
    bool is_in_time = when.time - lane->last.time <= lane->lasts;
    bool is_renewed = lane->in_force && is_in_time;

    if (lane->in_force) {
        pause_run_t *run = newest_run(lane);
        run->most += before;
        run->end += before;
    }
    lane->sums = sums_at(lane, when.time, pauses->speed || is_in_time);
    if (!lane->frames++)
        lane->first = when;
    lane->last = when;
    lane->in_force = false;
    return is_renewed;
}

/* Takes a frame that names the class. `quanta`: its quanta for the class, 2 bytes in network byte
 * order; NULL: not captured. */
static void
take_class(const smcr_pauses_t *pauses, lane_t *lane, smcr_when_t when, const uint8_t *quanta)
{
    bool is_renewed = count_frame(pauses, lane, when);

    if (!quanta) {
        lane->cut++;
        return;
    }
    uint16_t number = smcr_wire_number16(quanta);
    lane->resumes += number == 0;
    if (number > 0)
        take_in_run(pauses, lane, when, is_renewed);
    else if (is_renewed)
        newest_run(lane)->stop = when;
    lane->quanta += number;
    lane->in_force = number > 0;
    lane->lasts = duration_of(pauses, number, SLOWEST_LINK);
    lane->lasts_least = duration_of(pauses, number, FASTEST_LINK);
}

/* Reads the parameters of a PFC frame: a vector of the classes that it names, then the quanta of
 * each class. `length`: number of captured bytes. */
static void
take_pfc(const smcr_pauses_t *pauses, port_t *port, smcr_when_t when, const uint8_t *parameters,
         uint32_t length)
{
    unsigned classes = length >= 2 ? parameters[1] : 0;

    if (!classes)
        count_frame(pauses, &port->lanes[OF_NONE], when);
    if (length < 2)
        port->lanes[OF_NONE].cut++;
    for (unsigned number = 0; number < CLASSES; number++) {
        uint32_t at = 2 + 2 * number;
        if (classes >> number & 1)
            take_class(pauses, &port->lanes[number], when,
                       length >= at + 2 ? parameters + at : NULL);
    }
}

/* Ports are added as their frames come: without a PAUSE or PFC frame nothing else is allocated. */
smcr_pauses_t *
smcr_pauses_new(wmem_allocator_t *scope, unsigned speed)
{
    smcr_pauses_t *pauses = wmem_new0(scope, smcr_pauses_t);

    pauses->scope = scope;
    pauses->speed = speed;
    return pauses;
}

/* A truncated frame counts, with as many classes as are captured. */
void
smcr_pauses_take(smcr_pauses_t *pauses, smcr_when_t when, const uint8_t *bytes, uint32_t length)
{
    uint32_t opcode = opcode_offset(bytes, length), at = opcode + 2;
    port_t *port = port_of(pauses, bytes + SMCR_PAUSE_MAC_LENGTH);

    if (smcr_wire_number16(bytes + opcode) == PFC)
        take_pfc(pauses, port, when, bytes + at, length - at);
    else
        take_class(pauses, &port->lanes[OF_ALL], when, at + 2 <= length ? bytes + at : NULL);
}

/* ---- flows that stand still ---- */

/* Notes that the ports with the addresses of a packet are no switch's. */
static void
note_ends(smcr_pauses_t *pauses, const smcr_pause_header_t *header)
{
    port_t *to = find_port(pauses, header->to), *from = find_port(pauses, header->from);

    if (to)
        to->is_end = true;
    if (from)
        from->is_end = true;
}

/* Returns the port whose pauses stop the packet; NULL: none. A pause stops what comes to the port:
 * packets to the address of the port. The address of a switch's port stands in no packet. So if no
 * port has the address, it is the first port that may be a switch's: the packet is on the same
 * link, and may go to the port or come from it. */
static const port_t *
port_that_stops(const smcr_pauses_t *pauses, const smcr_pause_header_t *header)
{
    const port_t *to = find_port(pauses, header->to);

    for (unsigned i = 0; i < pauses->port_count && !to; i++)
        to = pauses->ports[i]->is_end ? NULL : pauses->ports[i];
    return to;
}

/* Returns the usual time between two packets of the flow, nanoseconds: the mean, without
 * standstills. UINT64_MAX: not known, since the flow has too few packets, or its time stamps
 * decrease. */
static uint64_t
usual_gap(const smcr_pause_flow_t *flow, const smcr_pause_gap_t *gap)
{
    uint64_t count = gap->packets - 1 - flow->count;
    uint64_t time = gap->from.time - gap->first.time;

    if (gap->packets < 2 || !count || gap->from.time < gap->first.time)
        return UINT64_MAX;
    return (time - MIN(time, flow->gaps)) / count;
}

/* Keeps a standstill. If SMCR_PAUSE_STANDSTILLS are kept, the shortest one is dropped. */
static void
keep_standstill(smcr_pause_flow_t *flow, wmem_allocator_t *scope,
                const smcr_pause_standstill_t *standstill)
{
    if (!flow->kept)
        flow->kept = wmem_alloc_array(scope, smcr_pause_standstill_t, SMCR_PAUSE_STANDSTILLS + 1);
    flow->kept[flow->kept_count++] = *standstill;
    if (flow->kept_count <= SMCR_PAUSE_STANDSTILLS)
        return;
    uint32_t shortest = 0;
    for (uint32_t i = 1; i < flow->kept_count; i++)
        if (flow->kept[i].most <= flow->kept[shortest].most)
            shortest = i;
    flow->kept_count--;
    memmove(&flow->kept[shortest], &flow->kept[shortest + 1],
            (flow->kept_count - shortest) * sizeof *flow->kept);
}

/* Counts the gap as a standstill if pauses of the port were in force in it for long enough
 * (FAR_APART). `still`: how long they were in force. */
static void
judge(const smcr_pauses_t *pauses, smcr_pause_flow_t *flow, const smcr_pause_gap_t *gap,
      const smcr_pause_sums_t *still)
{
    const port_t *port = flow->port;
    uint64_t usual = usual_gap(flow, gap);

    if (!still->renewed || usual > still->renewed / FAR_APART || gap->to.time < gap->from.time)
        return;
    uint64_t length = gap->to.time - gap->from.time;
    uint64_t most = MIN(still->most, length);
    flow->count++;
    flow->gaps += length;
    flow->least += still->least;
    flow->most += most;
    keep_standstill(flow, pauses->scope,
                    &(smcr_pause_standstill_t){.begin = gap->from, .end = gap->to,
                                               .least = still->least, .most = most,
                                               .by = port, .by_switch = !port->is_end,
                                               .lane = flow->lane});
}

/* Adds to `still` how long a class was paused since the last packet of a flow. Called for the
 * flow's class, and for PAUSE frames, which stop all classes. The two may be in force at the same
 * time, so only `most` is a sum. `before`, `now`: sums of the class at the last packet and now. */
static void
add_since(smcr_pause_sums_t *still, const smcr_pause_sums_t *before, const smcr_pause_sums_t *now)
{
    still->least = MAX(still->least, now->least - MIN(now->least, before->least));
    still->renewed = MAX(still->renewed, now->renewed - MIN(now->renewed, before->renewed));
    still->most += now->most - MIN(now->most, before->most);
}

/* Returns how long the flow's port has paused the flow's class since the flow's last packet. `now`:
 * time of the flow's next packet; the next call counts from this time on. */
static smcr_pause_sums_t
paused_since(const smcr_pauses_t *pauses, smcr_pause_flow_t *flow, uint64_t now)
{
    const port_t *port = flow->port;
    const lane_t *const lanes[] = {&port->lanes[flow->lane], &port->lanes[OF_ALL]};
    smcr_pause_sums_t still = {0};

    /* a packet without a tag has one lane, that of all classes */
    for (unsigned i = flow->lane == OF_ALL; i < G_N_ELEMENTS(lanes); i++) {
        smcr_pause_sums_t sums = sums_at(lanes[i], now, pauses->speed);
        add_since(&still, &flow->paused[i], &sums);
        flow->paused[i] = sums_at(lanes[i], now, true);
    }
    return still;
}

/* Returns the lane of a packet: its class, or that of PAUSE frames if its class is not known. */
static uint8_t
lane_of(const smcr_pause_header_t *header)
{
    return header->has_priority ? header->priority : OF_ALL;
}

/* Notes the class of a packet of an RDMA flow. */
static void
note_class(smcr_pauses_t *pauses, const smcr_pause_header_t *header)
{
    if (header->has_priority)
        pauses->has_class[header->priority] = true;
    else
        pauses->has_untagged = true;
}

/* Whether it is known how long the pauses of the port had lasted at the packet before the gap.
 * `lane`: class of the packet after the gap. */
static bool
knows_before(const smcr_pause_flow_t *flow, const smcr_pause_gap_t *gap, const port_t *port,
             uint8_t lane)
{
    smcr_when_t first = smcr_figure_when_earlier(port->lanes[lane].first,
                                                 port->lanes[OF_ALL].first);

    if (flow->port == port)
        return flow->lane == lane;
    return !flow->port && gap->from.frame < first.frame;
}

/* knows_before() compares the packet with the flow's last one, so it is called before the flow gets
 * the port and the class of this packet. */
void
smcr_pauses_take_packet(smcr_pauses_t *pauses, smcr_pause_flow_t *flow,
                        const smcr_pause_gap_t *gap, const smcr_pause_header_t *header)
{
    flow->header = *header;
    flow->has_header = true;
    flow->last = gap->to.frame;
    if (!pauses)
        return;
    note_ends(pauses, header);
    note_class(pauses, header);
    const port_t *port = port_that_stops(pauses, header);
    uint8_t lane = lane_of(header);
    bool is_known = port && gap->from.frame && knows_before(flow, gap, port, lane);
    if (flow->port != port)
        memset(flow->paused, 0, sizeof flow->paused);
    flow->port = port;
    flow->lane = lane;
    if (!port)
        return;
    smcr_pause_sums_t still = paused_since(pauses, flow, gap->to.time);
    if (is_known)
        judge(pauses, flow, gap, &still);
}

/* ---- flows that stop for good ---- */

static const char *
mac_text(wmem_allocator_t *scope, const uint8_t *mac)
{
    return wmem_strdup_printf(scope, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
                              mac[3], mac[4], mac[5]);
}

void
smcr_pause_flow_note_ends(smcr_pauses_t *pauses, const smcr_pause_flow_t *flow)
{
    if (flow->has_header)
        note_ends(pauses, &flow->header);
}

/* Adds to `still` how long the lane was paused from the flow's last packet to the end of the
 * capture. `before`: sums of the lane at the last packet. `end`: time of this end, nanoseconds. The
 * pause in force at the end may be renewed after the capture. */
static void
add_to_end(const smcr_pauses_t *pauses, const lane_t *lane, smcr_pause_sums_t *still,
           const smcr_pause_sums_t *before, uint64_t end)
{
    bool is_in_force = end >= lane->last.time && end - lane->last.time <= lane->lasts;
    smcr_pause_sums_t sums = sums_at(lane, end, pauses->speed || is_in_force);

    add_since(still, before, &sums);
}

/* Returns how long the lane was not paused after the time `when` until a run of pauses began,
 * nanoseconds: 0 if the time lies in a run; UINT64_MAX: no run begins later. */
static uint64_t
time_to_pause(const lane_t *lane, uint64_t when)
{
    for (uint32_t i = 0; i < lane->run_count; i++) {
        const pause_run_t *run = &lane->runs[i];
        bool is_newest = i + 1 == lane->run_count;
        uint64_t end = run->end + (is_newest && lane->in_force ? lane->lasts : 0);
        if (end >= when)
            return run->begin.time > when ? run->begin.time - when : 0;
    }
    return UINT64_MAX;
}

/* Returns how long the port paused the flow's class after the flow's last packet. All zeros: it did
 * not, or it is not known how long it had done so before that packet. `until_pause`: set to the
 * time from the last packet to the first pause after it, nanoseconds; UINT64_MAX: there is none, or
 * it is not known. */
static smcr_pause_sums_t
paused_to_end(const smcr_pauses_t *pauses, const smcr_pause_flow_t *flow,
              const smcr_pause_gap_t *gap, const port_t *port, uint64_t *until_pause)
{
    uint8_t of_class = lane_of(&flow->header);
    const lane_t *const lanes[] = {&port->lanes[of_class], &port->lanes[OF_ALL]};
    smcr_pause_sums_t still = {0};
    bool is_same = flow->port == port;

    *until_pause = UINT64_MAX;
    if (!knows_before(flow, gap, port, of_class))
        return still;
    for (unsigned i = of_class == OF_ALL; i < G_N_ELEMENTS(lanes); i++) {
        const smcr_pause_sums_t before = is_same ? flow->paused[i] : (smcr_pause_sums_t){0};
        add_to_end(pauses, lanes[i], &still, &before, gap->to.time);
        *until_pause = MIN(*until_pause, time_to_pause(lanes[i], gap->from.time));
    }
    return still;
}

/* Adds to the entry that the flow has stopped for good: it sends nothing more up to the end of the
 * capture, since pauses of its class began. A flow may also end because it has nothing more to
 * send. So three conditions have to hold:
 * 1. the pauses last for ten times as long as the flow's packets are usually apart;
 * 2. they begin soon after the flow's last packet: not later than ten of its packets would come;
 * 3. they go on: the flow was allowed to send for at most a tenth of the time since then. */
static void
report_stop(const smcr_pauses_t *pauses, const smcr_pause_flow_t *flow, const smcr_pause_gap_t *gap,
            smcr_entry_flow_pause_t *entry, wmem_allocator_t *scope)
{
    const port_t *port = pauses && flow->has_header ? port_that_stops(pauses, &flow->header) : NULL;
    uint64_t usual = usual_gap(flow, gap), until_pause;

    if (!port || gap->to.time < gap->from.time)
        return;
    uint64_t length = gap->to.time - gap->from.time;
    smcr_pause_sums_t still = paused_to_end(pauses, flow, gap, port, &until_pause);
    bool is_long = still.renewed && usual <= still.renewed / FAR_APART;
    bool goes_on = still.renewed >= length - length / FAR_APART;
    if (!is_long || !goes_on || until_pause / FAR_APART > usual)
        return;
    smcr_entry_flow_stop_t *stop = wmem_new(scope, smcr_entry_flow_stop_t);
    uint8_t of_class = lane_of(&flow->header);
    *stop = (smcr_entry_flow_stop_t){
        .since_frame = gap->from, .silent_s = length, .still_s = still.least,
        .still_most_s = MIN(still.most, length), .port_mac = mac_text(scope, port->mac),
        .priority = of_class < CLASSES ? of_class : SMCR_FIGURE_UNKNOWN};
    entry->stopped = stop;
}

SMCR_FIGURE_ORDER(by_begin, smcr_pause_standstill_t, standstill, standstill->begin.frame)

/* Sums are exact; of the single standstills of both parts only the longest are kept. They are
 * sorted again, since either part may be the earlier one. */
void
smcr_pause_flow_join(smcr_pause_flow_t *flow, wmem_allocator_t *scope,
                     const smcr_pause_flow_t *other)
{
    flow->count += other->count;
    flow->gaps += other->gaps;
    flow->least += other->least;
    flow->most += other->most;
    for (uint32_t i = 0; i < other->kept_count; i++)
        keep_standstill(flow, scope, &other->kept[i]);
    if (flow->kept_count)
        qsort(flow->kept, flow->kept_count, sizeof *flow->kept, by_begin);
    if (other->last <= flow->last)
        return;
    flow->header = other->header;
    flow->has_header = other->has_header;
    flow->last = other->last;
    flow->port = other->port;
    flow->lane = other->lane;
    memcpy(flow->paused, other->paused, sizeof flow->paused);
}

/* ---- reporting ---- */

/* Returns whether packets of RDMA flows in the class have come; SMCR_FIGURE_MAYBE: packets have no
 * VLAN tag, so their class is not known. PAUSE stops all classes, so packets in any class count. */
static smcr_figure_maybe_t
has_flow(const smcr_pauses_t *pauses, unsigned lane)
{
    bool any = pauses->has_untagged;

    for (unsigned i = 0; i < CLASSES; i++)
        any |= pauses->has_class[i];
    if (lane < CLASSES && !pauses->has_class[lane])
        return pauses->has_untagged ? SMCR_FIGURE_MAYBE : SMCR_FIGURE_NO;
    return smcr_figure_truth(any);
}

/* Adds the entry of a run of pauses. `left`: how long the pause that is in force at the end of the
 * run lasts at most, nanoseconds. */
static void
report_run(const smcr_pauses_t *pauses, const pause_run_t *run, uint64_t left,
           smcr_entry_pause_t *pause, wmem_allocator_t *scope)
{
    smcr_entry_pause_interval_t *entry =
        SMCR_FIGURE_ADD(pause_interval, &pause->intervals, scope);

    entry->begin_frame = run->begin;
    entry->last_frame = run->last;
    entry->resume_frame = run->stop;
    entry->end_most_time = run->end + left;
    entry->frames = run->frames;
    entry->paused_most_s = run->most + left;
    entry->paused_s = pauses->speed ? entry->paused_most_s : SMCR_FIGURE_UNKNOWN;
    entry->still_most_s = SMCR_FIGURE_UNKNOWN;
    entry->still_flows = 0;
}

/* Adds the entries of all runs of a class, and adds up how long they last. */
static void
report_runs(const smcr_pauses_t *pauses, const lane_t *lane, smcr_entry_pause_t *pause,
            wmem_allocator_t *scope)
{
    uint64_t last = lane->in_force ? lane->lasts : 0;

    for (uint32_t i = 0; i < lane->run_count; i++)
        report_run(pauses, &lane->runs[i], i + 1 == lane->run_count ? last : 0, pause, scope);
    SMCR_FIGURE_EACH(pause_interval, interval, pause->intervals)
        pause->paused_most_s += interval->paused_most_s;
}

/* Adds the entry of a class of a port. `number`: place of the class in the port's lanes. Only with
 * the speed of the link (`speed`) the sum of the pauses is exact; else it is an upper bound. */
static void
report_lane(const smcr_pauses_t *pauses, const port_t *port, unsigned number,
            smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    const lane_t *lane = &port->lanes[number];
    smcr_entry_pause_t *entry = SMCR_FIGURE_ADD(pause, list, scope);

    entry->port_mac = port == pauses->others ? NULL : mac_text(scope, port->mac);
    entry->kind = number == OF_ALL ? SMCR_FIGURE_PAUSE_ALL : SMCR_FIGURE_PAUSE_PFC;
    entry->priority = number < CLASSES ? number : SMCR_FIGURE_UNKNOWN;
    entry->frames = lane->frames;
    entry->resumes = lane->resumes;
    entry->cut = lane->cut;
    entry->quanta = lane->quanta;
    report_runs(pauses, lane, entry, scope);
    entry->paused_s = pauses->speed ? entry->paused_most_s : SMCR_FIGURE_UNKNOWN;
    entry->first_frame = lane->first;
    entry->last_frame = lane->last;
    entry->has_flow = has_flow(pauses, number);
}

/* Adds an entry for each class of PFC that frames of the port have named, one for its PAUSE frames,
 * and one for PFC frames that name no class. */
static void
report_port(const smcr_pauses_t *pauses, const port_t *port, smcr_figure_list_t *list,
            wmem_allocator_t *scope)
{
    for (unsigned lane = 0; lane < LANES; lane++)
        if (port->lanes[lane].frames)
            report_lane(pauses, port, lane, list, scope);
}

/* `others` collects the ports for which there was no room, so its entry comes last. */
void
smcr_pauses_report(const smcr_pauses_t *pauses, smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    if (!pauses)
        return;
    for (unsigned i = 0; i < pauses->port_count; i++)
        report_port(pauses, pauses->ports[i], list, scope);
    if (pauses->others)
        report_port(pauses, pauses->others, list, scope);
}

/* Whether the port counted as a switch's when the standstill was found, and a later packet has
 * shown that it is the port of a host. Then its pauses did not stop the flow. */
static bool
is_refuted(const smcr_pause_standstill_t *standstill)
{
    const port_t *port = standstill->by;

    return standstill->by_switch && port->is_end;
}

/* Adds the entry of a standstill. */
static void
report_standstill(const smcr_pause_standstill_t *standstill, smcr_entry_flow_pause_t *pause,
                  wmem_allocator_t *scope)
{
    const port_t *port = standstill->by;
    smcr_entry_flow_still_t *entry = SMCR_FIGURE_ADD(flow_still, &pause->intervals, scope);

    entry->begin_frame = standstill->begin;
    entry->end_frame = standstill->end;
    entry->still_s = standstill->least;
    entry->still_most_s = standstill->most;
    entry->port_mac = mac_text(scope, port->mac);
    entry->priority = standstill->lane < CLASSES ? standstill->lane : SMCR_FIGURE_UNKNOWN;
}

/* Notes the longest standstill of the entry; of several equally long ones the first. */
static void
note_longest(smcr_entry_flow_pause_t *entry, wmem_allocator_t *scope)
{
    const smcr_entry_flow_still_t *longest = NULL;

    SMCR_FIGURE_EACH(flow_still, each, entry->intervals)
        if (!longest || each->still_most_s > longest->still_most_s)
            longest = each;
    if (!longest)
        return;
    entry->port_mac = longest->port_mac;
    entry->longest = wmem_new(scope, smcr_entry_flow_standstill_t);
    *entry->longest = (smcr_entry_flow_standstill_t){longest->begin_frame, longest->end_frame};
}

/* A kept standstill that later frames have refuted is subtracted from the sums of the entry. The
 * figures of the flow do not change, so that the next report can subtract it, too. */
smcr_entry_flow_pause_t *
smcr_pause_flow_report(const smcr_pauses_t *pauses, const smcr_pause_flow_t *flow,
                       const smcr_pause_gap_t *gap, wmem_allocator_t *scope)
{
    smcr_entry_flow_pause_t *entry = wmem_new(scope, smcr_entry_flow_pause_t);

    smcr_entry_clear(entry, &smcr_entry_flow_pause_description);
    entry->standstills = flow->count;
    entry->still_s = flow->least;
    entry->still_most_s = flow->most;
    for (uint32_t i = 0; i < flow->kept_count; i++) {
        const smcr_pause_standstill_t *standstill = &flow->kept[i];
        if (is_refuted(standstill)) {
            entry->standstills--;
            entry->still_s -= standstill->least;
            entry->still_most_s -= standstill->most;
        } else {
            report_standstill(standstill, entry, scope);
        }
    }
    note_longest(entry, scope);
    report_stop(pauses, flow, gap, entry, scope);
    return entry->longest || entry->stopped ? entry : NULL;
}

/* ---- flows that stand still during a run of pauses ---- */

/* A time in which a flow stood still. */
typedef struct {
    const char *port_mac; /* port whose pauses were in force */
    uint64_t priority;    /* class of the flow; SMCR_FIGURE_UNKNOWN: not known */
    uint64_t begin, end;  /* times of the packets before and after it, nanoseconds since 1970 */
} still_time_t;

/* Whether these pauses are of the port that caused the standstill, and of the class of its flow or
 * of all classes. */
static bool
is_still_by(const still_time_t *still, const smcr_entry_pause_t *pause)
{
    bool is_of_port = g_strcmp0(still->port_mac, pause->port_mac) == 0;
    bool is_of_class = pause->kind == SMCR_FIGURE_PAUSE_ALL
                       || (pause->priority != SMCR_FIGURE_UNKNOWN
                           && pause->priority == still->priority);

    return is_of_port && is_of_class;
}

/* Returns how long the standstill and the run of pauses last at the same time at most,
 * nanoseconds. 0: the pauses are of another port, or do not stop the flow. */
static uint64_t
time_in_both(const still_time_t *still, const smcr_entry_pause_t *pause,
             const smcr_entry_pause_interval_t *interval)
{
    uint64_t begin = MAX(still->begin, interval->begin_frame.time);
    uint64_t end = MIN(still->end, interval->end_most_time);

    return is_still_by(still, pause) && end > begin ? end - begin : 0;
}

/* Returns how long the flow stood still during the run of pauses at most, nanoseconds. */
static uint64_t
still_in_run(const smcr_entry_flow_pause_t *flow, const smcr_entry_pause_t *pause,
             const smcr_entry_pause_interval_t *interval)
{
    const smcr_entry_flow_stop_t *stop = flow->stopped;
    uint64_t still = 0;

    SMCR_FIGURE_EACH(flow_still, each, flow->intervals) {
        const still_time_t time = {each->port_mac, each->priority, each->begin_frame.time,
                                   each->end_frame.time};
        still += time_in_both(&time, pause, interval);
    }
    if (stop) {
        const still_time_t time = {stop->port_mac, stop->priority, stop->since_frame.time,
                                   stop->since_frame.time + stop->silent_s};
        still += time_in_both(&time, pause, interval);
    }
    return MIN(still, interval->paused_most_s);
}

/* Notes in a run of pauses a flow that stood still during it, and for how long at most. */
static void
note_flow(smcr_entry_pause_interval_t *interval, uint64_t flow, uint64_t still)
{
    interval->still_flows++;
    if (interval->still_flows > 1 && still <= interval->still_most_s)
        return;
    interval->flow = flow;
    interval->still_most_s = still;
}

/* Notes the flow in those runs of pauses of a port and class during which the flow stood still. */
static void
note_flow_in_runs(const smcr_entry_rdma_t *flow, const smcr_entry_pause_t *pause)
{
    SMCR_FIGURE_EACH(pause_interval, interval, pause->intervals) {
        uint64_t still = still_in_run(flow->pause, pause, interval);
        if (still)
            note_flow(interval, flow->index, still);
    }
}

/* Called when both lists are complete. */
void
smcr_pauses_name_flows(const smcr_figure_list_t *pauses, const smcr_figure_list_t *flows)
{
    if (!pauses->length)
        return;
    SMCR_FIGURE_EACH(rdma, flow, *flows) {
        if (!flow->pause)
            continue;
        SMCR_FIGURE_EACH(pause, pause, *pauses)
            note_flow_in_runs(flow, pause);
    }
}
