-- Redis runs Lua 5.1 with these globals. `npm run lint` gives luacheck each script with its includes.
std = 'lua51'
read_globals = { 'redis', 'KEYS', 'ARGV', 'cjson', 'cmsgpack', 'bit', 'struct' }
max_line_length = 120
ignore = {
  '211/slot', -- A key that only names the slot.
  '431', -- A parameter of an include may have the name of a script's key.
}
