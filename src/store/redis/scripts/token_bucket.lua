-- Token bucket in GCRA form: quota/token_bucket.cpp in Lua.
local function token_bucket_read(c)
  c.num, c.den, c.tag, c.full, at = unpack('<i7i7i7i7', args, at)
end

local function token_bucket_open(s)
  s.present = #s.value == 29
  if s.present then s[1], s[2], s[3], s[4] = unpack('<i7i7i7i7', s.value, 2) end
end

local function token_bucket_take(c, s, cost, keep)
  local ahead, moved = distance(c, s)
  local num, full, capacity = c.num, c.full, c.capacity
  local fits = cost <= capacity and cost * num <= full - ahead
  local had = ahead
  if fits then ahead = ahead + cost * num end
  if keep and ((fits and cost > 0) or (moved and not fits)) then keep_distance(c, s, ahead, 0) end
  local left = floor((full - ahead) / num)
  c.admitted, c.never, c.left = fits, cost > capacity, left
  c.reset = ticks_until(c, ahead, 0)
  c.next = left < capacity and ticks_until(c, ahead, (capacity - left - 1) * num) or 0
  c.retry = not fits and not c.never and ticks_until(c, had, full - cost * num) or 0
end

local function token_bucket_save(c, s)
  store(c, s, pack('<Bi7i7i7i7', 98, s[1], s[2], s[3], s[4]), stored_time_left(c, s))
end

algorithms[0] = {
  tag = 98, read = token_bucket_read, open = token_bucket_open, take = token_bucket_take,
  save = token_bucket_save, horizon = longest_distance
}
