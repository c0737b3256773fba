/* Makes the state of a capture file. Counts the right and wrong checksums of each sender, and keeps
 * which TCP segments were damaged.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "state.h"

#include "state/model/store.h"

/* If more ICRCs of a sender than this are wrong, and none so far is right, its adapter is assumed
 * to fill in the ICRC, so its wrong ICRCs mean nothing. */
#define WRONG_MAX 4
/* Right checksums of a sender for each wrong one after the first, if the wrong ones mean damage. */
#define RIGHT_FOR_A_WRONG_ONE 3
#define SENDERS_MAX 65536 /* maximum number of senders that are kept; checksums of other senders are
                             not counted */

/* The tables that are made here are never NULL. */
smcr_state_t *
smcr_state_new(wmem_allocator_t *scope)
{
    smcr_state_t *state = wmem_new0(scope, smcr_state_t);

    state->scope = state->entries.scope = state->records.scope = scope;
    state->lgrs = wmem_list_new(scope);
    state->deleted_links = wmem_list_new(scope);
    state->half_known_links = wmem_list_new(scope);
    state->qps = smcr_qp_map_new(scope);
    state->unknown_qps = smcr_qp_map_new(scope);
    smcr_rmb_table_new(state);
    smcr_conn_tables_new(state);
    return state;
}

void
smcr_state_set_interface(smcr_state_t *state, uint32_t interface)
{
    state->several_interfaces |= state->has_interface && state->interface != interface;
    state->has_interface = true;
    state->interface = interface;
}

bool
smcr_state_is_beyond(const smcr_state_t *state, uint32_t frame)
{
    return frame < state->last_frame;
}

smcr_state_disorder_t
smcr_state_disorder(const smcr_state_t *state)
{
    return (smcr_state_disorder_t){state->disordered, state->disorder_most};
}

smcr_points_t *
smcr_state_points(const smcr_state_t *state)
{
    return state->points;
}

void
smcr_state_set_points(smcr_state_t *state, smcr_points_t *points)
{
    state->points = points;
}

/* ---- senders ---- */

/* A smcr_sender_t without padding, as a key. */
typedef struct {
    uint8_t address[SMCR_GID_LENGTH];    /* address of the sender as a GID; all zeros: all
                                            senders */
    uint8_t interface[sizeof(uint32_t)]; /* interface of the capture: on the sender's own host, the
                                            adapter may compute the checksum after the capture */
    uint8_t checksum;                    /* kind of the checksum, smcr_sender_checksum_t */
} sender_key_t;

typedef struct {
    sender_key_t key; /* the key of the table */
    bool trusted;     /* the sender has sent a right ICRC */
    uint32_t right;   /* number of right checksums */
    uint32_t bad;     /* number of wrong checksums */
    uint32_t wrong;   /* number of wrong ICRCs before the first right one */
    uint32_t doubted; /* frame of the first wrong ICRC after WRONG_MAX of them; 0: none, or a right
                         one has come */
} sender_t;

SMCR_WIRE_KEY(hash, is_equal, sizeof(sender_key_t))

static sender_key_t
key_of(const smcr_sender_t *sender)
{
    sender_key_t key = {.checksum = (uint8_t)sender->checksum};

    memcpy(key.address, sender->address, sizeof key.address);
    memcpy(key.interface, &sender->interface, sizeof key.interface);
    return key;
}

/* The sender of a packet with an ICRC. */
static smcr_sender_t
sender_of(const smcr_icrc_t *icrc)
{
    smcr_sender_t sender = {.interface = icrc->interface, .checksum = SMCR_SENDER_ICRC};

    memcpy(sender.address, icrc->sender, sizeof sender.address);
    return sender;
}

/* What is counted of the sender's checksums; NULL: nothing. */
static const sender_t *
find_sender(const smcr_state_t *state, const smcr_sender_t *sender)
{
    sender_key_t key = key_of(sender);

    return state->senders ? wmem_map_lookup(state->senders, &key) : NULL;
}

/* The same for the sender of a packet with an ICRC. */
static const sender_t *
find_sender_of(const smcr_state_t *state, const smcr_icrc_t *icrc)
{
    smcr_sender_t sender = sender_of(icrc);

    return find_sender(state, &sender);
}

