/* What responses say of requests: which one they acknowledge or refuse, and which messages they
 * complete.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fabric/fabric.h"
#include "wire/wire.h"

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* One packet; they are numbered from 1. Those from ACK on answer. */
typedef enum {
    END, SEND, FIRST, MIDDLE, LAST, READ, SWAP, UC_SEND,
    ACK, NAK, RNR, RESPONSE_FIRST, RESPONSE_MIDDLE, RESPONSE_LAST, RESPONSE_ONLY, SWAPPED,
} what_t;

static const uint8_t opcodes[] = {
    [SEND] = SMCR_RC_SEND_ONLY,
    [FIRST] = SMCR_RC_SEND_FIRST,
    [MIDDLE] = SMCR_RC_SEND_MIDDLE,
    [LAST] = SMCR_RC_SEND_LAST,
    [READ] = SMCR_RC_READ_REQUEST,
    [SWAP] = SMCR_RC_CMP_SWAP,
    [UC_SEND] = SMCR_UC_SEND_ONLY,
    [ACK] = SMCR_RC_ACK,
    [NAK] = SMCR_RC_ACK,
    [RNR] = SMCR_RC_ACK,
    [RESPONSE_FIRST] = SMCR_RC_READ_RESPONSE_FIRST,
    [RESPONSE_MIDDLE] = SMCR_RC_READ_RESPONSE_MIDDLE,
    [RESPONSE_LAST] = SMCR_RC_READ_RESPONSE_LAST,
    [RESPONSE_ONLY] = SMCR_RC_READ_RESPONSE_ONLY,
    [SWAPPED] = SMCR_RC_ATOMIC_ACK,
};

enum { MTU = 1024 };
#define MAX_STEPS 16
#define MAX_MESSAGES 3

typedef struct {
    what_t what;
    uint32_t psn;
    uint32_t acks;      /* packet; 0: none */
    uint32_t completes[MAX_MESSAGES]; /* first packets of the messages, in order */
    uint32_t refuses;   /* packet */
    bool again;
    bool corrupt;
    uint32_t length;    /* READ: bytes */
    uint64_t time;      /* 0: the number of the packet */
} step_t;

