/* The list of findings while it is filled: each finding has its severity and its rank.
 *
 * A rank stands for a kind of trouble. The ranks are in the order of causes: a trouble further down
 * may follow from a trouble further up. Of two findings that are equally severe, the report names
 * the cause first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/figures/figures.h"

/* The report has at most so many findings. */
#define SMCR_FINDINGS_MOST 10

/* A display filter joins the filters of at most so many connections. */
#define SMCR_FINDING_FILTERS_MOST 8

/* A flow sends to nobody once so many packets were retransmitted on it (docs/report.md). */
#define SMCR_FINDING_RETRANSMITTED_OFTEN 3

typedef enum {
    SMCR_FINDING_BY_ICRC,           /* packets arrive damaged */
    SMCR_FINDING_BY_FORMAT,         /* messages that break their format */
    SMCR_FINDING_BY_OVERWRITTEN,    /* data is overwritten before it is read */
    SMCR_FINDING_BY_RULE,           /* messages that break a rule: no correct peer sends them */
    SMCR_FINDING_BY_STOP,           /* all traffic between two hosts stops at once */
    SMCR_FINDING_BY_LINK_LOST,      /* a link is lost, and its link group continues */
    SMCR_FINDING_BY_REFUSAL,        /* NAKs that end a queue pair */
    SMCR_FINDING_BY_DEAD_PEER,      /* a peer stops answering */
    SMCR_FINDING_BY_GROUP_LOST,     /* a link group ends with open connections */
    SMCR_FINDING_BY_RNR,            /* no receive buffers */
    SMCR_FINDING_BY_LOSS,           /* packets are lost on their way */
    SMCR_FINDING_BY_ABORT,          /* abnormal close of a connection */
    SMCR_FINDING_BY_RESET,          /* TCP reset of a connection over RDMA */
    SMCR_FINDING_BY_DEAD_AFTER,     /* a peer stops answering after connections were reset */
    SMCR_FINDING_BY_FALLBACK,       /* a connection falls back to TCP */
    SMCR_FINDING_BY_NO_CONNECTION,  /* the TCP connection is refused, or gets no answer */
    SMCR_FINDING_BY_CM_REJECT,      /* RDMA-CM rejects a connection */
    SMCR_FINDING_BY_CM_REPEAT,      /* RDMA-CM retransmits messages */
    SMCR_FINDING_BY_LINK_FAILED,    /* a link never comes up */
    SMCR_FINDING_BY_CONGESTION,     /* packets marked CE, and CNPs */
    /* writers wait for space in the receive buffer, or for answers */
    SMCR_FINDING_BY_SLOW_READER,
    SMCR_FINDING_BY_SLOW_SETUP,     /* a connection takes long to set up */
    SMCR_FINDING_BY_TCP_LOSS,       /* TCP retransmits segments */
    SMCR_FINDING_BY_TCP_CONGESTION, /* TCP segments marked CE, and their echo (ECE) */
    SMCR_FINDING_BY_TCP_RESET,      /* TCP reset of a connection that is not over RDMA */
    SMCR_FINDING_BY_NO_OPTION,      /* one side does not offer SMC-R */
    SMCR_FINDING_BY_NO_ROCE,        /* the RoCE packets of a connection are not captured */
    SMCR_FINDING_BY_LACK,           /* packets are not captured */
    SMCR_FINDING_BY_UNFINISHED,     /* a handshake whose end is not captured */
    SMCR_FINDING_BY_LATE_START,     /* connections that began before the capture */
    SMCR_FINDING_BY_NOTICE,         /* an expert item that no other finding explains */
    SMCR_FINDING_BY_ICRC_DOUBTED,   /* ICRCs that do not show whether packets are damaged */
    SMCR_FINDING_BY_SILENCE,        /* connections that go silent */
    SMCR_FINDING_BY_CUT,            /* frames are cut short by the capture (snapshot length) */
    SMCR_FINDING_BY_COST,           /* needless cost, without harm */
    SMCR_FINDING_BY_GROUP_END,      /* a link group ends, and its last packets are retransmitted */
    SMCR_FINDING_RANKS              /* how many ranks there are */
} smcr_finding_rank_t;

/* One finding in the list. */
typedef struct {
    smcr_entry_finding_t entry; /* as the report will have it */
    smcr_finding_rank_t rank;   /* its place in the order of causes */
    bool has_cost;              /* `cost` is known */
    uint64_t cost;              /* time that programs waited for it, nanoseconds */
    uint32_t order;             /* how many findings were found before it */
} smcr_finding_t;

/* The report that is examined, and the findings so far. */
typedef struct {
    smcr_entry_report_t *report;         /* complete, but for its findings */
    const smcr_figure_notice_t *notices; /* expert items, and packets that a filter selects */
    uint32_t notice_count;               /* length of `notices` */
    wmem_allocator_t *scope;             /* texts and lists live as long as it does */
    wmem_array_t *found;                 /* smcr_finding_t, in the order in which they were found */

    bool has_rank[SMCR_FINDING_RANKS];   /* a finding has this rank, or one is suppressed */

    /* Findings by severity and rank. Above SMCR_FINDINGS_MOST no more of them are looked for. */
    unsigned rank_count[SMCR_FIGURE_ERROR + 1][SMCR_FINDING_RANKS];

    const smcr_figure_flow_owner_t *owners; /* link and group of each RDMA flow, by its index */
} smcr_finder_t;

