/* Makes the texts of arrows in the flow graph. The subject of a sentence is the sender of the
 * packet. Two sentences have another one: the connection that falls back to TCP, and the link group
 * that ends with open connections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "statistics.h"

#include "report/figures/figures.h"
#include "report/words/words.h"
#include "fields.h"

/* Returns an arrow's text: `label`, and the sentence that `format` makes, as for printf(). */
static G_GNUC_PRINTF(3, 4) smcr_arrow_text_t
say(wmem_allocator_t *scope, const char *label, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    const char *sentence = wmem_strdup_vprintf(scope, format, arguments);
    va_end(arguments);
    return (smcr_arrow_text_t){label, sentence};
}

const char *
smcr_arrow_subject(bool knows_roles, unsigned role)
{
    if (knows_roles)
        return role ? "The server" : "The client";
    return role ? "Side 1" : "Side 0";
}

/* ---- TCP and CLC ---- */

smcr_arrow_text_t
smcr_arrow_text_segment(wmem_allocator_t *scope, const smcr_tap_segment_t *segment)
{
    if (segment->from_server)
        return say(scope, "SYN-ACK with option",
                   "The server offers SMC-R: its SYN-ACK has the option");
    return say(scope, "SYN with option", "The client offers SMC-R: its SYN has the option");
}

/* Returns the SMC version that a CLC message shows, as a word: "SMC-R", "SMC-Rv2.1", "SMC-D" and so
 * on. `release`: the release of version 2 that the link group has agreed on; -1: not known. */
static const char *
version_of(const smcr_clc_t *clc, int release)
{
    unsigned number = smcr_wire_bits(clc->header.flags, SMCR_MASK_VERSION);
    const char *version = smcr_figure_version_words[smcr_figure_version_of(number, release)];

    if (clc->smcd)
        return "SMC-D";
    return version ? version : "version not known";
}

/* The sender is the subject of each sentence. A message of an unknown type has a text, too. */
smcr_arrow_text_t
smcr_arrow_text_clc(wmem_allocator_t *scope, const smcr_clc_t *clc, bool from_server,
                    int release)
{
    const char *subject = smcr_arrow_subject(true, from_server);
    bool first = clc->header.flags & SMCR_CLC_FLAG_FIRST_CONTACT;
    const char *version = version_of(clc, release);

    switch (clc->header.type) {
    case SMCR_CLC_PROPOSAL:
        return say(scope, "CLC Proposal", "%s proposes SMC (Proposal)", subject);
    case SMCR_CLC_ACCEPT:
        return say(scope, "CLC Accept", "%s accepts, %s (Accept, %s)", subject,
                   first ? "with a new link group" : "in an existing link group", version);
    case SMCR_CLC_CONFIRM:
        return say(scope, "CLC Confirm", "%s confirms (Confirm, %s)", subject, version);
    case SMCR_CLC_DECLINE:
        return say(scope, "CLC Decline", "%s declines: %s (Decline, 0x%08x)", subject,
                   smcr_value_decline_text(clc->u.decline.diagnosis,
                                           smcr_wire_bits(clc->u.decline.os, SMCR_MASK_OS)),
                   clc->u.decline.diagnosis);
    default:
        return say(scope, "CLC", "%s sends a CLC message of unknown type", subject);
    }
}

smcr_arrow_text_t
smcr_arrow_text_fallback(wmem_allocator_t *scope, const smcr_conn_t *conn)
{
    return say(scope, "Fallback to TCP", "The connection falls back to TCP: %s",
               smcr_show_fallback_reason(scope, &conn->fallback));
}

/* ---- retransmissions and refusals ---- */

/* Returns the text for the NAK or RNR NAK that caused a step back: " after the NAK in frame 7". */
static const char *
nak_text(wmem_allocator_t *scope, const smcr_step_back_t *step)
{
    bool is_rnr = step->cause == SMCR_CAUSE_RNR;

    if (step->nak.frame)
        return wmem_strdup_printf(scope, " after the %s in frame %u", is_rnr ? "RNR NAK" : "NAK",
                                  step->nak.frame);
    return is_rnr ? " after an RNR NAK" : " after a NAK";
}

/* Returns the cause of a step back, as the end of a sentence: " after a timeout", or the text of
 * nak_text(); "": not known. */
