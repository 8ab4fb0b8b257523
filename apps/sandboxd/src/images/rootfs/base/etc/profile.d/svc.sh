# A login shell forgets the PATH it was started with; what pip and npm install for the user is here.
export PATH="$HOME/.local/bin:$PATH"
export LANG="${LANG:-C.UTF-8}"
