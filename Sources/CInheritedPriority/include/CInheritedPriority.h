#ifndef CINHERITEDPRIORITY_H
#define CINHERITEDPRIORITY_H

#include <sys/types.h>

/* Replaces the function of the C library in the program: it does nothing and returns 0. */
int setpriority(unsigned which, id_t who, int value);

#endif
