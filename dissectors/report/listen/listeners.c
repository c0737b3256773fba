/* Four taps feed a report: all frames, TCP segments, the plugin's packets, expert items. Their data
 * are forgotten when Wireshark resets the taps, and when the file is closed.
 *
 * A statistic may select the frames by a listener of its own (smcr_listeners_of_selected()). Then
 * the data of each frame are kept until the end of the frame, and counted if the frame was
 * selected. The end of a frame is the tap `frame`, which Wireshark calls last for each frame.
 * Within a tap, Wireshark calls the listener first that was registered last. The statistic's
 * listener on the tap `frame` is registered later than ours, so it selects a frame before ours ends
 * the frame. To draw before the statistic's listener, one more listener is registered at the first
 * selected frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "listeners.h"

#include "finding_marks.h"
#include "forget.h"

/* A listener. Its address identifies it in Wireshark's list of listeners. */
typedef struct {
    smcr_listeners_t *owner; /* the listeners that this listener belongs to */
    smcr_collection_tap_t tap; /* tap that calls it; not set in a listener that only draws */
} listener_t;

/* Data that one tap has handed over for the current frame. */
typedef struct {
    smcr_collection_tap_t tap; /* the tap */
    const void *data; /* Wireshark's struct, valid until the end of the frame */
} brought_t;

/* What our listeners need if the listener of a statistic selects the frames that count
 * (smcr_listeners_of_selected()). */
typedef struct {
    GArray *waiting;    /* data of the current frame that are not counted yet; element brought_t */
    uint32_t selected;  /* number of the last selected frame; 0: no frame was selected since the
                           last reset */
    listener_t drawer;  /* a listener that only draws */
    bool has_drawer;    /* `drawer` is registered */
} selection_t;

struct smcr_listeners {
    listener_t listener[SMCR_COLLECTION_TAPS]; /* one listener on each tap */
    unsigned registered; /* number of listeners that are registered */
    selection_t *selection; /* frames that the listener of a statistic selects; NULL: `filter`
                               selects the frames */
    smcr_collection_t *collection; /* what has been counted since the last reset */
    char *filter; /* display filter of the listeners; NULL: none */
    smcr_listeners_draw_t *draw; /* function that shows the report; NULL: `writer` */
    const smcr_listeners_writer_t *writer; /* writes while frames come; NULL: `draw` */
    bool is_writing; /* frames have come since the last end of `writer` */
    void *context; /* last argument of `draw`, or of the functions of `writer` */
};

static GSList *all_listeners; /* all smcr_listeners_t that exist */

/* ---- drawing ---- */

/* Whether the report marks the frames of its findings (finding_marks.h): in a program with windows,
 * where a user looks at the frames after he has read the report. A report of selected packets marks
 * nothing: its findings have other numbers. */
static bool
marks_frames(const char *filter, const selection_t *selection)
{
    return smcr_host_window_ops() && !filter && !selection;
}

/* Makes a report of the collection, adds findings, and passes the report to the function that shows
 * it. */
static void
draw_report(smcr_listeners_t *listeners)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
    wmem_array_t *frames;
    smcr_entry_report_t *report =
        smcr_listener_report(listeners->collection, listeners->filter, scope, &frames);

    if (marks_frames(listeners->filter, listeners->selection))
        smcr_listener_marks_set(report, frames);
    listeners->draw(report, listeners->context);
    wmem_destroy_allocator(scope);
}

/* Has the writer write the lines that it has not written yet. */
static void
end_writing(smcr_listeners_t *listeners)
{
    listeners->writer->end(listeners->collection, listeners->context);
    listeners->is_writing = false;
}

/* Called by Wireshark when the output is to be shown: ends the lines, or draws the report. */
static void
draw(void *listener)
{
    smcr_listeners_t *listeners = ((listener_t *)listener)->owner;

    if (listeners->writer)
        end_writing(listeners);
    else
        draw_report(listeners);
}

/* Draws the report in tshark, if a frame was selected. Does nothing in Wireshark's window: there
 * end_frame() has drawn the report at the last frame. */
