/// Executes a program for one CTA: tells the machine each access in the order of each role, and computes values.
///
/// Roles run one after the other, each until it must wait. Copies and products take effect where they are issued: what a
/// right kernel computes does not depend on when, and the machine finds those for which it would.
#pragma once

#include "compiler/sim/lanes.h"
#include "compiler/sim/machine.h"

#include <map>

namespace flashqla::sim {

class Interpreter {
public:
  struct Launch {
    const Program &program;
    std::vector<GlobalTensor> &tensors;
    Registers registers; ///< dims, axes and scalars are set
    int32_t block = 0;   ///< number of the CTA
    bool values = true;
    int64_t stepLimit = 0; ///< of all roles; 0: none
    bool alone = false;    ///< no other CTA runs meanwhile
  };
  explicit Interpreter(Launch launch);

  void run();

  // ---- what `run` does, for those who choose the order of the roles (timeline.h)

  /// What all roles share.
  void start();
  /// The step that a role makes next; null where it has ended, or a mistake has ended the run.
  const Step *next(uint32_t role) const;
  /// Makes it. False: it is a wait for what has not happened; other roles come first.
  bool step(uint32_t role);
  /// After no role can move.
  void finish();

  const Machine &machine() const { return checker; }
  const Registers &registers() const { return launch.registers; }
  int64_t steps() const { return stepCount; }
  /// The most iterations that each loop made in a row.
  const std::map<Where, int64_t> &trips() const { return longest; }

private:
  struct Role {
    uint32_t id;
    const std::vector<Step> *steps;
    size_t next = 0;
    bool done = false;
    Machine::Blocked waiting{};
  };
  struct Fragment {
    bool written = false;
    int64_t writes = 0, reads = 0; ///< last product group that writes it, reads it
    Where writtenAt = nowhere, readAt = nowhere;
  };

  void build();
  /// False: the role must wait.
  bool execute(Role &role, const Step &step);
  bool control(Role &role, const Step &step);
  void giveUp(Role &role, FindingKind kind, const Step &step, std::string message); ///< there is no end to wait for
  void checkDivision();
  bool synchronise(Role &role, const Step &step, bool &advanced);
  void checkPlace(const Step &step, Reg slot, Reg parity, int64_t generation, int64_t slots);

  // interpret_copies.cpp
  void bulkCopy(Role &role, const Step &step);
  void boxLoad(Role &role, const Step &step);
  void boxStore(Role &role, const Step &step);
  void threadCopy(Role &role, const Step &step);
  void transfer(const Step &step, const Window &to, const Window &from);
  struct Box {
    Window window;                   ///< in the tensor
    bool exact = true;
  };
  Window boxWindow(const Step &step, uint32_t tensor);
  Window panelWindow(const Step &step, const Reference &tile, const TensorBox &box);
  void checkExtent(const Step &step, const Window &window);

  // interpret_values.cpp
  void product(Role &role, const Step &step);
  void inverse(Role &role, const Step &step);
  void map(Role &role, const Step &step);
  void declareFragment(const Step &step);
  void touchFragment(Role &role, uint32_t fragment, bool write, Where where);

  Window resolve(const Reference &reference, const Step &step);
  Machine::Window shared(const Window &window, Where where = nowhere) const;
  Machine::Window global(const Window &window) const;
  /// The same of a tensor that the kernel writes; nothing of another one.
  std::optional<Machine::Window> written(const Window &window) const;
  void touchTensor(uint32_t tensor, const Window &window, bool write, Where where);
  void touchElement(uint32_t tensor, int64_t offset, bool write, Where where);
  Region region(const MapAccess &access, const MapBody &map, const Window &window) const;
  bool inside(const Region &touched, const Window &window, const ElementAccess &element);
  std::string name(const Reference &reference) const;

  Launch launch;
  const Program &program;
  Machine checker;
  Storage storage;
  Lanes lanes;
  std::vector<Role> roles;
  std::vector<Fragment> fragments;
  std::vector<int64_t> tensorTiles; ///< machine tile of each tensor; -1 for those that are only read
  std::unordered_map<const Step *, int64_t> iterations; ///< of the loops that roles are in
  std::map<Where, int64_t> longest;
  bool gaveUp = false;
  int64_t stepCount = 0;
};

} // namespace flashqla::sim
