#include "CNoUnicodeTables.h"

#include <stdint.h>

/* Foundation contains ICU, whose tables for languages, time zones and calendars take 34 MB. The program uses
 * operations, queues and the JSON decoder of Foundation, none of which reads a table. This symbol is an empty
 * archive of tables. The linker prefers it to that of the library, and so leaves the tables out of a
 * statically linked program. Other calls of ICU return an error. The symbol is hidden, so a program that
 * loads Foundation as a shared library uses its tables.
 *
 * The layout is that of ICU's common data with a table of contents by offset ("CmnD", udata.h and
 * ucmndata.h). */
__attribute__((visibility("hidden"))) const struct {
  uint16_t headerSize;
  uint8_t magic[2];
  uint16_t infoSize, reserved;
  uint8_t isBigEndian, charset, characterSize, padding;
  uint8_t format[4], formatVersion[4], dataVersion[4];
  uint8_t filler[8];
  uint32_t count, end;
} icudt76_dat = {
    .headerSize = 32,
    .magic = {0xda, 0x27},
    .infoSize = 20,
    .isBigEndian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
    .characterSize = 2,
    .format = {'C', 'm', 'n', 'D'},
    .formatVersion = {1, 0, 0, 0},
    .dataVersion = {76, 1, 0, 0},
};
