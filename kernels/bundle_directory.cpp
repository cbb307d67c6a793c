#include "kernels/bundle_directory.h"

namespace flashqla {

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

Expected<Bundle> BundleDirectory::provide(const KernelRequest &request) {
  const std::string path = directory + "/" + bundleFileName(request);
  Expected<Bundle> bundle = Bundle::read(path);
  if (!bundle)
    return Error(bundle.error())
        .withNote("made by `flashqlac compile " + compileArguments(request) + " -o " + path + "`");
  return bundle;
}

} // namespace flashqla
