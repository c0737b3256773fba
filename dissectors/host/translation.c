/* Compares SYNs by their numbers, since NAT changes addresses and ports only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "translation.h"

#include <epan/conversation.h>

#include "capture.h"
#include "ip_packet.h"
#include "tcp_segment.h"
#include "wire/wire.h"

/* A copy comes no later than this after the original, nanoseconds: a client repeats its SYN after a
 * second. */
#define LATEST SMCR_TIME_SECOND

/* A SYN with the SMC-R option. */
typedef struct {
    uint64_t numbers; /* initial sequence number and TSval: the key of the SYN */
    conversation_t *conversation;
    smcr_when_t when;
} syn_t;

/* Tables of the open file. */
static struct {
    wmem_map_t *syns;       /* syn_t by `numbers` */
    wmem_map_t *translated; /* syn_t of the original by conversation of the copy */
    wmem_map_t *streams;    /* the same by tcp.stream of the copy, plus 1 */
} known;

void
smcr_translation_register(void)
{
    known.syns = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), g_int64_hash,
                                        g_int64_equal);
    known.translated = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), g_direct_hash,
                                              g_direct_equal);
    known.streams = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), g_direct_hash,
                                           g_direct_equal);
}

/* Finds the time stamp (TSval) in the options of a TCP header. Returns false if there is none. */
static bool
find_timestamp(const uint8_t *options, uint32_t length, uint32_t *tsval)
{
    while (length && options[0] != SMCR_HOST_TCP_OPTION_END) {
        unsigned step = smcr_host_tcp_option_length(options, length);

        if (options[0] == SMCR_HOST_TCP_OPTION_TIMESTAMPS &&
            step == SMCR_HOST_TCP_TIMESTAMPS_LENGTH) {
            *tsval = smcr_wire_number32(options + 2);
            return true;
        }
        if (!step)
            return false;
        options += step;
        length -= step;
    }
    return false;
}

/* Reads the time stamp of the segment. Returns false if it has none. */
static bool
read_timestamp(const packet_info *pinfo, const struct tcpheader *tcp, uint32_t *tsval)
{
    smcr_host_bytes_t frame = smcr_host_bytes_of_frame(pinfo);
    smcr_host_ip_packet_t ip;

    if (!smcr_host_ip_packet_before(frame, frame.length, &pinfo->net_src, &pinfo->net_dst, &ip))
        return false;
    uint32_t begin = ip.offset + ip.header_length, end = begin + tcp->th_hlen;
    if (end > frame.length || tcp->th_hlen <= SMCR_HOST_TCP_HEADER)
        return false;
    return find_timestamp(frame.bytes + begin + SMCR_HOST_TCP_HEADER,
                          tcp->th_hlen - SMCR_HOST_TCP_HEADER, tsval);
}

/* Whether the SYN of this conversation, seen now, is a copy of the original. */
static bool
is_copy(const syn_t *original, const conversation_t *conversation, smcr_when_t now)
{
    return original && original->conversation != conversation && now.time >= original->when.time &&
           now.time - original->when.time < LATEST;
}

/* Notes that the conversation is a copy. */
static void
note_copy(packet_info *pinfo, conversation_t *conversation, syn_t *original)
{
    uint32_t stream = get_tcp_conversation_data(conversation, pinfo)->stream;

    wmem_map_insert(known.translated, conversation, original);
    wmem_map_insert(known.streams, GUINT_TO_POINTER(stream + 1), original);
}

conversation_t *
smcr_translation_take_syn(packet_info *pinfo, const struct tcpheader *tcp)
{
    smcr_when_t now = smcr_capture_when(pinfo);
    uint32_t tsval;

    if (!read_timestamp(pinfo, tcp, &tsval) || !tsval)
        return NULL;
    conversation_t *conversation = find_or_create_conversation(pinfo);
    uint64_t numbers = (uint64_t)tcp->th_rawseq << 32 | tsval;
    syn_t *original = wmem_map_lookup(known.syns, &numbers);
    if (is_copy(original, conversation, now)) {
        note_copy(pinfo, conversation, original);
        return original->conversation;
    }
    syn_t *syn = wmem_new(wmem_file_scope(), syn_t);
    *syn = (syn_t){numbers, conversation, now};
    wmem_map_insert(known.syns, &syn->numbers, syn);
    return NULL;
}

bool
smcr_translation_is_copy(uint32_t tcp_stream)
{
    return wmem_map_size(known.streams) &&
           wmem_map_contains(known.streams, GUINT_TO_POINTER(tcp_stream + 1));
}

uint32_t
smcr_translation_original(packet_info *pinfo)
{
    if (!wmem_map_size(known.translated))
        return 0;
    const conversation_t *conversation = find_conversation_pinfo(pinfo, 0);
    const syn_t *original = conversation ? wmem_map_lookup(known.translated, conversation) : NULL;

    return original ? original->when.frame : 0;
}
