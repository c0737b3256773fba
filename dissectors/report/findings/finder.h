/* Findings on their way: a list in which each knows its severity and its place among others.
 *
 * A place stands for a kind of trouble. The places are in the order of causes: what is further down
 * may follow from what is further up. Where two findings are equally severe, the cause comes first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/figures/figures.h"

#define SMCR_FINDINGS_MOST 10
#define SMCR_FINDING_FILTERS_MOST 8 /* that are joined */

typedef enum {
    SMCR_FINDING_BY_ICRC,   /* packets arrive damaged */
    SMCR_FINDING_BY_FORMAT, /* messages that break their format */
    SMCR_FINDING_BY_OVERWRITTEN, /* data is overwritten before it is read */
    SMCR_FINDING_BY_RULE,   /* messages that break a rule: no correct peer sends them */
    SMCR_FINDING_BY_STOP, /* all between two hosts stops at once */
    SMCR_FINDING_BY_LINK_LOST, /* a link of a group that goes on */
    SMCR_FINDING_BY_REFUSAL, /* NAKs that end a queue pair */
    SMCR_FINDING_BY_DEAD_PEER, /* nobody answers any more */
    SMCR_FINDING_BY_GROUP_LOST, /* a link group ends with open connections */
    SMCR_FINDING_BY_RNR,    /* no receive buffers */
    SMCR_FINDING_BY_LOSS,   /* packets are lost on their way */
    SMCR_FINDING_BY_ABORT,  /* abnormal close of a connection */
    SMCR_FINDING_BY_RESET,  /* TCP reset of a connection over RDMA */
    SMCR_FINDING_BY_DEAD_AFTER, /* nobody answers any more, since connections were reset */
    SMCR_FINDING_BY_FALLBACK, /* a connection falls back to TCP */
    SMCR_FINDING_BY_NO_CONNECTION, /* TCP does not come about */
    SMCR_FINDING_BY_CM_REJECT, /* RDMA-CM rejects a connection */
    SMCR_FINDING_BY_CM_REPEAT, /* RDMA-CM retransmits messages */
    SMCR_FINDING_BY_LINK_FAILED, /* a link never comes up */
    SMCR_FINDING_BY_CONGESTION, /* CE, CNP */
    SMCR_FINDING_BY_SLOW_READER, /* writers wait for readers */
    SMCR_FINDING_BY_SLOW_SETUP, /* a connection takes long to set up */
    SMCR_FINDING_BY_TCP_LOSS, /* TCP retransmits segments */
    SMCR_FINDING_BY_TCP_CONGESTION, /* CE, ECE */
    SMCR_FINDING_BY_TCP_RESET, /* of a connection that is not over RDMA */
    SMCR_FINDING_BY_NO_OPTION, /* one side does not offer SMC-R */
    SMCR_FINDING_BY_NO_ROCE, /* the capture lacks the path of RoCE */
    SMCR_FINDING_BY_LACK,   /* the capture lacks packets */
    SMCR_FINDING_BY_UNFINISHED, /* a handshake without end */
    SMCR_FINDING_BY_LATE_START, /* the capture begins late */
    SMCR_FINDING_BY_NOTICE, /* an expert item that nothing else speaks of */
    SMCR_FINDING_BY_ICRC_DOUBTED, /* ICRCs that mean nothing */
    SMCR_FINDING_BY_SILENCE, /* connections that go silent */
    SMCR_FINDING_BY_CUT,    /* frames are cut */
    SMCR_FINDING_BY_COST,   /* what harms nobody */
    SMCR_FINDING_BY_GROUP_END, /* a link group ends, and its last packets are retransmitted */
    SMCR_FINDING_RANKS
} smcr_finding_rank_t;

typedef struct {
    smcr_entry_finding_t entry;
    smcr_finding_rank_t place;
    uint32_t turn; /* in which it was found */
} smcr_finding_t;

typedef struct {
    smcr_entry_report_t *report;
    const smcr_figure_notice_t *notices;
    uint32_t notice_count;
    wmem_allocator_t *scope;
    wmem_array_t *found; /* smcr_finding_t */
    bool has[SMCR_FINDING_RANKS];
    unsigned count[SMCR_FIGURE_ERROR + 1][SMCR_FINDING_RANKS]; /* above SMCR_FINDINGS_MOST none is
                                                                  told */
    const smcr_figure_flow_owner_t *owners; /* by index of a flow */
} smcr_finder_t;

