#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh BUILD_FOLDER COMPILER [FLAGS...] installs the build into a folder, then moves the folder, because an
# installation must work at any path. It checks that
# - a user's project finds the installation by find_package and by pkg-config, and cannot include private headers,
# - the programs that were written for earlier versions still build and run,
# - the sources can be a part of a user's project,
# - the library can be built without the lab,
# - the projects that `peal new` writes build, pass their tests and run (starters.sh).
set -euo pipefail
build="$1"
compiler="$2"
read -ra flags <<<"${*:3}"
here="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
root="$(realpath "$here/../..")"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "consume: $*" >&2
  exit 1
}

# install BUILD NAME installs into another folder, then moves the result to "$scratch/NAME".
install() {
  cmake --install "$1" --prefix "$scratch/staged" >/dev/null
  mv "$scratch/staged" "$scratch/$2"
}
# Prints the folder that has the libraries and the package's files of an installation.
library_folder() {
  dirname "$(find "$1" -name 'libpeal.*' -print -quit)"
}

echo "consume: the library alone needs no package of the lab and builds nothing else"
mkdir "$scratch/packages"
for package in liburing libcares libzstd libdeflate; do
  cp "$(pkg-config --variable=pcfiledir "$package")/$package.pc" "$scratch/packages/"
done
mkdir -p "$scratch/peal/sim"
ln -s "$root" "$scratch/peal/sim/tree"  # the folders above the tree may have any names
PKG_CONFIG_LIBDIR="$scratch/packages" cmake -G Ninja -S "$scratch/peal/sim/tree" -B "$scratch/alone" -DPEAL_LAB=OFF \
  -DPEAL_PRECOMPILE=OFF -DCMAKE_PROJECT_TOP_LEVEL_INCLUDES="$here/poor_machine.cmake" \
  -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
if ninja -C "$scratch/alone" -t targets all | grep '\.o: ' |
  grep -vE '^CMakeFiles/(peal\.dir|peal_(tls|sim|protobuf)\.dir/peal/(tls|sim|protobuf))/'; then
  fail "with PEAL_LAB=OFF the build has other objects than those of the library, or in the wrong target"
fi

# A build with tests makes shared libraries. These static libraries are made of the same object files.
for name in peal peal_tls peal_sim peal_protobuf; do
  find "$build/CMakeFiles/$name.dir" -name '*.o' -print0 | xargs -0 ar qc "$scratch/alone/lib$name.a"
done
install "$build" prefix
install "$scratch/alone" static
prefix="$scratch/prefix"
library="$(library_folder "$prefix")"
if [ -n "$(find "$scratch/static" -name '*.so')" ]; then
  fail "the libraries are shared, although nothing asks for that"
fi

echo "consume: exactly the public headers are installed"
(cd "$root" && find peal -name "*.h" -not -path "*/parts/*") | sort >"$scratch/public"
(cd "$prefix/include" && find . -type f -printf '%P\n') | sort >"$scratch/installed"
diff "$scratch/public" "$scratch/installed" || fail "installed headers differ from the public ones under peal/"
if grep -rqF "$root" "$library/cmake" "$library/pkgconfig"; then fail "the package files name the source folder"; fi
if [ -e "$build/bin/peal" ]; then
  "$prefix/bin/peal" --help >/dev/null || fail "the installed program does not start"
  for page in man/man1/peal.1 man/man1/peal-model.1 bash-completion/completions/peal \
    fish/vendor_completions.d/peal.fish zsh/site-functions/_peal; do
    [ -s "$prefix/share/$page" ] || fail "share/$page is not installed"
  done
fi

cp -r "$here" "$scratch/source"
for kind in static prefix; do
  echo "consume: find_package, $kind"
  cmake -S "$scratch/source" -B "$scratch/cmake-$kind" -DCMAKE_PREFIX_PATH="$scratch/$kind" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="${flags[*]}" >/dev/null
  cmake --build "$scratch/cmake-$kind" >/dev/null
  for program in consumer http_consumer sim_consumer protobuf_consumer api_0_1; do
    "$scratch/cmake-$kind/$program" || fail "the $program built through find_package failed"
  done