static const char *
cause_text(wmem_allocator_t *scope, const smcr_step_back_t *step)
{
    if (!step || step->cause == SMCR_CAUSE_NONE || step->cause == SMCR_CAUSE_UNKNOWN)
        return "";
    return step->cause == SMCR_CAUSE_TIMEOUT ? " after a timeout" : nak_text(scope, step);
}

/* The first packet of a step back may have come out of order (SMCR_FLOW_IS_LATE). It is no
 * retransmission then, so the text names no frame of a first transmission. */
smcr_arrow_text_t
smcr_arrow_text_resent(wmem_allocator_t *scope, const smcr_record_t *record, const char *subject)
{
    const char *cause = cause_text(scope, record->step);
    uint32_t first = record->order == SMCR_FLOW_IS_LATE ? 0 : record->first_frame;

    if (first && !record->step)
        return say(scope, "Retransmission", "%s retransmits the packet of frame %u", subject,
                   first);
    if (first)
        return say(scope, "Retransmission", "%s retransmits from the packet of frame %u on%s",
                   subject, first, cause);
    return say(scope, "Retransmission",
               "%s retransmits packets%s; their first transmission is not "
               "captured", subject, cause);
}

/* Returns the text of a NAK or RNR NAK, with the packet that it refuses or waits for. */
static smcr_arrow_text_t
say_refusal(wmem_allocator_t *scope, const smcr_tap_t *packet, const char *subject)
{
    unsigned kind = smcr_wire_bits(packet->roce->syndrome, SMCR_MASK_SYNDROME_KIND);
    unsigned code = smcr_wire_bits(packet->roce->syndrome, SMCR_MASK_SYNDROME_CODE);
    const char *what = packet->record->refuses
                           ? wmem_strdup_printf(scope, "frame %u", packet->record->refuses)
                           : wmem_strdup_printf(scope, "PSN %u", packet->roce->psn);

    if (kind == SMCR_IB_SYNDROME_RNR_NAK)
        return say(scope, "RNR NAK", "%s has no receive buffer for %s (RNR NAK)", subject, what);
    if (code == SMCR_IB_NAK_PSN_SEQUENCE)
        return say(scope, "NAK", "%s waits for %s: PSN sequence error (NAK)", subject, what);
    return say(scope, "NAK", "%s refuses %s: %s (NAK)", subject, what,
               val_to_str_const(code, smcr_values_nak_codes, "unknown reason"));
}

/* ---- events ---- */

/* Returns the part of the event's own text from the first colon on; "": the text has no colon. */
static const char *
details_of(const smcr_event_t *event)
{
    const char *colon = event->text ? strchr(event->text, ':') : NULL;

    return colon ? colon : "";
}

/* Returns how long the writer waits for free space after this CDC message, as text: " for 5.2 ms,
 * until frame 40". "": the writer does not wait, or the end of the wait is not known. */
static const char *
wait_of(wmem_allocator_t *scope, const smcr_record_cdc_t *view)
{
    smcr_record_wait_t wait = view ? smcr_record_cdc_wait(view) : (smcr_record_wait_t){0};

    if (!wait.frame || wait.time == SMCR_RECORD_NO_TIME)
        return "";
    return wmem_strdup_printf(scope, " for %s, until frame %u",
                              smcr_words_duration(scope, wait.time), wait.frame);
}

/* Returns the text of an event of the receive window: the window is full, the window blocks the
 * writer, or the window is open after it was full. */
static smcr_arrow_text_t
say_window(wmem_allocator_t *scope, const smcr_event_t *event, const smcr_record_cdc_t *view,
           const char *subject)
{
    if (event->id == SMCR_EVENT_window_full)
        return say(scope, "Window full",
                   "%s has filled the window: the receiver's buffer has no free space%s", subject,
                   wait_of(scope, view));
    if (event->id == SMCR_EVENT_window_blocked)
        return say(scope, "Writer blocked", "%s cannot write: it waits for space in the buffer%s",
                   subject, wait_of(scope, view));
    return say(scope, "Window open", "%s reports data as read: the window is open", subject);
}

/* Returns the text of a failover: the connection moves to another link. The event's own text has
 * the number of the old link. */
static smcr_arrow_text_t
say_failover(wmem_allocator_t *scope, const smcr_event_t *event, const char *subject)
{
    const char *from = event->text ? strstr(event->text, " from link ") : NULL;

    return say(scope, "Failover", "%s moves the connection%s", subject,
               from ? from : " to another link");
}

