/* Keeps, for each pair of addresses, the last packets that the second address got from the first:
 * the last one over RoCE, and the last one over TCP. Keeps the last packet of each sender, too.
 * While requests get no answer, these packets show on which other ways the silent host still sends.
 * Also keeps the texts of addresses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "collectors.h"

/* Number of links of a group that are searched for packets of the silent host. */
#define LINKS_MOST 8

/* The addresses of a pair: key of `collection->heard`. */
typedef struct {
    uint8_t from[SMCR_GID_LENGTH]; /* GID of the sender, network byte order; IPv4: mapped */
    uint8_t to[SMCR_GID_LENGTH];   /* GID of the receiver, likewise */
} pair_t;

/* A pair of addresses, and the last packets from the first address to the second. */
typedef struct {
    pair_t key;                 /* the two addresses; key of the map, so it never changes */
    smcr_collect_heard_t heard; /* last packets from `key.from` to `key.to` */
} pair_heard_t;

/* The last packet of a sender. */
typedef struct {
    uint8_t sender[SMCR_GID_LENGTH]; /* key of `collection->hosts_heard`: GID in network byte order,
                                        IPv4 mapped; or write_mac_key() */
    smcr_when_t last; /* last packet of this sender, of a MAC address only frames that are neither
                         RoCE packets nor TCP segments; frame 0: none so far */
    uint8_t mac[SMCR_WIRE_MAC_LENGTH]; /* of a GID: MAC address of its device; zeros: not known */
} sender_heard_t;

SMCR_WIRE_KEY(hash_pair, equal_pairs, sizeof(pair_t))
SMCR_WIRE_KEY(hash_sender, equal_senders, SMCR_GID_LENGTH)

/* Writes the key of a MAC address (6 bytes). It begins as a multicast address of IPv6, which no
 * sender has, so it is the GID of no sender. */
static void
write_mac_key(uint8_t key[SMCR_GID_LENGTH], const uint8_t *mac)
{
    memset(key, 0xff, SMCR_GID_LENGTH);
    memcpy(key + SMCR_GID_LENGTH - SMCR_WIRE_MAC_LENGTH, mac, SMCR_WIRE_MAC_LENGTH);
}

/* Returns the entry of a sender; NULL: there is none. `sender`: GID, or key of a MAC address. */
static sender_heard_t *
find_sender(const smcr_collect_t *collection, const uint8_t sender[SMCR_GID_LENGTH])
{
    return collection->hosts_heard ? wmem_map_lookup(collection->hosts_heard, sender) : NULL;
}

/* Returns the entry of a sender; makes it if there is none. `sender`: as for find_sender(). */
static sender_heard_t *
get_sender(smcr_collect_t *collection, const uint8_t sender[SMCR_GID_LENGTH])
{
    sender_heard_t *entry = find_sender(collection, sender);

    if (!collection->hosts_heard)
        collection->hosts_heard = wmem_map_new(collection->scope, hash_sender, equal_senders);
    if (!entry) {
        entry = wmem_new0(collection->scope, sender_heard_t);
        memcpy(entry->sender, sender, SMCR_GID_LENGTH);
        wmem_map_insert(collection->hosts_heard, entry->sender, entry);
    }
    return entry;
}

void
smcr_collect_heard_name_device(smcr_collect_t *collection, const uint8_t gid[SMCR_GID_LENGTH],
                               const uint8_t *mac)
{
    memcpy(get_sender(collection, gid)->mac, mac, SMCR_WIRE_MAC_LENGTH);
}

/* An address gets an entry only with its first RoCE packet or TCP segment, or as their receiver:
 * nothing asks for packets before, and a capture may have very many other addresses. A MAC address
 * may be named later, so each one gets an entry. */
void
smcr_collect_heard_take_other(smcr_collect_t *collection, const uint8_t *mac, const uint8_t *gid,
                              smcr_when_t when)
{
    sender_heard_t *host = gid ? find_sender(collection, gid) : NULL;
    uint8_t key[SMCR_GID_LENGTH];

    if (host)
        host->last = when;
    if (!mac)
        return;
    write_mac_key(key, mac);
    get_sender(collection, key)->last = when;
}

/* Returns the key of the packets from one GID to another. */
static pair_t
pair_of(const uint8_t from[SMCR_GID_LENGTH], const uint8_t to[SMCR_GID_LENGTH])
{
    pair_t pair;

    memcpy(pair.from, from, SMCR_GID_LENGTH);
    memcpy(pair.to, to, SMCR_GID_LENGTH);
    return pair;
}

/* The key lies in the entry, which lives as long as the collection. */
smcr_collect_heard_t *
smcr_collect_heard_of(smcr_collect_t *collection, const uint8_t from[SMCR_GID_LENGTH],
                      const uint8_t to[SMCR_GID_LENGTH])
{
    pair_t pair = pair_of(from, to);

    if (!collection->heard)
        collection->heard = wmem_map_new(collection->scope, hash_pair, equal_pairs);
    pair_heard_t *entry = wmem_map_lookup(collection->heard, &pair);
    if (!entry) {
        entry = wmem_new0(collection->scope, pair_heard_t);
        entry->key = pair;
        entry->heard.host = &get_sender(collection, from)->last;
        wmem_map_insert(collection->heard, &entry->key, entry);
    }
    return &entry->heard;
}

