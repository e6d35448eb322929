#!/bin/sh
# Installs the Debian packages that a source build needs, if they are missing. $1: the Python to build for.
set -eu
python=${1:-python3}
missing=

need() { missing="$missing $1"; }

command -v g++ >/dev/null || need g++
command -v cmake >/dev/null || need cmake
command -v ninja >/dev/null || need ninja-build
command -v bwrap >/dev/null || need bubblewrap
command -v riscv64-unknown-elf-gcc >/dev/null || need gcc-riscv64-unknown-elf # kernels for gemmini
[ -e /usr/include/xbyak/xbyak.h ] || [ -e /usr/local/include/xbyak/xbyak.h ] || need libxbyak-dev
if ! command -v "$python" >/dev/null; then
    need python3; need python3-venv; need python3-dev
else
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        echo "strop needs Python 3.11 or newer; $python is $("$python" -V). Say which one: make PYTHON=python3.12" >&2
        exit 1
    }
    "$python" -c 'import ensurepip, venv' 2>/dev/null || need python3-venv
    "$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || need python3-dev
fi

[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "missing, by their Debian names:$missing. Install their like with this system's package manager, then run make again." >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null; then
    as_root=sudo
else
    echo "missing packages, and neither root nor sudo is at hand. As root: apt-get install$missing" >&2
    exit 1
fi

echo "installing$missing"
$as_root apt-get update -qq
# shellcheck disable=SC2086 # the list is meant to split
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
