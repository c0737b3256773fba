/* Fills in how long the setup of a connection took, step by step.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "counts.h"

#include "fields.h"

/* Returns the duration of one step of the setup, nanoseconds: from the time `*from` to the packet
 * `to`. SMCR_FIGURE_UNKNOWN: one of the two is not captured, or the times decrease. `*from` gets
 * the time of `to`, at which the next step begins. */
static uint64_t
step(uint64_t *from, smcr_when_t to)
{
    uint64_t begin = *from;

    *from = to.frame ? to.time : SMCR_FIGURE_UNKNOWN;
    return begin == SMCR_FIGURE_UNKNOWN || !to.frame || to.time < begin ? SMCR_FIGURE_UNKNOWN
                                                                        : to.time - begin;
}

/* Whether the event in `frame` came at the end of the first contact (`ready`) or before. `frame` 0:
 * there was no such event. */
static bool
is_in_contact(uint32_t frame, smcr_when_t ready)
{
    return frame && frame <= ready.frame;
}

/* Whether the CONFIRM LINK of an added link is missing, with which the first contact goes on. Three
 * conditions: a link of the group was added during the first contact, the capture has no packet of
 * this link, and the hosts did not give it up. */
static bool
misses_link(const smcr_collect_conn_stats_t *counted)
{
    const smcr_link_t *link = counted->conn->lgr->newest_link;
    smcr_when_t ready = counted->contact.ready;

    for (; link; link = smcr_link_older(link)) {
        bool is_given_up = is_in_contact(link->deleted_frame, ready) ||
                           is_in_contact(link->lost_frame, ready);
        if (is_in_contact(link->added_frame, ready) && smcr_evidence_never_saw(link) &&
            !is_given_up)
            return true;
    }
    return false;
}

/* Whether the LLC messages of the first contact may not show its steps. No request is captured; or
 * a message is truncated or missing, or time stamps decrease (`is_unsure`); or all packets of a
 * link are missing, or another packet of the link group. */
static bool
may_lack_step(const smcr_collect_conn_stats_t *counted)
{
    const smcr_collect_contact_t *contact = &counted->contact;

    return !contact->last_request || contact->is_unsure || misses_link(counted) ||
           smcr_evidence_lacks_between(counted->conn->lgr, 0, contact->ready.frame + 1);
}

/* Whether the first contact of the connection has not succeeded as far as captured: its last LLC
 * request has no response, and no RoCE packet of the connection was counted. */
static bool
is_contact_open(const smcr_collect_conn_stats_t *counted)
{
    const smcr_exchange_t *last = counted->contact.last_request;

    return !counted->on_roce && last && !last->response_frame;
}

/* Whether a direction of the connection is not captured on RoCE, or its packets may be those of
 * another connection (smcr_collect_conn_is_captured()). */
static bool
misses_direction(const smcr_collect_conn_stats_t *counted)
{
    return !smcr_collect_conn_is_captured(counted, 0) || !smcr_collect_conn_is_captured(counted, 1);
}

/* Whether the connection uses a link group that was there before: its Accept says so, or the first
 * contact of the link group is that of another connection. */
static bool
uses_old_link(const smcr_conn_t *conn)
{
    bool is_first_of_other = conn->lgr && conn->lgr->first_contact_captured;

    return !conn->first_contact && (conn->accept_frame || is_first_of_other);
}

/* On an old link, data can flow after the Confirm: no LLC message is needed. */
smcr_when_t
smcr_collect_conn_ready(const smcr_collect_conn_stats_t *counted)
{
    if (uses_old_link(counted->conn))
        return counted->contact.ready;
    if (may_lack_step(counted) || misses_direction(counted) || is_contact_open(counted))
        return (smcr_when_t){0};
    return counted->contact.ready;
}

/* The first packet of the connection on RoCE; frame 0: there is none. */
static smcr_when_t
first_packet(const smcr_collect_conn_stats_t *counted)
{
    return counted->on_roce ? counted->counts->times.timeline.begun : (smcr_when_t){0, 0};
}

/* Returns the time of the last captured step of CLC that is not later than the connection's first
 * packet on RoCE, nanoseconds since 1970; 0: the connection has no packet on RoCE, or no step
 * before it; or times of TCP and RoCE cannot be compared. The setup took at least until this step
 * (smcr_collect_conn_connecting_until()). */
static uint64_t
last_clc_step(const smcr_collect_conn_stats_t *counted)
{
    smcr_when_t begun = first_packet(counted);
    uint64_t last = 0;

    if (!smcr_evidence_has_one_clock(counted->conn))
        return 0;
    for (unsigned type = SMCR_CLC_PROPOSAL; type <= SMCR_CLC_CONFIRM; type++)
        if (counted->clc[type].frame && counted->clc[type].time <= begun.time)
            last = MAX(last, counted->clc[type].time);
    return last;
}

