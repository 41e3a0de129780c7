"""Parts of HPVM-C that are the same for every network, with gaps for names."""

from __future__ import annotations

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
  const bool told = fgets(line, sizeof line, fp) != nullptr;
  fclose(fp);
  line[strcspn(line, "\\r\\n")] = 0;
  if (!strcmp(line, "test")) return 1;
  if (!strcmp(line, "tune")) return 2;
  if (!told || !strcmp(line, "stop")) return 0;
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
