/* Rules for the contents of LLC messages: their sender, version and byte order; keys of RMBs on all
 * links of the group; lists of RTokens that go over several messages (RFC 7609 3.5.5, A.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define NUMBERS 256 /* number of possible link numbers, which have one byte */
#define ADD_ROOM 2U     /* number of RTokens for which one ADD LINK CONTINUATION has room */
#define CONFIRM_ROOM 3U /* number of RTokens for which one CONFIRM RKEY CONTINUATION has room */
#define GONE_WAIT UINT64_C(2000000000) /* nanoseconds within which Linux reports that a link has
                                          failed */

/* ---- the sender ---- */

/* Returns why a client may not send this request, for the text of the event; NULL: a client may
 * send it. A client that wants a link sends ADD LINK without a queue pair number. */
static const char *
find_wrong_of_client(const smcr_exchange_message_t *message)
{
    switch (message->type) {
    case SMCR_LLC_ADD_LINK_CONT:
        return "Only the server begins ADD LINK CONTINUATION";
    case SMCR_LLC_CONFIRM_LINK:
        return "Only the server begins CONFIRM LINK";
    case SMCR_LLC_ADD_LINK:
        return message->llc->u.add_link.qpn != 0 ? "Only the server may offer a link" : NULL;
    default:
        return NULL;
    }
}

/* Returns why a server may not send this request, for the text of the event; NULL: a server may
 * send it. A server never asks for a link. */
static const char *
find_wrong_of_server(const smcr_exchange_message_t *message)
{
    return message->type == SMCR_LLC_REQ_ADD_LINK ? "Only the client requests a link" : NULL;
}

/* The server begins CONFIRM LINK and ADD LINK CONTINUATION, and offers links (R-3.5.1.5-1,
 * R-A.3.2-3, R-A.3.3-1). The client asks for a link by REQUEST ADD LINK, which no server sends
 * (R-V2LLC-11). A request breaks the rule if the wrong side sends it. A message without the
 * response flag counts as a request. */
SMCR_RULES_LLC(check_sender)
{
    bool by_client = message->lgr->server == message->to->side;

    if (!message->lgr->first_contact_captured ||
        (message->response && !message->llc->lacks_response_flag))
        return;
    const char *wrong = by_client ? find_wrong_of_client(message) : find_wrong_of_server(message);
    if (wrong)
        smcr_breach_report(arrival, SMCR_EVENT_llc_wrong_sender, "%s", wrong);
}

/* The server answers a client's DELETE LINK by a DELETE LINK request of its own, not by a response
 * (R-3.5.5.1.4-3). A DELETE LINK response of the server breaks the rule. It is allowed with the
 * reason that the link or group is not known. */
SMCR_RULES_LLC(check_deleter)
{
    if (message->lgr->first_contact_captured && message->by_server &&
        message->llc->u.delete_link.reason < SMCR_LLC_DELETE_UNKNOWN_LINK)
        smcr_breach_report(arrival, SMCR_EVENT_llc_wrong_sender,
                           "Only the client responds to DELETE LINK");
}

/* ---- versions, byte order and limits ---- */

/* All LLC messages of a link group have the version of the group (R-V2LLC-3). A message breaks the
 * rule if its type belongs to the other version. Not judged are: 1. messages in a group whose first
 * contact is not captured; 2. messages on a deleted link, whose queue pairs may now belong to
 * another group. */
SMCR_RULES_LLC(check_version)
{
    const smcr_lgr_t *lgr = message->lgr;
    bool v2 = (message->llc->type & SMCR_LLC_TYPE_V2) != 0;
    bool known = lgr->first_contact_captured && lgr->version && !message->link->deleted_frame;

    if (known && v2 != (lgr->version == 2))
        smcr_breach_report(arrival, SMCR_EVENT_llc_wrong_version,
                           "The message is of version %u, but the link group of version %u",
                           v2 ? 2 : 1, lgr->version);
}

/* The byte order of the length in the message, enum smcr_rules_order; 0: the length is the same in
 * both orders. */
