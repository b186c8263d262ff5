-- Part of every script: names, the clock, and reading and writing one string per counter.
--
-- KEYS     one per charge, in the batch's order; the same counter may stand there more than once
-- ARGV[1]  the packed arguments (request_args.cpp writes them): all integers are 7 octets,
--          little-endian, signed, because that holds every number up to 2^53 and nothing is
--          converted through Lua's "%.14g"
-- Every number is an integer within 2^53, so a double holds it exactly, and so do floor(a / b) and
-- ceil(a / b) of two such numbers. A check decides first and writes last: it cannot stop half way.
local call, pcall = redis.call, redis.pcall
local floor, ceil = math.floor, math.ceil
local pack, unpack = struct.pack, struct.unpack
local byte, sub = string.byte, string.sub
local exact_max = 9007199254740992

-- Tables are made with all their fields at once: one that grows field by field is built anew each time
-- it doubles, which would be most of the cost of a call.
local algorithms = {[0] = false, false, false, false, false}
local args = ARGV[1]
local flags, clock, at = unpack('<Bi7', args, 1)
local is_peek = flags % 2 == 1
local is_record = flags % 4 >= 2
local is_undo = flags % 8 >= 4
local wants_images = flags % 16 >= 8
-- A test may bring its own time; Redis' clock does not follow it, so nothing may expire meanwhile.
local spare_ms = 1
if flags >= 128 then
  spare_ms = 3600000
else
  -- Read once: before Redis 7.2 a second reading in the same script differs.
  local t = call('TIME')
  clock = t[1] * 1000000 + t[2]
end

-- A working copy of what is stored under `key`. What is there but not ours counts as never seen and
-- is written over.
local function fetch(key, algorithm)
  local s = {0, 0, 0, 0, 0, key = key, algorithm = algorithm, value = '', present = false,
             changed = false, charge = false, written = false, restored = false}
  if algorithm.fetch then
    algorithm.fetch(s)
  else
    local value = pcall('GET', key)
    s.value = type(value) == 'string' and byte(value, 1) == algorithm.tag and value or ''
  end
  algorithm.open(s)
  return s
end

-- `ticks` from now on the state is as if untouched. At least until the present tick is over.
local function store(c, s, value, ticks)
  if ticks < 1 then ticks = 1 end
  s.written = value
  call('PSETEX', s.key, ceil(ticks * c.tick / 1000) + spare_ms, value)
end
