/* Notices that the clock of a capture was set back, and corrects the times after that.
 *
 * An administrator or NTP sets the clock of a host back while it captures. All durations across
 * this moment would be negative, and waits and silences of the whole capture would become unknown.
 * So the time of each later frame is moved by the step: the first frame after the step has the time
 * of the last frame before it. The time that passed between these two frames is not known, and
 * counts as 0.
 *
 * - A step is a frame whose time is a second or more before the times of the 32 frames before it on
 *   the same interface. Smaller steps are frames out of order. If a frame is written late, after a
 *   pause of the traffic, it is out of order, too: one of the 32 frames has about its time.
 * - Interfaces of one host have one clock. So if a correction that another interface has found fits
 *   an interface, too, the interface takes it.
 * - An interface may have no frame before a step from which the state learns, so its own frames do
 *   not show the step. Then a frame of the interface takes the step of another interface, if its
 *   time stamp is a second or more before the last one that the other interface has before the
 *   step.
 * - A later frame may jump forward again, by half of the step or more, to the last time before the
 *   step or a later one. Then the frames between were out of order in the file, and the correction
 *   ends.
 *
 * The first pass notes the steps, in the frames from which the state learns. Taps note no steps, so
 * a capture that is read once has the same steps as one that is read twice. A step stays with its
 * frame, so each pass, and a click on a frame, gets the same times.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "clock.h"

#include <wiretap/wtap.h>

#define LEAST_STEP SMCR_TIME_SECOND /* smallest step back that counts, nanoseconds */
#define RECENT_FRAMES 32   /* a step goes back before the times of so many frames */
#define STEPS_MOST 64      /* maximum number of steps of a file; later ones are not corrected */
#define INTERFACES_MOST 16 /* steps are searched on interfaces 0 to 15 only */

/* A change of the correction of one interface. */
typedef struct {
    uint32_t interface;  /* index of the interface */
    uint32_t last_frame; /* last frame of the interface before the step, of those from which the
                            state learns */
    uint64_t last_time;  /* time stamp of this frame, nanoseconds since 1970 */
    uint32_t frame;      /* first such frame after the step */
    uint64_t back;       /* how far the time stamps go back at this frame, nanoseconds; 0: they jump
                            forward, and the correction ends */
    uint64_t ahead;      /* correction from this frame on, which is added to time stamps,
                            nanoseconds */
    bool is_shared;      /* another interface has shown this step of the clock before */
} step_t;

/* The newest frames of an interface from which the state has learned. */
typedef struct {
    uint32_t first; /* number of the first frame; 0: none so far */
    uint32_t frame; /* number of the newest frame; 0: none so far */
    uint64_t time;  /* time stamp of the newest frame, nanoseconds since 1970 */
    uint64_t recent[RECENT_FRAMES]; /* time stamps of the newest frames, nanoseconds since 1970; a
                                       circular list */
    uint64_t count; /* number of frames so far */
} newest_t;

/* The clocks of the open file. */
static struct {
    newest_t newest[INTERFACES_MOST]; /* index: the interface */
    step_t steps[STEPS_MOST];         /* in the order of their frames */
    unsigned count;                   /* number of `steps` */
} clocks;

void
smcr_capture_clock_begin(void)
{
    memset(&clocks, 0, sizeof clocks);
}

uint32_t
smcr_capture_interface(const packet_info *pinfo)
{
    bool named = pinfo->rec->presence_flags & WTAP_HAS_INTERFACE_ID;

    return named ? pinfo->rec->rec_header.packet_header.interface_id : 0;
}

uint64_t
smcr_capture_stamp(const packet_info *pinfo)
{
    uint64_t seconds = (uint64_t)MAX(pinfo->abs_ts.secs, 0);
    uint64_t time = seconds * SMCR_TIME_SECOND + (uint64_t)MAX(pinfo->abs_ts.nsecs, 0);

    return MAX(time, 1);
}

/* Returns the newest step of the interface; NULL: none. */
static const step_t *
newest_step(uint32_t interface)
{
    for (unsigned i = clocks.count; i-- > 0;)
        if (clocks.steps[i].interface == interface)
            return &clocks.steps[i];
    return NULL;
}

/* Whether time stamps jump forward again to the time before the step, from `from` to `to`: by
 * LEAST_STEP or more, and by at least half of the step back. */
static bool
ends_step(const step_t *step, uint64_t from, uint64_t to)
{
    return step && step->back && to >= step->last_time && to - from >= LEAST_STEP &&
           (to - from) * 2 >= step->back;
}

/* Returns the correction after a step back from `newest` to the time stamp `now`. `ahead`:
 * correction before the step. The newest step of any interface has the correction if it fits: times
 * do not go back, and differ by less than a tenth of the step. */
static uint64_t
correction_after(const newest_t *newest, uint64_t now, uint64_t ahead)
{
    uint64_t least = newest->time + ahead - now;

    if (!clocks.count)
        return least;
    uint64_t other = clocks.steps[clocks.count - 1].ahead;
    return other >= least && (other - least) * 10 < newest->time - now ? other : least;
}

