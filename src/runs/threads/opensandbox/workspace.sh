# What a payload does in a sandbox. In front of it stand the variables: b, rye's folder; s, the
# files in, out and err of this payload, without their endings; p, a path in plain parts; and those
# of one function, which is called behind it. The last line that it prints is what came of it.

die() {
  echo "rye $1"
  exit
}

# Into the folder of $p, through no link; its last part is $n then.
go() {
  cd "$b/workspace" 2>/dev/null || die gone
  while n=${p%%/*} && [ "$n" != "$p" ]; do
    [ -L "./$n" ] && die link
    [ -e "./$n" ] || die none
    [ -d "./$n" ] || die not_folder
    cd "./$n" 2>/dev/null || die denied
    p=${p#*/}
  done
}

there() {
  [ -L "./$n" ] && die link
  [ -e "./$n" ] || die none
}

# Tells how it ended, and ends whatever it started: a group that is not its own is not there.
end() {
  echo "rye end $1 $(wc -c <"$s.out") $(wc -c <"$s.err")"
  kill -KILL -$$ 2>/dev/null
  exit
}

run_command() {
  p="$p/."
  go
  # Apart, so that what this shell says of a signal is not among the output.
  (exec env HOME="$b/workspace" LANG=C.UTF-8 "$@" /bin/sh -c "$cmd" <"$s.in" >"$s.out" 2>"$s.err")
  end $?
}

read_file() {
  go
  there
  [ -f "./$n" ] || die not_regular
  [ -r "./$n" ] || die denied
  [ "$(wc -c <"./$n")" -le "$most" ] || die large
  cat "./$n" >"$s.out" 2>"$s.err"
  end $?
}

write_file() {
  [ "$(wc -c <"$s.in")" -eq "$size" ] || die lost
  cd "$b/workspace" 2>/dev/null || die gone
  while n=${p%%/*} && [ "$n" != "$p" ]; do
    [ -L "./$n" ] && die link
    mkdir "./$n" 2>/dev/null || [ -d "./$n" ] || {
      [ -e "./$n" ] && die link
      die denied
    }
    cd "./$n" 2>/dev/null || die denied
    p=${p#*/}
  done
  [ -d "./$n" ] && [ ! -L "./$n" ] && die folder
  [ -L "./$n" ] && rm -f "./$n"
  { chmod "$(printf %o $((mode & ~$(umask))))" "$s.in" && mv -f "$s.in" "./$n"; } 2>"$s.err"
  end $?
}

# Each name behind a `d` for a folder or a `-`, and in front of a NUL.
list_folder() {
  p="$p/."
  go
  [ -r . ] || die denied
  for n in ./* ./.[!.]* ./..?*; do
    [ -e "$n" ] || [ -L "$n" ] || continue
    kind=-
    [ -d "$n" ] && [ ! -L "$n" ] && kind=d
    printf '%s%s\0' "$kind" "${n#./}"
  done >"$s.out"
  end 0
}

exists() {
  go
  there
  end 0
}

rm -f "$s.out" "$s.err"
true >"$s.out" && true >"$s.err" || die full
