#ifndef CINHERITEDPRIORITY_H
#define CINHERITEDPRIORITY_H

#include <sys/types.h>

/* Takes the place of the function of the C library in the program: does nothing and returns 0. */
int setpriority(unsigned which, id_t who, int value);

#endif
