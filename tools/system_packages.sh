#!/bin/sh
# Install what a program needs from the system, where it is missing: system_packages.sh PROGRAM[=PACKAGE] …
# A package has its program's name unless another is given, as in psql=postgresql.
set -eu

missing=""
for wanted in "$@"; do
    command -v "${wanted%%=*}" >/dev/null 2>&1 || missing="$missing ${wanted#*=}"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    run=""
elif [ "$(id -u)" -eq 0 ]; then
    run="env"
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    run="sudo -n env"
else
    run=""
fi
if [ -z "$run" ]; then
    echo "Not installed here:$missing. Install that with your system's package manager (as root: apt-get install$missing), then run make again." >&2
    exit 1
fi
# shellcheck disable=SC2086 # both are lists of words
$run DEBIAN_FRONTEND=noninteractive apt-get update -q
$run DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
