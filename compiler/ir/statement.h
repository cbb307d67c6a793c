/// The statements of a role that take time, as timelines show them.
///
///     statementOf(op, files)      // {Wait, "wait full[k]", 41}
///
/// Simulated and measured timelines (compiler/sim/timeline.h, codegen's instrumented text) name their spans by this, so
/// that the two can be laid side by side.
#pragma once

#include "compiler/ir/location.h"
#include "compiler/ir/tile.h"

#include <optional>
#include <string>

namespace flashqla {

enum class StatementKind : uint8_t {
  Wait,    ///< for a barrier
  Await,   ///< for the role's own products, stores, asynchronous copies
  Sync,
  Copy,    ///< asynchronous ones: their issue
  Product, ///< its issue
  Map,     ///< by the role's threads: maps, the inverse, operands packed for products
  Arrive,  ///< takes next to no time; what waits wait for
};

/// "wait", "await", …
std::string_view statementKindName(StatementKind kind);
std::optional<StatementKind> statementKindNamed(std::string_view name);

struct Statement {
  StatementKind kind = StatementKind::Map;
  std::string text; ///< its first line
  uint32_t line = 0;
  bool operator==(const Statement &) const = default;
};

/// Nothing for ops that are no statement, or none that takes time. Of a lowered kernel or of one that is not.
std::optional<Statement> statementOf(mlir::Operation &op, const SourceFiles &files);

} // namespace flashqla