static uint8_t
order_of_length(const smcr_llc_t *llc)
{
    if (llc->little_endian)
        return SMCR_RULES_ORDER_LITTLE;
    return llc->big_endian ? SMCR_RULES_ORDER_BIG : 0;
}

/* A host has one byte order (R-V2LLC-2). A message breaks the rule if its length has another byte
 * order than the length in an earlier message of the same side. The breach is harmless. */
SMCR_RULES_LLC(check_order)
{
    uint8_t now = order_of_length(message->llc);

    if (!now)
        return;
    uint8_t *before = &smcr_rules_links(arrival, message->lgr)->order[message->side];
    if (*before && now != *before)
        smcr_breach_report(arrival, SMCR_EVENT_llc_byte_order,
                           "The length is %s-endian, unlike that of the sender's messages before",
                           now == SMCR_RULES_ORDER_LITTLE ? "little" : "big");
    *before = now;
}

/* Whether the message has the maximum numbers of connections and links on which CLC has agreed. A
 * response may have 0 links, which accepts the server's maximum. */
static bool
has_agreed_limits(const smcr_exchange_message_t *message, const smcr_rules_terms_t *terms)
{
    const smcr_llc_confirm_link_t *confirm = &message->llc->u.confirm_link;
    bool accepts_server = message->response && confirm->max_links == 0;

    return confirm->max_conns == terms->max_conns &&
           (accepts_server || confirm->max_links == terms->max_links);
}

/* CONFIRM LINK of version 2 repeats the maximum numbers of connections and links on which CLC has
 * agreed (R-V2LLC-10). A CONFIRM LINK with other numbers breaks the rule. Not judged are groups
 * whose first contact is not captured, and peers of a release without these maxima. */
SMCR_RULES_LLC(check_limits)
{
    const smcr_llc_confirm_link_t *confirm = &message->llc->u.confirm_link;
    const smcr_rules_terms_t *terms = &smcr_rules_of_lgr(message->lgr)->terms;
    bool agreed = message->lgr->first_contact_captured && terms->release;

    if (message->llc->type != SMCR_LLC_CONFIRM_LINK_V2 || !agreed ||
        has_agreed_limits(message, terms))
        return;
    smcr_breach_report(
        arrival, SMCR_EVENT_clc_not_negotiated,
        "The message has most connections %u and links %u, but CLC agreed on %u and %u",
        confirm->max_conns, confirm->max_links, terms->max_conns, terms->max_links);
}

/* Returns which message of a first contact the message is: the response to CONFIRM LINK, the first
 * ADD LINK after that, or the response to this ADD LINK. SMCR_RULES_SET_UP_STEPS: none of these
 * three. A client's ADD LINK request does not count, since it only asks for a link. */
static unsigned
step_of_set_up(const smcr_exchange_message_t *message)
{
    const smcr_lgr_t *lgr = message->lgr;
    bool of_client = lgr->server == message->to->side;

    if (message->type == SMCR_LLC_CONFIRM_LINK && message->response)
        return SMCR_RULES_SET_UP_CONFIRMED;
    if (message->type != SMCR_LLC_ADD_LINK ||
        !smcr_rules_of_lgr(lgr)->set_up[SMCR_RULES_SET_UP_CONFIRMED].sent)
        return SMCR_RULES_SET_UP_STEPS;
    if (message->response)
        return SMCR_RULES_SET_UP_ANSWERED;
    return of_client ? SMCR_RULES_SET_UP_STEPS : SMCR_RULES_SET_UP_OFFERED;
}

/* Remembers when the messages of a first contact were sent and acknowledged. After these messages
 * no Decline may follow (tcp_rules.c). */
SMCR_RULES_LLC(note_set_up)
{
    smcr_lgr_t *lgr = message->lgr;
    unsigned step = step_of_set_up(message);

    if (step == SMCR_RULES_SET_UP_STEPS || !lgr->first_contact_captured)
        return;
    if (!smcr_rules_of_lgr(lgr)->set_up[step].sent)
        smcr_arrival_track(arrival, &smcr_rules_lgr(arrival, lgr)->set_up[step]);
}