/* Events without an arrow give two NULLs. */
smcr_arrow_text_t
smcr_arrow_text_event(wmem_allocator_t *scope, const smcr_event_t *event, const smcr_tap_t *packet,
                      const char *subject)
{
    switch (event->id) {
    case SMCR_EVENT_conn_moved:
        return say_failover(scope, event, subject);
    case SMCR_EVENT_conn_sending_done:
        return say(scope, "Sending done", "%s will write no more data", subject);
    case SMCR_EVENT_conn_closed:
        return say(scope, "Closed", "%s closes the connection", subject);
    case SMCR_EVENT_conn_aborted:
        return say(scope, "Abort", "%s aborts the connection%s", subject, details_of(event));
    case SMCR_EVENT_window_full:
    case SMCR_EVENT_window_opened:
    case SMCR_EVENT_window_blocked:
        return say_window(scope, event, packet->record->cdc_analysis, subject);
    case SMCR_EVENT_nak:
    case SMCR_EVENT_rnr_nak:
        return say_refusal(scope, packet, subject);
    case SMCR_EVENT_silent:
        return say(scope, "No answer", "%s gets no answer: third retransmission of the packet",
                   subject);
    case SMCR_EVENT_lgr_lost:
        return say(scope, "Connections lost", "The link group ends with open connections%s",
                   details_of(event));
    default:
        return (smcr_arrow_text_t){NULL, NULL};
    }
}

/* ---- LLC messages: the sender asks for something, or answers ---- */

/* An LLC message, and the facts from which the sentence at its arrow in the flow graph is made. */
typedef struct {
    wmem_allocator_t *scope; /* memory pool that owns the texts */
    const smcr_llc_t *llc; /* the message */
    const char *subject; /* sender of the message, as the subject of the sentence: "The client" and
                            so on */
    const char *name;    /* name of the message's type; NULL: unknown type */
    int role;            /* role of the sender: 0 client, 1 server; SMCR_LGR_SIDE_UNKNOWN: not
                            known */
    bool response;       /* the message is a response, not a request */
} llc_words_t;

/* Returns a sentence of three parts: the subject, the predicate that `format` makes, and the name
 * of the message in parentheses. */
static G_GNUC_PRINTF(2, 3) const char *
llc_sentence(const llc_words_t *of, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    const char *text = wmem_strdup_vprintf(of->scope, format, arguments);
    va_end(arguments);
    return wmem_strdup_printf(of->scope, "%s %s (%s)", of->subject, text, of->name);
}

/* Returns the text of a reason code: ", reason: lost path"; "" if `code` is 0, which states no
 * reason. */
static const char *
reason_text(const llc_words_t *of, uint32_t code, const value_string *texts)
{
    return code ? wmem_strdup_printf(of->scope, ", reason: %s",
                                     val_to_str_const(code, texts, "not known")) : "";
}

/* Both macros define arrow_<name>() for a message whose sentence depends only on whether the
 * message is a request or a response. With ARROW_OF_LINK, the sentence also has the number of a
 * link. */
#define ARROW(name, asks, answers) \
    static const char *arrow_##name(const llc_words_t *of) \
    { \
        return llc_sentence(of, of->response ? answers : asks); \
    }
#define ARROW_OF_LINK(name, asks, answers) \
    static const char *arrow_##name(const llc_words_t *of) \
    { \
        return llc_sentence(of, of->response ? answers : asks, of->llc->u.name.link); \
    }
ARROW_OF_LINK(confirm_link, "requests confirmation of link %u", "confirms link %u")
ARROW_OF_LINK(add_link_cont, "announces the RKeys of its RMBs on link %u",
              "answers with the RKeys of its RMBs on link %u")
ARROW(req_add_link, "requests another link", "responds to the request")
ARROW(confirm_rkey_cont, "announces more RKeys of its RMB", "confirms them")
ARROW(test_link, "tests whether the link works", "answers: the link works")

/* Returns the sentence of an ADD LINK. A request of the server offers a link. A request of the
 * client asks the server to offer a link (RFC 7609 A.3.2). */
