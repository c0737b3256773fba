/* Reads PAUSE and PFC frames, and adds up for each port and class how long the pauses lasted. Holds
 * the packets of RDMA flows against them.
 *
 * A pause lasts for a number of quanta from its frame on, or until the next frame of the same port
 * that names the class. A quantum is the time of 512 bits (IEEE 802.3, 31B.2). Frames do not show
 * the speed of the link. Without the preference smcr.link_speed a pause lasts at most as long as on
 * a link with 1 Gbit/s, the slowest that carries RoCE. It certainly lasts until the next frame for
 * the class, if that frame comes within this time: the port renews or ends a pause.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "pause.h"

#define TAG_8021Q 0x8100
#define TAG_8021AD 0x88a8
#define MAC_CONTROL 0x8808 /* Ethernet type of MAC control */
#define PAUSE 0x0001       /* opcodes of MAC control */
#define PFC 0x0101

#define TYPE_AT (2 * SMCR_PAUSE_MAC_LENGTH) /* offset of the Ethernet type, or of the VLAN tag */
#define TAG_LENGTH 4
#define CLASSES 8
#define QUANTUM_BITS 512
#define SLOWEST_LINK 1 /* Gbit/s: bits per nanosecond */

#define PORTS_MOST 64  /* a link has two ports, and a capture few links; pauses of more ports than
                          these are counted together */
#define FAR_APART 10   /* a gap of this many times the usual gap is a standstill */

/* Places of a port's pauses: eight classes, PAUSE, and PFC frames that name no class. */
enum { OF_ALL = SMCR_PAUSE_OF_ALL, OF_NONE, LANES };

/* The pauses of one class of a port. Times are in nanoseconds. */
typedef struct {
    uint64_t frames;   /* number of frames that name the class */
    uint64_t resumes;  /* of these: number of frames with 0 quanta, which end a pause */
    uint64_t cut;      /* of these: number of frames whose quanta were not captured */
    uint64_t quanta;   /* sum of the quanta */
    smcr_when_t first; /* first frame that names the class */
    smcr_when_t last;  /* last frame that names the class */
    bool in_force;     /* a pause began with the frame `last` */
    uint64_t lasts;    /* how long this pause lasts at most */
    uint64_t proven;   /* how long pauses before the frame `last` certainly lasted */
    uint64_t most;     /* how long they lasted at most */
} lane_t;

/* A port that sends PAUSE or PFC frames. */
typedef struct {
    uint8_t mac[SMCR_PAUSE_MAC_LENGTH]; /* MAC address of the port */
    bool is_end; /* RoCE packets have come from or to this address: the port is that of a host or
                    router. Otherwise it may be a switch's, whose address no packet has */
    lane_t lanes[LANES];
} port_t;

