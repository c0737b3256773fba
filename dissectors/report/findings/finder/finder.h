/* Knows the list of findings while the rules fill it, and what several rules need to make one.
 * Does not know the rules. Called by the rules of report/findings/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "report/figures/figures.h"


/* Maximum number of findings that smcr_findings_find() adds to a report. */
#define SMCR_FINDINGS_MOST 10

/* Maximum number of connections whose filters are joined into one display filter. */
#define SMCR_FINDING_FILTERS_MOST 8

/* A flow counts as retransmitted often if it has at least this number of retransmitted packets
 * (docs/report.md). */
#define SMCR_FINDING_RETRANSMITTED_OFTEN 3

/* Ranks of findings. A rank is named for the trouble that its findings report. The ranks form four
 * classes (smcr_finding_class_t): the first rank of each class is marked. Within a class, a cause
 * comes before its consequences. */
typedef enum {
    /* ---- failures ---- */
    SMCR_FINDING_BY_ICRC,           /* packets with a wrong ICRC: damaged */
    SMCR_FINDING_FIRST_FAILED = SMCR_FINDING_BY_ICRC,
    SMCR_FINDING_BY_FORMAT,         /* messages that break their format */
    SMCR_FINDING_BY_OVERWRITTEN,    /* data is overwritten before it is read */
    SMCR_FINDING_BY_HANDSHAKE,      /* TCP ends the handshake of CLC: the connection fails */
    SMCR_FINDING_BY_STOP,           /* all traffic between two hosts stops at once */
    SMCR_FINDING_BY_LINK_LOST,      /* a link is lost, and its link group continues */
    SMCR_FINDING_BY_REFUSAL,        /* NAKs that end a queue pair */
    SMCR_FINDING_BY_SIZE,           /* packets above a certain size are lost: the path MTU */
    SMCR_FINDING_BY_DEAD_PEER,      /* nothing comes back from a peer, or ICMP errors report that
                                       packets do not reach it */
    SMCR_FINDING_BY_GROUP_LOST,     /* a link group ends with open connections */
    SMCR_FINDING_BY_ABORT,          /* abnormal close of a connection */
    SMCR_FINDING_BY_RESET,          /* TCP reset of a connection over RDMA */
    SMCR_FINDING_BY_IDLE_CLOSE,     /* the server closes an idle connection that the client
                                       keeps open */
    SMCR_FINDING_BY_DEAD_AFTER,     /* a peer stops answering after connections were reset */
    SMCR_FINDING_BY_RETRIES,        /* a sender has used up its retries */
    SMCR_FINDING_BY_FALLBACK,       /* a connection falls back to TCP since RoCE does not pass, or
                                       it fails with the fallback */
    SMCR_FINDING_BY_NO_CONNECTION,  /* the TCP connection is refused, or gets no answer */
    SMCR_FINDING_BY_CM_REJECT,      /* RDMA-CM rejects a connection */
    /* ---- lost time ---- */
    SMCR_FINDING_BY_RNR,            /* receivers without receive buffers send RNR NAKs */
    SMCR_FINDING_FIRST_COST = SMCR_FINDING_BY_RNR,
    SMCR_FINDING_BY_RNR_RETRIES,    /* a sender has used up its retries after RNR NAKs */
    SMCR_FINDING_BY_PAST_SILENCE,   /* nothing came back from a peer for a time, and then it did */
    SMCR_FINDING_BY_LOSS_AT_POINT,  /* packets are lost, damaged or reordered between two capture
                                       points, or lost after them */
    SMCR_FINDING_BY_LOSS,           /* packets are lost on the network */
    SMCR_FINDING_BY_CM_REPEAT,      /* RDMA-CM retransmits messages */
    SMCR_FINDING_BY_LINK_FAILED,    /* a link never comes up */
    SMCR_FINDING_BY_BOTTLENECK,     /* packets marked CE, while writers wait for the path */
    SMCR_FINDING_BY_STANDSTILL,     /* flows stand still while a port pauses their class */
    /* writers wait for space in the receive buffer, clients for answers, or readers for the
     * announcement of data */
    SMCR_FINDING_BY_SLOW_READER,
    SMCR_FINDING_BY_TCP_WAIT,       /* a TCP connection waits long for retransmissions */
    SMCR_FINDING_BY_HASTY_ABORT,    /* abnormal close that leaves a small part of the data unread */
    SMCR_FINDING_BY_UNREAD_CLOSE,   /* orderly close of a connection with unread data */
    SMCR_FINDING_BY_SLOW_SETUP,     /* a connection takes long to set up */
    /* ---- risks ---- */
    SMCR_FINDING_BY_DECLINE,        /* a connection falls back to TCP, and RoCE is not to blame */
    SMCR_FINDING_FIRST_RISK = SMCR_FINDING_BY_DECLINE,
    SMCR_FINDING_BY_RULE,           /* messages that break a rule: no correct peer sends them */
    SMCR_FINDING_BY_CLOCKS_DIFFER,  /* packets come after their acknowledgements: the times of the
                                       capture do not show the order of packets */
    SMCR_FINDING_BY_DOUBTFUL_LOSS,  /* few retransmissions, without a known cause and cost */
    SMCR_FINDING_BY_PAUSE,          /* PAUSE and PFC frames */
    SMCR_FINDING_BY_OTHER_ROCE,     /* RoCE that is not analysed, with signs of trouble */
    SMCR_FINDING_BY_CONGESTION,     /* packets marked CE, and CNPs */
    SMCR_FINDING_BY_CLASS,          /* packets in classes that do not fit together */
    SMCR_FINDING_BY_DISORDER,       /* packets out of order, and none lost */
    SMCR_FINDING_BY_TCP_LOSS,       /* TCP retransmits segments */
    SMCR_FINDING_BY_TCP_CONGESTION, /* TCP segments marked CE, and their echo (ECE) */
    SMCR_FINDING_BY_SHORT_WAIT,     /* writers wait for space, too briefly for a user to notice */
    /* ---- remarks ---- */
    SMCR_FINDING_BY_TCP_RESET,      /* TCP reset of a connection that is not over RDMA */
    SMCR_FINDING_FIRST_REMARK = SMCR_FINDING_BY_TCP_RESET,
    SMCR_FINDING_BY_NO_OPTION,      /* TCP without SMC-R: one side does not offer it, or TCP ends
                                       before CLC */
    SMCR_FINDING_BY_NO_ROCE,        /* the RoCE packets of a connection are not captured, or
                                       something between the ends changes addresses or TCP
                                       options */
    SMCR_FINDING_BY_UNSORTED,       /* frames with an earlier time than the frame before */
    SMCR_FINDING_BY_LACK,           /* packets that are not captured, or capture points that
                                       contradict each other */
    SMCR_FINDING_BY_UNFINISHED,     /* handshakes whose end is not captured */
    SMCR_FINDING_BY_LATE_START,     /* connections that began before the capture */
    SMCR_FINDING_BY_NOTICE,         /* an expert item that no other finding explains */
    SMCR_FINDING_BY_ICRC_DOUBTED,   /* ICRCs whose check does not show whether packets are
                                       damaged */
    SMCR_FINDING_BY_SILENCE,        /* open connections without packets at the end of the capture */
    SMCR_FINDING_BY_CLOCK,          /* the clock of the capture was set back */
    SMCR_FINDING_BY_CUT,            /* frames are truncated by snaplen */
    SMCR_FINDING_BY_APPLICATION,    /* the application's protocol reports errors */
    SMCR_FINDING_BY_NOT_ECT,        /* lost packets that ECN cannot mark */
    SMCR_FINDING_BY_SPRAYING,       /* a flow from several UDP source ports */
    SMCR_FINDING_BY_COST,           /* cost that could be avoided, but no harm */
    SMCR_FINDING_BY_GROUP_END,      /* a link group ends, and its last packets are retransmitted */
    SMCR_FINDING_RANKS              /* number of ranks */
} smcr_finding_rank_t;

