-- Leaky bucket as a queue: quota/leaky_bucket.cpp in Lua.
local function leaky_bucket_read(c)
  c.num, c.den, c.tag, c.full, c.max_wait, c.undelayed, at = unpack('<i7i7i7i7i7i7', args, at)
end

local function leaky_bucket_open(s)
  s.present = #s.value == 36
  if s.present then s[1], s[2], s[3], s[4], s[5] = unpack('<i7i7i7i7i7', s.value, 2) end
end

local function leaky_bucket_take(c, s, cost, keep)
  local ahead, moved = distance(c, s)
  local num, max_wait, capacity, now = c.num, c.max_wait, c.capacity, c.now
  local had = ahead
  c.delay = 0
  c.admitted = cost == 0 or (cost <= capacity and ahead <= max_wait)
  if c.admitted then
    if cost > 0 then
      ahead = ahead + cost * num
      c.delay = ticks_until(c, had, c.undelayed * num)
      if keep then
        local shared = s.present and (s[5] == now or s[5] == -now - 1)
        keep_distance(c, s, ahead, (moved or shared) and -now - 1 or now)
      end
    end
  elseif moved and keep then
    keep_distance(c, s, ahead, -now - 1)
  end
  local left = ahead <= max_wait and floor((max_wait - ahead) / num) + 1 or 0
  c.never, c.left = cost > capacity, left
  c.reset = ticks_until(c, ahead, 0)
  c.next = left < capacity and ticks_until(c, ahead, max_wait - left * num) or 0
  c.retry = not c.admitted and not c.never and ticks_until(c, had, max_wait) or 0
end

local function leaky_bucket_save(c, s)
  store(c, s, pack('<Bi7i7i7i7i7', 113, s[1], s[2], s[3], s[4], s[5]), stored_time_left(c, s))
end

algorithms[4] = {
  tag = 113, read = leaky_bucket_read, open = leaky_bucket_open, take = leaky_bucket_take,
  save = leaky_bucket_save, horizon = longest_distance
}
