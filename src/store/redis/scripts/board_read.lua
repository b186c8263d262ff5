-- The notices of everybody else, at most so many and so large: who wrote them is not known.
-- KEYS: the board. ARGV: reader, seconds that a notice is good for, most notices, most octets of one
-- and of all. Answers the number of notices left out, then the others.
local now, life = tonumber(redis.call('TIME')[1]), tonumber(ARGV[2])
local most, one_max, left = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local out = {0}
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  local at, who = string.match(field, '^(%d+)%-(%x+)$')
  if at and who ~= ARGV[1] and math.abs(now - tonumber(at)) <= life then
    local size = redis.call('HSTRLEN', KEYS[1], field)
    if #out <= most and size <= one_max and size <= left then
      out[#out + 1] = redis.call('HGET', KEYS[1], field)
      left = left - size
    else
      out[1] = out[1] + 1
    end
  end
end
return out