/* Whether one packet of the first contact is missing, and all others before the connection's first
 * packet on RoCE are captured completely. */
static bool
misses_one_packet(const smcr_collect_conn_stats_t *counted)
{
    const smcr_collect_contact_t *contact = &counted->contact;
    smcr_when_t begun = first_packet(counted);

    if (!begun.frame || !contact->missing_until.frame || contact->is_unread)
        return false;
    if (contact->ready.time > begun.time || misses_link(counted) || misses_direction(counted))
        return false;
    return smcr_evidence_count_before(counted->conn->lgr, begun.frame) == 1;
}

/* Whether no data of the connection are missing before its first captured packets. */
static bool
has_first_data(const smcr_collect_conn_stats_t *counted)
{
    const smcr_collect_writer_times_t *of = counted->counts->times.of;

    return (of[0].begins_whole || !of[0].next_seq) && (of[1].begins_whole || !of[1].next_seq);
}

/* Whether the captured steps after the missing packet certainly belong to the first contact. None
 * of them came so late that it would not be a step if the missing packet had been captured. */
static bool
goes_on_after_gap(const smcr_collect_conn_stats_t *counted)
{
    const smcr_collect_contact_t *contact = &counted->contact;
    bool is_soon = contact->step.time <= contact->sure_until.time + SMCR_TIME_SECOND;

    return is_soon && misses_one_packet(counted) && has_first_data(counted);
}

/* Packets that are missing do not matter: nobody sends a packet of the connection on RoCE before
 * the steps of CLC are over. */
uint64_t
smcr_collect_conn_connecting_until(const smcr_collect_conn_stats_t *counted)
{
    smcr_when_t ready = smcr_collect_conn_ready(counted);

    if (ready.frame)
        return ready.time;
    if (goes_on_after_gap(counted))
        return counted->contact.step.time;
    return MAX(counted->contact.sure_until.time, last_clc_step(counted));
}

/* Whether the missing packet is the response to the last step of the first contact: an ADD LINK of
 * version 1, or a CONFIRM LINK. Nothing follows, so the ADD LINK was rejected: an ADD LINK
 * CONTINUATION would follow otherwise. */
static bool
misses_last_response(const smcr_collect_contact_t *contact)
{
    const smcr_exchange_t *last = contact->last_request;
    bool is_step = last && contact->step.frame == last->request_frame && !last->response_frame;

    return is_step && contact->missing_until.frame > contact->step.frame &&
           (last->llc_type == SMCR_LLC_ADD_LINK || last->llc_type == SMCR_LLC_CONFIRM_LINK);
}

/* If one packet of the first contact is missing, it was sent before `missing_until`. If more may be
 * missing, only the first packet of the connection shows that the setup was over. */
uint64_t
smcr_collect_conn_ready_until(const smcr_collect_conn_stats_t *counted)
{
    const smcr_collect_contact_t *contact = &counted->contact;
    smcr_when_t begun = first_packet(counted);

    if (!begun.frame)
        return SMCR_FIGURE_UNKNOWN;
    if (!misses_one_packet(counted))
        return begun.time;
    bool is_last = misses_last_response(contact);
    if (!is_last && (contact->is_adding || contact->ready.frame == begun.frame))
        return begun.time;
    uint64_t end = is_last ? contact->step.time : contact->ready.time;
    return MIN(MAX(contact->missing_until.time, end), begun.time);
}

/* Whether the capture proves that the LLC request got no response in time. The capture continues
 * long enough after the request. Also, both directions of the link are captured, or the connection
 * has fallen back to TCP. */
static bool
is_unanswered(const smcr_collect_conn_stats_t *counted, const smcr_exchange_t *request)
{
    const smcr_state_t *state = smcr_capture_state();
    const smcr_link_t *link = counted->contact.last_request_link;
    bool has_both = link && smcr_evidence_has_packets_to(&link->qp[0]) &&
                    smcr_evidence_has_packets_to(&link->qp[1]);

    return state && (has_both || counted->conn->fallback.kind) &&
           smcr_evidence_is_unanswered(state, request);
}

/* Returns the LLC request of the longest step of the first contact. NULL: no step was counted, or
 * it is not known which one was the longest. */
static const smcr_exchange_t *
longest_step_request(const smcr_collect_conn_stats_t *counted)
{
    const smcr_exchange_t *longest = counted->contact.longest_step_request;

    if (!longest || may_lack_step(counted))
        return NULL;
    if (counted->on_roce && misses_direction(counted))
        return NULL;
    return longest->response_frame || is_unanswered(counted, longest) ? longest : NULL;
}