static void
draw_selected(void *listener)
{
    smcr_listeners_t *listeners = ((listener_t *)listener)->owner;

    if (listeners->selection->selected && !smcr_host_windows_last_frame())
        draw_report(listeners);
}

/* ---- taking ---- */

/* Ends a frame: counts the kept data of the frame if the frame was selected, and discards them. In
 * Wireshark's window, the last frame of the file also draws the report. */
static void
end_frame(smcr_listeners_t *listeners, packet_info *pinfo)
{
    selection_t *selection = listeners->selection;

    for (unsigned i = 0; selection->selected == pinfo->num && i < selection->waiting->len; i++) {
        const brought_t *brought = &g_array_index(selection->waiting, brought_t, i);
        smcr_collection_take(listeners->collection, brought->tap, pinfo, brought->data);
    }
    g_array_set_size(selection->waiting, 0);
    if (selection->selected && pinfo->num == smcr_host_windows_last_frame())
        draw_report(listeners);
}

/* Takes the data of one tap. Called by Wireshark. If a statistic selects the frames (`selection`),
 * the data are kept until the end of the frame, since its listener may select the frame after this
 * call. Otherwise the data are counted at once. */
static tap_packet_status
take(void *listener, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
     tap_flags_t flags _U_)
{
    smcr_listeners_t *listeners = ((listener_t *)listener)->owner;
    smcr_collection_tap_t tap = ((listener_t *)listener)->tap;
    brought_t brought = {tap, data};

    if (!listeners->selection) {
        smcr_collection_take(listeners->collection, tap, pinfo, data);
        if (tap == SMCR_COLLECTION_FRAME && listeners->writer) {
            listeners->is_writing = true;
            listeners->writer->end_frame(listeners->collection, pinfo, listeners->context);
        }
        return tap == SMCR_COLLECTION_FRAME ? TAP_PACKET_REDRAW : TAP_PACKET_DONT_REDRAW;
    }
    g_array_append_val(listeners->selection->waiting, brought);
    if (tap == SMCR_COLLECTION_FRAME)
        end_frame(listeners, pinfo);
    return TAP_PACKET_DONT_REDRAW;
}

/* Empties the collection. If a statistic selects the frames, also discards the data that are kept
 * for the current frame, which is not selected any more. */
static void
forget(smcr_listeners_t *listeners)
{
    smcr_collection_empty(listeners->collection);
    if (!listeners->selection)
        return;
    g_array_set_size(listeners->selection->waiting, 0);
    listeners->selection->selected = 0;
}

/* Called by Wireshark before it passes all packets once more: the collection begins anew. */
static void
reset(void *listener)
{
    forget(((listener_t *)listener)->owner);
}

/* ---- beginning and end ---- */

/* Registers the listener of one tap. Returns true if Wireshark has registered it; else `*error` is
 * set to the message. The listener on the tap `frame` resets and draws for all four listeners. If a
 * statistic selects the frames, it only resets, and selection_t.drawer draws. */
static bool
listen(smcr_listeners_t *listeners, smcr_collection_tap_t tap, char **error)
{
    static const char *const names[SMCR_COLLECTION_TAPS] = {"frame", "tcp", SMCR_TAP, "expert"};
    bool draws = tap == SMCR_COLLECTION_FRAME && !listeners->selection;

    listeners->listener[tap] = (listener_t){listeners, tap};
    GString *message = register_tap_listener(
        names[tap], &listeners->listener[tap], listeners->filter, TL_REQUIRES_NOTHING,
        tap == SMCR_COLLECTION_FRAME ? reset : NULL, take, draws ? draw : NULL, NULL);

    if (message)
        *error = g_string_free(message, FALSE);
    return !message;
}

/* Registers all four listeners. Returns NULL if the filter has a syntax error; `*error` is then set
 * to the error message. */
static smcr_listeners_t *
begin_report(const char *filter, selection_t *selection, smcr_listeners_draw_t *draw_entries,
      void *context, char **error)
{
    smcr_listeners_t *listeners = g_new0(smcr_listeners_t, 1);

    listeners->collection = smcr_collection_new(marks_frames(filter, selection));
    listeners->selection = selection;
    listeners->filter = g_strdup(filter);
    listeners->draw = draw_entries;
    listeners->context = context;
    all_listeners = g_slist_prepend(all_listeners, listeners);
    smcr_listener_forget_allow(false);
    while (listeners->registered < SMCR_COLLECTION_TAPS &&
           listen(listeners, listeners->registered, error))
        listeners->registered++;
    if (listeners->registered == SMCR_COLLECTION_TAPS)
        return listeners;
    smcr_listeners_free(listeners);
    return NULL;
}

