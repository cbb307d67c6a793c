// A random kernel as a tree of lines, with what is needed to launch it.
//
// The tree is what the minimiser cuts at: lines and blocks can be taken out, barriers lose the roles that are gone, and
// arguments that nothing mentions disappear.
#pragma once

#include "tests/random/number.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flashqla::random {

/// A line, or a block with its header: `for i in 0 .. n {`.
struct Node {
  std::string text = {};
  bool block = false;
  std::vector<Node> body = {};
  bool hasElse = false;
  std::vector<Node> otherwise = {};
  std::string role = {}; ///< name of the role that the block is
  /// An `await` of this tile, or "*", which needs a bulk store of it, or of any, somewhere in the role.
  std::string awaitedTile = {};

  static Node line(std::string text) { return {.text = std::move(text)}; }
  static Node braces(std::string header) { return {.text = std::move(header), .block = true}; }
};

struct Dim {
  std::string name = {};
  bool isStatic = false;
};

struct Argument {
  enum class Kind : std::uint8_t { Input, Output, InOut, Table, Real };
  std::string name = {};
  Kind kind = Kind::Input;
  std::string text = {}; ///< "in bf16[M, K] strided(16)"
  std::vector<std::string> sizes = {}; ///< of tensors
  Type type = Type::F32;
  Number number = {};    ///< of inputs: what they hold; of outputs: what is written
  double real = 0;  ///< of scalars
  bool strided = false;
  bool tight = false; ///< strides are multiples of 16 bytes
};

struct Barrier {
  std::string name = {};
  std::int64_t slots = 1;
  std::vector<std::string> arrivers = {}, waiters = {};
};

/// A case of the `check` clause.
struct Case {
  std::map<std::string, std::int64_t> dims = {};
  std::map<std::string, std::vector<std::int64_t>> tables = {};
};

struct Program {
  std::uint64_t seed = 0;
  std::vector<std::string> functions = {};
  std::vector<Dim> dims = {};
  std::vector<std::string> params = {}; ///< "E = bf16"
  std::vector<Argument> arguments = {};
  std::vector<std::string> wheres = {};
  std::vector<std::string> grid = {}; ///< "m: ceildiv(M, 64)"
  std::int64_t resident = 1;
  std::vector<Case> cases = {};
  std::vector<Node> lets = {}, shared = {};
  std::vector<Barrier> barriers = {};
  std::vector<Node> roles = {};
  /// What the program has in it, by names such as "product.a-transposed".
  std::set<std::string> features = {};

  /// The `.tile` file.
  std::string text() const;
  const Argument *argument(const std::string &name) const;
  /// The sizes of a tensor argument in a case.
  std::vector<std::int64_t> sizesOf(const Argument &argument, const std::map<std::string, std::int64_t> &dims) const;
};

/// Whether a word stands in a text.
bool mentions(const std::string &text, const std::string &word);
bool mentions(const std::vector<Node> &nodes, const std::string &word);

} // namespace flashqla::random
