/* The stats tree of messages. It counts each packet of SMC-R, and each CLC message, once: - CLC,
 * LLC, CDC, RDMA-CM: messages, by type; below the type by version, direction and outcome. A
 * retransmission counts only under "Retransmitted", a duplicate only under "Duplicate, made by the
 * network". - RDMA WRITE: packets, by first packet of a request and further packet of a request.
 * Retransmissions and duplicates count in the same way as for messages. - Acknowledgement, CNP,
 * Wrong ICRC, Other: all packets, including retransmissions and duplicates
 *
 * Figures of a report (docs/json.md) follow the same rules. `cdc` is the number under "Message"
 * of CDC. `writes` is the number under "First packet of a request", as far as the connections of
 * the WRITEs are known. `nak`, `rnr_nak` and `cnp` count all packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "statistics.h"

#include <epan/stats_tree.h>

#include "fields.h"

/* A node of the tree in which the current packet has been counted. */
typedef struct {
    stats_tree *tree;        /* Wireshark's tree */
    int id;                  /* Wireshark's number of the node */
    wmem_allocator_t *scope; /* memory pool that exists until the packet has been dissected */
} node_t;

/* Counts the packet in the node `name`, a child of `parent`, and returns this node. */
static node_t
count_node(node_t parent, const char *name)
{
    return (node_t){parent.tree, tick_stat_node(parent.tree, name, parent.id, TRUE), parent.scope};
}

/* Counts the packet in the node `aspect` (such as "Direction"), a child of `parent`, and in the
 * node `value` below it. */
static void
count_aspect(node_t parent, const char *aspect, const char *value)
{
    count_node(count_node(parent, aspect), value);
}

#define RETRANSMITTED "Retransmitted"
#define DUPLICATE "Duplicate, made by the network"

/* Returns the name of a code. All unknown codes above 255 share one name. This limits the number of
 * child nodes, whatever codes peers send: Wireshark searches the children of a node one by one. */
static const char *
name_of(node_t node, uint32_t code, const value_string *names)
{
    const char *name = try_val_to_str(code, names);

    if (name)
        return name;
    return code <= UINT8_MAX ? wmem_strdup_printf(node.scope, "Unknown (0x%02x)", code) : "Unknown";
}

/* Counts the packet by its direction: 0 from the client, 1 from the server, negative: not known. */
static void
count_direction(node_t node, int direction)
{
    count_aspect(node, "Direction",
                 direction < 0 ? "Not known"
                               : val_to_str_const((uint32_t)direction, smcr_values_directions, ""));
}

/* Counts the packet in the node of its class, such as "LLC", and returns this node. `*again`: set
 * to whether the packet is a retransmission, or a duplicate made by the network. For such a packet
 * returns a child node of the class, so that all other nodes count each message once. */
static node_t
count_class(node_t top, const char *name, const smcr_record_t *record, bool *again)
{
    node_t node = count_node(top, name);

    *again = record->order == SMCR_FLOW_IS_RETRANSMISSION || record->order == SMCR_FLOW_IS_COPY;
    if (record->order == SMCR_FLOW_IS_RETRANSMISSION)
        return count_node(node, RETRANSMITTED);
    return *again ? count_node(node, DUPLICATE) : node;
}

/* ---- CLC ---- */

/* Returns what an Accept or Confirm agrees on: SMC-D, a first contact, or an existing link
 * group. */
static const char *
agreement(const smcr_clc_t *clc)
{
    if (clc->smcd)
        return "SMC-D";
    return clc->header.flags & SMCR_CLC_FLAG_FIRST_CONTACT ? "First contact"
                                                           : "Existing link group";
}

/* Returns the outcome that a CLC message shows: what an Accept or Confirm agrees on, or the reason
 * of a Decline. NULL: any other message, or an incomplete Decline. */
static const char *
clc_outcome(const smcr_clc_t *clc)
{
    const smcr_clc_decline_t *decline = &clc->u.decline;

    if (smcr_wire_clc_agrees(clc->header.type))
        return agreement(clc);
    if (clc->header.type != SMCR_CLC_DECLINE || !clc->complete)
        return NULL;
    return smcr_value_decline_text(decline->diagnosis, smcr_wire_bits(decline->os, SMCR_MASK_OS));
}

/* Counts a CLC message. There are no retransmitted CLC messages: Wireshark's TCP passes on each
 * byte once. */
static void
count_clc(node_t top, const smcr_tap_t *packet)
{
    const smcr_clc_t *clc = packet->clc;
    node_t class = count_node(top, "CLC");
    node_t node = count_node(class, name_of(top, clc->header.type, smcr_values_clc_types));
    const char *outcome = clc_outcome(clc);

    count_aspect(node, "Version",
                 wmem_strdup_printf(node.scope, "Version %u",
                                    smcr_wire_bits(clc->header.flags, SMCR_MASK_VERSION)));
    count_direction(node, packet->record->direction);
    if (outcome)
        count_aspect(node, "Outcome", outcome);
}