/* ---- keys for all links ---- */

/* Marks in `named`, by link number, the link that carries the message and the links for which the
 * message has RTokens. Returns the number of a link that is named twice; -1: none is. */
static int
mark_links(const smcr_arrival_t *arrival, const smcr_llc_t *llc, bool named[NUMBERS])
{
    const smcr_link_t *link = arrival->qp->link;
    int twice = -1;

    if (link->has_number)
        named[link->number] = true;
    for (unsigned i = 0; i < llc->rtoken_count; i++) {
        if (named[llc->rtokens_in_message[i].link])
            twice = llc->rtokens_in_message[i].link;
        named[llc->rtokens_in_message[i].link] = true;
    }
    return twice;
}

/* Whether CONFIRM RKEY must name the link: it is active, has a number, and no side has
 * reported it as lost. */
static bool
needs_rtoken(const smcr_link_t *link)
{
    return link->state == SMCR_LINK_ACTIVE && link->has_number && !link->lost_frame;
}

/* Returns an active link that needs an RToken (needs_rtoken()) and is not marked in `named`; NULL:
 * all such links are marked. */
static const smcr_link_t *
find_unnamed(const smcr_lgr_t *lgr, const bool named[NUMBERS])
{
    const smcr_link_t *link = lgr->newest_link;

    while (link && (!needs_rtoken(link) || named[link->number]))
        link = smcr_link_older(link);
    return link;
}

/* Whether a message came by the deadline of the claim. `time`: time of the message, nanoseconds
 * since the epoch; 0: no message has come, so the result is false. */
static bool
came_in_time(uint64_t time, const smcr_doubt_proof_t *claim)
{
    return time && time <= claim->deadline;
}

/* True if the report of check_all_links() has to be withdrawn later: by the deadline the client has
 * asked to delete the link, or both sides have agreed on its deletion. A host knows of a failed
 * link before the capture shows it (smcr_link_down_cond()). */
static bool
is_ending(const smcr_doubt_proof_t *claim)
{
    const smcr_rules_link_t *memory = smcr_rules_of_link(claim->about);

    return came_in_time(memory->delete_asked_time, claim) ||
           came_in_time(memory->end_of_use.sent, claim);
}

/* CONFIRM RKEY announces an RMB for all links of the group, with one RToken for each link except
 * the one that carries the message (R-3.5.5.2-1, R-A.3.5-6). A message breaks the rule if it has
 * two RTokens for one link, or none for an active link. The sender may know that the link without
 * an RToken has failed. So the breach counts only if no request to delete this link follows within
 * GONE_WAIT. A message whose list goes on in continuations may have no RToken for an active
 * link. */
SMCR_RULES_LLC(check_all_links)
{
    const smcr_llc_t *llc = message->llc;
    smcr_lgr_t *lgr = message->lgr;
    bool named[NUMBERS] = {false};

    int twice = mark_links(arrival, llc, named);
    if (twice >= 0)
        smcr_breach_report(arrival, SMCR_EVENT_rkey_link_twice,
                           "The message has two RKeys for link %d", twice);
    const smcr_link_t *missing = find_unnamed(lgr, named);
    if (!missing || lgr->server == SMCR_LGR_SIDE_UNKNOWN ||
        llc->u.confirm_rkey.other_links != llc->rtoken_count)
        return;
    smcr_doubt_proof_t claim = {
        .has_come = is_ending, .about = missing, .deadline = arrival->when.time + GONE_WAIT};
    smcr_breach_report_unless(arrival, SMCR_EVENT_rkey_link_missing,
                              smcr_doubt_later_of_both(arrival, lgr, NULL, claim),
                              "The message has no RToken for link %u", missing->number);
}

/* ---- lists of RTokens in several messages ---- */

/* The state of a sender's list of RTokens after this message. `left`: number of RTokens that are
 * left, as the message reports. `continues`: the message is a continuation. */
