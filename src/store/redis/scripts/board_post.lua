-- Hangs a notice on the board, a hash, in place of the poster's last one, and takes down whatever is
-- out of date or was never a notice. Field: "<seconds of this clock>-<poster>".
-- KEYS: the board. ARGV: poster, notice, seconds that a notice is good for.
local now, life = tonumber(redis.call('TIME')[1]), tonumber(ARGV[3])
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  local at, who = string.match(field, '^(%d+)%-(%x+)$')
  if not at or who == ARGV[1] or math.abs(now - tonumber(at)) > life then
    redis.call('HDEL', KEYS[1], field)
  end
end
redis.call('HSET', KEYS[1], string.format('%d-%s', now, ARGV[1]), ARGV[2])
return redis.call('PEXPIRE', KEYS[1], 900000)
