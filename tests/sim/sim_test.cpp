// Golden files of the simulator.
//
//   // RUN: check [redundant]        all that `flashqlac check` says about the file
//   // RUN: simulate [NAME=VALUE…]   (.mlir) findings in a kernel given as IR, at these dims
//   // RUN: timeline FORM [NAME=VALUE…] its first `check` case in time, with other dims and round
//                                     costs; FORM is json, svg or summary

#include "compiler/driver/timeline.h"
#include "compiler/frontend/frontend.h"
#include "compiler/sim/report.h"
#include "compiler/sim/timeline_output.h"
#include "compiler/support/render.h"
#include "tests/file_test.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace flashqla;

namespace {

std::string check(const fq_test::Input &input) {
  driver::Session session(Environment{});
  const bool redundant = input.args.size() > 1 && input.args[1] == "redundant";
  const bool clean = session.check(input.name, input.text, redundant);
  return renderText(session.diagnostics()) + (clean ? "no mistakes\n" : "");
}

std::string simulate(const fq_test::Input &input) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  frontend::loadDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(input.text, mlir::ParserConfig(&context), input.name);
  if (!module)
    return "the IR does not parse\n";
  sim::SimLaunch launch;
  launch.values = false;
  for (const std::string &word : input.args)
    if (const size_t equals = word.find('='); equals != std::string::npos)
      launch.dims[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
  const sim::DecodedKernel kernel = sim::decode(*module->getOps<tile::KernelOp>().begin());
  Expected<sim::SimResult> result = sim::simulate(kernel.program, launch);
  if (!result)
    return result.error().text() + "\n";
  const SourceFile file(input.name, input.text);
  SourceFiles files;
  files.add(file);
  Diagnostics diags;
  sim::report(*result, kernel, "in this test", files, diags);
  return diags.all().empty() ? "no mistakes\n" : renderText(diags);
}

/// Far from those of a GPU, so that times are easy to follow, and stay when the model is calibrated.
constexpr const char *roundCosts = R"({
  "start": 100, "scalar": 1, "loop": 1, "instruction": 2, "indexWeight": 1e-9, "mapStart": 10, "shuffle": 5,
  "inverse": 1000, "specialRate": 16, "sharedRate": 128, "assertion": 1, "wait": 1, "wake": 5, "arrive": 1, "sync": 10,
  "syncWarp": 1e-12, "warpSync": 1, "fence": 1, "await": 1, "copyIssue": 10, "copyLatency": 500, "copyRate": 64,
  "copyRateAll": 1e9, "storeReadLatency": 100, "storeLatency": 300, "storeRate": 64, "storeRateAll": 1e9,
  "globalLatency": 400, "globalRate": 32, "globalRateAll": 1e9, "productIssue": 10, "productInstruction": 1,
  "productQueue": 1e9, "tensorRate": 2048, "operandRate": 128, "registerOperand": 10, "productLatency": 20,
  "multiprocessors": 2})";

driver::TimelineResult timelineOf(driver::Session &session, const fq_test::Input &input) {
  driver::TimelineRequest request;
  request.compile.file = input.name;
  request.compile.source = input.text;
  EXPECT_TRUE(sim::readCosts(roundCosts, request.costs));
  for (const std::string &word : input.args)
    if (const size_t equals = word.find('='); equals != std::string::npos)
      request.dims[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
  return session.timeline(request);
}

std::string timeline(const fq_test::Input &input) {
  driver::Session session(Environment{});
  const driver::TimelineResult result = timelineOf(session, input);
  if (result.error)
    return result.error->text() + "\n";
  if (!result.timeline)
    return renderText(session.diagnostics());
  const std::string &form = input.args[1];
  return form == "json"  ? sim::timelineJson({&*result.timeline, 1})
         : form == "svg" ? sim::timelineSvg({&*result.timeline, 1})
                         : sim::timelineSummary(*result.timeline);
}

std::string run(const fq_test::Input &input) {
  if (input.args.front() == "check")
    return check(input);
  if (input.args.front() == "simulate")
    return simulate(input);
  if (input.args.front() == "timeline")
    return timeline(input);
  return fmt::format("unknown verb {}\n", input.args.front());
}

/// Whether tags nest and text is escaped; what else makes XML is not looked at.
std::string xmlMistake(std::string_view text) {
  std::vector<std::string> open;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '&' && text.substr(at, 5) != "&amp;" && text.substr(at, 4) != "&lt;" && text.substr(at, 4) != "&gt;" &&
        text.substr(at, 6) != "&quot;")
      return "a bare & at " + std::to_string(at);
    if (text[at] != '<')
      continue;
    const size_t end = text.find('>', at);
    if (end == std::string_view::npos)
      return "an open tag at " + std::to_string(at);
    const std::string_view tag = text.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string_view::npos || std::ranges::count(tag, '"') % 2)
      return fmt::format("a broken tag `{}`", tag);
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1))
        return fmt::format("`{}` closes nothing", tag);
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.emplace_back(tag.substr(0, tag.find(' ')));
    }
    at = end;
  }
  return open.empty() ? "" : "not closed: " + open.back();
}

} // namespace

TEST(Timeline, the_picture_is_well_formed) {
  EXPECT_EQ(xmlMistake("<a b=\"1\"><c/>&lt;</a>"), "");
  EXPECT_NE(xmlMistake("<a><b></a></b>"), "");
  EXPECT_NE(xmlMistake("<a>&</a>"), "");
  fq_test::Input input;
  input.name = "timeline_ring.tile";
  input.text = fq_test::readFile(fq_test::testsFolder() / "sim/testdata" / input.name);
  driver::Session session(Environment{});
  const driver::TimelineResult result = timelineOf(session, input);
  ASSERT_TRUE(result.timeline) << renderText(session.diagnostics());
  EXPECT_EQ(xmlMistake(sim::timelineSvg({&*result.timeline, 1})), "");
  EXPECT_EQ(xmlMistake(sim::timelineSvg({})), "");
}

int main(int argc, char **argv) { return fq_test::main(argc, argv, "sim", "sim/testdata", run); }
