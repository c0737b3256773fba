/* llc.c (being written)
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "llc.h"
#include "layout.h"
#include <string.h>
void
smcr_llc_register_layouts(void)
{
}
void
smcr_llc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_llc_t *llc)
{
    memset(llc, 0, sizeof *llc);
    proto_tree_add_item(tree, proto_smcr, tvb, 0, -1, ENC_NA);
    col_set_str(pinfo->cinfo, COL_PROTOCOL, "SMC-R");
}
