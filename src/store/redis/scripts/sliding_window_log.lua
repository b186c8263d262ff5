-- Sliding window log: quota/log.cpp in Lua. One string: a head, then one record of 14 octets per tick
-- at which something was taken: the tick, and the units taken up to and with it (so that sums and the
-- k-th oldest unit are found by halving). Up to `small` octets are read at once and written whole;
-- beyond that only the records that matter are read and written.
-- Head: tag, records at the front that no longer count, units up to them, burst window, burst used.
local head_size, record_size, small = 29, 14, 2048

local function log_read(c)
  c.period, c.burst, c.burst_period, at = unpack('<i7i7i7', args, at)
end

-- s.first records are dropped, s.kept stored ones are in place, s.more holds tick, units, ... of
-- those that follow.
local function log_fetch(s)
  local value = pcall('GETRANGE', s.key, 0, small - 1)
  local size = type(value) == 'string' and #value or 0
  s.whole = size < small
  if not s.whole then size = call('STRLEN', s.key) end
  s.found = size >= head_size and byte(value, 1) == 108 and (size - head_size) % record_size == 0  -- l
  s.whole = s.whole or not s.found
  s.count = s.found and (size - head_size) / record_size or 0
  s.value = value
end

local function log_open(s)
  s.present, s.kept, s.more = s.found, s.count, {}
  s.first, s.base, s[1], s[2] = 0, 0, 0, 0
  if s.found then s.first, s.base, s[1], s[2] = unpack('<i7i7i7i7', s.value, 2) end
end

local function last_of(s) return s.kept + #s.more / 2 end

local function record(s, i)
  if i > s.kept then
    local j = 2 * (i - s.kept)
    return s.more[j - 1], s.more[j]
  end
  local begin = head_size + (i - 1) * record_size
  if s.whole or begin + record_size <= small then return unpack('<i7i7', s.value, begin + 1) end
  return unpack('<i7i7', call('GETRANGE', s.key, begin, begin + record_size - 1))
end

-- The last record in from..to whose tick is at most `tick`; from - 1 when none is.
local function find_tick(s, from, to, tick)
  while from <= to do
    local middle = floor((from + to) / 2)
    if (record(s, middle)) <= tick then from = middle + 1 else to = middle - 1 end
  end
  return to
end

-- The first record in from..to with at least `units` up to and with it; to + 1 when none has.
local function find_units(s, from, to, units)
  while from <= to do
    local middle = floor((from + to) / 2)
    local _, sum = record(s, middle)
    if sum >= units then to = middle - 1 else from = middle + 1 end
  end
  return from
end

-- Sets decides, moved, dead, base, used, charged of c: the log as it is at now.
local function view(c, s)
  local last = last_of(s)
  c.log, c.last, c.decides, c.moved, c.charged = s, last, c.now, false, 0
  c.dead, c.base, c.used = s.first, s.base, 0
  if last == s.first then return end
  local newest, sum = record(s, last)
  if newest > c.now then
    c.moved = newest - c.now > c.period
    if not c.moved then c.decides = newest end
  end
  local edge = c.decides - c.period
  if (record(s, s.first + 1)) <= edge then
    c.dead = find_tick(s, s.first + 1, last, edge)
    local _, base = record(s, c.dead)
    c.base = base
  end
  c.used = sum - c.base
end

-- Ticks from now until the units of tick `then_` have left the window.
local function leaves_in(c, then_)
  if c.moved and then_ > c.now then then_ = c.now end
  return then_ - c.now + c.period
end

local function left_of_log(c)
  local left = c.capacity - c.burst - c.used - c.charged
  return left < 0 and 0 or left
end

local function wait_log(c, k)
  local must_leave = c.used + c.charged + k - (c.capacity - c.burst)
  if must_leave <= 0 then return 0 end
  if must_leave > c.used then return c.decides - c.now + c.period end
  local i = find_units(c.log, c.dead + 1, c.last, c.base + must_leave)
  return leaves_in(c, (record(c.log, i)))
end

local function add_record(s, tick, units)
  local last = last_of(s)
  local sum = s.base
  if last > s.first then
    local newest
    newest, sum = record(s, last)
    if newest == tick then
      if last == s.kept then
        s.kept = last - 1
        s.more = {tick, sum + units}
      else
        s.more[#s.more] = sum + units
      end
      return
    end
  end
  s.more[#s.more + 1] = tick
  s.more[#s.more + 1] = sum + units
end

-- Everything at `tick` or later becomes one record at `tick`.
local function stamp_back(s, tick)
  local last = last_of(s)
  local before = find_tick(s, s.first + 1, last, tick - 1)
  if before == last then return end
  local _, sum = record(s, last)
  if before <= s.kept then
    s.kept, s.more = before, {tick, sum}
  else
    local more = {}
    for j = 1, 2 * (before - s.kept) do more[j] = s.more[j] end
    more[#more + 1], more[#more + 2] = tick, sum
    s.more = more
  end
end

local function log_take(c, s, cost, keep)
  view(c, s)
  roll_burst(c, s[1], s[2])
  local left = left_of_log(c)
  c.admitted = cost <= c.capacity and cost <= left + c.burst_left
  if c.admitted then
    c.charged = cost < left and cost or left
    charge_burst(c, cost - c.charged)
  end
  local reset = 0
  if c.charged > 0 then
    reset = c.decides - c.now + c.period
  elseif c.used > 0 then
    reset = leaves_in(c, (record(s, c.last)))
  end
  report_window(c, cost, left_of_log(c), reset, wait_log)
  if keep and cost > 0 and (c.admitted or c.moved or c.burst_moved) then
    s.present, s.changed = true, true
    s.first, s.base = c.dead, c.base
    if c.moved then stamp_back(s, c.now) end
    if c.charged > 0 then add_record(s, c.decides, c.charged) end
    s[1], s[2] = c.burst_index, c.burst_used
  end
end

local function log_save(c, s)
  local last = last_of(s)
  local ticks = last > s.first and (record(s, last)) - c.now + c.period or 0
  local burst = burst_ends_in(c, s[1], s[2])
  if burst > ticks then ticks = burst end
  local tail = ''
  for j = 1, #s.more, 2 do tail = tail .. pack('<i7i7', s.more[j], s.more[j + 1]) end
  local begin, stop = head_size + s.first * record_size, head_size + s.kept * record_size
  if s.whole then
    local body = stop > begin and sub(s.value, begin + 1, stop) or ''
    store(c, s, pack('<Bi7i7i7i7', 108, 0, s.base, s[1], s[2]) .. body .. tail, ticks)
  elseif s.first * 2 > s.count or last < s.count then
    local body = stop > begin and call('GETRANGE', s.key, begin, stop - 1) or ''
    store(c, s, pack('<Bi7i7i7i7', 108, 0, s.base, s[1], s[2]) .. body .. tail, ticks)
  else
    call('SETRANGE', s.key, 0, pack('<Bi7i7i7i7', 108, s.first, s.base, s[1], s[2]))
    if tail ~= '' then call('SETRANGE', s.key, stop, tail) end
    if ticks < 1 then ticks = 1 end
    call('PEXPIRE', s.key, ceil(ticks * c.tick / 1000) + spare_ms)
  end
end

algorithms[2] = {tag = false, read = log_read, fetch = log_fetch, open = log_open, take = log_take,
                 save = log_save, horizon = longest_window}
