#include "packet-smcr.h"
void smcr_roce_handoff(void) {}
