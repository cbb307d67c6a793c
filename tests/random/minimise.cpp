#include "tests/random/minimise.h"

#include <algorithm>
#include <ranges>

namespace flashqla::random {
namespace {

/// Every list of statements of a program, outer ones first.
void collect(std::vector<Node> &nodes, std::vector<std::vector<Node> *> &lists) {
  lists.push_back(&nodes);
  for (Node &node : nodes) {
    if (node.block)
      collect(node.body, lists);
    if (node.hasElse)
      collect(node.otherwise, lists);
  }
}

std::vector<std::vector<Node> *> listsOf(Program &program) {
  std::vector<std::vector<Node> *> lists;
  collect(program.lets, lists);
  collect(program.roles, lists);
  return lists;
}

void eraseMentions(std::vector<Node> &nodes, const std::string &word) {
  std::erase_if(nodes, [&](const Node &node) { return mentions(node.text, word) && !node.block; });
  for (Node &node : nodes) {
    eraseMentions(node.body, word);
    eraseMentions(node.otherwise, word);
  }
}

bool hasRole(const std::vector<Node> &nodes, const std::string &role) {
  return std::ranges::any_of(nodes, [&](const Node &node) { return node.role == role || hasRole(node.body, role); });
}

class Minimiser {
public:
  Minimiser(Program program, const std::function<bool(const Program &)> &fails, int limit)
      : program(std::move(program)), fails(fails), left(limit) {}

  Program run() {
    for (bool smaller = true; smaller && left > 0;)
      smaller = cases() | channels() | statements() | blocks() | expressions() | dims();
    return program;
  }

private:
  /// Keeps the candidate if it still fails.
  bool keep(Program candidate) {
    if (left-- <= 0)
      return false;
    tidy(candidate);
    if (candidate.text() == program.text() || !fails(candidate))
      return false;
    program = std::move(candidate);
    return true;
  }

  bool cases() {
    bool smaller = false;
    for (size_t i = program.cases.size(); i-- > 0 && program.cases.size() > 1;) {
      Program candidate = program;
      candidate.cases.erase(candidate.cases.begin() + static_cast<std::ptrdiff_t>(i));
      smaller |= keep(std::move(candidate));
    }
    return smaller;
  }

  bool channels() {
    bool smaller = false;
    for (size_t i = program.barriers.size(); i-- > 0;) {
      if (i >= program.barriers.size())
        continue;
      Program candidate = program;
      const std::string name = candidate.barriers[i].name, base = name.substr(0, name.find('_'));
      for (const std::string &barrier : {base, base + "_full", base + "_free"}) {
        std::erase_if(candidate.barriers, [&](const Barrier &other) { return other.name == barrier; });
        eraseMentions(candidate.roles, barrier);
      }
      smaller |= keep(std::move(candidate));
    }
    return smaller;
  }

  /// Halves of each list, quarters, and so on to single statements.
  bool statements() {
    bool smaller = false;
    for (size_t list = 0; list < listsOf(program).size(); ++list)
      for (size_t chunk = std::max<size_t>(listsOf(program)[list]->size() / 2, 1);; chunk /= 2) {
        for (size_t end = listsOf(program)[list]->size(); end > 0;) {
          const size_t begin = end > chunk ? end - chunk : 0;
          Program candidate = program;
          std::vector<Node> &nodes = *listsOf(candidate)[list];
          nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(begin), nodes.begin() + static_cast<std::ptrdiff_t>(end));
          smaller |= keep(std::move(candidate));
          if (list >= listsOf(program).size())
            return true;
          end = std::min(begin, listsOf(program)[list]->size());
        }
        if (chunk <= 1)
          break;
      }
    return smaller;
  }