static const char *
arrow_add_link(const llc_words_t *of)
{
    const smcr_llc_add_link_t *link = &of->llc->u.add_link;

    if (of->response && of->llc->flags & SMCR_LLC_FLAG_REJECTED)
        return llc_sentence(of, "rejects link %u%s", link->link,
                     reason_text(of, link->reject_reason, smcr_values_reject_reasons));
    if (of->response)
        return llc_sentence(of, "accepts link %u", link->link);
    if (of->role == SMCR_LGR_SIDE_UNKNOWN)
        return llc_sentence(of, "offers link %u, or requests one", link->link);
    return of->role ? llc_sentence(of, "offers link %u", link->link)
                    : llc_sentence(of, "requests another link");
}

/* Returns the sentence of a DELETE LINK. A request of the server deletes links. A request of the
 * client asks the server to delete links (RFC 7609 A.3.4). */
static const char *
arrow_delete_link(const llc_words_t *of)
{
    const smcr_llc_delete_link_t *link = &of->llc->u.delete_link;
    bool all = of->llc->flags & SMCR_LLC_FLAG_ALL;
    const char *what = all ? "all links" : wmem_strdup_printf(of->scope, "link %u", link->link);
    const char *why = reason_text(of, link->reason, smcr_values_delete_reasons);

    if (of->response)
        return llc_sentence(of, "confirms the deletion of %s", all ? "the link group" : what);
    if (of->role == SMCR_LGR_SIDE_UNKNOWN)
        return llc_sentence(of, "deletes %s, or requests that%s", what, why);
    return llc_sentence(of, of->role ? "deletes %s%s" : "requests deletion of %s%s", what, why);
}

/* Returns the sentence of a CONFIRM RKEY. */
static const char *
arrow_confirm_rkey(const llc_words_t *of)
{
    if (of->response)
        return llc_sentence(of, of->llc->flags & SMCR_LLC_FLAG_NEGATIVE ? "refuses the RMB"
                                                                 : "confirms the RMB");
    return llc_sentence(of, "announces an RMB with RKey 0x%08x", of->llc->u.confirm_rkey.rkey);
}

/* Returns the sentence of a DELETE RKEY. */
static const char *
arrow_delete_rkey(const llc_words_t *of)
{
    unsigned count = of->llc->u.delete_rkey.count;

    if (of->response)
        return llc_sentence(of, of->llc->flags & SMCR_LLC_FLAG_NEGATIVE ? "does not know all RKeys"
                                                                 : "confirms the deletion");
    return llc_sentence(of, count == 1 ? "deletes %u RKey" : "deletes %u RKeys", count);
}

/* Returns a sentence that says little more than the name of the message. Used for messages whose
 * name says enough, and for incomplete messages. */
static const char *
arrow_plain(const llc_words_t *of)
{
    return llc_sentence(of, of->llc->complete && of->response ? "answers" : "sends a message");
}

/* Returns the sentence of a message, by the function that llc.def names for its type. */
static const char *
sentence_of(const llc_words_t *of)
{
    if (!of->llc->complete)
        return arrow_plain(of);
    switch (of->llc->type) {
#define SMCR_LLC_MESSAGE(name, type, text, header, body, flags, handler, key, proof, arrow) \
    case SMCR_LLC_##name: \
        return arrow_##arrow(of);
#include "wire/llc.def"
    default:
        return arrow_plain(of);
    }
}

/* Returns the label of the arrow: the name of the message. The two names with CONTINUATION are
 * shortened. */
static const char *
label_of(const llc_words_t *of)
{
    switch (of->llc->type) {
    case SMCR_LLC_ADD_LINK_CONT:
        return "ADD LINK CONT";
    case SMCR_LLC_CONFIRM_RKEY_CONT:
        return "CONFIRM RKEY CONT";
    default:
        return of->name;
    }
}

/* A message of an unknown type has a text, too. */
smcr_arrow_text_t
smcr_arrow_text_llc(wmem_allocator_t *scope, const smcr_llc_t *llc, const char *subject, int role)
{
    const llc_words_t of = {
        .scope = scope,
        .llc = llc,
        .subject = subject,
        .name = try_val_to_str(llc->type, smcr_values_llc_types),
        .role = role,
        .response = llc->flags & SMCR_LLC_FLAG_RESPONSE,
    };

    if (!of.name)
        return (smcr_arrow_text_t){
            "LLC", wmem_strdup_printf(scope, "%s sends an LLC message of unknown type", subject)};
    return (smcr_arrow_text_t){label_of(&of), sentence_of(&of)};
}
