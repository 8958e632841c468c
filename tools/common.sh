# What the scripts in tools/ share: `. "$(dirname "$0")/common.sh"`. Moves to the root of the repository.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
dist=$target/dist
cc=${CC:-cc}
cxx=${CXX:-c++}
warnings="-Wall -Wextra -Wpedantic -Werror"

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# logged LOG COMMAND...: runs the command, and keeps in the file what it prints.
logged() {
    local log=$1
    shift
    mkdir -p "$(dirname "$log")"
    "$@" 2>&1 | tee "$log"
}

# excerpt LOG: what it says about failures, wherever that is, and how it ends.
excerpt() {
    grep -aE -A 2 'FAIL|panicked at|^not ok|✖|^E  |ERROR|Traceback|error(\[|:)' "$1" | tail -n 25 || true
    echo "..."
    tail -n 15 "$1"
}

# compile SOURCE PROGRAM [ARGUMENT...]: a C11 program on the shared library, found where it was built.
compile() {
    local source=$1 program=$2
    shift 2
    mkdir -p "$(dirname "$program")"
    # shellcheck disable=SC2086 # several words
    $cc -std=c11 $warnings -Iinclude "$source" -o "$program" -L"$dist" -ltoolnexus -Wl,-rpath,"$dist" "$@"
}

# compile_cpp STANDARD SOURCE PROGRAM [ARGUMENT...]: the same for C++.
compile_cpp() {
    local standard=$1 source=$2 program=$3
    shift 3
    mkdir -p "$(dirname "$program")"
    # shellcheck disable=SC2086 # several words
    $cxx "-std=c++$standard" $warnings -Iinclude "$source" -o "$program" -L"$dist" -ltoolnexus -Wl,-rpath,"$dist" -pthread "$@"
}

# declared: the functions that the header declares, one a line.
declared() {
    sed -nE 's/^[a-z].*[ *](tn_[a-z0-9_]+)\(.*/\1/p' include/toolnexus.h | LC_ALL=C sort
}
