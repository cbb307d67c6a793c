#include "tests/random/program.h"

#include "runtime/dim_expr.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace flashqla::random {
namespace {

void print(std::string &out, const std::vector<Node> &nodes, int indent) {
  for (const Node &node : nodes) {
    out.append(indent, ' ') += node.text;
    if (!node.block) {
      out += "\n";
      continue;
    }
    out += " {\n";
    print(out, node.body, indent + 2);
    out.append(indent, ' ') += "}";
    if (node.hasElse) {
      out += " else {\n";
      print(out, node.otherwise, indent + 2);
      out.append(indent, ' ') += "}";
    }
    out += "\n";
  }
}

std::string caseText(const Case &test) {
  std::vector<std::string> items;
  for (const auto &[name, value] : test.dims)
    items.push_back(fmt::format("{} = {}", name, value));
  for (const auto &[name, table] : test.tables)
    items.push_back(fmt::format("{} = [{}]", name, fmt::join(table, ", ")));
  return fmt::format("({})", fmt::join(items, ", "));
}

} // namespace

std::string Program::text() const {
  std::string out = fmt::format("/// Random program {}.\n", seed);
  for (const std::string &function : functions)
    out += function + "\n";
  std::vector<std::string> dimTexts, argumentTexts, caseTexts;
  for (const Dim &dim : dims)
    dimTexts.push_back(dim.name + (dim.isStatic ? ": static" : ""));
  for (const Argument &argument : arguments)
    argumentTexts.push_back(fmt::format("\n    {}: {}", argument.name, argument.text));
  for (const Case &test : cases)
    caseTexts.push_back(caseText(test));
  out += "kernel random_program";
  if (!dims.empty())
    out += fmt::format("[{}]", fmt::join(dimTexts, ", "));
  if (!params.empty())
    out += fmt::format("<{}>", fmt::join(params, ", "));
  out += fmt::format("({})\n", fmt::join(argumentTexts, ","));
  for (const std::string &where : wheres)
    out += fmt::format("  where {}\n", where);
  out += fmt::format("  grid ({})\n", fmt::join(grid, ", "));
  if (resident > 1)
    out += fmt::format("  resident {}\n", resident);
  out += fmt::format("  check {}\n", fmt::join(caseTexts, ",\n        "));
  out += "{\n";
  print(out, lets, 2);
  print(out, shared, 2);
  for (const Barrier &barrier : barriers)
    out += fmt::format("  barrier {}{}: {} -> {}\n", barrier.name,
                       barrier.slots > 1 ? fmt::format("[{}]", barrier.slots) : "", fmt::join(barrier.arrivers, ", "),
                       fmt::join(barrier.waiters, ", "));
  print(out, roles, 2);
  return out + "}\n";
}

const Argument *Program::argument(const std::string &name) const {
  auto found = std::ranges::find(arguments, name, &Argument::name);
  return found == arguments.end() ? nullptr : &*found;
}

std::vector<std::int64_t> Program::sizesOf(const Argument &argument, const std::map<std::string, std::int64_t> &dims) const {
  std::vector<std::string> names;
  std::vector<std::int64_t> values;
  for (const auto &[name, value] : dims) {
    names.push_back(name);
    values.push_back(value);
  }
  for (const std::string &param : params) // "B0 = 64"
    if (const size_t equals = param.find(" = "); std::isdigit(static_cast<unsigned char>(param[equals + 3]))) {
      names.push_back(param.substr(0, equals));
      values.push_back(std::stoll(param.substr(equals + 3)));
    }
  std::vector<std::int64_t> sizes;
  for (const std::string &text : argument.sizes) {
    Expected<DimExpr> size = DimExpr::parse(text);
    if (!size || !size->bind(names))
      return {};
    Expected<std::int64_t> value = size->evaluate(values);
    sizes.push_back(value ? *value : 0);
  }
  return sizes;
}

bool mentions(const std::string &text, const std::string &word) {
  auto isWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !isWord(text[at - 1])) && (end == text.size() || !isWord(text[end])))
      return true;
  }
  return false;
}

bool mentions(const std::vector<Node> &nodes, const std::string &word) {
  return std::ranges::any_of(nodes, [&](const Node &node) {
    return mentions(node.text, word) || mentions(node.body, word) || mentions(node.otherwise, word);
  });
}

} // namespace flashqla::random