static const struct {
    const char *name;
    step_t steps[MAX_STEPS];
} cases[] = {
    {"one packet", {{SEND, 5}, {.what = ACK, .psn = 5, .acks = 1, .completes = {1}}}},
    {"several packets",
     {{FIRST, 5}, {MIDDLE, 6}, {LAST, 7}, {.what = ACK, .psn = 7, .acks = 3, .completes = {1}}}},
    {"an acknowledgement within a message",
     {{FIRST, 5}, {MIDDLE, 6}, {LAST, 7}, {.what = ACK, .psn = 6, .acks = 2},
      {.what = ACK, .psn = 7, .acks = 3, .completes = {1}}}},
    {"several messages",
     {{SEND, 5}, {FIRST, 6}, {LAST, 7}, {SEND, 8}, {SEND, 9},
      {.what = ACK, .psn = 8, .acks = 4, .completes = {1, 2, 4}},
      {.what = ACK, .psn = 9, .acks = 5, .completes = {5}}}},
    {"over the wrap",
     {{FIRST, 0xfffffe}, {MIDDLE, 0xffffff}, {LAST, 0}, {SEND, 1},
      {.what = ACK, .psn = 0xffffff, .acks = 2},
      {.what = ACK, .psn = 1, .acks = 4, .completes = {1, 4}}}},
    {"the capture lacks the middle",
     {{FIRST, 5}, {LAST, 7}, {SEND, 8}, {.what = ACK, .psn = 8, .acks = 3, .completes = {3}}}},
    {"the capture lacks the beginning",
     {{MIDDLE, 5}, {LAST, 6}, {SEND, 7}, {.what = ACK, .psn = 7, .acks = 3, .completes = {3}}}},
    {"the capture lacks the end",
     {{FIRST, 5}, {SEND, 7}, {.what = ACK, .psn = 7, .acks = 2, .completes = {2}}}},
    {"the capture lacks the end and the next beginning",
     {{FIRST, 5}, {MIDDLE, 8}, {LAST, 9}, {.what = ACK, .psn = 9, .acks = 3}}},
    {"the middle is lost on the wire, and retransmitted",
     {{ACK, 4}, {FIRST, 5}, {LAST, 7}, {NAK, 6, .refuses = 0}, {MIDDLE, 6}, {LAST, 7},
      {.what = ACK, .psn = 7, .acks = 6, .completes = {2}}}},
    {"a repeat does not begin anew",
     {{SEND, 5}, {FIRST, 6}, {LAST, 7}, {SEND, 5}, {FIRST, 6}, {LAST, 7},
      {.what = ACK, .psn = 7, .acks = 3, .completes = {1, 2}}}},
    {"a repeat behind its acknowledgement",
     {{SEND, 5}, {SEND, 6}, {.what = ACK, .psn = 6, .acks = 2, .completes = {1, 2}}, {SEND, 5},
      {.what = ACK, .psn = 6, .acks = 2, .again = true}}},
    {"a first acknowledgement, and older ones",
     {{SEND, 5}, {SEND, 6}, {.what = ACK, .psn = 6, .acks = 2, .completes = {1, 2}},
      {.what = ACK, .psn = 6, .acks = 2, .again = true},
      {.what = ACK, .psn = 5, .acks = 1, .again = true}}},
    {"a NAK completes what is before it",
     {{SEND, 5}, {SEND, 6}, {FIRST, 7}, {LAST, 8}, {NAK, 7, .refuses = 3, .completes = {1, 2}},
      {FIRST, 7}, {LAST, 8}, {.what = ACK, .psn = 8, .acks = 4, .completes = {3}}}},
    {"an RNR NAK completes what is before it",
     {{SEND, 5}, {SEND, 6}, {RNR, 6, .refuses = 2, .completes = {1}},
      {RNR, 6, .refuses = 2, .again = true}, {SEND, 6},
      {.what = ACK, .psn = 6, .acks = 2, .completes = {2}}}},
    {"a NAK of what the capture lacks", {{SEND, 5}, {SEND, 7}, {NAK, 6, .completes = {1}}}},
    {"an acknowledgement of what the capture lacks",
     {{SEND, 5}, {SEND, 6}, {.what = ACK, .psn = 8, .completes = {1, 2}}}},
    {"before the first request",
     {{ACK, 5}, {SEND, 5}, {.what = ACK, .psn = 5, .acks = 2, .again = true}}},
    /* READs and atomics */
    {"a READ of one packet",
     {{READ, 5, .length = 8}, {.what = RESPONSE_ONLY, .psn = 5, .acks = 1, .completes = {1}}}},
    {"the last response completes a READ",
     {{FIRST, 5}, {LAST, 6}, {READ, 7, .length = 3 * MTU},
      {.what = RESPONSE_FIRST, .psn = 7, .acks = 3, .completes = {1}},
      {.what = RESPONSE_MIDDLE, .psn = 8, .acks = 3},
      {.what = RESPONSE_LAST, .psn = 9, .acks = 3, .completes = {3}}}},
    {"a later acknowledgement does not",
     {{FIRST, 4}, {LAST, 5}, {READ, 6, .length = 8}, {SEND, 7},
      {.what = ACK, .psn = 7, .acks = 4, .completes = {1, 4}}}},
    {"nor does one of its own PSN", {{READ, 5, .length = 8}, {.what = ACK, .psn = 5, .acks = 1}}},
    {"nor does a later response",
     {{FIRST, 3}, {LAST, 4}, {READ, 5, .length = 2 * MTU}, {READ, 7, .length = 8},
      {.what = RESPONSE_FIRST, .psn = 5, .acks = 3, .completes = {1}},
      {.what = RESPONSE_ONLY, .psn = 7, .acks = 4, .completes = {4}},
      {.what = RESPONSE_LAST, .psn = 6, .acks = 3, .again = true}}},
    {"a READ again from within",
     {{FIRST, 3}, {LAST, 4}, {READ, 5, .length = 3 * MTU},
      {.what = RESPONSE_FIRST, .psn = 5, .acks = 3, .completes = {1}}, {READ, 6, .length = 2 * MTU},
      {.what = RESPONSE_MIDDLE, .psn = 6, .acks = 3},
      {.what = RESPONSE_LAST, .psn = 7, .acks = 3, .completes = {3}}}},
    {"a response again",
     {{READ, 5, .length = 8}, {.what = RESPONSE_ONLY, .psn = 5, .acks = 1, .completes = {1}},
      {.what = RESPONSE_ONLY, .psn = 5, .acks = 1, .again = true}}},
    {"a READ is refused", {{SEND, 5}, {READ, 6, .length = 8},
                           {NAK, 6, .refuses = 2, .completes = {1}}}},
    {"an atomic",
     {{SEND, 5}, {SWAP, 6}, {.what = SWAPPED, .psn = 6, .acks = 2, .completes = {1, 2}}}},
    {"a later acknowledgement does not complete an atomic",
     {{SWAP, 5}, {SEND, 6}, {.what = ACK, .psn = 6, .acks = 2, .completes = {2}}}},
    {"nor does the answer of a later one",
     {{SWAP, 5}, {SWAP, 6}, {.what = SWAPPED, .psn = 6, .acks = 2, .completes = {2}}}},
    /* What says nothing */
    {"far PSNs",
     {{SEND, 5}, {ACK, 0x700000}, {ACK, 0x900000}, {NAK, 0x40000}, {RESPONSE_ONLY, 0x700000},
      {.what = ACK, .psn = 5, .acks = 1, .completes = {1}}}},
    {"a new life",
     {{SEND, 5}, {FIRST, 6}, {SEND, 0x700000},
      {.what = ACK, .psn = 0x700000, .acks = 3, .completes = {3}}, {LAST, 0x700001},
      {.what = ACK, .psn = 0x700001, .acks = 5}, {ACK, 6}}},
    {"UC is not acknowledged",
     {{UC_SEND, 5}, {SEND, 6}, {.what = ACK, .psn = 6, .acks = 2, .completes = {2}}}},
    {"the clock goes back",
     {{SEND, 5, .time = 100}, {.what = ACK, .psn = 5, .completes = {1}, .time = 99}}},
    {"a wrong ICRC, and the repeat",
     {{FIRST, 5}, {LAST, 6, .corrupt = true}, {LAST, 6},
      {.what = ACK, .psn = 6, .acks = 2, .completes = {1}}}},
    {"a wrong PSN is no message",
     {{SEND, 5}, {SEND, 9, .corrupt = true}, {SEND, 6},
      {.what = ACK, .psn = 9, .completes = {1, 3}}}},
    {"a wrong PSN does not end a message",
     {{FIRST, 5}, {SEND, 9, .corrupt = true}, {LAST, 6},
      {.what = ACK, .psn = 6, .acks = 3, .completes = {1}}}},
    {"a wrong PSN is no new life",
     {{SEND, 5}, {SEND, 0x700000, .corrupt = true},
      {.what = ACK, .psn = 5, .acks = 1, .completes = {1}}}},
};

