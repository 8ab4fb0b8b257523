# Starts a shim, and later its sandbox beside it: the shim may nothing that the sandbox's start needs. It hears nothing that
# comes from either, but that one of them ended.
#   $1 directory for the pipes, for a moment; $2 file of the shim's system call filter; then what starts the shim.
#   0: the log and the command of the sandbox, quoted for a shell, then a dot. 3: what the shim reads as its input.
# The shim has 5 to write to its sandbox, 6 to read from it, 7 to read its exit code, and 2: a line there ends the sandbox,
# and so does its own end. Both end when this process does.
main() {
  pipes=$(mktemp -d "$1/pipes.XXXXXX") && filter=$2 && shift 2 && cd "$pipes" && mkfifo in out code kill || exit 1
  # Open for both ends first: to open one end of a pipe waits for the other.
  exec 4<>in 5>in 8<in
  exec 4<>out 6<out 9>out
  exec 4<>code 7<code
  exec 4>code 2<>kill
  "$@" <&3 3<"$filter" 4>&- 8<&- 9>&- &
  shim=$!
  exec 1<kill
  exec 2>/dev/null 3<&- 5>&- 6<&- 7<&-
  cd / && rm -r "$pipes"
  command=$(cat)
  # Nobody will ever need it, or who wrote the command died before it was whole.
  [ "${command% .}" != "$command" ] || exit 0
  eval "set -- ${command% .}"
  log=$1
  shift
  "$@" <&8 >&9 2>>"$log" 4>&- 8<&- 9>&- &
  sandbox=$!
  {
    read -r _
    kill -KILL "$sandbox"
  } <&1 4>&- 8<&- 9>&- &
  killer=$!
  exec 1>/dev/null 8<&- 9>&-
  wait "$sandbox"
  code=$?
  kill -KILL "$killer"
  echo "$code" >&4
  exec 4>&-
  wait "$shim"
}

# Read to its end before it begins: an upgrade may put another file in its place.
main "$@"
exit
