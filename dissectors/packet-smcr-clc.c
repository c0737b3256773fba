#include "packet-smcr.h"
void smcr_clc_handoff(void) {}