/* Classes of findings, in the order in which the report has them (docs/report.md). */
typedef enum {
    SMCR_FINDING_FAILED, /* something failed: a connection, a link, a packet */
    SMCR_FINDING_COSTS,  /* programs waited */
    SMCR_FINDING_RISK,   /* nothing has failed yet, and no program is known to have waited for
                            long */
    SMCR_FINDING_REMARK  /* other facts that a reader should know */
} smcr_finding_class_t;

/* Returns the class of a rank. */
static inline smcr_finding_class_t
smcr_finding_class(smcr_finding_rank_t rank)
{
    if (rank < SMCR_FINDING_FIRST_COST)
        return SMCR_FINDING_FAILED;
    if (rank < SMCR_FINDING_FIRST_RISK)
        return SMCR_FINDING_COSTS;
    return rank < SMCR_FINDING_FIRST_REMARK ? SMCR_FINDING_RISK : SMCR_FINDING_REMARK;
}

/* One finding in the list. */
typedef struct {
    smcr_entry_finding_t entry; /* the finding as the report gets it */
    smcr_finding_rank_t rank;   /* rank of the finding, which has its class */
    uint64_t cost;              /* nanoseconds that programs waited because of the trouble; 0: none,
                                   or not known */
    uint32_t order;             /* number of findings that were made before this finding */
    wmem_array_t *frames;       /* numbers of the frames that the finding rests on; element
                                   uint32_t; a number may occur several times */
} smcr_finding_t;

