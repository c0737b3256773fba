/* listeners.c
 * Four taps feed a report: all frames, TCP segments, our packets, expert items. Whatever they bring
 * is forgotten when the frames come again, and when the file is closed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "listeners.h"

#include "report/findings/findings.h"

enum { FRAME, TCP, SMCR, EXPERT, TAPS };

/* Wireshark finds a listener by its address. */
typedef struct {
    smcr_listeners_t *owner;
} listener_t;

struct smcr_listeners {
    listener_t listener[TAPS];
    unsigned registered; /* of them */
    smcr_collection_t *collection;
    char *filter; /* NULL: none */
    smcr_draw_t *draw;
    void *context;
};

/* All that there are. */
static struct {
    GSList *all;
} live;

/* ---- what Wireshark calls ---- */

static smcr_collection_t *
collection_of(void *listener)
{
    return ((listener_t *)listener)->owner->collection;
}

static tap_packet_status
take_frame(void *listener, packet_info *pinfo, epan_dissect_t *edt, const void *data,
           tap_flags_t flags)
{
    (void)data;
    (void)flags;
    smcr_collection_take_frame(collection_of(listener), pinfo, edt);
    return TAP_PACKET_REDRAW;
}

static tap_packet_status
take_tcp(void *listener, packet_info *pinfo, epan_dissect_t *edt, const void *data,
         tap_flags_t flags)
{
    (void)flags;
    smcr_collection_take_tcp(collection_of(listener), pinfo, edt, data);
    return TAP_PACKET_DONT_REDRAW;
}

static tap_packet_status
take_smcr(void *listener, packet_info *pinfo, epan_dissect_t *edt, const void *data,
          tap_flags_t flags)
{
    (void)edt;
    (void)flags;
    smcr_collection_take_smcr(collection_of(listener), pinfo, data);
    return TAP_PACKET_DONT_REDRAW;
}

static tap_packet_status
take_expert(void *listener, packet_info *pinfo, epan_dissect_t *edt, const void *data,
            tap_flags_t flags)
{
    (void)edt;
    (void)flags;
    smcr_collection_take_expert(collection_of(listener), pinfo, data);
    return TAP_PACKET_DONT_REDRAW;
}

static void
reset(void *listener)
{
    smcr_collection_empty(collection_of(listener));
}

static void
draw(void *listener)
{
    smcr_listeners_t *listeners = ((listener_t *)listener)->owner;
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
    smcr_report_entry_t *report =
        smcr_collection_report(listeners->collection, listeners->filter, scope);
    uint32_t count;
    const smcr_notice_t *notices =
        smcr_collection_notices(listeners->collection, report, scope, &count);

    smcr_findings_find(report, notices, count, scope);
    listeners->draw(report, listeners->context);
    wmem_destroy_allocator(scope);
}

/* ---- beginning and end ---- */

/* One of them resets and draws for all. */
static const struct {
    const char *tap;
    tap_packet_cb take;
    tap_reset_cb reset;
    tap_draw_cb draw;
} taps[TAPS] = {
    [FRAME] = {"frame", take_frame, reset, draw},
    [TCP] = {"tcp", take_tcp, NULL, NULL},
    [SMCR] = {SMCR_TAP, take_smcr, NULL, NULL},
    [EXPERT] = {"expert", take_expert, NULL, NULL},
};

/* Returns whether it succeeded. */
static bool
listen(smcr_listeners_t *listeners, unsigned which, char **error)
{
    listeners->listener[which].owner = listeners;
    GString *message = register_tap_listener(taps[which].tap, &listeners->listener[which],
                                             listeners->filter, TL_REQUIRES_NOTHING,
                                             taps[which].reset, taps[which].take,
                                             taps[which].draw, NULL);

    if (message)
        *error = g_string_free(message, FALSE);
    return !message;
}

smcr_listeners_t *
smcr_listeners_new(const char *filter, smcr_draw_t *draw_report, void *context, char **error)
{
    smcr_listeners_t *listeners = g_new0(smcr_listeners_t, 1);

    listeners->collection = smcr_collection_new();
    listeners->filter = g_strdup(filter);
    listeners->draw = draw_report;
    listeners->context = context;
    live.all = g_slist_prepend(live.all, listeners);
    while (listeners->registered < TAPS && listen(listeners, listeners->registered, error))
        listeners->registered++;
    if (listeners->registered == TAPS)
        return listeners;
    smcr_listeners_free(listeners);
    return NULL;
}

void
smcr_listeners_free(smcr_listeners_t *listeners)
{
    for (unsigned i = 0; i < listeners->registered; i++)
        remove_tap_listener(&listeners->listener[i]);
    live.all = g_slist_remove(live.all, listeners);
    smcr_collection_free(listeners->collection);
    g_free(listeners->filter);
    g_free(listeners);
}

/* The file is closed: what was collected points into what was known of it. */
static void
end_file(void)
{
    for (GSList *at = live.all; at; at = at->next)
        smcr_collection_empty(((smcr_listeners_t *)at->data)->collection);
}

void
smcr_listeners_register(void)
{
    register_cleanup_routine(end_file);
}
