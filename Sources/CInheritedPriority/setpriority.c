#include "CInheritedPriority.h"

/* libdispatch (Swift 6.3) calls setpriority at the start of each of its threads, with a value that follows from the class of the
 * queue: 0 without a class. That would undo `nice -n -5`, and where the process may raise its priority, as root may, also
 * `nice`, `Nice=` of systemd and `--qos`. The symbol of the program comes before that of the C library, so that threads keep the
 * value of the thread that started them. The program itself makes the system call: clinux_set_nice. */
int setpriority(unsigned which, id_t who, int value) {
  (void)which;
  (void)who;
  (void)value;
  return 0;
}