/* The report that is examined, and the findings made so far. */
typedef struct {
    smcr_entry_report_t *report;         /* the report, complete except for its findings */
    const smcr_figure_notice_t *notices; /* expert items, and packets that a filter selects */
    uint32_t notice_count;               /* number of `notices` */
    wmem_allocator_t *scope;             /* memory pool that owns the texts and lists of findings */
    wmem_array_t *found;                 /* findings made so far; element smcr_finding_t, in the
                                            order in which the findings were made */

    bool has_rank[SMCR_FINDING_RANKS];   /* index: rank. True: a finding explains the expert items
                                            that findings of this rank explain */

    /* Number of findings made so far; index: severity, then rank. */
    unsigned rank_count[SMCR_FIGURE_ERROR + 1][SMCR_FINDING_RANKS];

    wmem_map_t *agreed; /* server address -> EID on which the server has agreed, agreed_t of
                           on_fallbacks.c; NULL: not gathered yet */
    const smcr_figure_flow_owner_t *owners; /* link and link group of each RDMA flow; index: index
                                               of the flow. Use smcr_finding_flow_owner(). */
} smcr_finder_t;

/* Which frames of the notices in its filter a finding rests on: all frames, only retransmissions in
 * long silences of a peer, or all frames but these. */
typedef enum {
    SMCR_FINDER_ALL,
    SMCR_FINDER_IN_SILENCES,
    SMCR_FINDER_OUTSIDE_SILENCES
} smcr_finder_part_t;

/* The facts of a finding; its sentence is made separately. */
typedef struct {
    smcr_figure_finding_t kind; /* kind of the finding (finding_kinds.def) */
    uint64_t count;             /* number of packets, connections or other things in trouble; 0: no
                                   finding is made */
    smcr_when_t when;           /* frame to look at: the beginning of the longest wait, or the first
                                   frame that shows the trouble; frame 0: not known */
    smcr_when_t begin;          /* frame with which the worst time of the trouble begins, if the
                                   trouble lasts: the longest wait, stop or silence; frame 0: it
                                   does not last, or this is not known */
    smcr_when_t end;            /* frame with which this time ends; frame 0: not known, or it is
                                   not over when the capture ends */
    const char *filter;         /* display filter of the frames that show the trouble; NULL: none */
    smcr_finding_rank_t rank;   /* rank of the finding; 0: the rank of its kind */
    uint64_t cost;              /* nanoseconds that programs waited because of the trouble; 0: none,
                                   or not known */
    wmem_array_t *frames;       /* further frames that the finding rests on, beside `when` and those
                                   that `filter` names; from smcr_finder_frames(); NULL: none */
    smcr_finder_part_t part;    /* which frames of the notices that `filter` names */
} smcr_finder_facts_t;

/* Returns an empty list of frames, for smcr_finder_facts_t.frames. */
wmem_array_t *smcr_finder_frames(const smcr_finder_t *finder);

/* Returns a list of the given frames, for smcr_finder_facts_t.frames. */
#define SMCR_FINDER_FRAMES(finder, ...)                                                            \
    smcr_finder_frames_of(finder, (const smcr_when_t[]){__VA_ARGS__},                              \
                          G_N_ELEMENTS(((const smcr_when_t[]){__VA_ARGS__})))
wmem_array_t *smcr_finder_frames_of(const smcr_finder_t *finder, const smcr_when_t *frames,
                                    unsigned count);

/* Appends the frame to the list. A frame of number 0 is not known, and is left out. */
void smcr_finder_frames_add(wmem_array_t *frames, smcr_when_t when);

