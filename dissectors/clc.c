/* clc.c (being written)
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "clc.h"
#include "layout.h"
#include <string.h>
void
smcr_clc_register_layouts(void)
{
}
void
smcr_clc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_clc_t *clc)
{
    memset(clc, 0, sizeof *clc);
    proto_tree_add_item(tree, proto_smcr, tvb, 0, -1, ENC_NA);
    col_set_str(pinfo->cinfo, COL_PROTOCOL, "SMC-R");
}
