"""Emit HPVM-C as HPVM's frontend does: leaf functions, root, structs, main."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec

from assay.native.graph import Shape
from assay.native.hpvm.dataflow import INPUT, Dataflow, Leaf

INTRINSICS = {
    "conv": "convolution",
    "group_conv": "group_convolution",
    "mul": "mul",
    "add": "add",
    "batchnorm": "batchnorm",
    "relu": "relu",
    "tanh": "tanh",
    "pool_max": "pool_max",
    "pool_mean": "pool_mean",
    "softmax": "softmax",
}
SETS = ("test", "tune")


class SourceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a program besides its network."""

    data_dir: str  # of weights, inputs and labels
    src_dir: str  # of the program, and of its pipes and configurations
    batch_size: int
    images: Mapping[str, int]  # set → number of images
    files: Mapping[str, str] = {}  # tensor → its file, if not TENSOR.bin


def program_source(flow: Dataflow, settings: SourceSettings) -> str:
    """`approxhpvm_src.cc`: computes a set and writes its accuracy to final_accuracy."""
    return "\n".join([HEAD, *_graph(flow), USAGE, *_main(flow, settings)]) + "\n"


def tuner_source(flow: Dataflow, settings: SourceSettings) -> str:
    """`approxhpvm_tuner_src.cc`: the same, controlled by `test`, `tune` or `stop` from a pipe."""
    pipes = PIPES.format(folder=_text(settings.src_dir))
    return "\n".join([HEAD, pipes, *_graph(flow), TUNER_USAGE, *_tuner_main(flow, settings)]) + "\n"


def weight_shape(leaf: Leaf, shape: Shape) -> tuple[int, int, int, int]:
    """The four sizes of a weight tensor in HPVM."""
    if len(shape) == 4:
        return shape[0], shape[1], shape[2], shape[3]
    return (1, 1, shape[0], shape[1]) if leaf.op == "mul" else (1, shape[0], 1, 1)


def _graph(flow: Dataflow) -> list[str]:
    tensors = [INPUT, *flow.tensors]
    parts = [_leaf_source(number, leaf) for number, leaf in enumerate(flow.leaves)]
    parts.append(_root_source(flow, tensors))
    fields = "\n".join(f"  void *{name};\n  size_t {name}_bytes;" for name in tensors)
    return [*parts, STRUCTS.format(fields=fields)]


def _leaf_source(number: int, leaf: Leaf) -> str:
    names = [f"t{index}" for index in range(1, len(leaf.inputs) + 1)]
    parameters = ", ".join(f"void *{name}, size_t bytes_{name}" for name in names)
    arguments = ", ".join([*names, *map(_number, leaf.numbers)])
    return (
        f"void {leaf.name}_node({parameters}) {{\n"
        f"  __hpvm__hint(hpvm::TENSOR_TARGET);\n"
        f"  __hpvm__attributes({len(names)}, {', '.join(names)}, 0);\n"
        f"  __hpvm__node_id({number + 1});\n\n"
        f"  void *r = __hpvm__tensor_{INTRINSICS[leaf.op]}({arguments});\n"
        f"  __hpvm__return(2, r, (size_t)0);\n}}\n"
    )


def _root_source(flow: Dataflow, tensors: Sequence[str]) -> str:
    parameters = ",\n          ".join(f"void *{name}, size_t {name}_bytes" for name in tensors)
    positions = {name: position for position, name in enumerate(tensors)}
    lines = [
        f"void root({parameters}) {{",
        "  __hpvm__hint(hpvm::CPU_TARGET);",
        f"  __hpvm__attributes({len(tensors)}, {', '.join(tensors)}, 0);",
    ]
    for leaf in flow.leaves:
        lines += ["", f"  void *{leaf.name} = __hpvm__createNodeND(0, {leaf.name}_node);"]
        for index, name in enumerate(leaf.inputs):
            for half in (0, 1):
                lines.append(f"  {_bind_input(leaf.name, name, index, half, positions)}")
    last = flow.leaves[-1].name
    lines += ["", *(f"  __hpvm__bindOut({last}, {half}, {half}, 0);" for half in (0, 1)), "}\n"]
    return "\n".join(lines)


def _bind_input(leaf: str, name: str, index: int, half: int, positions: Mapping[str, int]) -> str:
    """A tensor is a pointer and a size: `half` 0 and 1."""
    target = 2 * index + half
    if name in positions:
        return f"__hpvm__bindIn({leaf}, {2 * positions[name] + half}, {target}, 0);"
    return f"__hpvm__edge({name}, {leaf}, 1, {half}, {target}, 0);"


