# What `test` and `bench` share: where the library is, and a pkg-config file that says so.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)

fail() {
    echo "bindings/go: $*" >&2
    exit 1
}

for command in go cc pkg-config; do
    command -v "$command" >/dev/null && continue
    [ "${CI:-}" != true ] || fail "$command was not found, and with CI=true nothing is skipped"
    echo "SKIPPED: bindings/go: $command was not found"
    exit 0
done

library=$(realpath -m "${TOOLNEXUS_LIBRARY:-$root/target/dist/libtoolnexus.so}")
include=$(realpath -m "${TOOLNEXUS_INCLUDE:-$root/include}")
[ -f "$library" ] || fail "there is no library at $library: build it with \`make library\`, or set TOOLNEXUS_LIBRARY"
: "${TOOLNEXUS_TINY:=$root/target/debug/examples/tiny-server}" "${TOOLNEXUS_HOSTILE:=$root/target/debug/examples/hostile-server}"
for server in "$TOOLNEXUS_TINY" "$TOOLNEXUS_HOSTILE"; do
    [ -x "$server" ] || fail "there is no server at $server: build it with \`cargo build --examples\`, or set TOOLNEXUS_TINY and TOOLNEXUS_HOSTILE"
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Always the same place: go's build cache does not ask pkg-config again, and would look in a folder that is gone.
links=$root/.deps/go
rm -rf "$links"
mkdir -p "$links"
ln -s "$library" "$links/libtoolnexus.so"
ln -s "$library" "$links/libtoolnexus.so.0"
cat >"$links/toolnexus.pc" <<P
Name: toolnexus
Description: the library that is tested
Version: 0
Libs: -L$links -ltoolnexus -Wl,-rpath,$links
Cflags: -I$include
P
export TOOLNEXUS_TINY TOOLNEXUS_HOSTILE
export TOOLNEXUS_LIBRARY=$links/libtoolnexus.so.0 PKG_CONFIG_PATH=$links
# These, unlike what pkg-config says, are part of what the cache goes by.
export CGO_CFLAGS=-I$include CGO_LDFLAGS=-L$links
