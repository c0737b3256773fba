/* The areas that SMC-D and SMCv2 add to the CLC Proposal: the SMC-D area, the SMCv2 extension and
 * the SMC-Dv2 extension (Linux net/smc/smc_clc.h, which follows IBM's SMCv2 formats).
 *
 * The SMC-D area has the offset of the SMCv2 extension, and the SMCv2 extension has the offset of
 * the SMC-Dv2 extension. An offset counts from the end of the field that has it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "clc_messages.h"

#define V2_OFFSET_FROM 52      /* offset in the message from which the SMCv2 extension's offset
                                  counts: the end of its field */
#define VENDOR_OPTIONS_AT 16   /* offset in the SMC-D area: first byte of the vendor options, after
                                  the OUI and a reserved byte (ANCK's smc_clc.h) */
#define V2_EXTENSION_LENGTH 40 /* length of the SMCv2 extension without the EIDs, bytes */
#define V2_FLAGS_AT 3          /* offset in the SMCv2 extension: byte with release and flags */
#define SMCDV2_OFFSET_FROM 8   /* offset in the SMCv2 extension from which the SMC-Dv2 extension's
                                  offset counts: the end of its field */
#define SMCDV2_LENGTH 48       /* length of the SMC-Dv2 extension without the devices, bytes */
#define DEVICE_LENGTH 10 /* length of an entry of the list of ISM devices, bytes */

#define EMULATED_CHID_FIRST 0xff00 /* first CHID of emulated devices (smc_ism.h) */

/* ---- layouts ---- */

/* struct smc_clc_msg_smcd */
#define SMCD_AREA_ROWS \
    SHOW(hf_smcr_smcd_gid, 0, 8), \
    SHOW(hf_smcr_smcd_chid, 8, 2), \
    KEEP(hf_smcr_clc_v2_offset, 10, 2, smcr_clc_proposal_t, v2_offset)

SMCR_LAYOUT(smcd_area, "SMC-D area", SMCR_CLC_SMCD_AREA_LENGTH,
    SMCD_AREA_ROWS,
    SHOW(hf_smcr_reserved, 12, 28));
SMCR_LAYOUT(smcd_area_v21, "SMC-D area v2.1", SMCR_CLC_SMCD_AREA_LENGTH,
    SMCD_AREA_ROWS,
    SHOW(hf_smcr_clc_vendor_oui, 12, 3),
    SHOW(hf_smcr_clc_vendor_options, 15, 5),
    SHOW(hf_smcr_reserved, 20, 20));
/* The release is not captured: the rest has vendor options, or reserved bytes only. */
SMCR_LAYOUT(smcd_area_unknown, "SMC-D area, release not known", SMCR_CLC_SMCD_AREA_LENGTH,
    SMCD_AREA_ROWS,
    SHOW(hf_smcr_cut_bytes, 12, 28));

/* struct smc_clc_v2_extension */
static int *const v2_flags[] = {&hf_smcr_clc_release_f0, &hf_smcr_reserved_0e,
                                &hf_smcr_clc_seid_present, NULL};
static int *const features[] = {&hf_smcr_reserved_fffe, &hf_smcr_clc_feature_emulated_ism, NULL};

#define V2_EXTENSION_ROWS \
    KEEP(hf_smcr_clc_eid_count, 0, 1, smcr_clc_proposal_t, eid_count), \
    KEEP(hf_smcr_clc_ism_count, 1, 1, smcr_clc_proposal_t, ism_count), \
    SHOW(hf_smcr_reserved, 2, 1), \
    KEEP_BITS(hf_smcr_clc_v2_flags, V2_FLAGS_AT, 1, v2_flags, smcr_clc_proposal_t, v2_flags), \
    SHOW(hf_smcr_reserved, 4, 2), \
    KEEP(hf_smcr_clc_smcdv2_offset, 6, 2, smcr_clc_proposal_t, smcdv2_offset), \
    KEEP(hf_smcr_gid, 8, 16, smcr_clc_proposal_t, roce_gid)

SMCR_LAYOUT(v2_extension, "SMCv2 extension", V2_EXTENSION_LENGTH,
    V2_EXTENSION_ROWS,
    SHOW(hf_smcr_reserved, 24, 16));
SMCR_LAYOUT(v21_extension, "SMCv2.1 extension", V2_EXTENSION_LENGTH,
    V2_EXTENSION_ROWS,
    KEEP(hf_smcr_max_conns, 24, 1, smcr_clc_proposal_t, max_conns),
    KEEP(hf_smcr_max_links, 25, 1, smcr_clc_proposal_t, max_links),
    KEEP_BITS(hf_smcr_clc_features, 26, 2, features, smcr_clc_proposal_t, features),
    SHOW(hf_smcr_reserved, 28, 12));

/* An EID, as on the wire. */
typedef struct {
    uint8_t text[SMCR_WIRE_EID_LENGTH]; /* ASCII text, padded with blanks at the end */
} eid_t;

SMCR_LAYOUT(eid_layout, "EID", SMCR_WIRE_EID_LENGTH,
    KEEP_TEXT(hf_smcr_eid, 0, SMCR_WIRE_EID_LENGTH, eid_t, text));

/* struct smc_clc_smcd_v2_extension */
SMCR_LAYOUT(smcdv2_extension, "SMC-Dv2 extension", SMCDV2_LENGTH,
    KEEP_TEXT(hf_smcr_seid, 0, SMCR_WIRE_EID_LENGTH, eid_t, text),
    SHOW(hf_smcr_reserved, 32, 16));

/* An entry of the list of ISM devices. */
typedef struct {
    uint64_t gid; /* GID of the device, or the second half of it */
    uint16_t chid; /* CHID of the device */
    bool second_half; /* the entry has the second half of the GID of an emulated device; the
                         previous entry has the first half */
} device_t;

/* struct smc_clc_smcd_gid_chid */
SMCR_LAYOUT(device_layout, "ISM device", DEVICE_LENGTH,
    KEEP(hf_smcr_smcd_gid, 0, 8, device_t, gid),
    KEEP(hf_smcr_smcd_chid, 8, 2, device_t, chid));
SMCR_LAYOUT(device_half, "ISM device, second half", DEVICE_LENGTH,
    KEEP(hf_smcr_smcd_ext_gid, 0, 8, device_t, gid),
    KEEP(hf_smcr_smcd_chid, 8, 2, device_t, chid));

/* ---- SMC-D area ---- */

/* Returns the release in byte `at`, which has the flags of an SMCv2 extension. */
static unsigned
release_in(tvbuff_t *tvb, unsigned at)
{
    return smcr_wire_bits(tvb_get_uint8(tvb, (int)at), SMCR_MASK_V2_RELEASE);
}

/* Returns the layout of the SMC-D area. In SMCv2.1 the area has vendor options. The release is in
 * the SMCv2 extension, after the SMC-D area, and may not be captured. */
static const smcr_layout_t *
area_layout(const smcr_message_clc_t *message)
{
    tvbuff_t *tvb = message->walk.tvb;
    unsigned captured = tvb_captured_length(tvb);

    if (smcr_clc_offered_v2(message) == SMCR_CLC_TYPE_NONE || captured < V2_OFFSET_FROM)
        return &smcd_area;
    unsigned offset = tvb_get_ntohs(tvb, V2_OFFSET_FROM - 2);
    unsigned release_at = V2_OFFSET_FROM + offset + V2_FLAGS_AT;
    if (offset && release_at >= captured)
        return &smcd_area_unknown;
    return offset && release_in(tvb, release_at) ? &smcd_area_v21 : &smcd_area;
}

/* Offsets are those of struct smc_clc_msg_smcd (net/smc/smc_clc.h). */
void
smcr_clc_smcd_area_dissect(smcr_message_clc_t *message, smcr_clc_proposal_t *proposal)
{
    const unsigned start = SMCR_CLC_BASE_LENGTH;
    smcr_layout_walk_t walk =
        smcr_clc_subtree(&message->walk, hf_smcr_clc_smcd_area, ett_smcr_smcd_area, start,
                         SMCR_CLC_SMCD_AREA_LENGTH);

    if (!smcr_clc_walk(message, &walk, area_layout(message), start, proposal))
        return;
    if (smcr_clc_offers_smcd(smcr_clc_offered_v1(message)))
        proto_item_append_text(walk.tree, ": ISM GID 0x%016" PRIx64 ", CHID 0x%04x",
                               tvb_get_ntoh64(walk.tvb, (int)start),
                               tvb_get_ntohs(walk.tvb, (int)start + 8));
    /* The value 0 means that there is no vendor. Wireshark would name the owner of OUI 0, Xerox. */
    proto_item *oui = smcr_layout_item(&walk, hf_smcr_clc_vendor_oui);
    if (oui != walk.tree && tvb_get_ntoh24(walk.tvb, (int)start + 12) == 0)
        proto_item_set_text(oui, "Vendor OUI: none (0x000000)");
    smcr_clc_say_vendor_options(&walk, tvb_get_ntohl(walk.tvb, (int)start + VENDOR_OPTIONS_AT));
    proto_item *rest = smcr_layout_item(&walk, hf_smcr_cut_bytes);
    if (rest != walk.tree)
        proto_item_set_text(rest, "Vendor options or reserved: the release is not captured");
}

/* ---- SMCv2 extension: EIDs ---- */

/* Stores an EID in `proposal`, for the state. Does nothing if the list is full: the message then
 * has more EIDs than a Proposal may have. */
static void
keep_eid(smcr_clc_proposal_t *proposal, const eid_t *eid)
{
    if (proposal->eids_kept < array_length(proposal->eid_list))
        memcpy(proposal->eid_list[proposal->eids_kept++], eid->text, sizeof eid->text);
}

/* Whether the EID is printable text that does not begin with a blank. Blanks at its end are
 * padding. False if nothing is left. */
static bool
is_text(const eid_t *eid)
{
    unsigned length = SMCR_WIRE_EID_LENGTH;

    while (length && eid->text[length - 1] == ' ')
        length--;
    for (unsigned i = 0; i < length; i++)
        if (!g_ascii_isprint(eid->text[i]))
            return false;
    return length && eid->text[0] != ' ';
}

/* Checks an EID: it has to be printable text, padded with blanks at the end, and must differ from
 * the previous EIDs of the message. A wrong EID matches no peer. (R-V2CLC-8) */
static void
check_eid(const smcr_layout_walk_t *walk, const smcr_clc_proposal_t *proposal, const eid_t *eid)
{
    if (!is_text(eid))
        smcr_say_note_format(walk, hf_smcr_eid, &ei_smcr_clc_eid,
                             "The EID is empty, begins with a blank, or is not printable");
    for (unsigned i = 0; i < proposal->eids_kept; i++)
        if (memcmp(proposal->eid_list[i], eid->text, sizeof eid->text) == 0)
            smcr_say_note_format(walk, hf_smcr_eid, &ei_smcr_clc_eid,
                                 "The list already has this EID");
}

/* ---- SMCv2 extension: checks ---- */

/* Checks the requirements of an offer of SMC-R: a GID and, from release 1 on, at least 16
 * connections and one link (smc_clc_srv_v2x_features_validate(); R-V2CLC-12, R-V2CLC-14,
 * R-V2CLC-15) */
static void
check_smcr_offer(const smcr_layout_walk_t *walk, const smcr_clc_proposal_t *proposal)
{
    bool v21 = smcr_clc_release(proposal) != 0;

    if (smcr_clc_is_zero(proposal->roce_gid, SMCR_GID_LENGTH))
        smcr_say_note_format(walk, hf_smcr_gid, &ei_smcr_clc_offer,
                             "The Proposal offers SMC-Rv2 without a GID");
    if (v21 && proposal->max_conns < SMCR_CLC_CONNS_MIN)
        smcr_say_note_format(walk, hf_smcr_max_conns, &ei_smcr_clc_offer,
                             "The client allows %u connections, less than %u", proposal->max_conns,
                             SMCR_CLC_CONNS_MIN);
    if (v21 && !proposal->max_links)
        smcr_say_note_format(walk, hf_smcr_max_links, &ei_smcr_clc_offer,
                             "The client allows no links");
}

/* Checks the requirements of an offer of version 2: at least one EID, of the user or of the system;
 * those of SMC-R, if SMC-R is offered (check_smcr_offer()). If the offer has no SMC-D, the values
 * for SMC-D have to be empty. (R-V2CLC-7, R-V2CLC-10, R-V2CLC-11) */
static void
check_offer(const smcr_message_clc_t *message, const smcr_layout_walk_t *walk,
            const smcr_clc_proposal_t *proposal)
{
    unsigned offered = smcr_clc_offered_v2(message);

    if (proposal->eid_count == 0 && !(proposal->v2_flags & SMCR_CLC_FLAG_SEID))
        smcr_say_note_format(walk, hf_smcr_clc_eid_count, &ei_smcr_clc_offer,
                             "The Proposal offers version 2 without an EID");
    if (smcr_clc_offers_smcr(offered))
        check_smcr_offer(walk, proposal);
    if (smcr_clc_offers_smcd(offered))
        return;
    if (proposal->smcdv2_offset)
        smcr_say_note(walk, hf_smcr_clc_smcdv2_offset, &ei_smcr_clc_unneeded);
    if (proposal->ism_count)
        smcr_say_note_format(walk, hf_smcr_clc_ism_count, &ei_smcr_clc_unneeded,
                             "The Proposal counts ISM GIDs, but offers no SMC-D");
}

/* ---- SMCv2 extension ---- */

/* Raises an expert item at the field `hf`: the offer needs the part of the message that `part`
 * names, but its offset is 0. */
static void
report_missing(smcr_message_clc_t *message, const smcr_layout_walk_t *walk, int hf,
               const char *part)
{
    smcr_say_note_format(walk, hf, &ei_smcr_clc_offset,
                         "The offer of the Proposal needs the %s, but the offset is 0", part);
    message->consistent = false;
}

/* Shows an entry of the list of ISM devices. Two entries in a row with the CHID of the same
 * emulated device are the halves of one GID. `*device`: the previous entry; the function replaces
 * it by this entry. */
static void
dissect_device(smcr_message_clc_t *message, const smcr_layout_walk_t *parent, unsigned start,
               device_t *device)
{
    unsigned captured = tvb_captured_length(parent->tvb);
    bool known = start + DEVICE_LENGTH <= captured;
    unsigned chid = known ? tvb_get_ntohs(parent->tvb, (int)start + 8) : 0;

    device->second_half = !device->second_half && chid >= EMULATED_CHID_FIRST &&
                          chid == device->chid;
    const smcr_layout_t *layout = device->second_half ? &device_half : &device_layout;
    smcr_layout_walk_t walk = smcr_clc_subtree(parent, hf_smcr_smcd_device, ett_smcr_device, start,
                                               DEVICE_LENGTH);
    if (smcr_clc_walk(message, &walk, layout, start, device))
        proto_item_append_text(walk.tree, ": %s 0x%016" PRIx64 ", CHID 0x%04x",
                               device->second_half ? "extended GID" : "GID", device->gid,
                               device->chid);
}

/* Dissects the SMC-Dv2 extension. Returns the number of bytes that the extension should have
 * according to its count; 0: its offset is impossible, or the capture ends before its devices. */
static unsigned
dissect_smcdv2_extension(smcr_message_clc_t *message, const smcr_layout_walk_t *parent,
                         smcr_clc_proposal_t *proposal, unsigned start)
{
    eid_t seid = {{0}};
    unsigned devices = start + SMCDV2_LENGTH;

    if (!smcr_clc_place_is_possible(message, parent, hf_smcr_clc_smcdv2_offset, start,
                                    SMCDV2_LENGTH))
        return 0;

    smcr_layout_walk_t walk =
        smcr_clc_subtree(&message->walk, hf_smcr_clc_smcdv2_extension, ett_smcr_smcdv2_extension,
                         start, SMCDV2_LENGTH);
    if (!smcr_clc_walk(message, &walk, &smcdv2_extension, start, &seid))
        return 0;
    keep_eid(proposal, &seid);
    unsigned count = smcr_clc_check_list(
        message, parent,
        &(smcr_message_clc_list_t){.hf_count = hf_smcr_clc_ism_count, .count = proposal->ism_count,
                                   .start = devices, .length = DEVICE_LENGTH});
    device_t device = {0};
    for (unsigned i = 0; i < count && message->reached_end; i++)
        dissect_device(message, &walk, devices + i * DEVICE_LENGTH, &device);
    smcr_clc_subtree_end(message, &walk, devices + count * DEVICE_LENGTH);
    proto_item_append_text(walk.tree, ": %u ISM GID%s", count, count == 1 ? "" : "s");
    return SMCDV2_LENGTH + DEVICE_LENGTH * (unsigned)proposal->ism_count;
}

/* Dissects the EIDs of the SMCv2 extension, which begin at `start`. If the count in the header is
 * too high, the list ends where the message ends or its next part begins. */
static void
dissect_eids(smcr_message_clc_t *message, const smcr_layout_walk_t *walk,
             smcr_clc_proposal_t *proposal, unsigned start)
{
    unsigned count = smcr_clc_check_list(
        message, walk,
        &(smcr_message_clc_list_t){.hf_count = hf_smcr_clc_eid_count, .count = proposal->eid_count,
                                   .start = start, .length = SMCR_WIRE_EID_LENGTH});

    for (unsigned i = 0; i < count; i++) {
        eid_t eid = {{0}};

        if (!smcr_clc_walk(message, walk, &eid_layout, start + i * SMCR_WIRE_EID_LENGTH, &eid))
            break;
        check_eid(walk, proposal, &eid);
        keep_eid(proposal, &eid);
    }
    smcr_clc_subtree_end(message, walk, start + count * SMCR_WIRE_EID_LENGTH);
    proto_item_append_text(walk->tree, ": SMCv2.%u, %u EID%s", smcr_clc_release(proposal), count,
                           count == 1 ? "" : "s");
}

/* Whether the extension at `start` is of SMC version 2.1 or later. False if the byte with the
 * release is not captured. */
static bool
is_v21_extension(tvbuff_t *tvb, unsigned start)
{
    unsigned release_at = start + V2_FLAGS_AT;

    return release_at < tvb_captured_length(tvb) && release_in(tvb, release_at);
}

/* Dissects the SMC-Dv2 extension, or reports that it is missing although SMC-Dv2 is offered. The
 * offset of the SMC-Dv2 extension is in the SMCv2 extension, which begins at `start`. Returns the
 * number of bytes that the SMC-Dv2 extension should have by its count; 0: it is missing, incomplete
 * or at an impossible place. */
static unsigned
dissect_smcd_part(smcr_message_clc_t *message, const smcr_layout_walk_t *walk,
                  smcr_clc_proposal_t *proposal, unsigned start)
{
    if (proposal->smcdv2_offset)
        return dissect_smcdv2_extension(message, walk, proposal,
                                        start + SMCDV2_OFFSET_FROM + proposal->smcdv2_offset);
    if (smcr_clc_offers_smcd(smcr_clc_offered_v2(message)))
        report_missing(message, walk, hf_smcr_clc_smcdv2_offset, "SMC-Dv2 extension");
    return 0;
}

/* `has_v2` is set only if the fixed part is captured as a whole. The SMC-Dv2 extension counts only
 * if all parts before it are captured. */
unsigned
smcr_clc_v2_extension_dissect(smcr_message_clc_t *message, smcr_clc_proposal_t *proposal)
{
    unsigned start = V2_OFFSET_FROM + proposal->v2_offset;

    if (proposal->v2_offset == 0) {
        report_missing(message, &message->walk, hf_smcr_clc_v2_offset, "SMCv2 extension");
        return 0;
    }
    if (!smcr_clc_place_is_possible(message, &message->walk, hf_smcr_clc_v2_offset, start,
                                    V2_EXTENSION_LENGTH))
        return 0;

    bool v21 = is_v21_extension(message->walk.tvb, start);
    smcr_layout_walk_t walk = smcr_clc_subtree(&message->walk, hf_smcr_clc_v2_extension,
                                               ett_smcr_v2_extension, start, V2_EXTENSION_LENGTH);
    if (!smcr_clc_walk(message, &walk, v21 ? &v21_extension : &v2_extension, start, proposal))
        return 0;
    proposal->has_v2 = true;
    smcr_clc_check_release(&walk, hf_smcr_clc_release_f0, smcr_clc_release(proposal));
    check_offer(message, &walk, proposal);
    dissect_eids(message, &walk, proposal, start + V2_EXTENSION_LENGTH);

    unsigned length = V2_EXTENSION_LENGTH + SMCR_WIRE_EID_LENGTH * (unsigned)proposal->eid_count;
    return message->reached_end ? length + dissect_smcd_part(message, &walk, proposal, start)
                                : length;
}

SMCR_LAYOUT_LIST(clc_proposal_v2, &smcd_area, &smcd_area_v21, &smcd_area_unknown, &v2_extension,
                 &v21_extension, &eid_layout, &smcdv2_extension, &device_layout, &device_half);
