#ifndef CNOUNICODETABLES_H
#define CNOUNICODETABLES_H

/* Nothing to call: the program is linked with it. */

#endif