static smcr_rules_countdown_t
countdown_at(const smcr_exchange_message_t *message, unsigned left, bool continues)
{
    smcr_point_t at = smcr_point_at(message->arrival->qp, message->arrival->psn);

    return (smcr_rules_countdown_t){at, (uint8_t)left, continues};
}

/* ---- the server's changes ---- */

/* The changes that the server has begun in the group of the message. */
static smcr_rules_change_t *
change_of(const smcr_exchange_message_t *message)
{
    return &smcr_rules_links(message->arrival, message->lgr)->change;
}

/* Whether the response rejects the link that the server is adding. */
static bool
rejects_new_link(const smcr_exchange_message_t *message, const smcr_rules_change_t *change)
{
    return message->response && message->llc->flags & SMCR_LLC_FLAG_REJECTED &&
           message->llc->u.add_link.link == change->new_number;
}

/* Remembers that the server's ADD LINK exchange is open. A response that rejects the link ends the
 * exchange. An accepting response begins the responder's list of RTokens for the new link. */
SMCR_RULES_LLC(note_adding)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    smcr_rules_change_t *change = change_of(message);

    if (!message->response && message->by_server && add->qpn)
        *change = (smcr_rules_change_t){.add_time = arrival->when.time,
                                        .delete_time = change->delete_time,
                                        .carrier = message->link, .new_number = add->link};
    else if (rejects_new_link(message, change))
        *change = (smcr_rules_change_t){.delete_time = change->delete_time};
    else if (message->response)
        change->countdown[message->from->side] = (smcr_rules_countdown_t){.rtokens_left = 0};
}

/* Remembers the time of the server's DELETE LINK request as long as the request is open. */
SMCR_RULES_LLC(note_deleting)
{
    if (message->response)
        change_of(message)->delete_time = 0;
    else if (message->by_server)
        change_of(message)->delete_time = arrival->when.time;
}

/* Reports a breach if `side` has not sent all its RTokens for the new link: in its last ADD LINK
 * CONTINUATION, more RTokens are left than one message has room for. The breach is withdrawn if a
 * later message of the side shows that a continuation is missing in the capture. */
static void
check_rtokens_of(const smcr_exchange_message_t *message, int side)
{
    const smcr_arrival_t *arrival = message->arrival;
    const smcr_rules_change_t *change = change_of(message);
    const smcr_rules_countdown_t *countdown = &change->countdown[side];

    if (countdown->rtokens_left <= ADD_ROOM)
        return;
    smcr_breach_report_unless(
        arrival, SMCR_EVENT_rkey_count, smcr_doubt_or(
        smcr_doubt_link(arrival, change->carrier),
        smcr_doubt_next(arrival, &countdown->last_message, (smcr_doubt_proof_t){0})),
        "The %s has not announced all its RTokens for link %u",
        side == message->lgr->server ? "server" : "client", change->new_number);
}

/* Both sides send all RTokens for a new link before the server confirms the link (R-A.3.3-1).
 * CONFIRM LINK breaks the rule if the last continuation of a side has more RTokens left than one
 * message has room for. The next message of this side shows whether a continuation is missing in
 * the capture. The response to CONFIRM LINK is not checked: it ends the change. */
SMCR_RULES_LLC(check_rtokens_sent)
{
    smcr_rules_change_t *change = change_of(message);

    if (!change->carrier || change->new_number != message->llc->u.confirm_link.link)
        return;
    if (!message->response && message->by_server) {
        check_rtokens_of(message, 0);
        check_rtokens_of(message, 1);
    }
    if (message->response)
        *change = (smcr_rules_change_t){.delete_time = change->delete_time};
}

/* ---- ADD LINK CONTINUATION ---- */

/* ADD LINK CONTINUATION is about the link that is being added, and flows over the link that carried
 * ADD LINK (R-A.3.3-4, R-3.5.5.2.3-1). A continuation breaks the rule if no link is being added, if
 * it has another link number, or if it is on another link. */
