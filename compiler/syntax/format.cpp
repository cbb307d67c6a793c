#include "compiler/syntax/format.h"

#include "compiler/support/source.h"
#include "compiler/syntax/line.h"
#include "compiler/syntax/page.h"

#include <algorithm>
#include <fmt/format.h>

namespace flashqla {

using namespace ast;

namespace {

template <typename... Visitors> struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

constexpr size_t indentStep = 2;
constexpr size_t statementContinuation = 4; // beyond the statement's own indentation

class Formatter {
public:
  std::string run(const Module &module) {
    bool afterKernel = false;
    for (const TopLevel &item : module.items) {
      const bool isKernel = std::holds_alternative<Kernel>(item.node);
      if (isKernel || afterKernel)
        page.blank();
      leading(item.trivia);
      std::visit([&](const auto &node) { topLevel(node, item.trivia); }, item.node);
      afterKernel = isKernel;
    }
    comments(module.closeComments);
    return page.text();
  }

private:
  // Lines.

  void comments(const std::vector<Comment> &list) {
    for (const Comment &comment : list) {
      if (comment.blankBefore)
        page.blank();
      page.line(std::string(indent, ' ') + comment.text);
    }
  }

  void leading(const Trivia &trivia) {
    comments(trivia.leading);
    if (trivia.blankBefore)
      page.blank();
  }

  void wrapped(const Line &line, size_t continuation, const std::optional<Comment> &comment) {
    std::vector<std::string> pieces = line.wrap(indent, continuation);
    for (std::string &piece : pieces) {
      const bool last = &piece == &pieces.back();
      page.line(std::move(piece), last ? comment : std::nullopt);
    }
  }

  void wrapped(const Line &line, const std::optional<Comment> &comment) {
    wrapped(line, indent + statementContinuation, comment);
  }

  // Module items.

  void topLevel(const Const &node, const Trivia &trivia) {
    Line line;
    line << "const " << node.name.text << " =";
    line.space(1);
    ExprWriter(line).expr(*node.value);
    wrapped(line, trivia.trailing);
  }

  void topLevel(const Fn &node, const Trivia &trivia) {
    Line line;
    line << "fn " << node.name.text << "(";
    for (const Name &param : node.params) {
      if (&param != &node.params.front()) {
        line << ",";
        line.space(2);
      }
      line << param.text;
    }
    line << ") =";
    line.space(1);
    ExprWriter(line).expr(*node.value);
    wrapped(line, trivia.trailing);
  }

  void topLevel(const Kernel &node, const Trivia &trivia) {
    kernelNames(node);
    kernelArgs(node);
    indent = indentStep;
    for (const Clause &item : node.clauses) {
      leading(item.trivia);
      clause(item);
    }
    indent = 0;
    Line brace;
    brace << "{";
    block(brace, node.body);
    page.line("}", trivia.trailing);
  }

  /// Name, dims and parameters up to the parenthesis, in one line if they fit.
  void kernelNames(const Kernel &node) {
    Line dims, params;
    const std::string start = fmt::format("kernel {}", node.name.text);
    if (!node.dims.empty()) {
      dims << "[";
      for (const Dim &dim : node.dims) {
        if (&dim != &node.dims.front()) {
          dims << ",";
          dims.space(0);
        }
        dims << dim.name.text << (dim.isStatic ? ": static" : "");
      }
      dims << "]";
    }
    if (!node.params.empty()) {
      params << "<";
      for (const Param &param : node.params) {
        if (&param != &node.params.front()) {
          params << ",";
          params.space(0);
        }
        params << param.name.text << " = ";
        ExprWriter(params).expr(*param.value);
      }
      params << ">";
    }
    std::string oneLine = start + dims.flat() + params.flat() + "(";
    if (oneLine.size() <= formatWidth) {
      page.line(std::move(oneLine));
      return;
    }
    constexpr size_t paramIndent = 6;
    std::vector<std::string> pieces = dims.wrap(start.size(), start.size() + 1);
    pieces.front().replace(0, start.size(), start);
    if (node.params.empty())
      pieces.back() += "(";
    for (std::string &piece : pieces)
      page.line(std::move(piece));
    if (node.params.empty())
      return;
    params << "(";
    for (std::string &piece : params.wrap(paramIndent, paramIndent + 1))
      page.line(std::move(piece));
  }

  /// One argument a line; names and directions of tensors padded to columns.
  void kernelArgs(const Kernel &node) {
    indent = 2 * indentStep;
    size_t nameWidth = 0, directionWidth = 0;
    for (const Arg &arg : node.args)
      if (arg.isTensor()) {
        nameWidth = std::max(nameWidth, arg.name.text.size());
        directionWidth = std::max(directionWidth, spelling(*arg.direction).size());
      }
    for (const Arg &arg : node.args) {
      leading(arg.trivia);
      Line line;
      if (arg.isTensor())
        line << fmt::format("{:<{}} {:<{}} ", arg.name.text + ":", nameWidth + 1,
                            spelling(*arg.direction), directionWidth);
      else
        line << arg.name.text << ": ";
      line << arg.elem.name.text;
      ExprWriter writer(line);
      if (arg.isTensor())
        writer.shape(arg.shape);
      if (arg.strided)
        line << " strided";
      if (arg.alignment) {
        line << "(";
        writer.expr(*arg.alignment);
        line << ")";
      }
      if (arg.condition) {
        line.space(0);
        line << "if ";
        writer.expr(*arg.condition);
      }
      line << (&arg == &node.args.back() ? ")" : ",");
      wrapped(line, arg.trivia.trailing);
    }
  }

