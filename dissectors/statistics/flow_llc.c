/* flow_llc.c
 * One sentence for each LLC message: what its sender asks for, or answers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "flow_arrows.h"

#include "values.h"

/* A message on its way to a sentence. */
typedef struct {
    wmem_allocator_t *scope;
    const smcr_llc_t *llc;
    const char *subject, *name; /* who sends it; what it is called */
    int role;                   /* of the sender: 0 client, 1 server, SMCR_LGR_SIDE_UNKNOWN */
    bool response;
} llc_words_t;

static const char *words(const llc_words_t *of, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* The subject, what it does, and the message's name. */
static const char *
words(const llc_words_t *of, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    const char *text = wmem_strdup_vprintf(of->scope, format, arguments);
    va_end(arguments);
    return wmem_strdup_printf(of->scope, "%s %s (%s)", of->subject, text, of->name);
}

/* What stands behind a comma; nothing where the code is 0: none is given. */
static const char *
reason(const llc_words_t *of, uint32_t code, const value_string *texts)
{
    return code ? wmem_strdup_printf(of->scope, ", reason: %s",
                                     val_to_str_const(code, texts, "not known"))
                : "";
}

/* A message that asks or answers, and says no more, but perhaps the number of a link. */
#define ARROW(name, asks, answers) \
    static const char *arrow_##name(const llc_words_t *of) \
    { \
        return words(of, of->response ? answers : asks); \
    }
#define ARROW_OF_LINK(name, asks, answers) \
    static const char *arrow_##name(const llc_words_t *of) \
    { \
        return words(of, of->response ? answers : asks, of->llc->u.name.link); \
    }
ARROW_OF_LINK(confirm_link, "asks to confirm link %u", "confirms link %u")
ARROW_OF_LINK(add_link_cont, "tells the RKeys of its RMBs on link %u",
              "answers with the RKeys of its RMBs on link %u")
ARROW(req_add_link, "asks for another link", "answers to that")
ARROW(confirm_rkey_cont, "tells more RKeys of its RMB", "takes note of them")
ARROW(test_link, "tests whether the link works", "answers: the link works")

static const char *
arrow_add_link(const llc_words_t *of)
{
    const smcr_llc_add_link_t *link = &of->llc->u.add_link;

    if (of->response && of->llc->flags & SMCR_LLC_FLAG_REJECTED)
        return words(of, "rejects link %u%s", link->link,
                     reason(of, link->reject_reason, smcr_values_reject_reasons));
    if (of->response)
        return words(of, "accepts link %u", link->link);
    if (of->role == SMCR_LGR_SIDE_UNKNOWN)
        return words(of, "offers link %u, or asks for one", link->link);
    return of->role ? words(of, "offers link %u", link->link) : words(of, "asks for another link");
}

static const char *
arrow_delete_link(const llc_words_t *of)
{
    const smcr_llc_delete_link_t *link = &of->llc->u.delete_link;
    bool all = of->llc->flags & SMCR_LLC_FLAG_ALL;
    const char *what = all ? "all links" : wmem_strdup_printf(of->scope, "link %u", link->link);
    const char *why = reason(of, link->reason, smcr_values_delete_reasons);

    if (of->response)
        return words(of, "agrees that %s goes", all ? "the link group" : what);
    if (of->role == SMCR_LGR_SIDE_UNKNOWN)
        return words(of, "deletes %s, or asks for that%s", what, why);
    return words(of, of->role ? "deletes %s%s" : "asks to delete %s%s", what, why);
}

static const char *
arrow_confirm_rkey(const llc_words_t *of)
{
    if (of->response)
        return words(of, of->llc->flags & SMCR_LLC_FLAG_NEGATIVE ? "refuses the RMB"
                                                                 : "takes note of the RMB");
    return words(of, "announces an RMB with RKey 0x%08x", of->llc->u.confirm_rkey.rkey);
}

static const char *
arrow_delete_rkey(const llc_words_t *of)
{
    unsigned count = of->llc->u.delete_rkey.count;

    if (of->response)
        return words(of, of->llc->flags & SMCR_LLC_FLAG_NEGATIVE ? "does not know all of them"
                                                                 : "takes note of that");
    return words(of, count == 1 ? "withdraws %u RKey" : "withdraws %u RKeys", count);
}

/* The name of the message says enough. */
static const char *
arrow_plain(const llc_words_t *of)
{
    return words(of, of->llc->complete && of->response ? "answers" : "sends a message");
}

static const char *
words_of(const llc_words_t *of)
{
    if (!of->llc->complete)
        return arrow_plain(of);
    switch (of->llc->type) {
#define SMCR_LLC_MESSAGE(name, type, text, header, body, flags, handler, key, proof, arrow) \
    case SMCR_LLC_##name: \
        return arrow_##arrow(of);
#include "wire/llc.def"
    default:
        return arrow_plain(of);
    }
}

smcr_arrow_text_t
smcr_arrow_text_llc(wmem_allocator_t *scope, const smcr_llc_t *llc, const char *subject, int role)
{
    llc_words_t of = {scope,   llc,
                      subject, try_val_to_str(llc->type, smcr_values_llc_types),
                      role,    (llc->flags & SMCR_LLC_FLAG_RESPONSE) != 0};

    if (!of.name)
        return (smcr_arrow_text_t){
            "LLC", wmem_strdup_printf(scope, "%s sends an LLC message of unknown type", subject)};
    const char *label = llc->type == SMCR_LLC_ADD_LINK_CONT       ? "ADD LINK CONT"
                        : llc->type == SMCR_LLC_CONFIRM_RKEY_CONT ? "CONFIRM RKEY CONT"
                                                                  : of.name; /* short enough */
    return (smcr_arrow_text_t){label, words_of(&of)};
}
