/// Signature, prologue, dispatch to roles, loops and branches.
#include "compiler/codegen/emitter.h"

#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashqla::tile;

namespace flashqla::codegen {

std::optional<EmittedKernel> emitKernel(KernelOp kernel, const SourceFiles &files, Diagnostics &diags,
                                        const EmitOptions &options) {
  return KernelEmitter(kernel, files, diags, options).emit();
}

KernelEmitter::KernelEmitter(KernelOp kernel, const SourceFiles &files, Diagnostics &diags, const EmitOptions &options)
    : kernel(kernel), options(options), files(files), diags(diags) {
  ranges.load<dataflow::DeadCodeAnalysis>();
  ranges.load<dataflow::SparseConstantPropagation>();
  ranges.load<dataflow::IntegerRangeAnalysis>();
  // Fails only for IR that does not verify, which has been reported by then.
  (void)ranges.initializeAndRun(kernel);
  result.threads = 128 * static_cast<int64_t>(kernel.getWarpgroupRegs().size());
}

std::optional<EmittedKernel> KernelEmitter::emit() {
  size_t before = diags.errorCount();
  // Names of the language and of the prelude that a value must not take.
  for (const char *name : {"shared", "warp", "lane", "role_warp", "role_lane", "a", "b", "k", "if", "for", "int", "float",
                           "bool", "double", "char", "short", "long", "auto", "do", "while", "else", "return", "switch",
                           "case", "new", "delete", "this", "class", "struct", "union", "enum", "const", "static",
                           "template", "typename", "operator", "and", "or", "not", "xor", "signed", "unsigned", "void",
                           "default", "break", "mbarrier", "continue", "goto", "using", "namespace", "public", "private", "max",
                           "min", "abs", "exp", "log", "sqrt", "printf", "asm", "u8", "u16", "u32", "u64", "i64"})
    taken.insert(name);
  emitSignature();
  emitPrologue();
  emitRoles();
  out.close();
  if (diags.errorCount() != before)
    return std::nullopt;
  std::string body = out.take();
  result.text = std::string(prelude()) + "\n" + instructions.text() + "\n" + body;
  return std::move(result);
}

namespace {

std::string cudaElement(Type type) {
  if (type.isF32())
    return "float";
  if (type.isBF16() || type.isF16())
    return "u16";
  if (type.isInteger(1))
    return "u8";
  return type.isInteger(64) ? "i64" : "int";
}

/// Whether the kernel reads or writes the tensor other than through a tensor map.
bool needsPointer(ArgumentOp argument) {
  SmallVector<Value> worklist{argument.getResult()};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (auto view = dyn_cast<ViewOp>(user))
        worklist.push_back(view.getResult());
      else if (!isa<TmaLoadOp, TmaStoreOp>(user))
        return true;
    }
  return false;
}

} // namespace