/* A finding with its sentence, unless `count` is 0. `when`: the first frame; frame 0: not known.
 * `filter`: what selects the frames; NULL: nothing does. `severity`: that of the row, or another
 * one. */
#define SMCR_FINDER_OF_ROW (-1)
#define smcr_finder_add(finder, kind, ...)                                                         \
    smcr_finder_add_as(finder, kind, SMCR_FINDER_OF_ROW, __VA_ARGS__)
void smcr_finder_add_as(smcr_finder_t *finder, smcr_figure_finding_t kind, int severity,
                        uint64_t count, smcr_when_t when, const char *filter, const char *format,
                        ...) G_GNUC_PRINTF(7, 8);

/* An expert item that nothing explains; its kind is its name. */
void smcr_finder_add_item(smcr_finder_t *finder, smcr_finding_rank_t place,
                          smcr_entry_finding_t entry);

/* The notices with this filter added up, of whatever side; its text and side are those of the
 * first. Its count is 0 where there are none. */
smcr_figure_notice_t smcr_finder_notice(const smcr_finder_t *finder, const char *filter);

/* The first frame of the notices with one filter or the other; frame 0: there is none. */
smcr_when_t smcr_finder_first(const smcr_finder_t *finder, const char *one, const char *other);

/* What an item is about: a connection ("10.0.0.1:46464 → 10.0.0.2:8080"), a link or its group, the
 * hosts of a frame; "the capture" where nothing is known. `subject` may be NULL. */
const char *smcr_finder_subject(const smcr_finder_t *finder, const smcr_figure_subject_t *subject);

/* What ICMP says of packets between two hosts: "; ICMP: ..." or "". */
const char *smcr_finder_undelivered(const smcr_finder_t *finder, const char *one,
                                    const char *other);

/* Whether the report counts only frames that a display filter selects. Then nobody knows whether
 * what is absent was there. */
static inline bool
smcr_finder_is_filtered(const smcr_finder_t *finder)
{
    return finder->report->capture.filter != NULL;
}

/* The display filter `one` or, behind `count` others, also `other`; NULL: too many for a filter. */
const char *smcr_finder_either(const smcr_finder_t *finder, const char *one, const char *other,
                               uint64_t count);

/* Whether the diagnosis code of a Decline says that RoCE did not get through: a timeout waiting for
 * CONFIRM LINK or ADD LINK (Linux, net/smc/smc_clc.h). */
static inline bool
smcr_finding_is_timeout(uint64_t code)
{
    return code == SMCR_CLC_DECLINE_TIMEOUT_CL || code == SMCR_CLC_DECLINE_TIMEOUT_AL;
}

/* ---- which trouble of a flow has which cause ---- */

/* The flow in the other direction; NULL: not known. */
const smcr_entry_rdma_t *smcr_finding_flow_peer(const smcr_finder_t *finder,
                                                const smcr_entry_rdma_t *flow);

/* For how long packets were retransmitted and nothing came back, from the peer's last packet to the
 * end of the capture, nanoseconds; 0 where it was heard again. Needs a notice of a silent peer. */
uint64_t smcr_finding_flow_unanswered(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Whether a packet with a wrong ICRC went one way or the other: it explains repeats of both. */
bool smcr_finding_flow_is_damaged(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Whether packets of SMC-R are retransmitted on a link whose other end never says anything:
 * a link that was announced in the capture, and that nobody has used. */
bool smcr_finding_flow_is_dead_end(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* ---- who finds ---- */

void smcr_finding_on_connections(smcr_finder_t *finder);
void smcr_finding_on_times(smcr_finder_t *finder);
void smcr_finding_on_links(smcr_finder_t *finder);
void smcr_finding_on_fabric(smcr_finder_t *finder);
void smcr_finding_on_capture(smcr_finder_t *finder);

/* After all others: notices that no finding so far explains. */
void smcr_finding_on_notices(smcr_finder_t *finder);
