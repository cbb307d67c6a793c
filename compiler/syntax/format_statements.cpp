#include "compiler/syntax/line.h"

#include <cassert>

namespace flashqla {

using namespace ast;

namespace {

class StatementWriter {
public:
  explicit StatementWriter(Line &line) : line(line), writer(line) {}

  void operator()(const Let &node) { bindings("let ", node.bindings); }
  void operator()(const Var &node) { bindings("var ", node.bindings); }

  void operator()(const Frag &node) {
    line << "frag ";
    commaList(line, node.decls, [&](const FragDecl &decl) {
      line << decl.name.text << ": " << decl.elem.name.text;
      writer.shape(decl.shape);
      if (decl.init) {
        line << " =";
        line.space(1);
        writer.expr(*decl.init);
      }
    });
  }

  void operator()(const Shared &node) {
    line << "shared ";
    commaList(line, node.decls, [&](const SharedDecl &decl) {
      line << decl.name.text << ": " << decl.elem.name.text;
      if (decl.ring)
        writer.shape(*decl.ring);
      writer.shape(decl.shape);
    });
  }

  void operator()(const Barrier &node) {
    line << "barrier " << node.name.text;
    writer.optionalBracket(node.slots);
    line << ": ";
    roles(node.arrivers);
    line << " ->";
    line.space(0);
    roles(node.waiters);
  }

  void operator()(const Wait &node) {
    line << "wait ";
    barrier(node.barrier);
  }

  void operator()(const Arrive &node) {
    line << "arrive ";
    barrier(node.barrier);
  }

  void operator()(const Await &node) {
    line << "await ";
    if (node.target)
      writer.expr(*node.target);
    else
      line << (node.kind == Await::Kind::Wgmma ? "wgmma"
               : node.copy == CopyKind::Tma    ? "copy.tma"
                                               : "copy.async");
    if (node.keep) {
      line << " ";
      writer.expr(*node.keep);
    }
  }

  void operator()(const Copy &node) {
    line << (node.kind == CopyKind::Tma     ? "copy.tma "
             : node.kind == CopyKind::Async ? "copy.async "
                                            : "copy ");
    writer.expr(*node.destination);
    line << " <-";
    line.space(0);
    writer.expr(*node.source);
    if (node.completes) {
      line << " =>";
      line.space(0);
      barrier(*node.completes);
    }
  }

  void operator()(const Wgmma &node) {
    line << "wgmma ";
    writer.expr(*node.target);
    line << " " << spelling(node.op);
    line.space(1);
    writer.expr(*node.a);
    line << " @";
    line.space(2);
    writer.expr(*node.b);
  }

  void operator()(const Map &node) {
    assert(!node.braced && "a map with braces is no simple statement");
    line << "map ";
    if (!node.domain.empty()) {
      writer.axes(node.domain);
      line << " ";
    }
    (*this)(std::get<Assign>(node.body.statements.front().node));
  }

  void operator()(const Assign &node) {
    writer.expr(*node.target);
    line << " " << spelling(node.op);
    line.space(1);
    writer.expr(*node.value);
    if (node.where) {
      line.space(0);
      line << "where ";
      writer.expr(*node.where);
    }
    if (node.scratch)
      line << " using " << node.scratch->text;
  }

  void operator()(const Sync &) { line << "sync"; }

  void operator()(const Assert &node) {
    line << "assert ";
    writer.expr(*node.condition);
  }

  /// Statements with braces are the formatter's.
  template <typename Node> void operator()(const Node &) {}

private:
  void bindings(std::string_view word, const std::vector<Binding> &list) {
    line << word;
    commaList(line, list, [&](const Binding &binding) {
      line << binding.name.text << " =";
      line.space(1);
      writer.expr(*binding.value);
    });
  }

  void roles(const std::vector<Who> &list) {
    commaList(line, list, [&](const Who &who) {
      line << who.name.text;
      writer.optionalBracket(who.instance);
    });
  }

  void barrier(const BarrierRef &ref) {
    line << ref.name.text;
    writer.optionalBracket(ref.generation);
  }

  Line &line;
  ExprWriter writer;
};

} // namespace

void writeSimple(Line &line, const Stmt &stmt) { std::visit(StatementWriter(line), stmt.node); }

void writeHead(Line &line, const IfArm &arm, bool first) {
  line << (first ? "if" : arm.condition ? "else if" : "else");
  if (arm.condition) {
    line << " ";
    ExprWriter(line).expr(*arm.condition);
  }
}

void writeHead(Line &line, const For &loop) {
  ExprWriter writer(line);
  line << "for " << loop.index.text << " in ";
  writer.expr(*loop.lower);
  line << " .. ";
  writer.expr(*loop.upper);
  if (loop.step) {
    line << " step ";
    writer.expr(*loop.step);
  }
  if (loop.unroll)
    line << " unroll";
}

void writeHead(Line &line, const Role &role) {
  ExprWriter writer(line);
  line << (role.kind == RoleKind::Warp ? "warp " : "warpgroup ") << role.name.text;
  writer.optionalBracket(role.count);
  if (role.each) {
    line << " each " << role.each->text << " in ";
    writer.expr(*role.lower);
    line << " .. ";
    writer.expr(*role.upper);
  }
  if (role.regs) {
    line << " regs ";
    writer.expr(*role.regs);
  }
}

} // namespace flashqla