void KernelEmitter::emitSignature() {
  std::vector<std::string> parameters;
  auto add = [&](CudaParam::Kind kind, int index, int dimension, std::string text) {
    result.parameters.push_back({kind, index, dimension});
    parameters.push_back(std::move(text));
  };
  auto maps = kernel->getAttrOfType<ArrayAttr>("tensor_maps");
  for (size_t i = 0; maps && i < maps.size(); ++i)
    add(CudaParam::Kind::TensorMap, static_cast<int>(i), 0,
        fmt::format("const __grid_constant__ TensorMap map{}", i));

  std::map<std::string, ArgumentOp> tensors;
  std::map<std::string, ScalarOp> scalars;
  std::set<std::string> dims;
  kernel.walk([&](Operation *op) {
    if (auto argument = dyn_cast<ArgumentOp>(op))
      tensors.emplace(argument.getName().str(), argument);
    else if (auto value = dyn_cast<ScalarOp>(op))
      scalars.emplace(value.getName().str(), value);
    else if (auto dim = dyn_cast<DimOp>(op))
      dims.insert(dim.getName().str());
  });
  // Extents of all grid axes but the last take blockIdx apart.
  for (Attribute axis : kernel.getGrid().getValue().drop_back(kernel.getGrid().empty() ? 0 : 1)) {
    Expected<DimExpr> extent = DimExpr::parse(cast<DictionaryAttr>(axis).getAs<StringAttr>("extent").getValue().str());
    assert(extent && "the frontend writes expressions that parse");
    for (const std::string &name : extent->names())
      if (!scalars.count(name))
        dims.insert(name);
  }

  for (auto [index, entry] : llvm::enumerate(kernel.getArguments())) {
    auto dictionary = cast<DictionaryAttr>(entry);
    std::string name = dictionary.getAs<StringAttr>("name").getValue().str();
    int number = static_cast<int>(index);
    if (auto found = tensors.find(name); found != tensors.end() && needsPointer(found->second)) {
      ArgumentOp argument = found->second;
      bool constant = argument.getAccess() == tile::Access::In;
      name = names[argument.getResult()] = freshName(name);
      add(CudaParam::Kind::Pointer, number, 0,
          fmt::format("{}{} *{}{}", constant ? "const " : "", cudaElement(argument.getType().getElementType()),
                      constant ? "__restrict__ " : "", name));
      if (dictionary.getAs<StringAttr>("layout").getValue() != "packed")
        for (int64_t dim = 0; dim + 1 < argument.getType().getRank(); ++dim)
          add(CudaParam::Kind::Stride, number, static_cast<int>(dim), fmt::format("const i64 {}_stride{}", name, dim));
    } else if (auto found = scalars.find(name); found != scalars.end()) {
      auto type = dictionary.getAs<TypeAttr>("type").getValue();
      std::string cpp = type.isF32() ? "float" : type.isInteger(1) ? "bool" : type.isInteger(64) ? "i64"
                        : type.isInteger(32) ? "int" : "u16";
      name = scalarNames[name] = freshName(name);
      add(CudaParam::Kind::Scalar, number, 0, fmt::format("const {} {}", cpp, name));
    }
  }
  for (auto [index, name] : llvm::enumerate(kernel.getDims()))
    if (std::string text = cast<StringAttr>(name).getValue().str(); dims.count(text)) {
      scalarNames[text] = freshName(text);
      add(CudaParam::Kind::Dim, static_cast<int>(index), 0, fmt::format("const i64 {}_dim", scalarNames[text]));
    }
  bool asserts = false;
  kernel.walk([&](AssertOp) { asserts = true; });
  if (asserts)
    add(CudaParam::Kind::AssertBuffer, 0, 0, "u32 *assert_buffer");
  if (options.instrument) {
    result.timeline.emplace();
    timelineName = freshName("timeline");
    add(CudaParam::Kind::Timeline, 0, 0, fmt::format("u32 *{}", timelineName));
  }

  out.line("extern \"C\" __global__ void __launch_bounds__({}, {}) {}(", result.threads, kernel.getResident(),
           kernel.getSymName().str());
  for (size_t i = 0; i < parameters.size(); ++i)
    out.line("    {}{}", parameters[i], i + 1 < parameters.size() ? "," : "");
  out.open(")");
  for (const std::string &dim : dims)
    out.line("const int {} = (int){}_dim;", scalarNames[dim], scalarNames[dim]);
}

/// A dimension expression of the manifest as C++: its names are those of the kernel's parameters.
std::string KernelEmitter::expressionText(const std::string &text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && (isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
      ++end;
    if (end == i) {
      result += text[i++];
      continue;
    }
    std::string word = text.substr(i, end - i);
    auto found = scalarNames.find(word);
    result += found == scalarNames.end() ? word : found->second;
    i = end;
  }
  return result;
}

void KernelEmitter::emitAxes() {
  ArrayRef<Attribute> axes = kernel.getGrid().getValue();
  std::map<std::string, AxisOp> used;
  kernel.walk([&](AxisOp axis) { used.emplace(axis.getName().str(), axis); });
  std::string rest = "(int)blockIdx.x";
  for (size_t i = 0; i < axes.size(); ++i) {
    std::string name = cast<DictionaryAttr>(axes[i]).getAs<StringAttr>("name").getValue().str();
    std::string extent = cast<DictionaryAttr>(axes[i]).getAs<StringAttr>("extent").getValue().str();
    bool last = i + 1 == axes.size();
    std::string extentName;
    if (!last) {
      extentName = freshName(name + "_extent");
      out.line("const int {} = (int)({});", extentName, expressionText(extent));
    }
    std::string index = last ? rest : fmt::format("{} % {}", rest, extentName);
    if (used.count(name)) {
      scalarNames[name] = freshName(name);
      out.line("const int {} = {};", scalarNames[name], index);
    }
    if (!last) {
      std::string next = freshName("block");
      out.line("const int {} = {} / {};", next, rest, extentName);
      rest = next;
    }
  }
  kernel.walk([&](AxisOp axis) { names[axis.getResult()] = scalarNames[axis.getName().str()]; });
}