def _main(flow: Dataflow, settings: SourceSettings) -> list[str]:
    return [
        "int main(int argc, char *argv[]) {",
        OPTIONS.format(config='""'),
        *_reading(flow, settings),
        "  __hpvm__init();",
        '  if (config_path != "") llvm_hpvm_initializeRuntimeController(config_path.c_str());',
        "",
        *_arguments(flow),
        "",
        '  const bool tune = runtype == "tune";',
        *_batches(flow, settings, "tune", "  "),
        "    llvm_hpvm_invokeRtControl(result, labels_path.c_str(), start, end);",
        "    freeBatchMemory();",
        "  }",
        "  stopProfiling();",
        "  __hpvm__cleanup();",
        "  return 0;",
        "}",
    ]


def _tuner_main(flow: Dataflow, settings: SourceSettings) -> list[str]:
    return [
        "int main(int argc, char *argv[]) {",
        OPTIONS.format(config=_text(f"{settings.src_dir}/tuner_confs.txt")),
        *_reading(flow, settings),
        *_arguments(flow),
        "",
        "  int ret = 0;",
        "  while ((ret = fifo_wait())) {",
        "    __hpvm__init();",
        "    llvm_hpvm_initializeRuntimeController(config_path.c_str());",
        "    const bool tune = ret == 2;",
        '    FILE *fp = open_fifo(fifo_path("hpvm_fifo_w").c_str(), "wb");',
        "    float total_accuracy = 0;",
        *_batches(flow, settings, "tune", "    "),
        "      uint32_t *labels = readLabelsBatch3(labels_path.c_str(), start, end);",
        "      total_accuracy += computeAccuracy3(labels, result) * batch_size;",
        "      free(labels);",
        "      fifo_write_batch(fp, result);",
        "      freeBatchMemory();",
        "    }",
        "    stopProfiling();",
        "    write_accuracy(total_accuracy / (batch_count * batch_size));",
        "    fclose(fp);",
        "    __hpvm__cleanup();",
        "  }",
        "  return 0;",
        "}",
    ]


def _reading(flow: Dataflow, settings: SourceSettings) -> list[str]:
    lines = [f"  std::string dir_prefix = {_text(settings.data_dir.rstrip('/') + '/')};"]
    readers = {name: leaf for leaf in flow.leaves for name in leaf.inputs}
    for name, array in flow.tensors.items():
        sizes = ", ".join(map(str, weight_shape(readers[name], array.shape)))
        file = _text(settings.files.get(name, f"{name}.bin"))
        lines.append(f"  std::string {name}_path = dir_prefix + {file};")
        lines.append(f"  void *{name} = readTrainedWeights({name}_path.c_str(), 0, {sizes});")
    item = ", ".join(map(str, flow.shape))
    for split in SETS:
        lines.append(f'  std::string {split}_input_path = dir_prefix + "{split}_input.bin";')
        lines.append(f'  std::string {split}_labels_path = dir_prefix + "{split}_labels.bin";')
        lines.append(
            f"  void *{split}_input = readTrainedWeights({split}_input_path.c_str(), 0, "
            f"{settings.images[split]}, {item});"
        )
    return [*lines, ""]


def _arguments(flow: Dataflow) -> list[str]:
    lines = ["  RootIn *args = static_cast<RootIn *>(malloc(sizeof(RootIn)));"]
    values = {INPUT: "test_input", **{name: name for name in flow.tensors}}
    for name, value in values.items():
        lines += [f"  args->{name} = {value};", f"  args->{name}_bytes = 0;"]
    return [*lines, "  (void)tune_input;"]


def _batches(flow: Dataflow, settings: SourceSettings, tune: str, indent: str) -> list[str]:
    """The loop over batches up to a batch's result; the caller closes it."""
    item = ", ".join(map(str, flow.shape))
    test, tuned = (settings.images[split] for split in SETS)
    size = max(1, min(settings.batch_size, test, tuned))
    lines = [
        f"std::string input_path = {tune} ? tune_input_path : test_input_path;",
        f"std::string labels_path = {tune} ? tune_labels_path : test_labels_path;",
        f"const int batch_size = {size};",
        f"const int input_size = {tune} ? {tuned} : {test};",
        "const int batch_count = input_size / batch_size;",
        "startMemTracking();",
        "startProfiling();",
        "for (int i = 0; i < batch_count; i++) {",
        "  int start = i * batch_size, end = (i + 1) * batch_size;",
        f"  void *input = readInputBatch(input_path.c_str(), 0, start, end, {item});",
        "  args->input = input;",
        "  args->input_bytes = 0;",
        "  void *dfg = __hpvm__launch(0, root, (void *)args);",
        "  __hpvm__wait(dfg);",
        "  void *result = static_cast<RootIn *>(args)->r.tensor;",
        "  hpvm_request_tensor(result, 0);",
    ]
    return [indent + line for line in lines]


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) or value != int(value) else str(int(value))


