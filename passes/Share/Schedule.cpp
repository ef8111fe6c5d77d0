//===- Schedule.cpp - Which layers use whose rows -------------------------===//
#include "strata/passes/Share/Schedule.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>

using namespace llvm;

namespace strata {

static Status invalid(StringRef schedule, const Twine &message) {
  return Status(StatusCode::InvalidArgument, ("schedule '" + schedule + "': " + message).str());
}

/// Leaders from whether each layer leads; the first one does.
static Leaders toLeaders(ArrayRef<bool> leads) {
  Leaders leaders;
  for (size_t layer = 0; layer < leads.size(); ++layer)
    leaders.push_back(leads[layer] ? unsigned(layer) : leaders.back());
  return leaders;
}

static Expected<Leaders> parsePattern(StringRef schedule, StringRef pattern, unsigned layers) {
  if (pattern.size() != layers)
    return invalid(schedule, "expected " + Twine(layers) +
                                 " letters, one for each layer that attends to rows, but got " +
                                 Twine(pattern.size()));
  SmallVector<bool> leads;
  for (char letter : pattern) {
    if (letter != 'F' && letter != 'S')
      return invalid(schedule, "expected F or S for layer " + Twine(leads.size()) + " but got '" +
                                   Twine(letter) + "'");
    leads.push_back(letter == 'F');
  }
  if (!leads.front())
    return invalid(schedule, "layer 0 is shared, but no layer is below it");
  return toLeaders(leads);
}

static Expected<Leaders> parseFrequency(StringRef schedule, StringRef frequency, unsigned layers) {
  auto [every, offset] = frequency.split(",offset:");
  unsigned step = 0, first = 0;
  if (every.getAsInteger(10, step) || step == 0 || offset.getAsInteger(10, first))
    return invalid(schedule, "expected every:N,offset:M with N at least 1");
  SmallVector<bool> leads;
  for (unsigned layer = 0; layer < layers; ++layer)
    leads.push_back((layer + 1 > first ? layer + 1 - first : 0) % step == 0);
  if (!leads.front())
    return invalid(schedule, "layer 0 is shared, but no layer is below it");
  return toLeaders(leads);
}

static Expected<Leaders> parseGroups(StringRef schedule, StringRef groups, unsigned layers) {
  Leaders leaders;
  SmallVector<StringRef> parts;
  groups.split(parts, ';');
  for (StringRef part : parts) {
    auto [begin, end] = part.split('-');
    unsigned first = 0, last = 0;
    if (begin.getAsInteger(10, first) ||
        (part.contains('-') ? end.getAsInteger(10, last) : begin.getAsInteger(10, last)) ||
        last < first)
      return invalid(schedule, "expected groups such as 0;1;2-5 but got '" + part + "'");
    if (first != leaders.size())
      return invalid(schedule, "expected a group that begins with layer " + Twine(leaders.size()) +
                                   " but got '" + part + "'");
    if (last >= layers)
      return invalid(schedule,
                     "expected layers below " + Twine(layers) + " but got '" + part + "'");
    leaders.resize(last + 1, first);
  }
  if (leaders.size() != layers)
    return invalid(schedule, "expected a group for layer " + Twine(leaders.size()) +
                                 ", since the module has " + Twine(layers) +
                                 " that attend to rows");
  return leaders;
}

Expected<Leaders> parseSchedule(StringRef text, unsigned layers) {
  if (layers == 0)
    return invalid(text, "the module has no layer that attends to rows");
  StringRef rest = text;
  if (rest.consume_front("pattern:"))
    return parsePattern(text, rest, layers);
  if (rest.consume_front("every:"))
    return parseFrequency(text, rest, layers);
  if (rest.consume_front("groups:"))
    return parseGroups(text, rest, layers);
  return invalid(text, "expected declared, pattern:FSSS, every:N,offset:M or groups:0;1;2-5");
}

} // namespace strata