void KernelEmitter::emitPrologue() {
  Block &body = kernel.getBody().front();
  int64_t sharedBytes = kernel->getAttrOfType<IntegerAttr>("shared_bytes").getInt();
  emitTimelineStart();
  if (sharedBytes > 0) {
    out.line("extern __shared__ __align__(1024) u8 shared_memory[];");
    out.line("const u32 shared = shared_address(shared_memory);");
  }
  out.line("const u32 role_lane = threadIdx.x % 32;");
  for (auto op : body.getOps<SharedOp>()) {
    std::string name = names[op.getResult()] = freshName(op.getName().str());
    out.line("constexpr u32 {}_at = {};", name, *op.getByteOffset());
  }
  for (auto op : body.getOps<BarrierOp>()) {
    std::string name = names[op.getResult()] = freshName(op.getName().str());
    out.line("constexpr u32 {}_at = {};", name, *op.getByteOffset());
  }
  kernel.walk([&](DimOp dim) { names[dim.getResult()] = scalarNames[dim.getName().str()]; });
  kernel.walk([&](ScalarOp value) {
    std::string name = scalarNames[value.getName().str()];
    Type type = value.getResult().getType();
    names[value.getResult()] = type.isBF16() ? "from_bf16(" + name + ")" : type.isF16() ? "from_f16(" + name + ")" : name;
  });
  emitAxes();
  auto maps = kernel->getAttrOfType<ArrayAttr>("tensor_maps");
  bool barriers = !body.getOps<BarrierOp>().empty();
  if (barriers || (maps && !maps.empty())) {
    out.open("if (threadIdx.x < 32 && elect_one())");
    for (auto op : body.getOps<BarrierOp>())
      for (int64_t slot = 0; slot < op.getType().getSlots(); ++slot)
        out.line("mbarrier_init(shared + {}_at + {}, {});", names[op.getResult()], 8 * slot,
                 op->getAttrOfType<IntegerAttr>("arrivals").getInt());
    if (barriers)
      out.line("fence_mbarrier_init();");
    for (size_t i = 0; maps && i < maps.size(); ++i)
      out.line("prefetch_tensormap(&map{});", i);
    out.close();
    out.line("__syncthreads();");
  }
  out.line("griddepcontrol_launch_dependents();");
  out.line("griddepcontrol_wait();");
  for (Operation &op : body)
    if (!isa<RoleOp, SharedOp, BarrierOp, ArgumentOp, DimOp, AxisOp, ScalarOp>(op))
      emitOp(op);
}

void KernelEmitter::emitRoles() {
  ArrayRef<int64_t> budgets = kernel.getWarpgroupRegs();
  int64_t cap = std::min<int64_t>(255, 65536 / (result.threads * kernel.getResident()) / 8 * 8);
  bool equal = llvm::all_equal(budgets) && (budgets.empty() || budgets[0] <= cap);
  SmallVector<RoleOp> roles(kernel.getBody().front().getOps<RoleOp>());
  for (size_t i = 0; i < roles.size();) {
    // The roles of one warpgroup, or one role of several.
    int64_t group = roles[i].getFirstWarp() / 4;
    size_t end = i + 1;
    while (end < roles.size() && static_cast<int64_t>(roles[end].getFirstWarp()) / 4 == group)
      ++end;
    int64_t lastWarp = std::max<int64_t>(4 * (group + 1), roles[i].getLastWarp());
    bool only = static_cast<int64_t>(budgets.size()) * 4 == lastWarp && group == 0;
    if (only)
      out.open();
    else
      out.open("{}if (threadIdx.x < {})", i ? "else " : "", 32 * lastWarp);
    if (!equal && budgets[group] != cap)
      out.line("setmaxnreg_{}<{}>();", budgets[group] > cap ? "inc" : "dec", budgets[group]);
    for (size_t j = i; j < end; ++j)
      emitRole(roles[j]);
    out.close();
    i = end;
  }
}

void KernelEmitter::emitRole(RoleOp op) {
  role = op;
  genericSinceSync = true;
  std::set<std::string> outerNames = taken;
  bool whole = op.isWarpgroup();
  markLine(*op);
  if (whole)
    out.open();
  else
    out.open("if (threadIdx.x / 32 == {})", op.getFirstWarp());
  out.raw(fmt::format("// {}", op.getName().str()));
  out.line("const u32 role_warp = {};",
           whole ? fmt::format("threadIdx.x / 32{}", op.getFirstWarp() ? fmt::format(" - {}", op.getFirstWarp()) : "")
                 : std::string("0"));
  out.line("const u32 lane = role_lane, warp = role_warp;");
  beginTimeline(op);
  emitBlock(op.getBody().front());
  endTimeline();
  out.close();
  taken = std::move(outerNames);
  role = {};
}

