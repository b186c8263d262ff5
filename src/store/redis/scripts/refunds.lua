-- Taking back what was charged at tick c.charged_at, as far as it still counts: the refund functions
-- of quota/ in Lua, on working copies. In scripts that hold every algorithm.
local refunds = {}

refunds[0] = function(c, s)  -- token bucket
  local had = distance(c, s)
  local ahead = had - (c.cost < c.capacity and c.cost or c.capacity) * c.num
  if had > 0 and c.cost > 0 then keep_distance(c, s, ahead < 0 and 0 or ahead, 0) end
end

refunds[4] = function(c, s)  -- queue: only while nobody is scheduled behind it
  local had, moved = distance(c, s)
  if s[5] ~= c.charged_at or moved then return end
  local ahead = had - (c.cost < c.capacity and c.cost or c.capacity) * c.num
  if ahead < 0 then ahead = 0 end
  if ahead ~= had then keep_distance(c, s, ahead, -c.charged_at - 1) end
end

-- How a refund is shared out when it is not known which part was charged: window.hpp, split_refund.
local function split(cost, burst_first, base_most, burst_most)
  local base, burst
  if burst_first then
    burst = cost < burst_most and cost or burst_most
    base = cost - burst < base_most and cost - burst or base_most
  else
    base = cost < base_most and cost or base_most
    burst = cost - base < burst_most and cost - base or burst_most
  end
  return base, burst
end

-- Of the burst's window: whether the charge was made in it, and whether it ends before the base does,
-- `base_ends_in` ticks after the charge.
local function burst_of_charge(c, base_ends_in)
  local index = floor(c.charged_at / c.burst_period)
  local ends = (index + 1) * c.burst_period - c.charged_at
  return index == c.burst_index, ends <= base_ends_in
end

refunds[1] = function(c, s)  -- fixed window
  local index, used = roll(s[1], s[2], floor(c.now / c.period))
  roll_burst(c, s[3], s[4])
  local charged_index = floor(c.charged_at / c.period)
  local in_base = charged_index == index
  local base, burst = 0, 0
  if c.burst == 0 then
    if in_base then base = c.cost < used and c.cost or used end
  else
    local ends = (charged_index + 1) * c.period - c.charged_at
    local in_burst, burst_first = burst_of_charge(c, ends)
    base, burst = split(c.cost, burst_first, in_base and used or c.capacity - c.burst,
                        in_burst and c.burst_used or c.burst)
    if not in_base then base = 0 end
    if not in_burst then burst = 0 end
  end
  if base + burst == 0 then return end
  s.changed = true
  s[1], s[2], s[3], s[4] = index, used - base, c.burst_index, c.burst_used - burst
end

refunds[3] = function(c, s)  -- sliding window counter
  roll_pair(c, s)
  roll_burst(c, s[4], s[5])
  local charged_index = floor(c.charged_at / c.period)
  local back = c.index - charged_index
  local counted = back == 0 and c.current or back == 1 and c.previous or c.capacity - c.burst
  local in_base = back == 0 or back == 1
  local base, burst = 0, 0
  if c.burst == 0 then
    if in_base then base = c.cost < counted and c.cost or counted end
  else
    local ends = (charged_index + 2) * c.period - c.charged_at
    local in_burst, burst_first = burst_of_charge(c, ends)
    base, burst = split(c.cost, burst_first, counted, in_burst and c.burst_used or c.burst)
    if not in_base then base = 0 end
    if not in_burst then burst = 0 end
  end
  if base + burst == 0 then return end
  if back == 0 then c.current = c.current - base elseif back == 1 then c.previous = c.previous - base end
  s.changed = true
  s[1], s[2], s[3], s[4], s[5] =
    c.index, c.current, c.previous, c.burst_index, c.burst_used - burst
end

-- Takes up to `units` from the log's record at exactly `tick`. What follows it is written anew: the
-- sums there shrink.
local function remove(s, tick, units)
  local last = last_of(s)
  local i = find_tick(s, s.first + 1, last, tick)
  if units == 0 or i <= s.first or (record(s, i)) ~= tick then return 0 end
  local _, sum = record(s, i)
  local before = s.base
  if i > s.first + 1 then
    local _
    _, before = record(s, i - 1)
  end
  local taken = units < sum - before and units or sum - before
  if not s.whole then
    s.value, s.whole = call('GET', s.key), true
  end
  local more = {}
  for j = i, last do
    local then_, upto = record(s, j)
    if upto - taken > before or j > i then
      more[#more + 1], more[#more + 2] = then_, upto - taken
    end
  end
  s.kept, s.more, s.changed = i - 1, more, true
  return taken
end

refunds[2] = function(c, s)  -- sliding window log
  view(c, s)
  roll_burst(c, s[1], s[2])
  local expired = c.charged_at <= c.decides - c.period
  if c.burst == 0 then
    if not expired then remove(s, c.charged_at, c.cost) end
    return
  end
  local in_burst, burst_first = burst_of_charge(c, c.period)
  local rest = c.cost
  if burst_first then
    local most = in_burst and c.burst_used or c.burst
    rest = rest - (c.cost < most and c.cost or most)
  end
  if expired then
    local count = c.capacity - c.burst
    rest = rest - (rest < count and rest or count)
  else
    rest = rest - remove(s, c.charged_at, rest)
  end
  local back = burst_first and c.cost or rest
  if back > c.burst_used then back = c.burst_used end
  if in_burst and back > 0 then
    s[1], s[2], s.changed = c.burst_index, c.burst_used - back, true
  end
end