  /// A block's statements in place of the block.
  bool blocks() {
    bool smaller = false;
    for (size_t list = 0; list < listsOf(program).size(); ++list)
      for (size_t i = 0; list < listsOf(program).size() && i < listsOf(program)[list]->size(); ++i) {
        Program candidate = program;
        std::vector<Node> &nodes = *listsOf(candidate)[list];
        if (!nodes[i].block || !nodes[i].role.empty())
          continue;
        std::vector<Node> body = std::move(nodes[i].body);
        nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(i));
        nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(i), body.begin(), body.end());
        smaller |= keep(std::move(candidate));
      }
    return smaller;
  }

  /// Parenthesised parts of lines become one of their operands, or a constant.
  bool expressions() {
    bool smaller = false;
    for (size_t list = 0; list < listsOf(program).size(); ++list)
      for (size_t i = 0; list < listsOf(program).size() && i < listsOf(program)[list]->size(); ++i)
        smaller |= expressionsOf(list, i);
    return smaller;
  }

  bool expressionsOf(size_t list, size_t line) {
    bool smaller = false;
    for (size_t at = 0; at < (*listsOf(program)[list])[line].text.size(); ++at) {
      const std::string text = (*listsOf(program)[list])[line].text;
      const size_t end = closing(text, at);
      if (text[at] != '(' || end == std::string::npos || (text.starts_with("map (") && at == 4))
        continue;
      for (const std::string &part : parts(text.substr(at + 1, end - at - 1))) {
        size_t begin = at; // with the function's name
        while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '_'))
          --begin;
        Program candidate = program;
        (*listsOf(candidate)[list])[line].text = text.substr(0, begin) + part + text.substr(end + 1);
        if (keep(std::move(candidate))) {
          smaller = true;
          break;
        }
      }
    }
    return smaller;
  }

  static size_t closing(const std::string &text, size_t open) {
    int depth = 0;
    for (size_t i = open; i < text.size(); ++i) {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      if (depth == 0)
        return i;
    }
    return std::string::npos;
  }

  /// What may stand for an expression: a constant, what lies between its operators.
  static std::vector<std::string> parts(const std::string &text) {
    std::vector<std::string> result = {"1.0"};
    int depth = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
      if (i < text.size())
        depth += text[i] == '(' || text[i] == '[' ? 1 : text[i] == ')' || text[i] == ']' ? -1 : 0;
      const bool between = i == text.size() || (depth == 0 && (text[i] == ' ' || text[i] == ','));
      if (!between)
        continue;
      if (i > begin + 1)
        result.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
    return result;
  }

  bool dims() {
    bool smaller = false;
    for (size_t i = 0; i < program.cases.size(); ++i)
      for (const auto &[name, value] : program.cases[i].dims)
        for (std::int64_t less : {std::int64_t(1), std::int64_t(8), value / 2 / 8 * 8}) {
          if (less >= value || less <= 0)
            continue;
          Program candidate = program;
          candidate.cases[i].dims[name] = less;
          if (keep(std::move(candidate))) {
            smaller = true;
            break;
          }
        }
    return smaller;
  }

  Program program;
  const std::function<bool(const Program &)> &fails;
  int left;
};

} // namespace

void tidy(Program &program) {
  for (Barrier &barrier : program.barriers)
    for (auto *list : {&barrier.arrivers, &barrier.waiters})
      std::erase_if(*list, [&](const std::string &role) { return !hasRole(program.roles, role); });
  std::vector<std::string> gone;
  std::erase_if(program.barriers, [&](const Barrier &barrier) {
    const bool empty = barrier.arrivers.empty() || barrier.waiters.empty() || !mentions(program.roles, barrier.name);
    if (empty)
      gone.push_back(barrier.name);
    return empty;
  });
  for (const std::string &barrier : gone)
    eraseMentions(program.roles, barrier);
  std::erase_if(program.roles, [](const Node &node) { return node.role.empty() && node.body.empty(); });
  std::erase_if(program.shared, [&](const Node &tile) {
    const size_t space = tile.text.find(' ') + 1;
    return !mentions(program.roles, tile.text.substr(space, tile.text.find(':') - space));
  });
  std::erase_if(program.arguments, [&](const Argument &argument) {
    return !mentions(program.roles, argument.name) && !mentions(program.lets, argument.name);
  });
  std::erase_if(program.functions, [&](const std::string &function) {
    return !mentions(program.roles, function.substr(3, function.find('(') - 3));
  });
  auto needed = [&](const std::string &name) {
    const auto in = [&](const std::string &text) { return mentions(text, name); };
    return mentions(program.roles, name) || mentions(program.lets, name) || std::ranges::any_of(program.grid, in) ||
           std::ranges::any_of(program.arguments, [&](const Argument &argument) { return in(argument.text); });
  };
  std::erase_if(program.wheres, [&](const std::string &where) { return !needed(where.substr(0, where.find(' '))); });
  std::erase_if(program.dims, [&](const Dim &dim) { return !needed(dim.name); });
  for (Case &test : program.cases) {
    std::erase_if(test.dims, [&](const auto &entry) {
      return std::ranges::find(program.dims, entry.first, &Dim::name) == program.dims.end();
    });
    std::erase_if(test.tables, [&](const auto &entry) { return !program.argument(entry.first); });
  }
}

Program minimise(const Program &program, const std::function<bool(const Program &)> &fails, int limit) {
  return Minimiser(program, fails, limit).run();
}

} // namespace flashqla::random
