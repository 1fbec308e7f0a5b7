#ifndef CNOUNICODETABLES_H
#define CNOUNICODETABLES_H

/* This target has no functions; the program only links it. */

#endif
