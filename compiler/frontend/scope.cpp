#include "compiler/frontend/scope.h"

#include "llvm/ADT/StringRef.h"

namespace flashqla::frontend {

std::string_view describe(SymbolKind kind) {
  switch (kind) {
  case SymbolKind::Value:
    return "a scalar";
  case SymbolKind::Var:
    return "a `var`";
  case SymbolKind::Type:
    return "a type";
  case SymbolKind::Fn:
    return "a function";
  case SymbolKind::Kernel:
    return "a kernel";
  case SymbolKind::Tensor:
    return "a tensor";
  case SymbolKind::Shared:
    return "a shared tile";
  case SymbolKind::Frag:
    return "a fragment";
  case SymbolKind::Barrier:
    return "a barrier";
  case SymbolKind::Role:
    return "a role";
  case SymbolKind::Absent:
    return "an argument that does not exist";
  case SymbolKind::Failed:
    return "a name";
  }
  return {};
}

Symbol *Scope::find(std::string_view name) {
  for (auto &frame : frames)
    if (auto found = frame.find(name); found != frame.end())
      return &found->second;
  return nullptr;
}

const Symbol *Scope::declare(Symbol symbol) {
  if (const Symbol *taken = find(symbol.name))
    return taken;
  std::string name = symbol.name;
  frames.back().emplace(std::move(name), std::move(symbol));
  return nullptr;
}

std::string closestName(std::string_view name, const std::vector<std::string> &candidates) {
  std::string best;
  unsigned bestDistance = static_cast<unsigned>(name.size() + 1) / 3 + 1; // this is too far
  for (const std::string &candidate : candidates) {
    unsigned distance = llvm::StringRef(name).edit_distance(candidate, true, bestDistance);
    if (distance < bestDistance && distance < candidate.size()) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string Scope::closest(std::string_view name) const {
  std::vector<std::string> candidates;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    for (const auto &[candidate, symbol] : *frame)
      if (symbol.kind != SymbolKind::Absent && symbol.kind != SymbolKind::Failed)
        candidates.push_back(candidate);
  return closestName(name, candidates);
}

Scope Scope::moduleBefore(size_t order) const {
  Scope scope;
  for (const auto &[name, symbol] : frames.front())
    if (symbol.order < order)
      scope.frames.front().emplace(name, symbol);
  return scope;
}

} // namespace flashqla::frontend