done

if [ -e "$build/bin/peal" ]; then
  "$here/starters.sh" "$prefix" "$compiler" "${flags[@]}" || fail "a project of peal new fails"
fi

echo "consume: the command on the front page builds the program on the front page"
command="$(sed -nE 's/^\$ (g\+\+ .*) && \.\/echo$/\1/p' "$root/README.md")"
[ -n "$command" ] || fail "README.md shows no command that builds the echo server"
(cd "$root" && export PKG_CONFIG_PATH="$(library_folder "$scratch/static")/pkgconfig" &&
  eval "${command/-o echo/-o "$scratch/echo"}") || fail "README.md's command does not build: $command"

echo "consume: pkg-config"
export PKG_CONFIG_PATH="$(library_folder "$scratch/static")/pkgconfig"
# shellcheck disable=SC2046
for program in consumer:peal http_consumer:peal sim_consumer:peal-sim protobuf_consumer:peal-protobuf; do
  "$compiler" -std=c++23 "${flags[@]}" "$here/${program%:*}.cc" -o "$scratch/consumer" \
    $(pkg-config --static --cflags --libs "${program#*:}") || fail "$program does not build with pkg-config's flags"
  "$scratch/consumer" || fail "$program, built through pkg-config, failed"
done

echo "consume: the project of the guide's first page"
cp -r "$root/examples/guide" "$scratch/guide"
cmake -S "$scratch/guide" -B "$scratch/guide/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="${flags[*]}" >/dev/null
cmake --build "$scratch/guide/build" >/dev/null || fail "the guide's first server does not build"
if "$scratch/guide/build/notes_server" nonsense 2>"$scratch/said"; then
  fail "the guide's first server accepts nonsense as an address"
fi
grep -q "^cannot listen on nonsense: " "$scratch/said" || fail "the guide's first server does not say what is wrong"

echo "consume: public headers include nothing that is not installed"
# shellcheck disable=SC2046
compile=("$compiler" -std=c++23 -fsyntax-only -x c++ $(pkg-config --cflags peal) -)
sed 's/.*/#include <&>/' "$scratch/public" | "${compile[@]}" ||
  fail "a public header includes a file that is not installed"
# The check above compiles all public headers together. `make lint` compiles each header by itself.

echo "consume: private headers cannot be included"
private="$(cd "$root" && find peal -path "*/parts/*.h" -print -quit)"
if echo "#include <$private>" | "${compile[@]}" 2>/dev/null; then
  fail "$private is private, but a user can include it"
fi

# Compiles only the consumer, with the commands that CMake has written for it. The library is not compiled again: the
# existing file is copied to its place.
for fetch in OFF ON; do
  echo "consume: peal's sources in a parent's project, FetchContent $fetch"
  parent="$scratch/parent-$fetch"
  cmake -G Ninja -S "$here/parent" -B "$parent" -DPEAL_SOURCE="$root" -DFETCH="$fetch" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="${flags[*]}" >/dev/null ||
    fail "cmake fails with peal as a part"
  place="$(ninja -C "$parent" -t targets all | grep -oE '^[^:]*/libpeal\.a')"
  cp "$scratch/alone/libpeal.a" "$parent/$place"
  object="$(ninja -C "$parent" -t targets all | grep -oE '^[^:]*consumer\.dir/[^:]*\.o')"
  mkdir -p "$parent/programs" "$parent/$(dirname "$object")"
  (cd "$parent" && ninja -t commands consumer | grep -F "$object" | bash -e) ||
    fail "the consumer does not build with peal as a part"
  "$parent/programs/consumer" || fail "the program built with peal as a part failed"
  DESTDIR="$scratch/nothing" cmake --install "$parent" >/dev/null
  if [ -e "$scratch/nothing" ]; then fail "peal as a part installs something"; fi
done
