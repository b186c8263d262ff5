-- Windows aligned to the Unix epoch, and the burst of a window algorithm: quota/window.hpp in Lua.
-- Ends are counted from now, so that every number stays as small as a period.

-- The window as it is at now: index, used, moved by a clock that went far back.
local function roll(index, used, current)
  if used <= 0 or index < current then return current, 0, false end
  if used > exact_max then used = exact_max end
  if index > current + 1 then return current, used, true end
  return index, used, false
end

-- Ticks from now until window `index` of `period` ends.
local function ends_in(c, index, period)
  local current = floor(c.now / period)
  return (index - current + 1) * period - (c.now - current * period)
end

local function weigh_burst(c)
  c.burst_left, c.burst_end = 0, 0
  if c.burst == 0 then return end
  if c.burst_used < c.burst then c.burst_left = c.burst - c.burst_used end
  if c.burst_used > 0 then c.burst_end = ends_in(c, c.burst_index, c.burst_period) end
end

local function roll_burst(c, index, used)
  c.burst_moved = false
  if c.burst > 0 then
    index, used, c.burst_moved = roll(index, used, floor(c.now / c.burst_period))
  end
  c.burst_index, c.burst_used = index, used
  weigh_burst(c)
end

local function charge_burst(c, units)
  if units == 0 then return end
  c.burst_used = c.burst_used + units
  weigh_burst(c)
end

-- `wait_for(c, k)`: ticks until the base has k units left at once if nothing else comes.
local function report_window(c, cost, left, reset, wait_for)
  local count = c.capacity - c.burst
  local next = left < count and wait_for(c, left + 1) or 0
  if c.burst_end > 0 and (next == 0 or c.burst_end < next) then next = c.burst_end end
  c.left, c.next = left + c.burst_left, next
  c.reset = reset > c.burst_end and reset or c.burst_end
  c.never, c.retry = cost > c.capacity, 0
  if c.admitted or c.never then return end
  -- What is left only grows with time, in both parts: the first moment at which they suffice
  -- together is before the burst is whole again or at a wait for the rest from the base.
  local rest, need = cost - c.burst, cost - c.burst_left
  local whole = rest > 0 and wait_for(c, rest) or 0
  if c.burst_end > whole then whole = c.burst_end end
  local part = need <= count and wait_for(c, need) or whole
  c.retry = part < whole and part or whole
end

local function longest_window(c) return 2 * c.period + c.burst_period end

local function burst_ends_in(c, index, used)
  return c.burst > 0 and used > 0 and ends_in(c, index, c.burst_period) or 0
end