def _text(text: str) -> str:
    """A C++ string literal: JSON's escapes are C++'s, except those of non-ASCII characters."""
    return json.dumps(text, ensure_ascii=False)


HEAD = """\
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cstring>
#include <hpvm.h>
#include <tensorUtils.h>
"""

STRUCTS = """\
struct ret_t {{
  void *tensor;
  size_t bytes;
}};

typedef struct __attribute__((__packed__)) {{
{fields}

  struct ret_t r;
}} RootIn;
"""

_USAGE = """\
void printUsage(const char *name, int status) {
  fprintf(status ? stderr : stdout,
          LINES,
          name);
  exit(status);
}
"""
_CONFIG = "  -c       a configuration: the only inexact one of FILE, or the one named NAME"


def _usage(*lines: str) -> str:
    text = "\n          ".join(f'"{line}\\n"' for line in lines)
    return _USAGE.replace("LINES", text)


USAGE = _usage(
    "Usage: %s [-t test|tune] [-c FILE[:NAME]]",
    "  -t, -d   which images it takes: test (if nothing is said) or tune",
    _CONFIG,
    "final_accuracy, in percent, and profile_info.txt are written to the current folder.",
)
TUNER_USAGE = _usage(
    "Usage: %s [-c FILE[:NAME]]",
    _CONFIG,
    "It waits for test, tune or stop in the pipe hpvm_fifo_r beside its source, and writes the",
    "outputs of each batch to hpvm_fifo_w; then final_accuracy, to the current folder.",
)

OPTIONS = """\
  std::string runtype = "test";
  std::string config_path = {config};
  int flag;
  while ((flag = getopt(argc, argv, "ht:d:c:")) != -1) {{
    switch (flag) {{
    case 't':
    case 'd':
      runtype = optarg;
      if (runtype != "test" && runtype != "tune") printUsage(argv[0], 2);
      break;
    case 'c':
      config_path = optarg;
      break;
    default:
      printUsage(argv[0], flag == 'h' ? 0 : 2);
    }}
  }}
"""

PIPES = """\
std::string fifo_path(const char *name) {{ return std::string({folder}) + "/" + name; }}

FILE *open_fifo(const char *path, const char *mode) {{
  if (mkfifo(path, 0600) != 0 && errno != EEXIST) {{
    fprintf(stderr, "error: %s cannot be made: %s\\n", path, strerror(errno));
    exit(2);
  }}
  FILE *fp = fopen(path, mode);
  if (!fp) {{
    fprintf(stderr, "error: %s cannot be opened: %s\\n", path, strerror(errno));
    exit(2);
  }}
  return fp;
}}

// 1: test, 2: tune, 0: stop. Nothing at all is an end too.
int fifo_wait() {{
  FILE *fp = open_fifo(fifo_path("hpvm_fifo_r").c_str(), "r");
  char line[100] = "";
  const bool has_line = fgets(line, sizeof line, fp) != nullptr;
  fclose(fp);
  line[strcspn(line, "\\r\\n")] = 0;
  if (!strcmp(line, "test")) return 1;
  if (!strcmp(line, "tune")) return 2;
  if (!has_line || !strcmp(line, "stop")) return 0;
  fprintf(stderr, "error: '%s' came by the pipe, but test, tune or stop is expected.\\n", line);
  exit(2);
}}

// Number of sizes, the sizes, the numbers.
void fifo_write_batch(FILE *fp, void *result) {{
  Tensor *output = static_cast<Tensor *>(result);
  size_t num_dims = output->dims.num_dims;
  fwrite(&num_dims, sizeof(size_t), 1, fp);
  fwrite(output->dims.dim_sizes, sizeof(size_t), num_dims, fp);
  fwrite(output->host_data, 1, output->size_in_bytes, fp);
}}

void write_accuracy(float accuracy) {{ dumpFinalAccuracy(accuracy); }}
"""