static smcr_sent_t
packet_of(const step_t *step, uint32_t number)
{
    bool response = step->what >= RESPONSE_FIRST && step->what <= RESPONSE_ONLY;
    uint8_t syndrome = step->what == NAK ? 0x60 : step->what == RNR ? 0x2e : 0x1f;

    return (smcr_sent_t){
        .when = {number, step->time ? step->time : number},
        .opcode = opcodes[step->what],
        .has_aeth = step->what >= ACK && (!response || step->what != RESPONSE_MIDDLE),
        .syndrome = syndrome,
        .psn = step->psn,
        .payload_length = smcr_ib_operations[opcodes[step->what]].is_first_or_middle ? MTU : 8,
        .dma_length = step->length,
        .ip_id = (int32_t)(100 + number),
        .corrupt = step->corrupt,
    };
}

/* Whether a packet of the message that packet `first` begins came twice before `until`. */
static bool
is_repeated(const step_t *steps, uint32_t first, const step_t *until)
{
    uint32_t psn = steps[first - 1].psn, end = UINT32_MAX;

    for (const step_t *step = steps; step < until; step++)
        if (step->psn >= psn && step->psn < end && step->what < ACK && step->what != FIRST &&
            step->what != MIDDLE)
            end = step->psn;
    for (const step_t *one = steps; one < until; one++)
        for (const step_t *two = one + 1; two < until; two++)
            if (one->what < ACK && two->what < ACK && one->psn == two->psn && one->psn >= psn &&
                one->psn <= end && !two->corrupt)
                return true;
    return false;
}