/* Returns the last packets from the address `from` to the address `to`; NULL: there are none. */
static const smcr_collect_heard_t *
find_heard(const smcr_collect_t *collection, const uint8_t from[SMCR_GID_LENGTH],
           const uint8_t to[SMCR_GID_LENGTH])
{
    pair_t pair = pair_of(from, to);
    const pair_heard_t *entry =
        collection->heard ? wmem_map_lookup(collection->heard, &pair) : NULL;

    return entry ? &entry->heard : NULL;
}

/* Sets `*found` to `when` if the packet at `when` shows that the silent host was alive in the
 * silence. A packet before `silence->proven_frame` does not show this: the host may have failed
 * after that packet. Such a packet is noted as `early` if it came after the silence began. */
static void
note(smcr_when_t *found, smcr_when_t when, smcr_collect_silence_t *silence)
{
    if (silence->proven_frame && when.frame > silence->proven_frame)
        *found = when;
    else if (when.frame > MAX(silence->time.begin.frame, silence->early.frame))
        silence->early = when;
}

/* Writes the IP address of the connection's TCP end on `side` of the link group as a GID: IPv4 as
 * mapped address. The group must know which side is the server. */
static void
write_end(const smcr_conn_t *conn, int side, uint8_t gid[SMCR_GID_LENGTH])
{
    unsigned role = side == smcr_lgr_client_side(conn->lgr) ? 0 : 1;

    if (conn->ipv4)
        smcr_gid_map_ipv4(gid, conn->addr.ipv4[role]);
    else
        memcpy(gid, conn->addr.ipv6[role], SMCR_GID_LENGTH);
}

/* Notes the last TCP segment of the silent host on the connections of its link group. Only the
 * addresses of the newest connection are searched. Nothing is noted if it is not known which side
 * of the group is the server: then the host's address is not known either. */
static void
note_tcp_of_group(const smcr_collect_t *collection, const smcr_qp_t *silent,
                  smcr_collect_silence_t *silence)
{
    const smcr_conn_t *conn = silent->link->lgr->newest_conn;
    uint8_t from[SMCR_GID_LENGTH], to[SMCR_GID_LENGTH];

    if (!conn || !conn->conversation || silent->link->lgr->server == SMCR_LGR_SIDE_UNKNOWN)
        return;
    write_end(conn, silent->side, from);
    write_end(conn, !silent->side, to);
    const smcr_collect_heard_t *heard = find_heard(collection, from, to);
    if (heard && heard->tcp.frame > silence->tcp.frame)
        note(&silence->tcp, heard->tcp, silence);
}

/* Notes the last packet of the silent host on the newest links of the group. Links on which the
 * host has the same GID as on the silent link do not count. */
static void
note_links_of_group(const smcr_collect_t *collection, const smcr_qp_t *silent,
                    smcr_collect_silence_t *silence)
{
    const smcr_link_t *link = silent->link->lgr->newest_link;

    for (unsigned i = 0; link && i < LINKS_MOST; i++, link = smcr_link_older(link)) {
        const smcr_qp_t *other = &link->qp[silent->side], *own = &link->qp[!silent->side];
        bool is_other = !smcr_gid_is_same(other->key.gid, silent->key.gid) && other->gid_known;
        const smcr_collect_heard_t *heard =
            is_other ? find_heard(collection, other->key.gid, own->key.gid) : NULL;
        if (!heard || heard->roce.frame <= silence->other_link.frame)
            continue;
        note(&silence->other_link, heard->roce, silence);
        if (silence->other_link.frame == heard->roce.frame)
            silence->link = link->has_number ? link->number : SMCR_FIGURE_UNKNOWN;
    }
}

/* Notes the last packet that came from the MAC address of the silent device, and is neither a RoCE
 * packet nor a TCP segment, if it is later than `silence->host`. */
static void
note_device(const smcr_collect_t *collection, const smcr_qp_t *silent,
            smcr_collect_silence_t *silence)
{
    const sender_heard_t *host = find_sender(collection, silent->key.gid);
    uint8_t key[SMCR_GID_LENGTH];

    if (!host || !smcr_wire_states_mac(host->mac))
        return;
    write_mac_key(key, host->mac);
    const sender_heard_t *heard = find_sender(collection, key);
    if (heard && heard->last.frame > silence->host.frame)
        note(&silence->host, heard->last, silence);
}

/* Packets between the same two addresses are noted first. A TCP segment between other addresses of
 * the link group, and a frame from the MAC address of the device, are noted only if they are
 * later. */
void
smcr_collect_heard_note(const smcr_collect_t *collection, const smcr_collect_heard_t *same_way,
                        const smcr_qp_t *silent, smcr_collect_silence_t *silence)
{
    note(&silence->other_qp, same_way->roce, silence);
    note(&silence->tcp, same_way->tcp, silence);
    note(&silence->host, *same_way->host, silence);
    if (!silent)
        return;
    note_device(collection, silent, silence);
    note_tcp_of_group(collection, silent, silence);
    note_links_of_group(collection, silent, silence);
}

/* ---- texts of addresses ---- */

/* The map returns one pointer for all equal texts: callers compare pointers instead of texts. */
const char *
smcr_collect_text(const smcr_collect_t *collection, const char *text)
{
    char *shared = wmem_map_lookup(collection->hosts, text);

    if (!shared) {
        shared = wmem_strdup(collection->scope, text);
        wmem_map_insert(collection->hosts, shared, shared);
    }
    return shared;
}

/* The text of Wireshark is freed here, the shared one stays with the collection. */
const char *
smcr_collect_host(const smcr_collect_t *collection, const address *host)
{
    char *text = address_to_str(NULL, host);
    const char *shared = smcr_collect_text(collection, text);

    wmem_free(NULL, text);
    return shared;
}