/* Returns a text that names the longest step of the first contact; NULL: not known. */
static const char *
longest_step(const smcr_collect_conn_stats_t *counted, wmem_allocator_t *scope)
{
    const smcr_collect_contact_t *contact = &counted->contact;
    const smcr_exchange_t *longest = longest_step_request(counted);

    if (!longest)
        return NULL;
    const char *type = val_to_str_const(longest->llc_type, smcr_values_llc_types, "LLC");
    if (contact->longest_step_after_response)
        return wmem_strdup_printf(scope, "from %s response to next step, link %u", type,
                                  contact->longest_link);
    return wmem_strdup_printf(scope, "%s on link %u%s", type, contact->longest_link,
                              longest->response_frame ? "" : ", without an answer");
}

/* Fills in the time from the first frame of the connection to its fallback, if the capture has its
 * beginning. */
static void
fill_time_of_fallback(smcr_entry_connection_t *entry)
{
    const smcr_entry_conn_fallback_t *fallback = entry->fallback;

    entry->setup.fallback_s = SMCR_FIGURE_UNKNOWN;
    if (fallback && fallback->frame.frame && entry->began_before == SMCR_FIGURE_NO)
        entry->setup.fallback_s = smcr_figure_time_between(entry->first_frame, fallback->frame);
}

/* The events between which the steps of a setup lie, in their order. Those of CLC have the types of
 * their messages. */
enum {
    SYN,
    PROPOSAL = SMCR_CLC_PROPOSAL,
    ACCEPT = SMCR_CLC_ACCEPT,
    CONFIRM = SMCR_CLC_CONFIRM,
    READY,
    EVENTS
};

/* When an event of the setup came, nanoseconds since 1970. Both are the same if it is known. */
typedef struct {
    uint64_t earliest; /* not before this time; SMCR_FIGURE_UNKNOWN: not known */
    uint64_t latest;   /* not after this time; SMCR_FIGURE_UNKNOWN: not known */
} event_t;

/* A part of the setup: members of its entry, which get nanoseconds. */
typedef struct {
    unsigned from;         /* event with which it begins */
    unsigned to;           /* event with which it ends */
    const uint64_t *exact; /* how long it took; SMCR_FIGURE_UNKNOWN: not known */
    uint64_t *least;       /* its lower bound */
    uint64_t *most;        /* its upper bound */
} part_t;

/* Returns the event that came with the captured packet `when`; frame 0: not known when it came. */
static event_t
event_at(smcr_when_t when)
{
    return when.frame ? (event_t){when.time, when.time}
                      : (event_t){SMCR_FIGURE_UNKNOWN, SMCR_FIGURE_UNKNOWN};
}

/* Returns the event of CLC that the captured message of the type shows. A message of which only the
 * first bytes are captured came with a later segment. */
static event_t
clc_event(const smcr_collect_conn_stats_t *counted, unsigned type)
{
    event_t event = event_at(counted->clc[type]);

    if (counted->clc_continues[type])
        event.latest = SMCR_FIGURE_UNKNOWN;
    return event;
}

/* Fills in the events from the first to `last`: each comes not before those before it, and not
 * after those after it. */
static void
bound_events(event_t events[EVENTS], unsigned last)
{
    for (unsigned i = SYN + 1; i <= last; i++)
        if (events[i].earliest == SMCR_FIGURE_UNKNOWN)
            events[i].earliest = events[i - 1].earliest;
    for (unsigned i = last; i-- > SYN;)
        if (events[i].latest == SMCR_FIGURE_UNKNOWN)
            events[i].latest = events[i + 1].latest;
}

/* Finds when the events of the setup came, of a connection that has carried data. The SYN is not
 * after the connection's first frame, `first` (nanoseconds). The connection could not carry data
 * before smcr_collect_conn_connecting_until(), and could do so at the latest with its first packet
 * on RoCE. If times of TCP and RoCE cannot be compared, neither bounds the other. `syn`: time of
 * the SYN, nanoseconds; SMCR_FIGURE_UNKNOWN: not known. */
static void
find_events(event_t events[EVENTS], const smcr_collect_conn_stats_t *counted, uint64_t syn,
            uint64_t first)
{
    smcr_when_t ready = smcr_collect_conn_ready(counted);
    uint64_t until = smcr_collect_conn_connecting_until(counted);
    bool has_one_clock = smcr_evidence_has_one_clock(counted->conn);

    events[SYN] = (event_t){syn, first};
    for (unsigned i = PROPOSAL; i <= CONFIRM; i++)
        events[i] = clc_event(counted, i);
    events[READY] = event_at(ready);
    if (!ready.frame)
        events[READY] =
            (event_t){until ? until : SMCR_FIGURE_UNKNOWN, smcr_collect_conn_ready_until(counted)};
    bound_events(events, has_one_clock ? READY : CONFIRM);
}

