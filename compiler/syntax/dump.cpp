#include "compiler/syntax/dump.h"

#include <fmt/format.h>

namespace flashqla {

using namespace ast;

namespace {

class Dumper {
public:
  std::string run(const Module &module) {
    for (const TopLevel &item : module.items)
      std::visit(*this, item.node);
    return std::move(out);
  }

  // Module items.

  void operator()(const Const &node) {
    head("const {}", node.name.text);
    Nested nested(*this);
    expr(node.value);
  }

  void operator()(const Fn &node) {
    head("fn {}", node.name.text);
    Nested nested(*this);
    for (const Name &param : node.params)
      head("parameter {}", param.text);
    expr(node.value);
  }

  void operator()(const Kernel &node) {
    head("kernel {}", node.name.text);
    Nested nested(*this);
    for (const Dim &dim : node.dims)
      head("dim {}{}", dim.name.text, dim.isStatic ? " static" : "");
    for (const Param &param : node.params)
      named("param", param.name, param.value);
    for (const Arg &item : node.args)
      arg(item);
    for (const Clause &clause : node.clauses)
      std::visit(*this, clause.node);
    block(node.body);
  }

  // Clauses.

  void operator()(const Where &node) {
    head("where");
    Nested nested(*this);
    for (const ExprPtr &condition : node.conditions)
      expr(condition);
  }

  void operator()(const Grid &node) { axes("grid", node.axes); }
  void operator()(const Cluster &node) { axes("cluster", node.axes); }
  void operator()(const Resident &node) { valued("resident", node.count); }

  void operator()(const Check &node) {
    head("check");
    Nested nested(*this);
    for (const CheckCase &check : node.cases) {
      head("case");
      Nested inCase(*this);
      for (const CheckBinding &binding : check.bindings) {
        if (!binding.isList) {
          named("bind", binding.name, binding.value);
          continue;
        }
        head("bind list {}", binding.name.text);
        Nested inList(*this);
        for (const ExprPtr &element : binding.list)
          expr(element);
      }
    }
  }

  // Statements.

  void operator()(const Let &node) { bindings("let", node.bindings); }
  void operator()(const Var &node) { bindings("var", node.bindings); }

  void operator()(const Frag &node) {
    for (const FragDecl &decl : node.decls) {
      head("frag {} {}", decl.name.text, decl.elem.name.text);
      Nested nested(*this);
      shape("shape", decl.shape);
      optional("init", decl.init);
    }
  }

  void operator()(const Shared &node) {
    for (const SharedDecl &decl : node.decls) {
      head("shared {} {}", decl.name.text, decl.elem.name.text);
      Nested nested(*this);
      if (decl.ring)
        shape("ring", *decl.ring);
      shape("shape", decl.shape);
    }
  }

  void operator()(const Barrier &node) {
    head("barrier {}", node.name.text);
    Nested nested(*this);
    optional("slots", node.slots);
    for (const Who &who : node.arrivers)
      named("arriver", who.name, who.instance);
    for (const Who &who : node.waiters)
      named("waiter", who.name, who.instance);
  }

  void operator()(const Role &node) {
    head("{} {}", node.kind == RoleKind::Warp ? "warp" : "warpgroup", node.name.text);
    Nested nested(*this);
    optional("count", node.count);
    if (node.each)
      range("each", *node.each, node.lower, node.upper);
    optional("regs", node.regs);
    block(node.body);
  }

  void operator()(const For &node) {
    range(node.unroll ? "for unroll" : "for", node.index, node.lower, node.upper);
    Nested nested(*this);
    optional("step", node.step);
    block(node.body);
  }

  void operator()(const If &node) {
    head("if");
    Nested nested(*this);
    for (const IfArm &arm : node.arms) {
      head("{}", arm.condition ? "arm" : "else");
      Nested inArm(*this);
      if (arm.condition)
        expr(arm.condition);
      block(arm.body);
    }
  }

  void operator()(const Wait &node) { named("wait", node.barrier.name, node.barrier.generation); }
  void operator()(const Arrive &node) {
    named("arrive", node.barrier.name, node.barrier.generation);
  }

  void operator()(const Await &node) {
    if (node.kind == Await::Kind::Target)
      valued("await", node.target);
    else if (node.kind == Await::Kind::Wgmma)
      valued("await wgmma", node.keep);
    else
      valued(fmt::format("await copy{}", copySuffix(node.copy)), node.keep);
  }

  void operator()(const Copy &node) {
    head("copy{}", copySuffix(node.kind));
    Nested nested(*this);
    expr(node.destination);
    expr(node.source);
    if (node.completes)
      named("completes", node.completes->name, node.completes->generation);
  }

  void operator()(const Wgmma &node) {
    head("wgmma {}", spelling(node.op));
    Nested nested(*this);
    expr(node.target);
    expr(node.a);
    expr(node.b);
  }

  void operator()(const Map &node) {
    head("map");
    Nested nested(*this);
    for (const Axis &axis : node.domain)
      named("axis", axis.name, axis.extent);
    block(node.body);
  }

