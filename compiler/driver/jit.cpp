#include "compiler/driver/jit.h"

#include "compiler/driver/trace.h"
#include "compiler/support/render.h"

namespace flashqla {

Expected<Bundle> JitProvider::provide(const KernelRequest &request) {
  driver::CompileRequest compile;
  compile.file = request.file.empty() ? "<string>" : request.file;
  compile.source = request.source;
  compile.kernel = request.kernel;
  compile.arch = request.arch;
  compile.assemble = output == Output::Cubin;
  for (const auto &[name, text] : request.params) {
    std::optional<frontend::Constant> value = frontend::parseConstant(text);
    if (!value)
      return Error{"compile-error", "parameter " + name + " = `" + text + "` is not a number, a truth value or a type", {}};
    compile.bindings[name] = *value;
  }
  for (const auto &[name, value] : request.staticDims)
    compile.bindings[name] = value;
  driver::Session session(environment);
  driver::CompileResult result =
      driver::compileTraced(session, compile, driver::traceDirectory(environment, compile));
  if (result.bundle)
    return std::move(*result.bundle);
  if (result.error)
    return *result.error;
  return Error{"compile-error", request.kernel + " does not compile", {renderText(session.diagnostics())}};
}

} // namespace flashqla
