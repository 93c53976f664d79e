#!/usr/bin/env bash
# The steps of the Dockerfile's first stage without a container: its COPYs into FOLDER/build, its RUNs there, with what
# they install in FOLDER/opt/jobledger. Ends with what that says of its version.
#
#   deploy/image-steps.sh FOLDER     FOLDER is made, and must not exist
set -euo pipefail

[ $# = 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ ! -e "$1" ] || { echo "$1 exists already" >&2; exit 2; }
sources=$(dirname "$(dirname "$(readlink -f "$0")")")
mkdir -p "$1/build"
folder=$(readlink -f "$1")
export PREFIX=$folder/opt/jobledger
cd "$folder/build"

copy() { # SOURCE... TARGET, as COPY does: of a folder, what is in it
  local target=${*: -1} source
  for source in "${@:1:$#-1}"; do
    case $target in */) mkdir -p "$target" ;; esac
    if [ -d "$sources/$source" ]; then source=$source/.; fi
    cp -R "$sources/$source" "$target"
  done
}

# One line an instruction: without comments and empty lines, what is continued joined.
sed -e '/^[[:space:]]*#/d' -e '/^[[:space:]]*$/d' "$sources/Dockerfile" | sed -e ':more' -e '/\\$/N; s/\\\n//; t more' |
  sed -n '/^FROM .* AS build$/,/^FROM /p' | sed '/^FROM /d' >"$folder/steps"

while read -r instruction arguments <&3; do
  case $instruction in
    ARG) name=${arguments%%=*}; [ -n "${!name:-}" ] || export "${arguments?}" ;;
    ENV) for variable in $arguments; do export "${variable?}"; done ;;
    COPY) echo "COPY $arguments"; eval "copy $arguments" ;;
    RUN) echo "RUN $arguments"; sh -euc "$arguments" ;;
    WORKDIR) ;;
    *) echo "$instruction: this script does not know that instruction" >&2; exit 2 ;;
  esac
done 3<"$folder/steps"
find . -name __pycache__ -prune -exec rm -rf {} +
exec "$PREFIX/bin/jobledger" --version
