#!/bin/sh
# Install what a program needs from the system, where it is missing: system_packages.sh PROGRAM[=PACKAGE] …
# A package has its program's name unless another is given, as in psql=postgresql. Where a package
# cannot be installed, the script says so and succeeds; in CI it fails. With ASSAY_APT_CACHE=FOLDER,
# downloads are kept there, and used the next time.
set -u

missing=""
for wanted in "$@"; do
    command -v "${wanted%%=*}" >/dev/null 2>&1 || missing="$missing ${wanted#*=}"
done
[ -n "$missing" ] || exit 0

give_up() {
    echo "Not installed here:$1. Tests that need that are skipped; to run them, install it with your system's package manager (as root: apt-get install$1)." >&2
    [ -z "${CI:-}" ]
    exit
}

run=""
if command -v apt-get >/dev/null 2>&1; then
    if [ "$(id -u)" -eq 0 ]; then
        run="env"
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        run="sudo -n env"
    fi
fi
[ -n "$run" ] || give_up "$missing"

cache=""  # options of apt-get; a folder whose name has no spaces
if [ -n "${ASSAY_APT_CACHE:-}" ]; then
    mkdir -p "$ASSAY_APT_CACHE/partial"
    cache="-o Dir::Cache::archives=$ASSAY_APT_CACHE -o APT::Keep-Downloaded-Packages=true"
fi

install() {
    # shellcheck disable=SC2086 # lists of words
    $run DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $cache "$@"
}
$run DEBIAN_FRONTEND=noninteractive apt-get update -q || give_up "$missing"
# shellcheck disable=SC2086 # a list of words
install $missing && exit 0
failed=""  # a package that the system does not have stops none of the others
for package in $missing; do
    install "$package" || failed="$failed $package"
done
[ -z "$failed" ] || give_up "$failed"
