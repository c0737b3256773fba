/* preferences.c
 * Registration of the preferences, with their defaults.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "preferences.h"

smcr_preferences_t smcr_preferences = {
    .builtin_too = false,
};

void
smcr_preferences_register(int proto)
{
    module_t *module = prefs_register_protocol(proto, NULL);

    prefs_register_bool_preference(
        module, "builtin_too", "Run the built-in SMC dissector as well",
        "Show each CLC, LLC and CDC message also as Wireshark's built-in dissector does, so that "
        "existing smc.* filters go on working",
        &smcr_preferences.builtin_too);
}