/* Whether the time stamp `now` is LEAST_STEP or more before those of all recent frames. */
static bool
is_before_recent(const newest_t *newest, uint64_t now)
{
    for (unsigned i = 0; i < MIN(newest->count, RECENT_FRAMES); i++)
        if (now + LEAST_STEP > newest->recent[i])
            return false;
    return true;
}

/* Whether there may be a step after the interface's newest frame: time stamps go back, or have gone
 * back before. False before the first frame of the interface, and if STEPS_MOST steps are known. */
static bool
may_be_step(const newest_t *newest, uint64_t now)
{
    bool may_be = clocks.count || now < newest->time;

    return may_be && newest->frame && clocks.count < STEPS_MOST;
}

/* Notes a step of the clock between the newest frame of the interface and this frame, if there is
 * one. Steps stay in the order of their frames. */
static void
note_step(uint32_t interface, uint32_t frame, uint64_t now)
{
    const newest_t *newest = &clocks.newest[interface];

    if (!may_be_step(newest, now))
        return;
    const step_t *before = newest_step(interface);
    uint64_t ahead = before ? before->ahead : 0;
    bool goes_back = is_before_recent(newest, now);
    step_t step = {.interface = interface, .last_frame = newest->frame,
                   .last_time = newest->time, .frame = frame};
    if (goes_back) {
        step.back = newest->time - now;
        step.ahead = correction_after(newest, now, ahead);
        step.is_shared = clocks.count && step.ahead == clocks.steps[clocks.count - 1].ahead;
    } else if (ends_step(before, newest->time, now)) {
        step.ahead = 0;
    } else {
        return;
    }
    clocks.steps[clocks.count++] = step;
}

/* Whether the frame has come after the step. Frames that no dissector of the plugin has seen may
 * lie between the last frame before the step and the first one after it: their time stamps show on
 * which side they are. */
static bool
is_after(const step_t *step, uint32_t frame, uint64_t now)
{
    bool is_between = frame > step->last_frame && frame < step->frame;

    return frame >= step->frame || (is_between && now + LEAST_STEP <= step->last_time);
}

/* Whether the state has learned from a frame of the interface before the step. If the clock of the
 * interface was set back, too, its own frames show the step. */
static bool
learned_before(uint32_t interface, const step_t *step)
{
    uint32_t first = interface < INTERFACES_MOST ? clocks.newest[interface].first : 0;

    return first && first < step->frame;
}

/* Whether the frame is from the time after a step that another interface has shown. */
static bool
is_after_step_elsewhere(const step_t *step, uint32_t frame, uint64_t now)
{
    return step->back && frame > step->last_frame && now + LEAST_STEP <= step->last_time;
}

/* Only a frame after the newest one of its interface counts: a frame that is dissected once more
 * must not look like a clock that was set back. */
smcr_when_t
smcr_capture_learn_when(const packet_info *pinfo)
{
    uint32_t interface = smcr_capture_interface(pinfo), frame = pinfo->num;
    uint64_t now = smcr_capture_stamp(pinfo);
    bool is_newer = interface < INTERFACES_MOST && frame > clocks.newest[interface].frame;

    if (is_newer && pinfo->fd->has_ts) {
        newest_t *newest = &clocks.newest[interface];
        note_step(interface, frame, now);
        newest->first = newest->first ? newest->first : frame;
        newest->frame = frame;
        newest->time = now;
        newest->recent[newest->count++ % RECENT_FRAMES] = now;
    }
    return smcr_capture_when(pinfo);
}

/* Returns the last step of another interface that counts for the frame; NULL: none. It counts only
 * if the clock was set back there, and if the state has learned from no frame of the own interface
 * before the step: two hosts may have two clocks. */
static const step_t *
step_elsewhere(uint32_t interface, uint32_t frame, uint64_t now)
{
    for (unsigned i = clocks.count; i-- > 0;) {
        const step_t *step = &clocks.steps[i];
        if (!learned_before(interface, step) && is_after_step_elsewhere(step, frame, now))
            return step;
    }
    return NULL;
}

/* Later steps come first. A step of another interface counts only if no step of the own interface
 * does. */
smcr_when_t
smcr_capture_when(const packet_info *pinfo)
{
    uint32_t interface = smcr_capture_interface(pinfo), frame = pinfo->num;
    uint64_t now = smcr_capture_stamp(pinfo);

    if (!pinfo->fd->has_ts)
        return (smcr_when_t){frame, now};
    for (unsigned i = clocks.count; i-- > 0;) {
        const step_t *step = &clocks.steps[i];
        if (step->interface == interface && is_after(step, frame, now))
            return (smcr_when_t){frame, now + step->ahead};
    }
    const step_t *elsewhere = step_elsewhere(interface, frame, now);
    return (smcr_when_t){frame, now + (elsewhere ? elsewhere->ahead : 0)};
}

uint64_t
smcr_capture_clock_step(const packet_info *pinfo)
{
    for (unsigned i = 0; i < clocks.count; i++)
        if (clocks.steps[i].frame == pinfo->num && !clocks.steps[i].is_shared)
            return clocks.steps[i].back;
    return 0;
}
