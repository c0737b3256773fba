/* Reads the options of -z smcr,lines: NAME=VALUE, separated by commas. What follows the options is
 * a display filter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "options.h"

#include <errno.h>
#include <stdlib.h>

#include "report/figures/figures.h"

#define KINDS "kinds="
#define MOST_SECONDS 1000000000 /* longest time of an option */

/* The options with a value: a time in seconds (`time`), or a text (`text`). */
typedef struct {
    const char *name; /* the name, with "=" */
    uint64_t *time;   /* where the time is stored, nanoseconds; NULL: the value is a text */
    char **text;      /* where the text is stored, to be freed by g_free(); NULL: the value is a
                         time */
} option_t;

/* Reads a time in seconds, with decimals, and stores it in `*time`, nanoseconds. Returns false if
 * the text is no time, or a negative one, or one longer than MOST_SECONDS. */
static bool
read_time(uint64_t *time, const char *text)
{
    char *end;
    double seconds = g_ascii_strtod(text, &end);

    if (end == text || *end || !(seconds >= 0 && seconds <= MOST_SECONDS))
        return false;
    *time = (uint64_t)(seconds * (double)SMCR_TIME_SECOND);
    return true;
}

/* Reads names of kinds of lines, joined by "+", and adds a bit for each kind to `*kinds`. Returns
 * false if a name is not that of a kind. SMCR_FIGURE_LINE_PROBE is the last kind. */
static bool
read_kinds(unsigned *kinds, const char *text)
{
    char **names = g_strsplit(text, "+", -1);
    bool are_kinds = true;

    for (char **name = names; *name; name++) {
        unsigned kind = 0;
        while (kind <= SMCR_FIGURE_LINE_PROBE &&
               strcmp(*name, smcr_figure_line_kind_words[kind]) != 0)
            kind++;
        are_kinds &= kind <= SMCR_FIGURE_LINE_PROBE;
        *kinds |= 1U << kind;
    }
    g_strfreev(names);
    return are_kinds;
}

/* Reads one option, `text`: NAME=VALUE, "full" or "ecs". `*is_option` becomes false if the text
 * begins with no name of an option. Returns false if the value is wrong. */
static bool
read_option(smcr_lines_options_t *options, const char *text, bool *is_option)
{
    const option_t all[] = {
        {"late=", &options->late, NULL},         {"idle=", &options->idle, NULL},
        {"interval=", &options->interval, NULL}, {"host=", NULL, &options->host},
        {"point=", NULL, &options->point},
    };

    if (strcmp(text, "ecs") == 0)
        return options->ecs = true;
    if (strcmp(text, "full") == 0)
        return options->full = true;
    if (g_str_has_prefix(text, KINDS))
        return read_kinds(&options->kinds, text + strlen(KINDS));
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        if (!g_str_has_prefix(text, all[i].name))
            continue;
        text += strlen(all[i].name);
        if (all[i].time)
            return read_time(all[i].time, text);
        g_free(*all[i].text);
        *all[i].text = g_strdup(text);
        return *text;
    }
    *is_option = false;
    return true;
}

/* The filter is the rest of the text from the first word on that is no option: it may contain
 * commas. */
bool
smcr_lines_options_read(smcr_lines_options_t *options, const char *text)
{
    *options = (smcr_lines_options_t){
        .late = 2 * SMCR_TIME_SECOND,
        .idle = 600 * SMCR_TIME_SECOND,
        .interval = 60 * SMCR_TIME_SECOND,
    };
    while (text[0] == ',' && text[1]) {
        const char *end = strchr(text + 1, ',');
        char *one = end ? g_strndup(text + 1, (gsize)(end - text - 1)) : g_strdup(text + 1);
        bool is_option = true, is_right = read_option(options, one, &is_option);

        if (!is_right)
            fprintf(stderr, "Couldn't register smcr,lines: the value of %s is wrong\n", one);
        g_free(one);
        if (!is_right)
            return false;
        if (!is_option) {
            options->filter = text + 1;
            break;
        }
        text = end ? end : "";
    }
    if (options->interval)
        return true;
    fputs("Couldn't register smcr,lines: the value of interval=0 is wrong\n", stderr);
    return false;
}
