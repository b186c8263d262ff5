-- Takes back charges, each for itself. Answers the clock.
local charged_us
charged_us, at = unpack('<i7', args, at)

for i = 1, #KEYS do
  local c = {}
  local kind, how
  kind, how, c.cost, c.tick, c.capacity, at = unpack('<BBi7i7i7', args, at)
  c.algorithm = algorithms[kind]
  c.algorithm.read(c)
  c.now, c.charged_at = floor(clock / c.tick), floor(charged_us / c.tick)
  if c.capacity > 0 then
    local s = fetch(KEYS[i], c.algorithm)
    if s.present then refunds[kind](c, s) end
    if s.changed then c.algorithm.save(c, s) end
  end
end
return clock
