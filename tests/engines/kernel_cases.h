// Launches of the kernels other than GDN as data: what goes in, and what must come out. Any device
// can be asked:
//
//     for (const KernelCase &item : kernelCases()) {
//       const CaseData data = item.make();
//       expectResults(data.wanted, launchCase(device, kernel, data));
//     }
#pragma once

#include "flashqla/runtime.h"
#include "kernels/host_tensor.h"

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace flashqla {

struct CaseArgument {
  std::optional<HostTensor> tensor; // as it is before the launch
  Arg scalar = 0;
  bool written = false;
};

/// What a written tensor must be.
struct Wanted {
  std::string name;
  std::vector<double> values;
  double tolerance = 0; // of the relative error; 0: these very values
  double gaps = 0;      // what lay in its gaps, and still must
};

struct CaseData {
  std::vector<CaseArgument> arguments; // in the order of the signature
  std::vector<Wanted> wanted;          // of the written tensors, in their order
};

struct KernelCase {
  std::string name; // letters, digits and underscores
  KernelRequest request;
  std::function<CaseData()> make;
};

/// For GoogleTest.
inline void PrintTo(const KernelCase &item, std::ostream *out) { *out << item.name; }

/// Every kernel and variant at shapes with and without tails.
std::vector<KernelCase> kernelCases();

/// Runs it: the written tensors, gaps included. Throws what goes wrong (`must`).
std::vector<HostTensor> launchCase(const Device &device, const Kernel &kernel,
                                   const CaseData &data);

/// Compares with the reference, and looks at the gaps. `who` stands in messages.
void expectResults(const std::vector<Wanted> &wanted, const std::vector<HostTensor> &results,
                   const std::string &who = "the device");

} // namespace flashqla
