#include "tests/emulation/host_text.h"

#include "tests/emulation/interface.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <regex>

namespace flashqla::emulation {

namespace {

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The end of the string, character or comment that begins at `at`; `at` itself if none does.
std::size_t skipQuoted(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) == "//")
    return std::min(text.find('\n', at), text.size());
  if (text.substr(at, 2) == "/*")
    return std::min(text.find("*/", at), text.size() - 2) + 2;
  if (text[at] != '"' && text[at] != '\'')
    return at;
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != text[at])
    end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

/// The parts between separators that stand in no bracket and no string.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t end = skipQuoted(text, at); end != at) {
      at = end;
      continue;
    }
    const char c = text[at];
    depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    if (c == separator && depth == 0) {
      parts.push_back(text.substr(begin, at - begin));
      begin = at + 1;
    }
    ++at;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \n") + 1 - begin);
}

/// `"+f"(d[0])` as the argument of FQ_ASM.
std::optional<std::string> operandCall(std::string_view operand, bool output) {
  const std::size_t open = operand.find('(');
  if (operand.size() < 4 || operand[0] != '"' || open == operand.npos || operand.back() != ')')
    return std::nullopt;
  const char *function = !output ? "in" : operand[1] == '=' ? "out" : "inOut";
  return fmt::format("fq::{}{}", function, operand.substr(open));
}

/// What stands between the parentheses of an assembly statement, as FQ_ASM.
std::optional<std::string> statementCall(std::string_view statement) {
  const std::vector<std::string_view> sections = split(statement, ':');
  std::vector<std::string> arguments = {std::string(trimmed(sections[0]))};
  for (std::size_t section = 1; section < std::min<std::size_t>(sections.size(), 3); ++section) {
    if (trimmed(sections[section]).empty())
      continue;
    for (std::string_view operand : split(sections[section], ',')) {
      std::optional<std::string> call = operandCall(trimmed(operand), section == 1);
      if (!call)
        return std::nullopt;
      arguments.push_back(std::move(*call));
    }
  }
  return fmt::format("FQ_ASM({})", fmt::join(arguments, ", "));
}

/// The position behind "asm volatile (" if an assembly statement begins at `at`.
std::optional<std::size_t> statementBody(std::string_view text, std::size_t at) {
  static const std::regex head(R"(asm\s*(volatile\s*)?\()");
  std::cmatch match;
  if ((at && isWord(text[at - 1])) || !text.substr(at).starts_with("asm") ||
      !std::regex_search(text.data() + at, text.data() + text.size(), match, head,
                         std::regex_constants::match_continuous))
    return std::nullopt;
  return at + static_cast<std::size_t>(match.length());
}

/// `body` is inside a parenthesis: the position of the one that closes it.
std::size_t closingParenthesis(std::string_view text, std::size_t body) {
  int depth = 1;
  for (std::size_t at = body; at < text.size();) {
    if (const std::size_t end = skipQuoted(text, at); end != at) {
      at = end;
      continue;
    }
    depth += (text[at] == '(') - (text[at] == ')');
    if (depth == 0)
      return at;
    ++at;
  }
  return text.size();
}

} // namespace

Expected<std::string> hostText(std::string_view cuda, const std::string &entry) {
  std::string result = "#include \"host_prelude.h\"\n";
  for (std::size_t at = 0; at < cuda.size();) {
    if (const std::size_t end = skipQuoted(cuda, at); end != at) {
      result += cuda.substr(at, end - at);
      at = end;
    } else if (const std::optional<std::size_t> body = statementBody(cuda, at)) {
      const std::size_t end = closingParenthesis(cuda, *body);
      const std::string_view statement = cuda.substr(*body, end - *body);
      const std::optional<std::string> call = statementCall(statement);
      if (!call)
        return Error{"emulation-text",
                     fmt::format("cannot read the assembly statement `{}`", statement),
                     {}};
      result += *call;
      at = std::min(end + 1, cuda.size());
    } else {
      if (cuda.substr(at).starts_with("#line ") && at && cuda[at - 1] == '\n')
        result += fmt::format("FQ_LINE({})\n", std::atoi(cuda.data() + at + 6));
      result += cuda[at++];
    }
  }
  return result + fmt::format("\nextern \"C\" void fq_kernel(void **parameters) {{\n"
                              "  fq::call({}, parameters);\n}}\n",
                              entry);
}

SharedNames::SharedNames(std::string_view cuda) {
  static const std::regex line(R"(constexpr u32 (\w+)_at = (\d+);)");
  for (std::cregex_iterator match(cuda.data(), cuda.data() + cuda.size(), line), end; match != end;
       ++match)
    items.push_back({static_cast<std::uint32_t>(std::stoul((*match)[2])), (*match)[1]});
  std::ranges::sort(items, {}, &Item::offset);
}

std::string SharedNames::describe(std::uint32_t address) const {
  const std::uint32_t offset = address - sharedBase;
  auto after = std::ranges::upper_bound(items, offset, {}, &Item::offset);
  if (address < sharedBase || after == items.begin())
    return fmt::format("shared address {:#x}", address);
  const Item &item = *std::prev(after);
  return offset == item.offset ? item.name
                               : fmt::format("{} + {}", item.name, offset - item.offset);
}

std::string sourceName(std::string_view cuda) {
  static const std::regex line("#line \\d+ \"([^\"]*)\"");
  std::cmatch match;
  return std::regex_search(cuda.data(), cuda.data() + cuda.size(), match, line) ? match[1].str()
                                                                                : "";
}

} // namespace flashqla::emulation
