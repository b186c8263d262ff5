-- Token bucket in GCRA form: quota/token_bucket.cpp in Lua.
local token_bucket = {tag = 98}  -- b
algorithms[0] = token_bucket

function token_bucket.read(c)
  c.num, c.den, c.tag, c.full, at = unpack('<i7i7i7i7', args, at)
end

function token_bucket.open(s)
  s.present = #s.value == 29
  if s.present then s[1], s[2], s[3], s[4] = unpack('<i7i7i7i7', s.value, 2) end
end

function token_bucket.take(c, s, cost, keep)
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

token_bucket.horizon = longest_distance

function token_bucket.save(c, s)
  store(c, s, pack('<Bi7i7i7i7', 98, s[1], s[2], s[3], s[4]), stored_time_left(c, s))
end