/* Appends the first and the last frame of the connection to the list. */
void smcr_finder_frames_add_ends(wmem_array_t *frames, const smcr_entry_connection_t *conn);

/* Appends the frames of all notices with this filter to the list. */
void smcr_finder_frames_add_notices(const smcr_finder_t *finder, wmem_array_t *frames,
                                    const char *filter);

/* Adds a finding with the severity of its kind, unless `facts->count` is 0. `format` and the
 * arguments after it make the sentence, as for printf(). */
void smcr_finder_add(smcr_finder_t *finder, const smcr_finder_facts_t *facts, const char *format,
                     ...) G_GNUC_PRINTF(3, 4);

/* Adds a finding as smcr_finder_add() does, but with the given severity. */
void smcr_finder_add_as(smcr_finder_t *finder, smcr_figure_severity_t severity,
                        const smcr_finder_facts_t *facts, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

/* Adds a finding whose entry is complete, with the given rank. */
void smcr_finder_add_item(smcr_finder_t *finder, smcr_finding_rank_t rank,
                          smcr_entry_finding_t entry);

/* Returns all notices with this filter as one, whichever side caused them: `count`, `last` and
 * `has_other_conns` are those of all, the other members those of the earliest notice. Count 0:
 * there is no such notice. */
smcr_figure_notice_t smcr_finder_notice(const smcr_finder_t *finder, const char *filter);

/* Whether the two directions of RoCE have times of two clocks: packets come after their own
 * acknowledgements. Then the time from a packet to its acknowledgement is not known. */
bool smcr_finder_has_two_clocks(const smcr_finder_t *finder);

/* Returns the earliest frame of all notices whose filter is `one` or `other`; frame 0: there is no
 * such notice. */
smcr_when_t smcr_finder_first(const smcr_finder_t *finder, const char *one, const char *other);

/* Returns the name of an expert item's subject: its connection ("10.0.0.1:46464 → 10.0.0.2:8080"),
 * else its link or link group, else the hosts of its frame, else "the capture". `subject` may be
 * NULL. */
const char *smcr_finder_subject(const smcr_finder_t *finder, const smcr_figure_subject_t *subject);

/* Returns text about ICMP errors that quote packets between the hosts `one` and `other`: "; ICMP
 * (frame 7): 10.0.0.9 reports RoCE host unreachable" for each notice of such errors; "" if there
 * are none. A host that is not known is NULL. */
const char *smcr_finder_undelivered(const smcr_finder_t *finder, const char *one,
                                    const char *other);

/* Whether a display filter selects the packets of the report. If so, a packet that the report did
 * not count may still be in the capture. A rule must not conclude anything from such a packet. */
static inline bool
smcr_finder_is_filtered(const smcr_finder_t *finder)
{
    return finder->report->capture.filter != NULL;
}

/* Returns `begin`, and "damaged (-o smcr.check_icrc:TRUE)": what a packet may also be that a
 * receiver did not accept. The preference is left out if frames of the capture are truncated, since
 * such a frame has no ICRC. Returns "" if the ICRCs of all packets were checked. `begin`: ", or "
 * or " or ". */
const char *smcr_finder_or_damaged(const smcr_finder_t *finder, const char *begin);

/* Returns the display filter "frame.number == 820 || filter", which also finds the frame of a
 * finding that the filter of its rule does not find. `when`: a known frame. */
const char *smcr_finder_frame_or(const smcr_finder_t *finder, smcr_when_t when,
                                 const char *filter);

/* Returns the display filter "one || other". `one` is the joined filter of `count` connections,
 * `other` the filter of one more connection. Returns `other` if `count` is 0. Returns NULL if the
 * result would join more than SMCR_FINDING_FILTERS_MOST filters, or if `one` is NULL because an
 * earlier call returned NULL. */
const char *smcr_finder_either(const smcr_finder_t *finder, const char *one, const char *other,
                               uint64_t count);

/* Whether the diagnosis code of a CLC Decline, in host byte order, reports that RoCE packets did
 * not arrive: a timeout while waiting for CONFIRM LINK or ADD LINK (Linux, net/smc/smc_clc.h). */
static inline bool
smcr_finding_is_timeout(uint64_t code)
{
    return code == SMCR_CLC_DECLINE_TIMEOUT_CL || code == SMCR_CLC_DECLINE_TIMEOUT_AL;
}