/* ---- LLC ---- */

/* Returns the mask of the flags that only responses of this message type have, according to
 * llc.def; 0: there are none, or the type is unknown. */
static uint8_t
response_flags(uint8_t type)
{
    switch (type) {
#define SMCR_LLC_MESSAGE(name, type, text, header, body, response_flags, ...) \
    case SMCR_LLC_##name: \
        return response_flags;
#include "wire/llc.def"
    default:
        return 0;
    }
}

/* Returns the text of an LLC response that rejects its request. Only a complete ADD LINK has a
 * reason of the rejection. */
static const char *
rejection(const smcr_llc_t *llc, wmem_allocator_t *scope)
{
    bool tells = (llc->type & ~SMCR_LLC_TYPE_V2) == SMCR_LLC_ADD_LINK && llc->complete;

    if (!tells)
        return "Response: rejected";
    return wmem_strdup_printf(scope, "Response: rejected, %s",
                              val_to_str_const(llc->u.add_link.reject_reason,
                                               smcr_values_reject_reasons, "reason unknown"));
}

/* Returns the outcome of an LLC message: request, or response with its result. */
static const char *
llc_outcome(const smcr_llc_t *llc, wmem_allocator_t *scope)
{
    uint8_t flags = llc->flags & response_flags(llc->type);

    if (!(llc->flags & SMCR_LLC_FLAG_RESPONSE))
        return "Request";
    if (flags & SMCR_LLC_FLAG_REJECTED)
        return rejection(llc, scope);
    if (flags & SMCR_LLC_FLAG_NEGATIVE)
        return flags & SMCR_LLC_FLAG_RETRY ? "Response: negative, retry" : "Response: negative";
    return "Response";
}

/* Counts an LLC message by type. Below the type, counts it by version, direction and outcome; a
 * DELETE LINK also by reason. */
static void
count_llc(node_t top, const smcr_tap_t *packet)
{
    const smcr_llc_t *llc = packet->llc;
    bool deletes = (llc->type & ~SMCR_LLC_TYPE_V2) == SMCR_LLC_DELETE_LINK;
    uint8_t version = smcr_wire_llc_version(llc->type);
    bool again;
    node_t class = count_class(top, "LLC", packet->record, &again);
    node_t node = count_node(class, name_of(top, llc->type, smcr_values_llc_types));

    if (again)
        return;
    if (version)
        count_aspect(node, "Version", version == 2 ? "Version 2" : "Version 1");
    count_direction(node, packet->record->direction);
    count_aspect(node, "Outcome", llc_outcome(llc, top.scope));
    if (deletes && llc->complete)
        count_aspect(node, "Reason",
                     name_of(top, llc->u.delete_link.reason, smcr_values_delete_reasons));
}

/* ---- CDC ---- */

/* Counts each flag of a CDC message that is set. A message may have several flags or none. */
static void
count_flags(node_t node, const smcr_cdc_t *cdc)
{
    const struct {
        int hf;
        bool set;
    } flags[] = {
#define SMCR_CDC_FLAG(name, mask, field, words) {hf_smcr_cdc_##field, (cdc->flags & mask) != 0},
#define SMCR_CDC_STATE(name, mask, field, words) {hf_smcr_cdc_##field, (cdc->state & mask) != 0},
#include "wire/cdc.def"
    };
    node_t all = {.id = -1};

    for (unsigned i = 0; i < array_length(flags); i++) {
        if (flags[i].set && all.id < 0)
            all = count_node(node, "Flags");
        if (flags[i].set)
            count_node(all, proto_registrar_get_nth((unsigned)flags[i].hf)->name);
    }
}

/* Counts a CDC message by direction and flags. The flags of an incomplete message are not
 * counted. */
static void
count_cdc(node_t top, const smcr_tap_t *packet)
{
    bool again;
    node_t class = count_class(top, "CDC", packet->record, &again);

    if (again)
        return;
    node_t node = count_node(class, "Message");
    count_direction(node, packet->record->direction);
    if (packet->cdc->complete)
        count_flags(node, packet->cdc);
}

/* ---- packets without a whole LLC or CDC message of their own ---- */

/* Counts the message in the immediate data of an RDMA WRITE, by opcode and flags. `node`: the node
 * of the WRITE. */
static void
count_immediate(node_t node, const smcr_tap_t *packet)
{
    const smcr_cdc_immediate_t read = smcr_wire_immediate_read(packet->roce->immediate);

    count_aspect(node, "Immediate data",
                 val_to_str_const(read.opcode, smcr_values_immediates, "not defined"));
    count_flags(node, packet->cdc);
}

/* Counts a packet of an RDMA WRITE, by first packet of a request and further packet of a
 * request. Counts the message in its immediate data, too. */
