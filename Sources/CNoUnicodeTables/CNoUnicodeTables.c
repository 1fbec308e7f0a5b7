#include "CNoUnicodeTables.h"

#include <stdint.h>

/* Foundation brings along ICU, and ICU 34 MB of tables for languages, time zones and calendars. The program uses of Foundation
 * operations, queues and the decoder of JSON, none of which reads a table. This symbol, of an empty archive of tables, comes before
 * that of the library, so that the linker leaves the tables out of a program that is linked statically. What asks ICU all the same gets an error.
 * The symbol is hidden: a program that loads Foundation as a shared library keeps the tables of that library.
 *
 * The layout is that of ICU's common data with a table of contents by offset ("CmnD", udata.h and ucmndata.h). */
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
