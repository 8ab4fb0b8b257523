# A login shell forgets the PATH it was started with; what pip and npm install for the user is here.
export PATH="$HOME/.local/bin:${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
# A command that was given a PATH of its own gets that.
if [ -n "${_SVC_PATH+x}" ]; then
  export PATH="$_SVC_PATH"
  unset _SVC_PATH
fi
export LANG="${LANG:-C.UTF-8}"