smcr_listeners_t *
smcr_listeners_new(const char *filter, smcr_listeners_draw_t *draw_entries, void *context,
                   char **error)
{
    return begin_report(filter, NULL, draw_entries, context, error);
}

void
smcr_listeners_draw_series(smcr_listeners_t *listeners, smcr_series_t *series)
{
    smcr_collection_draw(listeners->collection, series);
}

void
smcr_listeners_watch_first_pass(smcr_listeners_draw_t *watch, void *context)
{
    smcr_listener_marks_watch(watch, context);
}

bool
smcr_listeners_are_of_one(void)
{
    return all_listeners && !all_listeners->next && !smcr_listener_marks_collect();
}

/* The writer is set before any frame comes: it writes the line of a connection before the
 * collection lets go of the connection. */
smcr_listeners_t *
smcr_listeners_of_frames(const char *filter, const smcr_listeners_writer_t *writer, void *context,
                         char **error)
{
    smcr_listeners_t *listeners = begin_report(filter, NULL, NULL, context, error);

    if (!listeners)
        return NULL;
    listeners->writer = writer;
    smcr_collection_begin_letting_go(listeners->collection);
    return listeners;
}

/* Data of a frame waits in `waiting`, since the statistic's listener may select the frame after our
 * listeners have got the data (end_frame()). */
smcr_listeners_t *
smcr_listeners_of_selected(smcr_listeners_draw_t *draw_entries, void *context)
{
    selection_t *selection = g_new0(selection_t, 1);
    char *error = NULL; /* stays NULL: without a filter there is no syntax error */

    selection->waiting = g_array_new(FALSE, FALSE, sizeof(brought_t));
    return begin_report(NULL, selection, draw_entries, context, &error);
}

/* The listener that draws is registered here, at the first selected frame, and so after the
 * statistic's own: Wireshark then calls it before the statistic's (see the head of this file). */
void
smcr_listeners_select(smcr_listeners_t *listeners, const packet_info *pinfo)
{
    selection_t *selection = listeners->selection;

    selection->selected = pinfo->num;
    if (selection->has_drawer)
        return;
    selection->drawer.owner = listeners;
    GString *error = register_tap_listener("frame", &selection->drawer, NULL, TL_REQUIRES_NOTHING,
                                           NULL, NULL, draw_selected, NULL);

    selection->has_drawer = !error;
    if (error)
        g_string_free(error, TRUE);
}

/* The listeners of the taps are removed before the collection that they fill is freed. */
void
smcr_listeners_free(smcr_listeners_t *listeners)
{
    for (unsigned i = 0; i < listeners->registered; i++)
        remove_tap_listener(&listeners->listener[i]);
    if (listeners->selection) {
        if (listeners->selection->has_drawer)
            remove_tap_listener(&listeners->selection->drawer);
        g_array_free(listeners->selection->waiting, TRUE);
        g_free(listeners->selection);
    }
    all_listeners = g_slist_remove(all_listeners, listeners);
    smcr_listener_forget_allow(!all_listeners);
    smcr_collection_free(listeners->collection);
    g_free(listeners->filter);
    g_free(listeners);
}

/* Empties all collections. Called when the capture file is closed, since collections point into the
 * state of the file. tshark -M closes and opens the file again and again, each time after the given
 * number of packets, without a call of draw(). So the writer first writes the lines that are not
 * written yet. */
static void
end_file(void)
{
    for (GSList *at = all_listeners; at; at = at->next) {
        smcr_listeners_t *listeners = at->data;
        if (listeners->is_writing)
            end_writing(listeners);
        forget(listeners);
    }
    smcr_listener_forget_end_file();
}

void
smcr_listeners_register(void)
{
    register_cleanup_routine(end_file);
    smcr_listener_marks_register();
}