static void
check_new_link(const smcr_exchange_message_t *message)
{
    const smcr_rules_change_t *change = &smcr_rules_of_links(message->lgr)->change;
    const smcr_link_t *link =
        change->carrier ? smcr_lgr_link(message->lgr, change->new_number) : NULL;
    bool added = link && link->state == SMCR_LINK_ANNOUNCED;
    smcr_doubt_t doubt = smcr_doubt_later_adding(message->arrival, message->lgr,
                                                 added ? link : NULL, (smcr_doubt_proof_t){0});
    unsigned number = message->llc->u.add_link_cont.link;

    if (!change->carrier)
        smcr_breach_report_unless(message->arrival, SMCR_EVENT_rkey_wrong_link, doubt,
                                  "The message is about link %u, but no link is being added",
                                  number);
    else if (change->new_number != number)
        smcr_breach_report_unless(message->arrival, SMCR_EVENT_rkey_wrong_link, doubt,
                                  "The message is about link %u, but link %u is being added",
                                  number, change->new_number);
    else if (change->carrier != message->link)
        smcr_breach_report_unless(message->arrival, SMCR_EVENT_rkey_wrong_link, doubt,
                                  "The message is on link %u, but ADD LINK on link %u",
                                  message->link->number, change->carrier->number);
}

/* The number of RTokens left decreases by two with each ADD LINK CONTINUATION (R-A.3.3-2). A
 * continuation with another number breaks the rule. Linux counts connections instead of RMBs: if it
 * has fewer RMBs, its list ends early, and SMCR_EVENT_rkey_count_short reports this. Returns the
 * number in the message; if the number was checked and is too high, the expected number.
 *
 * Example: the numbers 5, 3, 1 are right; 5, 4 break the rule. */
static unsigned
check_pairs_left(const smcr_exchange_message_t *message, const smcr_rules_countdown_t *countdown)
{
    unsigned left = message->llc->u.add_link_cont.rtokens_left;
    unsigned due = countdown->rtokens_left > ADD_ROOM ? countdown->rtokens_left - ADD_ROOM : 0U;
    smcr_doubt_t doubt = smcr_doubt_link(message->arrival, message->link);

    if (countdown->last_message.qp != message->arrival->qp || left == due)
        return left;
    if (left < ADD_ROOM && left < due)
        smcr_breach_report_unless(message->arrival, SMCR_EVENT_rkey_count_short, doubt,
                                  "RTokens left: %u, although %u were due, as Linux does "
                                  "(smc_llc_add_link_cont())", left, due);
    else
        smcr_breach_report_unless(message->arrival, SMCR_EVENT_rkey_count, doubt,
                                  "RTokens left: %u, but %u after the previous message", left, due);
    return MIN(left, due);
}

/* The rules of check_new_link() and check_pairs_left(), for ADD LINK CONTINUATION. Only a request
 * of the server is judged by check_new_link(). */
SMCR_RULES_LLC(check_pairs)
{
    smcr_rules_change_t *change = change_of(message);
    smcr_rules_countdown_t *countdown = &change->countdown[message->from->side];

    if (!message->response && message->by_server)
        check_new_link(message);
    if (change->carrier != message->link ||
        change->new_number != message->llc->u.add_link_cont.link)
        return;
    unsigned left = countdown->last_message.qp ? check_pairs_left(message, countdown)
                                       : message->llc->u.add_link_cont.rtokens_left;
    *countdown = countdown_at(message, left, true);
}

/* ---- CONFIRM RKEY ---- */

/* The list of RTokens that `sender` announces in CONFIRM RKEY and its continuations. */
static smcr_rules_countdown_t *
confirms_of(const smcr_exchange_message_t *message, const smcr_qp_t *sender)
{
    return &smcr_rules_links(message->arrival, message->lgr)->confirms[sender->side];
}

/* Whether a continuation of CONFIRM RKEY has to follow. CONFIRM RKEY has room for two RTokens, but
 * A.3.5 asks for a continuation only if there are more than three RTokens. So for a third RToken a
 * continuation may follow or not. */
