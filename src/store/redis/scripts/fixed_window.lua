-- Fixed window: quota/fixed_window.cpp in Lua.
-- State: s[1] window, s[2] used, s[3] burst window, s[4] burst used.
local function fixed_window_read(c)
  c.period, c.burst, c.burst_period, at = unpack('<i7i7i7', args, at)
end

local function fixed_window_open(s)
  local size = #s.value
  s.present = size == 15 or size == 29
  s[1], s[2], s[3], s[4] = 0, 0, 0, 0
  if size == 15 then
    s[1], s[2] = unpack('<i7i7', s.value, 2)
  elseif size == 29 then
    s[1], s[2], s[3], s[4] = unpack('<i7i7i7i7', s.value, 2)
  end
end

local function wait_fixed(c, k)
  return k <= c.capacity - c.burst - c.used and 0 or c.over
end

local function fixed_window_take(c, s, cost, keep)
  local index, used, moved = roll(s[1], s[2], floor(c.now / c.period))
  roll_burst(c, s[3], s[4])
  local count = c.capacity - c.burst
  local left = used < count and count - used or 0
  c.admitted = cost <= c.capacity and cost <= left + c.burst_left
  if c.admitted and cost > 0 then
    local base = cost < left and cost or left
    used, left = used + base, left - base
    charge_burst(c, cost - base)
  end
  if keep and cost > 0 and (c.admitted or moved or c.burst_moved) then
    s.present, s.changed = true, true
    s[1], s[2], s[3], s[4] = index, used, c.burst_index, c.burst_used
  end
  c.used, c.over = used, ends_in(c, index, c.period)
  report_window(c, cost, left, used > 0 and c.over or 0, wait_fixed)
end

local function fixed_window_save(c, s)
  local value
  if s[4] == 0 and s[3] == 0 then
    value = pack('<Bi7i7', 102, s[1], s[2])
  else
    value = pack('<Bi7i7i7i7', 102, s[1], s[2], s[3], s[4])
  end
  local base, burst = s[2] > 0 and ends_in(c, s[1], c.period) or 0, burst_ends_in(c, s[3], s[4])
  store(c, s, value, base > burst and base or burst)
end

algorithms[1] = {
  tag = 102, read = fixed_window_read, open = fixed_window_open, take = fixed_window_take,
  save = fixed_window_save, horizon = longest_window
}
