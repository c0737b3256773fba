/* Compares SYNs, CLC messages and, in a capture with several points, segments with other data, by
 * their numbers and contents, which NAT leaves as they are: it changes addresses and ports. A
 * segment is kept for KEPT; a copy of it comes within LATEST.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "translation.h"

#include <epan/conversation.h>

#include "capture.h"
#include "clock.h"
#include "handshake.h"
#include "tcp_segment.h"

/* Nanoseconds. A copy comes less than this after the original. The limit is the time after which a
 * client retransmits its SYN: a later segment is the copy of the retransmission. */
#define LATEST SMCR_TIME_SECOND

/* A segment is kept for so long, nanoseconds: longer than LATEST, since times in a file can go
 * back. */
#define KEPT (10 * SMCR_TIME_SECOND)

/* A SYN, or a segment that begins with a CLC message or with other data (translation.h has which
 * segments are taken). */
typedef struct segment {
    uint64_t numbers; /* sequence number, and what else is the same in a copy: the key */
    uint32_t hosts;   /* hash of both addresses, the same in each direction */
    conversation_t *conversation; /* TCP conversation of the segment */
    smcr_when_t when; /* frame and time of the segment */
    smcr_translation_end_t ends[2]; /* of the sender, of the receiver */
    bool has_copy;    /* the capture has a copy of the segment, so this struct stays as long as the
                         file is open */
    struct segment *next; /* the next kept segment, in the order in which they came; NULL: this is
                             the newest one */
} segment_t;

/* A conversation that is a copy. */
typedef struct {
    const segment_t *original; /* segment of the original conversation, which proves the copy */
    smcr_translation_end_t sender; /* sender of the copy of that segment */
} copy_t;

/* Tables of the open file. */
static struct {
    wmem_map_t *segments;   /* segment_t by `numbers`; later ones take the place of earlier ones */
    segment_t *oldest;      /* oldest segment within KEPT; `next` leads to the later ones; NULL:
                               none */
    segment_t *newest;      /* the last one of this list; set with `oldest` */
    wmem_map_t *translated; /* copy_t by conversation of the copy */
    wmem_map_t *copies;     /* smcr_translation_ends_t by conversation of the original */
    wmem_map_t *streams;    /* segment_t of the original by tcp.stream of the copy, plus 1 */
} known;

SMCR_WIRE_KEY(hash_numbers, equal_numbers, sizeof(uint64_t))

/* Called when the file is closed, before its memory is freed. */
static void
end_file(void)
{
    known.oldest = known.newest = NULL;
}

/* The maps are emptied with each file, whose frames have other numbers. */
void
smcr_translation_register(void)
{
    register_cleanup_routine(end_file);
    known.segments = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), hash_numbers,
                                            equal_numbers);
    known.translated = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), g_direct_hash,
                                              g_direct_equal);
    known.copies = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), g_direct_hash,
                                          g_direct_equal);
    known.streams = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), g_direct_hash,
                                           g_direct_equal);
}

/* Forgets the segments that came more than KEPT before `now`, nanoseconds: no copy of them can come
 * any more. A segment that has a copy is not freed, since the copy still points to it. */
static void
forget_old(uint64_t now)
{
    segment_t *oldest;

    while ((oldest = known.oldest) != NULL && oldest->when.time + KEPT <= now) {
        known.oldest = oldest->next;
        if (wmem_map_lookup(known.segments, &oldest->numbers) == oldest)
            wmem_map_remove(known.segments, &oldest->numbers);
        if (!oldest->has_copy)
            wmem_free(wmem_file_scope(), oldest);
    }
}

/* Keeps the segment, as a possible original of later ones. It takes the place of an earlier segment
 * with the same numbers. */