namespace {

/// Arithmetic without effects, and windows.
bool isScalar(Operation &op) { return op.getNumRegions() == 0 && op.getNumResults() == 1 && isMemoryEffectFree(&op) && !isa<LoadOp>(op); }

} // namespace

void KernelEmitter::emitBlock(Block &block) {
  for (auto it = block.begin(); it != block.end();) {
    if (role && isElected(*it, role)) {
      SmallVector<Operation *> group;
      for (; it != block.end() && (isElected(*it, role) || isScalar(*it)); ++it)
        if (isElected(*it, role))
          group.push_back(&*it);
        else
          emitOp(*it); // coordinates of the copies that follow
      emitElected(group);
    } else {
      emitOp(*it++);
    }
  }
}

void KernelEmitter::markLine(Operation &op) {
  SourceRange range = files.range(&op);
  if (!range)
    return;
  std::string directive =
      fmt::format("#line {} \"{}\"", range.file->lineOf(range.begin), range.file->name());
  out.directive(directive);
}

void KernelEmitter::emitOp(Operation &op) {
  const std::optional<int64_t> step = timedStep(op);
  if (step)
    beginStatement();
  printOp(op);
  if (step)
    endStatement(*step);
}

void KernelEmitter::printOp(Operation &op) {
  if (!isa<arith::ConstantOp, ViewOp, SlotOp, scf::YieldOp>(op) && op.getNumResults() == 0)
    markLine(op);
  llvm::TypeSwitch<Operation *>(&op)
      .Case<ViewOp, SlotOp, scf::YieldOp, DimOp, AxisOp, ScalarOp, ArgumentOp>([](auto) {})
      .Case<scf::ForOp>([&](scf::ForOp loop) { emitFor(loop); })
      .Case<scf::IfOp>([&](scf::IfOp branch) { emitIf(branch); })
      .Case<FragOp>([&](FragOp frag) { emitFrag(frag); })
      .Case<WaitParityOp>([&](WaitParityOp wait) { emitWait(wait); })
      .Case<ArriveSlotOp>([&](ArriveSlotOp arrive) { emitArrive(arrive); })
      .Case<SyncOp>([&](SyncOp) { emitSync(); })
      .Case<FenceProxyOp>([&](FenceProxyOp fence) {
        out.line("fence_proxy_async{}();", fence.getGlobal() ? "_all" : "");
      })
      .Case<WgmmaGroupOp>([&](WgmmaGroupOp group) { emitWgmma(group); })
      .Case<WaitGroupOp>([&](WaitGroupOp wait) { emitWaitGroup(wait); })
      .Case<InverseOp>([&](InverseOp inverse) { emitInverse(inverse); })
      .Case<AssertOp>([&](AssertOp assertion) { emitAssert(assertion); })
      .Case<MapOp>([&](MapOp map) { emitMap(map); })
      .Case<CopyOp>([&](CopyOp copy) { emitCopy(copy); })
      .Case<AwaitOp>([&](AwaitOp await) { out.line("cp_async_wait_group<{}>();", await.getKeep()); })
      .Case<LoadOp>([&](LoadOp load) { points ? emitMapLoad(load, *points) : emitUniformLoad(load); })
      .Case<StoreOp>([&](StoreOp store) { emitMapStore(store, *points); })
      .Case<ReduceOp>([&](ReduceOp reduce) { points ? emitSequentialReduce(reduce) : emitUniformReduce(reduce); })
      .Case<ScanOp, YieldOp>([](auto) {}) // evaluated before the loop; by the op around it
      .Default([&](Operation *other) { emitScalar(*other); });
}

void KernelEmitter::emitFrag(FragOp frag) {
  std::string name = names[frag.getResult()] = freshName(frag.getName().str());
  Type element = frag.getType().getElementType();
  int64_t registers = layoutOf(frag).registers();
  bool packed = element.isBF16() || element.isF16();
  std::string type = packed ? "u32" : element.isF32() ? "float" : element.isInteger(64) ? "i64" : "int";
  out.line("{} {}[{}];", type, name, packed ? (registers + 1) / 2 : registers);
}

