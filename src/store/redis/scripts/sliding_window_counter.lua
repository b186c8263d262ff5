-- Sliding window counter: quota/sliding_counter.cpp in Lua.
-- State: s[1] window, s[2] current, s[3] previous, s[4] burst window, s[5] burst used.
local function sliding_counter_read(c)
  c.period, c.burst, c.burst_period, at = unpack('<i7i7i7', args, at)
end

local function sliding_counter_open(s)
  local size = #s.value
  s.present = size == 22 or size == 36
  s[1], s[2], s[3], s[4], s[5] = 0, 0, 0, 0, 0
  if size == 22 then
    s[1], s[2], s[3] = unpack('<i7i7i7', s.value, 2)
  elseif size == 36 then
    s[1], s[2], s[3], s[4], s[5] = unpack('<i7i7i7i7i7', s.value, 2)
  end
end

local function within(n, most)
  return n < 0 and 0 or n > most and most or n
end

-- Sets index, current, previous, elapsed, late, moved of c: the two windows as they are at now.
local function roll_pair(c, s)
  local count, period = c.capacity - c.burst, c.period
  local real = floor(c.now / period)
  c.index, c.current, c.previous, c.late, c.moved = real, 0, 0, 0, false
  c.elapsed = c.now - real * period
  local current, previous = within(s[2], count), within(s[3], count)
  if not s.present or s[1] < real - 1 or (current == 0 and previous == 0) then return end
  if s[1] == real - 1 then
    c.previous = current
  elseif s[1] <= real + 1 then
    c.current, c.previous = current, previous
    if s[1] > real then  -- one window back: no time has passed
      c.index, c.late, c.elapsed = s[1], period - c.elapsed, 0
    end
  else  -- further back: what is used stays used, stamped now
    local both = previous + current
    c.current, c.moved = both < count and both or count, true
  end
end

local function left_of_pair(c)
  local left = (c.capacity - c.burst - c.current) * c.period - c.previous * (c.period - c.elapsed)
  return left < 0 and 0 or floor(left / c.period)
end

local function wait_counter(c, k)
  if k <= left_of_pair(c) then return 0 end
  local count, period = c.capacity - c.burst, c.period
  local room = count - k - c.current
  if room >= 0 then return c.late + period - c.elapsed - floor(period * room / c.previous) end
  -- Not before the next window, in which `current` plays the previous one.
  return c.late + 2 * period - c.elapsed - floor(period * (count - k) / c.current)
end

local function sliding_counter_take(c, s, cost, keep)
  roll_pair(c, s)
  roll_burst(c, s[4], s[5])
  local left = left_of_pair(c)
  c.admitted = cost <= c.capacity and cost <= left + c.burst_left
  if c.admitted and cost > 0 then
    local base = cost < left and cost or left
    c.current = c.current + base
    charge_burst(c, cost - base)
    left = left_of_pair(c)
  end
  if keep and cost > 0 and (c.admitted or c.moved or c.burst_moved) then
    s.present, s.changed = true, true
    s[1], s[2], s[3], s[4], s[5] = c.index, c.current, c.previous, c.burst_index, c.burst_used
  end
  local reset = 0
  if c.current > 0 then
    reset = c.late + 2 * c.period - c.elapsed
  elseif c.previous > 0 then
    reset = c.late + c.period - c.elapsed
  end
  report_window(c, cost, left, reset, wait_counter)
end

local function sliding_counter_save(c, s)
  local base = 0
  if s[2] > 0 then
    base = ends_in(c, s[1] + 1, c.period)
  elseif s[3] > 0 then
    base = ends_in(c, s[1], c.period)
  end
  local burst = burst_ends_in(c, s[4], s[5])
  local value
  if s[5] == 0 and s[4] == 0 then
    value = pack('<Bi7i7i7', 99, s[1], s[2], s[3])
  else
    value = pack('<Bi7i7i7i7i7', 99, s[1], s[2], s[3], s[4], s[5])
  end
  store(c, s, value, base > burst and base or burst)
end

algorithms[3] = {
  tag = 99, read = sliding_counter_read, open = sliding_counter_open, take = sliding_counter_take,
  save = sliding_counter_save, horizon = longest_window
}