struct smcr_pauses {
    wmem_allocator_t *scope;
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

static port_t *
find_port(const smcr_pauses_t *pauses, const uint8_t *mac)
{
    for (unsigned i = 0; i < pauses->port_count; i++)
        if (is_of_mac(pauses->ports[i], mac))
            return pauses->ports[i];
    return NULL;
}

/* Returns the port with this address, which is made if there is none. There are PORTS_MOST ports at
 * most; all further ones are one. */
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

/* Returns how long a pause of so many quanta lasts at most, nanoseconds. */
static uint64_t
duration_of(const smcr_pauses_t *pauses, uint16_t quanta)
{
    return (uint64_t)quanta * QUANTUM_BITS / (pauses->speed ? pauses->speed : SLOWEST_LINK);
}

/* Returns how long the pause that began with the last frame of the class has lasted at most at the
 * time `now`; 0: no pause began with it. */
static uint64_t
lasted(const lane_t *lane, uint64_t now)
{
    if (!lane->in_force || now < lane->last.time)
        return 0;
    return MIN(now - lane->last.time, lane->lasts);
}

/* Returns how long the class has certainly been paused up to the time `now`. */
static uint64_t
proven_at(const smcr_pauses_t *pauses, const lane_t *lane, uint64_t now)
{
    return lane->proven + (pauses->speed ? lasted(lane, now) : 0);
}

/* Counts a frame that names the class: the pause of the frame before ends, and a new one begins. */
static void
count_frame(const smcr_pauses_t *pauses, lane_t *lane, smcr_when_t when)
{
    uint64_t before = lasted(lane, when.time);
    bool is_renewed = when.time - lane->last.time <= lane->lasts;

    lane->most += before;
    if (pauses->speed || is_renewed)
        lane->proven += before;
    if (!lane->frames++)
        lane->first = when;
    lane->last = when;
    lane->in_force = false;
}

/* Reads the quanta of a frame that names the class, at offset `at`. */
static void
take_class(const smcr_pauses_t *pauses, lane_t *lane, smcr_when_t when, const uint8_t *quanta)
{
    count_frame(pauses, lane, when);
    if (!quanta) {
        lane->cut++;
        return;
    }
    uint16_t number = smcr_wire_number16(quanta);
    lane->resumes += number == 0;
    lane->quanta += number;
    lane->in_force = number > 0;
    lane->lasts = duration_of(pauses, number);
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

smcr_pauses_t *
smcr_pauses_new(wmem_allocator_t *scope, unsigned speed)
{
    smcr_pauses_t *pauses = wmem_new0(scope, smcr_pauses_t);

    pauses->scope = scope;
    pauses->speed = speed;
    return pauses;
}

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

/* Returns the port whose pauses stop the packet; NULL: none. A pause stops what comes to the port:
 * packets to the address of the port. The address of a switch's port stands in no packet. Then the
 * packet is on the same link, and may go to the port or come from it. */
static const port_t *
port_that_stops(smcr_pauses_t *pauses, const smcr_pause_header_t *header)
{
    port_t *to = find_port(pauses, header->to), *from = find_port(pauses, header->from);

    if (to)
        to->is_end = true;
    if (from)
        from->is_end = true;
    for (unsigned i = 0; i < pauses->port_count && !to; i++)
        to = pauses->ports[i]->is_end ? NULL : pauses->ports[i];
    return to;
}

/* Returns the usual time between two packets of the flow, nanoseconds: the mean, without
 * standstills. UINT64_MAX: the flow has too few packets. */
static uint64_t
usual_gap(const smcr_pause_flow_t *flow, const smcr_pause_gap_t *gap)
{
    uint64_t count = gap->packets - 1 - flow->count;
    uint64_t time = gap->from.time - gap->first.time;

    if (gap->packets < 2 || !count || gap->from.time < gap->first.time)
        return UINT64_MAX;
    return (time - MIN(time, flow->gaps)) / count;
}

/* Counts the gap as a standstill, if pauses were in force in it for long enough: `still`,
 * nanoseconds. */
static void
judge(smcr_pause_flow_t *flow, const smcr_pause_gap_t *gap, const port_t *port, uint64_t still)
{
    uint64_t usual = usual_gap(flow, gap);

    if (!still || usual > still / FAR_APART || gap->to.time < gap->from.time)
        return;
    flow->count++;
    flow->gaps += gap->to.time - gap->from.time;
    flow->still += still;
    if (still <= flow->longest)
        return;
    flow->longest = still;
    flow->begin = gap->from;
    flow->end = gap->to;
    flow->by = port;
    flow->by_switch = !port->is_end;
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

void
smcr_pauses_take_packet(smcr_pauses_t *pauses, smcr_pause_flow_t *flow,
                        const smcr_pause_gap_t *gap, const smcr_pause_header_t *header)
{
    const port_t *port = port_that_stops(pauses, header);
    uint8_t lane = header->has_priority ? header->priority : OF_ALL;
    uint64_t now = gap->to.time, still = 0;

    note_class(pauses, header);
    bool is_known = port && gap->from.frame && knows_before(flow, gap, port, lane);
    if (flow->port != port)
        memset(flow->paused, 0, sizeof flow->paused);
    flow->port = port;
    flow->lane = lane;
    if (!port)
        return;
    const lane_t *const lanes[] = {&port->lanes[lane], &port->lanes[OF_ALL]};
    for (unsigned i = 0; i < G_N_ELEMENTS(lanes); i++) {
        uint64_t proven = proven_at(pauses, lanes[i], now);
        still = MAX(still, proven - MIN(proven, flow->paused[i]));
        flow->paused[i] = lanes[i]->proven + lasted(lanes[i], now);
    }
    if (is_known)
        judge(flow, gap, port, still);
}

void
smcr_pause_flow_join(smcr_pause_flow_t *flow, const smcr_pause_flow_t *other)
{
    flow->count += other->count;
    flow->gaps += other->gaps;
    flow->still += other->still;
    if (other->longest <= flow->longest)
        return;
    flow->longest = other->longest;
    flow->begin = other->begin;
    flow->end = other->end;
    flow->by = other->by;
    flow->by_switch = other->by_switch;
}

/* ---- reporting ---- */

static const char *
mac_text(wmem_allocator_t *scope, const uint8_t *mac)
{
    return wmem_strdup_printf(scope, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
                              mac[3], mac[4], mac[5]);
}

/* Returns whether packets of RDMA flows in the class have come; SMCR_FIGURE_MAYBE: packets have no
 * VLAN tag, so their class is not known. */
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

/* Adds the entry of a class of a port. `number`: place of the class in the port's lanes. */
static void
report_lane(const smcr_pauses_t *pauses, const port_t *port, unsigned number,
            smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    const lane_t *lane = &port->lanes[number];
    smcr_entry_pause_t *entry = SMCR_FIGURE_ADD(pause, list, scope);
    uint64_t last = lane->in_force ? lane->lasts : 0;

    entry->port_mac = port == pauses->others ? NULL : mac_text(scope, port->mac);
    entry->kind = number == OF_ALL ? SMCR_FIGURE_PAUSE_ALL : SMCR_FIGURE_PAUSE_PFC;
    entry->priority = number < CLASSES ? number : SMCR_FIGURE_UNKNOWN;
    entry->frames = lane->frames;
    entry->resumes = lane->resumes;
    entry->cut = lane->cut;
    entry->quanta = lane->quanta;
    entry->paused_most_s = lane->most + last;
    entry->paused_s = pauses->speed ? entry->paused_most_s : SMCR_FIGURE_UNKNOWN;
    entry->first_frame = lane->first;
    entry->last_frame = lane->last;
    entry->has_flow = has_flow(pauses, number);
}

static void
report_port(const smcr_pauses_t *pauses, const port_t *port, smcr_figure_list_t *list,
            wmem_allocator_t *scope)
{
    for (unsigned lane = 0; lane < LANES; lane++)
        if (port->lanes[lane].frames)
            report_lane(pauses, port, lane, list, scope);
}

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

smcr_entry_flow_pause_t *
smcr_pause_flow_report(const smcr_pause_flow_t *flow, wmem_allocator_t *scope)
{
    const port_t *port = flow->by;

    if (!port || (flow->by_switch && port->is_end)) /* it turned out to be another host's port */
        return NULL;
    smcr_entry_flow_pause_t *entry = wmem_new(scope, smcr_entry_flow_pause_t);
    smcr_entry_clear(entry, &smcr_entry_flow_pause_description);
    entry->port_mac = mac_text(scope, port->mac);
    entry->standstills = flow->count;
    entry->still_s = flow->still;
    entry->longest = wmem_new(scope, smcr_entry_flow_standstill_t);
    *entry->longest = (smcr_entry_flow_standstill_t){flow->begin, flow->end};
    return entry;
}
