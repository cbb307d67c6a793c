// Mutations of every kernel of the tree. Each is reported – by the frontend, a static rule, or the simulator – or stands
// in equivalent_mutants.txt with the reason why it is none. Two kinds:
//
//   text   what an author could write: a statement less, a generation beside the right one, an arriver less
//   op     a synchronising op less in one copy of a role or unrolled loop, and a fence less in the lowered form
//
// An unlisted one that nobody reports fails the test, and so does a listed one that somebody does.

#include "compiler/support/render.h"
#include "compiler/syntax/parser.h"
#include "tests/sim/kernel_checker.h"
#include "tests/sim/mutations.h"

#include "mlir/IR/MLIRContext.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

using namespace flashqla;
using namespace fq_test;

namespace {

/// The list by kernel.
std::multimap<std::string, std::string> equivalents() {
  std::istringstream lines(readKernelFile("tests/sim/equivalent_mutants.txt"));
  std::multimap<std::string, std::string> names;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] != ' ' && line[0] != '#')
      names.emplace(line.substr(0, line.find(' ')), line);
  return names;
}

class Mutants : public testing::TestWithParam<std::string> {
protected:
  void count(const std::string &mutant, Reporter reporter) {
    ++counts[static_cast<size_t>(reporter)];
    if (reporter == Reporter::Nobody)
      unreported.push_back(mutant);
  }
  /// The unreported ones against the list: those of texts or those of ops.
  void compare(bool ops);
  void eraseEachOp(Checker &checker, const std::string &kernel);

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  const SourceFile file{GetParam(), readKernelFile(GetParam())};
  std::vector<std::string> unreported;
  std::array<int, 4> counts{};
};

constexpr std::string_view opWord = ": erase ";

void Mutants::compare(bool ops) {
  Diagnostics diags;
  std::vector<std::string> listed;
  const auto all = equivalents();
  for (const std::string &kernel : kernelNames(parse(file, diags)))
    for (auto [entry, end] = all.equal_range(kernel); entry != end; ++entry)
      if (entry->second.contains(opWord) == ops)
        listed.push_back(entry->second);
  std::sort(listed.begin(), listed.end());
  std::sort(unreported.begin(), unreported.end());
  std::vector<std::string> missed, found;
  std::set_difference(unreported.begin(), unreported.end(), listed.begin(), listed.end(), std::back_inserter(missed));
  std::set_difference(listed.begin(), listed.end(), unreported.begin(), unreported.end(), std::back_inserter(found));
  for (const std::string &mutant : missed)
    ADD_FAILURE() << "nobody reports\n" << mutant;
  for (const std::string &mutant : found)
    ADD_FAILURE() << "listed as equivalent, and reported:\n" << mutant;
  fmt::print("{}: {} mutants; reported by the frontend {}, rules {}, the simulator {}; equivalent {}\n",
             GetParam(), counts[0] + counts[1] + counts[2] + counts[3], counts[1], counts[2],
             counts[3], counts[0]);
}

} // namespace

TEST_P(Mutants, the_kernel_itself_is_not_reported) {
  Checker checker(context, file);
  for (const std::string &kernel : kernelNames(checker.ast))
    checker.check(kernel, /*lowered=*/true);
  const bool onlyRemarks = std::ranges::all_of(
      checker.diags.all(), [](const Diagnostic &diagnostic) { return diagnostic.severity == Severity::Remark; });
  EXPECT_TRUE(onlyRemarks) << renderText(checker.diags);
}

TEST_P(Mutants, changed_texts_are_reported) {
  Diagnostics diags;
  const ast::Module module = parse(file, diags);
  for (const Mutation &mutation : mutationsOf(module)) {
    const SourceFile changed(file.name(), mutated(file, mutation));
    count(mutation.name, Checker(context, changed).check(mutation.kernel->name.text));
  }
  compare(/*ops=*/false);
}

namespace {

/// The ops of a kernel that a mutation may take away, by name: role, statement and which copy of it.
std::vector<std::pair<std::string, mlir::Operation *>> victims(tile::KernelOp kernel, const SourceFiles &files) {
  std::map<std::string, int> copies;
  std::vector<std::pair<std::string, mlir::Operation *>> found;
  kernel->walk([&](mlir::Operation *op) {
    const bool fence = mlir::isa<tile::FenceProxyOp>(op);
    if (!fence && !mlir::isa<tile::WaitOp, tile::ArriveOp, tile::AwaitOp, tile::SyncOp>(op))
      return;
    const SourceRange range = files.range(op);
    const std::string place = fmt::format("{} {}", op->getParentOfType<tile::RoleOp>().getName().str(), range.begin);
    const int copy = ++copies[place];
    std::string name = fmt::format("{} {}{}{}`{}`", kernel.getSymName().str(),
                                   op->getParentOfType<tile::RoleOp>().getName().str(), opWord,
                                   fence ? "the fence before " : "", range.text());
    found.push_back({copy > 1 ? fmt::format("{}, copy {}", name, copy) : name, op});
  });
  return found;
}

} // namespace

/// A mutant counts as reported if one of the instances shows it.
void Mutants::eraseEachOp(Checker &checker, const std::string &kernel) {
  std::vector<Instance> instances = checker.instances(kernel);
  for (bool lowered : {false, true}) {
    std::map<std::pair<std::string, size_t>, Reporter> reporters; // with the number among those of one name
    for (Instance &instance : instances) {
      if (lowered && (!checker.rules(instance) || !checker.lower(instance)))
        continue;
      std::map<std::string, size_t> numbers;
      const size_t ops = victims(instance.kernel(), checker.files).size();
      for (size_t op = 0; op < ops; ++op) {
        Instance mutant{Module(instance.module->clone()), instance.cases};
        auto [name, victim] = victims(mutant.kernel(), checker.files)[op];
        if (lowered && !mlir::isa<tile::FenceProxyOp>(victim))
          continue;
        Reporter &reporter = reporters.try_emplace({name, numbers[name]++}, Reporter::Nobody).first->second;
        if (reporter != Reporter::Nobody)
          continue;
        victim->erase();
        Checker quiet(context, file);
        if (!lowered && !quiet.rules(mutant))
          reporter = Reporter::Rules;
        else if (!quiet.simulate(mutant))
          reporter = Reporter::Simulator;
      }
    }
    for (const auto &[name, reporter] : reporters)
      count(name.first, reporter);
  }
}

TEST_P(Mutants, missing_ops_are_reported) {
  Checker checker(context, file);
  for (const std::string &kernel : kernelNames(checker.ast))
    eraseEachOp(checker, kernel);
  compare(/*ops=*/true);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Mutants, testing::ValuesIn(kernelFiles()), [](const auto &info) {
  std::string name = info.param.substr(0, info.param.rfind('.'));
  std::ranges::replace(name, '/', '_');
  return name;
});
