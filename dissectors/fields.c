/* Expands fields.def and experts.def into variables, and registers them with Wireshark. Makes the
 * texts of codes from the lists in wire/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fields.h"

#include "wire/wire.h"

int proto_smcr = -1;

/* ---- variables ---- */

#define ROW(hf, name, filter, type, display, strings, mask, section, description) int hf = -1;
#define TREE(ett) int ett = -1;
#include "fields.def"

#define EXPERT(ei, filter, group, severity, sentence) \
    expert_field ei_smcr_##ei = EI_INIT;
#include "experts.def"

/* ---- registration ---- */

#define ROW(hf, name, filter, type, display, strings, mask, section, description) \
    {&hf, {name, filter, type, display, strings, mask, description, HFILL}},
#define TREE(ett)
static hf_register_info fields[] = {
#include "fields.def"
};

#define ROW(hf, name, filter, type, display, strings, mask, section, description)
#define TREE(ett) &ett,
static int *const subtrees[] = {
#include "fields.def"
};

#define EXPERT(ei, filter, group, severity, sentence) \
    {&ei_smcr_##ei, {filter, group, severity, sentence, EXPFILL}},
static ei_register_info experts[] = {
#include "experts.def"
};

/* Everything else that registers needs the protocol, so this function is called first
 * (plugin.c). */
void
smcr_fields_register(void)
{
    proto_smcr = proto_register_protocol("Shared Memory Communications over RDMA", "SMC-R", "smcr");
    proto_register_field_array(proto_smcr, fields, array_length(fields));
    proto_register_subtree_array(subtrees, array_length(subtrees));
    expert_register_field_array(expert_register_protocol(proto_smcr), experts,
                                array_length(experts));
}

#define TEXT_ROW(name, value, text) {(value), (text)},
#define VALUE_TEXTS(table, list) \
    const value_string smcr_values_##table[] = {list(TEXT_ROW){0, NULL}};
SMCR_VALUES(VALUE_TEXTS)

const value_string smcr_values_clc_types[] = {
#define SMCR_CLC_MESSAGE(name, type, text, body) {SMCR_CLC_##name, text},
#include "wire/clc.def"
    {0, NULL},
};

const value_string smcr_values_llc_types[] = {
#define SMCR_LLC_MESSAGE(name, type, text, ...) {SMCR_LLC_##name, text},
#include "wire/llc.def"
    SMCR_LLC_OPTIONAL_TYPES(TEXT_ROW)
    SMCR_CDC_TYPES(TEXT_ROW)
    {0, NULL},
};

const value_string smcr_values_llc_steps[] = {
#define SMCR_LLC_MESSAGE(name, type, text, ...) {SMCR_LLC_##name, text},
#include "wire/llc.def"
    SMCR_LLC_REQUEST_STEPS(TEXT_ROW)
    {0, NULL},
};

/* The direction of a packet, by the role of its sender in the TCP connection: in words, and as an
 * arrow for a column */
const value_string smcr_values_directions[] = {
    {0, "client to server"}, {1, "server to client"}, {0, NULL}};
const value_string smcr_values_arrows[] = {{0, "C→S"}, {1, "S→C"}, {0, NULL}};

/* Values of Linux's netlink: commands and modes of linux/smc.h and linux/smc_diag.h, states of
 * sockets of net/smc/smc.h, reasons of net/smc/smc_clc.h; roles, types of link groups and states of
 * links of net/smc/smc_core.h */
const value_string smcr_values_netlink_commands[] = {
    {1, "GET_SYS_INFO"}, {2, "GET_LGR_SMCR"}, {3, "GET_LINK_SMCR"}, {4, "GET_LGR_SMCD"},
    {5, "GET_DEV_SMCD"}, {6, "GET_DEV_SMCR"}, {7, "GET_STATS"}, {8, "GET_FBACK_STATS"},
    {9, "DUMP_UEID"}, {10, "ADD_UEID"}, {11, "REMOVE_UEID"}, {12, "FLUSH_UEID"},
    {13, "DUMP_SEID"}, {14, "ENABLE_SEID"}, {15, "DISABLE_SEID"}, {16, "DUMP_HS_LIMITATION"},
    {17, "ENABLE_HS_LIMITATION"}, {18, "DISABLE_HS_LIMITATION"}, {251, "GET_DUMP_DEV"},
    {252, "SET_DUMP_DEV"}, {253, "RESET_DUMP_DEV"}, {0, NULL}}; /* the last three are of ANCK */
const value_string smcr_values_pnet_commands[] = {
    {1, "GET"}, {2, "ADD"}, {3, "DEL"}, {4, "FLUSH"}, {0, NULL}};
const value_string smcr_values_told_states[] = {
    {1, "ACTIVE"}, {2, "INIT"}, {7, "CLOSED"}, {10, "LISTEN"}, {20, "PEERCLOSEWAIT1"},
    {21, "PEERCLOSEWAIT2"}, {22, "APPCLOSEWAIT1"}, {23, "APPCLOSEWAIT2"}, {24, "APPFINCLOSEWAIT"},
    {25, "PEERFINCLOSEWAIT"}, {26, "PEERABORTWAIT"}, {27, "PROCESSABORT"}, {0, NULL}};
const value_string smcr_values_told_modes[] = {
    {0, "SMC-R"}, {1, "fallback to TCP"}, {2, "SMC-D"}, {0, NULL}};
const value_string smcr_values_told_reasons[] = {
    {0, "none"}, SMCR_CLC_DECLINE_CODES(TEXT_ROW) {0, NULL}};
const value_string smcr_values_told_roles[] = {{0, "client"}, {1, "server"}, {0, NULL}};
const value_string smcr_values_told_lgr_types[] = {
    {0, "none"}, {1, "single"}, {2, "symmetric"}, {3, "asymmetric, peer has one link"},
    {4, "asymmetric, this host has one link"}, {0, NULL}};
const value_string smcr_values_told_link_states[] = {
    {0, "unused"}, {1, "inactive"}, {2, "activating"}, {3, "active"}, {0, NULL}};

/* net/smc/smc_ism.h of Linux, commit b40584d1 */
const range_string smcr_values_chids[] = {
    {0, 0, "none"}, {1, 0xfeff, "ISM device"}, {0xff00, 0xfffe, "virtio-ism"},
    {0xffff, 0xffff, "loopback-ism"},
    {0, 0, NULL}};

const true_false_string smcr_values_direct = {"direct, same subnet", "through a gateway"};

/* Returns the text for a diagnosis that is not in the list, but whose class is in the list. The
 * text says that the diagnosis is not known. It also names two of the classes. */
static const char *
decline_class_text(uint32_t code)
{
    uint32_t class = code & SMCR_CLC_DECLINE_CLASS;

    if (class == SMCR_CLC_DECLINE_NO_DEVICE)
        return "code not known (of the class: devices, release and limits)";
    return class == SMCR_CLC_DECLINE_INTERNAL || class == SMCR_CLC_DECLINE_INTERNAL_OLD
               ? "code not known (of the class: internal error)"
               : "code not known (of a known class)";
}

/* Codes of z/OS and AIX mean something else than those of Linux. A sender that names no system has
 * the codes of Linux, as far as they are known. */
const char *
smcr_value_decline_text(uint32_t code, unsigned os)
{
    if (os == SMCR_CLC_OS_ZOS || os == SMCR_CLC_OS_AIX)
        return os == SMCR_CLC_OS_ZOS ? "defined by z/OS" : "defined by AIX";
    if (os != SMCR_CLC_OS_UNSET && os != SMCR_CLC_OS_LINUX)
        return "defined by the peer, whose operating system is not known";

    const char *text = try_val_to_str(code, smcr_values_declines);
    if (text)
        return text;
    if (try_val_to_str(code & SMCR_CLC_DECLINE_CLASS, smcr_values_declines))
        return decline_class_text(code);
    return os == SMCR_CLC_OS_LINUX ? "code not known" : "defined by the peer";
}
