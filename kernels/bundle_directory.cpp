#include "kernels/bundle_directory.h"

#include <set>

namespace flashqla {

KernelRequest tileKernel(std::string file, std::string kernel, KernelParams params,
                         KernelDims staticDims) {
  KernelRequest request;
  request.file = std::move(file);
  request.kernel = std::move(kernel);
  request.params = std::move(params);
  request.staticDims = std::move(staticDims);
  return request;
}

std::string bundleFileName(const KernelRequest &request) {
  std::string name = request.kernel;
  char separator = '.';
  auto add = [&](const std::string &key, const std::string &value) {
    name += separator + key + value;
    separator = '-';
  };
  for (const auto &[key, value] : request.staticDims)
    add(key, std::to_string(value));
  for (const auto &[key, value] : request.params)
    add(key, value);
  return name + ".fqb";
}

std::string compileArguments(const KernelRequest &request) {
  std::string text = request.file + " -k " + request.kernel;
  for (const auto &[key, value] : request.staticDims)
    text += " -D " + key + "=" + std::to_string(value);
  for (const auto &[key, value] : request.params)
    text += " -D " + key + "=" + value;
  return text;
}

std::string bundleList(const std::vector<KernelRequest> &requests) {
  std::set<std::string> lines;
  for (const KernelRequest &request : requests)
    lines.insert(bundleFileName(request) + "\t" + compileArguments(request) + "\n");
  std::string text;
  for (const std::string &line : lines)
    text += line;
  return text;
}

Expected<Bundle> BundleDirectory::provide(const KernelRequest &request) {
  const std::string path = directory + "/" + bundleFileName(request);
  Expected<Bundle> bundle = Bundle::read(path);
  if (!bundle)
    return Error(bundle.error())
        .withNote("made by `flashqlac compile " + compileArguments(request) + " -o " + path + "`");
  return bundle;
}

} // namespace flashqla