/* What is counted of the sender's checksums; makes the entry of a new sender. NULL: too many
 * senders are kept. */
static sender_t *
get_sender(smcr_state_t *state, const smcr_sender_t *wanted)
{
    sender_key_t key = key_of(wanted);

    if (!state->senders)
        state->senders = wmem_map_new(state->scope, hash, is_equal);
    sender_t *sender = wmem_map_lookup(state->senders, &key);
    if (sender || wmem_map_size(state->senders) >= SENDERS_MAX)
        return sender;
    sender = wmem_new0(state->scope, sender_t);
    sender->key = key;
    wmem_map_insert(state->senders, &sender->key, sender);
    return sender;
}

/* Counts a checksum of the sender, and returns the sender's entry; NULL: too many senders are
 * kept. */
static sender_t *
count(smcr_state_t *state, const smcr_sender_t *wanted, bool is_right)
{
    sender_t *sender = get_sender(state, wanted);

    if (!sender)
        return NULL;
    sender->right += is_right;
    sender->bad += !is_right;
    return sender;
}

/* Trust is never lost: one right ICRC is enough. */
void
smcr_senders_count(smcr_state_t *state, const smcr_icrc_t *icrc, uint32_t frame)
{
    smcr_sender_t key = sender_of(icrc);

    smcr_state_learns(state, frame);
    if (icrc->status == SMCR_IB_ICRC_UNVERIFIED)
        return;
    bool is_right = icrc->status == SMCR_IB_ICRC_GOOD;
    sender_t *sender = count(state, &key, is_right);
    if (!sender || sender->trusted)
        return;
    if (is_right) {
        sender->trusted = true;
        sender->doubted = 0;
    } else if (++sender->wrong == WRONG_MAX + 1) {
        sender->doubted = frame;
    }
}

bool
smcr_senders_trust(const smcr_state_t *state, const smcr_icrc_t *icrc, uint32_t *doubted)
{
    const sender_t *sender = find_sender_of(state, icrc);

    *doubted = sender ? sender->doubted : 0;
    return sender && sender->trusted;
}

bool
smcr_senders_are_mostly_right(const smcr_state_t *state, const smcr_icrc_t *icrc)
{
    const sender_t *sender = find_sender_of(state, icrc);

    return sender && sender->right > sender->bad;
}

void
smcr_senders_count_checksum(smcr_state_t *state, const smcr_sender_t *sender, bool is_right,
                            uint32_t frame)
{
    smcr_state_learns(state, frame);
    count(state, sender, is_right);
}

bool
smcr_senders_mean_damage(const smcr_state_t *state, const smcr_sender_t *sender)
{
    const sender_t *known = find_sender(state, sender);

    return known && known->right && !smcr_senders_mean_nothing(state, sender);
}

bool
smcr_senders_mean_nothing(const smcr_state_t *state, const smcr_sender_t *sender)
{
    const sender_t *known = find_sender(state, sender);

    return known && known->bad > 1 + known->right / RIGHT_FOR_A_WRONG_ONE;
}

bool
smcr_senders_are_new(const smcr_state_t *state, const smcr_sender_t *sender)
{
    const sender_t *known = find_sender(state, sender);

    return known && known->right + known->bad == 1;
}

/* ---- damaged TCP segments ---- */

bool
smcr_state_has_damage(const smcr_state_t *state)
{
    return state->damage != NULL;
}

smcr_state_damage_t *
smcr_state_damage(const smcr_state_t *state, const void *conversation)
{
    return state->damage ? wmem_map_lookup(state->damage, conversation) : NULL;
}

smcr_state_damage_t *
smcr_state_damage_of(smcr_state_t *state, const void *conversation)
{
    if (!state->damage)
        state->damage = wmem_map_new(state->scope, g_direct_hash, g_direct_equal);
    smcr_state_damage_t *damage = wmem_map_lookup(state->damage, conversation);
    if (!damage) {
        damage = wmem_new0(state->scope, smcr_state_damage_t);
        wmem_map_insert(state->damage, conversation, damage);
    }
    return damage;
}