/* What a finding is about, besides its sentence. */
typedef struct {
    smcr_figure_finding_t kind; /* row of finding_kinds.def: word, severity and rank */
    uint64_t count;             /* packets, connections ... in trouble; 0: there is no finding */
    smcr_when_t when;           /* a frame to look at: the first that shows it, or where the longest
                                   wait begins; frame 0: not known */
    const char *filter;         /* display filter of its frames; NULL: none selects them */
    bool has_cost;              /* `cost` is known */
    uint64_t cost;              /* time that programs waited for it, nanoseconds */
} smcr_finder_facts_t;

/* Adds a finding with the severity of its kind, unless the count is 0. `format` and what follows
 * make its sentence, as for printf(). */
void smcr_finder_add(smcr_finder_t *finder, const smcr_finder_facts_t *facts, const char *format,
                     ...) G_GNUC_PRINTF(3, 4);

/* Adds a finding likewise, with another severity than that of its kind. */
void smcr_finder_add_as(smcr_finder_t *finder, smcr_figure_severity_t severity,
                        const smcr_finder_facts_t *facts, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

/* Adds a finding that is complete: an expert item that no finding explains. The word of its kind is
 * the name of the item. */
void smcr_finder_add_item(smcr_finder_t *finder, smcr_finding_rank_t rank,
                          smcr_entry_finding_t entry);

/* Adds up the notices that have this filter, whichever side caused them. Frame, text, subject and
 * side are those of the first notice. Returns count 0 where there is none. */
smcr_figure_notice_t smcr_finder_notice(const smcr_finder_t *finder, const char *filter);

/* Returns the first frame of the notices with one filter or the other; frame 0: there is none. */
smcr_when_t smcr_finder_first(const smcr_finder_t *finder, const char *one, const char *other);

/* Names the subject of an item: a connection ("10.0.0.1:46464 → 10.0.0.2:8080"), else a link or
 * its group, else the hosts of a frame; "the capture" where none is known. `subject` may be NULL.
 */
const char *smcr_finder_subject(const smcr_finder_t *finder, const smcr_figure_subject_t *subject);

/* Quotes the ICMP errors about packets between two hosts: "; ICMP (frame 7) of ..." for each
 * kind of error; "" where there are none. A host is NULL where it is not known. */
const char *smcr_finder_undelivered(const smcr_finder_t *finder, const char *one,
                                    const char *other);

/* Whether the report counts only frames that a display filter selects. Then a missing packet may
 * be in the capture, and does not prove anything. */
static inline bool
smcr_finder_is_filtered(const smcr_finder_t *finder)
{
    return finder->report->capture.filter != NULL;
}

/* Joins a filter of `count` connections with the filter of one more: "one || other". Returns
 * `other` where `count` is 0, and NULL where it would join more than SMCR_FINDING_FILTERS_MOST.
 * `one` is NULL where it has been too long before. */
const char *smcr_finder_either(const smcr_finder_t *finder, const char *one, const char *other,
                               uint64_t count);

/* Whether the diagnosis code of a CLC Decline, in host byte order, reports that RoCE packets did
 * not arrive: a timeout while waiting for CONFIRM LINK or ADD LINK (Linux, net/smc/smc_clc.h). */
static inline bool
smcr_finding_is_timeout(uint64_t code)
{
    return code == SMCR_CLC_DECLINE_TIMEOUT_CL || code == SMCR_CLC_DECLINE_TIMEOUT_AL;
}

/* ---- which trouble of a flow has which cause ---- */

/* Returns the flow in the other direction; NULL: not known. */
const smcr_entry_rdma_t *smcr_finding_flow_peer(const smcr_finder_t *finder,
                                                const smcr_entry_rdma_t *flow);

/* For how long packets were retransmitted and the peer sent nothing: from the peer's last packet to
 * the end of the capture, nanoseconds. Returns 0 where the peer sent a packet later, where the peer
 * is not known, and where the capture has no notice of a silent peer. */
uint64_t smcr_finding_flow_unanswered(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Whether a packet of the flow or of its reverse flow has a wrong ICRC. Such a packet explains
 * retransmissions in both directions: a damaged request, or a damaged acknowledgement. */
bool smcr_finding_flow_is_damaged(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Whether SMC-R packets of the flow are retransmitted on a link whose other end never sends: the
 * link was announced in the capture, and it never became active. */
bool smcr_finding_flow_is_dead_end(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* ---- the rules, by their subject. Each adds its findings to the list ---- */

void smcr_finding_on_connections(smcr_finder_t *finder);
void smcr_finding_on_tcp(smcr_finder_t *finder);
void smcr_finding_on_times(smcr_finder_t *finder);
void smcr_finding_on_links(smcr_finder_t *finder);
void smcr_finding_on_fabric(smcr_finder_t *finder);
void smcr_finding_on_loss(smcr_finder_t *finder);
void smcr_finding_on_capture(smcr_finder_t *finder);

/* Expert items that no finding so far explains. Called after all others. */
void smcr_finding_on_notices(smcr_finder_t *finder);
