#include "tests/sim/mutations.h"

#include <fmt/format.h>

#include <set>

using namespace flashqla;

namespace fq_test {
namespace {

class Collector {
public:
  explicit Collector(const ast::Kernel &kernel) : kernel(kernel) {}

  std::vector<Mutation> run() {
    visit(kernel.body);
    return std::move(found);
  }

private:
  void add(SourceRange range, std::string text, std::string what) {
    std::string place = kernel.name.text + (role.empty() ? "" : " " + role);
    found.push_back({&kernel, fmt::format("{}: {}", place, what), range, std::move(text)});
  }
  void remove(const ast::Stmt &stmt) {
    add(stmt.range, "", fmt::format("delete `{}`", stmt.range.text()));
  }
  /// A reference with its generation one further and one back.
  void move(SourceRange whole, const ast::Expr *generation) {
    for (std::string_view by : {" + 1", " - 1"}) {
      if (!generation) {
        add(whole, fmt::format("{}[0{}]", whole.text(), by), fmt::format("`{}` to [0{}]", whole.text(), by));
        continue;
      }
      std::string text(generation->range.text());
      if (generation->kind == ast::ExprKind::Ternary)
        text = "(" + text + ")";
      add(generation->range, text + std::string(by), fmt::format("`{}` to [{}{}]", whole.text(), text, by));
    }
  }
  void move(const ast::BarrierRef &barrier) { move(barrier.range, barrier.generation.get()); }

  void visit(const ast::Block &block) {
    for (const ast::Stmt &stmt : block.statements)
      std::visit([&](const auto &node) { visit(stmt, node); }, stmt.node);
  }
  void visit(const ast::ExprPtr &expr) {
    if (!expr)
      return;
    if (expr->kind == ast::ExprKind::Reference && rings.contains(expr->name.text) && !expr->brackets.empty())
      move(expr->range, expr->brackets[0].indices[0].begin.get());
    for (const ast::Bracket &bracket : expr->brackets)
      for (const ast::Index &index : bracket.indices)
        for (const ast::ExprPtr *part : {&index.begin, &index.extent, &index.limit})
          visit(*part);
    for (const ast::ExprPtr *part : {&expr->lower, &expr->upper})
      visit(*part);
    for (const ast::ExprPtr &operand : expr->operands)
      visit(operand);
  }
  void visit(const std::vector<ast::Binding> &bindings) {
    for (const ast::Binding &binding : bindings)
      visit(binding.value);
  }

  void visit(const ast::Stmt &, const ast::Let &let) { visit(let.bindings); }
  void visit(const ast::Stmt &, const ast::Var &var) { visit(var.bindings); }
  void visit(const ast::Stmt &, const ast::Frag &frag) {
    for (const ast::FragDecl &decl : frag.decls)
      visit(decl.init);
  }
  void visit(const ast::Stmt &, const ast::Shared &shared) {
    for (const ast::SharedDecl &decl : shared.decls)
      if (decl.ring)
        rings.insert(decl.name.text);
  }
  void visit(const ast::Stmt &stmt, const ast::Barrier &barrier);
  void visit(const ast::Stmt &, const ast::Role &node) {
    const std::string outer = std::exchange(role, node.name.text);
    visit(node.body);
    role = outer;
  }
  void visit(const ast::Stmt &, const ast::For &loop) { visit(loop.body); }
  void visit(const ast::Stmt &, const ast::If &branch) {
    for (const ast::IfArm &arm : branch.arms) {
      visit(arm.condition);
      visit(arm.body);
    }
  }
  void visit(const ast::Stmt &stmt, const ast::Wait &wait) {
    remove(stmt);
    move(wait.barrier);
  }
  void visit(const ast::Stmt &stmt, const ast::Arrive &arrive) {
    remove(stmt);
    move(arrive.barrier);
  }
  void visit(const ast::Stmt &stmt, const ast::Await &await) {
    remove(stmt);
    visit(await.target);
    if (await.kind != ast::Await::Kind::Target) { // one more may remain in flight
      const std::string_view whole = stmt.range.text();
      const std::string text = await.keep ? fmt::format("{} + 1", whole) : fmt::format("{} 1", whole);
      add(stmt.range, text, fmt::format("`{}` to `{}`", whole, text));
    }
  }
  void visit(const ast::Stmt &, const ast::Copy &copy) {
    visit(copy.destination);
    visit(copy.source);
    if (copy.completes)
      move(*copy.completes);
  }
  void visit(const ast::Stmt &, const ast::Wgmma &product) {
    visit(product.target);
    visit(product.a);
    visit(product.b);
  }
  void visit(const ast::Stmt &, const ast::Map &map) { visit(map.body); }
  void visit(const ast::Stmt &, const ast::Assign &assign) {
    visit(assign.target);
    visit(assign.value);
    visit(assign.where);
  }
  void visit(const ast::Stmt &stmt, const ast::Sync &) { remove(stmt); }
  void visit(const ast::Stmt &, const ast::Assert &assertion) { visit(assertion.condition); }

  const ast::Kernel &kernel;
  std::string role;
  std::set<std::string> rings;
  std::vector<Mutation> found;
};

/// One arriver less; of a role with instances, only the first of them is left.
void Collector::visit(const ast::Stmt &stmt, const ast::Barrier &barrier) {
  for (size_t left = 0; left < barrier.arrivers.size(); ++left) {
    std::string rest;
    for (size_t i = 0; i < barrier.arrivers.size(); ++i)
      if (i != left)
        rest += (rest.empty() ? "" : ", ") + std::string(barrier.arrivers[i].range.text());
    if (rest.empty())
      rest = barrier.arrivers[0].name.text + (barrier.arrivers[0].instance ? "" : "[0]");
    const SourceRange all = barrier.arrivers.front().range.to(barrier.arrivers.back().range);
    add(all, rest, fmt::format("`{}` without `{}`", stmt.range.text(), barrier.arrivers[left].range.text()));
  }
}

} // namespace

std::vector<Mutation> mutationsOf(const ast::Module &module) {
  std::vector<Mutation> all;
  for (const ast::TopLevel &item : module.items)
    if (const auto *kernel = std::get_if<ast::Kernel>(&item.node))
      for (Mutation &mutation : Collector(*kernel).run())
        all.push_back(std::move(mutation));
  return all;
}

std::string mutated(const SourceFile &file, const Mutation &mutation) {
  std::string text(file.text());
  return text.replace(mutation.range.begin, mutation.range.end - mutation.range.begin, mutation.text);
}

} // namespace fq_test