static void
count_write(node_t top, const smcr_tap_t *packet)
{
    bool again;
    node_t class = count_class(top, "RDMA WRITE", packet->record, &again);

    if (again)
        return;
    bool begins = smcr_ib_operations[packet->roce->opcode].begins;
    node_t node = count_node(class, begins ? "First packet of a request"
                                           : "Further packet of a request");
    count_direction(node, packet->record->direction);
    if (packet->cdc)
        count_immediate(node, packet);
}

/* Counts an acknowledgement: ACK, NAK by its code, or RNR NAK. */
static void
count_ack(node_t top, const smcr_tap_t *packet)
{
    uint8_t syndrome = packet->roce->syndrome;
    node_t class = count_node(top, "Acknowledgement");

    switch (smcr_wire_bits(syndrome, SMCR_MASK_SYNDROME_KIND)) {
    case SMCR_IB_SYNDROME_NAK:
        count_aspect(
            class, "NAK",
            name_of(top, smcr_wire_bits(syndrome, SMCR_MASK_SYNDROME_CODE), smcr_values_nak_codes));
        break;
    case SMCR_IB_SYNDROME_RNR_NAK:
        count_node(class, "RNR NAK");
        break;
    default:
        count_node(class, "ACK");
        break;
    }
}

/* Counts a packet without a whole LLC or CDC message of its own: an RDMA WRITE, which may have a
 * message in its immediate data, an acknowledgement, a CNP or a part of a message. */
static void
count_other(node_t top, const smcr_tap_t *packet)
{
    uint8_t kind = packet->record->kind;

    if (kind == SMCR_RECORD_WRITE)
        count_write(top, packet);
    else if (kind == SMCR_RECORD_ACK && packet->roce->has_aeth)
        count_ack(top, packet);
    else
        count_node(top, kind == SMCR_RECORD_CNP ? "CNP" : "Other");
}

/* Counts a packet of a link, by the kind of its content. A packet with only a part of a message
 * counts as "Other". */
static void
count_packet(node_t top, const smcr_tap_t *packet)
{
    if (packet->record->kind == SMCR_RECORD_CORRUPT)
        count_node(top, "Wrong ICRC");
    else if (packet->llc)
        count_llc(top, packet);
    else if (packet->cdc && !packet->cdc->is_immediate)
        count_cdc(top, packet);
    else
        count_other(top, packet);
}

/* Counts a message of RDMA-CM. The plugin learns such messages only with the preference
 * smcr.roce. */
static void
count_cm(node_t top, const smcr_record_cm_t *note)
{
    node_t class = count_node(top, "RDMA-CM");
    const char *name = name_of(top, note->attribute, smcr_values_cm_attributes);

    if (note->retransmission_of || note->is_copy) {
        count_aspect(class, note->is_copy ? DUPLICATE : RETRANSMITTED, name);
        return;
    }
    node_t node = count_node(class, name);
    count_direction(node, note->conn->roles_known ? note->sender : SMCR_LGR_SIDE_UNKNOWN);
    if (note->attribute == SMCR_IB_CM_REJ)
        count_aspect(node, "Outcome", name_of(top, note->reason, smcr_values_cm_reasons));
    if (note->attribute == SMCR_IB_CM_SIDR_REP)
        count_aspect(node, "Outcome", name_of(top, note->status, smcr_values_cm_sidr_statuses));
}

/* ---- the tree ---- */

#define TOP "All"

/* Makes the first node of the tree. Wireshark's window calls this function without a check for
 * NULL, so the function must exist. */
static void
begin(stats_tree *tree)
{
    stats_tree_create_node(tree, TOP, 0, STAT_DT_INT, TRUE);
}

/* Counts CLC messages, packets of links and messages of RDMA-CM; ignores other packets. Called by
 * Wireshark for each packet of the tap `smcr`. */
static tap_packet_status
take(stats_tree *tree, packet_info *pinfo, epan_dissect_t *edt _U_, const void *tapped,
     tap_flags_t flags _U_)
{
    const smcr_tap_t *packet = tapped;
    const smcr_record_cm_t *cm = packet->record->kind == SMCR_RECORD_CM ? packet->record->cm : NULL;

    if (!packet->clc && !packet->record->link && !cm)
        return TAP_PACKET_DONT_REDRAW;
    node_t top = count_node((node_t){tree, 0, pinfo->pool}, TOP);
    if (packet->clc)
        count_clc(top, packet);
    else if (packet->record->link)
        count_packet(top, packet);
    else
        count_cm(top, cm);
    return TAP_PACKET_REDRAW;
}

void
smcr_statistics_handoff(void)
{
    stats_tree_register_plugin(SMCR_TAP, "smcr", "SMC-R" COMPAT_MENU "Messages", 0, take, begin,
                               NULL);
}