/* Returns the nanoseconds from one time to another; SMCR_FIGURE_UNKNOWN: one of the two is not
 * known, or the second one is earlier. */
static uint64_t
length(uint64_t from, uint64_t to)
{
    bool is_known = from != SMCR_FIGURE_UNKNOWN && to != SMCR_FIGURE_UNKNOWN && from <= to;

    return is_known ? to - from : SMCR_FIGURE_UNKNOWN;
}

/* Fills in the bounds of a part of the setup: the time itself if it is known. `is_bounded`: the
 * events have bounds. With an upper bound only, the lower one is 0. */
static void
fill_part(const part_t *part, const event_t events[EVENTS], bool is_bounded)
{
    const event_t *from = &events[part->from], *to = &events[part->to];

    *part->least = *part->most = *part->exact;
    if (*part->exact != SMCR_FIGURE_UNKNOWN || !is_bounded)
        return;
    *part->most = length(from->earliest, to->latest);
    *part->least = length(from->latest, to->earliest);
    if (*part->least == SMCR_FIGURE_UNKNOWN && *part->most != SMCR_FIGURE_UNKNOWN)
        *part->least = 0;
}

/* Fills in the bounds of the setup and of its steps. Those that are not known have bounds if the
 * connection has carried data, or if the message that ends the step is captured in part. `syn`: as
 * of find_events(). `in_order`: times of TCP are in order. */
static void
fill_bounds(smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted, uint64_t syn,
            bool in_order)
{
    smcr_entry_conn_setup_t *setup = &entry->setup;
    const part_t parts[] = {
        {SYN, PROPOSAL, &setup->tcp_s, &setup->tcp_least_s, &setup->tcp_most_s},
        {PROPOSAL, ACCEPT, &setup->accept_s, &setup->accept_least_s, &setup->accept_most_s},
        {ACCEPT, CONFIRM, &setup->confirm_s, &setup->confirm_least_s, &setup->confirm_most_s},
        {CONFIRM, READY, &setup->llc_s, &setup->llc_least_s, &setup->llc_most_s},
        {SYN, READY, &entry->setup_s, &setup->least_s, &setup->most_s}};
    bool has_carried_data = first_packet(counted).frame != 0;
    event_t events[EVENTS];

    find_events(events, counted, syn, entry->first_frame.time);
    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
        bool ends_later = parts[i].to != READY && counted->clc_continues[parts[i].to];
        fill_part(&parts[i], events, in_order && (has_carried_data || ends_later));
    }
}

/* Returns when the step of the setup ended that ends with `event`, which is one from PROPOSAL to
 * READY; frame 0: not known, or times of TCP are not in order (`in_order`). */
static smcr_when_t
end_of_step(const smcr_collect_conn_stats_t *counted, unsigned event, bool in_order)
{
    if (!in_order)
        return (smcr_when_t){0, 0};
    if (event == READY)
        return smcr_collect_conn_ready(counted);
    return counted->clc_continues[event] ? (smcr_when_t){0, 0} : counted->clc[event];
}

/* Each step begins where the step before has ended: a missing message makes both of its steps
 * unknown. Without the order of TCP no step is known. */
void
smcr_collect_conn_fill_setup(smcr_entry_connection_t *entry,
                             const smcr_collect_conn_stats_t *counted,
                             const smcr_collect_tcp_facts_t *tcp, wmem_allocator_t *scope)
{
    bool in_order = smcr_collect_conn_has_ordered_clc(counted) && (!tcp || !tcp->is_disordered);
    bool known = tcp && tcp->syn.frame && in_order;
    uint64_t from = known ? tcp->syn.time : SMCR_FIGURE_UNKNOWN, syn = from;

    entry->setup.tcp_s = step(&from, end_of_step(counted, PROPOSAL, in_order));
    entry->setup.accept_s = step(&from, end_of_step(counted, ACCEPT, in_order));
    entry->setup.confirm_s = step(&from, end_of_step(counted, CONFIRM, in_order));
    entry->setup.llc_s = step(&from, end_of_step(counted, READY, in_order));
    entry->setup_s = step(&syn, smcr_collect_conn_ready(counted));
    entry->setup_longest = longest_step(counted, scope);
    fill_bounds(entry, counted, known ? tcp->syn.time : SMCR_FIGURE_UNKNOWN, in_order);
    fill_time_of_fallback(entry);
}