/// Thread indices and packed constants of a role's loop go through `opaque`, or everything that depends on them would be
/// hoisted out of the loop and spilled.
void KernelEmitter::refreshThreadIndices(scf::ForOp loop) {
  bool usesThreads = false;
  std::vector<FragOp> packed;
  loop.getBody()->walk([&](Operation *op) {
    if (isa<MapOp, CopyOp, InverseOp, WgmmaGroupOp, ReduceOp>(op))
      usesThreads = true;
    if (auto load = dyn_cast<LoadOp>(op); load && space(load.getSource()) == Space::Register) {
      auto frag = cast<FragOp>(declaration(load.getSource()));
      bool isPacked = elementBytes(frag.getType().getElementType()) == 2;
      if (isPacked && !loop->isAncestor(frag) && !llvm::is_contained(packed, frag))
        packed.push_back(frag);
    }
  });
  if (usesThreads && role && role.isWarpgroup())
    out.line("const u32 lane = opaque(role_lane), warp = opaque(role_warp);");
  for (FragOp frag : packed) {
    std::string name = names[frag.getResult()];
    out.directive("#pragma unroll");
    out.line("for (int k = 0; k < {}; ++k) {}[k] = opaque({}[k]);", (layoutOf(frag).registers() + 1) / 2, name, name);
  }
}

void KernelEmitter::emitFor(scf::ForOp loop) {
  std::set<std::string> outerNames = taken;
  // Loop-carried scalars are mutable variables.
  for (auto [argument, init, value] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs(), loop.getResults())) {
    std::string type = fitsInt(argument) && fitsInt(value) ? cppType(argument) : "i64";
    std::string name = nameValue(argument, "carried");
    outerNames.insert(name);
    out.line("{} {} = {};", type, name, scalar(init).text);
    names[value] = name;
  }
  Value index = loop.getInductionVar();
  std::string name = nameValue(index, "i");
  Code lower = scalar(loop.getLowerBound()), upper = scalar(loop.getUpperBound()), step = scalar(loop.getStep());
  std::string type = fitsInt(index) && fitsInt(loop.getUpperBound()) ? "int" : "i64";
  std::string increment = step.text == "1" ? "++" + name : fmt::format("{} += {}", name, step.text);
  out.directive("#pragma unroll 1");
  out.open("for ({} {} = {}; {} < {}; {})", type, name, lower.text, name, upper.in(Code::relation + 1), increment);
  refreshThreadIndices(loop);
  genericSinceSync = true;
  emitBlock(*loop.getBody());
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  SmallVector<std::pair<std::string, std::string>> updates;
  for (auto [argument, value] : llvm::zip_equal(loop.getRegionIterArgs(), yield.getOperands()))
    updates.push_back({names[argument], scalar(value).text});
  if (updates.size() == 1) {
    if (updates[0].first != updates[0].second)
      out.line("{} = {};", updates[0].first, updates[0].second);
  } else { // all new values before the first assignment
    std::vector<std::string> fresh;
    for (auto [i, entry] : llvm::enumerate(llvm::zip_equal(updates, loop.getRegionIterArgs()))) {
      auto [update, argument] = entry;
      fresh.push_back(freshName(update.first + "_next"));
      out.line("const {} {} = {};", cppType(argument), fresh.back(), update.second);
    }
    for (size_t i = 0; i < updates.size(); ++i)
      out.line("{} = {};", updates[i].first, fresh[i]);
  }
  out.close();
  taken = std::move(outerNames);
  genericSinceSync = true;
}

void KernelEmitter::emitIf(scf::IfOp branch) {
  std::set<std::string> outerNames = taken;
  for (Value value : branch.getResults()) {
    std::string type = cppType(value), name = nameValue(value, "chosen");
    outerNames.insert(name);
    out.line("{} {};", type, name);
  }
  auto arm = [&](Region &region) {
    emitBlock(region.front());
    if (auto yield = dyn_cast<scf::YieldOp>(region.front().getTerminator()))
      for (auto [value, operand] : llvm::zip_equal(branch.getResults(), yield.getOperands()))
        out.line("{} = {};", names[value], scalar(operand).text);
  };
  out.open("if ({})", scalar(branch.getCondition()).text);
  arm(branch.getThenRegion());
  if (!branch.getElseRegion().empty() && (branch.getNumResults() || branch.getElseRegion().front().getOperations().size() > 1)) {
    out.orElse();
    arm(branch.getElseRegion());
  }
  out.close();
  taken = std::move(outerNames);
  genericSinceSync = true;
}

} // namespace flashqla::codegen
