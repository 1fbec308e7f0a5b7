#include "CInheritedPriority.h"

/* libdispatch (Swift 6.3) calls setpriority at the start of each of its threads. The value follows from the
 * class of the queue, and is 0 without a class. This would undo `nice -n -5`, and, if the process may raise
 * its priority like root, also `nice`, `Nice=` of systemd and `--qos`. The linker prefers the symbol of the
 * program to that of the C library, so threads keep the value of the thread that started them. The program
 * itself calls clinux_set_nice, which makes the system call. */
int setpriority(unsigned which, id_t who, int value) {
  (void)which;
  (void)who;
  (void)value;
  return 0;
}
