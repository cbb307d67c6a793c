// Errors of the environment as values: files, the driver, arguments of a launch.
//
// Nothing in the runtime throws. A function that can fail returns `Expected<T>`, a value or an
// `Error`. An `Error` has a stable name to test for, one sentence with the failing values, and
// notes:
//
//     Expected<Bundle> bundle = Bundle::read("gemm_nt.fqb");
//     if (!bundle) {
//       std::fputs(bundle.error().text().c_str(), stderr);
//       return 1;
//     }
//     use(*bundle);
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace flashqla {

/// What went wrong. `code` is the stable name that tests and callers compare, such as
/// "launch-where"; `message` is one sentence with the failing values and without the code.
struct Error {
  std::string code;
  std::string message;
  std::vector<std::string> notes;

  /// "message [code]", then one line "  note: …" per note; ends without a newline.
  std::string text() const {
    std::string result = message + " [" + code + "]";
    for (const std::string &note : notes)
      result += "\n  note: " + note;
    return result;
  }

  /// This error with one more note.
  Error withNote(std::string note) && {
    notes.push_back(std::move(note));
    return std::move(*this);
  }
};

/// A value of type T or an Error. Asking for the one that is not there is a bug of the caller and
/// asserts.
template <class T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() & { return *checked(); }
  const T &operator*() const & { return *const_cast<Expected *>(this)->checked(); }
  T &&operator*() && { return std::move(*checked()); }
  T *operator->() { return checked(); }
  const T *operator->() const { return const_cast<Expected *>(this)->checked(); }

  const Error &error() const & {
    assert(state.index() == 1 && "there is a value and no error");
    return *std::get_if<1>(&state);
  }
  Error &&error() && {
    assert(state.index() == 1 && "there is a value and no error");
    return std::move(*std::get_if<1>(&state));
  }

private:
  T *checked() {
    assert(state.index() == 0 && "there is an error and no value");
    return std::get_if<0>(&state);
  }

  std::variant<T, Error> state;
};

/// Success, or an Error: `Expected<void> f() { return {}; }`.
template <> class [[nodiscard]] Expected<void> {
public:
  Expected() = default;
  Expected(Error error) : failure(std::move(error)) {}

  explicit operator bool() const { return !failure.has_value(); }
  const Error &error() const & {
    assert(failure && "there is no error");
    return *failure;
  }
  Error &&error() && {
    assert(failure && "there is no error");
    return std::move(*failure);
  }

private:
  std::optional<Error> failure;
};

} // namespace flashqla