static bool
is_unfinished(const smcr_rules_countdown_t *countdown)
{
    return countdown->rtokens_left > CONFIRM_ROOM;
}

/* RTokens that do not fit into CONFIRM RKEY come in continuations, before the next CONFIRM RKEY
 * (R-A.3.5-4). A CONFIRM RKEY breaks the rule if continuations of the previous one on this link are
 * missing. After a negative response the owner begins its list from the start (note_refusal()). No
 * continuation is expected after a message of version 2, which has no continuations, or after a
 * message whose number of other links no group can have. */
SMCR_RULES_LLC(check_unfinished)
{
    smcr_rules_countdown_t *countdown = confirms_of(message, message->from);

    if (countdown->last_message.qp == arrival->qp && is_unfinished(countdown))
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_rkey_count, smcr_doubt_link(arrival, message->link),
            "The previous message has announced more RTokens, which are missing");
    unsigned others = message->llc->u.confirm_rkey.other_links;
    bool counts = others < SMCR_WIRE_LINKS_MAX && !(message->llc->type & SMCR_LLC_TYPE_V2);
    *countdown = countdown_at(message, counts ? others : 0, false);
}

/* Whether a CONFIRM RKEY CONTINUATION may report `left` RTokens that are left. In the first
 * continuation the number is lower by two or three than in CONFIRM RKEY, which has room for two
 * RTokens. In each further continuation the number is three lower. */
static bool
is_next_count(const smcr_rules_countdown_t *countdown, unsigned left)
{
    if (countdown->is_continuation)
        return is_unfinished(countdown) && left + CONFIRM_ROOM == countdown->rtokens_left;
    return countdown->rtokens_left > 2 &&
           (left + 2 == countdown->rtokens_left || left + CONFIRM_ROOM == countdown->rtokens_left);
}

/* CONFIRM RKEY CONTINUATION follows CONFIRM RKEY, and the number of RTokens left decreases by three
 * (R-A.3.6-1). A continuation breaks the rule if its sender has sent no CONFIRM RKEY, or if the
 * number differs. */
SMCR_RULES_LLC(check_countdown)
{
    smcr_rules_countdown_t *countdown = confirms_of(message, message->from);
    unsigned left = message->llc->u.confirm_rkey.other_links;

    if (smcr_rules_of_links(message->lgr)->confirm_count[message->from->side] == 0)
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_rkey_count,
            smcr_doubt_later(arrival, message->lgr, message->from->side, (smcr_doubt_proof_t){0}),
            "The message follows no CONFIRM RKEY");
    else if (countdown->last_message.qp == arrival->qp && !is_next_count(countdown, left))
        smcr_breach_report_unless(arrival, SMCR_EVENT_rkey_count,
                                  smcr_doubt_since(arrival, &countdown->last_message),
                                  "RTokens left: %u, but %u in the previous message", left,
                                  countdown->rtokens_left);
    *countdown = countdown_at(message, (uint8_t)left, true);
}

/* Remembers that the RMB's owner begins its list of RTokens from the start after a negative
 * response. */
SMCR_RULES_LLC(note_refusal)
{
    if (message->llc->flags & SMCR_LLC_FLAG_NEGATIVE)
        *confirms_of(message, message->to) = (smcr_rules_countdown_t){.rtokens_left = 0};
}

/* ---- all messages ---- */

enum { REQUEST = 1, RESPONSE, BOTH };

#define ANY UINT16_MAX
#define ONLY(type) (1U << SMCR_LLC_##type)
#define BUT(type) ~ONLY(type)

/* Reports breaches. Changes only the memory of the rules (memory.h, links_checks.h). */
void
smcr_rules_check_llc(smcr_rules_when_t when, const smcr_exchange_message_t *message)
{
    unsigned direction = message->response ? RESPONSE : REQUEST;
    unsigned type = 1U << message->type;

#define SMCR_RULES_LLC_CHECK(step, kind, types, check) \
    if (when == SMCR_RULES_##step && direction & (kind) && type & (types)) \
        smcr_rules_##check(message->arrival, message);
#include "llc_checks.def"
}
