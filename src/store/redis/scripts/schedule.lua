-- One stored time, for token bucket and queue: quota/schedule.hpp in Lua.
-- State: s[1] ticks, s[2] fraction in 1/den, s[3] rate tag, s[4] den, s[5] latest admission.
local tick_of = {[0] = 1, 1000, 1000000}

-- A state of another rate: the units used there, rounded up, at this rate.
local function convert(c, s)
  local tick, num, den = tick_of[s[3] % 4], floor(s[3] / 4), s[4]
  if not tick or num <= 0 or den <= 0 or s[2] < 0 or s[2] >= den then return 0, false end
  local begin = floor(c.now * c.tick / tick)
  if s[1] < begin then return 0, false end
  if s[1] > begin + floor(exact_max / den) - 1 then return c.full, true end
  local used = ceil(((s[1] - begin) * den + s[2]) / num)
  if used == 0 then return 0, false end
  if used > floor(c.full / c.num) then return c.full, true end
  return used * c.num, true
end

-- How far ahead of now the units admitted so far reach, in 1/den ticks; whether that has to be
-- stored because it was clamped or converted.
local function distance(c, s)
  if not s.present then return 0, false end
  if s[3] ~= c.tag or s[4] ~= c.den then return convert(c, s) end
  if s[1] < c.now or s[2] < 0 or s[2] >= c.den then return 0, false end
  if s[1] > c.now + floor(c.full / c.den) then return c.full, true end
  local ahead = (s[1] - c.now) * c.den + s[2]
  if ahead > c.full then return c.full, true end
  return ahead, false
end

local function keep_distance(c, s, ahead, last)
  local whole = floor(ahead / c.den)
  s.present, s.changed = true, true
  s[1], s[2], s[3], s[4], s[5] = c.now + whole, ahead - whole * c.den, c.tag, c.den, last
end

-- Whole ticks until a distance has shrunk to `to`; 0 when it has.
local function ticks_until(c, ahead, to)
  return ahead > to and ceil((ahead - to) / c.den) or 0
end

local function stored_time_left(c, s)
  return s[1] - c.now + (s[2] > 0 and 1 or 0)
end

local function longest_distance(c) return ceil(c.full / c.den) end
