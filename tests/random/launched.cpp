#include "tests/random/launched.h"

#include "compiler/driver/compile.h"
#include "compiler/support/render.h"
#include "kernels/host_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace flashqla::random {
namespace {

constexpr double gap = std::numeric_limits<double>::quiet_NaN();

DType dtypeOf(Type type) {
  switch (type) {
  case Type::BF16:
    return DType::BF16;
  case Type::F16:
    return DType::F16;
  case Type::F32:
    return DType::F32;
  case Type::I32:
    return DType::I32;
  case Type::I64:
    return DType::I64;
  }
  return DType::F32;
}

/// As the signature allows it: packed, or with gaps between rows that nothing may read or write.
HostTensor hostTensor(const Argument &argument, const sim::TensorValues &values, std::uint64_t seed) {
  const DType dtype = dtypeOf(argument.type);
  const std::vector<std::int64_t> &sizes = values.extents;
  if (argument.kind == Argument::Kind::Table)
    return HostTensor::integers(dtype, values.ints);
  HostTensor tensor(dtype, sizes);
  if (argument.strided) {
    std::vector<std::int64_t> strides(sizes.size(), 1);
    for (size_t dim = sizes.size() - 1; dim > 0; --dim) {
      std::int64_t stride = std::max<std::int64_t>(strides[dim] * sizes[dim], 1) +
                            static_cast<std::int64_t>(randomBits(seed, dim) % 3) * (argument.tight ? 8 : 3);
      if (argument.tight)
        stride = (stride + 7) / 8 * 8;
      strides[dim - 1] = stride;
    }
    const std::int64_t offset = argument.tight ? 8 : 5;
    tensor = HostTensor::strided(dtype, sizes, strides, strides[0] * sizes[0] + 2 * offset, offset);
  }
  tensor.fillStorage(gap);
  tensor.setValues(std::vector<double>(values.reals.begin(), values.reals.end()));
  return tensor;
}

bool gapsHold(const HostTensor &tensor) {
  HostTensor expected = tensor;
  expected.fillStorage(gap);
  expected.setValues(tensor.values());
  return std::ranges::equal(expected.bytes(), tensor.bytes());
}

} // namespace

Compiler compilerOf(const Environment &environment, bool assemble) {
  return [=](const std::string &text, const frontend::Bindings &bindings) -> Expected<Bundle> {
    driver::Session session(environment);
    driver::CompileRequest request;
    request.file = "random.tile";
    request.source = text;
    request.kernel = "random_program";
    request.bindings = bindings;
    request.allowSlow = true;
    request.useCache = false;
    request.assemble = assemble;
    driver::CompileResult result = session.compile(request);
    if (result.bundle)
      return std::move(*result.bundle);
    if (result.error)
      return *result.error;
    return Error{"compile", "the program does not compile", {renderText(session.diagnostics())}};
  };
}

Verdict Launcher::runCase(const Kernel &kernel, const Program &program, const CaseRun &test) {
  std::vector<HostTensor> tensors;
  std::vector<DeviceBuffer> buffers;
  std::vector<Arg> args;
  auto failed = [&](const Error &error) { return Verdict{Verdict::Kind::Differs, name + ":" + error.code, error.text()}; };
  for (const Argument &argument : program.arguments) {
    if (argument.kind == Argument::Kind::Real) {
      args.emplace_back(argument.real);
      continue;
    }
    tensors.push_back(hostTensor(argument, test.inputs.at(argument.name), program.seed));
    Expected<DeviceBuffer> buffer = DeviceBuffer::upload(device, tensors.back().bytes().data(), tensors.back().bytes().size());
    if (!buffer)
      return failed(buffer.error());
    buffers.push_back(std::move(*buffer));
    args.emplace_back(tensors.back().ref(buffers.back().data()));
  }
  std::vector<DimValue> dims;
  for (const auto &[name, value] : test.test.dims)
    dims.push_back({name, value});
  LaunchOptions options;
  options.dims = dims.data();
  options.dimCount = dims.size();
  if (Expected<void> launched = kernel.launch(nullptr, args.data(), args.size(), options); !launched) {
    broken = true;
    return failed(launched.error());
  }
  if (Expected<void> done = device.synchronize(); !done) {
    broken = true;
    return failed(done.error());
  }
  Tensors got;
  size_t number = 0;
  for (const Argument &argument : program.arguments) {
    if (argument.kind == Argument::Kind::Real)
      continue;
    HostTensor &tensor = tensors[number];
    DeviceBuffer &buffer = buffers[number++];
    if (argument.kind == Argument::Kind::Input || argument.kind == Argument::Kind::Table)
      continue;
    if (Expected<void> copied = buffer.copyTo(tensor.bytes().data(), tensor.bytes().size()); !copied)
      return failed(copied.error());
    if (!gapsHold(tensor))
      return {Verdict::Kind::Differs, name + ":gaps", argument.name + " was written where it has no elements"};
    const std::vector<double> values = tensor.values();
    got[argument.name] = {test.inputs.at(argument.name).extents, {values.begin(), values.end()}, {}};
  }
  const std::string text = difference(program, test.results, got, /*bitwise=*/false);
  return text.empty() ? Verdict{} : Verdict{Verdict::Kind::Differs, name, text};
}

Verdict Launcher::run(const Program &program, const Simulated &simulated) {
  std::vector<std::pair<frontend::Bindings, Kernel>> kernels;
  for (const CaseRun &test : simulated.cases) {
    auto known = std::ranges::find(kernels, test.test.bindings, &std::pair<frontend::Bindings, Kernel>::first);
    if (known == kernels.end()) {
      Expected<Bundle> bundle = compiler(program.text(), test.test.bindings);
      if (!bundle)
        return {Verdict::Kind::Refused, name + ":" + bundle.error().code, bundle.error().text()};
      Expected<Kernel> kernel = Kernel::load(device, *bundle);
      if (!kernel)
        return {Verdict::Kind::Refused, name + ":" + kernel.error().code, kernel.error().text()};
      kernels.emplace_back(test.test.bindings, std::move(*kernel));
      known = kernels.end() - 1;
    }
    for (int launch = 1; launch <= launches; ++launch)
      if (Verdict verdict = runCase(known->second, program, test); !verdict.good()) {
        verdict.text += launch > 1 ? fmt::format("\nin launch {} of {}", launch, launches) : "";
        return verdict;
      }
  }
  return {};
}

} // namespace flashqla::random