static void
keep(const segment_t *segment)
{
    segment_t *kept = wmem_memdup(wmem_file_scope(), segment, sizeof *segment);

    wmem_map_remove(known.segments, &kept->numbers); /* its key is in the earlier segment */
    wmem_map_insert(known.segments, &kept->numbers, kept);
    *(known.oldest ? &known.newest->next : &known.oldest) = kept;
    known.newest = kept;
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

/* Returns the captured bytes of the frame from its TCP header on; `bytes` NULL: the header is not
 * captured. */
static smcr_host_bytes_t
find_tcp_header(const packet_info *pinfo)
{
    smcr_host_bytes_t frame = smcr_host_bytes_of_frame(pinfo);
    smcr_host_ip_packet_t ip;

    if (!smcr_host_ip_packet_before(frame, frame.length, &pinfo->net_src, &pinfo->net_dst, &ip))
        return (smcr_host_bytes_t){.bytes = NULL};
    uint32_t begin = ip.offset + ip.header_length;
    if (begin + SMCR_HOST_TCP_HEADER > frame.length)
        return (smcr_host_bytes_t){.bytes = NULL};
    return (smcr_host_bytes_t){frame.bytes + begin, frame.length - begin};
}

/* Returns a hash of the window and the options of a SYN. If the SYN has no time stamp, or the time
 * stamp 0, the key of the segment has the hash in its place. A gateway that changes an option, for
 * example the MSS, hides the copy. `header`: the captured bytes from the TCP header on. */
static uint32_t
hash_of_syn(smcr_host_bytes_t header, const struct tcpheader *tcp)
{
    enum { WINDOW_AT = 14, WINDOW = 2 };

    return wmem_strong_hash(header.bytes + SMCR_HOST_TCP_HEADER,
                            tcp->th_hlen - SMCR_HOST_TCP_HEADER) ^
           wmem_strong_hash(header.bytes + WINDOW_AT, WINDOW);
}

/* Whether the segment, which has the same numbers as `original`, is a copy of it: the segment
 * belongs to another conversation, and comes less than LATEST later. `original` NULL: there is no
 * segment with these numbers, and the result is false. */
static bool
is_copy(const segment_t *original, const segment_t *segment)
{
    return original && original->conversation != segment->conversation &&
           segment->when.time >= original->when.time &&
           segment->when.time - original->when.time < LATEST;
}

/* Notes that the conversation of the segment is the copy of the conversation with the segment
 * `original`. If the original has several copies, the ends of the first one are kept. */
static void
note_copy(packet_info *pinfo, const segment_t *segment, segment_t *original)
{
    conversation_t *conversation = segment->conversation;
    uint32_t stream = get_tcp_conversation_data(conversation, pinfo)->stream;

    original->has_copy = true;
    copy_t *copy = wmem_new(wmem_file_scope(), copy_t);
    *copy = (copy_t){original, segment->ends[0]};
    wmem_map_insert(known.translated, conversation, copy);
    wmem_map_insert(known.streams, GUINT_TO_POINTER(stream + 1), original);
    if (wmem_map_contains(known.copies, original->conversation))
        return;
    smcr_translation_ends_t *ends = wmem_new(wmem_file_scope(), smcr_translation_ends_t);
    memcpy(ends->original, original->ends, sizeof ends->original);
    memcpy(ends->copy, segment->ends, sizeof ends->copy);
    wmem_map_insert(known.copies, original->conversation, ends);
}

/* The condition under which a segment is a copy of an earlier one. */
typedef enum {
    KNOWN,      /* never: its conversation has a connection */
    TRANSLATED, /* an earlier segment of another conversation has the same `numbers` */
    ELSEWHERE,  /* an earlier segment has the same `numbers`, and another address */
} chance_t;

/* Takes a segment with the key `numbers` (segment_t). If the segment is a copy, notes this and
 * returns the conversation of the original. Otherwise returns NULL, and keeps the segment as a
 * possible original. A segment of a conversation that has a connection (KNOWN) never takes the
 * place of an earlier segment: it is kept only if no segment with its key is kept. */
static conversation_t *
take_segment(packet_info *pinfo, uint64_t numbers, chance_t chance)
{
    segment_t segment = {
        .numbers = numbers,
        .hosts = add_address_to_hash(0, &pinfo->src) ^ add_address_to_hash(0, &pinfo->dst),
        .conversation = find_or_create_conversation(pinfo),
        .when = smcr_capture_learn_when(pinfo),
        .ends = {{.port = (uint16_t)pinfo->srcport}, {.port = (uint16_t)pinfo->destport}},
    };
    smcr_endpoint_gid(&pinfo->src, segment.ends[0].gid);
    smcr_endpoint_gid(&pinfo->dst, segment.ends[1].gid);
    forget_old(segment.when.time);
    segment_t *original = wmem_map_lookup(known.segments, &numbers);
    bool has_moved = original && (chance == TRANSLATED || original->hosts != segment.hosts);

    if (chance != KNOWN && has_moved && is_copy(original, &segment)) {
        note_copy(pinfo, &segment, original);
        return original->conversation;
    }
    if (original && chance == KNOWN)
        return NULL;
    keep(&segment);
    return NULL;
}

/* The timestamp is unlikely to be equal by chance; without one, the other bytes of the SYN have to
 * be equal, too. */
conversation_t *
smcr_translation_take_syn(packet_info *pinfo, const struct tcpheader *tcp)
{
    smcr_host_bytes_t header = find_tcp_header(pinfo);
    uint64_t sequence = tcp->th_rawseq;
    uint32_t tsval;

    if (!header.bytes || tcp->th_hlen > header.length || tcp->th_hlen < SMCR_HOST_TCP_HEADER)
        return NULL;
    bool has_timestamp = find_timestamp(header.bytes + SMCR_HOST_TCP_HEADER,
                                        tcp->th_hlen - SMCR_HOST_TCP_HEADER, &tsval);
    if (has_timestamp && tsval)
        return take_segment(pinfo, sequence << 32 | tsval, TRANSLATED);
    return take_segment(pinfo, sequence << 32 | hash_of_syn(header, tcp), ELSEWHERE);
}

/* The key has the sequence number and a hash of the bytes: both have to agree. */
conversation_t *
smcr_translation_take_message(packet_info *pinfo, tvbuff_t *message, bool may_be_copy)
{
    enum { SEQUENCE_AT = 4 };
    smcr_host_bytes_t header = find_tcp_header(pinfo), bytes = smcr_host_bytes_of(message);

    if (!header.bytes || !bytes.bytes)
        return NULL;
    uint64_t sequence = smcr_wire_number32(header.bytes + SEQUENCE_AT);
    uint32_t hash = wmem_strong_hash(bytes.bytes, bytes.length);
    return take_segment(pinfo, sequence << 32 | hash, may_be_copy ? ELSEWHERE : KNOWN);
}

conversation_t *
smcr_translation_take_plain_syn(packet_info *pinfo, uint64_t numbers, bool is_stamped)
{
    return take_segment(pinfo, numbers, is_stamped ? TRANSLATED : ELSEWHERE);
}

/* Adapters and kernels divide and merge segments, so that only the first bytes are the same at all
 * points. Short segments are not compared: those of two connections may be equal. */
conversation_t *
smcr_translation_take_data(packet_info *pinfo, uint32_t seq, smcr_host_bytes_t data)
{
    enum { LEAST = 32, COMPARED = 64, EVERY = 4 };

    if (data.length < LEAST)
        return NULL;
    uint32_t hash = wmem_strong_hash(data.bytes, MIN(data.length, COMPARED));
    return (hash ^ seq) % EVERY ? NULL : take_segment(pinfo, (uint64_t)seq << 32 | hash, ELSEWHERE);
}

bool
smcr_translation_is_copy(uint32_t tcp_stream)
{
    return wmem_map_size(known.streams) &&
           wmem_map_contains(known.streams, GUINT_TO_POINTER(tcp_stream + 1));
}

const smcr_translation_ends_t *
smcr_translation_ends(const void *original)
{
    return wmem_map_size(known.copies) ? wmem_map_lookup(known.copies, original) : NULL;
}

/* Returns what is known of the packet's conversation, if it is a copy; NULL: it is none. */
static const copy_t *
find_copy(packet_info *pinfo)
{
    if (!wmem_map_size(known.translated))
        return NULL;
    const conversation_t *conversation = find_conversation_pinfo(pinfo, 0);

    return conversation ? wmem_map_lookup(known.translated, conversation) : NULL;
}

uint32_t
smcr_translation_original(packet_info *pinfo)
{
    const copy_t *copy = find_copy(pinfo);

    return copy ? copy->original->when.frame : 0;
}

/* The direction is found by the sender of the copy: ports alone may be equal on both ends. */
conversation_t *
smcr_translation_ends_of_copy(packet_info *pinfo, smcr_translation_end_t ends[2])
{
    const copy_t *copy = find_copy(pinfo);
    smcr_translation_end_t sender = {.port = (uint16_t)pinfo->srcport};

    if (!copy)
        return NULL;
    smcr_endpoint_gid(&pinfo->src, sender.gid);
    bool is_back = sender.port != copy->sender.port ||
                   !smcr_gid_is_same(sender.gid, copy->sender.gid);
    ends[0] = copy->original->ends[is_back];
    ends[1] = copy->original->ends[!is_back];
    return copy->original->conversation;
}