  void clause(const Clause &clause) {
    Line line;
    ExprWriter writer(line);
    const std::string_view word = clause.wordRange.text();
    line << word << " ";
    std::visit(Overloaded{[&](const Where &node) {
                            commaList(line, node.conditions,
                                      [&](const ExprPtr &item) { writer.expr(*item); });
                          },
                          [&](const Grid &node) { writer.axes(node.axes); },
                          [&](const Cluster &node) { writer.axes(node.axes); },
                          [&](const Resident &node) { writer.expr(*node.count); },
                          [&](const Check &node) {
                            commaList(line, node.cases,
                                      [&](const CheckCase &item) { writer.checkCase(item); });
                          }},
               clause.node);
    wrapped(line, indent + word.size() + 1, clause.trivia.trailing);
  }

  // Blocks.

  /// The line that ends with the brace, the statements, and the comments before the closing brace,
  /// which the caller prints.
  void block(const Line &head, const Block &body) {
    wrapped(head, body.openComment);
    page.opened();
    indent += indentStep;
    for (const Stmt &stmt : body.statements) {
      leading(stmt.trivia);
      statement(stmt);
    }
    comments(body.closeComments);
    indent -= indentStep;
  }

  static bool isEmpty(const Block &body) {
    return body.statements.empty() && !body.openComment && body.closeComments.empty();
  }

  /// Whether a block was written on one line and can stay there: at most one statement without
  /// blocks or comments.
  static bool isInline(const Block &body) {
    if (body.openComment || !body.closeComments.empty() || body.statements.size() > 1)
      return false;
    if (body.statements.empty())
      return true;
    const SourceRange &range = body.range;
    const Stmt &only = body.statements.front();
    const bool holdsBlock =
        std::holds_alternative<If>(only.node) || std::holds_alternative<For>(only.node) ||
        std::holds_alternative<Role>(only.node) || std::holds_alternative<Map>(only.node);
    return !holdsBlock && only.trivia.leading.empty() && !only.trivia.trailing &&
           range.file->lineOf(range.begin) == range.file->lineOf(range.end - 1);
  }

  /// ` { statement }` behind what the line holds.
  void inlineBlock(Line &line, const Block &body) {
    line << " {";
    for (const Stmt &stmt : body.statements) {
      line << " ";
      writeSimple(line, stmt);
      line << " ";
    }
    line << "}";
  }

  /// A statement that is a head with one block.
  void headed(const Line &head, const Block &body, const Trivia &trivia) {
    if (isInline(body)) {
      Line line = head;
      inlineBlock(line, body);
      if (indent + line.flat().size() <= formatWidth || isEmpty(body)) {
        wrapped(line, trivia.trailing);
        return;
      }
    }
    Line open = head;
    open << " {";
    block(open, body);
    page.line(std::string(indent, ' ') + "}", trivia.trailing);
  }

  // Statements.

  void statement(const Stmt &stmt) {
    if (const auto *chain = std::get_if<If>(&stmt.node)) {
      ifChain(*chain, stmt);
    } else if (const auto *loop = std::get_if<For>(&stmt.node)) {
      Line head;
      writeHead(head, *loop);
      headed(head, loop->body, stmt.trivia);
    } else if (const auto *role = std::get_if<Role>(&stmt.node)) {
      Line head;
      writeHead(head, *role);
      headed(head, role->body, stmt.trivia);
    } else if (const auto *map = std::get_if<Map>(&stmt.node); map && map->braced) {
      Line head;
      head << "map ";
      ExprWriter(head).axes(map->domain);
      headed(head, map->body, stmt.trivia);
    } else {
      Line line;
      writeSimple(line, stmt);
      wrapped(line, stmt.trivia.trailing);
    }
  }

  void ifChain(const If &chain, const Stmt &stmt) {
    auto armInline = [](const IfArm &arm) { return isInline(arm.body); };
    if (std::ranges::all_of(chain.arms, armInline)) {
      Line line;
      for (const IfArm &arm : chain.arms) {
        if (&arm != &chain.arms.front())
          line << " ";
        writeHead(line, arm, &arm == &chain.arms.front());
        inlineBlock(line, arm.body);
      }
      if (indent + line.flat().size() <= formatWidth) {
        wrapped(line, stmt.trivia.trailing);
        return;
      }
    }
    for (const IfArm &arm : chain.arms) {
      const bool first = &arm == &chain.arms.front();
      Line head;
      head << (first ? "" : "} ");
      writeHead(head, arm, first);
      head << " {";
      block(head, arm.body);
    }
    page.line(std::string(indent, ' ') + "}", stmt.trivia.trailing);
  }

  Page page;
  size_t indent = 0;
};

} // namespace

std::string format(const Module &module) { return Formatter().run(module); }

std::string formatExpr(const Expr &expr) {
  Line line;
  ExprWriter(line).expr(expr);
  return line.flat();
}

} // namespace flashqla