  void operator()(const Assign &node) {
    head("assign {}", spelling(node.op));
    Nested nested(*this);
    expr(node.target);
    expr(node.value);
    optional("where", node.where);
    if (node.scratch)
      head("using {}", node.scratch->text);
  }

  void operator()(const Sync &) { head("sync"); }
  void operator()(const Assert &node) { valued("assert", node.condition); }

private:
  struct Nested {
    explicit Nested(Dumper &dumper) : dumper(dumper) { ++dumper.depth; }
    ~Nested() { --dumper.depth; }
    Dumper &dumper;
  };

  template <typename... Args> void head(fmt::format_string<Args...> text, Args &&...args) {
    out.append(2 * depth, ' ');
    out += fmt::format(text, std::forward<Args>(args)...);
    out += '\n';
  }

  static std::string_view copySuffix(CopyKind kind) {
    return kind == CopyKind::Tma ? ".tma" : kind == CopyKind::Async ? ".async" : "";
  }

  // What recurs.

  /// A word and the expression, if there is one, below it.
  void valued(std::string_view word, const ExprPtr &value) {
    head("{}", word);
    Nested nested(*this);
    if (value)
      expr(value);
  }

  void optional(std::string_view word, const ExprPtr &value) {
    if (value)
      valued(word, value);
  }

  void named(std::string_view word, const Name &name, const ExprPtr &value) {
    valued(fmt::format("{} {}", word, name.text), value);
  }

  void range(std::string_view word, const Name &index, const ExprPtr &lower, const ExprPtr &upper) {
    head("{} {}", word, index.text);
    Nested nested(*this);
    expr(lower);
    expr(upper);
  }

  void axes(std::string_view word, const std::vector<Axis> &list) {
    head("{}", word);
    Nested nested(*this);
    for (const Axis &axis : list)
      named("axis", axis.name, axis.extent);
  }

  void bindings(std::string_view word, const std::vector<Binding> &list) {
    for (const Binding &binding : list)
      named(word, binding.name, binding.value);
  }

  void shape(std::string_view word, const Shape &shape) {
    head("{}", word);
    Nested nested(*this);
    for (const ExprPtr &extent : shape.extents)
      expr(extent);
  }

  void block(const Block &body) {
    for (const Stmt &stmt : body.statements)
      std::visit(*this, stmt.node);
  }

  void arg(const Arg &arg) {
    head("arg {}{} {}", arg.name.text,
         arg.direction ? fmt::format(" {}", spelling(*arg.direction)) : "", arg.elem.name.text);
    Nested nested(*this);
    if (arg.isTensor())
      shape("shape", arg.shape);
    if (arg.strided)
      valued("strided", arg.alignment);
    optional("if", arg.condition);
  }

  // Expressions.

  void expr(const ExprPtr &pointer) {
    const Expr &expr = *pointer;
    head("{}", exprHead(expr));
    Nested nested(*this);
    if (expr.lower)
      this->expr(expr.lower);
    if (expr.upper)
      this->expr(expr.upper);
    for (const ExprPtr &operand : expr.operands)
      this->expr(operand);
    for (const Bracket &bracket : expr.brackets) {
      head("bracket");
      Nested inBracket(*this);
      for (const Index &item : bracket.indices)
        index(item);
    }
  }

  static std::string exprHead(const Expr &expr) {
    switch (expr.kind) {
    case ExprKind::Integer:
      return fmt::format("integer {}", expr.integer);
    case ExprKind::Float:
      return fmt::format("float {}", expr.real);
    case ExprKind::Bool:
      return expr.boolean ? "true" : "false";
    case ExprKind::Inf:
      return "inf";
    case ExprKind::Type:
      return fmt::format("type {}", expr.elem.name.text);
    case ExprKind::Reference:
      return fmt::format("ref {}{}", expr.name.text, expr.transposed ? ".T" : "");
    case ExprKind::Call:
      return fmt::format("{} {}", expr.callee ? "convert" : "call", expr.name.text);
    case ExprKind::Unary:
      return fmt::format("unary {}", spelling(expr.unary));
    case ExprKind::Binary:
      return fmt::format("binary {}", spelling(expr.binary));
    case ExprKind::Ternary:
      return "ternary";
    case ExprKind::Reduction:
      return fmt::format("{} {}", spelling(expr.reduction), expr.name.text);
    case ExprKind::Paren:
      return "paren";
    }
    __builtin_unreachable();
  }

  void index(const Index &index) {
    switch (index.kind) {
    case Index::Kind::All:
      head("all");
      return;
    case Index::Kind::Point:
      expr(index.begin);
      return;
    case Index::Kind::Window:
      head("window");
      Nested nested(*this);
      expr(index.begin);
      expr(index.extent);
      optional("until", index.limit);
      return;
    }
  }

  std::string out;
  size_t depth = 0;
};

} // namespace

std::string dumpAst(const Module &module) { return Dumper().run(module); }

} // namespace flashqla