static void
check(const step_t *steps, const step_t *step, const smcr_traffic_answer_t *answer)
{
    const smcr_completion_t *message = answer->completes;

    g_assert_cmpuint(answer->acked_request.frame, ==, step->acks);
    g_assert_cmpuint(answer->refused_request.frame, ==, step->refuses);
    if (step->acks || step->refuses)
        g_assert_cmpint(answer->acked_before, ==, step->again);
    for (unsigned i = 0; i < MAX_MESSAGES && step->completes[i]; i++) {
        g_assert_nonnull(message);
        g_assert_cmpuint(message->frame, ==, step->completes[i]);
        g_assert_cmpint(message->was_retransmitted, ==,
                        is_repeated(steps, step->completes[i], step));
        message = smcr_completion_next(message);
    }
    g_assert_null(message);
}

static void
test_case(gconstpointer data)
{
    const step_t *steps = cases[GPOINTER_TO_UINT(data)].steps;
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_slab_t slab = {.scope = scope};
    smcr_traffic_t requests = {.completed_psn = 0}, responses = requests;

    for (uint32_t i = 0; i < MAX_STEPS && steps[i].what != END; i++) {
        smcr_sent_t packet = packet_of(&steps[i], i + 1);
        g_test_message("packet %u", i + 1);
        if (steps[i].what < ACK) {
            smcr_traffic_judge(&requests, &responses, scope, &packet);
            continue;
        }
        smcr_traffic_answer_t answer = smcr_traffic_read_response(&requests, &slab, &packet);
        check(steps, &steps[i], &answer);
        smcr_traffic_judge(&responses, &requests, scope, &packet);
    }
    wmem_destroy_allocator(scope);
}

/* A capture without acknowledgements: what was sent long ago is forgotten. */
static void
test_no_acknowledgements(void)
{
    enum { SENT = 20000 };
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_slab_t slab = {.scope = scope};
    smcr_traffic_t requests = {.completed_psn = 0};

    for (uint32_t number = 1; number <= SENT; number++) {
        smcr_sent_t packet = {.when = {number, number}, .opcode = SMCR_RC_SEND_ONLY, .psn = number};
        smcr_traffic_judge(&requests, NULL, scope, &packet);
    }
    smcr_sent_t ack = {.when = {SENT + 1, SENT + 1}, .opcode = SMCR_RC_ACK, .has_aeth = true,
                       .syndrome = 0x1f, .psn = SENT};
    smcr_traffic_answer_t answer = smcr_traffic_read_response(&requests, &slab, &ack);
    uint32_t number = answer.completes->frame;
    g_assert_cmpuint(number, >, 1);
    for (const smcr_completion_t *message = answer.completes; message;
         message = smcr_completion_next(message))
        g_assert_cmpuint(message->frame, ==, number++);
    g_assert_cmpuint(number, ==, SENT + 1);
    g_assert_null(smcr_traffic_read_response(&requests, &slab, &ack).completes);
    wmem_destroy_allocator(scope);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/traffic/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    g_test_add_func("/traffic/no acknowledgements", test_no_acknowledgements);
    return g_test_run();
}
